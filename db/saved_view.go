package db

import (
	"context"
	"database/sql"
	"fmt"

	"dlo/dlq"
)

// sharedMost bounds how many shared views are read.
const sharedMost = 1000

const viewColumns = `id, list, name, search, shared, owner_kind, owner_id, owner_name, updated_at`

func viewsWhere(ctx context.Context, r reader, where string, args ...any) ([]dlq.SavedView, error) {
	var out []dlq.SavedView
	err := each(ctx, r, `select `+viewColumns+` from saved_view where `+where, args, func(rows *sql.Rows) error {
		var v dlq.SavedView
		var updated int64
		err := rows.Scan(&v.ID, &v.List, &v.Name, &v.Search, &v.Shared, &v.OwnerKind, &v.OwnerID, &v.OwnerName, &updated)
		v.UpdatedAt = moment(updated)
		out = append(out, v)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read saved views: %w", err)
	}
	return out, nil
}

// sourcesHidden are the names of the sources that an actor may not know of.
func sourcesHidden(ctx context.Context, r reader, by dlq.Actor) ([]string, error) {
	if len(by.Sources) == 0 {
		return nil, nil
	}
	var out []string
	err := each(ctx, r, `select name from source order by id`, nil, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		if err == nil && !by.SeesSource(name) {
			out = append(out, name)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read sources: %w", err)
	}
	return out, nil
}

// SavedViews lists what an actor keeps, and what others share and the actor may
// know of, each by name.
func (s *Store) SavedViews(ctx context.Context, by dlq.Actor) (own, shared []dlq.SavedView, err error) {
	if own, err = viewsWhere(ctx, s.reader(), `owner_kind = $1 and owner_id = $2 order by name_key limit $3`, by.Kind, by.ID, dlq.ViewsMost); err != nil {
		return nil, nil, err
	}
	all, err := viewsWhere(ctx, s.reader(), `shared = 1 order by name_key, id limit $1`, sharedMost)
	if err != nil {
		return nil, nil, err
	}
	hidden, err := sourcesHidden(ctx, s.reader(), by)
	if err != nil {
		return nil, nil, err
	}
	for _, v := range all {
		if !v.Mine(by) && v.Seen(by, hidden) {
			shared = append(shared, v)
		}
	}
	return own, shared, nil
}

// SavedView finds one that an actor may know of.
func (s *Store) SavedView(ctx context.Context, by dlq.Actor, id string) (dlq.SavedView, error) {
	return visibleView(ctx, s.reader(), by, id)
}

func visibleView(ctx context.Context, r reader, by dlq.Actor, id string) (dlq.SavedView, error) {
	list, err := viewsWhere(ctx, r, `id = $1`, id)
	if err != nil {
		return dlq.SavedView{}, err
	}
	hidden, err := sourcesHidden(ctx, r, by)
	if err != nil {
		return dlq.SavedView{}, err
	}
	if len(list) == 0 || !list[0].Seen(by, hidden) {
		return dlq.SavedView{}, dlq.Errorf(dlq.KindNotFound, "there is no such view; it may have been deleted, or is no longer shared")
	}
	return list[0], nil
}

// SaveView keeps a search under a name. A name that the owner has used already is
// a conflict: nothing is replaced in silence.
func (s *Store) SaveView(ctx context.Context, by dlq.Actor, v dlq.SavedView) (dlq.SavedView, error) {
	err := s.update(ctx, func(tx *Tx) error {
		name, key, err := viewText(&v)
		if err != nil {
			return err
		}
		var n int64
		if _, err := tx.row(`select count(*) from saved_view where owner_kind = $1 and owner_id = $2`, []any{by.Kind, by.ID}, &n); err != nil {
			return fmt.Errorf("count saved views: %w", err)
		}
		if n >= dlq.ViewsMost {
			return dlq.Errorf(dlq.KindConflict, "you keep %d views already, which is all there is room for; delete one first", n)
		}
		if err := tx.viewNameIsFree(by.Kind, by.ID, name, key, ""); err != nil {
			return err
		}
		v.ID, v.Name, v.OwnerKind, v.OwnerID, v.OwnerName, v.UpdatedAt = tx.newID(), name, by.Kind, by.ID, by.Name, tx.now
		if _, err := tx.exec(`insert into saved_view (id, list, name, name_key, search, shared, owner_kind, owner_id, owner_name, created_at, updated_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10)`,
			v.ID, v.List, v.Name, key, v.Search, v.Shared, v.OwnerKind, v.OwnerID, v.OwnerName, ms(tx.now)); err != nil {
			return fmt.Errorf("save a view: %w", err)
		}
		return tx.auditView(by, "view.saved", v)
	})
	return v, err
}

// ChangeView renames a view, shares it or not, and replaces its search.
func (s *Store) ChangeView(ctx context.Context, by dlq.Actor, v dlq.SavedView) (dlq.SavedView, error) {
	err := s.update(ctx, func(tx *Tx) error {
		was, err := tx.changeableView(by, v.ID)
		if err != nil {
			return err
		}
		v.List, v.OwnerKind, v.OwnerID, v.OwnerName = was.List, was.OwnerKind, was.OwnerID, was.OwnerName
		name, key, err := viewText(&v)
		if err != nil {
			return err
		}
		if err := tx.viewNameIsFree(v.OwnerKind, v.OwnerID, name, key, v.ID); err != nil {
			return err
		}
		v.Name, v.UpdatedAt = name, tx.now
		if v.Name == was.Name && v.Search == was.Search && v.Shared == was.Shared {
			return nil
		}
		if _, err := tx.exec(`update saved_view set name = $1, name_key = $2, search = $3, shared = $4, updated_at = $5 where id = $6`, v.Name, key, v.Search, v.Shared, ms(tx.now), v.ID); err != nil {
			return fmt.Errorf("change a view: %w", err)
		}
		return tx.auditView(by, "view.changed", v)
	})
	return v, err
}

// DeleteView deletes a view.
func (s *Store) DeleteView(ctx context.Context, by dlq.Actor, id string) error {
	return s.update(ctx, func(tx *Tx) error {
		v, err := tx.changeableView(by, id)
		if err != nil {
			return err
		}
		if _, err := tx.exec(`delete from saved_view where id = $1`, id); err != nil {
			return fmt.Errorf("delete a view: %w", err)
		}
		return tx.auditView(by, "view.deleted", v)
	})
}

func viewText(v *dlq.SavedView) (name, key string, err error) {
	if !v.List.Valid() {
		return "", "", dlq.Invalid("the view was not saved", dlq.Fault{Pointer: "/list", Detail: "documents or cohorts expected"})
	}
	if v.Search, err = dlq.NormalSearch(v.Search); err != nil {
		return "", "", err
	}
	return dlq.ViewName(v.Name)
}

func (t *Tx) viewNameIsFree(kind dlq.ActorKind, owner, name, key, but string) error {
	var id string
	taken, err := t.row(`select id from saved_view where owner_kind = $1 and owner_id = $2 and name_key = $3 and id <> $4`, []any{kind, owner, key, but}, &id)
	if err != nil {
		return fmt.Errorf("look for a view's name: %w", err)
	}
	if taken {
		return dlq.Errorf(dlq.KindConflict, "there is a view of the name “%s” already; choose another name, or change that one", name)
	}
	return nil
}

// changeableView finds a view that the actor may change. One that they may know
// of and not change is forbidden, one that they may not know of is not found.
func (t *Tx) changeableView(by dlq.Actor, id string) (dlq.SavedView, error) {
	v, err := visibleView(t.ctx, t, by, id)
	if err == nil && !v.MayChange(by) {
		err = dlq.Errorf(dlq.KindForbidden, "a shared view is changed by whoever made it, or by an admin; save it under a name of your own")
	}
	return v, err
}

// auditView names the view by its id: a name and a search are text that somebody
// typed.
func (t *Tx) auditView(by dlq.Actor, action string, v dlq.SavedView) error {
	return t.audit(by, auditEntry{action: action, detail: map[string]any{"view": v.ID, "list": v.List, "shared": v.Shared, "owner": v.OwnerName}})
}
