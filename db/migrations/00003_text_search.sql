-- +goose Up

-- Documents whose evidence was replaced since the text index read them. New
-- documents need no row: their ids lie above the index's high-water mark.
create table text_pending (
    entry_id integer primary key references entry (id)
);

-- +goose Down
select 1;
