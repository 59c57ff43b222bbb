package webhook_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"dlo/connectors/broker/webhook"
	"dlo/dlq"
	"dlo/dlq/client"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return now }

func secretOf(n int) string {
	return "whsec_" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{9}, n))
}

func delivery(url string) dlq.Delivery {
	seq := int64(42)
	return dlq.Delivery{URL: url, Secrets: []string{secretOf(32)}, RedriveID: "01REDRIVE", DLQID: "01ENTRY", Source: "wiki", DocID: "11/é", ContentHash: strings.Repeat("ab", 32), Mode: dlq.ModeHeld,
		PayloadSHA256: strings.Repeat("cd", 32), PayloadURL: "https://dlo.example.com/p", PayloadURI: "s3://bucket/11", SourceVersion: `W/"7"`, IngestSeq: &seq, CursorAtArrival: "c",
		RedriveCount: 1, Attempts: 2, ReplyTo: "https://dlo.example.com/api/v1/outcomes", Try: 1}
}

func target(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func send(t *testing.T, d dlq.Delivery) (dlq.Answer, error) {
	t.Helper()
	return webhook.New(&http.Client{}, clock).Send(context.Background(), d)
}

func TestDeliveryHoldsEveryFieldAndIsSigned(t *testing.T) {
	var header http.Header
	var body []byte
	url := target(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		body, _ = io.ReadAll(r.Body)
		if r.Method != http.MethodPost || r.URL.Path != "/hook" {
			t.Errorf("%s %s", r.Method, r.URL.Path)
		}
	})
	if a, err := send(t, delivery(url+"/hook")); err != nil || a.Status != 200 {
		t.Fatal(a, err)
	}
	want := `{"type":"dead_letter.redrive","redrive_id":"01REDRIVE","dlq_id":"01ENTRY","source":"wiki","doc_id":"11/é","content_hash":"` + strings.Repeat("ab", 32) +
		`","payload_sha256":"` + strings.Repeat("cd", 32) + `","payload_url":"https://dlo.example.com/p","payload_uri":"s3://bucket/11","mode":"held","source_version":"W/\"7\"","ingest_seq":42,` +
		`"cursor_at_arrival":"c","redrive_count":1,"attempts":2,"reply_to":"https://dlo.example.com/api/v1/outcomes"}`
	if string(body) != want {
		t.Errorf("body\n%s, want\n%s", body, want)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Idempotency-Key": strings.Repeat("ab", 32), "Webhook-Id": "01REDRIVE", "Webhook-Timestamp": fmt.Sprint(now.Unix())} {
		if header.Get(name) != value {
			t.Errorf("%s: %q, want %q", name, header.Get(name), value)
		}
	}
	v := client.Verifier{Secrets: []string{secretOf(32)}, Now: clock}
	if _, err := v.Redrive(header, body); err != nil {
		t.Errorf("the pipeline does not verify it: %v", err)
	}
	if _, err := v.Redrive(header, append(body, ' ')); err == nil {
		t.Error("the signature holds for another body")
	}
}

// The vector is that of the Standard Webhooks specification's reference
// libraries.
func TestSignatureIsThatOfStandardWebhooks(t *testing.T) {
	got, err := webhook.Sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; err != nil || got != want {
		t.Errorf("got %q (%v), want %q", got, err, want)
	}
}

func TestWithoutASecretItIsUnsigned(t *testing.T) {
	url := target(t, func(w http.ResponseWriter, r *http.Request) {
		if s := r.Header.Values("Webhook-Signature"); len(s) != 0 {
			t.Errorf("signed with %q", s)
		}
		if r.Header.Get("Webhook-Id") == "" || r.Header.Get("Webhook-Timestamp") == "" {
			t.Error("no id or timestamp")
		}
	})
	d := delivery(url)
	d.Secrets = nil
	if _, err := send(t, d); err != nil {
		t.Fatal(err)
	}
}

func TestSecretThatCannotSignSendsNothingAndIsNotRepeated(t *testing.T) {
	url := target(t, func(http.ResponseWriter, *http.Request) { t.Error("something was sent") })
	for _, secret := range []string{"whsec_short", secretOf(23), secretOf(65), "plain", strings.TrimPrefix(secretOf(32), "whsec_")} {
		d := delivery(url)
		d.Secrets = []string{secret}
		a, err := send(t, d)
		if err == nil || !a.Refused || a.Trouble == "" {
			t.Errorf("%d characters: %+v, %v", len(secret), a, err)
		}
		if err != nil && strings.Contains(err.Error()+a.Trouble, secret) {
			t.Error("the secret is repeated")
		}
	}
}

func TestRedirectsAndCookiesAreOffWhateverTheClient(t *testing.T) {
	elsewhere := target(t, func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") })
	url := target(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
	})
	follows := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return nil }}
	a, err := webhook.New(follows, clock).Send(context.Background(), delivery(url))
	if err != nil || a.Status != http.StatusTemporaryRedirect {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestAnswerIsReadTo64KiB(t *testing.T) {
	url := target(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(bytes.Repeat([]byte("x"), 1<<20))
	})
	a, err := send(t, delivery(url))
	if err != nil || len(a.Body) != 64<<10 || a.Status != 400 || a.BrokenOff {
		t.Errorf("%d bytes of %d, broken off %v, %v", len(a.Body), a.Status, a.BrokenOff, err)
	}
}

