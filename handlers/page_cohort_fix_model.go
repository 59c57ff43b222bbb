package handlers

import (
	"slices"

	"dlo/dlq"
	"dlo/views/cohort"
	"dlo/views/components"
	"dlo/views/confirm"
	"dlo/views/layout"
)

// leadingFix is the fix that can be tested now, the newest of them, with what it
// proposes.
func leadingFix(f cohortFacts) (dlq.Fix, dlq.FixRedrive, bool) {
	for _, x := range f.fixes {
		if r, ok := x.Proposes(); ok {
			return x, r, true
		}
	}
	return dlq.Fix{}, dlq.FixRedrive{}, false
}

// newFixes is what was declared to fix the cohort.
func newFixes(f cohortFacts) cohort.Fixes {
	m := cohort.Fixes{None: "Nobody has said what fixes this. Declare the version that does, and its deployment proposes to send what failed before it."}
	if f.by.May(dlq.MayDecide) {
		m.Declare = components.Action{Label: "Declare a fix", Href: cohortHref(f.cohort.ID) + "/fix"}
	}
	leading, _, leads := leadingFix(f)
	leads = leads && !barAsks(f, leading)
	m.Leads = leads
	for _, x := range f.fixes {
		if !x.WithdrawnAt.IsZero() {
			m.Past = append(m.Past, components.Event{Who: x.WithdrawnBy, Text: "withdrew " + versionLine(x.Component, x.Version) + ", declared by " + shownLine(x.Actor, 80).String() + " on " + dateOf(x.DeclaredAt), Note: shown(x.Note), When: moment(x.WithdrawnAt)})
			continue
		}
		m.Rows = append(m.Rows, newFix(f, x, leads && x.ID == leading.ID))
	}
	return m
}

// newFix is one fix that stands.
func newFix(f cohortFacts, x dlq.Fix, leads bool) cohort.Fix {
	name := versionLine(x.Component, x.Version)
	sum := x.Counts()
	m := cohort.Fix{ID: "fix-" + x.ID, Heading: sentenceStart(name), Leads: leads, State: fixTag(x), Note: shown(x.Note), Said: "declared by " + shownLine(x.Actor, 80).String(), When: moment(x.DeclaredAt), Facts: fixFacts(x)}
	if x.Link != "" {
		m.Link = components.Link{Text: shownLine(x.Link, 80).String(), Href: x.Link}
	}
	if x.DeclaredOn != x.CohortID {
		m.Said += " on a cohort that was merged into this one"
	}
	if f.by.May(dlq.MayDecide) {
		m.Withdraw = components.Action{Label: "Withdraw", Href: cohortHref(f.cohort.ID) + "/fix/" + x.ID + "/withdraw"}
	}
	tests := summarise(slices.DeleteFunc(slices.Clone(f.replays), func(r dlq.Redrive) bool { return !ranUnder(r, x.Component, x.Version) }))
	r, proposed := x.Proposes()
	if proposed {
		m.Heading = fixHeading(name, tests)
		if !barAsks(f, x) {
			m.Do, m.Cannot = fixActions(f, r, leads)
		}
	}
	if sum.Returned > 0 {
		more := ""
		if sum.AtLeast {
			more = " at least"
		}
		m.Notices = append(m.Notices, components.Notice{Tone: components.Bad, Title: "It came back after the fix.", Text: sentence("%s that came anew since it runs%s failed under %s", documents(sum.Returned), more, name)})
	}
	if sum.Under > 0 {
		n := components.Notice{Tone: components.Bad, Title: grouped(sum.Under) + " failed under the fix itself."}
		if sum.Returned > 0 {
			n.Tone = components.Plain
		}
		if q := x.Query(dlq.FixUnder, withPart(x, func(in dlq.FixIn) int64 { return in.Under })...); q != "" {
			n.Links = []components.Link{{Text: "Look at them", Href: entriesHref(q)}}
		}
		m.Notices = append(m.Notices, n)
	}
	if len(x.Sources) > 1 {
		for _, in := range x.Sources {
			m.Sources = append(m.Sources, newFixSource(x, in))
		}
	}
	return m
}

