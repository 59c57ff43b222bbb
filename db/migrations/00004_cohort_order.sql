-- +goose Up

-- Of the parked documents of a cohort: when the longest stuck was opened, and
-- when the first leaves. Null without one.
alter table cohort add column oldest_opened integer;
alter table cohort add column next_expiry integer;

-- +goose Down
select 1;
