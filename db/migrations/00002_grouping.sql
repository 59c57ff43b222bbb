-- +goose Up

-- What a person decided about the grouping. Such rules outrank the algorithm,
-- can be undone, and stay on record when they were.
create table grouping_rule (
    id         text    primary key,
    seq        integer not null unique,        -- in the order in which they were made, which is the order to undo them
    kind       text    not null,               -- merge, split
    cohort_id  text    not null references cohort (id), -- merge: which stays; split: which was split
    state      text    not null,               -- moving: documents are on their way; done; undone
    attribute  text    not null default '',    -- of a split: template, frames, rule, content_type, version
    component  text    not null default '',    -- whose version
    after_id   integer not null default 0,     -- of a split: the last entry that was looked at
    moved      integer not null default 0,
    made_at    integer not null,
    actor      text    not null,
    undone_at  integer,
    undone_by  text    not null default ''
);
create index grouping_rule_moving on grouping_rule (id) where state = 'moving';

-- Which cohorts a rule is about, and where each stood before it.
create table grouping_touch (
    rule_id     text    not null references grouping_rule (id),
    cohort_id   text    not null references cohort (id),
    merged_into text,                           -- before the rule
    first_seen  integer not null,
    last_seen   integer not null,
    primary key (rule_id, cohort_id)
);
create index grouping_touch_cohort on grouping_touch (cohort_id, rule_id);

-- Which fingerprints a merge moved, and from where.
create table grouping_move (
    rule_id        text    not null references grouping_rule (id),
    fingerprint_id integer not null references fingerprint (id),
    from_cohort    text    not null references cohort (id),
    primary key (rule_id, fingerprint_id)
);

-- Which values of a member's attribute a split sends where.
create table split_value (
    rule_id        text    not null references grouping_rule (id),
    fingerprint_id integer not null references fingerprint (id), -- the member that is split
    value_hash     text    not null,
    value          text    not null,
    cohort_id      text    not null references cohort (id),      -- where its documents go
    primary key (rule_id, fingerprint_id, value_hash)
);
create index split_value_member on split_value (fingerprint_id, rule_id);

alter table cohort add column split_from text;                    -- the cohort that it was a part of
alter table cohort add column part text not null default '';      -- which part: the values that came here
alter table cohort add column grouping integer not null default 1; -- moves with every merge, split and undo
create index cohort_merged on cohort (merged_into) where merged_into is not null;

-- A member that a split derived, and the member that it was derived from.
alter table fingerprint add column parent_id integer references fingerprint (id);
alter table fingerprint add column rule_id text;
-- The member of an older algorithm that it goes on for, where that is one.
alter table fingerprint add column follows integer references fingerprint (id);
-- How many splits in force name it: nearly always none, and then an arrival
-- need not ask.
alter table fingerprint add column splits integer not null default 0;
create index fingerprint_alike on fingerprint (error_type, template, id);
create index fingerprint_parent on fingerprint (parent_id) where parent_id is not null;

-- Moving to a new version of the fingerprint.
create table refingerprint (
    id             text    primary key,
    from_algorithm text    not null,
    to_algorithm   text    not null,
    state          text    not null,               -- moving, done
    after_id       integer not null default 0,     -- the last entry that was looked at
    moved          integer not null default 0,
    stayed         integer not null default 0,     -- its new digest is in another cohort: a merge needs a person
    made_at        integer not null,
    actor          text    not null
);
create unique index refingerprint_moving on refingerprint (state) where state = 'moving';

-- The cohorts that it makes of a part of another: what the new digest of a
-- document of from_cohort is, and where it goes.
create table refingerprint_part (
    refingerprint_id text    not null references refingerprint (id),
    from_cohort      text    not null references cohort (id),
    fingerprint_id   integer not null references fingerprint (id),
    to_cohort        text    not null references cohort (id),
    primary key (refingerprint_id, from_cohort, fingerprint_id)
);

-- +goose Down
select 1;
