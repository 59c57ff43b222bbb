package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dlo/dlq"
)

// office is a server that speaks the parking part of the API, and can be told
// to be unwell.
type office struct {
	*httptest.Server

	mu       sync.Mutex
	unwell   []func(w http.ResponseWriter) // answers that are given first, one a call
	down     bool                          // answers 503 to everything
	entries  map[string]dlq.Envelope       // by source/doc_id
	payloads map[string]string             // by digest
	calls    int
	batches  []int // lines of each NDJSON call
}

func newOffice(t *testing.T) *office {
	o := &office{entries: map[string]dlq.Envelope{}, payloads: map[string]string{}}
	o.Server = httptest.NewServer(http.HandlerFunc(o.serve))
	t.Cleanup(o.Close)
	return o
}

func (o *office) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls++
	if o.down {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if len(o.unwell) > 0 {
		answer := o.unwell[0]
		o.unwell = o.unwell[1:]
		answer(w)
		return
	}
	if digest, put := strings.CutPrefix(r.URL.Path, "/api/v1/payloads/"); put {
		o.payloads[digest] = string(body)
		w.WriteHeader(http.StatusCreated)
		return
	}
	kind, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch kind {
	case "application/x-ndjson":
		lines := strings.Split(strings.TrimSpace(string(body)), "\n")
		o.batches = append(o.batches, len(lines))
		for i, line := range lines {
			status, entry := o.park([]byte(line))
			if status >= 400 {
				fmt.Fprintf(w, `{"line":%d,"status":%d,"problem":%s}`+"\n", i+1, status, entry)
				continue
			}
			fmt.Fprintf(w, `{"line":%d,"status":%d,"entry":%s}`+"\n", i+1, status, entry)
		}
	case "multipart/form-data":
		parts, sent := multipart.NewReader(strings.NewReader(string(body)), params["boundary"]), map[string][]byte{}
		for {
			part, err := parts.NextPart()
			if err == io.EOF {
				break
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			sent[part.FormName()], _ = io.ReadAll(part)
		}
		sum := sha256.Sum256(sent["payload"])
		o.payloads[hex.EncodeToString(sum[:])] = string(sent["payload"])
		status, entry := o.park(sent["envelope"])
		w.WriteHeader(status)
		_, _ = w.Write(entry)
	default:
		status, entry := o.park(body)
		if status >= 400 {
			w.Header().Set("Content-Type", "application/problem+json")
		}
		w.WriteHeader(status)
		_, _ = w.Write(entry)
	}
}

func (o *office) park(envelope []byte) (int, []byte) {
	e, err := dlq.ParseEnvelope(envelope, time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))
	var fault *dlq.Error
	if errors.As(err, &fault) {
		b, _ := json.Marshal(map[string]any{"title": "Unprocessable", "detail": fault.Message, "errors": fault.Faults})
		return http.StatusUnprocessableEntity, b
	}
	key := e.Source + "/" + e.DocID
	_, known := o.entries[key]
	o.entries[key] = e
	status := http.StatusCreated
	if known {
		status = http.StatusOK
	}
	return status, fmt.Appendf(nil, `{"dlq_id":"01J-%s","source":%q,"doc_id":%q,"status":"parked","created":%v}`, e.DocID, e.Source, e.DocID, !known)
}

func (o *office) set(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f()
}

// testClient waits for nothing: its clock moves by what it would have waited.
func testClient(t *testing.T, url, spool string) *Client {
	t.Helper()
	c, err := New(Config{URL: url, Token: "secret-token", Spool: spool})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	c.now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	c.wait = func(_ context.Context, d time.Duration) error {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(d)
		return nil
	}
	return c
}

func letter(id string) dlq.Envelope {
	return dlq.Envelope{Source: "leases", DocID: id, ErrorType: "E", ErrorMessage: "broken"}
}

