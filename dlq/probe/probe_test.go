package probe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dlo/dlq"
)

var clock = func() time.Time { return time.Date(2026, 2, 11, 9, 41, 7, 0, time.UTC) }

// source is a server that remembers what it was asked.
type source struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string // method, escaped path and range
}

func newSource(t *testing.T, answer http.HandlerFunc) *source {
	t.Helper()
	s := &source{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked = append(s.asked, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Range")))
		s.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *source) policy() dlq.ProbePolicy {
	return dlq.ProbePolicy{URL: s.URL + "/doc/{doc_id}", Kind: "any", ETagFrom: "header:ETag", Fetch: dlq.FetchNever}
}

func (s *source) questions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

func prober() *Prober { return New(&http.Client{}, nil, clock, 1<<20) }

func TestHeadGivesTheValidatorsRaw(t *testing.T) {
	s := newSource(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("asked for the encoding %q", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("ETag", `W/"a,b"`)
		w.Header().Set("Last-Modified", "Wed, 11 Feb 2026 09:41:07 GMT")
		w.Header().Set("Content-Length", "4711")
	})
	now := prober().Ask(t.Context(), s.policy(), "wiki", "a/b")
	want := dlq.SourceNow{Status: 200, ETag: `W/"a,b"`, LastModified: "Wed, 11 Feb 2026 09:41:07 GMT", Length: 4711, AskedAt: clock()}
	if now != want {
		t.Errorf("%+v\nwant\n%+v", now, want)
	}
	if got := s.questions(); !slices.Equal(got, []string{"HEAD /doc/a%2Fb"}) {
		t.Errorf("asked %q", got)
	}
}

// Each answer has a failure of its own, leaves the bytes unknown (but for
// gone), and says so in a sentence that no other answer shares.
func TestEveryAnswerIsNamed(t *testing.T) {
	cases := []struct {
		name    string
		answer  http.HandlerFunc
		failure dlq.ProbeFailure
		bytes   dlq.Reading
	}{
		{"404", status(404), "", dlq.ReadingGone},
		{"410", status(410), "", dlq.ReadingGone},
		{"401", status(401), dlq.ProbeDenied, dlq.ReadingUnknown},
		{"403", status(403), dlq.ProbeDenied, dlq.ReadingUnknown},
		{"429", status(429), dlq.ProbeUnavailable, dlq.ReadingUnknown},
		{"503", status(503), dlq.ProbeUnavailable, dlq.ReadingUnknown},
		{"405 to everything", status(405), dlq.ProbeUnexpected, dlq.ReadingUnknown},
		{"400", status(400), dlq.ProbeUnexpected, dlq.ReadingUnknown},
		{"302", redirect("http://169.254.169.254/latest"), dlq.ProbeRedirect, dlq.ReadingUnknown},
		{"304", status(304), dlq.ProbeUnexpected, dlq.ReadingUnknown},
		{"200 without validators", status(200), dlq.ProbeNoValidator, dlq.ReadingUnknown},
		{"tag too long", header("ETag", `"`+strings.Repeat("x", 1024)+`"`), dlq.ProbeMalformed, dlq.ReadingUnknown},
		{"tag not UTF-8", header("ETag", "\"\xff\""), dlq.ProbeMalformed, dlq.ReadingUnknown},
		{"connection closed", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, dlq.ProbeUnreachable, dlq.ReadingUnknown},
	}
	sentences := map[string]string{}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newSource(t, c.answer)
			now := prober().Ask(t.Context(), s.policy(), "wiki", "1147829310")
			if now.Failure != c.failure || now.Sentence == "" || now.AskedAt != clock() {
				t.Errorf("%+v, want the failure %q and a sentence", now, c.failure)
			}
			e := Read("any", dlq.Validators{ETag: `"1"`}, now)
			if e.Bytes != c.bytes || !slices.Contains(e.Caveats, now.Sentence) {
				t.Errorf("read %+v, want %s", e, c.bytes)
			}
			if c.bytes == dlq.ReadingGone && e.Grade != dlq.GradeStatus || c.bytes == dlq.ReadingUnknown && e.Grade != dlq.GradeNone {
				t.Errorf("grade %s", e.Grade)
			}
			if strings.Contains(now.Sentence, "1147829310") || strings.Contains(now.Sentence, s.URL) || strings.Contains(now.Sentence, "169.254") {
				t.Errorf("the sentence repeats the address: %s", now.Sentence)
			}
			if other, taken := sentences[now.Sentence]; taken && !strings.HasPrefix(c.name, "tag") {
				t.Errorf("%s and %s share a sentence", c.name, other)
			}
			sentences[now.Sentence] = c.name
		})
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(code) }
}

