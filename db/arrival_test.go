package db_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

const day = 24 * time.Hour

func TestAFirstFailureParksADocument(t *testing.T) {
	s := dbtest.Open(t)
	r := s.Park(t, dlqtest.Spent(2), dlqtest.Held("%PDF-1.4"))
	if !r.Created || r.Duplicate || r.Status != dlq.StatusParked || r.Attempts != 2 || r.Arrivals != 1 || r.Source != "wiki" || r.DocID != "1" {
		t.Errorf("receipt %+v", r)
	}
	if r.Fingerprint != dlqtest.Fingerprint("PDFSyntaxError").String() || r.URL != "/entries/"+r.DLQID || len(r.DLQID) != 26 {
		t.Errorf("receipt %+v", r)
	}
	e := s.Entry(t, r.DLQID)
	for claim, c := range map[string]struct{ got, want any }{
		"its state":                      {e.Status, dlq.StatusParked},
		"its cohort":                     {e.CohortID, r.Cohort},
		"90 days":                        {e.ExpiresAt, dlqtest.Now.Add(90 * day)},
		"the digest serves as the key":   {e.ContentHash, dlqtest.Digest("%PDF-1.4")},
		"and that is said":               {e.KeyCheck, dlq.KeyFromPayload},
		"the copy is held":               {e.Copy, dlq.CopyHeld},
		"and is of the current evidence": {e.CopyIsCurrent(), true},
		"the copy's own clock":           {e.CopyExpires, dlqtest.Now.Add(90 * day)},
		"the versions":                   {e.Versions, dlq.Versions{"parser": "pdfminer.six@20221105"}},
		"the head of the message":        {e.Message, "No /Root object! - Is this really a PDF?"},
		"one episode":                    {e.Episode, int64(1)},
		"no marks":                       {len(e.Marks), 0},
		"opened when it was seen first":  {e.OpenedAt, dlqtest.Now},
		"no replay yet":                  {e.RedrivesTotal, int64(0)},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: %v, want %v", claim, c.got, c.want)
		}
	}
	s.MustHold(t)
}

func TestTheSameDocumentFailingAgainIsOneEntry(t *testing.T) {
	s := dbtest.Open(t)
	first := s.Park(t, dlqtest.Spent(2))
	s.Park(t, dlqtest.Of("leases", "1"))
	s.Park(t, dlqtest.Doc("2"))
	again := s.Park(t, dlqtest.Spent(3), dlqtest.Seen(dlqtest.Now.Add(time.Hour)))
	if again.DLQID != first.DLQID || again.Created || again.Attempts != 5 || again.Arrivals != 2 {
		t.Errorf("receipt %+v", again)
	}
	if n := s.Int(t, `select count(*) from entry`); n != 3 {
		t.Errorf("%d entries, want 3", n)
	}
	list := history(t, s, first.DLQID)
	if len(list) != 2 || list[0].Sequence() != 2 || list[0].Why != dlq.ArrivalReplaced || list[1].Why != dlq.ArrivalParked || list[0].Attempts != 3 {
		t.Errorf("history %+v", list)
	}
	s.MustHold(t)
}

func TestADuplicateEventAnswersTheCurrentStateAndChangesNothing(t *testing.T) {
	s := dbtest.Open(t)
	first := s.Park(t, dlqtest.Event("message 7"))
	s.Park(t, dlqtest.Seen(dlqtest.Now.Add(time.Hour)), dlqtest.Defect("OtherError"))
	bring(t, s, first.DLQID, dlq.StatusArchived)
	before := s.Entry(t, first.DLQID)
	for _, doc := range []string{"1", "2"} { // the event is known again whatever document it names
		again := s.Park(t, dlqtest.Doc(doc), dlqtest.Event("message 7"), dlqtest.Seen(dlqtest.Now.Add(2*time.Hour)))
		if !again.Duplicate || again.Created || again.DLQID != first.DLQID || again.DocID != "1" || again.Status != dlq.StatusArchived || again.Attempts != 2 || again.Arrivals != 2 {
			t.Errorf("receipt %+v", again)
		}
		if again.Cohort != before.CohortID || again.Fingerprint != before.Fingerprint {
			t.Errorf("the receipt names cohort %s and fingerprint %s, the entry has %s and %s", again.Cohort, again.Fingerprint, before.CohortID, before.Fingerprint)
		}
	}
	if after := s.Entry(t, first.DLQID); !reflect.DeepEqual(after, before) {
		t.Errorf("the entry changed to %+v", after)
	}
	if other := s.Park(t, dlqtest.Of("leases", "1"), dlqtest.Event("message 7")); other.Duplicate || !other.Created {
		t.Errorf("an event of another source is not the same: %+v", other)
	}
	s.MustHold(t)
}

