package db_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"dlo/db"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

// unknownIn says what of a query is unknown to somebody: each value, with what is
// near it.
func unknownIn(t *testing.T, s interface {
	UnknownValues(ctx context.Context, by dlq.Actor, q dlq.Query) ([]dlq.UnknownValue, error)
}, by dlq.Actor, text string) string {
	t.Helper()
	list, err := s.UnknownValues(background, by, query(t, text))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, u := range list {
		out = append(out, strings.TrimSuffix(u.Text()+" > "+u.Near, " > "))
	}
	return strings.Join(out, ", ")
}

func TestAValueThatNothingEverHadIsUnknown(t *testing.T) {
	s := withTarget(t, "wiki", "leases")
	wiki := dlqtest.Only(dlqtest.Reviewer, "wiki")
	s.Park(t, dlqtest.Of("wiki", "1"), dlqtest.Defect("pkg.ValueError"), dlqtest.Event("1"), dlqtest.With(func(e *dlq.Envelope) {
		e.Stage, e.ContentType, e.ParserVersion, e.ErrorClass, e.Versions = "parse", "application/pdf", "20261230", "odd_class", map[string]string{"mapper": "2.5.0"}
	}))
	other := s.Park(t, dlqtest.Of("leases", "2"), dlqtest.Defect("KeyError"), dlqtest.Event("2"), dlqtest.With(func(e *dlq.Envelope) {
		e.Stage, e.ContentType, e.ParserVersion, e.ErrorClass = "embed", "text/html", "leases-1.0", "secret_class"
	}))
	if err := s.Assign(background, dlqtest.Admin, other.DLQID, "owner@example.com", ""); err != nil {
		t.Fatal(err)
	}
	cohort := s.Entry(t, other.DLQID).CohortID
	for _, c := range []struct{ text, all, limited string }{
		{"", "", ""},
		{"word status:parked -reason:low_confidence has:payload age:>3d opened:2026-11 id:none", "", ""},
		{"source:wiky", "source:wiky > wiki", "source:wiky > wiki"},
		{"source:leases", "", "source:leases"},
		{"class:transient,resource_fatal", "", ""}, // of the taxonomy
		{"class:odd_clas,odd_class", "class:odd_clas > odd_class", "class:odd_clas > odd_class"},
		{"-class:transeint", "-class:transeint > transient", "-class:transeint > transient"},
		{"class:secret_class", "", "class:secret_class"},
		{"class:secret_clas", "class:secret_clas > secret_class", "class:secret_clas"},
		{"type:ValueError type:pkg.ValueError type:valueerror", "", ""},
		{"type:ValueEror", "type:ValueEror > ValueError", "type:ValueEror > ValueError"},
		{"type:KeyError", "", "type:KeyError"},
		{"stage:parse,embed", "", "stage:embed"},
		{"content:application/pdf,application/pfd", "content:application/pfd > application/pdf", "content:application/pfd > application/pdf"},
		{"parser:2026123 parser:current,!current", "parser:2026123 > 20261230", "parser:2026123 > 20261230"},
		{"parser:leases-1.0", "", "parser:leases-1.0"},
		{"version:mapper@2.5.0 version:maper@2.5.0", "version:maper@2.5.0 > mapper@2.5.0", "version:maper@2.5.0 > mapper@2.5.0"},
		{"version:mapper@2.6.0", "version:mapper@2.6.0 > mapper@2.5.0", "version:mapper@2.6.0 > mapper@2.5.0"},
		{"version:none@1 version:none@!current", "version:none@1", "version:none@1"},
		{"cohort:" + cohort, "", "cohort:" + cohort},
		{"cohort:" + dlqtest.Fingerprint("KeyError").Digest[:8], "", "cohort:" + dlqtest.Fingerprint("KeyError").Digest[:8]},
		{"cohort:zzzzzz", "cohort:zzzzzz", "cohort:zzzzzz"},
		{"owner:me,nobody", "", ""},
		{"owner:owner@example.com", "", "owner:owner@example.com"},
		{"owner:owner@example.con", "owner:owner@example.con > owner@example.com", "owner:owner@example.con"},
	} {
		if got := unknownIn(t, s, dlqtest.Admin, c.text); got != c.all {
			t.Errorf("%s: %q, want %q", c.text, got, c.all)
		}
		if got := unknownIn(t, s, wiki, c.text); got != c.limited {
			t.Errorf("%s for somebody of wiki: %q, want %q", c.text, got, c.limited)
		}
	}
}

func TestLookingUpTheValuesOfAQueryIsBounded(t *testing.T) {
	s := withTarget(t, "wiki", "leases")
	for i := range 30 {
		s.Park(t, dlqtest.Of("wiki", fmt.Sprint(i)), dlqtest.Event(fmt.Sprint(i)), dlqtest.Defect(fmt.Sprint("E", i%3)))
	}
	if got := unknownIn(t, s, dlqtest.Admin, "stage:a,b,c,d,e,f,g"); strings.Count(got, "stage:") != 5 {
		t.Errorf("of seven: %s", got)
	}
	known := strings.TrimSuffix(strings.Repeat("wiki,", 24), ",")
	if got := unknownIn(t, s, dlqtest.Admin, "source:"+known+",none"); got != "" {
		t.Errorf("after 24 values: %s", got)
	}
	for _, by := range []dlq.Actor{dlqtest.Admin, dlqtest.Only(dlqtest.Reviewer, "wiki")} {
		plans, err := s.Plans(func() error {
			unknownIn(t, s, by, "source:x class:xx stage:x content:x")
			unknownIn(t, s, by, "type:x parser:x version:x@1 version:mapper@1 cohort:xxxx owner:xxxx")
			return nil
		})
		if err != nil || len(plans) < 9 {
			t.Fatal(len(plans), err)
		}
		for q, plan := range plans {
			for _, step := range plan {
				if db.ReadsWhole(step) && !db.MayReadAll(q) {
					t.Errorf("%s: %s", step, q)
				}
			}
		}
	}
}
