package handlers

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/redrive"
)

func askedSourceFacts() confirmFacts {
	return confirmFacts{choice: choice{action: dlq.OperationRedrive, query: "source:wiki", expect: 9}, by: reviewer, now: noon, count: 9, csrf: "t", sources: []chosenSource{{}},
		preview: redrive.Preview{Looked: 9, Goes: 9, LeftOut: map[dlq.LeftOut]int64{}, Copies: map[dlq.CopyState]int64{dlq.CopyHeld: 6},
			Load: redrive.Load{Held: 6, HeldBytes: 12_400_000, FromThere: 3, Bytes: 900, Unsized: 1},
			Said: redrive.Said{Readings: map[dlq.Reading]int64{dlq.ReadingUnchanged: 3, dlq.ReadingChanged: 2, dlq.ReadingGone: 1}, NotAsked: 2, NoProbe: 1, First: noon.Add(-48 * time.Hour), Last: noon.Add(-3 * time.Hour)}}}
}

func TestAConfirmationSaysWhatGoesDownstreamAndWhatTheSourcesSaidLast(t *testing.T) {
	f := askedSourceFacts()
	var got []string
	for _, kv := range loadFacts(f) {
		got = append(got, kv.Key+": "+kv.Value.String()+" ("+kv.Note+")")
	}
	want := "Goes downstream: 9 documents, 12.4 MB (6 as stored copies, 12.4 MB; 3 from their source, 900 bytes when they failed; 1 has a size that is not known here)\n" +
		"At the source: 3 unchanged, 2 changed, 1 gone at the source, 2 not asked since they failed, 1 of sources that cannot be asked (asked between 2 d ago and 3 h ago)"
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	for mode, says := range map[dlq.Mode]string{dlq.ModeAuto: "", dlq.ModeHeld: "1 document that is gone at its source would be brought back; 2 would go in although their documents have changed since.",
		dlq.ModeSource: "2 have changed since: their replays tell nothing of the code; 1 is gone there."} {
		if got := saidRisks(f, mode); !strings.HasSuffix(got, says) || (says == "") != (got == "") {
			t.Errorf("%s: %q", mode, got)
		}
	}
	form := askSourcesForm(f)
	if form == nil || form.Submit != "Ask the source about these 9 now" || form.Action != "/confirm/ask" || fmt.Sprint(form.Fields[len(form.Fields)-1]) != "{expect 9}" {
		t.Errorf("the button is %+v", form)
	}
	f.preview.Said = redrive.Said{NoProbe: 9}
	if form := askSourcesForm(f); form != nil {
		t.Errorf("no source can be asked, and yet: %+v", form)
	}
	f = askedSourceFacts()
	f.by = auditor
	if form := askSourcesForm(f); form != nil {
		t.Error("an auditor has the button")
	}
}

func TestTheSourcesAreAskedFromTheConfirmationAndItsPageLeadsBack(t *testing.T) {
	s := newSite(t)
	ids := s.three()
	p := dlq.DefaultPolicy("wiki")
	p.Redrive.URL = "https://pipeline.example.com/redrive"
	p.Probe = dlq.ProbePolicy{URL: "https://wiki.example.com/doc/{doc_id}", Kind: "any", ETagFrom: "header:ETag", Fetch: dlq.FetchNever}
	if _, _, err := s.store.PutSource(t.Context(), dlq.Policy("test"), p); err != nil {
		t.Fatal(err)
	}
	v := s.signIn(dlq.RoleAnalyst)
	page := v.get("/confirm?action=redrive&back=/entries&q=" + url.QueryEscape("source:wiki status:parked"))
	if !strings.Contains(page.body, "Ask the source about these 3 now") || !strings.Contains(page.body, "3 not asked since they failed") {
		t.Fatalf("the confirmation does not offer to ask: %d", page.status)
	}
	got := v.post("/confirm/ask", "action", "redrive", "q", "source:wiki status:parked", "expect", "3", "back", "/entries")
	if got.status != http.StatusSeeOther || !strings.HasPrefix(got.location, "/operations/") {
		t.Fatalf("got %d %q", got.status, got.location)
	}
	id := strings.TrimPrefix(got.location, "/operations/")
	items, err := s.store.Items(t.Context(), id, "", "", 0, 10)
	if err != nil || len(items) != 3 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	for i, reading := range []dlq.Reading{dlq.ReadingUnchanged, dlq.ReadingChanged, dlq.ReadingUnchanged} {
		if err := s.store.Asked(t.Context(), items[i], reading, ""); err != nil {
			t.Fatal(err)
		}
	}
	page = v.get(got.location)
	for _, says := range []string{"Ask the source: 3 documents", "Back to the redrive", "unchanged", "3 documents asked about.", strings.ReplaceAll(entriesHref("operation:"+id+"/changed"), "&", "&amp;")} {
		if !strings.Contains(page.body, says) {
			t.Errorf("the operation's page does not say %q", says)
		}
	}
	if list := v.get("/operations"); !strings.Contains(list.body, "Ask the source: 3 documents") {
		t.Error("it is not in the list")
	}
	if e := s.entry(ids[0]); e.Status != dlq.StatusParked {
		t.Errorf("a document is %s", e.Status)
	}
	if got := v.post("/confirm/ask", "action", "redrive", "q", "source:wiki status:parked", "expect", "2", "back", "/entries"); got.status != http.StatusConflict {
		t.Errorf("another number than was seen: %d", got.status)
	}
	if got := s.signIn(dlq.RoleAuditor).post("/confirm/ask", "action", "redrive", "q", "source:wiki", "back", "/entries"); got.status != http.StatusForbidden {
		t.Errorf("an auditor asks: %d", got.status)
	}
	if got := s.signIn(dlq.RoleReviewer, "leases").get(operationHref(id)); got.status != http.StatusNotFound {
		t.Errorf("who does not see the source sees the operation: %d", got.status)
	}
}
