-- +goose Up

-- Of the parked documents of a cohort: when the longest stuck was opened, and
-- when the first leaves. Null without one.
alter table cohort add column oldest_opened integer;
alter table cohort add column next_expiry integer;

-- When documents of it got stuck again after none was; null where that never
-- happened.
alter table cohort add column returned_at integer;

update cohort set
    oldest_opened = (select min((select min(e.opened_at) from entry e where e.fingerprint_id = f.id and e.status = 'parked')) from fingerprint f where f.cohort_id = cohort.id),
    next_expiry = (select min((select min(e.expires_at) from entry e where e.fingerprint_id = f.id and e.status = 'parked')) from fingerprint f where f.cohort_id = cohort.id);

-- An order of the list each. What has no such time comes last.
create index cohort_by_oldest on cohort (review, coalesce(oldest_opened, 9223372036854775807), id);
create index cohort_by_expiry on cohort (review, coalesce(next_expiry, 9223372036854775807), id);
create index cohort_by_arrivals on cohort (review, arrivals, id);
create index cohort_open on cohort (review, id) where parked + redriving + quarantined > 0;
create index cohort_created on cohort (created_at, id);
create index cohort_returned on cohort (returned_at, id) where returned_at is not null;

-- How many entries of a cell are in each state: what cell_month has, without the
-- months, so that a list reads a row a cell however long it has been there.
alter table cell add column parked integer not null default 0;
alter table cell add column redriving integer not null default 0;
alter table cell add column quarantined integer not null default 0;
alter table cell add column archived integer not null default 0;
alter table cell add column resolved integer not null default 0;
alter table cell add column erased integer not null default 0;

update cell set
    parked = coalesce((select sum(m.entries) from cell_month m where m.cell_id = cell.id and m.status = 'parked'), 0),
    redriving = coalesce((select sum(m.entries) from cell_month m where m.cell_id = cell.id and m.status = 'redriving'), 0),
    quarantined = coalesce((select sum(m.entries) from cell_month m where m.cell_id = cell.id and m.status = 'quarantined'), 0),
    archived = coalesce((select sum(m.entries) from cell_month m where m.cell_id = cell.id and m.status = 'archived'), 0),
    resolved = coalesce((select sum(m.entries) from cell_month m where m.cell_id = cell.id and m.status = 'resolved'), 0),
    erased = coalesce((select sum(m.entries) from cell_month m where m.cell_id = cell.id and m.status = 'erased'), 0);

create index cell_open on cell (fingerprint_id, id) where parked + redriving + quarantined > 0;
create index cell_open_source on cell (source_id, fingerprint_id, id) where parked + redriving + quarantined > 0;

create index cell_archived on cell (source_id, archived) where archived > 0;

-- The oldest of a cell, and what leaves first of it: of the stuck alone.
create index entry_cell_oldest on entry (cell_id, opened_at) where status = 'parked';
create index entry_cell_expiring on entry (cell_id, expires_at) where status = 'parked';

-- A month of a cohort's days, without the years before it.
create index fingerprint_day_recent on fingerprint_day (fingerprint_id, day, source_id, arrivals);

-- What came today, of all cohorts. The number is not in it, and so no arrival
-- moves it but the first of a day.
create index fingerprint_day_by_day on fingerprint_day (day, fingerprint_id);

-- Of an operation, what waits for its first delivery.
create index redrive_unsent on redrive (operation_id) where state in ('pending', 'claimed') and sent_at is null;

create index alert_of_subject on alert (subject) where state = 'firing';
create index redrive_sent_of_cohort on redrive (failed_cohort, sent_at) where sent_at is not null;

-- Until when each person has looked, and when they were last here.
create table person_look (
    person_id  text    primary key references person (id),
    looked_at  integer not null,
    visited_at integer not null
);

-- +goose Down
select 1;
