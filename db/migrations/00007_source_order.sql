-- +goose Up
-- A list in some order, of the documents of some cells, is read through the order
-- until a page is full. With the cell in its indexes, what does not match is
-- passed over without its row being read.
drop index entry_by_status;
drop index entry_expiring;
drop index entry_by_opening;
drop index entry_by_attempts;
create index entry_by_status on entry (status, last_seen, id, cell_id);
create index entry_expiring on entry (status, expires_at, id, cell_id);
create index entry_by_opening on entry (status, opened_at, id, cell_id);
create index entry_by_attempts on entry (status, attempts, id, cell_id);

-- Lists of the documents of a source by opening were ordered by index for the
-- parked alone. Every state of a source now has that order: the oldest of the
-- archive may be of other sources, and reading through them took too long.
drop index entry_oldest;
create index entry_oldest on entry (source_id, status, opened_at, id);

-- The report of versions reads what is stuck now, and not the months of every
-- cell that ever had something.
create index cell_month_stuck on cell_month (status, month, cell_id, entries) where status = 'parked' and entries > 0;

-- +goose Down
select 1;
