package db_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"

	"pgregory.net/rapid"
)

// library is a store with documents that differ in all that can be asked for.
func library(t *testing.T) (*dbtest.DB, []dlq.Entry) {
	t.Helper()
	s := withTarget(t, "wiki", "team wiki")
	messages := []string{"No /Root object!", "100% of _everything_", `back\slash`, "'; drop table entry; --", "ÄÖÜ straße", "no root OBJECT", ""}
	for i := range 60 {
		i := i
		options := []func(*dlq.Arrival){
			dlqtest.Of([]string{"wiki", "team wiki", "leases,old", `odd"name`}[i%4], []string{fmt.Sprint("doc-", i), fmt.Sprint("100%_", i), fmt.Sprint("ü/", i)}[i%3]),
			dlqtest.Defect([]string{"PDFSyntaxError", "ValueError", "a,b", "x:y", "%", "_"}[i%6]),
			dlqtest.Spent(1 + i%5), dlqtest.Seen(dlqtest.Now.Add(-time.Duration(i) * day)),
			dlqtest.Class(append(slices.Clone(dlq.FailureClasses), "", "another word")[i%7]),
			dlqtest.With(func(e *dlq.Envelope) {
				e.ErrorMessage, e.Stage, e.ContentType = messages[i%7], []string{"parse", "chunk", ""}[i%3], []string{"application/pdf", "text/html", ""}[i%3]
				e.Filename = []string{"a.pdf", "100%.pdf", "a_b.PDF", "", `c\d.txt`}[i%5]
				e.ParserVersion, e.ChunkerVersion = []string{"p1", "p2", ""}[i%3], []string{"c1", ""}[i%2]
				if i%4 == 0 {
					e.SenderID = fmt.Sprint("mine-", i)
				}
			}),
		}
		if i%3 != 0 {
			options = append(options, dlqtest.Held(fmt.Sprint("bytes ", i%7)))
		} else if i%2 == 0 {
			options = append(options, dlqtest.Named(fmt.Sprint("bytes ", i%7)))
		}
		if i%10 == 9 {
			options = append(options, dlqtest.LowConfidence(0.3))
		}
		r := s.Park(t, options...)
		switch i % 8 {
		case 1:
			bring(t, s, r.DLQID, dlq.StatusArchived)
		case 2:
			bring(t, s, r.DLQID, dlq.StatusQuarantined)
		case 3:
			if err := s.Assign(background, dlqtest.Reviewer, r.DLQID, []string{"me@example.com", "nobody", "%"}[i%3], []string{"T-1", ""}[i%2]); err != nil {
				t.Fatal(err)
			}
		case 4:
			report(t, s, dlq.Outcome{Source: s.Entry(t, r.DLQID).Source, DocID: r.DocID, Result: dlq.OutcomeCommitted})
		case 5:
			s.Exec(t, `update entry set marks = $1, redrives_total = $2 where dlq_id = $3`, []string{"late,returned", "returned", "no_outcome"}[i%3], i%4, r.DLQID)
		}
	}
	all, next, err := s.Entries(background, dlqtest.Admin, dlq.Query{}, "", "", 500)
	if err != nil || next != "" || len(all) != 60 {
		t.Fatalf("%d entries, %v", len(all), err)
	}
	return s, all
}

// holds decides in Go, entry by entry, what the store decides in SQL.
func holds(e dlq.Entry, q dlq.Query, now time.Time) bool {
	for _, t := range q.Terms {
		if termHolds(e, t, now) == t.Negated {
			return false
		}
	}
	return true
}

func termHolds(e dlq.Entry, t dlq.Term, now time.Time) bool {
	switch t.Key {
	case "age":
		return compares(t.Compare, int64(now.Sub(e.OpenedAt)), int64(t.Span))
	case "expires":
		return compares(t.Compare, int64(e.ExpiresAt.Sub(now)), int64(t.Span))
	case "opened":
		return inCalendar(e.OpenedAt, t.Values)
	case "seen":
		return inCalendar(e.LastSeen, t.Values)
	case "attempts":
		return compares(t.Compare, e.Attempts, t.Number)
	case "redrives":
		return compares(t.Compare, e.RedrivesTotal, t.Number)
	}
	return slices.ContainsFunc(t.Values, func(v string) bool { return valueHolds(e, t.Key, v) })
}