func TestWithoutAnEventKeyTheSameFailureTwiceIsTwo(t *testing.T) {
	s := dbtest.Open(t)
	s.Park(t)
	if r := s.Park(t, dlqtest.Received(dlqtest.Now.Add(time.Second))); r.Duplicate || r.Arrivals != 2 || r.Attempts != 2 {
		t.Errorf("receipt %+v", r)
	}
}

func TestANewerFailureReplacesTheEvidenceWhole(t *testing.T) {
	s := dbtest.Open(t)
	first := s.Park(t, dlqtest.Held("v1"), dlqtest.Key("k1"), dlqtest.With(func(e *dlq.Envelope) { e.Filename, e.SenderID = "a.pdf", "mine-1" }))
	second := s.Park(t, dlqtest.Seen(dlqtest.Now.Add(time.Hour)), dlqtest.Defect("OtherError"),
		dlqtest.With(func(e *dlq.Envelope) { e.ParserVersion, e.ContentType, e.ErrorMessage, e.Stage = "", "", "", "" }))
	e := s.Entry(t, first.DLQID)
	for claim, c := range map[string]struct{ got, want any }{
		"the cohort moved":             {e.CohortID, second.Cohort},
		"to another":                   {e.CohortID != first.Cohort, true},
		"no versions are named":        {e.Versions, dlq.Versions{}},
		"no message":                   {e.Message, ""},
		"no file name":                 {e.Filename, ""},
		"no sender's id":               {e.SenderID, ""},
		"no content type":              {e.ContentType, ""},
		"no digest":                    {e.PayloadSHA256, ""},
		"nobody says how many bytes":   {e.PayloadBytes, int64(-1)},
		"the key stays":                {e.ContentHash, dlqtest.Digest("k1")},
		"the newest held copy is kept": {e.HeldSHA256, dlqtest.Digest("v1")},
		"and is of the older attempt":  {e.CopyIsCurrent(), false},
		"still held":                   {e.Copy, dlq.CopyHeld},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: %v, want %v", claim, c.got, c.want)
		}
	}
	s.MustHold(t)
}

func TestNewBytesBringTheirKey(t *testing.T) {
	s := dbtest.Open(t)
	r := s.Park(t, dlqtest.Held("v1"), dlqtest.Key("k1"))
	s.Park(t, dlqtest.Seen(dlqtest.Now.Add(time.Hour)), dlqtest.Named("v2"))
	if e := s.Entry(t, r.DLQID); e.ContentHash != dlqtest.Digest("v2") || e.KeyCheck != dlq.KeyFromPayload || e.HeldSHA256 != dlqtest.Digest("v1") || e.PayloadSHA256 != dlqtest.Digest("v2") {
		t.Errorf("%+v", e)
	}
	s.Park(t, dlqtest.Seen(dlqtest.Now.Add(2*time.Hour)), dlqtest.Held("v3"))
	if e := s.Entry(t, r.DLQID); e.HeldSHA256 != dlqtest.Digest("v3") || !e.CopyIsCurrent() {
		t.Errorf("%+v", e)
	}
	s.Park(t, dlqtest.Seen(dlqtest.Now.Add(3*time.Hour)), dlqtest.Named("v3"))
	if e := s.Entry(t, r.DLQID); !e.CopyIsCurrent() {
		t.Error("the same bytes failed again, and their copy is not of the current evidence")
	}
	s.MustHold(t)
}

