package handlers

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/views/components"
)

func oneCohortFacts() cohortFacts {
	f := cohortFacts{cohort: oneCohort(), known: knownWiki(), arrivals: make([]int64, arrivalDays), now: noon, by: reviewer, csrf: "token"}
	f.entries = listOf(reviewer, "cohort:01KB status:parked", 409, dlq.Entry{})
	f.entries.path, f.entries.params, f.entries.cohort = "/cohorts/01KB", url.Values{}, false
	return f
}

func hiddenFields(f components.Form) map[string]string {
	out := map[string]string{}
	for _, field := range f.Fields {
		out[field.Name] = field.Value
	}
	return out
}

func TestFailuresStandFirstAmongTheReplays(t *testing.T) {
	f := oneCohortFacts()
	for i := range replaysShown + 5 {
		r := passed()
		r.DocID, r.SettledAt = "d", noon.Add(-time.Duration(i)*time.Minute)
		if i >= replaysShown+2 {
			r.DocID, r.Outcome = "failed", dlq.OutcomeFailed
		}
		f.replays = append(f.replays, r)
	}
	m := newReplays(f)
	for i, row := range m.Rows {
		if failed := row.Document.String() == "failed"; failed != (i < 3) {
			t.Errorf("row %d is of %s", i, row.Document.String())
		}
	}
	if m.Rows[0].When.ISO < m.Rows[1].When.ISO || m.Rows[3].When.ISO < m.Rows[4].When.ISO {
		t.Error("among alike, the newest does not come first")
	}
}

func TestADefectOlderThanTheRegisterSaysSo(t *testing.T) {
	known := noon.AddDate(0, 0, -arrivalDays)
	f := cohortFacts{cohort: dlq.Cohort{FirstSeen: known.Add(-time.Hour), LastSeen: noon}, now: noon}
	if got := arrivalsSentence(f); got != "Started on 31 Aug 2026, before anything was registered." {
		t.Errorf("got %q", got)
	}
}

func TestActionsAreThoseThatWorkHere(t *testing.T) {
	labels := func(list []components.Action) string {
		var out []string
		for _, a := range list {
			out = append(out, a.Label)
		}
		return strings.Join(out, ", ")
	}
	f := oneCohortFacts()
	actions, more := cohortActions(f)
	if got := labels(actions); got != "Keep longer, Assign" {
		t.Errorf("got %q", got)
	}
	if got := labels(more); got != "Set a disposition, Release from quarantine, Quarantine what is stuck, Archive" {
		t.Errorf("got %q", got)
	}
	if want := confirmHref(dlq.OperationExtend, "cohort:01KB status:parked,quarantined", -1, "/cohorts/01KB"); actions[0].Href != want || actions[0].Why != "412 documents" {
		t.Errorf("got %+v", actions[0])
	}
	f.by = auditor
	if actions, more := cohortActions(f); len(actions)+len(more) != 0 {
		t.Errorf("an auditor is offered %v %v", actions, more)
	}
	f.by = reviewer
	f.cohort.Counts = map[dlq.Status]int64{dlq.StatusArchived: 2}
	if actions, more := cohortActions(f); labels(actions) != "Assign" || labels(more) != "Set a disposition, Restore from the archive" {
		t.Errorf("got %q and %q", labels(actions), labels(more))
	}
}

func TestNoticesNameWhatIsOnItsWayAndWhatStops(t *testing.T) {
	f := oneCohortFacts()
	f.replays = []dlq.Redrive{{OperationID: "01O", State: dlq.RedriveDelivered, SentAt: noon}, {OperationID: "01O", State: dlq.RedrivePending}, {OperationID: "01P", State: dlq.RedriveSettled}}
	s := f.known.byName["wiki"]
	s.Paused, s.PausedBy = true, "manager@example.com"
	f.known.byName["wiki"] = s
	got := cohortNotices(f)
	if len(got) != 2 || got[0].Title != "1 document is on its way, 1 is to be sent." || got[0].Links[0].Href != "/operations/01O" || got[1].Title != "Redrives of wiki are paused by manager@example.com." {
		t.Errorf("got %+v", got)
	}
	f.pausedBy = "manager@example.com"
	if got := cohortNotices(f); len(got) != 1 {
		t.Errorf("a pause of everything stands on every page already: %+v", got)
	}
}

