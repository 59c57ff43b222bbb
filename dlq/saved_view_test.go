package dlq

import (
	"net/url"
	"strings"
	"testing"
)

func TestASearchIsKeptWithoutItsPlace(t *testing.T) {
	for in, want := range map[string]string{
		"sort=oldest&q=source%3Awiki&after=x&from=51": "q=source%3Awiki&sort=oldest",
		"q=":                         "q=",
		"show=quarantine&source=":    "show=quarantine",
		"later=x&source=wiki":        "later=x&source=wiki",
		"csrf=secret&view=1&limit=9": "",
	} {
		if got, err := NormalSearch(in); err != nil || got != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	for _, bad := range []string{"q=%zz", "q=%00", "q=%ff", "q=" + strings.Repeat("x", 9000), strings.Repeat("q&a", 3) + url.Values{"a": {"\x00"}}.Encode()} {
		if _, err := NormalSearch(bad); KindOf(err) != KindInvalid {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}

func TestNamesOfViewsAreBoundedAndCompareWithoutCase(t *testing.T) {
	name, key, err := ViewName("  My \t Übersicht ")
	if err != nil || name != "My Übersicht" || key != "my übersicht" {
		t.Errorf("%q %q %v", name, key, err)
	}
	if _, _, err := ViewName(strings.Repeat("é", 80)); err != nil {
		t.Errorf("eighty characters: %v", err)
	}
	for _, bad := range []string{"", "   ", strings.Repeat("é", 81), "a\x00b", "\xff", "a\u202eb"} {
		if _, _, err := ViewName(bad); KindOf(err) != KindInvalid {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}

func TestASharedViewTellsNobodyOfASourceThatIsNotTheirs(t *testing.T) {
	person := func(id string, role Role, sources ...string) Actor {
		return Person{ID: id, Role: role, Sources: sources}.Actor()
	}
	owner, limited := person("1", RoleReviewer), person("2", RoleAnalyst, "leases")
	view := func(name, search string, shared bool) SavedView {
		return SavedView{Name: name, Search: search, Shared: shared, OwnerKind: ActorPerson, OwnerID: "1"}
	}
	others := []string{"wiki", "Mergers"}
	for _, c := range []struct {
		name string
		v    SavedView
		by   Actor
		want bool
	}{
		{"an own one", view("x", "q=source%3Awiki", false), owner, true},
		{"another's", view("x", "", false), limited, false},
		{"a shared one", view("Old ones", "q=age%3A%3E30d", true), limited, true},
		{"of their source", view("Leases", "q=source%3Aleases", true), limited, true},
		{"of another source", view("x", "q=source%3Awiki", true), limited, false},
		{"without another source", view("x", "q=-source%3Awiki", true), limited, false},
		{"of a source that is gone", view("x", "q=source%3Agone", true), limited, false},
		{"of a chip of another source", view("x", "source=gone", true), limited, false},
		{"with its name in a text", view("x", "q=file%3Awiki-7.pdf", true), limited, false},
		{"with it in a bad query", view("x", "q=sta%3Awiki", true), limited, false},
		{"with it in the view's name", view("The mergers desk", "", true), limited, false},
		{"for who sees all", view("x", "q=source%3Awiki", true), person("3", RoleAuditor), true},
	} {
		if got := c.v.Seen(c.by, others); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	shared, own := view("x", "", true), view("x", "", false)
	admin := person("9", RoleAdmin)
	if !own.MayChange(owner) || own.MayChange(admin) || !shared.MayChange(admin) || shared.MayChange(limited) {
		t.Error("somebody may change what they may not, or the other way round")
	}
	if !own.MayChange(owner) || own.Mine(Actor{Kind: ActorToken, ID: "1"}) {
		t.Error("a token with the id of a person is that person")
	}
}

func TestAViewSaysWhatOfItCannotBeAnswered(t *testing.T) {
	known := func(name string) bool { return name == "wiki" }
	for search, want := range map[string]string{
		"q=source%3Awiki": "", "sort=oldest": "",
		"q=age%3Asoon":    "The term age:soon is not understood: a comparison and a span, such as >30d expected.",
		"q=source%3Agone": "There is no source gone.",
		"source=gone":     "There is no source gone.",
	} {
		if got := (SavedView{Search: search}).ViewFault(known); got != want {
			t.Errorf("%s: %q", search, got)
		}
	}
}