// fixHeading says what to do about a fix that runs: test it, or what the tests
// showed.
func fixHeading(name string, tests replaySummary) string {
	tested := tests.proven + tests.refuted
	switch {
	case tested == 0:
		return "Test the fix: " + name + " is live"
	case tests.refuted == 0:
		return "Redrive the rest: " + name + " got past this error in " + grouped(tests.proven) + " of " + counted(tested, "test", "tests")
	}
	return "Look first: " + name + " got past this error in " + grouped(tests.proven) + " of " + counted(tested, "test", "tests")
}

// fixActions lead to the confirmation of what the fix proposes.
func fixActions(f cohortFacts, r dlq.FixRedrive, leads bool) ([]components.Action, string) {
	switch {
	case !f.by.May(dlq.MayDecide):
		return nil, roleCannot(f.by.Role)
	case !slices.ContainsFunc(r.Sources, f.known.hasTarget):
		return nil, "Nothing can be sent: no source in which it runs has a redrive target."
	case r.Query == "":
		return nil, "The query language cannot say which documents these are, so choose them in the list below."
	}
	all := components.Action{Label: "Redrive the " + grouped(r.Documents), Href: confirmHref(dlq.OperationRedrive, r.Query, r.Documents, cohortHref(f.cohort.ID)), Why: documents(r.Documents) + " that failed under versions that the fix replaces, where it runs"}
	if r.Documents == 1 {
		all.Label = "Redrive it"
	}
	if !leads {
		return []components.Action{all}, ""
	}
	all.Tone, all.Key = components.Primary, "r"
	return []components.Action{all}, ""
}

// barAsks says whether the bar asks about a fix already: then that does not ask
// again.
func barAsks(f cohortFacts, x dlq.Fix) bool {
	shown := f.prove.proofs.Shown()
	return f.prove.showsOperation() || shown.Covers > 0 && slices.ContainsFunc(shown.Step.Moved, func(m dlq.ComponentMove) bool {
		return m.Component == x.Component && slices.Contains(m.To, x.Version)
	})
}

// fixTag is where a fix stands, in words.
func fixTag(x dlq.Fix) components.Tag {
	live := x.Live()
	switch x.State() {
	case dlq.FixDeclared:
		return components.Tag{Text: "declared, not deployed", Tone: components.Quiet}
	case dlq.FixPartlyLive:
		return components.Tag{Text: "live in " + grouped(len(live)) + " of " + counted(len(x.Sources), "source", "sources"), Tone: components.Info}
	case dlq.FixFailed:
		if len(live) == 0 {
			return components.Tag{Text: "failed, not running now", Tone: components.Bad}
		}
		return components.Tag{Text: "live, and failed for some", Tone: components.Bad}
	}
	return components.Tag{Text: "live", Tone: components.Good}
}

// fixFacts are the numbers of a fix; of one source alone with since when.
func fixFacts(x dlq.Fix) []components.Fact {
	sum := x.Counts()
	facts := []components.Fact{{Text: counted(sum.Replaced, "stuck document", "stuck documents") + " failed under versions it replaces", Href: fixHref(x, dlq.FixReplaced, func(in dlq.FixIn) int64 { return in.Replaced })}}
	if sum.Unsaid > 0 {
		facts = append(facts, components.Fact{Text: grouped(sum.Unsaid) + " " + verb(sum.Unsaid, "does", "do") + " not say", Href: fixHref(x, dlq.FixUnsaid, func(in dlq.FixIn) int64 { return in.Unsaid }), Title: "Their failure names no version of " + componentNames(x.Component)})
	}
	if live := x.Live(); len(x.Sources) == 1 && len(live) == 1 {
		facts = append(facts, components.Fact{Text: "live in " + titleOf(live[0].Source) + " since", Time: moment(live[0].Since)})
	}
	return facts
}