func TestReplaysStandAsEvidence(t *testing.T) {
	f := oneCohortFacts()
	if r := newReplays(f); r.Summary != "none yet" || r.None == "" || len(r.Rows) != 0 {
		t.Errorf("got %+v", r)
	}
	f.replays = []dlq.Redrive{
		{DLQID: "01J1", DocID: "1147829310", State: dlq.RedriveSettled, Outcome: dlq.OutcomeCommitted, Bytes: dlq.Evidence{Bytes: dlq.ReadingUnchanged, Grade: dlq.GradeDigest},
			FailedUnder: dlq.Versions{"parser": "pdf@1"}, Running: dlq.Running{"parser": {"pdf@3"}}, CreatedAt: noon.Add(-time.Hour), SettledAt: noon},
		{DLQID: "01J2", DocID: "1150067123", State: dlq.RedriveSettled, Outcome: dlq.OutcomeCommitted, Bytes: dlq.Evidence{Bytes: dlq.ReadingChanged, Grade: dlq.GradeStrongETag},
			FailedUnder: dlq.Versions{"parser": "pdf@3"}, Running: dlq.Running{"parser": {"pdf@3"}}, CreatedAt: noon.Add(-time.Hour), SettledAt: noon},
	}
	r := newReplays(f)
	if r.Summary != "2 replays · 2 passed · 1 counts for others" {
		t.Errorf("got %q", r.Summary)
	}
	first, second := r.Rows[0], r.Rows[1]
	if first.Bytes.Text != "unchanged · digest" || first.Code.Text != "parser changed" || first.Verdict != "New code fixed it" || first.Href != "/entries/01J1" || first.When.ISO != "2026-11-29T12:00:00Z" {
		t.Errorf("got %+v", first)
	}
	if second.Bytes.Text != "changed · strong tag" || second.Code.Text != "code the same" || second.Verdict != "New document passed" || second.Counts != "counts for itself" {
		t.Errorf("got %+v", second)
	}
	f.replays = make([]dlq.Redrive, replaysShown+1)
	if r := newReplays(f); len(r.Rows) != replaysShown || r.More.Href == "" {
		t.Errorf("rows left out in silence: %d, %+v", len(r.Rows), r.More)
	}
}

func TestStatesOfTheDocumentsAreChips(t *testing.T) {
	chips := cohortEntryFilters(oneCohortFacts())
	want := []components.Chip{
		{Text: "Stuck", Count: "409", Href: "/cohorts/01KB", On: true},
		{Text: "Quarantine", Count: "3", Href: "/cohorts/01KB?status=quarantined"},
		{Text: "Resolved", Count: "61", Href: "/cohorts/01KB?status=resolved"},
	}
	if !slices.Equal(chips, want) {
		t.Errorf("got %+v, want %+v", chips, want)
	}
}

func TestDeploymentsAreMarkedOnTheirDay(t *testing.T) {
	f := oneCohortFacts()
	f.arrivals[arrivalDays-1], f.arrivals[arrivalDays-3] = 2, 7
	at := func(daysAgo int, component, version string) deployed {
		return deployed{Deployment: dlq.Deployment{Component: component, Version: version, StartedAt: noon.AddDate(0, 0, -daysAgo)}, Source: "wiki"}
	}
	f.cohort.FailedUnder[0].Versions = dlq.Versions{"parser": "pdf@1", "connector": "c@1"}
	f.cohort.FirstSeen = noon.AddDate(0, 0, -20).Add(4 * time.Hour)
	f.deployments = []deployed{at(20, "connector", "c@1"), at(1, "parser", "pdf@3"), at(1, "connector", "c@2"), at(5, "embedder", "e@1"), at(200, "parser", "pdf@0")}
	f.near, f.registered = f.deployments, noon.AddDate(0, 0, -200)
	a := newArrivals(f)
	c := a.Chart
	if want := []components.Mark{{At: arrivalDays - 21, Text: "c@1"}, {At: arrivalDays - 6, Text: "e@1"}, {At: arrivalDays - 2, Text: "pdf@3 +1"}}; !slices.Equal(c.Marks, want) {
		t.Errorf("got %+v, want %+v", c.Marks, want)
	}
	if c.Sentence != "Started 4 h after c@1 was deployed." {
		t.Errorf("got %q", c.Sentence)
	}
	if c.First != "1 Sep" || c.Last != "29 Nov" || c.Label != "Arrivals a day from 1 Sep 2026 to 29 Nov 2026: 9 in all, at most 7, on 27 Nov 2026" {
		t.Errorf("got %q %q %q", c.First, c.Last, c.Label)
	}
	f.cohort.FirstSeen = noon.AddDate(0, 0, -40)
	if len(a.Marks) != 5 || a.Marks[0].Version.String() != "pdf@3" || !a.Marks[0].Marked || a.Marks[4].Marked {
		t.Errorf("the table beneath has not all of them: %+v", a.Marks)
	}
	if got := newArrivals(f).Chart.Sentence; !strings.HasPrefix(got, "Started on 20 Oct 2026; no deployment") {
		t.Errorf("something is blamed that was not deployed before: %q", got)
	}
}

