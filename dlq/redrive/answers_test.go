package redrive_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/client"
	"dlo/dlq/dlqtest"
	"dlo/dlq/redrive"
)

func TestEveryAnswerHasItsMeaning(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		answer dlq.Answer
		want   redrive.Judgement
	}{
		{"200", dlq.Answer{Status: 200}, redrive.Taken},
		{"202", dlq.Answer{Status: 202}, redrive.Taken},
		{"204", dlq.Answer{Status: 204}, redrive.Taken},
		{"299", dlq.Answer{Status: 299}, redrive.Taken},
		{"301", dlq.Answer{Status: 301}, redrive.Refused},
		{"307", dlq.Answer{Status: 307}, redrive.Refused},
		{"400", dlq.Answer{Status: 400}, redrive.Refused},
		{"401", dlq.Answer{Status: 401}, redrive.Refused},
		{"404", dlq.Answer{Status: 404}, redrive.Refused},
		{"408", dlq.Answer{Status: 408}, redrive.Refused},
		{"409", dlq.Answer{Status: 409}, redrive.Skipped},
		{"410", dlq.Answer{Status: 410}, redrive.Gone},
		{"429", dlq.Answer{Status: 429}, redrive.Retry},
		{"500", dlq.Answer{Status: 500}, redrive.Retry},
		{"599", dlq.Answer{Status: 599}, redrive.Retry},
		{"600", dlq.Answer{Status: 600}, redrive.Refused},
		{"none", dlq.Answer{Trouble: "no answer"}, redrive.Retry},
		{"our own guard", dlq.Answer{Refused: true, Trouble: "may not be reached"}, redrive.Refused},
	} {
		if got := redrive.Judge(c.answer, "R", now); got.Judgement != c.want {
			t.Errorf("%s means %s, want %s", c.name, got.Judgement, c.want)
		} else if got.Judgement != redrive.Taken && got.Sentence == "" {
			t.Errorf("%s has no sentence", c.name)
		}
	}
}

func TestBodyOfATakenDeliveryMayHoldAnOutcome(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, body string
		result     dlq.OutcomeResult
		unclear    bool
	}{
		{"nothing", ``, "", false},
		{"a page", `<html>queued</html>`, "", false},
		{"a word", `"ok"`, "", false},
		{"an object about something else", `{"queued":true}`, "", false},
		{"two objects", `{"result":"committed"} {}`, "", false},
		{"committed", ` {"result":"committed"}`, dlq.OutcomeCommitted, false},
		{"skipped, named", `{"redrive_id":"R","result":"skipped"}`, dlq.OutcomeSkipped, false},
		{"failed with its error", `{"result":"failed","error_type":"KeyError"}`, dlq.OutcomeFailed, false},
		{"of another redrive", `{"redrive_id":"Q","result":"committed"}`, "", true},
		{"a result of its own", `{"result":"ok"}`, "", true},
		{"a failure with a fault", `{"result":"failed","at":"now"}`, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := redrive.Judge(dlq.Answer{Status: 200, Body: []byte(c.body)}, "R", now)
			var result dlq.OutcomeResult
			if v.Outcome != nil {
				result = v.Outcome.Result
				if v.Outcome.RedriveID != "R" {
					t.Errorf("the outcome is about %q", v.Outcome.RedriveID)
				}
			}
			if result != c.result || v.Unclear != c.unclear || v.Judgement != redrive.Taken {
				t.Errorf("got %q, unclear %v (%s), want %q, %v", result, v.Unclear, v.Judgement, c.result, c.unclear)
			}
		})
	}
}

func TestRefusalKeepsTheFirst4KiBAsText(t *testing.T) {
	v := redrive.Judge(dlq.Answer{Status: 400, Body: []byte("a\x00b\xff" + strings.Repeat("x", 10_000))}, "R", time.Time{})
	if !strings.HasPrefix(v.Body, "a\uFFFDb\uFFFDxxx") || strings.Count(v.Body, "x") != 4<<10-4 {
		t.Errorf("kept %d bytes: %.20q", len(v.Body), v.Body)
	}
}

