package handlers

import (
	"net/url"
	"slices"
	"strings"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/layout"
	"dlo/views/saved"
	"dlo/web"
)

// viewsInMenu is how many of each kind the menu beside a list names.
const viewsInMenu = 15

// viewListPaths are where the lists stand.
var viewListPaths = map[dlq.ViewList]string{dlq.ViewOfDocuments: "/entries", dlq.ViewOfCohorts: "/cohorts"}

// viewListWords are the lists as people read them.
var viewListWords = map[dlq.ViewList]string{dlq.ViewOfDocuments: "Documents", dlq.ViewOfCohorts: "Cohorts"}

func viewHref(id string) string { return "/views/" + url.PathEscape(id) }

// viewTarget is the address of a view's list: its search, and which view it is.
func viewTarget(v dlq.SavedView) string {
	values, err := url.ParseQuery(v.Search)
	if err != nil {
		values = url.Values{}
	}
	if v.List == dlq.ViewOfDocuments && !values.Has("q") {
		values.Set("q", "") // without any, the list asks its usual question
	}
	values.Set("view", v.ID)
	return viewListPaths[v.List] + "?" + values.Encode()
}

// viewsFacts is what the menu and the page of views are made from.
type viewsFacts struct {
	by     dlq.Actor
	own    []dlq.SavedView
	shared []dlq.SavedView
	known  func(source string) bool // whether the viewer may know of a source
	open   *dlq.SavedView           // the one that is open
	search string                   // of the list as it stands
	csrf   string
	saving refusedView
}

// refusedView is what was sent of a view and why it was not kept.
type refusedView struct {
	id     string // empty of a new one
	name   string
	query  string
	shared bool
	err    error
}

// newViewsMenu is the menu beside a list.
func newViewsMenu(f viewsFacts, list dlq.ViewList) components.Views {
	m := components.Views{All: components.Link{Text: "All views", Href: "/views"}}
	left := 0
	links := func(views []dlq.SavedView, by bool) []components.ViewLink {
		var out []components.ViewLink
		for _, v := range views {
			if v.List != list {
				continue
			}
			if len(out) == viewsInMenu {
				left++
				continue
			}
			l := components.ViewLink{Name: shownLine(v.Name, dlq.ViewNameMost), Href: viewHref(v.ID), Current: f.open != nil && f.open.ID == v.ID}
			if by {
				l.By = web.VisibleText(v.OwnerName)
			}
			out = append(out, l)
		}
		return out
	}
	m.Own, m.Shared = links(f.own, false), links(f.shared, true)
	if left > 0 {
		m.More = "with " + grouped(left) + " more"
	}
	if f.open != nil {
		m.Current = shownLine(f.open.Name, dlq.ViewNameMost).String()
		if fault := f.open.ViewFault(f.known); fault != "" {
			m.Fault = &components.Notice{Tone: components.Deadline, Title: "The view “" + m.Current + "” asks for what is not here any more.", Text: web.VisibleText(fault), Links: []components.Link{{Text: "Mend or delete it", Href: "/views#view-" + f.open.ID}}}
			if !f.open.MayChange(f.by) {
				m.Fault.Links[0].Text = "See all views"
			}
		}
	}
	if f.by.May(dlq.MayNote) {
		m.Save = &components.Form{ID: "save-view", CSRF: f.csrf, Action: "/views", Submit: "Save this view",
			Fields: []components.Field{{Name: "list", Value: string(list)}, {Name: "search", Value: f.search}},
			Inputs: []components.Input{
				{Name: "name", Label: "Save what is shown as", Required: true, Autocomplete: "off"},
				{Name: "shared", Label: "Share it", Kind: components.InputCheck, Value: "1", Hint: "Everybody who signs in is told its name and its search."},
			}}
	}
	return m
}

// newViewsPage is everything that somebody keeps or is shown.
func newViewsPage(frame layout.Model, f viewsFacts) saved.Model {
	m := saved.Model{Layout: frame, Lead: "A view is a search under a name. Opened, it shows what matches now, and to each person what they may see.",
		NoOwn: components.Empty{Title: "You keep no view yet", Text: "Search the documents or narrow the cohorts, then save what is shown from the menu Views.", Links: []components.Link{{Text: "Search the documents", Href: "/entries"}, {Text: "To the cohorts", Href: "/cohorts"}}}}
	if !f.by.May(dlq.MayNote) {
		m.NoOwn = components.Empty{Title: "Your role keeps no views", Text: "Those that others share are below."}
	}
	for _, v := range f.own {
		m.Own = append(m.Own, newViewRow(v, f))
	}
	for _, v := range f.shared {
		m.Shared = append(m.Shared, newViewRow(v, f))
	}
	if len(f.shared) >= 1000 {
		m.Limit = "At most 1,000 shared views are shown."
	}
	return m
}

