package handlers

import (
	"net/url"
	"slices"
	"strconv"

	"dlo/dlq"
	"dlo/dlq/regroup"
	"dlo/views/cohort"
	"dlo/views/components"
	"dlo/views/layout"
	view "dlo/views/regroup"
)

// groupingNames are the cohorts that a page names beside its own.
func groupingNames(g dlq.Grouping) []string {
	var names []string
	add := func(id string) {
		if id != "" && !slices.Contains(names, id) {
			names = append(names, id)
		}
	}
	add(g.SplitFrom)
	for _, r := range g.Rules {
		add(r.CohortID)
		for _, id := range r.Others {
			add(id)
		}
	}
	return names[:min(len(names), 40)]
}

// newGrouping is how the cohort came to be, and what could be decided about it.
func newGrouping(f cohortFacts) cohort.Grouping {
	g := cohort.Grouping{CSRF: f.csrf}
	may := f.by.May(dlq.MayDecide) && f.grouping.Whole
	if from := f.grouping.SplitFrom; from != "" {
		n := components.Notice{Tone: components.Info, Title: "This is a part of another cohort."}
		if f.grouping.Part != "" && f.grouping.Whole {
			n.Title = "This is a part of another cohort: " + shownLine(f.grouping.Part, 200).String() + "."
		}
		if c, visible := f.others[from]; visible {
			n.Links = []components.Link{{Text: "See what it was split from", Href: cohortHref(c.ID)}}
		}
		g.Notices = append(g.Notices, n)
	}
	undoable := true // the newest rule in force; older ones wait for it
	for _, r := range f.grouping.Rules {
		if r.State == dlq.GroupingMoving {
			g.Poll = cohortHref(f.cohort.ID) + "/grouping"
			g.Notices = append(g.Notices, components.Notice{Tone: components.Info, Title: "A split is moving its documents: " + grouped(r.Moved) + " moved so far.", Text: "New failures follow it already. Counts settle when it is done."})
		}
		if !f.grouping.Whole {
			continue
		}
		row := cohort.Rule{Event: ruleEvent(f, r), Lines: ruleLines(f, r)}
		if r.State != dlq.GroupingUndone {
			if may && undoable {
				row.Undo = &components.Form{ID: "undo-" + r.ID, CSRF: f.csrf, Action: cohortHref(f.cohort.ID) + "/undo", Submit: "Undo this " + string(r.Kind), Fields: []components.Field{{Name: "rule", Value: r.ID}}}
			}
			undoable = false
		}
		g.Rules = append(g.Rules, row)
	}
	for _, c := range f.alike {
		g.Suggestions = append(g.Suggestions, cohort.Suggestion{Title: cohortLine(c), Href: cohortHref(c.ID), Why: "the same type and message, and two frames or more; " + grouped(c.Parked()) + " stuck"})
	}
	if may && len(f.alike) > 0 {
		g.Merge = components.Link{Text: "Merge…", Href: cohortHref(f.cohort.ID) + "/merge"}
	}
	return g
}

// cohortLine names a cohort in a line: its type and its message.
func cohortLine(c dlq.Cohort) components.Text {
	text := cohortTitle(c)
	if c.Template != "" && c.Template != text {
		text += ": " + c.Template
	}
	return shownLine(text, 200)
}

func ruleEvent(f cohortFacts, r dlq.GroupingRule) components.Event {
	e := components.Event{Who: r.Actor, When: moment(r.MadeAt), Tone: components.Plain}
	switch {
	case r.Kind == dlq.GroupingMerge && r.CohortID == f.cohort.ID:
		e.Text = "merged " + counted(len(r.Others), "cohort", "cohorts") + " into this one"
	case r.Kind == dlq.GroupingMerge:
		e.Text = "merged this one into another"
	case r.CohortID == f.cohort.ID:
		e.Text = "split it by " + r.By.Words()
	default:
		e.Text = "split it off another cohort, by " + r.By.Words()
		e.Link = components.Link{Text: "the other", Href: cohortHref(r.CohortID)}
	}
	if r.State == dlq.GroupingUndone {
		e.Text += "; undone by " + r.UndoneBy
		e.Tone = components.Quiet
	}
	return e
}

