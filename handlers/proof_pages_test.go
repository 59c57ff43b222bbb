package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"dlo/dlq"
)

// What a replay proves is said wherever the cohort and its documents are listed.
func TestAProofIsSaidOnTheHomePageTheDocumentsAndTheAPI(t *testing.T) {
	s := newSite(t)
	cohort := s.defect("wiki", 4)
	v := s.signIn(dlq.RoleReviewer)
	v.says("/cohorts", "Not tested")
	v.post("/cohorts/"+cohort+"/redrive", append(barFields(v.get("/cohorts/"+cohort).body, "redrive"), "reason", "fix deployed", "send", "steps")...)
	v.says("/cohorts", "Testing")
	if n := s.pipeline("wiki", committedNow); n != 1 {
		t.Fatalf("%d were sent", n)
	}
	v.says("/cohorts", "Fix works · 1 of 1", "fix works, 1 of 1", "/cohorts/"+cohort+"#prove", "Send next")
	v.says("/cohorts?q=proof:proven", "Fix works · 1 of 1")
	v.says("/cohorts?q=proof:none", "No cohort matches")
	v.says("/entries?q="+url.QueryEscape("proof:proven status:parked"), "3 documents")
	list, _, err := s.store.Entries(t.Context(), dlq.Policy("test"), dlq.Query{Terms: []dlq.Term{{Key: "status", Values: []string{"parked"}}}}, "", "", 9)
	if err != nil || len(list) != 3 {
		t.Fatalf("%d are parked, %v", len(list), err)
	}
	v.says("/entries/"+list[0].DLQID, "Fix works · 1 of 1", "Fix works: 1 of 1 like it got past this error.")

	// Who may not know of its source learns nothing of its proof.
	s.defect("leases", 1)
	other := s.signIn(dlq.RoleAnalyst, "leases")
	if page := other.get("/cohorts?q=proof:proven"); strings.Contains(page.body, "1 of 1") || !strings.Contains(page.body, "No cohort matches") {
		t.Errorf("somebody of another source sees %s", page.body)
	}
}

func TestARedriveThatStoppedIsTheFirstToLookAt(t *testing.T) {
	s := newSite(t)
	cohort := s.defect("wiki", 4)
	s.defect("leases", 9)
	v := s.signIn(dlq.RoleReviewer)
	v.post("/cohorts/"+cohort+"/redrive", append(barFields(v.get("/cohorts/"+cohort).body, "redrive"), "reason", "fix deployed", "send", "steps")...)
	if n := s.pipeline("wiki", failedTheSame); n != 1 {
		t.Fatalf("%d were sent", n)
	}
	page := v.get("/cohorts")
	at, other := strings.Index(page.body, "Stopped at 1"), strings.Index(page.body, "ParseErrorleases")
	if page.status != http.StatusOK || at < 0 || other < at || !strings.Contains(page.body, "stopped at 1, 3 were not touched") {
		t.Errorf("the home page says %s", page.body)
	}
}

func TestTheAPISaysWhatIsProvenAndOfWhat(t *testing.T) {
	a := newAPI(t)
	a.putSource("wiki", obj{"redrive": obj{"url": "https://pipeline.example.com/redrive"}})
	a.post("/api/v1/deployments", dlq.ScopeAdmin, obj{"source": "wiki", "component": "parser", "version": "pdf@2"})
	for _, doc := range []string{"2", "3"} {
		a.park(obj{"source": "wiki", "doc_id": doc, "payload": "document " + doc, "error_type": "PDFSyntaxError", "parser_version": "pdf@1"})
	}
	_, redriveID := a.redriven("1")
	a.post(apiOutcomes, dlq.ScopeOutcome, obj{"redrive_id": redriveID, "result": "committed", "parser_version": "pdf@2", "payload_sha256": digestOf("document 1")}).want(http.StatusOK)
	row := a.get("/api/v1/cohorts?q=proof:proven&sort=needs", dlq.ScopeRead).want(http.StatusOK).items()[0]
	detail := row["proof_detail"].(obj)
	if row["proof"] != "proven" || detail["words"] != "Fix works · 1 of 1" || detail["passed"] != 1.0 || detail["of"] != 1.0 || detail["covers"] != 2.0 || detail["low"] != 0.0 || detail["high"] != 2.0 {
		t.Errorf("the row is %v", row)
	}
	one := a.get("/api/v1/cohorts/"+row["id"].(string), dlq.ScopeRead).want(http.StatusOK).object()
	proofs := one["proofs"].([]any)
	move := proofs[0].(obj)["step"].([]any)[0].(obj)
	if len(proofs) != 1 || move["component"] != "parser" || move["from"] != "pdf@1" || move["to"].([]any)[0] != "pdf@2" {
		t.Errorf("the steps are %v", proofs)
	}
}
