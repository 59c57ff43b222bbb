-- +goose Up

-- Documents whose evidence was replaced since the text index read them. New
-- documents need no row: their ids lie above the index's high-water mark.
create table text_pending (
    entry_id integer primary key references entry (id)
);

-- How far the index has read: entry, fingerprint.
create table text_mark (
    name text    primary key,
    at   integer not null
) without rowid;
insert into text_mark (name, at) values ('entry', 0), ('fingerprint', 0);

-- What can be looked for in a document, in trigrams: the texts of its current
-- evidence, its labels, its address at the source. The texts are folded before
-- they are written, by the same rule as what is looked for. Nothing but the
-- trigrams and where they stand is kept.
create virtual table text_entry using fts5 (body, label, url, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1');

-- The same of each fingerprint: template, frames, and a few traces.
create virtual table text_fingerprint using fts5 (body, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1');

-- Whose traces those are, at most five a fingerprint.
create table text_exemplar (
    fingerprint_id integer not null references fingerprint (id),
    entry_id       integer not null references entry (id),
    attempt_id     integer not null,
    primary key (fingerprint_id, entry_id)
) without rowid;
create index text_exemplar_entry on text_exemplar (entry_id);

-- What runs now is held against the versions of a cell, and the values of cells
-- are offered while somebody types.
create index version_of_set on version_of (version_set_id, component, version);
create index cell_versions on cell (version_set_id, source_id);
create index cell_source_class on cell (source_id, error_class);
create index cell_source_type on cell (source_id, error_type);
create index cell_source_content on cell (source_id, content_type);
create index cell_source_stage on cell (source_id, stage);
create index entry_owner on entry (owner, id) where owner <> '';

-- The orders of a list, by state: of several states the first rows of each are
-- read and merged. What leaves first was indexed for the parked alone.
drop index entry_expiring;
create index entry_expiring on entry (status, expires_at, id);
create index entry_by_opening on entry (status, opened_at, id);
create index entry_by_attempts on entry (status, attempts, id);

-- +goose Down
select 1;
