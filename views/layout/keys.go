package layout

import "strings"

// htmxConfig is the configuration under which htmx runs beneath the pages'
// content security policy: no eval, no inline style, no page kept in storage.
const htmxConfig = `{"allowEval":false,"allowScriptTags":false,"includeIndicatorStyles":false,"historyCacheSize":0,"selfRequestsOnly":true}`

type keyGroup struct {
	name string
	keys []keyHelp
}

type keyHelp struct {
	strokes []string
	does    string
}

// keyGroups lists what app.js listens to. Keys that open a form never do
// anything by themselves.
func keyGroups(nav []NavItem) []keyGroup {
	goTo := keyGroup{name: "Go"}
	for _, n := range nav {
		if n.Key != "" {
			goTo.keys = append(goTo.keys, keyHelp{[]string{"g", n.Key}, strings.ToLower(n.Text)})
		}
	}
	return []keyGroup{
		{"Lists", []keyHelp{
			{[]string{"j", "k"}, "down, up"},
			{[]string{"Enter"}, "open"},
			{[]string{"x"}, "select"},
			{[]string{"/"}, "search"},
			{[]string{"?"}, "this list"},
		}},
		{"Open the form to", []keyHelp{
			{[]string{"r"}, "redrive"},
			{[]string{"q"}, "quarantine"},
			{[]string{"e"}, "keep longer"},
			{[]string{"a"}, "assign"},
			{[]string{"c"}, "write a note"},
			{[]string{"u"}, "undo, where it can be undone"},
		}},
		goTo,
	}
}

// short is what the bottom bar of a phone calls a line of the rail.
func short(n NavItem) string {
	if n.Short != "" {
		return n.Short
	}
	return n.Text
}