func TestAnswerThatBreaksOffIsSaid(t *testing.T) {
	url := target(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"result":"fai`)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	if a, err := send(t, delivery(url)); err != nil || a.Status != 200 || !a.BrokenOff {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestRetryAfterIsSecondsOrADate(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"":                              0,
		"7":                             7 * time.Second,
		" 7 ":                           7 * time.Second,
		"0":                             0,
		"-7":                            0,
		"1.5":                           0,
		"99999999999":                   0,
		"Sun, 01 Mar 2026 12:00:30 GMT": 30 * time.Second,
		"Sun, 01 Mar 2026 11:00:00 GMT": 0,
		"later":                         0,
	} {
		url := target(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", value)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		if a, err := send(t, delivery(url)); err != nil || a.RetryAfter != want {
			t.Errorf("%q is %s (%v), want %s", value, a.RetryAfter, err, want)
		}
	}
}

func TestTriesShareATraceAndEachHasItsSpan(t *testing.T) {
	var got []string
	url := target(t, func(_ http.ResponseWriter, r *http.Request) { got = append(got, r.Header.Get("Traceparent")) })
	for try := range 2 {
		d := delivery(url)
		d.Try = try + 1
		if _, err := send(t, d); err != nil {
			t.Fatal(err)
		}
	}
	a, b := strings.Split(got[0], "-"), strings.Split(got[1], "-")
	if len(a) != 4 || a[0] != "00" || len(a[1]) != 32 || len(a[2]) != 16 || a[3] != "01" {
		t.Fatalf("not a traceparent: %q", got[0])
	}
	if a[1] != b[1] || a[2] == b[2] {
		t.Errorf("%q and %q", got[0], got[1])
	}
}

type refusal struct{}

func (refusal) Error() string { return "10.0.0.7 may not be reached" }
func (refusal) Refused() bool { return true }

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestNoAnswerIsSaidInWordsWithoutTheAddress(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := "http://" + listener.Addr().String()
	listener.Close()
	failing := func(err error) *http.Client {
		return &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, err })}
	}
	for _, c := range []struct {
		name    string
		client  *http.Client
		url     string
		refused bool
		words   string
	}{
		{"nobody listens", &http.Client{}, closed, false, "nothing listens"},
		{"it hangs up", &http.Client{}, target(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), false, "closed the connection"},
		{"no such name", failing(&net.DNSError{Err: "no such host", Name: "pipeline.internal"}), "http://pipeline.internal", false, "name was not found"},
		{"too slow", failing(context.DeadlineExceeded), "http://pipeline.internal", false, "did not answer within 30s"},
		{"we stop", failing(context.Canceled), "http://pipeline.internal", false, "the server stopped"},
		{"our own guard", failing(refusal{}), "http://pipeline.internal", true, "--outbound-allow"},
		{"no address", &http.Client{}, "http://[::1", true, "cannot be used"},
		{"another scheme", &http.Client{}, "ftp://pipeline.internal", false, "could not be reached"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, err := webhook.New(c.client, clock).Send(context.Background(), delivery(c.url+"/hook?token=hush"))
			if err == nil || a.Status != 0 || a.Refused != c.refused || !strings.Contains(a.Trouble, c.words) {
				t.Fatalf("%+v, %v", a, err)
			}
			if strings.Contains(a.Trouble+err.Error(), "hush") {
				t.Errorf("the address is repeated: %q, %v", a.Trouble, err)
			}
		})
	}
}

func TestSilentTargetIsLeftWhenTheContextEnds(t *testing.T) {
	came, let := make(chan struct{}), make(chan struct{})
	url := target(t, func(http.ResponseWriter, *http.Request) {
		close(came)
		<-let
	})
	defer close(let)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-came
		cancel()
	}()
	if a, err := webhook.New(&http.Client{}, clock).Send(ctx, delivery(url)); err == nil || a.Status != 0 {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestBodyIsJSONWhateverADocumentIsCalled(t *testing.T) {
	var got map[string]any
	url := target(t, func(_ http.ResponseWriter, r *http.Request) { _ = json.NewDecoder(r.Body).Decode(&got) })
	d := delivery(url)
	d.DocID = "a\"b\\c\n<script>\u2028"
	if _, err := send(t, d); err != nil {
		t.Fatal(err)
	}
	if got["doc_id"] != d.DocID {
		t.Errorf("doc_id is %q", got["doc_id"])
	}
}

func TestWhileASecretIsReplacedEitherOneVerifiesADelivery(t *testing.T) {
	var header http.Header
	var body []byte
	url := target(t, func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		body, _ = io.ReadAll(r.Body)
	})
	d := delivery(url)
	d.Secrets = []string{secretOf(32), secretOf(48)}
	if _, err := send(t, d); err != nil {
		t.Fatal(err)
	}
	if signatures := strings.Fields(header.Get("webhook-signature")); len(signatures) != 2 {
		t.Errorf("it has %d signatures", len(signatures))
	}
	for _, known := range d.Secrets {
		if _, err := (client.Verifier{Secrets: []string{known}, Now: clock}).Redrive(header, body); err != nil {
			t.Errorf("a pipeline that knows one of them: %v", err)
		}
	}
	if _, err := (client.Verifier{Secrets: []string{secretOf(24)}, Now: clock}).Redrive(header, body); err == nil {
		t.Error("a third secret verifies it")
	}
	if header.Get("Dlo-Test") != "" || bytes.Contains(body, []byte(`"test"`)) {
		t.Error("a real delivery is marked as a test")
	}
}
