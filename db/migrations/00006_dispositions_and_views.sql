-- +goose Up

-- What stands of an entry or a cohort beside its state: needs_code,
-- needs_source, needs_rule, waiting, accepted_loss. Empty: nothing was decided.
alter table entry add column disposition text not null default '';
alter table cohort add column disposition text not null default '';

-- +goose Down
select 1;