func TestDeploymentsThatDoNotFitHaveNoMark(t *testing.T) {
	var list []deployed
	for i := range 7 {
		list = append(list, deployed{Deployment: dlq.Deployment{Component: "parser", Version: "p", StartedAt: noon.AddDate(0, 0, -i)}, Source: "wiki"})
	}
	first := noon.AddDate(0, 0, -89).Truncate(24 * time.Hour)
	marks, marked := deploymentMarks(list, arrivalDays, func(at time.Time) int { return int(at.Sub(first) / (24 * time.Hour)) })
	if len(marks) != marksMost || len(marked) != marksMost || marks[len(marks)-1].At != arrivalDays-1 || marked[list[marksMost]] {
		t.Errorf("got %+v, %d marked", marks, len(marked))
	}
}

func TestFailedUnderByMonth(t *testing.T) {
	month := func(year int, m time.Month) time.Time { return time.Date(year, m, 1, 0, 0, 0, 0, time.UTC) }
	f := oneCohortFacts()
	old, newer := dlq.Versions{"parser": "pdf@1"}, dlq.Versions{"parser": "pdf@2"}
	f.months = []dlq.VersionMonth{
		{Source: "wiki", Versions: old, Month: month(2025, 12), Entries: 20, Parked: 10}, {Source: "wiki", Versions: old, Month: month(2026, 8), Entries: 1, Parked: 1},
		{Source: "wiki", Versions: old, Month: month(2026, 9), Entries: 118, Parked: 118}, {Source: "wiki", Versions: old, Month: month(2026, 11), Entries: 77, Parked: 77},
		{Source: "wiki", Versions: newer, Month: month(2026, 10), Entries: 4, Parked: 4},
	}
	v := newVersions(f)
	if want := []string{"earlier", "Sep", "Oct", "Nov"}; !slices.Equal(v.Months, want) {
		t.Fatalf("got %v", v.Months)
	}
	cells := func(i int) string {
		var out []string
		for _, c := range v.Rows[i].Cells {
			out = append(out, c.Text)
		}
		return v.Rows[i].Version.String() + ": " + strings.Join(out, " ") + ", " + v.Rows[i].Stuck.Text
	}
	for i, want := range []string{"pdf@1: 21 118 0 77, 206", "pdf@2: 0 0 4 0, 4", "pdf@3: 0 0 0 0, 0"} {
		if got := cells(i); got != want {
			t.Errorf("row %d: %q, want %q", i, got, want)
		}
	}
	if v.Rows[0].State.Text != "not running now" || v.Rows[1].State.Text != "not running now" || v.Rows[2].State.Text != "runs now" {
		t.Error("what runs now is not marked, or something else is")
	}
	if want := entriesHref("cohort:01KB source:wiki parser:pdf@1 opened:2026-11"); v.Rows[0].Cells[3].Href != want {
		t.Errorf("a number does not open its rows: %q, want %q", v.Rows[0].Cells[3].Href, want)
	}
	if want := entriesHref("cohort:01KB source:wiki parser:pdf@1 opened:<2026-09"); v.Rows[0].Cells[0].Href != want {
		t.Errorf("what is earlier: %q, want %q", v.Rows[0].Cells[0].Href, want)
	}
	ahead := f
	ahead.months = append(slices.Clone(f.months), dlq.VersionMonth{Source: "wiki", Versions: old, Month: month(2026, 12), Entries: 1, Parked: 1})
	if want := entriesHref("cohort:01KB source:wiki parser:pdf@1 opened:>=2026-11"); newVersions(ahead).Rows[0].Cells[3].Href != want {
		t.Errorf("with a clock that is ahead: %q, want %q", newVersions(ahead).Rows[0].Cells[3].Href, want)
	}
	if want := entriesHref("cohort:01KB source:wiki parser:pdf@1 status:parked"); v.Rows[0].Stuck.Href != want {
		t.Errorf("got %q", v.Rows[0].Stuck.Href)
	}
	for _, r := range v.Rows {
		for _, c := range append(r.Cells, r.Stuck) {
			u, err := url.Parse(c.Href)
			if err != nil {
				t.Fatal(err)
			}
			if _, bad := dlq.ParseQuery(u.Query().Get("q")); len(bad) > 0 {
				t.Errorf("%s cannot be read: %v", c.Href, bad)
			}
		}
	}
}