func TestWhatIsNotNewerIsAppendedAndChangesNothingInEveryState(t *testing.T) {
	for _, status := range []dlq.Status{dlq.StatusParked, dlq.StatusRedriving, dlq.StatusQuarantined, dlq.StatusArchived, dlq.StatusResolved} {
		t.Run(string(status), func(t *testing.T) {
			s := withTarget(t)
			s.Clock.Set(dlqtest.Now.Add(2 * time.Hour))
			r := s.Park(t, dlqtest.Held("v2"), dlqtest.Seq(9), dlqtest.Seen(dlqtest.Now.Add(time.Hour)), dlqtest.FirstSeen(dlqtest.Now))
			bring(t, s, r.DLQID, status)
			before := s.Entry(t, r.DLQID)
			late := s.Park(t, dlqtest.Seq(8), dlqtest.Seen(dlqtest.Now.Add(-day)), dlqtest.Received(dlqtest.Now.Add(3*time.Hour)), dlqtest.Defect("OtherError"), dlqtest.Held("v1"), dlqtest.Key("k0"))
			if late.Status != status || late.Cohort != before.CohortID || late.Fingerprint != before.Fingerprint {
				t.Errorf("receipt %+v", late)
			}
			after := s.Entry(t, r.DLQID)
			if after.Arrivals != before.Arrivals+1 || after.Attempts != before.Attempts+1 || !after.FirstSeen.Equal(dlqtest.Now.Add(-day)) {
				t.Errorf("it is not counted: %+v", after)
			}
			after.Arrivals, after.Attempts, after.FirstSeen, after.Version = before.Arrivals, before.Attempts, before.FirstSeen, before.Version
			if !reflect.DeepEqual(after, before) {
				t.Errorf("the entry changed from\n%+v to\n%+v", before, after)
			}
			if list := history(t, s, r.DLQID); list[0].Why != dlq.ArrivalHistory || list[0].CohortID == before.CohortID {
				t.Errorf("history %+v", list[0])
			}
			s.MustHold(t)
		})
	}
}

func TestAResolvedDocumentThatFailsAgainReturns(t *testing.T) {
	s := withTarget(t)
	r := s.Park(t, dlqtest.Held("v1"), dlqtest.FirstSeen(dlqtest.Now.Add(-89*day)))
	s.Clock.Advance(time.Hour)
	bring(t, s, r.DLQID, dlq.StatusResolved)
	if n := s.Int(t, `select count(*) from commit_register`); n != 1 {
		t.Fatalf("%d keys in the register, want 1", n)
	}
	s.Clock.Advance(day)
	back := s.Park(t, dlqtest.Held("v1"), dlqtest.Seen(s.Now()), dlqtest.Class(dlq.ClassTransient), dlqtest.Spent(1))
	e := s.Entry(t, r.DLQID)
	if back.DLQID != r.DLQID || e.Status != dlq.StatusParked || e.Episode != 2 || e.Resolution != "" || !e.SettledAt.IsZero() {
		t.Errorf("%+v", e)
	}
	if !e.Marks.Has(dlq.MarkReturned) || !e.Marks.Has(dlq.MarkNotExhausted) {
		t.Errorf("marks %v", e.Marks)
	}
	if !e.OpenedAt.Equal(s.Now()) || !e.ExpiresAt.Equal(s.Now().Add(90*day)) || !e.FirstSeen.Equal(dlqtest.Now.Add(-89*day)) {
		t.Errorf("opened %v, leaves %v, first seen %v", e.OpenedAt, e.ExpiresAt, e.FirstSeen)
	}
	if n := s.Int(t, `select count(*) from commit_register`); n != 0 {
		t.Errorf("%d keys in the register, want none", n)
	}
	s.MustHold(t)
}

