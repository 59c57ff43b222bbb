package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"dlo/dlq"
)

const personColumns = `id, email, role, sources, disabled, password_hash`

func (s *Store) personsWhere(ctx context.Context, where string, args ...any) (people []dlq.Person, hashes []string, err error) {
	err = each(ctx, s.reader(), `select `+personColumns+` from person `+where, args, func(rows *sql.Rows) error {
		var p dlq.Person
		var sources, hash string
		if err := rows.Scan(&p.ID, &p.Email, &p.Role, &sources, &p.Disabled, &hash); err != nil {
			return err
		}
		people, hashes = append(people, p), append(hashes, hash)
		return json.Unmarshal([]byte(sources), &people[len(people)-1].Sources)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read people: %w", err)
	}
	return people, hashes, nil
}

// People lists everybody, by address.
func (s *Store) People(ctx context.Context) ([]dlq.Person, error) {
	people, _, err := s.personsWhere(ctx, `order by email`)
	return people, err
}

// Person finds somebody by id.
func (s *Store) Person(ctx context.Context, id string) (dlq.Person, bool, error) {
	people, _, err := s.personsWhere(ctx, `where id = $1`, id)
	if err != nil || len(people) == 0 {
		return dlq.Person{}, false, err
	}
	return people[0], true, nil
}

// PersonByEmail finds somebody by address, with the hash of their password.
func (s *Store) PersonByEmail(ctx context.Context, email string) (dlq.Person, string, bool, error) {
	people, hashes, err := s.personsWhere(ctx, `where email = $1`, dlq.NormalEmail(email))
	if err != nil || len(people) == 0 {
		return dlq.Person{}, "", false, err
	}
	return people[0], hashes[0], true, nil
}

// HasPeople says whether anybody can sign in.
func (s *Store) HasPeople(ctx context.Context) (bool, error) {
	var one int
	return s.one(ctx, `select 1 from person where disabled = 0 limit 1`, nil, &one)
}

// AddPerson adds somebody with the hash of their password.
func (s *Store) AddPerson(ctx context.Context, by dlq.Actor, p dlq.Person, hash string) (dlq.Person, error) {
	p.Email = dlq.NormalEmail(p.Email)
	err := s.update(ctx, func(tx *Tx) error {
		var err error
		p, err = tx.addPerson(by, p, hash)
		return err
	})
	return p, err
}

func (t *Tx) addPerson(by dlq.Actor, p dlq.Person, hash string) (dlq.Person, error) {
	p.ID = t.newID()
	sources, err := json.Marshal(append([]string{}, p.Sources...))
	if err != nil {
		return p, fmt.Errorf("add person: %w", err)
	}
	if _, err := t.exec(`insert into person (id, email, role, sources, password_hash, created_at) values ($1, $2, $3, $4, $5, $6)`, p.ID, p.Email, p.Role, string(sources), hash, ms(t.now)); err != nil {
		if isUnique(err) {
			return p, dlq.Errorf(dlq.KindConflict, "somebody with the address %s is here already", p.Email)
		}
		return p, fmt.Errorf("add person: %w", err)
	}
	return p, t.audit(by, auditEntry{action: "person.added", detail: map[string]any{"person": p.ID, "email": p.Email, "role": p.Role, "sources": p.Sources}})
}

// ChangePerson changes somebody's role, sources and whether they may sign in.
// A changed role or a disabled person ends their sessions. The last admin who
// can sign in cannot be taken away, and nobody changes their own role.
func (s *Store) ChangePerson(ctx context.Context, by dlq.Actor, p dlq.Person) error {
	return s.update(ctx, func(tx *Tx) error {
		var role dlq.Role
		var disabled bool
		var limits string
		found, err := tx.row(`select role, disabled, sources from person where id = $1`, []any{p.ID}, &role, &disabled, &limits)
		if err != nil {
			return fmt.Errorf("find person: %w", err)
		}
		if !found {
			return dlq.Errorf(dlq.KindNotFound, "there is no such person")
		}
		sources, err := json.Marshal(append([]string{}, p.Sources...))
		if err != nil {
			return fmt.Errorf("change person: %w", err)
		}
		if by.Kind == dlq.ActorPerson && by.ID == p.ID && (role != p.Role || p.Disabled || limits != string(sources)) {
			return dlq.Errorf(dlq.KindConflict, "nobody changes their own role or sources, or disables themselves")
		}
		var admins int
		if _, err := tx.row(`select count(*) from person where role = 'admin' and disabled = 0 and id <> $1`, []any{p.ID}, &admins); err != nil {
			return fmt.Errorf("count admins: %w", err)
		}
		if role == dlq.RoleAdmin && !disabled && (p.Role != dlq.RoleAdmin || p.Disabled) && admins == 0 {
			return dlq.Errorf(dlq.KindConflict, "this is the last admin who can sign in")
		}
		if _, err := tx.exec(`update person set role = $1, sources = $2, disabled = $3 where id = $4`, p.Role, string(sources), p.Disabled, p.ID); err != nil {
			return fmt.Errorf("change person: %w", err)
		}
		if err := tx.endSessions(p.ID); err != nil {
			return err
		}
		return tx.audit(by, auditEntry{action: "person.changed", detail: map[string]any{"person": p.ID, "role": p.Role, "disabled": p.Disabled, "sources": p.Sources}})
	})
}

// SetPassword gives somebody another password, and ends their sessions unless
// it is the same one hashed anew.
func (s *Store) SetPassword(ctx context.Context, by dlq.Actor, personID, hash string, rehash bool) error {
	return s.update(ctx, func(tx *Tx) error {
		n, err := tx.exec(`update person set password_hash = $1 where id = $2`, hash, personID)
		if err != nil {
			return fmt.Errorf("set password: %w", err)
		}
		if n == 0 {
			return dlq.Errorf(dlq.KindNotFound, "there is no such person")
		}
		if rehash {
			return nil
		}
		if err := tx.endSessions(personID); err != nil {
			return err
		}
		return tx.audit(by, auditEntry{action: "person.password", detail: map[string]any{"person": personID}})
	})
}

func (t *Tx) endSessions(personID string) error {
	if _, err := t.exec(`delete from session where person_id = $1`, personID); err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	return nil
}

// PutSetupLink keeps a one-use link by which the first person is made, and
// forgets those before it.
func (s *Store) PutSetupLink(ctx context.Context, hash string, life time.Duration) error {
	return s.update(ctx, func(tx *Tx) error {
		if _, err := tx.exec(`delete from setup_link`); err != nil {
			return fmt.Errorf("forget setup links: %w", err)
		}
		_, err := tx.exec(`insert into setup_link (id_hash, created_at, expires_at) values ($1, $2, $3)`, hash, ms(tx.now), ms(tx.now.Add(life)))
		if err != nil {
			return fmt.Errorf("keep the setup link: %w", err)
		}
		return nil
	})
}

// SetupLinkState says whether a setup link can be used: KindNotFound, KindGone
// for a used or expired one and where somebody can sign in already, or nil.
func (s *Store) SetupLinkState(ctx context.Context, hash string) error {
	var expires int64
	var used sql.NullInt64
	found, err := s.one(ctx, `select expires_at, used_at from setup_link where id_hash = $1`, []any{hash}, &expires, &used)
	if err != nil {
		return fmt.Errorf("find the setup link: %w", err)
	}
	has, err := s.HasPeople(ctx)
	if err != nil {
		return err
	}
	return setupLinkState(found, has, expires, used, ms(s.Now()))
}

func setupLinkState(found, somebody bool, expires int64, used sql.NullInt64, now int64) error {
	switch {
	case !found:
		return dlq.Errorf(dlq.KindNotFound, "there is no such setup link")
	case used.Valid:
		return dlq.Errorf(dlq.KindGone, "this setup link was used already; sign in, or ask whoever used it")
	case somebody: // added at the terminal while the link stood
		return dlq.Errorf(dlq.KindGone, "this setup link makes the first person, and there is one already; sign in, or ask an admin")
	case expires <= now:
		return dlq.Errorf(dlq.KindGone, "this setup link has expired; start the server again for another, or run dlo user add")
	}
	return nil
}

// SetUp makes the first person, an admin, and uses up the link, in one step.
func (s *Store) SetUp(ctx context.Context, linkHash string, p dlq.Person, passwordHash string) (dlq.Person, error) {
	p.Email, p.Role = dlq.NormalEmail(p.Email), dlq.RoleAdmin
	err := s.update(ctx, func(tx *Tx) error {
		var expires int64
		var used sql.NullInt64
		found, err := tx.row(`select expires_at, used_at from setup_link where id_hash = $1`, []any{linkHash}, &expires, &used)
		if err != nil {
			return fmt.Errorf("find the setup link: %w", err)
		}
		var one int
		somebody, err := tx.row(`select 1 from person where disabled = 0 limit 1`, nil, &one)
		if err != nil {
			return fmt.Errorf("find people: %w", err)
		}
		if err := setupLinkState(found, somebody, expires, used, ms(tx.now)); err != nil {
			return err
		}
		if _, err := tx.exec(`update setup_link set used_at = $1 where id_hash = $2`, ms(tx.now), linkHash); err != nil {
			return fmt.Errorf("use the setup link: %w", err)
		}
		p, err = tx.addPerson(dlq.Policy("setup link"), p, passwordHash)
		return err
	})
	return p, err
}