func withPart(x dlq.Fix, count func(dlq.FixIn) int64) []dlq.FixIn {
	return slices.DeleteFunc(slices.Clone(x.Sources), func(in dlq.FixIn) bool { return count(in) == 0 })
}

func fixHref(x dlq.Fix, part dlq.FixPart, count func(dlq.FixIn) int64) string {
	q := x.Query(part, withPart(x, count)...)
	if q == "" {
		return ""
	}
	return entriesHref(q)
}

func newFixSource(x dlq.Fix, in dlq.FixIn) cohort.FixSource {
	link := func(n int64, part dlq.FixPart) components.Link {
		l := components.Link{Text: grouped(n)}
		if q := x.Query(part, in); n > 0 && q != "" {
			l.Href = entriesHref(q)
		}
		return l
	}
	row := cohort.FixSource{Source: components.Link{Text: titleOf(in.Source), Href: sourceHref(in.Source)}, Replaced: link(in.Replaced, dlq.FixReplaced), Unsaid: link(in.Unsaid, dlq.FixUnsaid), Under: link(in.Under, dlq.FixUnder), Live: "not yet"}
	if !in.Since.IsZero() {
		row.Live, row.Since = "since", moment(in.Since)
	}
	return row
}

// newDeclareFix is the form that declares a fix, with what is wrong in place.
func newDeclareFix(frame layout.Model, c dlq.Cohort, d dlq.FixDeclaration, known []dlq.SeenVersion, faults []dlq.Fault) confirm.Model {
	wrong := map[string]string{}
	for _, f := range faults {
		wrong[f.Pointer] = sentence("%s", f.Detail)
	}
	var names, versions []components.Option
	met := map[string]bool{}
	for _, v := range known {
		if !met[v.Component] {
			met[v.Component] = true
			names = append(names, components.Option{Value: v.Component, Label: titleOf(v.Component)})
		}
		versions = append(versions, components.Option{Value: v.Version, Label: titleOf(v.Component)})
	}
	return confirm.Model{
		Layout: frame,
		Title:  "Declare a fix of " + titleOf(cohortTitle(c)),
		Lead:   "Say which version fixes it. Nothing is sent by that. Once the version is deployed, the cohort proposes to redrive what failed under every other version of the component.",
		Cancel: components.Link{Text: "Cancel", Href: cohortHref(c.ID) + "#fix"},
		Form: &components.Form{
			ID: "declare", CSRF: frame.CSRF, Action: cohortHref(c.ID) + "/fix", Submit: "Declare", Tone: components.Primary,
			Inputs: []components.Input{
				{Name: "component", Label: "Component", Value: d.Component, Required: true, Hint: "As your documents name it, such as parser.", Known: names, Error: wrong["/component"], Autocomplete: "off"},
				{Name: "version", Label: "Version", Value: d.Version, Required: true, Hint: "As the pipeline will report it. It need not run yet.", Known: versions, Error: wrong["/version"], Autocomplete: "off", Autofocus: true},
				{Name: "note", Label: "Note", Kind: components.InputArea, Value: d.Note, Hint: "What it changes, and what it does not. Up to 2,000 characters.", Error: wrong["/note"]},
				{Name: "link", Label: "Test or commit", Value: d.Link, Hint: "An address that begins with https:// or http://.", Error: wrong["/link"], Autocomplete: "off"},
			},
		},
	}
}

// suggestedFix is what the form begins with: a version that runs and that nothing
// failed under, else the component that most failures name.
func suggestedFix(c dlq.Cohort, known knownSources) dlq.FixDeclaration {
	if component, version, ok := liveFix(c, known.running); ok {
		return dlq.FixDeclaration{Component: component, Version: version}
	}
	if len(c.FailedUnder) > 0 {
		u := c.FailedUnder[0]
		return dlq.FixDeclaration{Component: mainComponent(u.Versions, known.running[u.Source])}
	}
	return dlq.FixDeclaration{}
}
