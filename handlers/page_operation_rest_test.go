package handlers

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"dlo/dlq"
)

func TestWhatIsStillStuckOfARedriveCanBeRedrivenByWhatCameOfIt(t *testing.T) {
	f := operationFacts{operation: dlq.Operation{ID: "01K", Kind: dlq.OperationRedrive, State: dlq.OperationDone}, by: reviewer,
		stuck: []stuckChoice{{"failed", 3}, {"undelivered", 1}, {"no_outcome", 0}, {"cancelled", 12000}}}
	var got []string
	for _, row := range operationStuck(f) {
		got = append(got, row.Count.Text+" "+row.Why+": "+row.Do.Text)
	}
	want := "3 failed again, parked now: redrive them; 1 could not be delivered, parked now: redrive it; 12,000 were cancelled before they were sent, parked now: redrive them"
	if strings.Join(got, "; ") != want {
		t.Errorf("got %s", strings.Join(got, "; "))
	}
	if a := operationAgain(f); a == nil || a.Label != "Redrive only the 3 that failed" || !strings.Contains(a.Href, "q=operation%3A01K%2Ffailed+status%3Aparked") || !strings.Contains(a.Href, "expect=3") {
		t.Errorf("the button is %+v", a)
	}
	f.by = analyst
	if a := operationAgain(f); a != nil || operationStuck(f)[0].Do.Href != "" {
		t.Errorf("an analyst has %+v", a)
	}
	f.by, f.stuck = reviewer, f.stuck[1:]
	if a := operationAgain(f); a != nil {
		t.Errorf("nothing failed, and yet: %+v", a)
	}
}

func TestACancelledOperationSaysWhatWasDoneAndWhatWasNot(t *testing.T) {
	o := dlq.Operation{State: dlq.OperationCancelled, Why: "cancelled by reviewer@example.com: too many", Kind: dlq.OperationRedrive,
		Counts: map[dlq.ItemState]int64{dlq.ItemSettled: 120, dlq.ItemInFlight: 3, dlq.ItemCancelled: 1200, dlq.ItemWaiting: 77, dlq.ItemLeftOut: 5}}
	if got := operationWhy(operationFacts{operation: o}); got != "Cancelled by reviewer@example.com: too many. 120 are done, 3 are in flight and keep their outcomes, 1,277 were not started." {
		t.Errorf("got %s", got)
	}
	o.Counts = map[dlq.ItemState]int64{dlq.ItemSettled: 1, dlq.ItemCancelled: 1}
	if got := operationWhy(operationFacts{operation: o}); !strings.HasSuffix(got, " 1 is done, 1 was not started.") {
		t.Errorf("got %s", got)
	}
}

// What failed in one operation is told from what came of it in a later one.
func TestOnlyTheFailedOnesOfAnOperationGoWhateverHappenedToOthersSince(t *testing.T) {
	s := newSite(t)
	s.withTarget("wiki")
	var ids []string
	for i := range 5 {
		ids = append(ids, s.park(fmt.Sprintf(`"source":"wiki","doc_id":"%d","payload":"bytes of %d","error_type":"ParseError","error_message":"no root"`, i, i)).DLQID)
	}
	v := s.signIn(dlq.RoleReviewer)
	redrive := func(q string) string {
		page := v.get(confirmHref(dlq.OperationRedrive, q, -1, "/operations"))
		p := v.post("/confirm/do", append(confirmFields(page.body), "mode", "held", "reason", "fix deployed")...)
		if p.status != http.StatusSeeOther {
			t.Fatalf("a redrive of %s: %d", q, p.status)
		}
		id := strings.TrimPrefix(p.location, "/operations/")
		if _, err := s.store.NextStep(t.Context(), dlq.Policy("test"), id, true, "all at once", 500); err != nil && dlq.KindOf(err) != dlq.KindConflict {
			t.Fatal(err)
		}
		return id
	}
	report := func(operation string, results ...dlq.OutcomeResult) {
		t.Helper()
		items, err := s.store.Items(t.Context(), operation, "", "", 0, 100)
		if err != nil || len(items) != len(results) {
			t.Fatalf("%d items, %v", len(items), err)
		}
		for i, item := range items {
			if results[i] == "" {
				continue
			}
			if _, err := s.store.ApplyOutcome(t.Context(), dlq.Policy("test"), dlq.Outcome{RedriveID: item.RedriveID, Result: results[i], At: s.clock.now()}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	first := redrive("source:wiki status:parked")
	report(first, dlq.OutcomeFailed, dlq.OutcomeFailed, dlq.OutcomeFailed, dlq.OutcomeCommitted, "")
	if page := v.get("/operations/" + first); strings.Contains(page.body, "Still stuck of it") {
		t.Error("it has not ended, and what is stuck of it can be redriven")
	}
	s.clock.move(1)
	if _, err := s.store.MoveOperation(t.Context(), dlq.Policy("test"), first, dlq.OperationCancelled, "enough"); err != nil {
		t.Fatal(err)
	}
	// One of those that failed got in since, by another operation.
	second := redrive("id:0")
	report(second, dlq.OutcomeCommitted)
	page := v.get("/operations/" + first)
	for _, says := range []string{"Redrive only the 2 that failed", "failed again, parked now", "was cancelled before it was sent, parked now"} {
		if !strings.Contains(page.body, says) {
			t.Errorf("the page does not say %q", says)
		}
	}
	third := redrive(stuckQuery(first, "failed"))
	items, err := s.store.Items(t.Context(), third, "", "", 0, 100)
	if err != nil || len(items) != 2 || items[0].DLQID != ids[1] || items[1].DLQID != ids[2] {
		t.Errorf("what went is %+v, %v", items, err)
	}
}

func TestAnOperationByAQueryCountsWhatMatchesNowAndIsNotInIt(t *testing.T) {
	s := newSite(t)
	ids := s.three()
	v := s.signIn(dlq.RoleReviewer)
	page := v.get(confirmHref(dlq.OperationExtend, "source:wiki status:parked", -1, "/entries"))
	p := v.post("/confirm/do", append(confirmFields(page.body), "days", "7", "reason", "waiting for vendor")...)
	if page := v.get(p.location); !strings.Contains(page.body, "Arrived since start") || !strings.Contains(page.body, "match the filter now and are not in it") {
		t.Fatal("the page does not say that nothing arrived")
	}
	s.park(`"source":"wiki","doc_id":"4","payload":"more","error_type":"ParseError","error_message":"no root"`)
	s.park(`"source":"leases","doc_id":"10","payload":"more","error_type":"ParseError","error_message":"no root"`)
	id := strings.TrimPrefix(p.location, "/operations/")
	link := strings.ReplaceAll(entriesHref("source:wiki status:parked -operation:"+id), "&", "&amp;")
	if page := v.get(p.location); !strings.Contains(page.body, `href="`+link+`"`) || !strings.Contains(page.body, "1 document<") {
		t.Errorf("the page does not count what arrived, or %s is not there", link)
	}
	p = v.post("/confirm/do", "action", "extend", "id", ids[0], "id", ids[1], "days", "7", "reason", "x")
	if page := v.get(p.location); strings.Contains(page.body, "Arrived since start") {
		t.Error("what was chosen by hand has no filter")
	}
}