// inCalendar compares dates as they are written, whole or by as much of them as a
// value names: a month is seven characters, a day is ten.
func inCalendar(at time.Time, values []string) bool {
	holds := func(v string) bool {
		day := at.UTC().Format("2006-01-02")
		cut := func(v string) string { return day[:len(v)] }
		if first, last, ok := strings.Cut(v, ".."); ok {
			return cut(first) >= first && cut(last) <= last
		}
		rest := strings.TrimLeft(v, "<>=")
		switch strings.TrimSuffix(v, rest) {
		case "<":
			return cut(rest) < rest
		case "<=":
			return cut(rest) <= rest
		case ">":
			return cut(rest) > rest
		case ">=":
			return cut(rest) >= rest
		}
		return cut(rest) == rest
	}
	return slices.ContainsFunc(values, holds)
}

func valueHolds(e dlq.Entry, key, v string) bool {
	switch key {
	case "source":
		return e.Source == v
	case "status":
		return string(e.Status) == v || v == "open" && e.Status.Open()
	case "class":
		return string(e.ErrorClass) == v
	case "type":
		return e.ErrorType == v || strings.HasSuffix(strings.ToLower(e.ErrorType), "."+strings.ToLower(v))
	case "reason":
		return string(e.Reason) == v
	case "stage":
		return e.Stage == v
	case "content":
		return e.ContentType == v
	case "connector", "parser", "chunker", "embedder":
		return e.Versions[key] == v
	case "cohort":
		digest := e.Fingerprint[strings.IndexByte(e.Fingerprint, ':')+1:]
		asked := strings.ToLower(v[strings.LastIndexByte(v, ':')+1:])
		return strings.HasPrefix(e.CohortID, strings.ToUpper(v)) || strings.HasPrefix(digest, asked)
	case "operation":
		return false
	case "id":
		return e.DocID == v || e.DLQID == v || e.SenderID == v && v != ""
	case "sha256":
		return strings.HasPrefix(e.PayloadSHA256, v) || strings.HasPrefix(e.HeldSHA256, v)
	case "file":
		return globs(v, e.Filename)
	case "owner":
		if v == "nobody" {
			return e.Owner == ""
		}
		return e.Owner == v
	case "has":
		return v == "payload" && e.Copy == dlq.CopyHeld || v == "owner" && e.Owner != "" || v == "ticket" && e.Ticket != ""
	case "mark":
		return e.Marks.Has(dlq.Mark(v))
	}
	if utf8.RuneCountInString(v) >= 3 {
		return slices.ContainsFunc([]string{e.Message, e.DocID, e.Filename, e.ErrorType}, func(text string) bool {
			return strings.Contains(strings.ToLower(text), strings.ToLower(v))
		})
	}
	return contains(e.Message, v) || contains(e.DocID, v) || contains(e.Filename, v) || contains(e.ErrorType, v)
}

func compares(how string, a, b int64) bool {
	switch how {
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	case ">=":
		return a >= b
	}
	return a == b
}

// contains finds a text whatever the case of its letters.
func contains(s, part string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(part))
}

// globs matches a file name, of which * stands for anything.
func globs(pattern, name string) bool {
	parts := strings.Split(strings.ToLower(pattern), "*")
	name = strings.ToLower(name)
	if !strings.HasPrefix(name, parts[0]) {
		return false
	}
	name = name[len(parts[0]):]
	if len(parts) == 1 {
		return name == ""
	}
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return strings.HasSuffix(name, parts[len(parts)-1])
}

