package db

import (
	"context"
	"database/sql"
	"fmt"

	"dlo/dlq"
)

func redriveSubject(source string) string { return "redrive:" + source }

// rotateSecret puts a sealed secret in the place of the one that stands, which
// goes on standing beside it for the policy's overlap. The same secret again
// changes nothing, so that a policy may be applied any number of times; a third
// one takes the place of the oldest.
func (s *Store) rotateSecret(t *Tx, by dlq.Actor, p dlq.SourcePolicy, sealed []byte) error {
	if sealed == nil {
		return nil
	}
	var present []byte
	if _, err := t.row(`select redrive_secret from source where name = $1`, []any{p.Name}, &present); err != nil {
		return fmt.Errorf("read the present secret: %w", err)
	}
	// One that the folder's key does not open cannot sign, and is let go.
	was, err := s.unseal(present, redriveSubject(p.Name))
	switch {
	case err == nil && was == p.Redrive.Secret:
		return nil
	case err != nil || was == "":
		if _, err := t.exec(`update source set redrive_secret = $1, redrive_secret_before = null, redrive_secret_until = null where name = $2`, sealed, p.Name); err != nil {
			return fmt.Errorf("keep the secret: %w", err)
		}
		return t.audit(by, auditEntry{action: "source.secret_set", source: p.Name})
	}
	until := t.now.Add(p.Redrive.SecretOverlap.Std())
	if _, err := t.exec(`update source set redrive_secret = $1, redrive_secret_before = $2, redrive_secret_until = $3 where name = $4`, sealed, present, ms(until), p.Name); err != nil {
		return fmt.Errorf("replace the secret: %w", err)
	}
	return t.audit(by, auditEntry{action: "source.secret_replaced", source: p.Name, detail: map[string]any{"both_until": until}})
}

// RedriveSecrets gives the secrets that sign deliveries to a source's target,
// the present one first: two while one is replaced, none where none was set.
func (s *Store) RedriveSecrets(ctx context.Context, name string) ([]string, error) {
	var present, before []byte
	var until sql.NullInt64
	found, err := one(ctx, s.reader(), `select redrive_secret, redrive_secret_before, redrive_secret_until from source where name = $1`, []any{name}, &present, &before, &until)
	if err != nil || !found {
		return nil, err
	}
	var out []string
	for i, sealed := range [][]byte{present, before} {
		if i == 1 && until.Int64 <= ms(s.Now()) {
			continue // its time is over, whether or not it was swept away
		}
		secret, err := s.unseal(sealed, redriveSubject(name))
		if err != nil {
			return nil, err
		}
		if secret != "" {
			out = append(out, secret)
		}
	}
	return out, nil
}

// EndOverlap lets go of the secret before the present one at once. It answers
// whether there was one.
func (s *Store) EndOverlap(ctx context.Context, by dlq.Actor, name, reason string) (bool, error) {
	ended := false
	err := s.update(ctx, func(tx *Tx) error {
		_, found, err := tx.source(name)
		if err != nil {
			return err
		}
		if !found {
			return dlq.Errorf(dlq.KindNotFound, "there is no source of this name")
		}
		n, err := tx.dropSecretBefore(name)
		if err != nil {
			return err
		}
		if ended = n == 1; !ended {
			return nil
		}
		return tx.audit(by, auditEntry{action: "source.overlap_ended", source: name, reason: reason})
	})
	return ended, err
}

func (t *Tx) dropSecretBefore(name string) (int64, error) {
	n, err := t.exec(`update source set redrive_secret_before = null, redrive_secret_until = null, updated_at = $1 where name = $2 and redrive_secret_before is not null`, ms(t.now), name)
	if err != nil {
		return 0, fmt.Errorf("let go of the secret before: %w", err)
	}
	delete(t.sources, name)
	return n, nil
}

// EndOverlaps lets go of the secrets whose overlap is over, and answers of how
// many sources.
func (s *Store) EndOverlaps(ctx context.Context) (int, error) {
	ended := 0
	err := s.update(ctx, func(tx *Tx) error {
		ended = 0
		var names []string
		if err := each(tx.ctx, tx, `select name from source where redrive_secret_before is not null and redrive_secret_until <= $1 order by name`, []any{ms(tx.now)}, func(rows *sql.Rows) error {
			var name string
			err := rows.Scan(&name)
			names = append(names, name)
			return err
		}); err != nil {
			return fmt.Errorf("find overlaps that are over: %w", err)
		}
		for _, name := range names {
			if _, err := tx.dropSecretBefore(name); err != nil {
				return err
			}
			if err := tx.audit(dlq.Policy("overlap of secrets"), auditEntry{action: "source.overlap_ended", source: name}); err != nil {
				return err
			}
			ended++
		}
		return nil
	})
	return ended, err
}
