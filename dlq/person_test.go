package dlq

import (
	"strings"
	"testing"
)

// whoMay is the table of who may do what, a row a permission: analyst, reviewer,
// manager, auditor, admin, then the scopes of a token.
var whoMay = map[Permission][2]string{
	MaySee:             {"y y y y y", "read"},
	MayPreview:         {"y y y y y", "read"},
	MayDownload:        {"- y y y y", "read"},
	MayNote:            {"y y y - y", "act"},
	MayDecide:          {"- y - - y", "act"},
	MayPause:           {"- y y - y", "act"},
	MayEditRunbook:     {"- y y - y", ""},
	MayExport:          {"- y y y y", "read"},
	MaySetPolicy:       {"- - y - y", "admin"},
	MayHold:            {"- - y - y", "admin"},
	MayRequestErasure:  {"y y y - y", ""},
	MayErase:           {"- - y - y", "admin"},
	MayManageAccess:    {"- - - - y", ""},
	MayAudit:           {"- y y y y", "admin"},
	MayPark:            {"- - - - -", "ingest"},
	MayExplain:         {"- - - - -", "ingest read"},
	MayReport:          {"- - - - -", "outcome"},
	MayNothingButLogin: {"y y y y y", ""},
}

func TestWhoMayDoWhat(t *testing.T) {
	for p, row := range whoMay {
		for i, cell := range strings.Fields(row[0]) {
			if got := (Person{Role: Roles[i]}).Actor().May(p); got != (cell == "y") {
				t.Errorf("%s may %s: %v", Roles[i], p, got)
			}
		}
		for _, s := range Scopes {
			if got := (Actor{Kind: ActorToken, Scopes: []Scope{s}}).May(p); got != strings.Contains(" "+row[1]+" ", " "+string(s)+" ") {
				t.Errorf("a token of scope %s may %s: %v", s, p, got)
			}
		}
	}
	for p := range roleMay {
		if _, ok := whoMay[p]; !ok {
			t.Errorf("%s has no row", p)
		}
	}
	for p := range scopeMay {
		if _, ok := whoMay[p]; !ok {
			t.Errorf("%s has no row", p)
		}
	}
}

func TestWhatNoTableListsIsDenied(t *testing.T) {
	for name, a := range map[string]Actor{
		"an actor of no kind":             {},
		"a person without a role":         {Kind: ActorPerson},
		"a person of a role that is none": {Kind: ActorPerson, Role: "root"},
		"a token without a scope":         {Kind: ActorToken},
		"a token with a person's role":    {Kind: ActorToken, Role: RoleAdmin},
		"a person with a token's scope":   {Kind: ActorPerson, Scopes: []Scope{ScopeAdmin}},
		"a kind that is none":             {Kind: "robot", Role: RoleAdmin, Scopes: Scopes},
	} {
		for p := range whoMay {
			if a.May(p) {
				t.Errorf("%s may %s", name, p)
			}
		}
	}
	for _, a := range []Actor{{Kind: ActorPerson, Role: RoleAdmin}, {Kind: ActorToken, Scopes: Scopes}} {
		if a.May("fly") {
			t.Errorf("a %s may do what there is not", a.Kind)
		}
	}
	if !Policy("sweep").May(MayErase) {
		t.Error("a policy may not do what the program does by itself")
	}
}

func TestAnActorSeesItsSourcesAlone(t *testing.T) {
	all, one := Actor{}, Actor{Sources: []string{"wiki"}}
	if !all.SeesSource("wiki") || !one.SeesSource("wiki") || one.SeesSource("leases") || one.SeesSource("Wiki") || one.SeesSource("") {
		t.Error("the limit to sources does not hold")
	}
}

func TestAddressesAreOneWhateverTheirCase(t *testing.T) {
	if got := NormalEmail(" Reviewer@Example.COM\n"); got != "reviewer@example.com" {
		t.Error(got)
	}
}

func TestRolesAndScopes(t *testing.T) {
	for _, r := range Roles {
		if !r.Valid() {
			t.Errorf("%s is no role", r)
		}
	}
	for _, s := range Scopes {
		if !s.Valid() {
			t.Errorf("%s is no scope", s)
		}
	}
	if Role("").Valid() || Role("root").Valid() || Scope("").Valid() || Scope("all").Valid() {
		t.Error("there are roles or scopes that no table has")
	}
}

func TestAnAddressToSignInUnderIsBareAndVisible(t *testing.T) {
	for email, want := range map[string]bool{
		"reviewer@example.com": true, "größe@example.com": true,
		"": false, "reviewer": false, "@example.com": false, "reviewer@": false, "a b@example.com": false, "Reviewer <reviewer@example.com>": false,
		"rev\u200biewer@example.com": false, "reviewer\u202e@example.com": false, strings.Repeat("a", 243) + "@example.com": false,
	} {
		if got := ValidEmail(email); got != want {
			t.Errorf("%q: %v", email, got)
		}
	}
}