func TestParkSendsEnvelopeAndPayload(t *testing.T) {
	o := newOffice(t)
	c := testClient(t, o.URL, t.TempDir())
	for name, payload := range map[string]string{"short": "bytes", "long": strings.Repeat("x", inMemory+1), "empty": ""} {
		parked, err := c.Park(context.Background(), letter(name), strings.NewReader(payload))
		if err != nil || parked.DLQID != "01J-"+name || !parked.Created || parked.Spooled {
			t.Fatalf("%s: got %+v, %v", name, parked, err)
		}
		e := o.entries["leases/"+name]
		if o.payloads[e.PayloadSHA256] != payload || e.PayloadBytes == nil || *e.PayloadBytes != int64(len(payload)) {
			t.Errorf("%s: the stored payload is not what was sent", name)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(c.spool.dir, "*")); len(left) != 1 {
		t.Errorf("something is left beside the empty payloads folder: %v", left)
	}
}

func TestParkRefusesAClaimedDigestThatDiffers(t *testing.T) {
	o := newOffice(t)
	e := letter("1")
	e.PayloadSHA256 = strings.Repeat("0", 64)
	if _, err := testClient(t, o.URL, t.TempDir()).Park(context.Background(), e, strings.NewReader("bytes")); err == nil || o.calls != 0 {
		t.Errorf("want an error and no call, got %v and %d calls", err, o.calls)
	}
}

func TestParkNamesEveryFault(t *testing.T) {
	o := newOffice(t)
	e := letter("1")
	e.ContentHash, e.Reason = "short", "whim"
	_, err := testClient(t, o.URL, t.TempDir()).Park(context.Background(), e, nil)
	var refused *Error
	if !errors.As(err, &refused) || refused.Status != 422 || refused.Kind() != dlq.KindInvalid || len(refused.Faults) != 2 {
		t.Fatalf("want 422 with two faults, got %#v", err)
	}
	if o.calls != 1 {
		t.Errorf("a refused envelope was sent %d times", o.calls)
	}
}

func TestParkTriesAgainAndHonoursRetryAfter(t *testing.T) {
	o := newOffice(t)
	c := testClient(t, o.URL, "")
	start := c.now()
	o.unwell = []func(http.ResponseWriter){
		func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
		func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "4")
			w.WriteHeader(http.StatusTooManyRequests)
		},
	}
	if _, err := c.Park(context.Background(), letter("1"), strings.NewReader("bytes")); err != nil {
		t.Fatal(err)
	}
	if waited := c.now().Sub(start); o.calls != 3 || waited < 4*time.Second {
		t.Errorf("%d calls over %s; want 3 over at least the 4 s that were asked for", o.calls, waited)
	}
}

func TestParkGivesUpAtOnceWhenAskedToWaitTooLong(t *testing.T) {
	o := newOffice(t)
	o.unwell = []func(http.ResponseWriter){func(w http.ResponseWriter) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	}}
	parked, err := testClient(t, o.URL, t.TempDir()).Park(context.Background(), letter("1"), nil)
	if err != nil || !parked.Spooled || o.calls != 1 {
		t.Errorf("want it spooled after one call, got %+v, %v after %d", parked, err, o.calls)
	}
}

