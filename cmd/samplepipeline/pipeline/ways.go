package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// How a source lets the server know what came of a redrive.
const (
	outcomesReported = "reported" // by itself, when it is known
	outcomesResponse = "response" // in the answer to the redrive, which waits for it
	outcomesSilent   = "silent"   // never
)

var outcomeWays = []string{outcomesReported, outcomesResponse, outcomesSilent}

// maxSlow is how long a worker can be told to dawdle, in milliseconds: less than
// a delivery may take.
const maxSlow = 30_000

// way is how a source behaves, for whoever wants to watch the server cope.
type way struct {
	Outcomes string `json:"outcomes"`
	SlowMS   int    `json:"slow_ms"` // before each document
}

// sourceWays are the ways of all sources. They last over a restart.
type sourceWays struct {
	mu   sync.Mutex
	kept map[string]way
}

func (s *sourceWays) of(source string) way {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.kept[source]
	if w.Outcomes == "" {
		w.Outcomes = outcomesReported
	}
	return w
}

// all gives the way of every source.
func (s *sourceWays) all() map[string]way {
	out := map[string]way{}
	for _, source := range sourceNames {
		out[source] = s.of(source)
	}
	return out
}

func (s *sourceWays) restore(ctx context.Context, st *store) error {
	text, err := st.setting(ctx, "ways", "{}")
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(text), &s.kept); err != nil {
		return fmt.Errorf("read how the sources behave: %w", err)
	}
	return nil
}

// change changes the way of a source or, with "", of all.
func (s *sourceWays) change(ctx context.Context, st *store, source string, change func(*way)) error {
	names := sourceNames
	if source != "" {
		if !slices.Contains(sourceNames, source) {
			return &badRequest{fmt.Errorf("source %q is not known", source)}
		}
		names = []string{source}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := map[string]way{}
	for name, w := range s.kept {
		next[name] = w
	}
	for _, name := range names {
		w := next[name]
		change(&w)
		next[name] = w
	}
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if err := st.setSetting(ctx, "ways", string(text)); err != nil {
		return err
	}
	s.kept = next
	return nil
}
