package handlers

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"dlo/dlq"
)

// save saves what a list shows and gives the address of the view.
func (v *visitor) save(list, search, name string, shared bool) string {
	v.site.t.Helper()
	fields := []string{"list", list, "search", search, "name", name}
	if shared {
		fields = append(fields, "shared", "1")
	}
	p := v.post("/views", fields...)
	u, err := url.Parse(p.location)
	if p.status != http.StatusSeeOther || err != nil || u.Query().Get("view") == "" {
		v.site.t.Fatalf("save %q: %d %q", name, p.status, p.location)
	}
	return "/views/" + u.Query().Get("view")
}

func TestAViewIsSavedFromItsListAndOpenedByAnother(t *testing.T) {
	s := newSite(t)
	s.park(`"source":"wiki","doc_id":"wiki-1","error_type":"A"`)
	s.park(`"source":"leases","doc_id":"lease-1","error_type":"B"`)
	owner, other, limited := s.signIn(dlq.RoleReviewer), s.signIn(dlq.RoleManager), s.signIn(dlq.RoleAnalyst, "leases")
	p := owner.get("/entries?q=status:parked&sort=oldest&after=&from=0")
	if !strings.Contains(p.body, `action="/views"`) || !strings.Contains(p.body, `name="search" value="q=status%3Aparked&amp;sort=oldest"`) {
		t.Fatal("the list has no form that saves what it shows")
	}
	path := owner.save("documents", "q=status%3Aparked&sort=oldest", "Stuck longest", true)
	if p := owner.get("/entries?q="); !strings.Contains(p.body, path) || !strings.Contains(p.body, "Stuck longest") {
		t.Error("the menu does not list it")
	}
	for _, v := range []*visitor{other, limited} {
		if p := v.get("/views"); !strings.Contains(p.body, path) || !strings.Contains(p.body, "reviewer@example.com") || strings.Contains(p.body, path+"/delete") {
			t.Error("it is not shown to others, or they may change it")
		}
		p := v.get(path)
		if p.status != http.StatusFound || !strings.HasPrefix(p.location, "/entries?q=status%3Aparked&sort=oldest&view=") {
			t.Fatalf("opened: %d %q", p.status, p.location)
		}
		p = v.get(p.location)
		if p.status != http.StatusOK || !strings.Contains(p.body, "View: Stuck longest") || !strings.Contains(p.body, "lease-1") || strings.Contains(p.body, "wiki-1") != (v == other) {
			t.Errorf("it shows what is not theirs, or not what is: %d", p.status)
		}
	}
	private := owner.save("cohorts", "show=quarantine", "Mine alone", false)
	if p := other.get(private); p.status != http.StatusNotFound {
		t.Errorf("a view that is not shared: %d", p.status)
	}
	if p := owner.get(private); !strings.HasPrefix(p.location, "/cohorts?show=quarantine&view=") {
		t.Errorf("got %q", p.location)
	}
}

func TestASharedViewOfAnotherSourceIsNotFound(t *testing.T) {
	s := newSite(t)
	s.park(`"source":"wiki","doc_id":"1","error_type":"A"`)
	s.park(`"source":"leases","doc_id":"2","error_type":"B"`)
	owner, limited := s.signIn(dlq.RoleReviewer), s.signIn(dlq.RoleAnalyst, "leases")
	for i, view := range [][2]string{{"q=source%3Awiki", "One"}, {"q=-source%3Awiki", "Two"}, {"q=file%3Awiki%2A", "Three"}, {"q=", "Wiki leftovers"}} {
		path := owner.save("documents", view[0], view[1], true)
		if p := limited.get(path); p.status != http.StatusNotFound {
			t.Errorf("%d: %d", i, p.status)
		}
		for _, list := range []string{"/views", "/entries?q=", "/cohorts"} {
			if p := limited.get(list); strings.Contains(p.body, path) || strings.Contains(p.body, view[1]) {
				t.Errorf("%s tells of %s", list, view[1])
			}
		}
		limited.get("/views")
		if p := limited.post(path + "/delete"); p.status != http.StatusNotFound {
			t.Errorf("deleting it: %d", p.status)
		}
	}
}