func header(name, value string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { w.Header()[name] = []string{value} }
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", to)
		w.Header().Set("ETag", `"1"`)
		w.WriteHeader(http.StatusFound)
	}
}

func TestRedirectsAreNotFollowedWhateverTheClient(t *testing.T) {
	other := newSource(t, header("Etag", `"1"`))
	s := newSource(t, redirect(other.URL))
	now := New(http.DefaultClient, nil, clock, 1<<20).Ask(t.Context(), s.policy(), "wiki", "1")
	if now.Failure != dlq.ProbeRedirect || now.ETag != "" {
		t.Errorf("%+v, want a redirect and no tag of it", now)
	}
	if len(other.questions()) != 0 {
		t.Error("the redirect was followed")
	}
}

// HEAD is refused, forbidden or not routed; the first byte by GET answers.
func TestHeadThatIsNotServedIsAskedAgainByRange(t *testing.T) {
	for _, code := range []int{403, 404, 405, 501} {
		s := newSource(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead {
				w.WriteHeader(code)
				return
			}
			w.Header().Set("ETag", `"1"`)
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader("twelve bytes"))
		})
		now := prober().Ask(t.Context(), s.policy(), "wiki", "1")
		if now.Failure != "" || now.ETag != `"1"` || now.Length != 12 || now.Status != 206 {
			t.Errorf("%d: %+v, want the tag and the whole length", code, now)
		}
		if got := s.questions(); !slices.Equal(got, []string{"HEAD /doc/1", "GET /doc/1 bytes=0-0"}) {
			t.Errorf("%d: asked %q", code, got)
		}
	}
}

func TestEmptyDocumentHasNoFirstByte(t *testing.T) {
	s := newSource(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("ETag", `"d41d8cd98f00b204e9800998ecf8427e"`)
		w.Header().Set("Content-Range", "bytes */0")
		w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
	})
	now := prober().Ask(t.Context(), s.policy(), "wiki", "1")
	if now.Failure != "" || now.Length != 0 || now.ETag == "" {
		t.Errorf("%+v, want an empty document with its tag", now)
	}
}

func TestATagSentTwiceIsNotChosenFrom(t *testing.T) {
	s := newSource(t, func(w http.ResponseWriter, r *http.Request) { w.Header()["Etag"] = []string{`"1"`, `"2"`} })
	now := prober().Ask(t.Context(), s.policy(), "wiki", "1")
	if e := Read("any", dlq.Validators{ETag: `"1"`}, now); e.Bytes != dlq.ReadingUnknown {
		t.Errorf("%+v read %s", now, e.Bytes)
	}
}

func TestWithoutATagTheTimeAnswers(t *testing.T) {
	const at = "Wed, 11 Feb 2026 09:41:07 GMT"
	s := newSource(t, header("Last-Modified", at))
	now := prober().Ask(t.Context(), s.policy(), "wiki", "1")
	if e := Read("any", dlq.Validators{ETag: `"1"`, LastModified: at}, now); e.Bytes != dlq.ReadingUnchanged || e.Grade != dlq.GradeLastModified {
		t.Errorf("%+v read %+v", now, e)
	}
	policy := s.policy()
	policy.Kind, policy.ETagFrom = "last-modified", "header:Last-Modified"
	now = prober().Ask(t.Context(), policy, "wiki", "1")
	if now.ETag != "" || now.LastModified != at || now.Failure != "" || now.Sentence != "" {
		t.Errorf("%+v, want the time alone and nothing to add", now)
	}
}

