-- +goose Up
-- Lists of the documents of a source by opening were ordered by index for the
-- parked alone. Every state of a source now has that order: the oldest of the
-- archive may be of other sources, and reading through them took too long.
drop index entry_oldest;
create index entry_oldest on entry (source_id, status, opened_at, id);
