package db_test

import (
	"fmt"
	"testing"

	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

func TestTheTermThatKeepsEverythingOutIsFound(t *testing.T) {
	s := withTarget(t, "wiki", "leases")
	for i := range 3 {
		s.Park(t, dlqtest.Of("wiki", fmt.Sprint("doc-", i)), dlqtest.Defect("A"), dlqtest.Event(fmt.Sprint(i)))
	}
	s.Park(t, dlqtest.Of("leases", "lease"), dlqtest.Defect("B"), dlqtest.Event("lease"))
	index(t, s)
	wiki := dlqtest.Only(dlqtest.Reviewer, "wiki")
	for _, c := range []struct {
		text string
		by   dlq.Actor
		want string
	}{
		{"source:wiki stage:none", dlqtest.Admin, "[{1 3}]"},             // counted from the rollup
		{"source:wiki type:B", dlqtest.Admin, "[{0 1} {1 3}]"},           // either
		{"source:wiki type:B", wiki, "[{1 3}]"},                          // without the source there is only what one may see
		{"source:wiki attempts:>900", dlqtest.Admin, "[{1 3}]"},          // what is left is a question about cells
		{"attempts:>900 doc-1", dlqtest.Admin, "[{0 -1}]"},               // one is enough
		{"attempts:>900 redrives:>900 source:wiki", dlqtest.Admin, "[]"}, // no single one
		{"source:none", dlqtest.Admin, "[]"},                             // all that is asked
		{"source:wiki source:wiki source:wiki source:wiki source:wiki source:wiki source:wiki source:wiki stage:none", dlqtest.Admin, "[]"},
	} {
		out, err := s.WithoutTerm(background, c.by, query(t, c.text))
		if got := fmt.Sprint(out); err != nil || got != c.want {
			t.Errorf("%s for %v: %s, want %s (%v)", c.text, c.by.Sources, got, c.want, err)
		}
	}
}
