package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"
)

// onCallTarget is a pipeline that commits what it is sent, or nothing yet.
func onCallTarget(t *testing.T) (url string, took *atomic.Int64) {
	t.Helper()
	took = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		took.Add(1)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"result":"committed"}`)
	}))
	t.Cleanup(server.Close)
	return server.URL, took
}

// fitsAScreen says that text for people has no line over 80 columns and nothing
// that moves a cursor.
func fitsAScreen(t *testing.T, what, text string) {
	t.Helper()
	for _, line := range strings.Split(text, "\n") {
		if utf8.RuneCountInString(line) > 80 {
			t.Errorf("%s: %d columns: %s", what, utf8.RuneCountInString(line), line)
		}
		if strings.ContainsAny(line, "\x1b\r\x00") {
			t.Errorf("%s: what a document is called moves the cursor: %q", what, line)
		}
	}
}

func TestWhoIsOnCallListsShowsRedrivesPausesAndResumesOverATerminal(t *testing.T) {
	data := t.TempDir()
	server := start(t, listening, nil, dloBinary, "serve", "--data", data, "--listen", "127.0.0.1:0", "--outbound-allow", "127.0.0.1")
	office := newAPI(t, server.address, newToken(t, data, "oncall", "ingest,read,act,admin"))
	target, took := onCallTarget(t)
	if code, err := office.call(http.MethodPut, "/sources/wiki", map[string]any{"redrive": map[string]any{"url": target + "/redrive"}, "outcomes": map[string]any{"mode": "response"}}, nil); err != nil || code >= 300 {
		t.Fatalf("the source: %d, %v", code, err)
	}
	var first struct {
		DLQID  string `json:"dlq_id"`
		Cohort string `json:"cohort"`
	}
	names := []string{"1", "2", "a\x1b[31mred " + strings.Repeat("long ", 40), "4", "5", "6"}
	for i, name := range names {
		into := any(nil)
		if i == 0 {
			into = &first
		}
		body := map[string]any{"source": "wiki", "doc_id": name, "payload": "bytes of " + name, "error_type": "PDFSyntaxError", "error_message": "no /Root \x1b[2J object",
			"stack_trace": "Traceback (most recent call last):\n  File \"a.py\", line 1, in parse\n    raise PDFSyntaxError\nPDFSyntaxError: no /Root object"}
		if code, err := office.call(http.MethodPost, "/dead-letters", body, into); err != nil || code != http.StatusCreated {
			t.Fatalf("park: %d, %v", code, err)
		}
	}
	onCall := func(args ...string) string { return dlo(t, "", append(args, "--data", data)...) }

	list := onCall("list", "--limit", "3")
	fitsAScreen(t, "list", list)
	for _, says := range []string{"6 documents match: status:parked", "PDFSyntaxError", "and 3 more"} {
		if !strings.Contains(list, says) {
			t.Errorf("the list does not say %q:\n%s", says, list)
		}
	}
	var listed struct {
		Items []map[string]any `json:"items"`
		Total int              `json:"total"`
	}
	if err := json.Unmarshal([]byte(onCall("list", "--query", "source:wiki", "--sort", "oldest", "--json")), &listed); err != nil || listed.Total != 6 || len(listed.Items) != 6 || listed.Items[0]["dlq_id"] == "" {
		t.Errorf("as JSON: %+v, %v", listed, err)
	}
	shown := onCall("show", first.DLQID)
	fitsAScreen(t, "show of a document", shown)
	for _, says := range []string{"wiki / 1", "parked", first.Cohort, "raise PDFSyntaxError", "UTC"} {
		if !strings.Contains(shown, says) {
			t.Errorf("the document does not say %q:\n%s", says, shown)
		}
	}
	if cohort := onCall("show", first.Cohort); !strings.Contains(cohort, "6 parked") || !strings.Contains(cohort, "proof") {
		t.Errorf("the cohort says:\n%s", cohort)
	}
	var asAPI, asCommand map[string]any
	if _, err := office.call(http.MethodGet, "/dead-letters/"+first.DLQID, nil, &asAPI); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(onCall("show", first.DLQID, "--json")), &asCommand); err != nil || fmt.Sprint(asAPI) != fmt.Sprint(asCommand) {
		t.Errorf("show --json is not what the API answers (%v):\n%v\n%v", err, asCommand, asAPI)
	}

	refused := func(code int, says string, args ...string) {
		t.Helper()
		out, got := dloCode(t, "", append(args, "--data", data)...)
		if got != code || !strings.Contains(out, says) {
			t.Errorf("dlo %s ended with %d, want %d and %q:\n%s", strings.Join(args, " "), got, code, says, out)
		}
	}
	refused(2, "documents or --query expected", "redrive", "--reason", "x")
	refused(2, "not both", "redrive", "01K", "--query", "source:wiki", "--reason", "x")
	refused(2, "--canary", "redrive", "--query", "source:wiki", "--reason", "x", "--canary", "1,0")
	refused(2, "--reason", "redrive", "--query", "source:wiki")
	refused(2, "sauce", "list", "--query", "sauce:wiki")
	refused(2, "1 to 500", "list", "--limit", "0")
	refused(1, "nobody can be asked here", "redrive", "--query", "source:wiki", "--reason", "x")
	refused(1, "5 matched when you looked, 6 match now", "redrive", "--query", "source:wiki", "--reason", "x", "--expect", "5", "--yes")
	refused(1, "there is no document, cohort or operation", "show", "01KNOWHERE")
	refused(1, "there is no source of this name", "pause", "--source", "nobody")
	if took.Load() != 0 {
		t.Fatal("something was sent by what was refused")
	}

	// The server carries on what the command starts, without being told.
	began := time.Now()
	done := onCall("redrive", first.DLQID, "--reason", "try one", "--yes", "--wait")
	fitsAScreen(t, "a redrive", done)
	if took.Load() != 1 || !strings.Contains(done, "1 committed") || !strings.Contains(done, "asked by      command line (") {
		t.Errorf("%d were sent:\n%s", took.Load(), done)
	}
	if waited := time.Since(began); waited > 10*time.Second {
		t.Errorf("the server took %s to see it", waited)
	}
	if out := onCall("pause", "--reason", "the index is down"); !strings.Contains(out, "all redrives: paused") {
		t.Errorf("pause says %q", out)
	}
	var started struct {
		ID    string `json:"id"`
		State string `json:"state"`
	}
	if err := json.Unmarshal([]byte(onCall("redrive", "--query", "source:wiki status:parked", "--expect", "5", "--reason", "the rest", "--canary", "2", "--mode", "held", "--yes", "--json")), &started); err != nil || started.State != "running" {
		t.Fatalf("started: %+v, %v", started, err)
	}
	if out := onCall("pause", "--operation", started.ID, "--reason", "wait"); !strings.Contains(out, "paused by command line (") || !strings.Contains(out, "step 1 of 2") {
		t.Errorf("the operation says:\n%s", out)
	}
	if took.Load() != 1 {
		t.Error("something was sent while all was paused")
	}
	onCall("resume")
	onCall("resume", "--operation", started.ID)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		out := onCall("show", started.ID)
		if strings.Contains(out, "state         done") && strings.Contains(out, "5 committed") {
			fitsAScreen(t, "show of an operation", out)
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it did not end:\n%s", out)
		}
	}
	if took.Load() != 6 {
		t.Errorf("%d were sent, want 6", took.Load())
	}
	refused(1, "no document matches", "redrive", "--query", "source:wiki status:parked", "--reason", "x", "--yes")

	if code := server.terminate(); code != 0 {
		t.Fatalf("the server ended with %d", code)
	}
	refused(1, "no server runs", "redrive", first.DLQID, "--reason", "x", "--yes", "--wait")
	if out, code := dloCode(t, "", "redrive", first.DLQID, "--reason", "x", "--yes", "--data", data); code != 0 || !strings.Contains(out, "No server runs on this data folder") {
		t.Errorf("without a server it ended with %d:\n%s", code, out)
	}
}
