package handlers

import (
	"net/url"
	"strconv"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/source"
	"dlo/web"
)

// newRegister is what runs now in a source, what ran before, and what failures
// name that nobody registered.
func newRegister(f sourcePageFacts) source.Register {
	name := f.source.Name()
	r := source.Register{None: "Nothing is registered, so nobody can tell whether the code changed since a failure."}
	if len(f.history) > 0 || f.historyFrom != "" {
		r.None = "Nothing runs now, by what was registered."
	}
	for _, d := range f.runs {
		r.Now = append(r.Now, newRan(d))
	}
	for _, d := range f.history {
		r.History = append(r.History, newRan(d))
	}
	href := sourceHref(name)
	if f.historyFrom != "" {
		r.Pager.Prev = components.Link{Text: "Newest", Href: href + "#runs"}
	}
	if f.historyNext != "" {
		r.Pager.Next = components.Link{Text: "Older", Href: href + "?" + url.Values{"runs": {f.historyNext}}.Encode() + "#runs"}
	}
	for _, v := range f.seen {
		terms := "source:" + dlq.QuoteValue(name) + " " + v.Component + ":" + dlq.QuoteValue(v.Version)
		link := func(n int64, more string) components.Link {
			if !sayable(v.Component, v.Version) {
				return components.Link{Text: grouped(n)}
			}
			return cellLink(n, terms+more)
		}
		r.Seen = append(r.Seen, source.Seen{Component: shownLine(v.Component, 60).String(), Version: shownLine(v.Version, 120), Documents: link(v.Documents, ""), Stuck: link(v.Parked, " status:parked")})
	}
	if len(f.seen) > 0 {
		v := f.seen[0]
		r.Snippet = &components.Code{ID: "snippet-register", Label: "How to register " + shownLine(v.Version, 60).String(), Text: "curl -H \"Authorization: Bearer $DLO_TOKEN\" --json '" + shellSafe(`{"source":`+quoted(name)+`,"component":`+quoted(v.Component)+`,"version":`+quoted(v.Version)+`}`) + "' \"$DLO/api/v1/deployments\""}
	}
	if f.by.May(dlq.MaySetPolicy) {
		form := deployForm(f.source, f.csrf, deployText{}, nil)
		r.Deploy = &form
	}
	return r
}

func quoted(s string) string { return strconv.Quote(web.VisibleText(s)) }

// shellSafe keeps a text within the single quotes of a shell.
func shellSafe(s string) string {
	var out []rune
	for _, c := range s {
		if c == '\'' {
			out = append(out, []rune(`'\''`)...)
			continue
		}
		out = append(out, c)
	}
	return string(out)
}

func newRan(d dlq.Deployment) source.Ran {
	return source.Ran{Component: shownLine(d.Component, 60).String(), Version: shownLine(d.Version, 120), Words: deploymentWords(deployed{Deployment: d}), From: moment(d.StartedAt), Until: moment(d.StoppedAt), By: shownLine(d.Actor, 60)}
}

// deployForm registers a version by hand, with what is wrong in place.
func deployForm(s dlq.Source, csrf string, d deployText, faults []dlq.Fault) components.Form {
	wrong := map[string]string{}
	for _, f := range faults {
		at := f.Pointer
		if len(at) > len("/stopped") && at[:len("/stopped/")] == "/stopped/" {
			at = "/stopped"
		}
		wrong[at] = sentence("%s", f.Detail)
	}
	return components.Form{ID: "deploy", CSRF: csrf, Action: sourceHref(s.Name()) + "/deployments", Submit: "Register", Inputs: []components.Input{
		{Name: "component", Label: "Component", Value: d.component, Required: true, Hint: "Such as parser.", Error: wrong["/component"], Autocomplete: "off"},
		{Name: "version", Label: "Version", Value: d.version, Hint: "That runs. Empty, if something only stopped.", Error: wrong["/version"], Autocomplete: "off"},
		{Name: "rolling", Label: "The versions before it still run", Kind: components.InputCheck, Value: "1", On: d.rolling == "1"},
		{Name: "stopped", Label: "Stopped", Value: d.stopped, Hint: "Versions that no longer run, between commas. Empty: every other one, unless they still run.", Error: wrong["/stopped"], Autocomplete: "off"},
		{Name: "at", Label: "Since", Value: d.at, Hint: "In UTC, such as 2026-11-29 09:44. Empty: now.", Error: wrong["/at"], Autocomplete: "off"},
	}}
}