func TestAFingerprintShowsWhatItIsMadeOf(t *testing.T) {
	m := newMadeOf([]dlq.Fingerprint{
		{Algorithm: "f1", Digest: "7f3a", Mode: "trace", Confidence: "high", Language: "python", Type: "PDFSyntaxError", RootType: "PDFSyntaxError", Frames: []dlq.Frame{{Function: "__init__", Unit: "pdfdocument.py"}}, Canonical: "python\nPDFSyntaxError"},
		{Algorithm: "f1", Digest: "22ab", Mode: "trace"},
	})
	if m.Summary != madeOfModes["trace"] || len(m.Fingerprints) != 2 || m.Fingerprints[0].Value.String() != "f1:7f3a" || m.Fingerprints[0].Note != "high confidence" || m.Fingerprints[1].Key != "also" {
		t.Errorf("got %+v", m)
	}
	var parts []string
	for _, p := range m.Parts {
		parts = append(parts, p.Key+"="+p.Value.String())
	}
	if want := []string{"Language=python", "Type=PDFSyntaxError", "Frame 1=pdfdocument.py · __init__"}; !slices.Equal(parts, want) {
		t.Errorf("got %v, want %v", parts, want)
	}
}

func TestRunbooksCannotCarryMarkup(t *testing.T) {
	known := knownWiki()
	s := known.byName["wiki"]
	s.Policy.Runbook = "**Ask** <script>alert(1)</script> [x](javascript:alert(1))"
	known.byName["wiki"] = s
	c := oneCohort()
	notes := []dlq.Note{{Author: "<b>a</b>", WrittenAt: noon, Body: "![p](https://example.com/p.png) *done*"}}
	got := runbookHTML(c, known, notes)
	if !strings.Contains(got, "<strong>Ask</strong>") || !strings.Contains(got, "<em>done</em>") || !strings.Contains(got, "&lt;b&gt;a&lt;/b&gt;, 29 Nov 2026") {
		t.Errorf("got %s", got)
	}
	for _, bad := range []string{"<script", "javascript:", "<img", "<b>"} {
		if strings.Contains(got, bad) {
			t.Errorf("%s is in %s", bad, got)
		}
	}
	s.Policy.Runbook = strings.Repeat("x", renderedMost+1)
	known.byName["wiki"] = s
	if got := runbookHTML(c, known, nil); !strings.Contains(got, "Too long to show here") || len(got) > 200 {
		t.Errorf("the cap does not hold: %d bytes", len(got))
	}
}

func TestActivityMergesNotesAndActsNewestFirst(t *testing.T) {
	f := oneCohortFacts()
	f.notes = []dlq.Note{{Author: "analyst@example.com", WrittenAt: noon, Body: "ask the \u202evendor"}}
	f.audit = []dlq.AuditRow{
		{Seq: 2, At: noon, ActorName: "analyst@example.com", Action: "note.added"},
		{Seq: 1, At: noon.Add(-time.Hour), ActorName: "reviewer@example.com", Action: "cohort.assigned", Detail: `{"owner":"search","ticket":"SEARCH-1"}`},
	}
	a := newCohortActivity(f)
	if len(a.Events) != 2 || a.Events[0].Text != "noted" || !a.Events[0].Note[1].Chip || a.Events[1].Text != "assigned the cohort to search" {
		t.Errorf("got %+v", a.Events)
	}
	if a.Note == nil || a.Note.Action != "/cohorts/01KB/notes" {
		t.Errorf("got %+v", a.Note)
	}
	f.by = auditor
	if newCohortActivity(f).Note != nil {
		t.Error("an auditor may write")
	}
}