func newViewRow(v dlq.SavedView, f viewsFacts) saved.Row {
	values, _ := url.ParseQuery(v.Search) // one that cannot be read says so as its fault
	r := saved.Row{ID: "view-" + v.ID, Name: shownLine(v.Name, dlq.ViewNameMost), Href: viewHref(v.ID), List: viewListWords[v.List], Search: viewSearchWords(v, values), Sort: sortWords(values.Get("sort")), Fault: web.VisibleText(v.ViewFault(f.known)), CSRF: f.csrf}
	if v.Shared {
		r.Tag = components.Tag{Text: "shared", Tone: components.Info}
	}
	if !v.Mine(f.by) {
		r.By, r.Tag = web.VisibleText(v.OwnerName), components.Tag{}
	}
	if !v.MayChange(f.by) || !f.by.May(dlq.MayNote) {
		return r
	}
	name, query, shared := v.Name, values.Get("q"), v.Shared
	var faults []dlq.Fault
	var refusal string
	if f.saving.err != nil && f.saving.id == v.ID {
		name, query, shared = f.saving.name, f.saving.query, f.saving.shared
		if faults, refusal = faultsOf(f.saving.err); len(faults) > 0 {
			refusal = ""
		}
	}
	r.Change = &components.Form{ID: "change-" + v.ID, CSRF: f.csrf, Action: viewHref(v.ID), Submit: "Save", Error: refusal, Inputs: []components.Input{
		{Name: "name", Label: "Name", Value: name, Required: true, Autocomplete: "off", Error: faultAt(faults, "/name")},
	}}
	if v.List == dlq.ViewOfDocuments {
		r.Change.Inputs = append(r.Change.Inputs, components.Input{Name: "q", Label: "Search", Value: query, Autocomplete: "off", Error: faultAt(faults, "/query")})
	}
	r.Change.Inputs = append(r.Change.Inputs, components.Input{Name: "shared", Label: "Share it", Kind: components.InputCheck, Value: "1", On: shared, Hint: "Everybody who signs in is told its name and its search."})
	r.Actions = []components.Action{{Label: "Delete", Href: viewHref(v.ID) + "/delete", Tone: components.Bad, Why: "The search alone is forgotten, and nothing of any document."}}
	if f.saving.err != nil && f.saving.id == v.ID && r.Fault == "" {
		r.Fault = "It was not saved."
	}
	return r
}

// viewSearchWords are a view's search: the query of documents, or the filters of
// cohorts.
func viewSearchWords(v dlq.SavedView, values url.Values) components.Text {
	if v.List == dlq.ViewOfDocuments {
		if q := values.Get("q"); q != "" {
			return shownLine(q, 300)
		}
		return components.PlainText("every document")
	}
	var parts []string
	for _, name := range sortedKeys(values) {
		if name != "sort" {
			parts = append(parts, name+": "+strings.Join(values[name], ", "))
		}
	}
	if len(parts) == 0 {
		return components.PlainText("every cohort with open documents")
	}
	return shownLine(strings.Join(parts, " · "), 300)
}

// sortWords say an order; one that is not known is said as it is.
func sortWords(sort string) string {
	switch sort {
	case "":
		return ""
	case string(dlq.SortOldest):
		return "longest stuck first"
	case string(dlq.SortExpires):
		return "leaving soonest first"
	case string(dlq.SortAttempts), string(dlq.CohortsByArrivals):
		return "most failures first"
	case string(dlq.SortLastSeen):
		return "latest failure first"
	case string(dlq.CohortsByDepth):
		return "largest first"
	}
	return "sorted by " + shownLine(sort, 40).String()
}

// ownOfName finds a view of the viewer's by a name that is taken.
func ownOfName(own []dlq.SavedView, name string) (dlq.SavedView, bool) {
	_, key, err := dlq.ViewName(name)
	i := slices.IndexFunc(own, func(v dlq.SavedView) bool {
		_, other, _ := dlq.ViewName(v.Name)
		return err == nil && other == key
	})
	if i < 0 {
		return dlq.SavedView{}, false
	}
	return own[i], true
}
