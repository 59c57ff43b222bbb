package handlers

import (
	"slices"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/fingerprint"
	"dlo/views/components"
	"dlo/views/entry"
)

// stuckFacts is a parked document of a source with a target and a probe, under
// a parser that no longer runs.
func stuckFacts() entryFacts {
	policy := dlq.DefaultPolicy("wiki")
	policy.Redrive.URL = "https://pipeline.example.com/redrive"
	policy.Probe.URL = "https://wiki.example.com/doc/{doc_id}"
	e := heldEntry()
	e.ContentHash, e.Versions, e.OpenedAt, e.ExpiresAt = strings.Repeat("b", 64), dlq.Versions{"parser": "2022"}, noon.Add(-94*24*time.Hour), noon.Add(3*24*time.Hour)
	return entryFacts{entry: e, source: dlq.Source{Policy: policy, HasSecret: true}, running: dlq.Running{"parser": {"2025"}}, by: dlq.Actor{Kind: dlq.ActorPerson, Role: dlq.RoleReviewer, Name: "reviewer@example.com"}, now: noon}
}

func asked(f entryFacts, bytes dlq.Reading, grade dlq.Grade) entryFacts {
	f.asked, f.reading = true, dlq.Evidence{Bytes: bytes, Grade: grade}
	return f
}

func TestTheAnswerSaysWhatARedriveWouldSendAndTell(t *testing.T) {
	same := func(f entryFacts) entryFacts { f.running = dlq.Running{"parser": {"2022"}}; return f }
	unreported := func(f entryFacts) entryFacts { f.running = nil; return f }
	noProbe := func(f entryFacts) entryFacts { f.source.Policy.Probe.URL = ""; return f }
	with := func(change func(*entryFacts)) entryFacts {
		f := stuckFacts()
		change(&f)
		return f
	}
	for _, c := range []struct {
		name  string
		facts entryFacts
		want  string
		do    bool
	}{
		{"unchanged, new code", asked(stuckFacts(), dlq.ReadingUnchanged, dlq.GradeWeakETag), "Redrive the stored copy: a test of the code.", true},
		{"unchanged, same code", same(asked(stuckFacts(), dlq.ReadingUnchanged, dlq.GradeDigest)), "Redrive the stored copy: nothing changed since it failed.", true},
		{"unchanged, code not reported", unreported(asked(stuckFacts(), dlq.ReadingUnchanged, dlq.GradeDigest)), "Redrive the stored copy. It tests the code; which version runs now was not reported.", true},
		{"no probe", noProbe(stuckFacts()), "Redrive the stored copy: a test of the code.", true},
		{"changed, new code", asked(stuckFacts(), dlq.ReadingChanged, dlq.GradeDigest), "Redrive from the source: both changed, so a pass would not say which it was.", true},
		{"changed, same code", same(asked(stuckFacts(), dlq.ReadingChanged, dlq.GradeDigest)), "Redrive from the source: a test of the new document.", true},
		{"not asked yet", stuckFacts(), "Redrive, asking the source first.", true},
		{"gone", asked(stuckFacts(), dlq.ReadingGone, dlq.GradeStatus), "A redrive would leave it out: it is gone at the source.", false},
		{"cannot tell", asked(stuckFacts(), dlq.ReadingUnknown, dlq.GradeNone), "A redrive would leave it out: nobody can tell whether the document changed.", false},
		{"no copy, unchanged", asked(with(func(f *entryFacts) { f.entry.Copy = dlq.CopyExpired }), dlq.ReadingUnchanged, dlq.GradeStrongETag), "Redrive from the source: a test of the code.", true},
		{"copy of an older attempt", noProbe(with(func(f *entryFacts) { f.entry.CopyOfAttempt = 0 })), "Redrive the stored copy: it would tell little.", true},
		{"damaged copy", asked(with(func(f *entryFacts) { f.entry.Copy = dlq.CopyCorrupt }), dlq.ReadingUnchanged, dlq.GradeDigest), "A redrive would leave it out: its stored copy no longer has its digest.", false},
		{"no target", with(func(f *entryFacts) { f.source.Policy.Redrive.URL = "" }), "It cannot be redriven: there is nowhere to send it.", false},
		{"no key", with(func(f *entryFacts) { f.entry.ContentHash = "" }), "It cannot be redriven: it has no key.", false},
		{"at the threshold", asked(with(func(f *entryFacts) { f.entry.SameFailures = 3 }), dlq.ReadingUnchanged, dlq.GradeDigest), "A redrive would put it in quarantine.", true},
		{"at the threshold, granted", asked(with(func(f *entryFacts) { f.entry.SameFailures, f.entry.Granted = 3, true }), dlq.ReadingUnchanged, dlq.GradeDigest), "Redrive the stored copy: a test of the code.", true},
		{"quarantined", with(func(f *entryFacts) { f.entry.Status, f.entry.SameFailures = dlq.StatusQuarantined, 3 }), "It failed the same way after 3 replays.", false},
		{"redriving", with(func(f *entryFacts) { f.entry.Status = dlq.StatusRedriving }), "It is on its way, no outcome yet.", false},
		{"archived", with(func(f *entryFacts) { f.entry.Status = dlq.StatusArchived }), "It is in the archive.", false},
		{"resolved", with(func(f *entryFacts) { f.entry.Status, f.entry.Resolution = dlq.StatusResolved, dlq.ResolvedCommitted }), "It is resolved: committed by its pipeline.", false},
		{"erased", with(func(f *entryFacts) { f.entry.Status = dlq.StatusErased }), "It was erased.", false},
	} {
		a := newAnswer(c.facts)
		if a.Headline != c.want || (a.Do != nil) != c.do {
			t.Errorf("%s: %q, with a button: %v", c.name, a.Headline, a.Do != nil)
		}
	}
}