func TestAnArchivedDocumentThatFailsAgainIsParkedWithTimeLeft(t *testing.T) {
	s := dbtest.Open(t)
	r := s.Park(t)
	s.Clock.Advance(100 * day)
	if n, err := s.ArchiveExpired(background, 10); err != nil || n != 1 {
		t.Fatalf("%d archived, %v", n, err)
	}
	s.Park(t, dlqtest.Seen(s.Now()))
	e := s.Entry(t, r.DLQID)
	if e.Status != dlq.StatusParked || e.Episode != 1 || !e.ExpiresAt.Equal(s.Now().Add(30*day)) || !e.OpenedAt.Equal(dlqtest.Now) {
		t.Errorf("%+v", e)
	}
	s.MustHold(t)
}

func TestAnEntryOpenedLongAgoStaysAWeekAtLeast(t *testing.T) {
	s := dbtest.Open(t)
	for i, c := range []struct{ first, expires time.Time }{
		{dlqtest.Now.Add(-80 * day), dlqtest.Now.Add(10 * day)},
		{dlqtest.Now.Add(-89 * day), dlqtest.Now.Add(7 * day)},
		{dlqtest.Now.Add(-1000 * day), dlqtest.Now.Add(7 * day)},
	} {
		if e := s.Entry(t, s.Park(t, dlqtest.Doc(string(rune('a'+i))), dlqtest.FirstSeen(c.first)).DLQID); !e.ExpiresAt.Equal(c.expires) || !e.OpenedAt.Equal(c.first) {
			t.Errorf("opened %v, leaves %v, want %v", e.OpenedAt, e.ExpiresAt, c.expires)
		}
	}
}

func TestAnEpisodeOpensAtTheLeastFirstSeen(t *testing.T) {
	s := dbtest.Open(t)
	r := s.Park(t)
	s.Park(t, dlqtest.Seen(dlqtest.Now.Add(time.Hour)), dlqtest.FirstSeen(dlqtest.Now.Add(-40*day)))
	if e := s.Entry(t, r.DLQID); !e.OpenedAt.Equal(dlqtest.Now.Add(-40*day)) || !e.ExpiresAt.Equal(dlqtest.Now.Add(90*day)) {
		t.Errorf("opened %v, leaves %v", e.OpenedAt, e.ExpiresAt)
	}
	s.MustHold(t) // its month moved with it
}

func TestTheStartOfTheEpochIsATimeLikeOthers(t *testing.T) {
	s := dbtest.Open(t)
	epoch := time.UnixMilli(0).UTC()
	r := s.Park(t, dlqtest.FirstSeen(epoch))
	s.Park(t, dlqtest.Seen(dlqtest.Now.Add(time.Hour)))
	if e := s.Entry(t, r.DLQID); !e.OpenedAt.Equal(epoch) || !e.FirstSeen.Equal(epoch) {
		t.Errorf("opened %v, first seen %v", e.OpenedAt, e.FirstSeen)
	}
	if list := history(t, s, r.DLQID); !list[1].FirstSeen.Equal(epoch) {
		t.Errorf("the attempt was first seen %v", list[1].FirstSeen)
	}
	s.MustHold(t)
}

func TestLowConfidenceStaysOutOfDepth(t *testing.T) {
	s := dbtest.Open(t)
	s.Park(t, dlqtest.LowConfidence(0.4))
	s.Park(t, dlqtest.Doc("2"))
	totals, err := s.Totals(background, dlqtest.Admin)
	if err != nil {
		t.Fatal(err)
	}
	if totals.Stuck != 1 || totals.InReview != 1 || totals.Cohorts != 1 || totals.NetWeek != 1 {
		t.Errorf("%+v", totals)
	}
	s.Park(t, dlqtest.Seen(dlqtest.Now.Add(time.Hour))) // what was in review fails
	if totals, err = s.Totals(background, dlqtest.Admin); err != nil || totals.Stuck != 2 || totals.InReview != 0 || totals.NetWeek != 2 {
		t.Errorf("%+v, %v", totals, err)
	}
	s.MustHold(t)
}

