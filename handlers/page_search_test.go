package handlers

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dlo/dlq"
)

var choiceTaken = regexp.MustCompile(`data-take="([^"]*)" data-caret="(\d+)"`)

// offered are the texts that the box would say after each choice.
func (v *visitor) offered(text string) []string {
	v.site.t.Helper()
	p := v.get("/search/complete?" + url.Values{"q": {text}, "at": {fmt.Sprint(utf16Length(text))}}.Encode())
	if p.status != http.StatusOK {
		v.site.t.Fatalf("%q was answered %d", text, p.status)
	}
	var out []string
	for _, m := range choiceTaken.FindAllStringSubmatch(p.body, -1) {
		taken := html.UnescapeString(m[1])
		if _, bad := dlq.ParseQuery(strings.TrimSuffix(taken, ":") + "x"); strings.HasSuffix(taken, " ") && len(bad) > 0 {
			v.site.t.Errorf("%q offers %q, which cannot be read", text, taken)
		}
		out = append(out, taken)
	}
	return out
}

func TestTheBoxOffersWhatIsKnownToWhoeverTypes(t *testing.T) {
	s := newSite(t)
	s.park(`"source":"wiki","doc_id":"1","error_type":"My \"quoted\" Error","error_class":"transient","parser_version":"p@1","versions":{"mapper":"2.5"},"stage":"parse it","content_type":"text/html"`)
	s.park(`"source":"team wiki","doc_id":"2","error_type":"pkg.ValueError","parser_version":"p@2","stage":"embed"`)
	secret := s.park(`"source":"secret","doc_id":"3","error_type":"SecretError","error_class":"secret_class","parser_version":"s@9","versions":{"hidden":"1"},"stage":"secret stage","content_type":"secret/type"`)
	all, some := s.signIn(dlq.RoleReviewer), s.signIn(dlq.RoleManager, "wiki", "team wiki")
	for _, c := range []struct {
		text string
		want []string
	}{
		{"sou", []string{"source:"}}, {"status:parked par", []string{"status:parked parser:"}}, {"-sta", []string{"-status:", "-stage:"}},
		{"source:", []string{`source:secret `, `source:"team wiki" `, "source:wiki "}}, {"source:wi", []string{"source:wiki ", `source:"team wiki" `}}, {"source:wiki,te", []string{`source:wiki,"team wiki" `}},
		{"type:value", []string{"type:pkg.ValueError "}}, {"class:tr", []string{"class:transient "}}, {"stage:pa", []string{`stage:"parse it" `}}, {"content:te", []string{"content:text/html "}},
		{"parser:", []string{"parser:!current ", "parser:current ", "parser:p@1 ", "parser:p@2 ", "parser:s@9 "}}, {"parser:p@", []string{"parser:p@1 ", "parser:p@2 "}}, {"version:ma", []string{"version:mapper@"}},
		{"version:mapper@", []string{"version:mapper@!current ", "version:mapper@current ", "version:mapper@2.5 "}},
		{"status:q", []string{"status:quarantined "}}, {"owner:n", []string{"owner:nobody "}}, {"age:>3", []string{"age:>30d "}}, {"has:", []string{"has:payload ", "has:owner ", "has:ticket "}},
		{"none:x", nil}, {`"free te`, nil}, {"", nil}, {"\x00", nil}, {"source:\xff", nil}, {strings.Repeat("a", 5000), nil}, {"source:%", nil}, {"source:_", nil},
	} {
		if got := all.offered(c.text); !slices.Equal(got, c.want) {
			t.Errorf("%.40q offers %q, want %q", c.text, got, c.want)
		}
	}
	if got := all.offered("cohort:Secret"); !slices.Equal(got, []string{"cohort:" + secret.Cohort + " "}) {
		t.Errorf("a cohort is offered by its type as %q", got)
	}
	for _, text := range []string{"source:", "type:", "class:", "stage:", "content:", "parser:", "version:", "version:hidden@", "owner:", "operation:", "cohort:", "cohort:Secret", "cohort:" + secret.Cohort[:8], "source:secret", "type:SecretError"} {
		for _, offered := range some.offered(text) {
			if strings.Contains(strings.ToLower(strings.TrimPrefix(offered, text)), "secret") || strings.Contains(offered, "s@9") || strings.Contains(offered, "hidden@1") || strings.Contains(offered, secret.Cohort) {
				t.Errorf("%q offers %q to somebody who may not know of it", text, offered)
			}
		}
	}
	if len(some.offered("source:")) != 2 || len(some.offered("type:value")) != 1 {
		t.Error("somebody who sees two sources is not offered what is theirs")
	}
}

func TestAChoiceLeavesWhatStandsBehindTheCaret(t *testing.T) {
	s := newSite(t)
	s.park(`"source":"wiki","doc_id":"1","error_type":"E"`)
	p := s.signIn(dlq.RoleReviewer).get("/search/complete?" + url.Values{"q": {"😀 source:w age:>3d"}, "at": {"11"}}.Encode())
	m := choiceTaken.FindStringSubmatch(p.body)
	if m == nil || html.UnescapeString(m[1]) != "😀 source:wiki age:>3d" || m[2] != "14" {
		t.Errorf("got %q", m)
	}
}

func TestAnUnknownSourceIsSaidOfAQueryThatCanBeRead(t *testing.T) {
	s := newSite(t)
	s.park(`"source":"wiki","doc_id":"1","error_type":"E"`)
	s.park(`"source":"secret","doc_id":"2","error_type":"E"`)
	some := s.signIn(dlq.RoleReviewer, "wiki")
	for _, name := range []string{"wiky", "secret"} {
		if p := some.get("/entries?q=source:" + name); p.status != http.StatusOK || !strings.Contains(p.body, "No source is called "+name) {
			t.Errorf("%s: %d, and nothing is said of it", name, p.status)
		}
	}
	if p := some.get("/entries?q=source:wiki"); strings.Contains(p.body, "No source is called") {
		t.Error("a source that is there is said not to be")
	}
}

func TestWhatIsTypedIsNeverAFault(t *testing.T) {
	s := newSite(t)
	s.park(`"source":"wiki","doc_id":"1","error_type":"E","error_message":"100% of it"`)
	v := s.signIn(dlq.RoleReviewer)
	for _, text := range []string{`"`, `a"b`, `-`, `--`, `-""`, `"" ""`, ":", "::", ":x", "x:", ",", "source:,", `source:"`, "sta:x", "proof:proven", "label:=x", "url:ab", "version:x", "parser:!x", "%", "_", `\`, `"\"`, "*", "NEAR(", "NEAR(a b, 2)", "AND", "a OR b", "NOT", "^a", "body : x", `"body : x"`, "+", "{a}", "a*",
		"\u202e\u200f", "e\u0301", "👩‍👩‍👧", "\x00", "a\x00b", "\xff\xfe", strings.Repeat("a ", 2000), strings.Repeat("ab ", 1300), strings.Repeat("a", 4097), strings.Repeat("a", 4096), strings.Repeat(`"`, 4096), "label:" + strings.Repeat("é", 2000), "age:>99999999d", "age:>-1d", "attempts:99999999999999999999"} {
		for _, path := range []string{"/entries?q=", "/search/complete?q=", "/entries/export.ndjson?q=", "/confirm/archive?q="} {
			if got := v.get(path + url.QueryEscape(text)).status; got >= 500 {
				t.Errorf("%s%.60q was answered %d", path, text, got)
			}
		}
	}
}
