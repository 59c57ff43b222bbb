package db_test

import (
	"fmt"
	"testing"
	"time"

	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

// provenTo says what is proven of a document, as somebody sees it: from the replays
// one by one, the documents one by one, and what runs.
func (w *world) provenTo(by dlq.Actor) func(dlq.Entry) dlq.ProofState {
	key := fmt.Sprint(by.Sources)
	if known := w.proven[key]; known != nil {
		return known
	}
	all, _, err := w.s.Entries(background, by, dlq.Query{}, "", "", 500)
	if err != nil {
		w.t.Fatal(err)
	}
	under := map[string][]dlq.VersionCount{}
	for _, e := range all {
		g := dlq.VersionCount{Source: e.Source, Versions: e.Versions}
		if e.Status == dlq.StatusParked {
			g.Parked = 1
		}
		under[e.CohortID] = append(under[e.CohortID], g)
	}
	running := map[string]dlq.Running{}
	for source, components := range w.running {
		if by.SeesSource(source) {
			running[source] = components
		}
	}
	proofs := map[string]dlq.CohortProof{}
	for cohort, groups := range under {
		replays, err := w.s.CohortRedrives(background, by, cohort, 1000)
		if err != nil {
			w.t.Fatal(err)
		}
		var tallies []dlq.ReplayTally
		for _, r := range replays {
			if v := r.Verdict(); r.State == dlq.RedriveSettled && v.Name != dlq.VerdictNone {
				tallies = append(tallies, dlq.ReplayTally{Source: r.Source, Step: r.Step(), Verdict: v.Name, Presumed: v.Presumed, Replays: 1, Last: r.SettledAt})
			}
		}
		proofs[cohort] = dlq.ProveCohort(groups, running, tallies)
	}
	if w.proven == nil {
		w.proven = map[string]func(dlq.Entry) dlq.ProofState{}
	}
	w.proven[key] = func(e dlq.Entry) dlq.ProofState { return proofs[e.CohortID].Of(e.Source, e.Versions).State }
	return w.proven[key]
}

// tried parks documents of one defect under a version and replays some of them
// under another, of which the pipeline says what came.
func tried(t *testing.T, s *dbtest.DB, source, defect, version string, park, passed, failed int) string {
	t.Helper()
	var cohort string
	var ids []string
	for range park {
		r := s.Park(t, dlqtest.Of(source, fmt.Sprint(defect, version, len(ids))), dlqtest.Defect(defect), dlqtest.Held(fmt.Sprint(source, defect, version, len(ids))), dlqtest.Seen(s.Now()),
			dlqtest.With(func(e *dlq.Envelope) { e.ParserVersion = version }))
		ids, cohort = append(ids, r.DLQID), r.Cohort
	}
	for i, id := range ids[:passed+failed] {
		s.Clock.Advance(time.Minute)
		r := send(t, s, id)
		s.Clock.Advance(time.Minute)
		o := dlq.Outcome{RedriveID: r.ID, Result: dlq.OutcomeCommitted, Versions: dlq.Versions{"parser": "2"}}
		if i >= passed {
			o.Result, o.Failure = dlq.OutcomeFailed, &dlq.Envelope{ErrorType: defect}
		}
		report(t, s, o)
	}
	return cohort
}

// A document has the proof of its own failing version against what runs now.
func TestDocumentsAreFoundByWhatIsProvenOfThem(t *testing.T) {
	s := withTarget(t, "wiki", "leases")
	for _, source := range []string{"wiki", "leases"} {
		if _, err := s.RecordDeployment(background, dlqtest.Admin, source, "parser", "2", nil); err != nil {
			t.Fatal(err)
		}
	}
	proven := tried(t, s, "wiki", "Proven", "1", 5, 2, 0)
	tried(t, s, "wiki", "Proven", "0", 3, 0, 0)
	tried(t, s, "leases", "Proven", "1", 4, 0, 0)
	refuted := tried(t, s, "wiki", "Refuted", "1", 4, 0, 2)
	mixed := tried(t, s, "leases", "Mixed", "1", 6, 2, 1)
	tried(t, s, "wiki", "Untried", "1", 2, 0, 0)
	only := func(sources ...string) dlq.Actor { return dlqtest.Only(dlqtest.Reviewer, sources...) }
	for _, c := range []struct {
		query string
		by    dlq.Actor
		want  int64
	}{
		{"proof:proven", dlqtest.Admin, 9}, // resolved ones failed so as well
		{"proof:proven status:parked", dlqtest.Admin, 7},
		{"proof:proven status:parked source:leases", dlqtest.Admin, 4},
		{"proof:refuted status:parked", dlqtest.Admin, 2},
		{"proof:mixed status:parked", dlqtest.Admin, 3},
		{"proof:mixed,refuted status:parked", dlqtest.Admin, 5},
		{"proof:none status:parked", dlqtest.Admin, 8}, // what failed again is under the new version, which has no step to make,
		{"-proof:none status:parked", dlqtest.Admin, 12},
		{"proof:none,proven status:parked", dlqtest.Admin, 15},
		{"-proof:proven,mixed status:parked", dlqtest.Admin, 10},
		{"proof:lapsed", dlqtest.Admin, 0},
		{"proof:proven status:parked", only("wiki"), 3},
		{"proof:proven", only("leases"), 0}, // its replays were of a source that they may not know of
		{"proof:none status:parked", only("leases"), 5},
		{"proof:mixed", only("wiki"), 0},
	} {
		if n, err := s.CountEntries(background, c.by, query(t, c.query)); err != nil || n != c.want {
			t.Errorf("%q for %v: %d, want %d (%v)", c.query, c.by.Sources, n, c.want, err)
		}
		list, _, err := s.Entries(background, c.by, query(t, c.query), "", "", 100)
		if err != nil || int64(len(list)) != c.want {
			t.Errorf("%q for %v lists %d, want %d (%v)", c.query, c.by.Sources, len(list), c.want, err)
		}
	}
	for text, want := range map[string]string{"proof:proven status:parked": proven, "proof:refuted status:parked": refuted, "proof:mixed status:parked": mixed} {
		list := allCohorts(t, s, dlqtest.Admin, dlq.CohortQuery{Open: true, Having: query(t, text)})
		if len(list) != 1 || list[0].ID != want || list[0].Standing.Proof.NotCovered() != 0 {
			t.Errorf("%q lists %+v", text, list)
		}
	}
	for _, c := range allCohorts(t, s, dlqtest.Admin, dlq.CohortQuery{ID: proven}) {
		if p := c.Standing.Proof.Shown(); p.State != dlq.ProofProven || p.Passed != 2 || p.Covers != 7 || c.Standing.Proof.NotCovered() != 3 {
			t.Errorf("the whole has %+v", p)
		}
	}
	// A new version runs: what was proven is out of date.
	s.Clock.Advance(time.Hour)
	if _, err := s.RecordDeployment(background, dlqtest.Admin, "wiki", "parser", "3", nil); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]int64{"proof:lapsed status:parked": 5, "proof:proven status:parked": 4} {
		if n, err := s.CountEntries(background, dlqtest.Admin, query(t, text)); err != nil || n != want {
			t.Errorf("%q after a deployment: %d, want %d (%v)", text, n, want, err)
		}
	}
}

// A failure under the new version speaks against the proof of the whole, whatever
// a list is narrowed to.
func TestANarrowedListConcludesFromTheWhole(t *testing.T) {
	s := withTarget(t, "wiki")
	if _, err := s.RecordDeployment(background, dlqtest.Admin, "wiki", "parser", "2", nil); err != nil {
		t.Fatal(err)
	}
	tried(t, s, "wiki", "E", "1", 5, 1, 0)
	tried(t, s, "wiki", "E", "2", 1, 0, 0)
	for _, text := range []string{"", "parser:1"} {
		list := allCohorts(t, s, dlqtest.Admin, dlq.CohortQuery{Open: true, Having: query(t, text)})
		if p := list[0].Standing.Proof.Shown(); p.State != dlq.ProofMixed || p.Covers != 4 {
			t.Errorf("%q: %+v", text, p)
		}
	}
}