// compare asks the store, and Go over the same rows, and reports where they
// differ. It answers how many entries were found.
func compare(t interface {
	Errorf(string, ...any)
	Helper()
}, s *dbtest.DB, all []dlq.Entry, by dlq.Actor, text string) int {
	t.Helper()
	q, bad := dlq.ParseQuery(text)
	if len(bad) > 0 {
		t.Errorf("%.80q: %.200v", text, bad)
		return 0
	}
	got, _, err := s.Entries(background, by, q, "", "", 500)
	if err != nil {
		t.Errorf("%.80q: %v", text, err)
		return 0
	}
	n, err := s.CountEntries(background, by, q)
	if err != nil || n != int64(len(got)) {
		t.Errorf("%.80q: %d listed, %d counted, %v", text, len(got), n, err)
	}
	var want []dlq.Entry
	for _, e := range all {
		if by.SeesSource(e.Source) && holds(e, q, s.Now()) {
			want = append(want, e)
		}
	}
	ids := func(list []dlq.Entry) []string {
		var out []string
		for _, e := range list {
			out = append(out, e.DLQID)
		}
		slices.Sort(out)
		return out
	}
	if !slices.Equal(ids(got), ids(want)) {
		t.Errorf("%.80q finds %d entries, want %d", text, len(got), len(want))
	}
	return len(want)
}

func TestEveryTermFindsWhatAFilterInGoFinds(t *testing.T) {
	s, all := library(t)
	long := strings.Repeat("x%_'", 1000)
	for _, text := range []string{
		"", "source:wiki", `source:"team wiki"`, `source:"leases,old"`, "source:wiki,none", "source:Wiki",
		"status:parked", "status:open", "status:archived,quarantined", "status:resolved", "status:erased", "status:open,resolved",
		"class:transient", "class:transient,permanent_input", `class:"another word"`, "type:PDFSyntaxError", `type:"a,b","x:y"`, "type:%", "type:_", "type:pdfsyntaxerror",
		"reason:low_confidence", "reason:exception,validation", "stage:parse", "stage:chunk,parse", "content:application/pdf",
		"parser:p1", "parser:p1,p2", "chunker:c1", "embedder:none", "connector:none",
		"id:doc-3", "id:mine-4", `id:"100%_1"`, "id:ü/2", "id:" + all[7].DLQID, "id:doc-3,mine-4,none",
		"sha256:" + dlqtest.Digest("bytes 1")[:8], "sha256:" + dlqtest.Digest("bytes 2"), "sha256:" + dlqtest.Digest("none"),
		"cohort:" + all[0].CohortID, "cohort:" + all[0].CohortID[:25], "cohort:" + all[0].Fingerprint, "cohort:" + strings.ToUpper(all[0].Fingerprint[3:11]), "cohort:%%%%", "cohort:____",
		"file:a.pdf", "file:*.pdf", "file:a*", "file:*", "file:*%*", "file:a_b*", `file:c\d.txt`, `file:*\*`, "file:?.pdf", "file:**.P*f",
		"owner:nobody", "owner:me@example.com", "owner:%", "owner:me@example.com,nobody", "has:payload", "has:owner", "has:ticket", "has:payload,owner",
		"mark:returned", "mark:late", "mark:late,no_outcome", "mark:assumed",
		"age:>30d", "age:>=30d", "age:<30d", "age:<=30d", "age:>36h", "expires:<7d", "expires:<=7d", "expires:>60d", "expires:>=90d",
		"attempts:3", "attempts:>3", "attempts:>=3", "attempts:<2", "attempts:<=2", "redrives:0", "redrives:>0", "redrives:>=2",
		"root", "ROOT", "100%", "_everything_", "%", "_", `\`, `\%`, "drop", `"'; drop table entry; --"`, "straße", "STRASSE", "äöü", "ÄÖÜ", "doc-1", "PDFSyntax", "root object", `"root object"`,
		"öü", "Ö", "ÜS", "ß", "file:*Ä*", "type:ÜBER",
		"' or 1=1 --", `") or 1=1 --"`, "$1", "?", "x", long, "operation:none", "operation:%",
	} {
		compare(t, s, all, dlqtest.Admin, text)
		if text != "" && text != long && !strings.Contains(text, " ") || strings.HasPrefix(text, "source:") || strings.HasPrefix(text, `"`) {
			compare(t, s, all, dlqtest.Admin, "-"+text)
			compare(t, s, all, dlqtest.Only(dlqtest.Reviewer, "wiki", "leases,old"), "-"+text)
		}
		compare(t, s, all, dlqtest.Only(dlqtest.Reviewer, "wiki", "leases,old"), text)
		compare(t, s, all, dlqtest.Only(dlqtest.Reviewer, "none"), text)
	}
}

