package gallery

import (
	"strings"

	"dlo/views/cohorts"
	"dlo/views/components"
	"dlo/views/confirm"
	"dlo/views/entries"
	"dlo/views/saved"
)

// savedItems are saved views: their page, and the menu beside a list.
func savedItems() []Item {
	row := func(id, name, list, search string) saved.Row {
		return saved.Row{ID: "view-" + id, Name: txt(name), Href: "/views/" + id, List: list, Search: txt(search), CSRF: csrf, Change: viewForm(id, name, search),
			Actions: []components.Action{{Label: "Delete", Href: "/views/" + id + "/delete", Tone: components.Bad}}}
	}
	old, gone, long := row("01V1", "Old ones of wiki", "Documents", "source:wiki age:>30d"), row("01V2", "Leases of the pilot", "Documents", "source:pilot"), row("01V3", strings.Repeat("A long name ", 6)+"of 80", "Cohorts", "class: ambiguous_parse · show: quarantine · source: "+strings.Repeat("intranet-", 9))
	old.Tag, old.Sort = components.Tag{Text: "shared", Tone: components.Info}, "longest stuck first"
	gone.Fault = "There is no source pilot."
	gone.Change.Inputs[1].Error = "“age:soon” was not understood: a comparison and a span, such as >30d expected."
	shared := saved.Row{ID: "view-01V4", Name: components.Text{{Text: "Decide"}, {Text: "U+202E", Chip: true}, {Text: "today"}}, Href: "/views/01V4", List: "Documents", Search: txt("status:quarantined"), By: "reviewer@example.com"}
	full := saved.Model{Layout: frame("Views", ""), Lead: "A view is a search under a name. Opened, it shows what matches now, and to each person what they may see.", Own: []saved.Row{old, gone, long}, Shared: []saved.Row{shared}, Limit: "At most 1,000 shared views are shown."}
	empty := saved.Model{Layout: frame("Views", ""), Lead: full.Lead, NoOwn: components.Empty{Title: "You keep no view yet", Text: "Search the documents or narrow the cohorts, then save what is shown from the menu Views.", Links: []components.Link{{Text: "Search the documents", Href: "/entries"}}}}

	documents := entriesModel()
	documents.Views = viewsMenu()
	faulty := cohortsModel()
	faulty.List.Views = viewsMenu()
	faulty.List.Views.Fault = &components.Notice{Tone: components.Deadline, Title: "The view “Leases of the pilot” asks for what is not here any more.", Text: "There is no source pilot.", Links: []components.Link{{Text: "Mend or delete it", Href: "/views#view-01V2"}}}
	looks := viewsMenu()
	looks.Save, looks.Own, looks.Current = nil, nil, ""

	dispose := confirm.Model{
		Layout: frame("Set a disposition", "Cohorts"), Title: "Set a disposition: PDFSyntaxError", Lead: "The cohort is no longer listed as needing a decision. It stays in every list and every count, and expires as before.",
		Cancel: components.Link{Text: "Cancel", Href: "/cohorts/01Kb"},
		Form: &components.Form{ID: "dispose", CSRF: csrf, Action: "/cohorts/01Kb/dispose", Submit: "Set", Tone: components.Primary, Inputs: []components.Input{
			{Name: "disposition", Label: "What it needs", Kind: components.InputRadio, Required: true, Options: []components.Option{{Value: "needs_code", Label: "Needs code", Hint: "The code has to change before it can pass.", On: true}, {Value: "accepted_loss", Label: "Accepted loss", Hint: "Nobody will do anything about it. It still expires and can still be redriven."}}},
			{Name: "until", Label: "For how long", Kind: components.InputRadio, Options: []components.Option{{Value: "", Label: "Until it is taken off"}, {Value: "date", Label: "Until a date", On: true}}},
			{Name: "date", Label: "Date", Kind: components.InputDate, Value: "2020-01-01", Error: "A date that is still to come expected."},
			{Name: "reason", Label: "Reason", Kind: components.InputArea, Rows: 2, Hint: "It may be empty. It stands under Activity."},
		}},
	}
	return []Item{
		page("views", saved.Page(full)), page("views-none", saved.Page(empty)), page("entries-views", entries.Page(documents)), page("cohorts-view-gone", cohorts.Page(faulty)),
		page("confirm-dispose", confirm.Page(dispose)), part("views-menu", components.ViewsMenu(viewsMenu())), part("views-menu-looks", components.ViewsMenu(looks)), part("views-menu-empty", components.ViewsMenu(components.Views{All: components.Link{Text: "All views", Href: "/views"}})),
	}
}

func viewForm(id, name, search string) *components.Form {
	return &components.Form{ID: "change-" + id, CSRF: csrf, Action: "/views/" + id, Submit: "Save", Inputs: []components.Input{
		{Name: "name", Label: "Name", Value: name, Required: true}, {Name: "q", Label: "Search", Value: search},
		{Name: "shared", Label: "Share it", Kind: components.InputCheck, Value: "1", Hint: "Everybody who signs in is told its name and its search."},
	}}
}

func viewsMenu() components.Views {
	return components.Views{
		Current: "Old ones of wiki", All: components.Link{Text: "All views", Href: "/views"}, More: "with 12 more",
		Own:    []components.ViewLink{{Name: txt("Old ones of wiki"), Href: "/views/01V1", Current: true}, {Name: txt(strings.Repeat("A long name ", 6) + "of 80"), Href: "/views/01V3"}},
		Shared: []components.ViewLink{{Name: txt("Decide today"), By: "reviewer@example.com", Href: "/views/01V4"}},
		Save: &components.Form{ID: "save-view", CSRF: csrf, Action: "/views", Submit: "Save this view", Fields: []components.Field{{Name: "list", Value: "documents"}, {Name: "search", Value: "q=source%3Awiki"}},
			Inputs: []components.Input{{Name: "name", Label: "Save what is shown as", Required: true}, {Name: "shared", Label: "Share it", Kind: components.InputCheck, Value: "1", Hint: "Everybody who signs in is told its name and its search."}}},
	}
}