func TestTagFromTheBody(t *testing.T) {
	const body = `{"version":{"number":11,"~a/b":"x"},"list":[{"id":"one"}],"none":null,"empty":"","big":123456789012345678901234567890}`
	s := newSource(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"of the answer"`)
		w.Header().Set("Last-Modified", "Wed, 11 Feb 2026 09:41:07 GMT")
		io.WriteString(w, body)
	})
	for pointer, want := range map[string]string{
		"/version/number": "11", "/version/~0a~1b": "x", "/list/0/id": "one", "/big": "123456789012345678901234567890",
		"/version": "", "/none": "", "/empty": "", "/absent": "", "/list/1/id": "", "/list/00/id": "", "/list/-/id": "", "/version/number/x": "",
	} {
		policy := s.policy()
		policy.ETagFrom = "json:" + pointer
		now := prober().Ask(t.Context(), policy, "wiki", "1")
		failure := dlq.ProbeFailure("")
		if want == "" {
			failure = dlq.ProbeNoValidator
		}
		if now.ETag != want || now.Failure != failure || now.LastModified != "" || now.Length != -1 {
			t.Errorf("%s: %+v, want %q", pointer, now, want)
		}
	}
}

func TestBodiesThatCannotHoldATag(t *testing.T) {
	cases := map[string]struct {
		answer  http.HandlerFunc
		failure dlq.ProbeFailure
	}{
		"longer than 64 KiB": {func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, `{"v":"1","x":"`+strings.Repeat("x", 64<<10)+`"}`)
		}, dlq.ProbeTooLarge},
		"not JSON":     {func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `<html>`) }, dlq.ProbeMalformed},
		"a name twice": {func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, `{"v":"1","v":"2"}`) }, dlq.ProbeMalformed},
		"compressed unasked": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			io.WriteString(w, "\x1f\x8b")
		}, dlq.ProbeMalformed},
	}
	for name, c := range cases {
		s := newSource(t, c.answer)
		policy := s.policy()
		policy.ETagFrom = "json:/v"
		if now := prober().Ask(t.Context(), policy, "wiki", "1"); now.Failure != c.failure || now.ETag != "" {
			t.Errorf("%s: %+v, want %s", name, now, c.failure)
		}
	}
}

func TestFetchTakesTheDigestOfTheBytes(t *testing.T) {
	const body = "the document"
	sum := sha256.Sum256([]byte(body))
	digest := hex.EncodeToString(sum[:])
	s := newSource(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, body) })
	now, err := prober().Fetch(t.Context(), s.policy(), "wiki", "1", int64(len(body)))
	if err != nil || now.SHA256 != digest || now.Length != int64(len(body)) || now.Failure != "" {
		t.Errorf("%+v, %v, want %s", now, err, digest)
	}
	if e := Read("any", dlq.Validators{SHA256: digest}, now); e.Bytes != dlq.ReadingUnchanged || e.Grade != dlq.GradeDigest {
		t.Errorf("read %+v", e)
	}
	if e := Read("any", dlq.Validators{SHA256: strings.Repeat("0", 64)}, now); e.Bytes != dlq.ReadingChanged || len(e.Caveats) == 0 {
		t.Errorf("read %+v, want changed and what could be behind it", e)
	}

	policy := s.policy()
	policy.Fetch = dlq.FetchAlways
	if now := prober().Ask(t.Context(), policy, "wiki", "1"); now.SHA256 != digest {
		t.Errorf("fetch: always gave %+v", now)
	}
}

func TestFetchWithoutADigestSaysWhy(t *testing.T) {
	cases := map[string]struct {
		answer  http.HandlerFunc
		failure dlq.ProbeFailure
		kind    dlq.Kind
	}{
		"announced too long": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "9")
			w.Write(make([]byte, 9))
		}, dlq.ProbeTooLarge, dlq.KindTooLarge},
		"too long unannounced": {func(w http.ResponseWriter, r *http.Request) {
			w.Write(make([]byte, 4))
			w.(http.Flusher).Flush()
			w.Write(make([]byte, 5))
		}, dlq.ProbeTooLarge, dlq.KindTooLarge},
		"cut off": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "8")
			w.Write(make([]byte, 3))
		}, dlq.ProbeUnreachable, dlq.KindUnavailable},
		"compressed unasked": {header("Content-Encoding", "gzip"), dlq.ProbeMalformed, dlq.KindUnavailable},
		"a part":             {status(206), dlq.ProbeUnexpected, dlq.KindUnavailable},
		"gone":               {status(410), "", dlq.KindGone},
		"denied":             {status(401), dlq.ProbeDenied, dlq.KindUnavailable},
	}
	for name, c := range cases {
		s := newSource(t, c.answer)
		now, err := prober().Fetch(t.Context(), s.policy(), "wiki", "1", 8)
		if now.Failure != c.failure || now.SHA256 != "" || dlq.KindOf(err) != c.kind {
			t.Errorf("%s: %+v, %v; want %q and %s", name, now, err, c.failure, c.kind)
		}
	}
	policy := dlq.ProbePolicy{URL: "http://wiki.example/{doc_id}", ETagFrom: "json:/v"}
	if now, err := prober().Fetch(t.Context(), policy, "wiki", "1", 8); now.Failure != dlq.ProbeNotConfigured || dlq.KindOf(err) != dlq.KindInvalid {
		t.Errorf("a description was hashed: %+v, %v", now, err)
	}
}

func TestNothingToAskIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		policy dlq.ProbePolicy
		id     string
	}{
		"no probe":        {dlq.ProbePolicy{}, "1"},
		"id climbs":       {dlq.ProbePolicy{URL: "http://wiki.example/{doc_id}"}, "../admin"},
		"no such secret":  {dlq.ProbePolicy{URL: "http://wiki.example/{doc_id}", Headers: map[string]string{"X-Key": "secret:WIKI"}}, "1"},
		"address is none": {dlq.ProbePolicy{URL: "ftp://wiki.example/{doc_id}"}, "1"},
	} {
		now := prober().Ask(t.Context(), c.policy, "wiki", c.id)
		if now.Failure != dlq.ProbeNotConfigured || now.Sentence == "" || now.Length != -1 || now.AskedAt != clock() {
			t.Errorf("%s: %+v", name, now)
		}
	}
}

func TestSecretsGoToTheirHostAlone(t *testing.T) {
	var got []string
	s := newSource(t, func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"), r.Header.Get("Accept"))
		w.Header().Set("ETag", `"1"`)
	})
	secrets := func(name, host string) (string, error) {
		if name == "WIKI" && host == "127.0.0.1" {
			return "Bearer hunter2", nil
		}
		return "", fmt.Errorf("no secret %s for %s", name, host)
	}
	p := New(&http.Client{}, secrets, clock, 1<<20)
	policy := s.policy()
	policy.Headers = map[string]string{"Authorization": "secret:WIKI", "Accept": "text/html"}
	if now := p.Ask(t.Context(), policy, "wiki", "1"); now.Failure != "" {
		t.Fatalf("%+v", now)
	}
	if !slices.Equal(got, []string{"Bearer hunter2", "text/html"}) {
		t.Error("the source got other headers than the policy says")
	}
	policy.URL = strings.Replace(policy.URL, "127.0.0.1", "localhost", 1)
	now := p.Ask(t.Context(), policy, "wiki", "1")
	if now.Failure != dlq.ProbeNotConfigured || len(got) != 2 {
		t.Errorf("%+v after %d requests, want nothing sent", now, len(got)/2)
	}
	if b, _ := json.Marshal(now); strings.Contains(string(b), "hunter2") {
		t.Error("what is stored holds the secret")
	}
}

// roundTrip is a transport of one function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type refusal struct{}

func (refusal) Error() string { return "wiki.internal may not be reached: it is a private address" }
func (refusal) Refused() bool { return true }

type slow struct{}

func (slow) Error() string   { return "http://wiki/secret-id: slow" }
func (slow) Timeout() bool   { return true }
func (slow) Temporary() bool { return true }

func TestErrorsOnTheWayAreNamed(t *testing.T) {
	for _, c := range []struct {
		err     error
		failure dlq.ProbeFailure
	}{
		{refusal{}, dlq.ProbeRefused},
		{slow{}, dlq.ProbeTimeout},
		{context.DeadlineExceeded, dlq.ProbeTimeout},
		{context.Canceled, dlq.ProbeAborted},
		{io.ErrUnexpectedEOF, dlq.ProbeUnreachable},
		{errors.New("http://wiki/secret-id: garbage"), dlq.ProbeMalformed},
	} {
		client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, c.err })}
		policy := dlq.ProbePolicy{URL: "http://wiki/{doc_id}"}
		now := New(client, nil, clock, 1<<20).Ask(t.Context(), policy, "wiki", "secret-id")
		if now.Failure != c.failure || strings.Contains(now.Sentence, "secret-id") {
			t.Errorf("%v: %+v, want %s", c.err, now, c.failure)
		}
	}
}

func TestSilentSourceRunsIntoTheBudget(t *testing.T) {
	s := newSource(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if now := prober().Ask(ctx, s.policy(), "wiki", "1"); now.Failure != dlq.ProbeTimeout {
		t.Errorf("%+v, want a timeout", now)
	}
}

func TestAHostIsAskedTwoQuestionsAtATime(t *testing.T) {
	inside, release := make(chan struct{}), make(chan struct{})
	s := newSource(t, func(w http.ResponseWriter, r *http.Request) {
		inside <- struct{}{}
		<-release
		w.Header().Set("ETag", `"1"`)
	})
	p := prober()
	var asking sync.WaitGroup
	for range perHost + 1 {
		asking.Go(func() { p.Ask(t.Context(), s.policy(), "wiki", "1") })
	}
	for range perHost {
		<-inside
	}
	// Both places are taken: one more gives up with its context, and reaches
	// nobody. The third question above is waiting as well.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if now := p.Ask(ctx, s.policy(), "wiki", "1"); now.Failure != dlq.ProbeAborted {
		t.Errorf("%+v, want it given up", now)
	}
	if n := len(s.questions()); n != perHost {
		t.Errorf("%d questions reached the source at one time", n)
	}
	release <- struct{}{}
	<-inside // the third came in only now
	close(release)
	asking.Wait()
	if len(p.hosts.turns) != 0 {
		t.Errorf("%d hosts are remembered though nobody asks them", len(p.hosts.turns))
	}
}

func TestTheThirdAtAHostWaitsAndOtherHostsDoNot(t *testing.T) {
	var h hosts
	for range perHost {
		leave, err := h.enter(t.Context(), "wiki")
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := h.enter(ctx, "wiki"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want it to have waited in vain", err)
	}
	leave, err := h.enter(t.Context(), "leases")
	if err != nil {
		t.Fatalf("another host: %v", err)
	}
	leave()
}

func TestAnswersSurviveStoring(t *testing.T) {
	now := dlq.SourceNow{Status: 200, ETag: `W/"é"`, Length: -1, AskedAt: clock(), Took: 1500 * time.Millisecond, Failure: dlq.ProbeNoValidator, Sentence: "x"}
	b, err := json.Marshal(now)
	if err != nil {
		t.Fatal(err)
	}
	var back dlq.SourceNow
	if err := json.Unmarshal(b, &back); err != nil || back != now {
		t.Errorf("%+v, %v\nwant\n%+v", back, err, now)
	}
}
