package db_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dlo/db"
	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

// index reads everything into the text index.
func index(t testing.TB, s *dbtest.DB) {
	t.Helper()
	for {
		_, more, _, err := s.IndexText(background, 7)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return
		}
	}
}

func found(t testing.TB, s *dbtest.DB, text string) []string {
	t.Helper()
	q, bad := dlq.ParseQuery(text)
	if len(bad) > 0 {
		t.Fatalf("%q: %v", text, bad)
	}
	list, _, err := s.Entries(background, dlqtest.Admin, q, "", "", 500)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	var docs []string
	for _, e := range list {
		docs = append(docs, e.DocID)
	}
	slices.Sort(docs)
	return docs
}

func trace(text string) func(*dlq.Arrival) {
	return dlqtest.With(func(e *dlq.Envelope) { e.StackTrace = text })
}

func TestTextIsFoundWhereverItStands(t *testing.T) {
	s := withTarget(t, "wiki")
	s.Park(t, dlqtest.Doc("doc-a"), dlqtest.Defect("TenantError"), dlqtest.With(func(e *dlq.Envelope) {
		e.ErrorMessage, e.ValidationOutput, e.Filename = "Cannot read ÄPFEL", `[{"path":"/tenant/name","message":"is required"}]`, "lease.pdf"
		e.Labels, e.SourceURL = map[string]string{"region": "EU west", "tier": "gold"}, "https://wiki/spaces/HR/42"
	}), trace("File \"tenant.py\", line 4, in read_tenant\nzebraquagga"))
	s.Park(t, dlqtest.Doc("doc-b"), dlqtest.Defect("TenantError"), trace("another trace of it"))
	s.Park(t, dlqtest.Doc("doc-c"), dlqtest.Defect("Other"), dlqtest.With(func(e *dlq.Envelope) {
		e.ErrorMessage = `100% of "this_is" \ AND NEAR(x) OR col:body * 😀 e` + "\u0301" + ` ` + "\u200f" + `שלום`
	}))
	both, a, c, none := []string{"doc-a", "doc-b"}, []string{"doc-a"}, []string{"doc-c"}, []string(nil)
	for _, when := range []string{"while the index lags", "when it has caught up"} {
		for text, want := range map[string][]string{
			"äpfel": {"doc-a"}, "ÄPFEL": a, "required": a, `"/tenant/name"`: a, "DOC-A": a, "lease.pdf": a, "TenantErr": {"doc-a", "doc-b"},
			"zebraQUAGGA": both, "read_tenant": both, "pdfdocument": {"doc-a", "doc-b", "doc-c"},
			`"another trace"`: both, "zebraquagga -required": {"doc-b"}, "-zebraquagga": c,
			"label:region=eu*": a, `label:"region=eu west"`: a, "label:region": a, "label:r*": a, "label:e*": none, "label:t*": a, "äp": a, "ÄP": a, "file:LEASE*": a, "label:region=EU": none, "label:tier=gold,tier=tin": a, "label:west": none, `label:"west"`: none, "-label:tier": {"doc-b", "doc-c"},
			"url:spaces/hr": a, "url:https*": none, `url:"https://wiki/"`: a,
			"100%": c, "of_": none, "this_is": c, `\`: c, "AND": c, "NEAR(": c, "NEAR(x)": c, `"col:body"`: c, "*": c, "😀": c, "e\u0301": c, "\u200f": c, "שלום": c, `" OR col"`: c, "required*": none,
			`"required AND tenant"`: none, "body": c, "rowid": none, "x": c,
			strings.Repeat("a", 4000):             none,
			strings.Repeat(`-"😀" `, 50) + "doc-a": a,
		} {
			if got := found(t, s, text); !slices.Equal(got, want) {
				t.Errorf("%s, %.60q finds %v, want %v", when, text, got, want)
			}
		}
		index(t, s)
	}
	if n, _, err := s.TextLag(background, 10); n != 0 || err != nil {
		t.Errorf("%d documents are not in the index, %v", n, err)
	}
}

func TestReplacedEvidenceIsFoundByItsNewTextAlone(t *testing.T) {
	s := withTarget(t, "wiki")
	message := func(text string) func(*dlq.Arrival) {
		return dlqtest.With(func(e *dlq.Envelope) { e.ErrorMessage = text })
	}
	s.Park(t, message("the first words"))
	index(t, s)
	s.Clock.Advance(time.Minute)
	s.Park(t, message("the second words"), dlqtest.Seen(s.Now()))
	if n, since, err := s.TextLag(background, 10); n != 1 || !since.Equal(s.Now()) || err != nil {
		t.Errorf("%d documents wait since %v, %v", n, since, err)
	}
	for range 2 {
		if len(found(t, s, "first")) != 0 || len(found(t, s, "second")) != 1 {
			t.Error("the words of the evidence before are still found, or the new ones are not")
		}
		index(t, s)
	}
	// A failure that arrives late is history, and changes nothing.
	s.Park(t, message("the oldest words"), dlqtest.Seen(dlqtest.Now.Add(-time.Hour)))
	if len(found(t, s, "oldest")) != 0 || len(found(t, s, "second")) != 1 {
		t.Error("what is only history was taken for the evidence")
	}
}

func TestEvidenceThatIsReplacedWhileTheIndexReadsItIsReadAgain(t *testing.T) {
	s := withTarget(t, "wiki")
	s.Park(t, dlqtest.With(func(e *dlq.Envelope) { e.ErrorMessage = "first words" }))
	replaced := false
	err := s.IndexTextWhile(background, func() {
		replaced = true
		s.Clock.Advance(time.Minute)
		s.Park(t, dlqtest.Seen(s.Now()), dlqtest.With(func(e *dlq.Envelope) { e.ErrorMessage = "second words" }))
	})
	if err != nil || !replaced {
		t.Fatal(err)
	}
	for range 2 {
		if len(found(t, s, "first")) != 0 || len(found(t, s, "second")) != 1 {
			t.Error("the index holds the words of the evidence before")
		}
		index(t, s)
	}
}

func TestAnIndexThatIsFarBehindIsSaidAndHandsNothingOut(t *testing.T) {
	s := withTarget(t, "wiki")
	var arrivals []dlq.Arrival
	for i := range 1002 {
		arrivals = append(arrivals, dlqtest.Arrival(dlqtest.Doc(fmt.Sprint("doc-", i)), dlqtest.Event(fmt.Sprint(i))))
	}
	if _, err := s.RecordArrivals(background, arrivals); err != nil {
		t.Fatal(err)
	}
	if n, _, err := s.TextLag(background, 1000); n != 1001 || err != nil {
		t.Errorf("%d documents wait, %v", n, err)
	}
	words, other := query(t, "root"), query(t, "source:wiki")
	if _, err := s.Members(background, dlqtest.Admin, words); dlq.KindOf(err) != dlq.KindUnavailable {
		t.Errorf("a set that is not whole was handed out: %v", err)
	}
	if list, err := s.Members(background, dlqtest.Admin, other); err != nil || len(list) != 1002 {
		t.Errorf("%d members without words, %v", len(list), err)
	}
	index(t, s)
	if list, err := s.Members(background, dlqtest.Admin, words); err != nil || len(list) != 1002 {
		t.Errorf("%d members, %v", len(list), err)
	}
}

func TestForgottenTextIsGoneFromTheIndex(t *testing.T) {
	s := withTarget(t, "wiki")
	secret := func(text string) func(*dlq.Arrival) {
		return dlqtest.With(func(e *dlq.Envelope) { e.ErrorMessage, e.Labels = text, map[string]string{"who": text} })
	}
	gone := s.Park(t, dlqtest.Doc("gone"), secret("qzjxvk"), trace("qzjxvk in a trace"))
	s.Park(t, dlqtest.Doc("stays"), secret("wvbnmq"), trace("wvbnmq in a trace"))
	for i := range 100 {
		s.Park(t, dlqtest.Doc(fmt.Sprint(i)), dlqtest.Event(fmt.Sprint(i)))
	}
	index(t, s)
	terms := func(prefix string) int64 {
		var n int64
		for _, table := range []string{"text_entry", "text_fingerprint"} {
			s.Exec(t, `create virtual table vocabulary using fts5vocab (`+table+`, row)`)
			n += s.Int(t, `select count(*) from vocabulary where term = $1`, prefix)
			s.Exec(t, `drop table vocabulary`)
		}
		return n
	}
	if terms("qzj") != 2 || terms("wvb") != 2 {
		t.Fatalf("the index has not what is to be forgotten: %d and %d", terms("qzj"), terms("wvb"))
	}
	if err := s.ForgetText(background, gone.DLQID); err != nil {
		t.Fatal(err)
	}
	steps := 0
	for done := false; !done; steps++ {
		var err error
		if done, err = s.PurgeText(background, steps == 0); err != nil || steps > 1000 {
			t.Fatalf("after %d steps: %v", steps, err)
		}
	}
	if terms("qzj") != 0 {
		t.Error("the index still holds a text that was forgotten")
	}
	if terms("wvb") != 2 || !slices.Equal(found(t, s, "label:who=wvbnmq"), []string{"stays"}) {
		t.Error("the index lost another's text")
	}
	if got := found(t, s, "qzjxvk"); len(got) != 0 {
		t.Errorf("still found: %v", got)
	}
}

// One slice of the index is short for the writer, however long the texts are,
// and whatever is left out of it is read by the next.
func TestLongTextsAreIndexedInSlices(t *testing.T) {
	s := withTarget(t, "wiki")
	park := func(n int, word string) {
		t.Helper()
		for i := range n {
			s.Park(t, dlqtest.Doc(fmt.Sprint("doc-", i)), dlqtest.Seen(s.Now()), dlqtest.Event(fmt.Sprint(word, i)), dlqtest.With(func(e *dlq.Envelope) {
				e.ErrorMessage, e.ValidationOutput = fmt.Sprint(word, "-", i), strings.Repeat("x y z ", 3000)
			}))
		}
		s.Clock.Advance(time.Minute)
	}
	readAll := func(documents int) {
		t.Helper()
		all, turns := 0, 0
		for more := true; more; turns++ {
			var did int
			var err error
			if did, more, _, err = s.IndexText(background, 500); err != nil || did == 0 || turns > documents {
				t.Fatalf("a slice of %d, %v", did, err)
			}
			all += did
		}
		if all != documents || turns < 3 {
			t.Errorf("%d documents in %d slices, want %d in several", all, turns, documents)
		}
	}
	park(50, "first")
	readAll(50)
	park(60, "second") // 50 of them are replaced, 10 are new
	readAll(60)
	if got := found(t, s, "second-"); len(got) != 60 {
		t.Errorf("%d of 60 are found", len(got))
	}
	if got := found(t, s, "first-"); len(got) != 0 {
		t.Errorf("%d are found by what they were", len(got))
	}
	if n, _, err := s.TextLag(background, 10); n != 0 || err != nil {
		t.Errorf("%d are left, %v", n, err)
	}
}

// failedOutcome begins an attempt by an outcome that names an error of some type
// and says nothing else; the failure itself arrives after it.
func failedOutcome(t *testing.T, s *dbtest.DB, dlqID, defect string) dlq.Redrive {
	t.Helper()
	s.Clock.Advance(time.Minute)
	r := send(t, s, dlqID)
	s.Clock.Advance(time.Minute)
	report(t, s, dlq.Outcome{RedriveID: r.ID, Result: dlq.OutcomeFailed, Failure: &dlq.Envelope{ErrorType: defect, ErrorClass: "transient", ErrorMessage: "the words of the outcome", StackTrace: "aardvark of the outcome"}})
	return r
}

// sameWhenCaughtUp asks before and after the index has read everything.
func sameWhenCaughtUp(t *testing.T, s *dbtest.DB, want map[string][]string) {
	t.Helper()
	for _, when := range []string{"while the index lags", "when it has caught up"} {
		for text, want := range want {
			if got := found(t, s, text); !slices.Equal(got, want) {
				t.Errorf("%s, %q finds %v, want %v", when, text, got, want)
			}
		}
		index(t, s)
	}
}

func TestAnAttemptThatIsCompletedIsFoundByItsNewTraceAlone(t *testing.T) {
	s := withTarget(t, "wiki")
	park := s.Park(t, dlqtest.Doc("doc-a"), dlqtest.Defect("TenantError"), dlqtest.Held("bytes"))
	r := failedOutcome(t, s, park.DLQID, "TenantError")
	index(t, s)
	if got := found(t, s, "aardvark"); len(got) != 1 {
		t.Fatalf("the trace of the outcome finds %v", got)
	}
	s.Park(t, dlqtest.Doc("doc-a"), dlqtest.Defect("TenantError"), dlqtest.Event("2"), dlqtest.Seen(s.Now()), trace("buffalo of the failure"),
		dlqtest.With(func(e *dlq.Envelope) { e.RedriveID = r.ID }))
	if n := s.Entry(t, park.DLQID).Attempts; n != 2 {
		t.Fatalf("%d attempts: the failure was not taken for the outcome's", n)
	}
	sameWhenCaughtUp(t, s, map[string][]string{"aardvark": nil, "buffalo": {"doc-a"}})
}

// Whatever happens to a document between the reading of its texts and their
// writing, the index does not keep what was read.
func TestWhatChangesWhileTheIndexReadsItIsReadAgain(t *testing.T) {
	for name, change := range map[string]struct {
		do   func(t *testing.T, s *dbtest.DB, dlqID string)
		want map[string][]string
	}{
		"moved to another fingerprint": {func(t *testing.T, s *dbtest.DB, dlqID string) {
			other := s.Park(t, dlqtest.Doc("other"), dlqtest.Defect("Other"), trace(""))
			s.MoveEntry(t, dlqID, s.Entry(t, other.DLQID).Fingerprint)
		}, map[string][]string{"aardvark": {"doc-a", "other"}}},
		"failed anew": {func(t *testing.T, s *dbtest.DB, dlqID string) {
			s.Clock.Advance(time.Minute)
			s.Park(t, dlqtest.Doc("doc-a"), dlqtest.Defect("TenantError"), dlqtest.Event("2"), dlqtest.Seen(s.Now()), trace("buffalo"))
		}, map[string][]string{"aardvark": nil, "buffalo": {"doc-a", "doc-b"}}},
		"forgotten": {func(t *testing.T, s *dbtest.DB, dlqID string) {
			s.Exec(t, `update entry set message = '' where dlq_id = $1`, dlqID)
			s.Exec(t, `update attempt set detail = null where id = (select evidence_id from entry where dlq_id = $1)`, dlqID)
			if err := s.ForgetText(background, dlqID); err != nil {
				t.Fatal(err)
			}
		}, map[string][]string{"aardvark": nil, "capybara": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			s := withTarget(t, "wiki")
			a := s.Park(t, dlqtest.Doc("doc-a"), dlqtest.Defect("TenantError"), trace("aardvark"), dlqtest.With(func(e *dlq.Envelope) { e.ErrorMessage = "capybara" }))
			s.Park(t, dlqtest.Doc("doc-b"), dlqtest.Defect("TenantError"), trace(""))
			if err := s.IndexTextWhile(background, func() { change.do(t, s, a.DLQID) }); err != nil {
				t.Fatal(err)
			}
			sameWhenCaughtUp(t, s, change.want)
		})
	}
}

// A set of what has not a word holds nothing that came after the word was looked
// for: nobody knows whether that has it.
func TestWhatArrivesWhileAWordIsLookedForIsNoMember(t *testing.T) {
	var once func()
	s := dbtest.Open(t, func(o *db.Options) {
		o.Asked = func(query string, _ []any) {
			if do := once; do != nil && strings.Contains(query, "from text_entry where") {
				once = nil
				do()
			}
		}
	})
	putPolicy(t, s, dlqtest.Policy("wiki"))
	s.Park(t, dlqtest.Doc("doc-a"))
	once = func() {
		s.Park(t, dlqtest.Doc("doc-b"), dlqtest.Event("2"), dlqtest.With(func(e *dlq.Envelope) { e.ErrorMessage = "zebra" }))
	}
	if got, err := s.Members(background, dlqtest.Admin, query(t, "-zebra")); err != nil || len(got) != 1 || once != nil {
		t.Errorf("%d members without the word, want 1 (%v)", len(got), err)
	}
}