func TestAQueryAtItsBoundsIsAnswered(t *testing.T) {
	s, all := library(t)
	for name, text := range map[string]string{
		"200 words":         strings.Repeat("o ", 200),
		"200 negated words": strings.Repeat("-zz ", 200),
		"200 ids":           "id:" + strings.Repeat("none,", 199) + "doc-3",
		"200 file names":    "file:" + strings.Repeat("none,", 199) + "a*",
		"4 KB of wildcards": strings.Repeat("%", 4096),
		"200 cohorts":       "cohort:" + strings.Repeat("none,", 199) + all[0].CohortID,
	} {
		t.Run(name, func(t *testing.T) { compare(t, s, all, dlqtest.Only(dlqtest.Admin, "wiki", "team wiki"), text) })
	}
}

func TestAnyQueryFindsWhatAFilterInGoFinds(t *testing.T) {
	s, all := library(t)
	values := map[string][]string{
		"source": {"wiki", `"team wiki"`, "none"}, "status": {"parked", "open", "archived", "resolved"}, "class": {"transient", "none"}, "type": {"ValueError", `"a,b"`, "%"},
		"reason": {"exception", "low_confidence"}, "stage": {"parse", "chunk"}, "content": {"text/html"}, "parser": {"p1", "p2"}, "chunker": {"c1"},
		"id": {"doc-3", "mine-4", `"100%_1"`}, "sha256": {dlqtest.Digest("bytes 1")[:10], dlqtest.Digest("bytes 3")}, "file": {"*.pdf", "a*", `*\*`},
		"owner": {"nobody", "me@example.com"}, "has": {"payload", "owner", "ticket"}, "mark": {"returned", "late"}, "cohort": {all[0].CohortID, all[1].Fingerprint},
		"": {"root", "%", "doc-1", `"drop table"`},
	}
	var keys []string
	for key := range values {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		var terms []string
		for range rapid.IntRange(1, 4).Draw(t, "terms") {
			term := rapid.SampledFrom([]string{"age:>", "age:<=", "expires:<", "attempts:>=", "redrives:", ""}).Draw(t, "form")
			switch {
			case strings.HasPrefix(term, "a") && strings.HasPrefix(term, "age"), strings.HasPrefix(term, "expires"):
				term += fmt.Sprintf("%dd", rapid.IntRange(1, 90).Draw(t, "days"))
			case term != "":
				term += fmt.Sprint(rapid.IntRange(0, 5).Draw(t, "count"))
			default:
				key := rapid.SampledFrom(keys).Draw(t, "key")
				if key == "" {
					term = rapid.SampledFrom(values[key]).Draw(t, "word")
				} else {
					term = key + ":" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(values[key]), 1, 3).Draw(t, "values"), ",")
				}
			}
			if rapid.Bool().Draw(t, "negated") {
				term = "-" + term
			}
			terms = append(terms, term)
		}
		by := dlqtest.Admin
		if rapid.IntRange(0, 3).Draw(t, "limited") == 0 {
			by = dlqtest.Only(by, "wiki", "team wiki")
		}
		found += compare(t, s, all, by, strings.Join(terms, " "))
	})
	if found == 0 {
		t.Error("no query found anything: nothing was compared")
	}
}
