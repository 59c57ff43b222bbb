package handlers

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"dlo/dlq"
)

func failureOf(docID, errorType, message string) obj {
	return obj{"source": "wiki", "doc_id": docID, "error_type": errorType, "error_message": message, "parser_version": "pdf@1"}
}

func TestCohortsGatherWhatFailedAlike(t *testing.T) {
	a := newAPI(t)
	for i := range 3 {
		a.park(failureOf(fmt.Sprint(i), "PDFSyntaxError", fmt.Sprintf("no object at offset %d", 41827+i)))
	}
	other := a.park(failureOf("9", "UnicodeDecodeError", "invalid start byte"))
	rows := a.get("/api/v1/cohorts", dlq.ScopeRead).want(http.StatusOK).items()
	if len(rows) != 2 || rows[0]["parked"] != 3.0 || rows[0]["error_type"] != "PDFSyntaxError" || rows[1]["parked"] != 1.0 {
		t.Fatalf("the cohorts are %v", rows)
	}
	if rows[0]["proof"] != "none" || rows[0]["source"] != "wiki" || rows[0]["versions"].([]any)[0].(obj)["parked"] != 3.0 {
		t.Errorf("the cohort is %v", rows[0])
	}
	for query, want := range map[string]int{"?q=unicode": 1, "?q=nothing": 0, "?q=source:wiki": 2, "?q=source:leases": 0, "?q=type:UnicodeDecodeError": 1, "?q=-type:UnicodeDecodeError": 1, "?q=unicode+source:leases": 0, "?q=status:archived": 0, "?source=wiki": 2, "?source=leases": 0, "?status=archived": 0, "?sort=oldest&limit=1": 1} {
		if got := len(a.get("/api/v1/cohorts"+query, dlq.ScopeRead).want(http.StatusOK).items()); got != want {
			t.Errorf("%s lists %d, want %d", query, got, want)
		}
	}
	byID := a.get("/api/v1/cohorts/"+other.Cohort, dlq.ScopeRead).want(http.StatusOK).object()
	byFingerprint := a.get("/api/v1/cohorts/"+other.Fingerprint, dlq.ScopeRead).want(http.StatusOK).object()
	if byID["id"] != other.Cohort || byFingerprint["id"] != other.Cohort {
		t.Errorf("by id it is %v, by fingerprint %v", byID["id"], byFingerprint["id"])
	}
	if members := byID["members"].([]any); len(members) != 1 || members[0].(obj)["fingerprint"] != other.Fingerprint {
		t.Errorf("its members are %v", members)
	}
	a.get("/api/v1/cohorts/01JNOWHERE", dlq.ScopeRead).problem(http.StatusNotFound, dlq.KindNotFound)
	for query, pointer := range map[string]string{"status=lost": "/status", "sort=colour": "/sort", "limit=0": "/limit", "cursor=x": "/cursor", "q=bogus:1": "/q"} {
		if got := pointersOf(a.get("/api/v1/cohorts?"+query, dlq.ScopeRead).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)); !slices.Equal(got, []string{pointer}) {
			t.Errorf("%s is refused at %q, want %s", query, got, pointer)
		}
	}
}

func TestPagesOfCohortsAreTheWholeList(t *testing.T) {
	a := newAPI(t)
	for i := range 7 {
		for n := range 1 + i%2 {
			a.park(failureOf(fmt.Sprintf("%d.%d", i, n), fmt.Sprintf("Error%c", 'A'+i), "x"))
		}
	}
	for _, sort := range []string{"parked", "last_seen", "arrivals", "oldest"} {
		seen := map[any]bool{}
		cursor, pages := "", 0
		for ; pages < 5; pages++ {
			answer := a.get("/api/v1/cohorts?limit=2&sort="+sort+"&cursor="+cursor, dlq.ScopeRead).want(http.StatusOK)
			for _, row := range answer.items() {
				seen[row["id"]] = true
			}
			if cursor = answer.object()["next"].(string); cursor == "" {
				break
			}
		}
		if len(seen) != 7 || pages != 3 {
			t.Errorf("by %s %d cohorts are on %d pages, want 7 on 4", sort, len(seen), pages+1)
		}
	}
}

func TestACohortHasAnOwnerATicketAndNotes(t *testing.T) {
	a := newAPI(t)
	cohort := "/api/v1/cohorts/" + a.park(failureOf("1", "E", "x")).Cohort
	if got := a.post(cohort+"/assign", dlq.ScopeAct, obj{"owner": "reviewer@example.com", "ticket": "OPS-7"}).want(http.StatusOK).object(); got["owner"] != "reviewer@example.com" || got["ticket"] != "OPS-7" {
		t.Errorf("assigned is %v, %v", got["owner"], got["ticket"])
	}
	got := a.post(cohort+"/notes", dlq.ScopeAct, obj{"note": "a known defect"}).want(http.StatusOK).object()
	if notes := got["notes"].([]any); len(notes) != 1 || notes[0].(obj)["note"] != "a known defect" || notes[0].(obj)["written_at"] != "2026-03-02T10:00:00Z" {
		t.Errorf("the notes are %v", notes)
	}
	a.post("/api/v1/cohorts/01JNOWHERE/notes", dlq.ScopeAct, obj{"note": "x"}).problem(http.StatusNotFound, dlq.KindNotFound)
}

// A cohort may hold documents of several sources. Who is limited to one is told
// of that one.
func TestACohortOfSeveralSourcesNamesOnlyThoseThatOneMaySee(t *testing.T) {
	a := newAPI(t)
	theirs := failureOf("1", "SharedError", "x")
	theirs["source"], theirs["parser_version"] = "leases", "secret-parser@9"
	if mine, other := a.park(failureOf("1", "SharedError", "x")), a.park(theirs); mine.Cohort != other.Cohort {
		t.Fatalf("the same failure in two sources is in the cohorts %s and %s", mine.Cohort, other.Cohort)
	}
	for _, path := range []string{"/api/v1/cohorts", "/api/v1/cohorts/" + a.park(failureOf("2", "SharedError", "x")).Cohort} {
		body := string(a.do(apiCall{method: get, path: path, scope: dlq.ScopeRead, source: "wiki"}).want(http.StatusOK).body)
		if !strings.Contains(body, `"parked":2`) || strings.Contains(body, "leases") || strings.Contains(body, "secret-parser") || !strings.Contains(body, "pdf@1") {
			t.Errorf("GET %s shows another source: %s", path, body)
		}
	}
}
