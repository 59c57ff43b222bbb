package handlers

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
)

// replay redrives a document of wiki on the bytes that failed, under parser
// sheet@2; with is the message that it fails with again, "" that it passes.
func (s *site) replay(id, with, contentType string) {
	s.t.Helper()
	ctx, by := s.t.Context(), dlq.Policy("test")
	op, err := s.store.CreateOperation(ctx, dlq.Operation{Kind: dlq.OperationRedrive, Mode: dlq.ModeAuto, Reason: "a test", Actor: by, Expect: -1})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.store.AddItems(ctx, op, 1, []string{id}); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.store.StartOperation(ctx, op.ID, 10); err != nil {
		s.t.Fatal(err)
	}
	list, err := s.store.ClaimRedrives(ctx, "wiki", "test", time.Minute, 10)
	if err != nil || len(list) != 1 {
		s.t.Fatalf("%d deliveries are due, %v", len(list), err)
	}
	r := list[0]
	r.Sent = dlq.ModeSource
	if ok, err := s.store.BeginDelivery(ctx, r); err != nil || !ok {
		s.t.Fatalf("begin delivery: %v, %v", ok, err)
	}
	if err := s.store.DeliveryTaken(ctx, r, 202, "", ""); err != nil {
		s.t.Fatal(err)
	}
	s.clock.move(time.Minute)
	if with != "" {
		s.parkSheetOf(r.DocID, with, contentType, "sheet@2", r.ID)
		return
	}
	if _, err := s.store.ApplyOutcome(ctx, by, dlq.Outcome{RedriveID: r.ID, Result: dlq.OutcomeCommitted, At: s.clock.now(), Versions: dlq.Versions{"parser": "sheet@2"}, PayloadSHA256: r.FailedSHA256}, nil); err != nil {
		s.t.Fatal(err)
	}
}

// parkSheetOf parks a document of wiki that can be redriven; redrive may be empty.
func (s *site) parkSheetOf(doc, message, contentType, parser, redrive string) dlq.Receipt {
	s.t.Helper()
	trace := `Traceback (most recent call last):\n  File \"/srv/a.py\", line 1, in run\n    f()\n  File \"/srv/b.py\", line 2, in load\n    g()\n  File \"/srv/c.py\", line 3, in cells\n    raise SheetError()\nsheet.SheetError: ` + message
	more := ""
	if redrive != "" {
		more = fmt.Sprintf(`,"redrive_id":%q`, redrive)
	}
	return s.park(fmt.Sprintf(`"source":"wiki","doc_id":%q,"stack_trace":"%s","error_message":%q,"content_type":%q,"parser_version":%q,"payload_sha256":"%064x","last_seen_at":%q%s`,
		doc, trace, message, contentType, parser, doc, s.clock.now().Format(time.RFC3339), more))
}

// halfFixed is a cohort of two defects of which the new parser fixes one: three of
// each were tried, and two of each were not.
func (s *site) halfFixed() (cohort string) {
	s.t.Helper()
	s.withTarget("wiki")
	var rows, dates []string
	for i := range 5 {
		r := s.parkSheetOf(fmt.Sprint("r", i), fmt.Sprintf("row %d has 300 cells", i), "text/csv", "sheet@1", "")
		cohort, rows = r.Cohort, append(rows, r.DLQID)
		dates = append(dates, s.parkSheetOf(fmt.Sprint("d", i), "cannot read a date", "application/vnd.ms-excel", "sheet@1", "").DLQID)
	}
	for i := range 3 {
		s.replay(rows[i], "", "")
		s.replay(dates[i], "cannot read a date", "application/vnd.ms-excel")
	}
	return cohort
}

var splitLink = regexp.MustCompile(`href="(/cohorts/[^"]*/split\?by=[^"]*out=[^"]*)"`)