func TestAViewIsRenamedSharedMendedAndDeleted(t *testing.T) {
	s := newSite(t)
	s.park(`"source":"wiki","doc_id":"1","error_type":"A"`)
	v, analyst, admin := s.signIn(dlq.RoleReviewer), s.signIn(dlq.RoleAnalyst), s.signIn(dlq.RoleAdmin)
	path := v.save("documents", "q=source%3Agone&sort=oldest", "Gone", false)
	p := v.get(v.get(path).location)
	if p.status != http.StatusOK || !strings.Contains(p.body, "There is no source gone.") || !strings.Contains(p.body, "/views#view-") {
		t.Errorf("a view whose source is gone: %d", p.status)
	}
	if p := v.get("/views"); !strings.Contains(p.body, "There is no source gone.") {
		t.Error("the page of views does not say what is wrong")
	}
	if p := v.post(path, "name", "Gone", "q", "age:soon"); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "“age:soon” was not understood") {
		t.Errorf("mended with a bad term: %d", p.status)
	}
	if p := v.post(path, "name", "Mended", "q", "source:wiki", "shared", "1"); p.status != http.StatusSeeOther {
		t.Fatalf("mended: %d", p.status)
	}
	if p := v.get(path); !strings.HasPrefix(p.location, "/entries?q=source%3Awiki&sort=oldest&") {
		t.Errorf("got %q", p.location)
	}
	if p := analyst.post(path, "name", "x"); p.status != http.StatusForbidden {
		t.Errorf("an analyst renames another's: %d", p.status)
	}
	if p := admin.post(path, "name", "Renamed", "q", "source:wiki", "shared", "1"); p.status != http.StatusSeeOther {
		t.Errorf("an admin renames it: %d", p.status)
	}
	if p := v.post(path, "name", strings.Repeat("x", 81), "q", ""); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "At most 80 characters expected.") {
		t.Errorf("too long a name: %d", p.status)
	}
	if p := v.post(path + "/delete"); p.status != http.StatusSeeOther {
		t.Errorf("deleted: %d", p.status)
	}
	if p := v.get(path); p.status != http.StatusNotFound {
		t.Errorf("after that: %d", p.status)
	}
}

func TestAViewWhoseQueryIsNoLongerUnderstoodIsNamedInPlace(t *testing.T) {
	s := newSite(t)
	s.park(`"source":"wiki","doc_id":"1","error_type":"A"`)
	v := s.signIn(dlq.RoleReviewer)
	person, _, _, err := s.store.PersonByEmail(t.Context(), "reviewer@example.com")
	if err != nil {
		t.Fatal(err)
	}
	kept, err := s.store.SaveView(t.Context(), person.Actor(), dlq.SavedView{List: dlq.ViewOfDocuments, Name: "Old", Search: "q=was%3Aonce&sort=gone"})
	if err != nil {
		t.Fatal(err)
	}
	p := v.get(v.get("/views/" + kept.ID).location)
	if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "<mark>was:once</mark>") || !strings.Contains(p.body, "The view “Old” asks for what is not here any more.") {
		t.Errorf("got %d", p.status)
	}
	if p := v.get("/views"); p.status != http.StatusOK || !strings.Contains(p.body, "The term was:once is not understood") {
		t.Errorf("the page of views: %d", p.status)
	}
}

