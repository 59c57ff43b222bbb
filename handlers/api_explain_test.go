package handlers

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"dlo/dlq"
)

func TestAFingerprintIsExplainedAndIsTheOneOfParking(t *testing.T) {
	a := newAPI(t)
	letter := leaseLetter()
	question := obj{"source": "leases", "stack_trace": letter["stack_trace"], "error_type": letter["error_class"]}
	got := a.post("/api/v1/fingerprints", dlq.ScopeIngest, question).want(http.StatusOK).object()
	if got["mode"] != "trace" || len(got["frames"].([]any)) != 2 || !strings.Contains(got["canonical"].(string), "parse") {
		t.Errorf("explained is %v", got)
	}
	again := a.post("/api/v1/fingerprints", dlq.ScopeRead, question).want(http.StatusOK).object()
	if again["fingerprint"] != got["fingerprint"] {
		t.Error("the same question has two answers")
	}
	if rows := a.get(apiDeadLetters, dlq.ScopeRead).items(); len(rows) != 0 {
		t.Error("an explanation stored something")
	}
	if receipt := a.park(letter); receipt.Fingerprint != got["fingerprint"] {
		t.Errorf("parked it is %s, explained it is %v", receipt.Fingerprint, got["fingerprint"])
	}
	p := a.post("/api/v1/fingerprints", dlq.ScopeRead, obj{"error_type": 7, "colour": "red"}).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
	if got := pointersOf(p); !slices.Equal(got, []string{"/colour", "/error_type"}) {
		t.Errorf("the faults are named at %q", got)
	}
}

func TestEvidenceOfRealSourcesReadsRight(t *testing.T) {
	f, err := os.Open("../../shared/cases/etags.jsonl")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("the folder of real cases is absent")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	wanted := map[string]string{"same": "unchanged", "same-weak": "unchanged", "same-unquoted": "unchanged", "changed": "changed", "changed?": "maybe_changed", "unknown": "unknown"}
	a := newAPI(t)
	lines := bufio.NewScanner(f)
	held := 0
	for lines.Scan() {
		var row struct {
			N               int
			Kind, Verdict   string
			Stored, Current *string
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		if row.Kind == "digest" {
			continue // its texts say in words what the digests were
		}
		held++
		got := a.post("/api/v1/evidence", dlq.ScopeRead, obj{"kind": row.Kind, "stored": row.Stored, "current": row.Current}).want(http.StatusOK).object()
		if got["bytes"] != wanted[row.Verdict] || wanted[row.Verdict] == "" {
			t.Errorf("row %d (%s) reads %v by %v, want %s", row.N, row.Kind, got["bytes"], got["grade"], row.Verdict)
		}
		if unknown := got["bytes"] == "unknown"; unknown != (got["grade"] == "none") {
			t.Errorf("row %d reads %v by %v", row.N, got["bytes"], got["grade"])
		}
	}
	if err := lines.Err(); err != nil || held < 40 {
		t.Errorf("%d rows were held to their verdict: %v", held, err)
	}
}

func TestTwoDigestsOutrankTheTags(t *testing.T) {
	a := newAPI(t)
	one, other := digestOf("one"), digestOf("other")
	got := a.post("/api/v1/evidence", dlq.ScopeIngest, obj{"stored": `"1"`, "current": `"1"`, "stored_sha256": one, "current_sha256": other}).want(http.StatusOK).object()
	if got["bytes"] != "changed" || got["grade"] != "digest" || len(got["caveats"].([]any)) == 0 {
		t.Errorf("one tag over two digests reads %v", got)
	}
	got = a.post("/api/v1/evidence", dlq.ScopeIngest, obj{"stored": `"1"`, "current": `"2"`, "stored_sha256": one, "current_sha256": one}).want(http.StatusOK).object()
	if got["bytes"] != "unchanged" || got["grade"] != "digest" {
		t.Errorf("one digest under two tags reads %v", got)
	}
	got = a.post("/api/v1/evidence", dlq.ScopeIngest, obj{"kind": "a kind that nobody knows", "stored": nil, "current": nil}).want(http.StatusOK).object()
	if got["bytes"] != "unknown" || got["grade"] != "none" {
		t.Errorf("nothing on either side reads %v", got)
	}
	p := a.post("/api/v1/evidence", dlq.ScopeIngest, obj{"stored_sha256": "abc", "current_sha256": strings.ToUpper(one)}).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
	if got := pointersOf(p); !slices.Equal(got, []string{"/stored_sha256", "/current_sha256"}) {
		t.Errorf("the faults are named at %q", got)
	}
}