func TestTheAnswerNamesTheVersionsThatMoved(t *testing.T) {
	a := newAnswer(asked(stuckFacts(), dlq.ReadingUnchanged, dlq.GradeWeakETag))
	if want := "Parser 2025 runs now, 2022 failed it. The document at the source is unchanged (weak tag)."; a.Why != want {
		t.Errorf("got %q", a.Why)
	}
}

func TestAnAnalystSeesTheAnswerWithoutItsButtons(t *testing.T) {
	f := asked(stuckFacts(), dlq.ReadingUnchanged, dlq.GradeDigest)
	f.by.Role = dlq.RoleAnalyst
	if a := newAnswer(f); a.Headline == "" || a.Do != nil || len(a.Others) > 0 {
		t.Errorf("got %+v", a)
	}
	actions, more, cannot := entryActions(f)
	if len(actions) != 0 || len(more) != 2 || more[0].Label != "Assign" || more[1].Label != "Set a disposition" || !strings.Contains(cannot, "Ask a reviewer") {
		t.Errorf("got %v, %v, %q", actions, more, cannot)
	}
}

func TestAWayThatCannotWorkIsDisabledAndSaysWhy(t *testing.T) {
	f := asked(stuckFacts(), dlq.ReadingUnchanged, dlq.GradeDigest)
	f.entry.Copy = dlq.CopyExpired
	for _, o := range newAnswer(f).Others {
		if o.Label == modeLabels[dlq.ModeHeld] && (!o.Disabled || o.Why != "Its stored copy has expired.") {
			t.Errorf("got %+v", o)
		}
	}
}

