package handlers

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"dlo/dlq"
)

func TestAnUnknownValueIsSaidInWords(t *testing.T) {
	for text, want := range map[string]string{
		"source:wiky":         "No source is called wiky",
		"cohort:7f3b":         "No cohort begins with 7f3b",
		"-class:typo":         "No document ever failed with the class typo, so -class:typo leaves nothing out",
		"type:PDFError":       "No document ever failed with the exception PDFError",
		"stage:prse":          "No document ever failed in the stage prse",
		"content:text/htm":    "No document that failed ever had the content type text/htm",
		"owner:x@example.com": "No document has the owner x@example.com",
		"parser:2026123":      "No document ever failed under parser 2026123",
		"parser:pdf@2":        "No document ever failed under pdf@2",
		"version:mapper@9":    "No document ever failed under mapper@9",
		"stage:\u202eparse":   "No document ever failed in the stage U+202Eparse",
		"-stage:" + long("x"): "No document ever failed in the stage " + strings.Repeat("x", 60) + "…, so -stage:" + strings.Repeat("x", 73) + "… leaves nothing out",
	} {
		q, bad := dlq.ParseQuery(text)
		if len(bad) > 0 {
			t.Fatalf("%s: %v", text, bad)
		}
		if got := unknownWords(dlq.UnknownValue{Term: q.Terms[0], Value: q.Terms[0].Values[0]}, false); got != want {
			t.Errorf("%.40s: %q, want %q", text, got, want)
		}
	}
	u := dlq.UnknownValue{Term: dlq.Term{Key: "stage"}, Value: "x"}
	if got := unknownWords(u, true); got != "No document of your sources ever failed in the stage x" {
		t.Errorf("to somebody of some sources: %s", got)
	}
}

func long(s string) string { return strings.Repeat(s, 300) }

// said are the hints and notices of a page, without its marks.
func said(body string) string {
	body = strings.Join(strings.Fields(html.UnescapeString(body)), " ")
	for _, tag := range []string{"<bdi>", "</bdi>"} {
		body = strings.ReplaceAll(body, tag, "")
	}
	return body
}

func TestPagesSayWhatNothingEverHad(t *testing.T) {
	s := newSite(t)
	s.three()
	all, wiki := s.signIn(dlq.RoleReviewer), s.signIn(dlq.RoleManager, "wiki")
	for _, c := range []struct{ path, want string }{
		{"/entries?q=parser:202&sort=oldest", "No document ever failed under parser 202."},
		{"/entries?q=parser:2020&sort=oldest", `No document ever failed under parser 2020. <a href="/entries?q=parser%3A2022&sort=oldest">Did you mean 2022?</a>`},
		{"/entries?q=-type:ParseEror", "No document ever failed with the exception ParseEror, so -type:ParseEror leaves nothing out."},
		{"/entries?q=source:wiky", `No source is called wiky. <a href="/entries?q=source%3Awiki">Did you mean wiki?</a>`},
		{"/entries?q=status:open&sort=newest", "There is no order called newest. The list is in the usual one, newest failure first."},
		{"/cohorts?q=type:ParseEror&sort=oldest", `No document ever failed with the exception ParseEror. <a href="/cohorts?q=type%3AParseError&sort=oldest">Did you mean ParseError?</a>`},
		{"/cohorts?class=transeint", "No document ever failed with the class transeint."},
		{"/cohorts?sort=size", "There is no order called size. The list is in the usual one, what needs a decision first."},
		{"/confirm/archive?q=source:wiki+-type:ParseEror", "No document ever failed with the exception ParseEror, so -type:ParseEror leaves nothing out."},
		{"/confirm/redrive?q=source:wiki+-stage:prse", "No document ever failed in the stage prse, so -stage:prse leaves nothing out."},
	} {
		p := all.get(c.path)
		if body := said(p.body); p.status != http.StatusOK || !strings.Contains(body, c.want) {
			at := strings.Index(body, "There is no ")
			if i := strings.Index(body, "No document ever"); i >= 0 {
				at = i
			}
			t.Errorf("%s (%d) does not say %q, but %.300q", c.path, p.status, c.want, body[max(at, 0):])
		}
	}
	for _, path := range []string{"/entries?q=source:wiki+type:ParseError+parser:2022+class:transient+status:open", "/cohorts?q=parser:!current", "/entries?q=status:open&sort=oldest", "/cohorts?sort=parked", "/confirm/archive?q=source:wiki"} {
		if p := all.get(path); strings.Contains(p.body, "searchhint") || strings.Contains(p.body, "No document ever") {
			t.Errorf("%s has a hint", path)
		}
	}
	// The type is of leases alone: to somebody of wiki it is as unknown as any.
	if p := all.get("/entries?q=type:Other"); strings.Contains(p.body, "searchhint") {
		t.Error("a known type is called unknown")
	}
	if p := wiki.get("/entries?q=type:Other"); !strings.Contains(said(p.body), "No document of your sources ever failed with the exception Other.") {
		t.Error("somebody of wiki learns that leases has a type")
	}
	if p := wiki.get("/entries?q=type:Othre"); strings.Contains(p.body, "Did you mean") {
		t.Error("somebody of wiki is offered a type of leases")
	}
}

