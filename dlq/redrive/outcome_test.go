package redrive_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"dlo/dlq"
)

// flight parks a document and sends it.
func (s *stand) flight(docID string) (id, redriveID string) {
	s.t.Helper()
	id = s.park(docID, "text of "+docID, "")
	s.start(id)
	s.run()
	return id, s.redrive(id).ID
}

func (s *stand) report(format string, args ...any) dlq.OutcomeReceipt {
	s.t.Helper()
	receipt, err := s.reporter().Report(s.ctx, pipeline, fmt.Appendf(nil, format, args...))
	s.must(err)
	return receipt
}

func TestReportedOutcomeSettlesItsRedrive(t *testing.T) {
	for result, want := range map[string]dlq.Status{"committed": dlq.StatusResolved, "skipped": dlq.StatusResolved, "superseded": dlq.StatusResolved, "failed": dlq.StatusParked} {
		s := newStand(t)
		id, redriveID := s.flight("1")
		receipt := s.report(`{"redrive_id":%q,"result":%q,"parser_version":"2.4.2"}`, redriveID, result)
		if !receipt.Applied || receipt.DLQID != id || receipt.Status != want || s.status(id) != want {
			t.Errorf("%s: %+v, entry %s", result, receipt, s.status(id))
		}
		if r := s.redrive(id); r.Outcome != dlq.OutcomeResult(result) || r.OutcomeVersions.Canonical() != `{"parser":"2.4.2"}` {
			t.Errorf("%s: redrive %q by %s", result, r.Outcome, r.OutcomeVersions.Canonical())
		}
		again := s.report(`{"redrive_id":%q,"result":%q,"parser_version":"2.4.2"}`, redriveID, result)
		if !again.Applied || again.Status != want {
			t.Errorf("%s told again: %+v", result, again)
		}
	}
}

func TestFailedOutcomeMovesToTheCohortOfTheErrorThatItNames(t *testing.T) {
	s := newStand(t)
	id, redriveID := s.flight("1")
	was := s.entry(id).CohortID
	s.report(`{"redrive_id":%q,"result":"failed","error_type":"KeyError","error_message":"title"}`, redriveID)
	e := s.entry(id)
	if e.CohortID == was || e.ErrorType != "KeyError" || !strings.HasPrefix(e.Fingerprint, "f1:") {
		t.Errorf("it is in %s, failed with %s under %s", e.CohortID, e.ErrorType, e.Fingerprint)
	}
}

func TestFailedOutcomeWithoutAnErrorStaysInItsCohort(t *testing.T) {
	s := newStand(t)
	id, redriveID := s.flight("1")
	was := s.entry(id)
	s.report(`{"redrive_id":%q,"result":"failed"}`, redriveID)
	if e := s.entry(id); e.CohortID != was.CohortID || e.ErrorType != was.ErrorType || e.SameFailures != 1 {
		t.Errorf("it is in %s, failed with %s, %d the same", e.CohortID, e.ErrorType, e.SameFailures)
	}
}

func TestThreeFailuresOfTheSameKindAreQuarantined(t *testing.T) {
	s := newStand(t)
	id := s.park("1", "one", "")
	for n := 1; n <= 3; n++ {
		s.start(id)
		s.run()
		s.clock.advance(1e9)
		s.report(`{"redrive_id":%q,"result":"failed"}`, s.redrive(id).ID)
	}
	if e := s.entry(id); e.Status != dlq.StatusQuarantined || e.SameFailures != 3 || e.RedrivesTotal != 3 {
		t.Errorf("entry %s after %d same failures and %d redrives", e.Status, e.SameFailures, e.RedrivesTotal)
	}
	if o := s.start(id); s.leftOut(o)[dlq.LeftQuarantined] != 1 {
		t.Errorf("a fourth left out %v", s.leftOut(o))
	}
}

func TestOutcomeOfWhatIsNotKnownIsKeptAndNotApplied(t *testing.T) {
	s := newStand(t)
	receipt := s.report(`{"redrive_id":"01NOSUCHREDRIVE","result":"failed","error_type":"KeyError"}`)
	if receipt.Applied || receipt.Why == "" || receipt.DLQID != "" {
		t.Errorf("got %+v", receipt)
	}
}

func TestTokenOfAnotherSourceLearnsNothingAndChangesNothing(t *testing.T) {
	s := newStand(t)
	id, redriveID := s.flight("1")
	stranger := pipeline
	stranger.Sources = []string{"leases"}
	receipt, err := s.reporter().Report(s.ctx, stranger, fmt.Appendf(nil, `{"redrive_id":%q,"result":"failed","error_type":"E"}`, redriveID))
	s.must(err)
	if receipt.Applied || receipt.DLQID != "" || s.status(id) != dlq.StatusRedriving {
		t.Errorf("got %+v, entry %s", receipt, s.status(id))
	}
}

func TestReportNeedsTheScope(t *testing.T) {
	s := newStand(t)
	reader := dlq.Actor{Kind: dlq.ActorToken, Name: "reader", Scopes: []dlq.Scope{dlq.ScopeRead}}
	if _, err := s.reporter().Report(s.ctx, reader, []byte(`{"redrive_id":"R","result":"committed"}`)); dlq.KindOf(err) != dlq.KindForbidden {
		t.Errorf("got %v", err)
	}
}

func TestLongTextsOfAnOutcomeAreCutAndNotRefused(t *testing.T) {
	s := newStand(t)
	id, redriveID := s.flight("1")
	s.report(`{"redrive_id":%q,"result":"failed","error_type":"E","stack_trace":%q}`, redriveID, strings.Repeat("é", 200_000))
	a, err := s.store.Attempt(s.ctx, s.entry(id).EvidenceID)
	s.must(err)
	trace := a.Detail.Trace
	if len(trace) > dlq.MaxText || len(trace) < dlq.MaxText-8 || !strings.HasPrefix(trace, "é") || !strings.HasSuffix(trace, "é") || !utf8.ValidString(trace) {
		t.Errorf("kept %d bytes of the trace", len(trace))
	}
	if a.Detail.Cut["stack_trace"] != 400_000 {
		t.Errorf("the original length was %d", a.Detail.Cut["stack_trace"])
	}
}

func TestLateCommitResolvesWhatWasGivenUp(t *testing.T) {
	s := newStand(t)
	s.target.answers(answer(404, ""))
	id, redriveID := s.flight("1")
	if s.status(id) != dlq.StatusParked {
		t.Fatalf("entry %s", s.status(id))
	}
	s.report(`{"redrive_id":%q,"result":"committed"}`, redriveID)
	if e := s.entry(id); e.Status != dlq.StatusResolved || !e.Marks.Has(dlq.MarkLate) {
		t.Errorf("entry %s, marks %s", e.Status, e.Marks)
	}
}