// ruleLines say where each value of a split went.
func ruleLines(f cohortFacts, r dlq.GroupingRule) []components.KV {
	if r.Kind != dlq.GroupingSplit || r.State == dlq.GroupingUndone || r.CohortID != f.cohort.ID {
		return nil
	}
	var lines []components.KV
	for _, v := range r.Values {
		kv := components.KV{Key: "goes out", Value: shownLine(splitWords(v.Value), 200), Mono: true}
		if c, visible := f.others[v.CohortID]; visible {
			kv.Href = cohortHref(c.ID)
			kv.Note = grouped(c.Parked()) + " stuck there"
		}
		lines = append(lines, kv)
	}
	return lines
}

// splitWords shows a value; a failure may say nothing of an attribute.
func splitWords(value string) string {
	if value == "" {
		return "not said"
	}
	return value
}

// splitFacts is what the page of a split is made from.
type splitFacts struct {
	frame      layout.Model
	cohort     dlq.Cohort
	grouping   dlq.Grouping
	attributes []regroup.Attribute
	looked     int
	more       bool
	typed      splitTyped
	faults     []dlq.Fault
}

// chosen is the attribute that the page shows: the one that was asked for, else
// the one with the fewest values, which is the likeliest to be two defects.
func (f splitFacts) chosen() *regroup.Attribute {
	var best *regroup.Attribute
	for i, a := range f.attributes {
		if a.By.String() == f.typed.by {
			return &f.attributes[i]
		}
		if best == nil || len(a.Values) < len(best.Values) {
			best = &f.attributes[i]
		}
	}
	return best
}

func newSplitPage(f splitFacts) view.Model {
	href := cohortHref(f.cohort.ID)
	m := view.Model{Layout: f.frame, Title: "Split " + titleOf(cohortTitle(f.cohort)), ChoicesLabel: "Split by", Cancel: components.Link{Text: "Cancel", Href: href},
		Lead: "Two defects can reach the same frames. Choose what tells them apart: what you tick goes into a cohort of its own, the rest stays. New failures follow, and you can undo it."}
	chosen := f.chosen()
	if chosen == nil {
		m.Empty = &components.Empty{Title: "Nothing tells its documents apart", Text: "Message template, deeper frames, failed rules, content type and versions are the same in all that were looked at.", Links: []components.Link{{Text: "Back to the cohort", Href: href}}}
		return m
	}
	if f.typed.by != "" && f.typed.by != chosen.By.String() {
		m.Notices = append(m.Notices, components.Notice{Tone: components.Info, Title: "The documents that are open now are alike in what you asked for.", Text: "They can be told apart by what is chosen below."})
	}
	for _, a := range f.attributes {
		m.Choices = append(m.Choices, components.Chip{Text: sentenceStart(a.By.Words()), Count: grouped(len(a.Values)), Href: href + "/split?by=" + url.QueryEscape(a.By.String()), On: a.By == chosen.By})
	}
	wrong := map[string]string{}
	for _, fault := range f.faults {
		wrong[fault.Pointer] = sentence("%s", fault.Detail)
	}
	values := components.Input{Kind: components.InputChecks, Name: "value", Label: "Goes out", Error: wrong["/values"]}
	for _, v := range f.typed.splitOptions(chosen.Values) {
		values.Options = append(values.Options, components.Option{Value: v.Text, Text: shownLine(splitWords(v.Text), 300), Hint: documents(v.Documents), On: f.typed.ticked(v.Text)})
	}
	m.Note = splitNote(f, *chosen)
	grouping := f.grouping.State
	if f.typed.grouping != 0 {
		grouping = f.typed.grouping
	}
	m.Form = &components.Form{ID: "split", CSRF: f.frame.CSRF, Action: href + "/split", Submit: "Split", Tone: components.Primary, Error: wrong["/by"],
		Fields: []components.Field{{Name: "by", Value: chosen.By.String()}, {Name: "grouping", Value: strconv.FormatInt(grouping, 10)}},
		Inputs: []components.Input{values,
			{Kind: components.InputCheck, Name: "together", Value: "1", Label: "Into one cohort together", On: f.typed.together, Hint: "Else each value gets a cohort of its own."},
			{Kind: components.InputArea, Name: "reason", Label: "Reason", Value: f.typed.reason, Required: true, Error: wrong["/reason"], Hint: "It stays with the rule."}}}
	return m
}