func TestAMixedCohortSaysWhatTellsThemApartAndOpensTheSplit(t *testing.T) {
	s := newSite(t)
	cohort := s.halfFixed()
	v := s.signIn(dlq.RoleReviewer)
	page := v.get("/cohorts/" + cohort)
	for _, want := range []string{"What tells them apart", "Message template tells all 6 apart.", "3 of 3 passed", "0 of 3 passed", "3 of 6 replays got past this error with parser sheet@2.", "Split by message template"} {
		if !strings.Contains(page.body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	m := splitLink.FindStringSubmatch(page.body)
	if m == nil {
		t.Fatal("the page does not lead to the split")
	}
	href := html.UnescapeString(m[1])
	if strings.Contains(href, "date") {
		t.Errorf("the address quotes what a document says: %s", href)
	}
	split := v.get(href)
	ticked := regexp.MustCompile(`<input[^>]*name="value"[^>]*value="([^"]*)"[^>]* checked`).FindAllStringSubmatch(split.body, -1)
	if len(ticked) != 1 || ticked[0][1] != "cannot read a date" {
		t.Fatalf("%d, ticked are %v", split.status, ticked)
	}
	if p := v.post("/cohorts/"+cohort+"/split", "by", "template", "value", ticked[0][1], "grouping", split.grouping(t), "reason", "the new parser fixes one of them"); p.status != http.StatusSeeOther {
		t.Fatalf("split: %d", p.status)
	}
	s.moveSplits()
	if body := v.get("/cohorts/" + cohort).body; strings.Contains(body, "What tells them apart") || !strings.Contains(body, "3 of 3") {
		t.Error("what stays is not proven by its three replays")
	}
}

func TestWhoMayNotSplitIsToldWhatSeparatesAndNotOffered(t *testing.T) {
	s := newSite(t)
	cohort := s.halfFixed()
	if body := s.signIn(dlq.RoleAnalyst).get("/cohorts/" + cohort).body; !strings.Contains(body, "Message template tells all 6 apart.") || splitLink.MatchString(body) {
		t.Error("an analyst is not told, or is offered the split")
	}
	s.parkSheet("leases", "1", "cannot read a date", "x/y")
	if body := s.signIn(dlq.RoleReviewer, "wiki").get("/cohorts/" + cohort).body; !strings.Contains(body, "Message template tells all 6 apart.") || splitLink.MatchString(body) {
		t.Error("somebody who sees a part of the cohort is not told, or is offered the split")
	}
}

func TestASplitOfWhatIsAlikeByNowSaysSo(t *testing.T) {
	s := newSite(t)
	cohort := s.twoDefects()
	if body := s.signIn(dlq.RoleReviewer).get("/cohorts/" + cohort + "/split?by=version:parser&out=abc").body; !strings.Contains(body, "alike in what you asked for") {
		t.Error("the page shows another attribute and does not say so")
	}
}

func TestWordsOfWhatTellsThemApart(t *testing.T) {
	proof := dlq.Proof{State: dlq.ProofMixed, Passed: 1, Of: 2, Step: dlq.VersionStep{Moved: []dlq.ComponentMove{{Component: "parser", From: "1", To: []string{"2"}}}}}
	groups := func(n int) (out []dlq.SeparationGroup) {
		for i := range n {
			out = append(out, dlq.SeparationGroup{Value: fmt.Sprint(i), Passed: int64(i % 2), Of: 1, GoesOut: i%2 == 0})
		}
		return out
	}
	by := dlq.SplitBy{Attribute: dlq.SplitContentType}
	for name, c := range map[string]struct {
		separated      *separated
		sentence, note string
		rows           int
	}{
		"nothing does":         {&separated{proof: proof}, "Message template, content type and versions do not tell them apart.", "1 of 2 replays got past this error with parser 2. Compare two of them by hand: one that passed, one that failed.", 0},
		"all of them":          {&separated{proof, true, dlq.Separation{By: by, Groups: groups(2), Right: 2, Of: 2}}, "Content type tells all 2 apart. Two defects can reach the same frames.", "1 of 2 replays got past this error with parser 2.", 2},
		"most, and many":       {&separated{proof, true, dlq.Separation{By: by, Groups: groups(10), Right: 1100, Of: 1200, Newest: true}}, "Content type tells passed from failed best, for 1,100 of 1,200. Two defects can reach the same frames.", "1 of 2 replays got past this error with parser 2. 2 more values are not shown. Looked at are the newest, at most 250 of each side.", 8},
		"of what arrived":      {&separated{proof, true, dlq.Separation{By: by, Groups: groups(2), Right: 2, Of: 2, Arrived: 1}}, "Content type tells all 2 apart. Two defects can reach the same frames.", "1 of 2 replays got past this error with parser 2, and 1 document that is counted here as failed was not replayed: it arrived under the new version.", 2},
		"a version not named":  {&separated{dlq.Proof{State: dlq.ProofMixed, Passed: 1, Of: 2}, true, dlq.Separation{By: by, Groups: groups(2), Right: 2, Of: 2}}, "Content type tells all 2 apart. Two defects can reach the same frames.", "1 of 2 replays got past this error.", 2},
		"the proof is another": {},
	} {
		t.Run(name, func(t *testing.T) {
			m := newSeparates(cohortFacts{separated: c.separated, by: reviewer, grouping: dlq.Grouping{Whole: true}})
			if c.separated == nil {
				if m != nil {
					t.Errorf("%+v", m)
				}
				return
			}
			if m.Sentence != c.sentence || m.Note != c.note || len(m.Groups) != c.rows || (m.Split != nil) != c.separated.found {
				t.Errorf("%+v", m)
			}
		})
	}
}
