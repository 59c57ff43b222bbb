package handlers

import (
	"slices"
	"strings"

	"dlo/dlq"
)

// termValuesMost bounds how many values one exact term names.
const termValuesMost = 50

// exactVersionTerms narrow a query to the documents of a source that failed
// under exactly these versions. A term for each component would also find those
// that name further ones: what tells the sets of others apart is excluded. exact
// is false where the query language cannot say it, because a component has no
// key or a version holds a quote.
func exactVersionTerms(source string, v dlq.Versions, others []dlq.Versions) (terms []string, exact bool) {
	exact = !strings.ContainsRune(source, '"')
	for component, version := range v {
		exact = exact && sayable(component, version)
	}
	not := map[string][]string{}
	for _, o := range others {
		if o.Canonical() == v.Canonical() || !within(v, o) {
			continue
		}
		apart := ""
		for _, component := range o.Components() {
			if _, named := v[component]; !named && sayable(component, o[component]) {
				apart = component
				break
			}
		}
		if apart == "" {
			exact = false
			continue
		}
		if !slices.Contains(not[apart], o[apart]) {
			not[apart] = append(not[apart], o[apart])
		}
	}
	terms = versionTerms(source, v)
	for _, component := range sortedKeys(not) {
		values := not[component]
		exact = exact && len(values) <= termValuesMost
		slices.Sort(values)
		for i, value := range values {
			values[i] = dlq.QuoteValue(value)
		}
		terms = append(terms, "-"+component+":"+strings.Join(values, ","))
	}
	return terms, exact
}

// sayable says whether the query language can name a version of a component.
func sayable(component, version string) bool {
	return queryable(component) && !strings.HasPrefix(version, "!") && !strings.ContainsRune(version, '"')
}

// within says whether a query for what v names, as far as that can be said, also
// finds documents that failed under o.
func within(v, o dlq.Versions) bool {
	for component, version := range v {
		if sayable(component, version) && o[component] != version {
			return false
		}
	}
	return true
}

// runsWords says whether a set of versions runs now: yes, or which component
// does not, or nothing where no component of it is registered.
func runsWords(v dlq.Versions, running dlq.Running) (runs, known bool, gone []string) {
	known = len(v) > 0
	for _, component := range v.Components() {
		switch {
		case len(running[component]) == 0:
			known = false
		case !running.Has(component, v[component]):
			gone = append(gone, component)
		}
	}
	return known && len(gone) == 0, known || len(gone) > 0, gone
}