func splitNote(f splitFacts, a regroup.Attribute) string {
	note := "Counted among the " + counted(f.looked, "open document", "open documents") + "."
	if f.more {
		note = "Counted among the newest " + counted(f.looked, "open document", "open documents") + " only; a split moves all."
	}
	if n := len(a.Values) - dlq.MostSplitValues; n > 0 {
		note += " " + counted(n, "more value is", "more values are") + " not shown."
	}
	return note
}

// mergeFacts is what the page of a merge is made from.
type mergeFacts struct {
	frame    layout.Model
	cohort   dlq.Cohort
	grouping dlq.Grouping
	alike    []dlq.Cohort
	found    []dlq.Cohort
	more     bool
	typed    mergeTyped
	faults   []dlq.Fault
}

func newMergePage(f mergeFacts) view.Model {
	href := cohortHref(f.cohort.ID)
	m := view.Model{Layout: f.frame, Title: "Merge into " + titleOf(cohortTitle(f.cohort)), Cancel: components.Link{Text: "Cancel", Href: href},
		Lead:   "What you tick becomes part of this cohort, whose owner, ticket and runbook lead. New failures follow, replays count for both, and you can undo it.",
		Search: &view.Search{Action: href + "/merge", Inputs: []components.Input{{Name: "find", Label: "Find a cohort", Value: f.typed.text, Hint: "By type, message or frame, an id or a fingerprint. Empty: those of the same type."}}}}
	wrong := map[string]string{}
	for _, fault := range f.faults {
		pointer := fault.Pointer
		if len(pointer) > len("/cohorts") && pointer[:len("/cohorts")] == "/cohorts" {
			pointer = "/cohorts"
		}
		wrong[pointer] = sentence("%s", fault.Detail)
	}
	others := components.Input{Kind: components.InputChecks, Name: "cohort", Label: "Becomes part of this one", Error: wrong["/cohorts"]}
	add := func(list []dlq.Cohort, why string) {
		for _, c := range list {
			known := slices.ContainsFunc(others.Options, func(o components.Option) bool { return o.Value == c.ID })
			if c.ID == f.cohort.ID || known {
				continue
			}
			others.Options = append(others.Options, components.Option{Value: c.ID, Text: cohortLine(c), Label: titleOf(c.Frame), Hint: grouped(c.Parked()) + " stuck, " + counted(c.Arrivals, "failure", "failures") + " in all" + why, On: slices.Contains(f.typed.others, c.ID)})
		}
	}
	add(f.alike, "; looks like the same defect")
	add(f.found, "")
	if len(others.Options) == 0 {
		m.Empty = &components.Empty{Title: "No other cohort matches", Text: "Look for a word of its message, its frame, or paste its id."}
		return m
	}
	if f.more {
		m.Note = "The largest " + grouped(candidatesMost) + " that match; there are more. Look for a longer word."
	}
	grouping := f.grouping.State
	if f.typed.grouping != 0 {
		grouping = f.typed.grouping
	}
	m.Form = &components.Form{ID: "merge", CSRF: f.frame.CSRF, Action: href + "/merge", Submit: "Merge", Tone: components.Primary,
		Fields: []components.Field{{Name: "grouping", Value: strconv.FormatInt(grouping, 10)}, {Name: "find", Value: f.typed.text}},
		Inputs: []components.Input{others, {Kind: components.InputArea, Name: "reason", Label: "Reason", Value: f.typed.reason, Required: true, Error: wrong["/reason"], Hint: "It stays with the rule."}}}
	return m
}

// partTag tells a part from the cohort that it was split from, which has the same
// name. What it says may quote a document, and is for somebody who sees all.
func partTag(c dlq.Cohort, by dlq.Actor) components.Tag {
	if c.Part == "" || len(by.Sources) > 0 {
		return components.Tag{}
	}
	return components.Tag{Text: "part: " + shownLine(c.Part, 80).String(), Tone: components.Info, Title: "Split off another cohort: " + shownLine(c.Part, 200).String()}
}
