package dlq

import (
	"strings"
	"testing"
)

func TestWhereAFixStands(t *testing.T) {
	since := hour(1)
	for _, c := range []struct {
		name string
		in   []FixIn
		want FixState
	}{
		{"it runs nowhere", []FixIn{{Source: "wiki", Replaced: 3}}, FixDeclared},
		{"no source at all", nil, FixDeclared},
		{"it runs everywhere", []FixIn{{Source: "wiki", Replaced: 3, Since: since}}, FixLive},
		{"it runs in one of two", []FixIn{{Source: "wiki", Replaced: 3, Since: since}, {Source: "leases", Replaced: 1}}, FixPartlyLive},
		{"where nothing is stuck it need not run", []FixIn{{Source: "wiki", Replaced: 3, Since: since}, {Source: "leases"}}, FixLive},
		{"where documents do not say it must", []FixIn{{Source: "wiki", Replaced: 3, Since: since}, {Source: "leases", Unsaid: 1}}, FixPartlyLive},
		{"nothing is stuck any more", []FixIn{{Source: "wiki", Since: since}}, FixLive},
		{"nothing is stuck, and it does not run everywhere", []FixIn{{Source: "wiki", Since: since}, {Source: "leases"}}, FixPartlyLive},
		{"documents failed under it", []FixIn{{Source: "wiki", Replaced: 3, Since: since, Under: 1}}, FixFailed},
		{"they failed under it where it no longer runs", []FixIn{{Source: "wiki", Replaced: 3, Under: 1}}, FixFailed},
	} {
		f := Fix{Component: "parser", Version: "4", Sources: c.in}
		if got := f.State(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		f.WithdrawnAt = since
		if got := f.State(); got != FixWithdrawn {
			t.Errorf("%s: %s once it was withdrawn", c.name, got)
		}
	}
}

func TestAFixReplacesEveryOtherVersionOfItsComponent(t *testing.T) {
	f := Fix{Component: "parser", Version: "2"}
	for want, v := range map[FixPart]Versions{FixReplaced: {"parser": "3", "connector": "2"}, FixUnder: {"parser": "2"}, FixUnsaid: {"connector": "2"}} {
		if got := f.Part(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

func TestWhatAFixProposesIsWhatItReplacesWhereItRuns(t *testing.T) {
	since := hour(1)
	fix := func(component, version string, in ...FixIn) Fix {
		return Fix{CohortID: "01KB", Component: component, Version: version, Sources: in}
	}
	for _, c := range []struct {
		name  string
		fix   Fix
		n     int64
		query string
	}{
		{"it runs nowhere", fix("parser", "4", FixIn{Source: "wiki", Replaced: 3, Versions: []string{"3"}}), 0, ""},
		{"it runs in one of two", fix("parser", "4", FixIn{Source: "wiki", Replaced: 3, Since: since, Versions: []string{"3"}}, FixIn{Source: "leases", Replaced: 5, Versions: []string{"2"}}), 3, "cohort:01KB status:parked -parser:4 source:wiki"},
		{"some do not say: the versions are named", fix("parser", "4", FixIn{Source: "wiki", Replaced: 3, Unsaid: 2, Since: since, Versions: []string{"3", "a b"}}), 3, `cohort:01KB status:parked parser:3,"a b" source:wiki`},
		{"only some that do not say", fix("parser", "4", FixIn{Source: "wiki", Unsaid: 2, Since: since}), 0, ""},
		{"a component without a key", fix("ocr", "4", FixIn{Source: "wiki", Replaced: 3, Since: since, Versions: []string{"3"}}), 3, ""},
		{"a version with a quote", fix("parser", `4"`, FixIn{Source: "wiki", Replaced: 3, Since: since, Versions: []string{"3"}}), 3, ""},
		{"a version that reads as something else", fix("parser", "!4", FixIn{Source: "wiki", Replaced: 3, Since: since, Versions: []string{"3"}}), 3, ""},
	} {
		got, ok := c.fix.Proposes()
		if got.Documents != c.n || got.Query != c.query || ok != (c.n > 0) {
			t.Errorf("%s: %d %q %v, want %d %q", c.name, got.Documents, got.Query, ok, c.n, c.query)
		}
		c.fix.WithdrawnAt = since
		if _, ok := c.fix.Proposes(); ok {
			t.Errorf("%s: proposed once it was withdrawn", c.name)
		}
	}
}

func TestADeclarationNamesEachFault(t *testing.T) {
	for _, c := range []struct {
		d    FixDeclaration
		want string
	}{
		{FixDeclaration{Component: "parser", Version: "4", Note: "see the test", Link: "https://git.example.com/c/1"}, ""},
		{FixDeclaration{}, "/component /version"},
		{FixDeclaration{Component: "p\x00", Version: "\xff", Note: "\x00"}, "/component /version /note"},
		{FixDeclaration{Component: strings.Repeat("c", 129), Version: strings.Repeat("v", 513), Note: strings.Repeat("n", MaxFixNote+1), Link: "https://x/" + strings.Repeat("l", MaxFixLink)}, "/component /version /note /link"},
		{FixDeclaration{Component: "parser", Version: "4", Link: "javascript:alert(1)"}, "/link"},
		{FixDeclaration{Component: "parser", Version: "4", Link: "//example.com"}, "/link"},
		{FixDeclaration{Component: "parser", Version: "4", Link: "https://"}, "/link"},
		{FixDeclaration{Component: "parser", Version: "4", Link: "https://x/ y"}, "/link"},
	} {
		if got := pointersOf(c.d.Check()); strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %v, want %q", c.d, got, c.want)
		}
	}
}
