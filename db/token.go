package db

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"dlo/dlq"
)

func (s *Store) tokensWhere(ctx context.Context, where string, args ...any) ([]dlq.Token, error) {
	var out []dlq.Token
	err := each(ctx, s.reader(), `select id, name, hash, scopes, source, created_at, created_by, expires_at, used_at, revoked_at from token `+where, args, func(rows *sql.Rows) error {
		var t dlq.Token
		var scopes string
		var created int64
		var expires, used, revoked sql.NullInt64
		if err := rows.Scan(&t.ID, &t.Name, &t.Hash, &scopes, &t.Source, &created, &t.CreatedBy, &expires, &used, &revoked); err != nil {
			return err
		}
		for _, scope := range strings.Split(scopes, ",") {
			t.Scopes = append(t.Scopes, dlq.Scope(scope))
		}
		t.CreatedAt, t.ExpiresAt, t.UsedAt, t.RevokedAt = fromMS(created), fromNullMS(expires), fromNullMS(used), fromNullMS(revoked)
		out = append(out, t)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	return out, nil
}

// Token finds a token by its public id.
func (s *Store) Token(ctx context.Context, id string) (dlq.Token, bool, error) {
	list, err := s.tokensWhere(ctx, `where id = $1`, id)
	if err != nil || len(list) == 0 {
		return dlq.Token{}, false, err
	}
	return list[0], true, nil
}

// Tokens lists every token, newest first.
func (s *Store) Tokens(ctx context.Context) ([]dlq.Token, error) {
	return s.tokensWhere(ctx, `order by created_at desc, id`)
}

// AddToken keeps a token's hash and what it is for.
func (s *Store) AddToken(ctx context.Context, by dlq.Actor, t dlq.Token) error {
	scopes := make([]string, len(t.Scopes))
	for i, scope := range t.Scopes {
		scopes[i] = string(scope)
	}
	return s.update(ctx, func(tx *Tx) error {
		if _, err := tx.exec(`insert into token (id, name, hash, scopes, source, created_at, created_by, expires_at) values ($1, $2, $3, $4, $5, $6, $7, $8)`,
			t.ID, t.Name, t.Hash, strings.Join(scopes, ","), t.Source, ms(tx.now), by.Name, msOrNull(t.ExpiresAt)); err != nil {
			return fmt.Errorf("add token: %w", err)
		}
		return tx.audit(by, auditEntry{action: "token.created", source: t.Source, detail: map[string]any{"token": t.ID, "name": t.Name, "scopes": scopes}})
	})
}

// RevokeToken ends a token, by its id or by a name that only one has.
func (s *Store) RevokeToken(ctx context.Context, by dlq.Actor, idOrName string) error {
	return s.update(ctx, func(tx *Tx) error {
		var id string
		var n int
		if _, err := tx.row(`select min(id), count(*) from token where (id = $1 or name = $1) and revoked_at is null`, []any{idOrName}, new(sql.NullString), &n); err != nil {
			return fmt.Errorf("find token: %w", err)
		}
		if n != 1 {
			return dlq.Errorf(dlq.KindNotFound, "%d tokens in use have the id or name %q; one expected", n, idOrName)
		}
		if _, err := tx.row(`select id from token where (id = $1 or name = $1) and revoked_at is null`, []any{idOrName}, &id); err != nil {
			return fmt.Errorf("find token: %w", err)
		}
		if _, err := tx.exec(`update token set revoked_at = $1 where id = $2`, ms(tx.now), id); err != nil {
			return fmt.Errorf("revoke token: %w", err)
		}
		return tx.audit(by, auditEntry{action: "token.revoked", detail: map[string]any{"token": id}})
	})
}

// TokensUsed records when tokens were used last. It is called now and then with
// what has gathered, and never within a request.
func (s *Store) TokensUsed(ctx context.Context, used map[string]time.Time) error {
	return s.update(ctx, func(tx *Tx) error {
		for id, at := range used {
			if _, err := tx.exec(`update token set used_at = max(coalesce(used_at, 0), $1) where id = $2`, ms(at), id); err != nil {
				return err
			}
		}
		return nil
	})
}
