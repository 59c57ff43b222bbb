package db_test

import (
	"fmt"
	"strings"
	"testing"

	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

func keep(t testing.TB, s *dbtest.DB, by dlq.Actor, name, search string, shared bool) dlq.SavedView {
	t.Helper()
	v, err := s.SaveView(background, by, dlq.SavedView{List: dlq.ViewOfDocuments, Name: name, Search: search, Shared: shared})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func namesOf(views []dlq.SavedView) string {
	var names []string
	for _, v := range views {
		names = append(names, v.Name)
	}
	return strings.Join(names, ", ")
}

func TestViewsAreTheirOwnersUntilTheyAreShared(t *testing.T) {
	s := dbtest.Open(t)
	s.Park(t)
	wiki := keep(t, s, dlqtest.Reviewer, "wiki", "q=source:wiki&after=x", true)
	keep(t, s, dlqtest.Reviewer, "b", "", true)
	keep(t, s, dlqtest.Reviewer, "A", "sort=oldest", false)
	keep(t, s, dlqtest.Admin, "own", "", false)
	if wiki.Search != "q=source%3Awiki" {
		t.Errorf("kept as %q", wiki.Search)
	}
	limited := dlq.Person{ID: "limited", Role: dlq.RoleAnalyst, Sources: []string{"leases"}}.Actor()
	for _, c := range []struct {
		by          dlq.Actor
		own, shared string
	}{
		{dlqtest.Reviewer, "A, b, wiki", ""}, {dlqtest.Admin, "own", "b, wiki"}, {limited, "", "b"},
		{dlq.Actor{Kind: dlq.ActorToken, ID: dlqtest.Reviewer.ID}, "", "b, wiki"},
	} {
		own, shared, err := s.SavedViews(background, c.by)
		if err != nil || namesOf(own) != c.own || namesOf(shared) != c.shared {
			t.Errorf("%s has %q and is shown %q, %v", c.by.ID, namesOf(own), namesOf(shared), err)
		}
	}
	if _, err := s.SavedView(background, limited, wiki.ID); dlq.KindOf(err) != dlq.KindNotFound {
		t.Errorf("a view that names another source: %v", err)
	}
	wiki.Shared = false
	if _, err := s.ChangeView(background, dlqtest.Reviewer, wiki); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SavedView(background, dlqtest.Admin, wiki.ID); dlq.KindOf(err) != dlq.KindNotFound {
		t.Errorf("a view that is no longer shared: %v", err)
	}
}

func TestAViewIsChangedByWhoMay(t *testing.T) {
	s := dbtest.Open(t)
	v := keep(t, s, dlqtest.Reviewer, "mine", "q=", true)
	analyst := dlq.Person{ID: "a", Role: dlq.RoleAnalyst}.Actor()
	if err := s.DeleteView(background, analyst, v.ID); dlq.KindOf(err) != dlq.KindForbidden {
		t.Errorf("an analyst deletes another's: %v", err)
	}
	if _, err := s.ChangeView(background, analyst, v); dlq.KindOf(err) != dlq.KindForbidden {
		t.Errorf("an analyst changes another's: %v", err)
	}
	v.Name, v.Search = "renamed", "q=age:%3E30d"
	if got, err := s.ChangeView(background, dlqtest.Admin, v); err != nil || got.Name != "renamed" || got.OwnerID != dlqtest.Reviewer.ID {
		t.Errorf("%+v, %v", got, err)
	}
	row := lastAct(t, s)
	if row.Action != "view.changed" || strings.Contains(row.Detail, "renamed") || strings.Contains(row.Detail, "age") {
		t.Errorf("the trail says %+v", row)
	}
	if _, err := s.ChangeView(background, dlqtest.Reviewer, v); err != nil || lastAct(t, s).Seq != row.Seq {
		t.Error("what was so already was written again")
	}
	if err := s.DeleteView(background, dlqtest.Admin, v.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteView(background, dlqtest.Reviewer, v.ID); dlq.KindOf(err) != dlq.KindNotFound {
		t.Errorf("deleted twice: %v", err)
	}
}

func TestNamesOfViewsAreTheirOwnersOnceAndBounded(t *testing.T) {
	s := dbtest.Open(t)
	first := keep(t, s, dlqtest.Reviewer, "Old  ones", "", false)
	if first.Name != "Old ones" {
		t.Errorf("kept as %q", first.Name)
	}
	if _, err := s.SaveView(background, dlqtest.Reviewer, dlq.SavedView{List: dlq.ViewOfCohorts, Name: "old ONES"}); dlq.KindOf(err) != dlq.KindConflict {
		t.Errorf("the same name: %v", err)
	}
	keep(t, s, dlqtest.Admin, "Old ones", "", false)
	second := keep(t, s, dlqtest.Reviewer, "second", "", false)
	second.Name = "OLD ones"
	if _, err := s.ChangeView(background, dlqtest.Reviewer, second); dlq.KindOf(err) != dlq.KindConflict {
		t.Errorf("renamed to one that is there: %v", err)
	}
	for name, v := range map[string]dlq.SavedView{"no name": {List: dlq.ViewOfCohorts}, "no list": {Name: "x"}, "a bad search": {List: dlq.ViewOfCohorts, Name: "x", Search: "%zz"}} {
		if _, err := s.SaveView(background, dlqtest.Reviewer, v); dlq.KindOf(err) != dlq.KindInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := 2; i < dlq.ViewsMost; i++ {
		keep(t, s, dlqtest.Reviewer, fmt.Sprint("v", i), "", false)
	}
	if _, err := s.SaveView(background, dlqtest.Reviewer, dlq.SavedView{List: dlq.ViewOfCohorts, Name: "one more"}); dlq.KindOf(err) != dlq.KindConflict {
		t.Errorf("one more than there is room for: %v", err)
	}
}