func TestWhatTheTargetAnswersSettlesTheEntry(t *testing.T) {
	for _, c := range []struct {
		name    string
		answer  http.HandlerFunc
		mode    dlq.OutcomeMode
		status  dlq.Status
		outcome dlq.OutcomeResult
		state   dlq.RedriveState
	}{
		{"taken", answer(202, ""), "", dlq.StatusRedriving, "", dlq.RedriveDelivered},
		{"taken with garbage", answer(200, "{{{"), "", dlq.StatusRedriving, "", dlq.RedriveDelivered},
		{"committed in the body", answer(200, `{"result":"committed"}`), "", dlq.StatusResolved, dlq.OutcomeCommitted, dlq.RedriveSettled},
		{"failed in the body", answer(200, `{"result":"failed","error_type":"ValueError"}`), "", dlq.StatusParked, dlq.OutcomeFailed, dlq.RedriveSettled},
		{"the answer is the commit", answer(200, "done"), dlq.OutcomesResponse, dlq.StatusResolved, dlq.OutcomeCommitted, dlq.RedriveSettled},
		{"the answer is the commit, unless its body says otherwise", answer(200, `{"result":"failed"}`), dlq.OutcomesResponse, dlq.StatusParked, dlq.OutcomeFailed, dlq.RedriveSettled},
		{"the answer is the commit, unless it cannot be understood", answer(200, `{"result":"maybe"}`), dlq.OutcomesResponse, dlq.StatusRedriving, "", dlq.RedriveDelivered},
		{"409", answer(409, ""), "", dlq.StatusResolved, dlq.OutcomeSkipped, dlq.RedriveSettled},
		{"410", answer(410, ""), "", dlq.StatusRedriving, "", dlq.RedrivePending},
		{"503", answer(503, ""), "", dlq.StatusRedriving, "", dlq.RedrivePending},
		{"404", answer(404, ""), "", dlq.StatusParked, dlq.OutcomeUndelivered, dlq.RedriveSettled},
		{"a redirect", answer(307, "", "Location", "/elsewhere"), "", dlq.StatusParked, dlq.OutcomeUndelivered, dlq.RedriveSettled},
		{"it hangs up", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "", dlq.StatusRedriving, "", dlq.RedrivePending},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStand(t)
			if c.mode != "" {
				s.policy.Outcomes.Mode = c.mode
				s.put(s.policy)
			}
			s.target.answers(c.answer)
			id := s.park("1", "one", "")
			s.start(id)
			s.run()
			e, r := s.entry(id), s.redrive(id)
			if e.Status != c.status || r.Outcome != c.outcome || r.State != c.state {
				t.Errorf("entry %s, redrive %s %q; want %s, %s %q (%s)", e.Status, r.State, r.Outcome, c.status, c.state, c.outcome, r.LastError)
			}
			if n := len(s.target.got()); n != 1 {
				t.Errorf("the target was sent %d deliveries", n)
			}
		})
	}
}

