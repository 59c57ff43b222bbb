package db_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"dlo/db"
	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

func addPerson(t testing.TB, s *dbtest.DB, email string, role dlq.Role) dlq.Person {
	t.Helper()
	p, err := s.AddPerson(background, dlqtest.Admin, dlq.Person{Email: email, Role: role}, "hash of "+email)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func signIn(t testing.TB, s *dbtest.DB, hash string, p dlq.Person) {
	t.Helper()
	if err := s.PutSession(background, db.Session{Hash: hash, PersonID: p.ID, Data: []byte("x"), CreatedAt: s.Now(), SeenAt: s.Now()}, 3); err != nil {
		t.Fatal(err)
	}
}

func signedIn(t testing.TB, s *dbtest.DB, hash string) bool {
	t.Helper()
	_, found, err := s.Session(background, hash)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestPeopleAreFoundByTheirAddressWhateverItsCase(t *testing.T) {
	s := dbtest.Open(t)
	p, err := s.AddPerson(background, dlqtest.Admin, dlq.Person{Email: " Analyst@Example.com", Role: dlq.RoleAnalyst, Sources: []string{"wiki"}}, "hash")
	if err != nil {
		t.Fatal(err)
	}
	got, hash, found, err := s.PersonByEmail(background, "ANALYST@example.com ")
	if err != nil || !found || hash != "hash" || !reflect.DeepEqual(got, p) || got.Email != "analyst@example.com" {
		t.Errorf("%+v %q %v %v", got, hash, found, err)
	}
	if _, err := s.AddPerson(background, dlqtest.Admin, dlq.Person{Email: "analyst@EXAMPLE.com", Role: dlq.RoleAdmin}, "other"); dlq.KindOf(err) != dlq.KindConflict {
		t.Errorf("the same address again: %v", err)
	}
	if byID, found, err := s.Person(background, p.ID); err != nil || !found || !reflect.DeepEqual(byID, p) {
		t.Errorf("%+v, %v", byID, err)
	}
	if _, _, found, err := s.PersonByEmail(background, "%"); err != nil || found {
		t.Error("a wildcard is somebody")
	}
	if list, err := s.People(background); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

func TestTheLastAdminStays(t *testing.T) {
	s := dbtest.Open(t)
	one := addPerson(t, s, "one@example.com", dlq.RoleAdmin)
	away := func(p dlq.Person, change func(*dlq.Person)) error {
		change(&p)
		return s.ChangePerson(background, dlq.Policy("dlo user"), p)
	}
	demote := func(p *dlq.Person) { p.Role = dlq.RoleReviewer }
	disable := func(p *dlq.Person) { p.Disabled = true }
	for name, change := range map[string]func(*dlq.Person){"demoted": demote, "disabled": disable} {
		if err := away(one, change); dlq.KindOf(err) != dlq.KindConflict {
			t.Errorf("the last admin was %s: %v", name, err)
		}
	}
	two := addPerson(t, s, "two@example.com", dlq.RoleAdmin)
	if err := away(two, disable); err != nil {
		t.Fatal(err)
	}
	if err := away(one, demote); dlq.KindOf(err) != dlq.KindConflict {
		t.Errorf("the last admin who can sign in was demoted: %v", err)
	}
	if err := away(two, func(p *dlq.Person) {}); err != nil { // can sign in again
		t.Fatal(err)
	}
	if err := away(one, demote); err != nil {
		t.Error(err)
	}
	if err := s.ChangePerson(background, dlqtest.Admin, dlq.Person{ID: "none"}); dlq.KindOf(err) != dlq.KindNotFound {
		t.Error(err)
	}
}

func TestNobodyChangesTheirOwnRole(t *testing.T) {
	s := dbtest.Open(t)
	me := addPerson(t, s, "me@example.com", dlq.RoleAdmin)
	addPerson(t, s, "other@example.com", dlq.RoleAdmin)
	for name, change := range map[string]func(*dlq.Person){"another role": func(p *dlq.Person) { p.Role = dlq.RoleManager }, "disabled": func(p *dlq.Person) { p.Disabled = true }} {
		p := me
		change(&p)
		if err := s.ChangePerson(background, me.Actor(), p); dlq.KindOf(err) != dlq.KindConflict {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAChangeOfRoleOrPasswordEndsTheSessions(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*dbtest.DB, dlq.Person) error
		ends   bool
	}{
		"another role": {func(s *dbtest.DB, p dlq.Person) error {
			p.Role = dlq.RoleReviewer
			return s.ChangePerson(background, dlqtest.Admin, p)
		}, true},
		"disabled": {func(s *dbtest.DB, p dlq.Person) error {
			p.Disabled = true
			return s.ChangePerson(background, dlqtest.Admin, p)
		}, true},
		"fewer sources": {func(s *dbtest.DB, p dlq.Person) error {
			p.Sources = []string{"wiki"}
			return s.ChangePerson(background, dlqtest.Admin, p)
		}, true},
		"another password": {func(s *dbtest.DB, p dlq.Person) error {
			return s.SetPassword(background, dlqtest.Admin, p.ID, "h2", false)
		}, true},
		"the same one hashed anew": {func(s *dbtest.DB, p dlq.Person) error {
			return s.SetPassword(background, dlqtest.Admin, p.ID, "h2", true)
		}, false},
		"all of theirs":              {func(s *dbtest.DB, p dlq.Person) error { return s.DeleteSessionsOf(background, p.ID) }, true},
		"that one":                   {func(s *dbtest.DB, p dlq.Person) error { return s.DeleteSession(background, "mine") }, true},
		"nothing that concerns them": {func(s *dbtest.DB, p dlq.Person) error { return s.DeleteSession(background, "none") }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := dbtest.Open(t)
			p, other := addPerson(t, s, "p@example.com", dlq.RoleAnalyst), addPerson(t, s, "o@example.com", dlq.RoleAnalyst)
			signIn(t, s, "mine", p)
			signIn(t, s, "theirs", other)
			if err := c.change(s, p); err != nil {
				t.Fatal(err)
			}
			if signedIn(t, s, "mine") == c.ends || !signedIn(t, s, "theirs") {
				t.Errorf("signed in: %v, and the other %v", signedIn(t, s, "mine"), signedIn(t, s, "theirs"))
			}
		})
	}
	s := dbtest.Open(t)
	if err := s.SetPassword(background, dlqtest.Admin, "none", "h", false); dlq.KindOf(err) != dlq.KindNotFound {
		t.Error(err)
	}
}

func TestTheSessionsUnusedForLongestEndFirst(t *testing.T) {
	s := dbtest.Open(t)
	p := addPerson(t, s, "p@example.com", dlq.RoleAnalyst)
	for i := range 3 {
		signIn(t, s, fmt.Sprint(i), p)
		s.Clock.Advance(time.Minute)
	}
	if err := s.TouchSession(background, "0", s.Now(), []byte("y")); err != nil {
		t.Fatal(err)
	}
	s.Clock.Advance(time.Minute)
	signIn(t, s, "3", p)
	for hash, want := range map[string]bool{"0": true, "1": false, "2": true, "3": true} {
		if signedIn(t, s, hash) != want {
			t.Errorf("session %s: %v", hash, !want)
		}
	}
	row, _, err := s.Session(background, "0")
	if err != nil || string(row.Data) != "y" || row.PersonID != p.ID || !row.CreatedAt.Equal(dlqtest.Now) || !row.SeenAt.Equal(dlqtest.Now.Add(3*time.Minute)) {
		t.Errorf("%+v, %v", row, err)
	}
	if err := s.TouchSession(background, "1", s.Now(), nil); err != nil || signedIn(t, s, "1") {
		t.Errorf("a session that has ended goes on: %v", err)
	}
	if n, err := s.ForgetSessions(background, dlqtest.Now.Add(90*time.Second)); err != nil || n != 1 || signedIn(t, s, "0") {
		t.Errorf("%d forgotten, %v", n, err)
	}
}

func TestTriesAreRememberedAndForgotten(t *testing.T) {
	s := dbtest.Open(t)
	if _, _, found, err := s.Throttle(background, "a"); err != nil || found {
		t.Error(found, err)
	}
	for n := 1; n <= 2; n++ {
		if err := s.PutThrottle(background, "a", n, s.Now()); err != nil {
			t.Fatal(err)
		}
	}
	if n, at, found, err := s.Throttle(background, "a"); err != nil || !found || n != 2 || !at.Equal(dlqtest.Now) {
		t.Error(n, at, found, err)
	}
	if err := s.PutThrottle(background, "b", 9, s.Now()); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteThrottle(background, "a"); err != nil {
		t.Fatal(err)
	}
	if n, err := s.ForgetSessions(background, s.Now().Add(time.Second)); err != nil || n != 1 {
		t.Errorf("%d forgotten, %v; want b alone", n, err)
	}
}

func TestTheSetupLinkMakesTheFirstPersonOnce(t *testing.T) {
	s := dbtest.Open(t)
	p := dlq.Person{Email: "first@example.com"}
	kind := func(err error) dlq.Kind { return dlq.KindOf(err) }
	if err := s.SetupLinkState(background, "h1"); kind(err) != dlq.KindNotFound {
		t.Error(err)
	}
	for _, hash := range []string{"h0", "h1"} {
		if err := s.PutSetupLink(background, hash, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.SetupLinkState(background, "h0"); kind(err) != dlq.KindNotFound {
		t.Errorf("the link before: %v", err)
	}
	if has, err := s.HasPeople(background); err != nil || has {
		t.Error(has, err)
	}
	got, err := s.SetUp(background, "h1", p, "hash")
	if err != nil || got.Role != dlq.RoleAdmin {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := s.SetUp(background, "h1", dlq.Person{Email: "second@example.com"}, "hash"); kind(err) != dlq.KindGone {
		t.Errorf("used twice: %v", err)
	}
	if has, err := s.HasPeople(background); err != nil || !has {
		t.Error(has, err)
	}
}

func TestASetupLinkEnds(t *testing.T) {
	s := dbtest.Open(t)
	if err := s.PutSetupLink(background, "h", time.Hour); err != nil {
		t.Fatal(err)
	}
	s.Clock.Advance(time.Hour)
	if _, err := s.SetUp(background, "h", dlq.Person{Email: "late@example.com"}, "hash"); dlq.KindOf(err) != dlq.KindGone {
		t.Errorf("after its time: %v", err)
	}
	if err := s.SetupLinkState(background, "h"); dlq.KindOf(err) != dlq.KindGone {
		t.Error(err)
	}
}

func TestASetupLinkMakesNobodyWhereSomebodyIs(t *testing.T) {
	s := dbtest.Open(t)
	if err := s.PutSetupLink(background, "h", time.Hour); err != nil {
		t.Fatal(err)
	}
	addPerson(t, s, "added@example.com", dlq.RoleAdmin) // at the terminal, while the link stands
	if _, err := s.SetUp(background, "h", dlq.Person{Email: "intruder@example.com"}, "hash"); dlq.KindOf(err) != dlq.KindGone {
		t.Errorf("a second admin was made: %v", err)
	}
	if err := s.SetupLinkState(background, "h"); dlq.KindOf(err) != dlq.KindGone {
		t.Errorf("the link's state: %v", err)
	}
}

func TestTokens(t *testing.T) {
	s := dbtest.Open(t)
	add := func(id, name string) dlq.Token {
		t.Helper()
		tok := dlq.Token{ID: id, Name: name, Hash: dlqtest.Digest(id), Scopes: []dlq.Scope{dlq.ScopeIngest, dlq.ScopeOutcome}, Source: "wiki", ExpiresAt: dlqtest.Now.Add(day)}
		if err := s.AddToken(background, dlqtest.Admin, tok); err != nil {
			t.Fatal(err)
		}
		return tok
	}
	want := add("t1", "pipeline")
	want.CreatedAt, want.CreatedBy = dlqtest.Now, "admin@example.com"
	if got, found, err := s.Token(background, "t1"); err != nil || !found || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v %v, %v", got, found, err)
	}
	if _, found, err := s.Token(background, "%"); err != nil || found {
		t.Error(found, err)
	}
	add("t2", "twin")
	add("t3", "twin")
	if err := s.RevokeToken(background, dlqtest.Admin, "twin"); dlq.KindOf(err) != dlq.KindNotFound {
		t.Errorf("a name of two: %v", err)
	}
	for _, name := range []string{"t2", "twin", "pipeline"} {
		if err := s.RevokeToken(background, dlqtest.Admin, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.RevokeToken(background, dlqtest.Admin, "t2"); dlq.KindOf(err) != dlq.KindNotFound {
		t.Errorf("revoked twice: %v", err)
	}
	for at, want := range map[time.Time]time.Time{dlqtest.Now.Add(time.Hour): dlqtest.Now.Add(time.Hour)} {
		if err := s.TokensUsed(background, map[string]time.Time{"t1": at}); err != nil {
			t.Fatal(err)
		}
		if err := s.TokensUsed(background, map[string]time.Time{"t1": dlqtest.Now}); err != nil { // gathered by another process, before
			t.Fatal(err)
		}
		if got, _, err := s.Token(background, "t1"); err != nil || !got.UsedAt.Equal(want) || got.RevokedAt.IsZero() {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if list, err := s.Tokens(background); err != nil || len(list) != 3 {
		t.Errorf("%d tokens, %v", len(list), err)
	}
}