func TestThePageNamesTheTermThatKeepsEverythingOut(t *testing.T) {
	s := newSite(t)
	s.three()
	all, wiki := s.signIn(dlq.RoleReviewer), s.signIn(dlq.RoleManager, "wiki")
	const path = "/entries?sort=oldest&q=source:wiki+type:Other+status:parked"
	body := said(all.get(path).body)
	for _, want := range []string{"No document matches", "Each of these terms keeps everything out.", "Without “source: wiki”: 1 document", "Without “type: Other”: 3 documents", `href="/entries?q=source%3Awiki+status%3Aparked&sort=oldest"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	body = said(wiki.get(path).body)
	if !strings.Contains(body, "One term keeps everything out.") || strings.Contains(body, "Without “source") || !strings.Contains(body, "Without “type: Other”: 3 documents") {
		t.Error("somebody of wiki is told of documents of leases, or of none")
	}
	if body := said(all.get("/entries?q=attempts:>900+redrives:>900+source:wiki").body); !strings.Contains(body, "Take a term out") {
		t.Error("a term is blamed where no single one is to blame")
	}
	if body := said(all.get("/entries?q=attempts:>900+source:wiki").body); !strings.Contains(body, "Without “attempts: over 900”: 3 documents") {
		t.Error("what the rollup counts is not counted")
	}
}

func TestTheBoxSaysThatAValueIsUnknown(t *testing.T) {
	s := newSite(t)
	s.three()
	all, wiki := s.signIn(dlq.RoleReviewer), s.signIn(dlq.RoleManager, "wiki")
	ask := func(v *visitor, text string) string {
		return said(v.get("/search/complete?" + url.Values{"q": {text}, "at": {fmt.Sprint(len(text))}}.Encode()).body)
	}
	body := ask(all, "status:open parser:2020")
	if !strings.Contains(body, "No document ever failed under parser 2020.") || !strings.Contains(body, `data-take="status:open parser:2022 "`) || !strings.Contains(body, "did you mean this?") {
		t.Errorf("got %s", body)
	}
	for text, v := range map[string]*visitor{"parser:20": all, "parser:2022": all, "owner:me": all, "age:>3d": all, "id:none": all, "cohort:zz": all, "version:map": all, "class:transient": all} {
		if body := ask(v, text); strings.Contains(body, "No ") {
			t.Errorf("%s: %s", text, body)
		}
	}
	if body := ask(wiki, "type:Other"); !strings.Contains(body, "No document of your sources") {
		t.Errorf("to somebody of wiki: %s", body)
	}
	if body := ask(all, "stage:<script>"); strings.Contains(body, "data-take") || !strings.Contains(body, "No document ever failed in the stage") {
		t.Errorf("got %s", body)
	}
}

func TestListsOfTheAPIHintAtUnknownValues(t *testing.T) {
	a := newAPI(t)
	a.park(obj{"source": "wiki", "doc_id": "1", "error_type": "ParseError", "error_message": "x", "parser_version": "20261230"})
	hints := func(path string) string {
		answer := a.get(path, dlq.ScopeRead).want(http.StatusOK).object()
		list, there := answer["hints"]
		if !there {
			return ""
		}
		return fmt.Sprint(list)
	}
	for path, want := range map[string]string{
		"/api/v1/dead-letters?q=parser:2026123": "[map[detail:No document ever failed under parser 2026123; did you mean 20261230? term:parser:2026123]]",
		"/api/v1/dead-letters?q=-class:typo":    "[map[detail:No document ever failed with the class typo, so -class:typo leaves nothing out term:-class:typo]]",
		"/api/v1/dead-letters?q=source:wiki":    "",
		"/api/v1/cohorts?q=type:ParseEror":      "[map[detail:No document ever failed with the exception ParseEror; did you mean ParseError? term:type:ParseEror]]",
		"/api/v1/cohorts?source=wiky":           "[map[detail:No source is called wiky; did you mean wiki? term:source:wiky]]",
		"/api/v1/cohorts":                       "",
	} {
		if got := hints(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