func TestOnlyWhatTheStateAllowsHasAButton(t *testing.T) {
	for _, c := range []struct {
		status dlq.Status
		want   []dlq.OperationKind
	}{
		{dlq.StatusParked, []dlq.OperationKind{dlq.OperationExtend, dlq.OperationQuarantine, dlq.OperationArchive}},
		{dlq.StatusRedriving, []dlq.OperationKind{dlq.OperationExtend}},
		{dlq.StatusQuarantined, []dlq.OperationKind{dlq.OperationRelease, dlq.OperationRelease, dlq.OperationExtend, dlq.OperationArchive}},
		{dlq.StatusArchived, []dlq.OperationKind{dlq.OperationRestore}},
		{dlq.StatusResolved, nil},
		{dlq.StatusErased, nil},
	} {
		f := stuckFacts()
		f.entry.Status = c.status
		actions, more, cannot := entryActions(f)
		var got []dlq.OperationKind
		for _, a := range append(actions, more...) {
			for _, kind := range dlq.OperationKinds {
				if !kind.Marks() && strings.Contains(a.Href, "action="+string(kind)+"&") {
					got = append(got, kind)
				}
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("%s: buttons for %v, want %v", c.status, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: buttons for %v, want %v", c.status, got, c.want)
			}
			// What has a button is what the rules allow.
			_, err := dlq.Standing{Status: c.status, OpenedAt: f.entry.OpenedAt, ExpiresAt: f.entry.ExpiresAt}.Act(dlq.Action{Kind: got[i], Days: 7, Grant: dlq.GrantOne}, f.source.Policy.Retention, noon)
			if err != nil {
				t.Errorf("%s has a button for %s, and the rules say: %v", c.status, got[i], err)
			}
		}
		if c.status != dlq.StatusParked && cannot == "" {
			t.Errorf("%s: it does not say why others are not there", c.status)
		}
	}
}

func TestRunsOfAlikeAttemptsAreFolded(t *testing.T) {
	f := stuckFacts()
	at := func(n int64, version, etag string) dlq.Attempt {
		return dlq.Attempt{ID: n, Kind: "arrival", Why: dlq.ArrivalReplaced, CohortID: "c", Versions: dlq.Versions{"parser": version}, SourceVersion: etag, LastSeen: noon.Add(time.Duration(n) * time.Hour)}
	}
	f.attempts = []dlq.Attempt{at(9, "2024", `"b"`)} // newest first
	for n := int64(8); n >= 2; n-- {
		f.attempts = append(f.attempts, at(n, "2022", `"b"`))
	}
	f.attempts = append(f.attempts, at(1, "2022", `"a"`))
	a := newAttempts(f)
	if len(a.Columns) != 5 || a.Columns[2].Fold != "5 the same" {
		t.Fatalf("got %+v", a.Columns)
	}
	rows := map[string][]entry.AttemptCell{}
	for _, r := range a.Rows {
		rows[r.Label] = r.Cells
		if len(r.Cells) != len(a.Columns) {
			t.Errorf("%s has %d cells for %d columns", r.Label, len(r.Cells), len(a.Columns))
		}
	}
	tag, parser := rows["ETag"], rows["Parser"]
	if tag[0].Tone != components.Plain || tag[1].Tone != components.DocChanged || !tag[2].Same || !tag[3].Same {
		t.Errorf("tag: %+v", tag)
	}
	if parser[4].Tone != components.CodeChanged || parser[4].Text.String() != "2024" || !parser[3].Same {
		t.Errorf("parser: %+v", parser)
	}
}

func TestWhatWasNotGivenIsNeitherSameNorChanged(t *testing.T) {
	columns := []attemptColumn{{at: 0, n: 1}, {at: 1, n: 1}, {at: 2, n: 1}}
	list := []try{{tag: `"a"`}, {}, {tag: `"a"`}}
	row := stripRow("ETag", columns, list, components.DocChanged, func(t try) string { return t.tag })
	if c := row.Cells[1]; c.Same || c.Tone != components.Plain || c.Text.String() != "not given" {
		t.Errorf("absent: %+v", c)
	}
	if c := row.Cells[2]; !c.Same {
		t.Errorf("as it was before the gap: %+v", c)
	}
}

func TestAReplayThatPassedHasItsColumnBetweenTheFailures(t *testing.T) {
	f := stuckFacts()
	at := func(n int64, hours int, versions dlq.Versions, digest string) dlq.Attempt {
		when := noon.Add(time.Duration(hours) * time.Hour)
		return dlq.Attempt{ID: n, Kind: "arrival", Why: dlq.ArrivalParked, CohortID: "c", Versions: versions, PayloadSHA256: digest, ReceivedAt: when, LastSeen: when}
	}
	old, edited := strings.Repeat("a", 64), strings.Repeat("b", 64)
	f.attempts = []dlq.Attempt{at(2, 5, dlq.Versions{"parser": "2022"}, edited), at(1, 1, dlq.Versions{"parser": "2022"}, old)}
	flying := passed()
	flying.State, flying.Outcome, flying.OutcomeVersions, flying.Running = dlq.RedriveDelivered, "", nil, dlq.Running{"parser": {"2026"}}
	flying.SentAt, flying.SettledAt, flying.Sent = noon.Add(6*time.Hour), time.Time{}, dlq.ModeSource
	committed := passed()
	committed.SettledAt, committed.PayloadSHA256 = noon.Add(2*time.Hour), old
	failed := passed()
	failed.Outcome, failed.OutcomeAttempt = dlq.OutcomeFailed, 2 // it is an attempt of its own
	waiting := passed()
	waiting.State, waiting.Outcome, waiting.SentAt, waiting.SettledAt = dlq.RedrivePending, "", time.Time{}, time.Time{}
	f.redrives = []dlq.Redrive{waiting, flying, failed, committed}
	a := newAttempts(f)
	var columns []string
	for i, c := range a.Columns {
		columns = append(columns, c.When.Short+" "+a.Rows[len(a.Rows)-1].Cells[i].Text.String()+" "+c.Href)
	}
	want := []string{"29 Nov 13:00 parked /entries/01J1?attempt=1#trace-title", "29 Nov 14:00 replay of the stored copy, committed /operations/01OP", "29 Nov 17:00 parked /entries/01J1?attempt=2#trace-title", "29 Nov 18:00 replay from the source, on its way /operations/01OP"}
	if !slices.Equal(columns, want) {
		t.Fatalf("got %q", columns)
	}
	rows := map[string][]entry.AttemptCell{}
	for _, r := range a.Rows {
		rows[r.Label] = r.Cells
	}
	if !rows["Bytes"][1].Same || rows["Bytes"][2].Tone != components.DocChanged || rows["Bytes"][3].Text.String() != "not given" {
		t.Errorf("bytes: %+v", rows["Bytes"])
	}
	if rows["Parser"][1].Text.String() != "2025" || rows["Parser"][1].Tone != components.CodeChanged || rows["Parser"][3].Text.String() != "2026" {
		t.Errorf("parser: %+v", rows["Parser"])
	}
}

func TestTheEntrySaysWhyItsRedriveWasNotDelivered(t *testing.T) {
	of := func(status dlq.Status, change func(*dlq.Redrive)) *entry.Refusal {
		f := stuckFacts()
		f.entry.Status = status
		r := dlq.Redrive{OperationID: "01OP", State: dlq.RedrivePending, SentAt: noon, Deliveries: 1}
		change(&r)
		f.redrives = []dlq.Redrive{r, {State: dlq.RedriveSettled, Outcome: dlq.OutcomeUndelivered, LastError: "an older one"}}
		return newRefusal(f)
	}
	refused := func(r *dlq.Redrive) {
		r.State, r.Outcome, r.SettledAt, r.LastStatus, r.LastError, r.LastBody = dlq.RedriveSettled, dlq.OutcomeUndelivered, noon, 422, "the target answered 422", "no such\u202e document"
	}
	got := of(dlq.StatusParked, refused)
	if got == nil || got.Sentence != "The last redrive was not delivered." || got.Reason != "The target answered 422." || got.Summary != "What the target answered with 422, 19 bytes" || len(got.Body) != 3 || !got.Body[1].Chip {
		t.Errorf("refused: %+v", got)
	}
	got = of(dlq.StatusRedriving, func(r *dlq.Redrive) { r.LastStatus, r.LastError = 503, "the target answered 503" })
	if got == nil || got.Sentence != "Its last delivery was not taken." || len(got.Body) != 0 {
		t.Errorf("tried again: %+v", got)
	}
	got = of(dlq.StatusRedriving, func(r *dlq.Redrive) {
		r.State, r.AcceptedAt, r.LastStatus, r.LastError, r.LastBody = dlq.RedriveDelivered, noon, 200, "its outcome was not understood", `{"outcome":"ok"}`
	})
	if got == nil || got.Sentence != "The target took it, but its answer says nothing that can be used." || got.Reason != "Its outcome was not understood." || got.Body.String() != `{"outcome":"ok"}` {
		t.Errorf("taken, not understood: %+v", got)
	}
	for name, none := range map[string]*entry.Refusal{
		"taken":    of(dlq.StatusRedriving, func(r *dlq.Redrive) { r.State, r.AcceptedAt = dlq.RedriveDelivered, noon }),
		"passed":   of(dlq.StatusParked, func(r *dlq.Redrive) { *r = passed() }),
		"resolved": of(dlq.StatusResolved, refused),
		"erased":   of(dlq.StatusErased, refused),
	} {
		if none != nil {
			t.Errorf("%s: %+v", name, none)
		}
	}
}

func TestADeliveryUnderWayIsNotSaidToBeRefused(t *testing.T) {
	of := func(r dlq.Redrive) entry.Answer {
		f := stuckFacts()
		f.entry.Status, f.redrives = dlq.StatusRedriving, []dlq.Redrive{r}
		return flyingAnswer(f)
	}
	if a := of(dlq.Redrive{State: dlq.RedriveClaimed, SentAt: noon, Deliveries: 1}); a.Headline != "It is being sent." {
		t.Errorf("the first: %+v", a)
	}
	a := of(dlq.Redrive{State: dlq.RedrivePending, SentAt: noon, Deliveries: 1, LastError: "no answer", GiveUpAt: noon.Add(26 * time.Hour)})
	if a.Headline != "It was not taken yet." || a.Why != "1 delivery so far, tried again until 30 Nov 2026 14:00 UTC." {
		t.Errorf("refused once: %+v", a)
	}
	if a := of(dlq.Redrive{State: dlq.RedrivePending, SentAt: noon, Deliveries: 2, LastError: "no answer"}); a.Why != "2 deliveries so far, tried again until it is taken." {
		t.Errorf("without an end: %+v", a)
	}
}

func TestAnOwnerIsInheritedAndSaidFromWhere(t *testing.T) {
	for _, c := range []struct{ own, cohort, source, want string }{
		{"a", "b", "c", "owner a"}, {"", "b", "c", "owner b, of the cohort"}, {"", "", "c", "owner c, of the source"}, {"", "", "", "owner nobody"},
	} {
		f := stuckFacts()
		f.entry.Owner, f.cohort.Owner, f.source.Policy.Owner = c.own, c.cohort, c.source
		got := ""
		for _, fact := range entryHeadFacts(f) {
			if strings.HasPrefix(fact.Text, "owner ") {
				got = fact.Text
			}
		}
		if got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestANoteIsDrawnAsTheMarkdownThatItIs(t *testing.T) {
	f := stuckFacts()
	f.notes = []dlq.Note{{Author: "b@example.com", WrittenAt: noon, Body: "**look** <script>alert(1)</script>\u202e"}}
	got := newEntryActivity(f).Events[0]
	if html := got.Body.SanitisedHTML; !strings.Contains(html, "<strong>look</strong>") || strings.Contains(html, "<script") || strings.Contains(html, "\u202e") || len(got.Note) > 0 {
		t.Errorf("got %+v", got)
	}
	f.notes = nil
	for range 4 {
		f.notes = append(f.notes, dlq.Note{Author: "b@example.com", WrittenAt: noon, Body: strings.Repeat("x", 12<<10)})
	}
	rendered := 0
	for _, e := range newEntryActivity(f).Events {
		if e.Body.SanitisedHTML != "" {
			rendered++
		} else if len(e.Note) == 0 {
			t.Error("a note past the cap is not there at all")
		}
	}
	if rendered != 2 {
		t.Errorf("%d of four long notes are rendered, 32 KiB hold two", rendered)
	}
}

func TestTheRecordStandsWhereThereIsRoom(t *testing.T) {
	lines := func(n int) entry.Trace {
		return entry.Trace{Blocks: []entry.TraceBlock{{Lines: make([]entry.TraceLine, n)}, {Fold: "200 library lines", Lines: make([]entry.TraceLine, 200)}}}
	}
	for _, c := range []struct {
		name  string
		trace entry.Trace
		rules int
		want  entry.RecordPlace
	}{
		{"a long trace, no rules", lines(20), 0, entry.RecordUnderValidation},
		{"no trace, six rules", entry.Trace{}, 6, entry.RecordUnderTrace},
		{"both long", lines(20), 5, entry.RecordAcross},
		{"both short", entry.Trace{}, 0, entry.RecordAcross},
	} {
		if got := recordPlace(c.trace, entry.Validation{Rules: make([]entry.Rule, c.rules)}); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestWithoutATraceThePageSaysWhy(t *testing.T) {
	for _, c := range []struct {
		attempt dlq.Attempt
		want    string
	}{
		{dlq.Attempt{ErrorClass: dlq.ClassResourceFatal}, "The process died; nothing survived to write one."},
		{dlq.Attempt{Reason: dlq.ReasonValidation}, "Rules failed, and no exception was raised."},
		{dlq.Attempt{Reason: dlq.ReasonLowConfidence}, "Nothing failed: the result was under the source's floor of confidence."},
		{dlq.Attempt{Reason: dlq.ReasonException}, "The pipeline sent none. With stack_trace, failures are grouped by the code that raised them."},
		{dlq.Attempt{ErrorClass: dlq.ClassResourceFatal, Detail: dlq.AttemptDetail{TraceURI: "s3://traces/1"}}, "The pipeline keeps it elsewhere."},
	} {
		tr := newTrace(c.attempt, "/raw")
		if tr.None != "No trace." || tr.NoneWhy != c.want || len(tr.Blocks) > 0 {
			t.Errorf("got %q %q", tr.None, tr.NoneWhy)
		}
	}
}

const pythonTrace = `Traceback (most recent call last):
  File "/app/ingest/worker.py", line 212, in handle
    text = parse(doc)
  File "/usr/lib/python3.12/site-packages/pdfminer/high_level.py", line 177, in extract_text
    for page in pages:
  File "/usr/lib/python3.12/site-packages/pdfminer/pdfpage.py", line 128, in get_pages
    doc = PDFDocument(parser)
  File "/app/ingest/parse.py", line 12, in parse
    raise ParseError("no root")
ingest.parse.ParseError: no root`

func TestTheFramesOfTheFingerprintAreMarked(t *testing.T) {
	a := dlq.Attempt{ErrorType: "ParseError", Reason: dlq.ReasonException, Detail: dlq.AttemptDetail{Trace: pythonTrace}}
	keys := func(a dlq.Attempt) (n int) {
		for _, b := range newTrace(a, "/raw").Blocks {
			for _, l := range b.Lines {
				if l.Kind == entry.LineKey {
					n++
				}
			}
		}
		return n
	}
	a.Fingerprint = fingerprint.Of(fingerprintInput(a)).String()
	if n := keys(a); n == 0 {
		t.Error("no line is marked")
	}
	a.Fingerprint += "/stage:ab12" // a member that a split made
	if n := keys(a); n == 0 {
		t.Error("no line is marked after a split")
	}
	a.Fingerprint = "f1:00000000000000000000000000000000"
	if n := keys(a); n != 0 {
		t.Errorf("%d lines are marked for a fingerprint that is not this one's", n)
	}
}

func TestFailedRulesStandBeforePassedOnes(t *testing.T) {
	v := newValidation(dlq.Attempt{Detail: dlq.AttemptDetail{Validation: `[{"rule":"size","path":"/","message":"small enough","passed":true},{"rule":"root","path":"/trailer","message":"has a root","expected":"a reference","got":"absent","passed":false}]`}}, "/raw")
	if v.Summary != "1 of 2 rules failed" || len(v.Rules) != 2 || v.Rules[0].Passed || v.Rules[0].Name.String() != "root" || v.Rules[0].Got.String() != "absent" {
		t.Errorf("got %+v", v)
	}
}

func TestOutputThatIsNotStructuredStandsAsItWasSent(t *testing.T) {
	long := strings.Repeat("x", validationMost+10)
	v := newValidation(dlq.Attempt{Detail: dlq.AttemptDetail{Validation: long}}, "/raw")
	if v.Summary != "as it was sent" || len(v.Raw.String()) != validationMost || !strings.Contains(v.Cut, "the rest stands under Raw") {
		t.Errorf("%q, %d bytes, %q", v.Summary, len(v.Raw.String()), v.Cut)
	}
}

func TestTheRecordSaysWhatToSendWhereItPinsNothingDown(t *testing.T) {
	f := stuckFacts()
	f.entry.PayloadSHA256, f.entry.Versions, f.entry.Filename = "", nil, ""
	for _, l := range newLights(f) {
		if l.On || !strings.HasPrefix(l.Why, "send ") {
			t.Errorf("%s: on %v, %q", l.Name, l.On, l.Why)
		}
	}
	seq := int64(7)
	f = stuckFacts()
	f.entry.PayloadSHA256, f.failed.IngestSeq, f.failed.Detail.Labels = strings.Repeat("a", 64), &seq, map[string]string{"region": "eu"}
	for _, l := range newLights(f) {
		if !l.On {
			t.Errorf("%s is off: %q", l.Name, l.Why)
		}
	}
}

func TestWhoOnlyReadsIsNotOfferedToAskTheSource(t *testing.T) {
	for role, want := range map[dlq.Role]int{dlq.RoleAuditor: 0, dlq.RoleAnalyst: 2} {
		f := stuckFacts()
		f.by = dlq.Actor{Kind: dlq.ActorPerson, Role: role}
		if got := len(newChanged(f).Actions); got != want {
			t.Errorf("%s: %d buttons, want %d", role, got, want)
		}
	}
}

func TestTheComparisonNeverShowsUnknownAsUnchanged(t *testing.T) {
	f := asked(stuckFacts(), dlq.ReadingUnknown, dlq.GradeNone)
	c := newChanged(f)
	if strings.Contains(c.Reading.Text, "unchanged") || c.Reading.Tone == components.DocSame {
		t.Errorf("got %+v", c.Reading)
	}
	for _, row := range c.Rows[:3] {
		if row.Tag.Tone == components.DocSame {
			t.Errorf("%s: %+v", row.Name, row.Tag)
		}
	}
}

func TestActivityFoldsWhatRepeatsAndIsNewestFirst(t *testing.T) {
	f := stuckFacts()
	view := func(seq int64, who string) dlq.AuditRow {
		return dlq.AuditRow{Seq: seq, At: noon.Add(time.Duration(seq) * time.Minute), ActorKind: dlq.ActorPerson, ActorName: who, Action: "payload.viewed"}
	}
	f.audit = []dlq.AuditRow{view(5, "a@example.com"), view(4, "a@example.com"), view(3, "a@example.com"),
		{Seq: 2, At: noon, ActorKind: dlq.ActorPerson, ActorName: "b@example.com", Action: "entry.quarantine", Detail: `{"from":"parked","to":"quarantined"}`, Reason: "test\u202efile"}, {Seq: 1, At: noon, Action: "note.added"}}
	f.notes = []dlq.Note{{Author: "b@example.com", WrittenAt: noon.Add(10 * time.Minute), Body: "look"}}
	events := newEntryActivity(f).Events
	if len(events) != 3 || events[0].Text != "noted" || events[1].Text != "looked at the stored copy (3 times)" || events[2].Text != "put it in quarantine" {
		t.Fatalf("got %+v", events)
	}
	if note := events[2].Note.String(); !strings.Contains(note, "U+202E") {
		t.Errorf("a character that turns text round is not made visible: %q", note)
	}
}

// passed is a replay of the stored copy that the newer parser committed.
func passed() dlq.Redrive {
	return dlq.Redrive{OperationID: "01OP", State: dlq.RedriveSettled, CreatedAt: noon, SentAt: noon, AcceptedAt: noon, SettledAt: noon, Sent: dlq.ModeHeld, Bytes: dlq.Evidence{Bytes: dlq.ReadingUnchanged, Grade: dlq.GradeDigest}, FailedUnder: dlq.Versions{"parser": "2022"},
		OutcomeVersions: dlq.Versions{"parser": "2025"}, Outcome: dlq.OutcomeCommitted}
}

func TestAResolvedDocumentSaysWhatItsReplayProved(t *testing.T) {
	f := stuckFacts()
	f.entry.Status, f.entry.Resolution, f.redrives = dlq.StatusResolved, dlq.ResolvedCommitted, []dlq.Redrive{passed()}
	if a := newAnswer(f); !strings.HasPrefix(a.Why, "New code fixed it; it counts for all like it. ") {
		t.Errorf("got %q", a.Why)
	}
	if events := newEntryActivity(f).Events; len(events) != 1 || events[0].Text != "Replay: New code fixed it; it counts for all like it" {
		t.Errorf("got %+v", events)
	}
}

func TestAReplayThatFailedIsOneEventWithItsVerdict(t *testing.T) {
	f := stuckFacts()
	failed := passed()
	failed.Outcome, failed.OutcomeAttempt, failed.FailedCohort, failed.OutcomeCohort = dlq.OutcomeFailed, 7, "01A", "01B"
	f.redrives, f.attempts = []dlq.Redrive{failed}, []dlq.Attempt{{ID: 7, ErrorType: "RuleError", ReceivedAt: noon}}
	if events := newEntryActivity(f).Events; len(events) != 1 || events[0].Text != "Replay: Past this error, failed on another, with RuleError; it counts for itself" {
		t.Errorf("got %+v", events)
	}
}

func TestWhatWaitsInQuarantineIsNotSaidToLeaveTheQueue(t *testing.T) {
	for status, want := range map[dlq.Status]string{dlq.StatusParked: "leaves the queue in 30 d", dlq.StatusQuarantined: "expires only after a decision"} {
		f := stuckFacts()
		f.entry.Status, f.entry.ExpiresAt = status, noon.Add(30*24*time.Hour)
		var said []string
		for _, fact := range entryHeadFacts(f) {
			if strings.Contains(fact.Text, "queue") || strings.Contains(fact.Text, "expires") {
				said = append(said, fact.Text)
			}
		}
		if len(said) != 1 || said[0] != want {
			t.Errorf("%s: %q, want %q", status, said, want)
		}
	}
	after := dlq.Entry{Source: "wiki", DocID: "1", Status: dlq.StatusQuarantined, ExpiresAt: noon}
	if got := oneDone(choice{action: dlq.OperationExtend}, after, after).Text; !strings.Contains(got, "waits for a decision") {
		t.Errorf("kept longer, it is said: %q", got)
	}
}

func TestADecisionInQuarantineLeadsBackToItsList(t *testing.T) {
	for filter, want := range map[string]string{"": "/quarantine", "me": "/quarantine?owner=me"} {
		b := quarantineBulk(quarantineFacts{by: reviewer, filter: filter, rows: []poisonEntry{{}}, total: 1})
		if b.Back != want || len(b.Actions) == 0 {
			t.Errorf("%q leads back to %q", filter, b.Back)
		}
	}
}