func TestWhatCannotBeSentIsOnDiskAndSentLater(t *testing.T) {
	o := newOffice(t)
	dir := t.TempDir()
	o.set(func() { o.down = true })
	c := testClient(t, o.URL, dir)
	payloads := map[string]string{"short": "bytes", "long": strings.Repeat("y", spoolInline+1), "none": ""}
	for id, payload := range payloads {
		var r io.Reader
		if payload != "" {
			r = strings.NewReader(payload)
		}
		parked, err := c.Park(context.Background(), letter(id), r)
		if err != nil || !parked.Spooled {
			t.Fatalf("%s: want it spooled, got %+v, %v", id, parked, err)
		}
	}
	if sent, err := c.SendSpool(context.Background()); err == nil || sent.Left != 3 {
		t.Errorf("with the server down: want 3 left and an error, got %+v, %v", sent, err)
	}

	// Another process takes over: nothing but the folder is left of the first.
	o.set(func() { o.down = false })
	c = testClient(t, o.URL, dir)
	sent, err := c.SendSpool(context.Background())
	if err != nil || sent != (Sent{Parked: 3}) {
		t.Fatalf("want 3 parked, got %+v, %v", sent, err)
	}
	if e := o.entries["leases/long"]; o.payloads[e.PayloadSHA256] != payloads["long"] {
		t.Error("the long payload did not arrive")
	}
	if e := o.entries["leases/short"]; e.Payload != "Ynl0ZXM=" || e.PayloadEncoding != "base64" {
		t.Errorf("the short payload did not arrive: %q", e.Payload)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
	files, _ := filepath.Glob(filepath.Join(dir, "*.ndjson"))
	if len(left)+len(files) != 0 {
		t.Errorf("the spool is not empty: %v %v", left, files)
	}
}

func TestAServerThatIsAwayIsNotWaitedForAgainAtOnce(t *testing.T) {
	o := newOffice(t)
	o.down = true
	c := testClient(t, o.URL, t.TempDir())
	for i := range 10 {
		if parked, err := c.Park(context.Background(), letter(fmt.Sprint(i)), nil); err != nil || !parked.Spooled {
			t.Fatalf("got %+v, %v", parked, err)
		}
		if i == 0 {
			o.calls = 0
		}
	}
	if o.calls != 0 {
		t.Errorf("nine more documents cost %d calls", o.calls)
	}
	o.down = false
	if sent, err := c.SendSpool(context.Background()); err != nil || sent.Parked != 10 {
		t.Fatalf("got %+v, %v", sent, err)
	}
	if parked, err := c.Park(context.Background(), letter("back"), nil); err != nil || parked.Spooled {
		t.Errorf("the server is back: got %+v, %v", parked, err)
	}
}

func TestAPayloadStaysAsLongAsALineNamesIt(t *testing.T) {
	o := newOffice(t)
	dir := t.TempDir()
	o.down = true
	c := testClient(t, o.URL, dir)
	long := strings.Repeat("z", spoolInline+1)
	if _, err := c.Park(context.Background(), letter("first"), strings.NewReader(long)); err != nil {
		t.Fatal(err)
	}
	paths, err := c.spool.finished()
	if err != nil || len(paths) != 1 {
		t.Fatalf("got %v, %v", paths, err)
	}
	if err := c.spool.dropPayloads(); err != nil { // while a closed file still names it
		t.Fatal(err)
	}
	o.down = false
	if sent, err := c.SendSpool(context.Background()); err != nil || sent.Parked != 1 {
		t.Fatalf("got %+v, %v", sent, err)
	}
	if o.payloads[o.entries["leases/first"].PayloadSHA256] != long {
		t.Error("the payload is lost")
	}
}

func TestSpoolSetsAsideWhatTheServerRefuses(t *testing.T) {
	o := newOffice(t)
	dir := t.TempDir()
	o.set(func() { o.down = true })
	c := testClient(t, o.URL, dir)
	bad := letter("bad")
	bad.ContentHash = "short"
	for _, e := range []dlq.Envelope{bad, letter("good")} {
		if _, err := c.Park(context.Background(), e, nil); err != nil {
			t.Fatal(err)
		}
	}
	torn := filepath.Join(dir, "20261130T000000.000000000-1-1.ndjson")
	if err := os.WriteFile(torn, []byte(`{"source":"leases","doc_`), 0o600); err != nil {
		t.Fatal(err)
	}
	o.set(func() { o.down = false })
	sent, err := c.SendSpool(context.Background())
	if err != nil || sent != (Sent{Parked: 1, Rejected: 2}) {
		t.Errorf("want 1 parked and 2 rejected, got %+v, %v", sent, err)
	}
	kept, err := os.ReadFile(filepath.Join(dir, spoolRejected))
	if err != nil || strings.Count(string(kept), "\n") != 2 || !strings.Contains(string(kept), "/content_hash") {
		t.Errorf("rejected.ndjson should hold both with why:\n%s", kept)
	}
}

func TestParkBatchAnswersForEachLine(t *testing.T) {
	o := newOffice(t)
	bad := letter("2")
	bad.Reason = "whim"
	lines, err := testClient(t, o.URL, "").ParkBatch(context.Background(), []dlq.Envelope{letter("1"), bad, letter("3")})
	if err != nil || len(lines) != 3 {
		t.Fatalf("got %+v, %v", lines, err)
	}
	if lines[0].Parked.DLQID != "01J-1" || lines[2].Parked.DLQID != "01J-3" || lines[0].Err != nil {
		t.Errorf("good lines: %+v", lines)
	}
	if lines[1].Err == nil || lines[1].Err.Status != 422 || len(lines[1].Err.Faults) != 1 {
		t.Errorf("bad line: %+v", lines[1])
	}
}

func TestBatcherGathersAndAnswersEach(t *testing.T) {
	o := newOffice(t)
	b := NewBatcher(testClient(t, o.URL, ""), BatcherConfig{Lines: 10, Queue: 4, Wait: time.Hour})
	ran := make(chan struct{})
	go func() { b.Run(context.Background()); close(ran) }()
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			id := fmt.Sprint(i)
			if parked, err := b.Park(context.Background(), letter(id)); err != nil || parked.DocID != id {
				t.Errorf("%s: got %+v, %v", id, parked, err)
			}
		})
	}
	wg.Wait()
	b.Close()
	<-ran
	if len(o.batches) != 3 || len(o.entries) != 30 {
		t.Errorf("30 envelopes went in batches of %v, %d arrived; want 3 calls of 10", o.batches, len(o.entries))
	}
	if _, err := b.Park(context.Background(), letter("late")); !errors.Is(err, ErrBatcherClosed) {
		t.Errorf("after Close: want ErrBatcherClosed, got %v", err)
	}
}