func TestDeliveryIsWhatAPipelineVerifiesAndReads(t *testing.T) {
	s := newStand(t)
	s.o.ReplyTo = "https://dlo.example.com/api/v1/outcomes"
	s.o.Links = links{}
	id := s.park("1147829310", "the bytes", `{"source_version":"W/\"7\"","ingest_seq":42,"cursor_at_arrival":"c9","attempts":2,"payload_uri":"s3://bucket/1"}`)
	s.start(id)
	s.run()
	got := s.target.got()
	if len(got) != 1 {
		t.Fatalf("%d deliveries", len(got))
	}
	d, err := client.Verifier{Secrets: []string{secret}, Now: s.clock.Now}.Redrive(got[0].header, got[0].raw)
	if err != nil {
		t.Fatal(err)
	}
	seq := int64(42)
	r := s.redrive(id)
	want := client.Redrive{RedriveID: r.ID, DLQID: id, Source: "wiki", DocID: "1147829310", ContentHash: digest("the bytes"), PayloadSHA256: digest("the bytes"),
		PayloadURL: "https://dlo.example.com/p/" + digest("the bytes") + "?until=2026-03-02T12:00:00Z", PayloadURI: "s3://bucket/1", Mode: "held",
		SourceVersion: `W/"7"`, IngestSeq: &seq, CursorAtArrival: "c9", RedriveCount: 1, Attempts: 2, ReplyTo: "https://dlo.example.com/api/v1/outcomes"}
	if d.IngestSeq == nil || *d.IngestSeq != seq {
		t.Errorf("ingest_seq is %v", d.IngestSeq)
	}
	d.IngestSeq = want.IngestSeq
	if d != want {
		t.Errorf("the pipeline reads\n%+v, want\n%+v", d, want)
	}
	for name, value := range map[string]string{"Idempotency-Key": digest("the bytes"), "Webhook-Id": r.ID} {
		if got[0].header.Get(name) != value {
			t.Errorf("%s is %q, want %q", name, got[0].header.Get(name), value)
		}
	}
	if r.Bytes.Bytes != dlq.ReadingUnchanged || r.Bytes.Grade != dlq.GradeDigest {
		t.Errorf("a verified copy reads %s by %s", r.Bytes.Bytes, r.Bytes.Grade)
	}
}

type links struct{}

func (links) Link(sha256 string, expires time.Time) string {
	return "https://dlo.example.com/p/" + sha256 + "?until=" + expires.UTC().Format(time.RFC3339)
}

func TestFailedDeliveryIsTriedAgainUnderTheSameID(t *testing.T) {
	s := newStand(t)
	s.target.answers(inTurn(answer(503, "busy"), answer(500, ""), answer(202, "")))
	id := s.park("1", "one", "")
	s.start(id)
	s.run()
	if n := len(s.target.got()); n != 1 {
		t.Fatalf("%d deliveries before the backoff is over", n)
	}
	r := s.redrive(id)
	if want := s.clock.Now().Add(time.Second); !r.NextAt.Equal(want) || r.LastStatus != 503 || r.LastError == "" {
		t.Errorf("next at %s after %d %q, want %s", r.NextAt, r.LastStatus, r.LastError, want)
	}
	s.clock.advance(time.Second)
	s.run()
	if r = s.redrive(id); !r.NextAt.Equal(s.clock.Now().Add(2 * time.Second)) {
		t.Errorf("the second backoff ends at %s", r.NextAt)
	}
	s.clock.advance(2 * time.Second)
	s.run()
	got := s.target.got()
	if len(got) != 3 || s.redrive(id).State != dlq.RedriveDelivered {
		t.Fatalf("%d deliveries, redrive %s", len(got), s.redrive(id).State)
	}
	spans := map[string]bool{}
	for i, d := range got {
		if d.header.Get("webhook-id") != r.ID || d.header.Get("Idempotency-Key") != digest("one") || d.body["redrive_count"] != 1.0 {
			t.Errorf("delivery %d has id %q, key %q, count %v", i+1, d.header.Get("webhook-id"), d.header.Get("Idempotency-Key"), d.body["redrive_count"])
		}
		trace := strings.Split(d.header.Get("traceparent"), "-")
		if len(trace) != 4 || trace[1] != strings.Split(got[0].header.Get("traceparent"), "-")[1] {
			t.Errorf("delivery %d is traced as %q", i+1, trace)
		}
		spans[trace[2]] = true
	}
	if len(spans) != 3 {
		t.Errorf("three tries have %d spans", len(spans))
	}
	if total := s.entry(id).RedrivesTotal; total != 1 {
		t.Errorf("three tries count as %d redrives", total)
	}
}

