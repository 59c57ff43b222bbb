-- +goose Up

-- What stands of an entry or a cohort beside its state: needs_code,
-- needs_source, needs_rule, waiting, accepted_loss. Empty: nothing was decided.
alter table entry add column disposition text not null default '';
alter table cohort add column disposition text not null default '';
create index entry_disposition on entry (disposition, id) where disposition <> '';
create index cohort_disposition on cohort (disposition, id) where disposition <> '';

-- Every disposition that ever stood, of an entry or of a cohort, and what it
-- lasts until. What was typed as its reason stands beside its audit row.
create table disposition (
    id               text    primary key,
    entry_id         integer references entry (id),
    cohort_id        text    references cohort (id),
    kind             text    not null,
    until_kind       text    not null,           -- empty: until it is taken off; document, code, date, doubles
    until_at         integer,                     -- of a date
    open_then        integer not null,            -- open documents of the cohort when it was decided
    after_report     integer not null,            -- the newest report with which a version began to run that was held against it
    decided_at       integer not null,
    actor            text    not null,
    audit_seq        integer not null references audit (seq),
    ended_at         integer,                     -- null: it stands
    ended_why        text    not null default '',
    ended_by         text    not null default ''
);
create unique index disposition_of_entry on disposition (entry_id) where ended_at is null and entry_id is not null;
create unique index disposition_of_cohort on disposition (cohort_id) where ended_at is null and cohort_id is not null;
create index disposition_by_date on disposition (until_at, id) where ended_at is null and until_kind = 'date';
create index disposition_by_count on disposition (id) where ended_at is null and until_kind = 'doubles';
create index disposition_by_code on disposition (after_report, id) where ended_at is null and until_kind = 'code';

-- Searches that somebody keeps under a name. The search is what stands in the
-- address of its list after the question mark, without the place in it.
create table saved_view (
    id         text    primary key,
    list       text    not null,                  -- documents, cohorts
    name       text    not null,
    name_key   text    not null,                  -- by which two names are the same
    search     text    not null,
    shared     integer not null default 0,
    owner_kind text    not null,                  -- person, token
    owner_id   text    not null,
    owner_name text    not null,
    created_at integer not null,
    updated_at integer not null,
    unique (owner_kind, owner_id, name_key)
);
create index saved_view_shared on saved_view (name_key, id) where shared = 1;

-- +goose Down
select 1;
