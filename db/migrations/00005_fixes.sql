-- +goose Up

-- A version of a component of which somebody said that it fixes a cohort.
create table fix (
    id           text    primary key,
    cohort_id    text    not null references cohort (id),
    component    text    not null,
    version      text    not null,
    note         text    not null default '',
    link         text    not null default '',
    declared_at  integer not null,
    actor        text    not null,
    withdrawn_at integer
);
create index fix_cohort on fix (cohort_id, declared_at, id);
create index fix_version on fix (component, version, cohort_id) where withdrawn_at is null;

-- +goose Down
select 1;