func TestABrokenContractRaisesOneAlert(t *testing.T) {
	s := dbtest.Open(t)
	for _, doc := range []string{"1", "2", "3"} {
		s.Park(t, dlqtest.Doc(doc), dlqtest.Class(dlq.ClassDownstreamContract))
	}
	s.Park(t, dlqtest.Doc("4"), dlqtest.Class(dlq.ClassDownstreamContract), dlqtest.Defect("WrongWidth"))
	s.Park(t, dlqtest.Doc("5"))
	list, err := s.Alerts(background, dlqtest.Reviewer, 10)
	if err != nil || len(list) != 2 {
		t.Fatalf("%d alerts, %v; want one a cohort", len(list), err)
	}
	for _, a := range list {
		if a.Rule != dlq.AlertContract || a.State != dlq.AlertFiring || a.Source != "wiki" || a.CohortID == "" || strings.Contains(a.Why, "offset") {
			t.Errorf("%+v", a)
		}
	}
}

func TestADocumentWithoutAnIDIsKnownByItsBytes(t *testing.T) {
	s := dbtest.Open(t)
	id := "sha256:" + dlqtest.Digest("v1")
	r := s.Park(t, dlqtest.Doc(id), dlqtest.Held("v1"))
	again := s.Park(t, dlqtest.Doc(id), dlqtest.Held("v1"), dlqtest.Seen(dlqtest.Now.Add(time.Hour)))
	if again.DLQID != r.DLQID || again.DocID != id {
		t.Errorf("%+v", again)
	}
}

func TestEqualBytesUnderTwoIDsAreLinkedAndFlyOneByOne(t *testing.T) {
	s := withTarget(t, "wiki", "leases")
	a := s.Park(t, dlqtest.Doc("a"), dlqtest.Held("v1"))
	b := s.Park(t, dlqtest.Doc("b"), dlqtest.Held("v1"))
	c := s.Park(t, dlqtest.Of("leases", "c"), dlqtest.Held("v1"))
	linked, err := s.Linked(background, dlqtest.Admin, s.Entry(t, a.DLQID), 10)
	if err != nil || len(linked) != 2 || linked[0].DLQID != b.DLQID || linked[1].DLQID != c.DLQID {
		t.Errorf("linked %+v, %v", linked, err)
	}
	if linked, err = s.Linked(background, dlqtest.Only(dlqtest.Reviewer, "wiki"), s.Entry(t, a.DLQID), 10); err != nil || len(linked) != 1 || linked[0].DLQID != b.DLQID {
		t.Errorf("to whoever sees wiki alone, linked %+v, %v", linked, err)
	}
	o := ask(t, s, a.DLQID, b.DLQID, c.DLQID)
	if o.Counts[dlq.ItemInFlight] != 2 || o.Counts[dlq.ItemLeftOut] != 1 {
		t.Errorf("counts %v; a and c fly, b waits for a", o.Counts)
	}
	err = s.TryExec(t, `insert into redrive (id, operation_id, entry_id, source_id, content_hash, mode, state, failed_attempt, failed_cohort, failed_under, created_at, next_at)
		select 'another', operation_id, entry_id, source_id, content_hash, mode, 'pending', failed_attempt, failed_cohort, failed_under, created_at, next_at from redrive limit 1`)
	if err == nil || !strings.Contains(err.Error(), "UNIQUE") {
		t.Errorf("the schema lets a second redrive of the same key fly: %v", err)
	}
	first := claimOf(t, s, a.DLQID)
	deliver(t, s, first)
	report(t, s, dlq.Outcome{RedriveID: first.ID, Result: dlq.OutcomeCommitted})
	ask(t, s, b.DLQID)
	if e := s.Entry(t, b.DLQID); e.Status != dlq.StatusResolved || e.Resolution != dlq.ResolvedSkipped {
		t.Errorf("b is %s %s: its bytes are committed already", e.Status, e.Resolution)
	}
	s.MustHold(t)
}

