-- +goose Up
-- While a source's secret is replaced, the one before it stands beside it until
-- a moment, so that a pipeline may learn the new one in its own time.
alter table source add column redrive_secret_before blob;
alter table source add column redrive_secret_until integer;

-- A redrive whose outcome is read from the index: when it is asked next, how
-- often it was, and what the last answer came to, in words.
alter table redrive add column check_at integer not null default 0;
alter table redrive add column checks integer not null default 0;
alter table redrive add column check_said text not null default '';
create index redrive_to_check on redrive (source_id, check_at, id) where state = 'delivered';

-- Reports that belong to nothing, newest first.
drop index outcome_unknown;
create index outcome_unknown on outcome (source, received_at, id) where entry_id is null;

-- +goose Down
select 1;
