package handlers

import (
	"context"
	"regexp"
	"strings"
	"sync"
	"testing"

	"dlo/db"
)

// plans holds every question that a screen, a list of the API or a report asks
// in any test of this package to its plan: none may read a table whole that
// grows with the failures. No list of them has to be kept.
type plans struct {
	mu    sync.Mutex
	asked map[string][]any // not yet explained
}

// typed are the questions whose plan follows from what a person typed: a query
// about documents without a state, or for a text. The queries that screens lead
// to by themselves are held in db.
var typed = regexp.MustCompile(`(?s)^select (count\(\*\)|e\.dlq_id) from entry e where |^select e\.id, e\.dlq_id, .* order by e\.|^select s\.name, l\.error_type, v\.versions, .* from cell_month m\b`)

// explained are the questions whose plans are known, of all tests.
var explained sync.Map

// watch makes a store note what it is asked.
func (p *plans) watch(o *db.Options) {
	p.asked = map[string][]any{}
	o.Asked = func(query string, args []any) {
		if _, done := explained.Load(query); done {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked[query] = args
	}
}

// hold explains what was asked of the store, before it is closed.
func (p *plans) hold(t *testing.T, store *db.Store) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for query, args := range p.asked {
		if _, done := explained.LoadOrStore(query, true); done {
			continue
		}
		steps, err := store.ReadsWholeTable(context.Background(), query, args)
		if err != nil {
			t.Errorf("the plan of a question: %v", err)
		}
		if typed.MatchString(query) {
			continue
		}
		for _, step := range steps {
			t.Errorf("%s\n\tin the plan of %.400s", step, strings.Join(strings.Fields(query), " "))
		}
	}
}

func TestAQuestionThatReadsATableWholeIsFound(t *testing.T) {
	s := newSite(t)
	steps, err := s.store.ReadsWholeTable(t.Context(), "select count(*) from entry e where e.attempts > $1", []any{3})
	if err != nil || len(steps) != 1 || !strings.HasPrefix(steps[0], "SCAN e") {
		t.Errorf("got %q, %v", steps, err)
	}
	s.signIn("reviewer").get("/cohorts")
	noted := len(s.plans.asked)
	explained.Range(func(any, any) bool { noted++; return true })
	if noted == 0 {
		t.Error("no question was noted")
	}
}