func TestATakenNameIsReplacedOnlyWhenAskedTo(t *testing.T) {
	s := newSite(t)
	s.park(`"source":"wiki","doc_id":"1","error_type":"A"`)
	v := s.signIn(dlq.RoleReviewer)
	path := v.save("documents", "q=age%3A%3E30d", "Old", false)
	p := v.post("/views", "list", "documents", "search", "q=age%3A%3E60d", "name", "old")
	if p.status != http.StatusConflict || !strings.Contains(p.body, "Replace the view of this name") || !strings.Contains(p.body, "/entries?q=age%3A%3E60d") {
		t.Fatalf("got %d", p.status)
	}
	if p := v.get(path); !strings.Contains(p.location, "30d") {
		t.Error("it was replaced in silence")
	}
	id := strings.TrimPrefix(path, "/views/")
	if p := v.post("/views", "list", "documents", "search", "q=age%3A%3E60d", "name", "old", "replace", id); p.status != http.StatusSeeOther || !strings.Contains(p.location, "60d") {
		t.Errorf("got %d %q", p.status, p.location)
	}
	for want, fields := range map[string][]string{
		"A name expected.":                   {"list", "documents", "search", "q="},
		"Documents or cohorts expected":      {"list", "x", "search", "q=", "name", "n"},
		"At most 8192 bytes expected":        {"list", "documents", "search", "q=" + strings.Repeat("x", 9000), "name", "n"},
		"Text in UTF-8 without NUL expected": {"list", "documents", "search", "q=", "name", "a\x00"},
	} {
		if p := v.post("/views", fields...); p.status != http.StatusUnprocessableEntity || !strings.Contains(strings.ToLower(p.body), strings.ToLower(want)) {
			t.Errorf("%.40v: %d, without %q", fields, p.status, want)
		}
	}
}

func TestWhoMayNotKeepViewsOpensSharedOnes(t *testing.T) {
	s := newSite(t)
	s.park(`"source":"wiki","doc_id":"1","error_type":"A"`)
	path := s.signIn(dlq.RoleReviewer).save("documents", "q=", "All", true)
	auditor := s.signIn(dlq.RoleAuditor)
	p := auditor.get("/entries?q=")
	if !strings.Contains(p.body, path) || strings.Contains(p.body, `action="/views"`) {
		t.Error("an auditor is offered what is refused, or not what is there")
	}
	if p := auditor.post("/views", "list", "documents", "search", "q=", "name", "x"); p.status != http.StatusForbidden {
		t.Errorf("got %d", p.status)
	}
}

func TestTheMenuSaysHowManyItLeavesOut(t *testing.T) {
	f := viewsFacts{by: reviewer, known: func(string) bool { return true }}
	for i := range viewsInMenu + 3 {
		f.own = append(f.own, dlq.SavedView{ID: fmt.Sprint(i), List: dlq.ViewOfDocuments, Name: fmt.Sprint(i)})
	}
	f.own = append(f.own, dlq.SavedView{ID: "c", List: dlq.ViewOfCohorts, Name: "of cohorts"})
	m := newViewsMenu(f, dlq.ViewOfDocuments)
	if len(m.Own) != viewsInMenu || m.More != "with 3 more" {
		t.Errorf("%d, %q", len(m.Own), m.More)
	}
	if m := newViewsMenu(f, dlq.ViewOfCohorts); len(m.Own) != 1 {
		t.Errorf("%+v", m.Own)
	}
}

func TestHostileAddressesOfViewsAreSentences(t *testing.T) {
	s := newSite(t)
	s.park(`"source":"wiki","doc_id":"1","error_type":"A"`)
	v := s.signIn(dlq.RoleReviewer)
	path := v.save("documents", "q=", "x", false)
	for _, p := range []answered{v.get("/views/%00"), v.get("/views/%ff"), v.get("/views/" + strings.Repeat("x", 3000)), v.post("/views/%00", "name", "x"), v.post("/views/%ff/delete")} {
		if p.status != http.StatusNotFound {
			t.Errorf("got %d", p.status)
		}
	}
	for _, p := range []answered{v.get("/entries?q=&view=%00"), v.get("/cohorts?view=%ff"), v.get("/entries?q=&view=" + strings.Repeat("x", 3000))} {
		if p.status != http.StatusOK {
			t.Errorf("got %d", p.status)
		}
	}
	for _, fields := range [][]string{{"name", "\xff", "q", ""}, {"name", "x", "q", "\x00"}, {"name", "x", "q", "\xff"}, {"name", "x", "q", strings.Repeat("y", 5000)}} {
		if p := v.post(path, fields...); p.status != http.StatusUnprocessableEntity {
			t.Errorf("%.20q: %d", fields, p.status)
		}
	}
}