// claimOf claims what is due of an entry's source, and gives the entry's own.
func claimOf(t testing.TB, s *dbtest.DB, dlqID string) dlq.Redrive {
	t.Helper()
	list, err := s.ClaimRedrives(background, s.Entry(t, dlqID).Source, "test", time.Minute, 10)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(r dlq.Redrive) bool { return r.DLQID == dlqID })
	if i < 0 {
		t.Fatalf("no delivery of it is due among %d", len(list))
	}
	list[i].Sent, list[i].PayloadSHA256 = dlq.ModeHeld, list[i].FailedSHA256
	return list[i]
}

func TestLongTextsAreKeptWholeBesideTheEntry(t *testing.T) {
	s := dbtest.Open(t)
	trace := strings.Repeat("  File \"a.py\", line 1, in f\n", 5000)
	r := s.Park(t, dlqtest.With(func(e *dlq.Envelope) {
		e.StackTrace, e.ErrorMessage, e.Labels, e.Extra = trace, strings.Repeat("ü", 2000), map[string]string{"team": "x"}, map[string]any{"tenant": "a"}
		e.ValidationOutput = []any{map[string]any{"rule": "total"}}
	}), func(a *dlq.Arrival) { a.Cut = map[string]int{"stack_trace": 999999} })
	e := s.Entry(t, r.DLQID)
	if want := strings.Repeat("ü", 500) + "…"; e.Message != want {
		t.Errorf("the head of the message has %d bytes", len(e.Message))
	}
	a, err := s.Attempt(background, e.EvidenceID)
	if err != nil {
		t.Fatal(err)
	}
	d := a.Detail
	if d.Trace != trace || d.Message != strings.Repeat("ü", 2000) || d.Labels["team"] != "x" || d.Extra["tenant"] != "a" || d.Cut["stack_trace"] != 999999 || !strings.Contains(d.Validation, `"rule": "total"`) {
		t.Errorf("the attempt's texts are %d, %d, %v, %v, %v, %q", len(d.Trace), len(d.Message), d.Labels, d.Extra, d.Cut, d.Validation)
	}
}

func TestHostileTextsAreStoredAndFoundAgain(t *testing.T) {
	s := dbtest.Open(t)
	for i, text := range []string{"a\x00b", "\x1b[31mred", "invoice\u202egnp.exe", "'; drop table entry; --", `%_\`, strings.Repeat("😀", 400), "\ufffd"} {
		r := s.Park(t, dlqtest.Doc("doc "+strings.ReplaceAll(text, "\x00", "")), dlqtest.Seen(dlqtest.Now.Add(time.Duration(i)*time.Second)), dlqtest.With(func(e *dlq.Envelope) {
			e.ErrorMessage, e.StackTrace, e.Filename, e.SourceVersion, e.Stage, e.ContentType, e.ErrorClass, e.ErrorType = text, text, text, text, text, text, text, text
			e.ParserVersion, e.Versions, e.PayloadURI, e.CursorAtArrival, e.IndexedVersion, e.ProcessingVersion, e.SourceURL = text, map[string]string{"ocr" + text: text}, text, text, text, text, text
		}), func(a *dlq.Arrival) {
			a.Fingerprint = dlqtest.Fingerprint("hostile " + text)
		})
		a, err := s.Attempt(background, s.Entry(t, r.DLQID).EvidenceID)
		if err != nil || a.Detail.Trace != text || a.Detail.Message != text {
			t.Errorf("%q came back as %q, %v", text, a.Detail.Trace, err)
		}
	}
	if found := s.Lines(t, `select name from (select 'cohort' as name from cohort where instr(error_type || template || frame, char(0)) > 0
		union all select 'fingerprint' from fingerprint where instr(error_type || root_type || template || canonical || frames, char(0)) > 0
		union all select 'version_of' from version_of where instr(component || version, char(0)) > 0
		union all select 'cell' from cell where instr(error_type || error_class || stage || content_type, char(0)) > 0
		union all select 'entry' from entry where instr(message || filename, char(0)) > 0)`); len(found) > 0 {
		t.Errorf("NUL stands in columns of %v, which no other engine could keep", found)
	}
	s.MustHold(t)
}
