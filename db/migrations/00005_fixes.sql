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
    withdrawn_at integer,
    withdrawn_by text    not null default ''
);
create index fix_cohort on fix (cohort_id, declared_at, id);
create index fix_version on fix (component, version, cohort_id) where withdrawn_at is null;

-- What was said of deployments, in the words of it: deployment is made from this,
-- so that a report may come late, and come twice.
create table deployment_report (
    id          integer primary key autoincrement, -- in the order of receipt, and never given twice
    source_id   integer not null references source (id),
    component   text    not null,
    version     text    not null,               -- empty: it only says what stopped
    stopped     text,                           -- JSON; null: every other version
    began       integer not null default 0,     -- with its receipt the version ran, and had not just before
    at          integer not null,
    received_at integer not null,
    actor       text    not null
);
create index deployment_report_order on deployment_report (source_id, component, at, id);
create index deployment_report_began on deployment_report (id) where began = 1;

insert into deployment_report (source_id, component, version, stopped, at, received_at, actor)
    select source_id, component, version, '[]', started_at, started_at, actor from deployment order by started_at, id;
insert into deployment_report (source_id, component, version, stopped, at, received_at, actor)
    select source_id, component, '', json_array(version), stopped_at, stopped_at, actor from deployment where stopped_at is not null order by stopped_at, id;

create index deployment_of_component on deployment (source_id, component, started_at, id);
create index deployment_live on deployment (component, version, source_id) where stopped_at is null;

-- Which versions failures of a source name, and which sets name a version.
create index cell_source_versions on cell (source_id, version_set_id);

-- What is stuck by month, for reports over all sources.
create index cell_month_state on cell_month (status, month, cell_id);

-- +goose Down
select 1;
