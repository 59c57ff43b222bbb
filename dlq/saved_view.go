package dlq

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// ViewList is the list that a saved view is of.
type ViewList string

// The lists that have saved views.
const (
	ViewOfDocuments ViewList = "documents"
	ViewOfCohorts   ViewList = "cohorts"
)

// Valid says whether the list is one of those above.
func (l ViewList) Valid() bool { return l == ViewOfDocuments || l == ViewOfCohorts }

// SavedView is a search that somebody keeps under a name: what stands in the
// address of its list, without the place in it.
type SavedView struct {
	ID        string
	List      ViewList
	Name      string
	Search    string // url.Values.Encode: q and sort of documents, filters and sort of cohorts
	Shared    bool   // everybody who signs in is told of it
	OwnerKind ActorKind
	OwnerID   string
	OwnerName string
	UpdatedAt time.Time
}

// The bounds of saved views.
const (
	ViewNameMost   = 80  // characters
	ViewsMost      = 200 // of one owner
	viewSearchMost = 8192
	viewParamsMost = 20
)

// paging are the parameters of an address that say where in a list it stands,
// and those that are no part of a search.
var paging = []string{"after", "from", "cursor", "limit", "view", "csrf", "wait"}

// NormalSearch gives the search of a list's address in the form that is kept:
// its parameters in order, without the place in the list. It keeps parameters
// that it does not know, so that a filter that is added later can be saved; a
// list reads those that it knows.
func NormalSearch(search string) (string, error) {
	fault := func(detail string) error {
		return Invalid("the view was not understood; nothing was saved", Fault{"/query", detail})
	}
	if len(search) > viewSearchMost {
		return "", fault(fmt.Sprintf("at most %d bytes expected", viewSearchMost))
	}
	values, err := url.ParseQuery(search)
	if err != nil {
		return "", fault("parameters as in the address of a list expected")
	}
	for name, list := range values {
		if slices.Contains(paging, name) {
			delete(values, name)
			continue
		}
		list = slices.DeleteFunc(slices.Clone(list), func(v string) bool { return v == "" && name != "q" })
		if values[name] = list; len(list) == 0 {
			delete(values, name)
			continue
		}
		for _, s := range append([]string{name}, list...) {
			if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
				return "", fault("text in UTF-8 without NUL expected")
			}
		}
	}
	if len(values) > viewParamsMost {
		return "", fault(fmt.Sprintf("at most %d parameters expected", viewParamsMost))
	}
	if out := values.Encode(); len(out) <= viewSearchMost {
		return out, nil
	}
	return "", fault(fmt.Sprintf("at most %d bytes expected", viewSearchMost))
}

// ViewName gives a name as it is kept, blanks collapsed, and the key by which
// two names are the same: neither case nor blanks tell them apart.
func ViewName(s string) (name, key string, err error) {
	fault := func(detail string) error {
		return Invalid("the view was not saved", Fault{"/name", detail})
	}
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return "", "", fault("text in UTF-8 without NUL expected")
	}
	name = strings.Join(strings.Fields(s), " ")
	switch {
	case name == "":
		return "", "", fault("a name expected")
	case utf8.RuneCountInString(name) > ViewNameMost:
		return "", "", fault(fmt.Sprintf("at most %d characters expected", ViewNameMost))
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "", "", fault("characters that can be seen expected")
	}
	return name, strings.ToLower(name), nil
}

// Mine says whether the actor keeps the view.
func (v SavedView) Mine(by Actor) bool { return v.OwnerKind == by.Kind && v.OwnerID == by.ID }

// MayChange says whether the actor may rename, share or delete the view: its
// owner always, and of a shared one who runs the place.
func (v SavedView) MayChange(by Actor) bool {
	return v.Mine(by) || v.Shared && (by.May(MayManageAccess) || by.Kind == ActorToken && slices.Contains(by.Scopes, ScopeAdmin))
}

// Seen says whether the actor may know of the view: their own, and what is
// shared; but somebody who is limited to some sources is not told of a shared
// view that names another one, in its search or as a word of its name. Others
// are the names of the sources that they may not know of.
func (v SavedView) Seen(by Actor, others []string) bool {
	if v.Mine(by) {
		return true
	}
	if !v.Shared {
		return false
	}
	if len(by.Sources) == 0 {
		return true
	}
	values, err := url.ParseQuery(v.Search)
	if err != nil {
		return false
	}
	said := strings.ToLower(v.Name)
	for _, list := range values {
		said += "\n" + strings.ToLower(strings.Join(list, "\n"))
	}
	for _, name := range others {
		if strings.Contains(said, strings.ToLower(name)) {
			return false
		}
	}
	for _, name := range sourcesNamed(values) { // one that is gone, or that never was
		if !by.SeesSource(name) {
			return false
		}
	}
	return true
}

// sourcesNamed are the sources that a search asks for by name.
func sourcesNamed(values url.Values) []string {
	names := slices.Clone(values["source"])
	for _, text := range values["q"] {
		q, _ := ParseQuery(text)
		for _, t := range q.Terms {
			if t.Key == "source" {
				names = append(names, t.Values...)
			}
		}
	}
	return names
}

// ViewFault says in a sentence what of a view's search cannot be answered any
// more: a term that is not understood, or a source that is not there. Known
// says whether a source is. Empty: nothing.
func (v SavedView) ViewFault(known func(source string) bool) string {
	values, err := url.ParseQuery(v.Search)
	if err != nil {
		return "Its search cannot be read."
	}
	for _, text := range values["q"] {
		if _, bad := ParseQuery(text); len(bad) > 0 {
			return fmt.Sprintf("The term %s is not understood: %s expected.", shorten(bad[0].Term, 60), bad[0].Expected)
		}
	}
	for _, name := range sourcesNamed(values) {
		if !known(name) {
			return fmt.Sprintf("There is no source %s.", shorten(name, 60))
		}
	}
	return ""
}
