-- +goose Up

-- What moved between a failure and its replay: components, each from one version
-- to others, as canonical JSON. The empty text: nothing did.
create table version_step (
    id    integer primary key,
    moved text    not null unique
);

-- How a redrive was judged when it was settled, with the evidence (JSON), and the
-- step of versions that it is evidence for.
alter table redrive add column step_id integer references version_step (id);
alter table redrive add column verdict text;

-- Replays by what they prove. A failure is judged by whether it fell into the
-- same cohort, and a merge may change that: so both verdicts stand here, and with
-- them the cohort that it fell into.
create table replay_tally (
    cohort_id         text    not null,              -- that failed, as redrive.failed_cohort
    source_id         integer not null references source (id),
    step_id           integer not null references version_step (id),
    verdict           text    not null,              -- of a failure: if it fell into the same cohort
    presumed          integer not null,
    other_verdict     text    not null,              -- of a failure that fell into another; else empty
    other_presumed    integer not null,
    outcome_cohort    text    not null,              -- that a failure fell into; else empty
    replays           integer not null,
    last_at           integer not null,
    primary key (cohort_id, source_id, step_id, verdict, presumed, other_verdict, other_presumed, outcome_cohort)
) without rowid;

-- An operation goes in steps. What it waits for while it is paused stands in asks.
alter table operation add column cohort_id text not null default '';       -- that it is about, where it is about one
alter table operation add column repeats integer not null default 0;       -- how often its step was taken again because nothing came of it
alter table operation add column sizes text not null default '[]';         -- JSON: of its steps as they were taken
alter table operation add column go_on integer not null default 1;         -- it takes the next step by itself
alter table operation add column asks text not null default '';            -- step, time_out, target, person
alter table operation add column step_at integer;                          -- its step began
alter table operation add column ask_at integer;                           -- a canary without an outcome by then is asked about
alter table operation add column pause_share real not null default 0;
alter table operation add column same_stops integer not null default 1;    -- it stops at the first same failure
alter table operation add column base_settled integer not null default 0;  -- settled and failed when somebody resumed it
alter table operation add column base_failed integer not null default 0;
alter table operation add column returns integer not null default 0;       -- paused for its target, it goes on by itself when that answers
alter table operation add column try_at integer;                           -- paused for its target: when that is tried next
alter table operation add column proof text not null default '';           -- JSON: what was known when it was started
alter table operation add column fields text not null default '{}';        -- JSON: of kinds that need more
create index operation_of_cohort on operation (cohort_id, id) where cohort_id <> '';
create index operation_trying on operation (try_at, id) where try_at is not null and state = 'paused';

-- Items by step and by where they stand: a state, or of settled ones the outcome.
create table operation_tally (
    operation_id text    not null references operation (id),
    step         integer not null,
    stands       text    not null,
    items        integer not null,
    primary key (operation_id, step, stands)
) without rowid;

-- Like with like: by what an item differs from others of its operation.
alter table item add column stratum integer not null default 0;
alter table item add column held integer not null default 0;               -- the stored copy is of the failure
drop index item_waiting;
create index item_waiting on item (operation_id, step, position) where state = 'waiting';

-- What was there before goes in one step.
update item set step = 1;
update operation set step = 1 where state <> 'preparing';
insert into operation_tally (operation_id, step, stands, items)
    select i.operation_id, 1, case i.state when 'settled' then coalesce(nullif(r.outcome, ''), 'settled') else i.state end, count(*)
    from item i left join redrive r on r.id = i.redrive_id group by 1, 2, 3;

-- +goose Down
select 1;
