package pipeline

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/client"
)

// sign signs a delivery as the server does.
func sign(t *testing.T, r *http.Request, id string, body []byte, secret string) {
	t.Helper()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	stamp := fmt.Sprint(fixedNow.Unix())
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + stamp + "."))
	mac.Write(body)
	r.Header.Set("webhook-id", id)
	r.Header.Set("webhook-timestamp", stamp)
	r.Header.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

func testStore(t *testing.T) *store {
	t.Helper()
	s, err := openStore(context.Background(), filepath.Join(t.TempDir(), "pipeline.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func settled(t *testing.T, s *store, hash string, seq int64) dlq.OutcomeResult {
	t.Helper()
	g := given{source: "leases", id: "LS-1", contentHash: hash, sourceVersion: `"` + hash + `"`, seq: seq}
	st := settlementOf(g, newParser(), processed{record: record{Fields: map[string]string{"rent": "1"}}, chunks: 1}, fixedNow)
	st.redriveID, st.outcome = fmt.Sprintf("rd-%s-%d", hash, seq), &client.Outcome{}
	got, err := s.settle(context.Background(), st)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestConcurrentDuplicatesCommitOnce(t *testing.T) {
	s := testStore(t)
	results := make(chan dlq.OutcomeResult, 40)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() { results <- settled(t, s, "same", int64(i)) })
	}
	wg.Wait()
	close(results)
	got := map[dlq.OutcomeResult]int{}
	for r := range results {
		got[r]++
	}
	if got[dlq.OutcomeCommitted] != 1 || got[dlq.OutcomeSkipped] != 39 {
		t.Errorf("40 commits of the same bytes came out as %v; want 1 committed, 39 skipped", got)
	}
	rows, err := s.commits(context.Background())
	if err != nil || len(rows) != 1 || rows[0].Count != 1 {
		t.Errorf("want one posting, got %+v, %v", rows, err)
	}
}

func TestAnOlderVersionNeverReplacesANewerOne(t *testing.T) {
	s := testStore(t)
	if got := settled(t, s, "new", 20); got != dlq.OutcomeCommitted {
		t.Fatalf("the newer version: %s", got)
	}
	if got := settled(t, s, "old", 10); got != dlq.OutcomeSuperseded {
		t.Errorf("an older version after it: %s, want superseded", got)
	}
	if got := settled(t, s, "newest", 30); got != dlq.OutcomeCommitted {
		t.Errorf("a newer one yet: %s, want committed", got)
	}
	d, _, err := s.document(context.Background(), "leases", "LS-1")
	if err != nil || d.ContentHash != "newest" || d.IngestSeq != 30 {
		t.Errorf("the document stands at %+v, %v", d, err)
	}
}

func TestAMessageIsTakenByOneWorkerAndSurvivesARestart(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "pipeline.db")
	s, err := openStore(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second delivery changes nothing
		if err := s.enqueueRedrive(ctx, client.Redrive{RedriveID: "rd-1", Source: "leases", DocID: "LS-1"}, []byte(`{"redrive_id":"rd-1"}`), true, fixedNow); err != nil {
			t.Fatal(err)
		}
	}
	if q, ok, err := s.take(ctx, fixedNow); !ok || err != nil || q.redrive.RedriveID != "rd-1" {
		t.Fatalf("got %+v, %v, %v", q, ok, err)
	}
	if _, ok, err := s.take(ctx, fixedNow); ok || err != nil {
		t.Errorf("a second worker took it too (%v)", err)
	}
	if err := s.Close(); err != nil { // the program ends while it works
		t.Fatal(err)
	}
	s, err = openStore(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if q, ok, err := s.take(ctx, fixedNow); !ok || err != nil || q.receiveCount != 3 || q.back.Deliveries != 1 {
		t.Errorf("after a restart: got %+v, %v, %v; want it again, with one death behind it", q, ok, err)
	}
}

func TestTheSourceServesValidatorsAndRanges(t *testing.T) {
	f, err := openFolder(t.TempDir(), 1, func() time.Time { return fixedNow })
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /docs/{source}/{doc_id}", f.serveDocument)
	ask := func(method, source, id string, header ...string) *http.Response {
		r := httptest.NewRequest(method, "/docs/"+source+"/"+id, nil)
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		return w.Result()
	}
	for defect, want := range map[Defect]struct{ source, tag string }{
		DefectTrailer:     {sourceLeases, `"`},
		DefectTotal:       {sourceChangeOrders, `"`},
		DefectTruncated:   {sourceRentRolls, `W/"`},
		DefectWindows1252: {sourceSubmittals, ""},
	} {
		id := withDefect(defect)[0]
		head := ask(http.MethodHead, want.source, id)
		tag, date := head.Header.Get("ETag"), head.Header.Get("Last-Modified")
		if head.StatusCode != http.StatusOK || date == "" || !strings.HasPrefix(tag, want.tag) || (want.tag == "") != (tag == "") {
			t.Errorf("%s: status %d, ETag %q, Last-Modified %q", want.source, head.StatusCode, tag, date)
		}
		if tag != "" {
			if again := ask(http.MethodGet, want.source, id, "If-None-Match", tag); again.StatusCode != http.StatusNotModified {
				t.Errorf("%s: If-None-Match answered %d, want 304", want.source, again.StatusCode)
			}
		}
		if part := ask(http.MethodGet, want.source, id, "Range", "bytes=0-3"); part.StatusCode != http.StatusPartialContent || part.ContentLength != 4 {
			t.Errorf("%s: a range answered %d with %d bytes", want.source, part.StatusCode, part.ContentLength)
		}
		if _, err := f.correct(want.source, id); err != nil {
			t.Fatal(err)
		}
		after := ask(http.MethodHead, want.source, id)
		if after.Header.Get("ETag") == tag && after.Header.Get("Last-Modified") == date {
			t.Errorf("%s: a corrected document kept its validators %q, %q", want.source, tag, date)
		}
		if err := f.remove(want.source, id); err != nil {
			t.Fatal(err)
		}
		if gone := ask(http.MethodHead, want.source, id); gone.StatusCode != http.StatusNotFound {
			t.Errorf("%s: a deleted document answered %d, want 404", want.source, gone.StatusCode)
		}
	}
}

func TestTheSourceServesNothingOutsideItsFolders(t *testing.T) {
	dir := t.TempDir()
	f, err := openFolder(dir, 1, func() time.Time { return fixedNow })
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(dir, "secret.pdf")
	if err := os.WriteFile(outside, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, sourceLeases, "link.pdf")); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{{"leases", "../secret"}, {"leases", `..\secret`}, {"leases", "link"}, {"..", "secret"}, {"", "secret"}, {"leases", ""}, {"leases", "."}} {
		if got, err := f.read(c[0], c[1]); err == nil {
			t.Errorf("%q of %q was served: %s", c[1], c[0], got.Filename)
		}
	}
}

func TestEditsSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	f, err := openFolder(dir, 1, func() time.Time { return fixedNow })
	if err != nil {
		t.Fatal(err)
	}
	edited, deleted := withDefect(DefectTotal)[0], withDefect(DefectTotal)[1]
	now, err := f.correct(sourceChangeOrders, edited)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.remove(sourceChangeOrders, deleted); err != nil {
		t.Fatal(err)
	}
	f, err = openFolder(dir, 1, func() time.Time { return fixedNow.AddDate(0, 0, 1) })
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.read(sourceChangeOrders, edited); err != nil || got.version() != now.version() {
		t.Errorf("the edit is lost: %v", err)
	}
	if _, err := f.read(sourceChangeOrders, deleted); err == nil {
		t.Error("a deleted document came back")
	}
}

func TestSourcesAreValidPolicies(t *testing.T) {
	for _, p := range Sources("http://127.0.0.1:9000/", testSecret) {
		if faults := p.Validate(); len(faults) > 0 {
			t.Errorf("%s: %v", p.Name, faults)
		}
		if p.Owner == "" || p.Runbook == "" || p.Redrive.URL != "http://127.0.0.1:9000/redrive" || p.Probe.URL != "http://127.0.0.1:9000/docs/"+p.Name+"/{doc_id}" {
			t.Errorf("%s: %+v", p.Name, p)
		}
	}
}

func TestOptionsComeFromFlagsAndEnvironment(t *testing.T) {
	want := Options{ServerURL: "http://127.0.0.1:1", Token: "t", Secrets: []string{"a", "b"}, Folder: "f", Data: "d", Listen: "l", Seed: 9}
	env := map[string]string{}
	for _, pair := range want.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	var out strings.Builder
	got, err := OptionsFrom([]string{"--listen", "127.0.0.1:7"}, func(name string) string { return env[name] }, &out)
	if err != nil {
		t.Fatal(err)
	}
	if got.ServerURL != want.ServerURL || got.Token != "t" || len(got.Secrets) != 2 || got.Listen != "127.0.0.1:7" || got.Seed != 9 || got.Data != "d" || got.Folder != "f" {
		t.Errorf("got %+v", got)
	}
	for _, args := range [][]string{{"--seed", "x"}, {"extra"}, {"--server", "nowhere"}} {
		if _, err := OptionsFrom(args, func(name string) string { return env[name] }, &out); err == nil {
			t.Errorf("%v was accepted", args)
		}
	}
}
