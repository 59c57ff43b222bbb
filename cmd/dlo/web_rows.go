package main

import (
	"context"
	"encoding/hex"
	"sync"
	"time"

	"dlo/db"
	"dlo/web"
)

// The store and web know nothing of each other; what lies between them is here.

// sessionRows keeps web's sessions in the database.
type sessionRows struct{ store *db.Store }

func (r sessionRows) Session(ctx context.Context, hash string) (web.SessionRow, bool, error) {
	s, found, err := r.store.Session(ctx, hash)
	return web.SessionRow{Hash: s.Hash, UserID: s.PersonID, Data: s.Data, CreatedAt: s.CreatedAt, SeenAt: s.SeenAt}, found, err
}

func (r sessionRows) PutSession(ctx context.Context, row web.SessionRow, keep int) error {
	return r.store.PutSession(ctx, db.Session{Hash: row.Hash, PersonID: row.UserID, Data: row.Data, CreatedAt: row.CreatedAt, SeenAt: row.SeenAt}, keep)
}

func (r sessionRows) TouchSession(ctx context.Context, hash string, seenAt time.Time, data []byte) error {
	return r.store.TouchSession(ctx, hash, seenAt, data)
}

func (r sessionRows) DeleteSession(ctx context.Context, hash string) error {
	return r.store.DeleteSession(ctx, hash)
}

func (r sessionRows) DeleteSessionsOf(ctx context.Context, userID string) error {
	return r.store.DeleteSessionsOf(ctx, userID)
}

// throttleRows keeps web's login tries in the database.
type throttleRows struct{ store *db.Store }

func (r throttleRows) Throttle(ctx context.Context, key string) (web.ThrottleRow, bool, error) {
	failures, at, found, err := r.store.Throttle(ctx, key)
	return web.ThrottleRow{Key: key, Failures: failures, At: at}, found, err
}

func (r throttleRows) PutThrottle(ctx context.Context, row web.ThrottleRow) error {
	return r.store.PutThrottle(ctx, row.Key, row.Failures, row.At)
}

func (r throttleRows) DeleteThrottle(ctx context.Context, key string) error {
	return r.store.DeleteThrottle(ctx, key)
}

// tokenLookup finds tokens, and gathers when each was used last.
type tokenLookup struct {
	store *db.Store
	mu    sync.Mutex
	used  map[string]time.Time
}

// usedEvery is how often the times of last use are written: they are for
// people, and not worth a commit a request.
const usedEvery = 30 * time.Second

func newTokenLookup(store *db.Store) *tokenLookup {
	return &tokenLookup{store: store, used: map[string]time.Time{}}
}

func (l *tokenLookup) find(ctx context.Context, id string) (web.Token, bool, error) {
	t, found, err := l.store.Token(ctx, id)
	if err != nil || !found {
		return web.Token{}, false, err
	}
	hash, err := hex.DecodeString(t.Hash)
	if err != nil {
		return web.Token{}, false, err
	}
	out := web.Token{ID: t.ID, Name: t.Name, Hash: hash, Scopes: t.Scopes, ExpiresAt: t.ExpiresAt, Revoked: !t.RevokedAt.IsZero()}
	if t.Source != "" {
		out.Sources = []string{t.Source}
	}
	l.mu.Lock()
	l.used[t.ID] = time.Now()
	l.mu.Unlock()
	return out, true, nil
}

// run writes what has gathered, until the context ends.
func (l *tokenLookup) run(ctx context.Context) {
	tick := time.NewTicker(usedEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		l.mu.Lock()
		used := l.used
		l.used = map[string]time.Time{}
		l.mu.Unlock()
		if len(used) > 0 {
			_ = l.store.TokensUsed(ctx, used) // the next use is written again
		}
	}
}