func TestRetryAfterIsHonouredUpToAnHour(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"120":                           132 * time.Second, // and a tenth, as jitter
		"86400":                         66 * time.Minute,
		"Sun, 01 Mar 2026 12:10:00 GMT": 11 * time.Minute,
		"soon":                          time.Second,
		"-5":                            time.Second,
	} {
		s := newStand(t)
		s.target.answers(answer(429, "", "Retry-After", header))
		id := s.park("1", "one", "")
		s.start(id)
		s.run()
		if got := s.redrive(id).NextAt.Sub(s.clock.Now()); got != want {
			t.Errorf("Retry-After: %s waits %s, want %s", header, got, want)
		}
	}
}

func TestRedriveIsGivenUpWhenItsBudgetIsSpent(t *testing.T) {
	s := newStand(t)
	s.policy.Redrive.Retry = dlq.RetryPolicy{Budget: dlq.Duration(time.Minute), First: dlq.Duration(25 * time.Second), Max: dlq.Duration(25 * time.Second)}
	s.put(s.policy)
	s.target.answers(answer(503, "down for the night"))
	id := s.park("1", "one", "")
	o := s.start(id)
	for range 3 {
		s.run()
		s.clock.advance(25 * time.Second)
	}
	r, e := s.redrive(id), s.entry(id)
	if r.Outcome != dlq.OutcomeUndelivered || e.Status != dlq.StatusParked || e.SameFailures != 0 {
		t.Errorf("redrive %q, entry %s with %d same failures", r.Outcome, e.Status, e.SameFailures)
	}
	if r.LastStatus != 503 || r.LastBody != "down for the night" || r.Deliveries != 3 {
		t.Errorf("kept %d %q after %d deliveries", r.LastStatus, r.LastBody, r.Deliveries)
	}
	if state := s.operation(o.ID).State; state != dlq.OperationDone {
		t.Errorf("the operation is %s", state)
	}
}

func TestWaitingInAPauseCostsNothingOfTheBudget(t *testing.T) {
	s := newStand(t)
	s.policy.Redrive.Retry.Budget = dlq.Duration(time.Minute)
	s.put(s.policy)
	s.target.answers(answer(503, ""))
	id := s.park("1", "one", "")
	s.start(id)
	s.clock.advance(24 * time.Hour)
	s.run()
	if r := s.redrive(id); r.State != dlq.RedrivePending {
		t.Errorf("its first try was its last: %s %q", r.State, r.Outcome)
	}
}

func TestTargetThatIsGonePausesTheOperation(t *testing.T) {
	s := newStand(t)
	s.target.answers(inTurn(answer(410, ""), answer(202, "")))
	id := s.park("1", "one", "")
	o := s.start(id)
	s.run()
	if got := s.operation(o.ID); got.State != dlq.OperationPaused || got.Why == "" {
		t.Errorf("the operation is %s: %q", got.State, got.Why)
	}
	alerts, err := s.store.Alerts(s.ctx, dlqtest.Reviewer, 10)
	s.must(err)
	if len(alerts) != 1 || alerts[0].Rule != dlq.AlertTargetGone {
		t.Errorf("alerts: %v", alerts)
	}
	_, err = s.store.MoveOperation(s.ctx, reviewer, o.ID, dlq.OperationRunning, "the target is back")
	s.must(err)
	s.run()
	if n := len(s.target.got()); n != 2 || s.redrive(id).State != dlq.RedriveDelivered {
		t.Errorf("%d deliveries after it was resumed, redrive %s", n, s.redrive(id).State)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	s := newStand(t)
	elsewhere := newTarget(t)
	s.target.answers(answer(308, "moved", "Location", elsewhere.URL))
	id := s.park("1", "one", "")
	s.start(id)
	s.run()
	if n := len(elsewhere.got()); n != 0 {
		t.Errorf("a signed delivery went elsewhere, %d times", n)
	}
	if r := s.redrive(id); r.LastStatus != 308 || r.LastBody != "moved" || r.Outcome != dlq.OutcomeUndelivered {
		t.Errorf("kept %d %q %q", r.LastStatus, r.LastBody, r.Outcome)
	}
}