func TestBatcherHoldsBackWhoeverAddsTooFast(t *testing.T) {
	o := newOffice(t)
	b := NewBatcher(testClient(t, o.URL, ""), BatcherConfig{Lines: 1, Queue: 2})
	full, cancel := context.WithCancel(context.Background())
	answer := func(Parked, error) {}
	for i := range 2 {
		if err := b.Add(full, letter(fmt.Sprint(i)), answer); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := b.Add(full, letter("3"), answer); !errors.Is(err, context.Canceled) {
		t.Errorf("a full queue took a third envelope: %v", err)
	}
}

func TestBatcherSpoolsWhatIsQueuedWhenItsContextEnds(t *testing.T) {
	o := newOffice(t)
	c := testClient(t, o.URL, t.TempDir())
	b := NewBatcher(c, BatcherConfig{})
	var safe []Parked
	for i := range 3 {
		if err := b.Add(context.Background(), letter(fmt.Sprint(i)), func(p Parked, err error) {
			if err != nil {
				t.Error(err)
			}
			safe = append(safe, p)
		}); err != nil {
			t.Fatal(err)
		}
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	b.Run(ended)
	if len(safe) != 3 || !safe[0].Spooled {
		t.Errorf("want 3 spooled, got %+v", safe)
	}
}

func TestErrorsTellNoSecretAndNoDocument(t *testing.T) {
	c := testClient(t, "http://127.0.0.1:1", "")
	_, err := c.Lookup(context.Background(), Document{Source: "leases", DocID: "1"})
	var away *UnreachableError
	if !errors.As(err, &away) || strings.Contains(err.Error(), "secret-token") {
		t.Errorf("want an UnreachableError without the token, got %v", err)
	}
	if ClassOf(err) != dlq.ClassTransient {
		t.Errorf("an unreachable server is %q, want transient", ClassOf(err))
	}
}

func TestClassOfFindsTheClassThroughWrapping(t *testing.T) {
	cause := errors.New("no")
	for class, err := range map[dlq.FailureClass]error{
		dlq.ClassPermanentInput:     fmt.Errorf("a: %w", Encrypted(cause)),
		dlq.ClassAmbiguousParse:     fmt.Errorf("a: %w", Parse(cause)),
		dlq.ClassDownstreamContract: Contract(cause),
		dlq.ClassTransient:          Transient(cause),
		"":                          cause,
	} {
		if got := ClassOf(err); got != class {
			t.Errorf("got %q, want %q", got, class)
		}
		if !errors.Is(err, cause) {
			t.Errorf("%q: the cause is lost", class)
		}
	}
	if Parse(nil) != nil {
		t.Error("no error became one")
	}
}
