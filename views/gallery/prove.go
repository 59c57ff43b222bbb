package gallery

import (
	"context"
	"io"

	"dlo/views/components"

	"github.com/a-h/templ"
)

// The bar in each of its states, as handlers fill it.

const (
	planned   = components.StepPlanned
	next      = components.StepNext
	running   = components.StepRunning
	passed    = components.StepPassed
	failed    = components.StepFailed
	mixed     = components.StepMixed
	cancelled = components.StepCancelled
)

// dots makes the steps of 393 documents: states and notes in their order.
func dots(of ...components.Step) []components.Step {
	steps := []components.Step{{Label: "1"}, {Label: "5"}, {Label: "25"}, {Label: "100"}, {Label: "rest", Note: "262"}}
	for i, s := range of {
		label := steps[i].Label
		if s.Note == "" {
			s.Note = steps[i].Note
		}
		steps[i], steps[i].Label = s, label
	}
	return steps
}

func step(state components.StepState, note string, shares ...int) components.Step {
	s := components.Step{State: state, Note: note}
	if state == passed {
		s.Passed = 100
	}
	if state == failed {
		s.Failed = 100
	}
	for i, n := range shares {
		if i == 0 {
			s.Passed = n
		} else {
			s.Failed = n
		}
	}
	if state != planned && state != next {
		s.Href = "/operations/01K7Z?step=1"
	}
	return s
}

func press(label, path string, tone components.Tone) components.Action {
	return components.Action{Label: label, Href: "/operations/01K7Z/" + path, Tone: tone}
}

// asking is the bar before anything is sent.
func asking(id string) components.Prove {
	return components.Prove{
		ID: id, CSRF: csrf, Question: "Does parser 20251230 fix it?", Covered: "393 like these", Others: components.Link{Text: "16 under 20240706, not tested", Href: "/entries?q=parser:20240706"},
		Steps: dots(step(next, "")), Band: components.Band{High: 100, Label: "Nothing is known yet of 393 documents"},
		Headline: "Not tested.", Detail: "Send one: its stored copy tells whether parser 20251230 gets past this error.",
		Next: []components.Link{{Text: "Choose which bytes go", Href: "/confirm?action=redrive"}},
		Ask: &components.Form{ID: id + "-redrive", CSRF: csrf, Action: "/cohorts/01Kb/redrive",
			Fields: []components.Field{{Name: "expect", Value: "393"}, {Name: "q", Value: "cohort:01Kb parser:pdfminer.six@20221105"}},
			Inputs: []components.Input{{Name: "reason", Label: "Why", Value: "test of parser 20251230", Required: true, Suggestions: reasons(), Hint: "Stands in the audit trail and on each document."}}},
		Submits: []components.Submit{{Label: "Send one", Name: "send", Value: "steps", Tone: components.Primary, Key: "r"}},
		Skip: &components.Skip{Summary: "Skip the steps", Form: components.Form{ID: id + "-skip", CSRF: csrf, Action: "/cohorts/01Kb/redrive", Submit: "Redrive all 393",
			Inputs: []components.Input{{Name: "reason", Label: "Why the steps can be skipped", Required: true, Hint: "Nothing is proven yet. In your own words; it stands in the audit trail."}}}},
	}
}

func askProve() components.Prove { return asking("prove-bar") }

func cannotProve() components.Prove {
	p := askProve()
	p.Ask, p.Submits, p.Skip, p.Next = nil, nil, nil, nil
	p.Cannot, p.CannotDo = "wiki has no redrive target, so nothing can be sent.", components.Link{Text: "Look at its policy", Href: "/sources/wiki"}
	return p
}

// going is the bar of a redrive that is under way.
func going(id string) components.Prove {
	p := asking(id)
	p.Ask, p.Submits, p.Skip, p.Next = nil, nil, nil, []components.Link{{Text: "The operation", Href: "/operations/01K7Z"}}
	p.Refresh = "/cohorts/01Kb"
	p.Terms = "At most 8 in flight · waits for you after each step · stops at the first same failure"
	return p
}

func proving() *components.Prove {
	p := going("prove-bar")
	p.Steps = dots(step(passed, "passed"), step(running, "2 passed, 3 in flight", 40))
	p.Band = components.Band{Done: .8, Low: 44.3, High: 100, Least: "at least 44 %", Label: "Expected to get past this error: 44 to 100 percent of 393 documents"}
	p.Headline, p.Detail = "3 of 3 got past this error.", "Expect 171 to 390 of the 390 left to."
	p.Actions = []components.Action{press("Cancel", "cancel", components.Plain), press("Pause", "pause", components.Plain), press("Go on by itself", "go-on", components.Plain), press("Send next 25", "next", components.Primary)}
	return &p
}

func stoppedProof() *components.Prove {
	p := going("prove-bar")
	p.Tone = components.Bad
	p.Steps = dots(step(failed, "failed the same"))
	p.Band = components.Band{Low: 0, High: 79.3, Lost: .3, Label: "Expected to get past this error: 0 to 79 percent of 393 documents"}
	p.Headline, p.Detail, p.Terms = "Stopped at 1. 392 were not touched.", "New code still fails: parser 20251230 raised the same error.", ""
	p.Next = []components.Link{{Text: "Look at what failed", Href: "/operations/01K7Z?outcome=failed&step=1"}, {Text: "Declare another fix", Href: "/cohorts/01Kb/fix"}, {Text: "Split the cohort", Href: "/cohorts/01Kb/split"}, {Text: "The operation", Href: "/operations/01K7Z"}}
	p.Actions = []components.Action{press("Cancel", "cancel", components.Plain), press("Go on anyway", "resume", components.Plain)}
	return &p
}

// proveStates are all of them, by name.
func proveStates() map[string]components.Prove {
	out := map[string]components.Prove{}
	ask := func(name, headline, detail string, tone components.Tone, band components.Band) *components.Prove {
		p := asking(name)
		p.Headline, p.Detail, p.Tone, p.Band = headline, detail, tone, band
		out[name] = p
		return &p
	}
	again := func(name string, p *components.Prove) { out[name] = *p }
	known := func(low, high float64, least string) components.Band {
		return components.Band{Low: low, High: high, Least: least, Label: "Expected to get past this error"}
	}
	out["prove-none"] = asking("prove-none")
	p := ask("prove-proven", "3 of 3 got past this error.", "Expect 172 to 393 of 393 to.", components.Plain, known(43.8, 100, "at least 44 %"))
	p.Submits, p.Skip = []components.Submit{{Label: "Send one", Name: "send", Value: "steps"}, {Label: "Redrive the 393", Name: "send", Value: "all", Tone: components.Primary, Key: "r"}}, nil
	again("prove-proven", p)
	ask("prove-presumed", "Probably: 3 of 3 got past this error.", "Which version it ran under was not reported, or the evidence on the bytes is weak. Expect 172 to 393 of 393 to.", components.Plain, known(43.8, 100, "at least 44 %"))
	ask("prove-mixed", "Works for some: 3 of 5 got past this error.", "Two defects may reach the same frames. Look at what tells them apart before you send more.", components.Held, known(23, 88, "at least 23 %"))
	p = ask("prove-refuted", "Not fixed: 0 of 2 got past this error.", "What was sent failed in the same way again.", components.Bad, known(0, 65.8, ""))
	p.Next = stoppedProof().Next[:3]
	again("prove-refuted", p)
	ask("prove-lapsed", "Out of date: 3 of 3 got past this error.", "That was parser 20251230, which does not run any more. Send one to test what runs now.", components.Plain, components.Band{High: 100, Label: "Nothing is known yet of 393 documents"})
	p = ask("prove-transient", "Passes unchanged: 9 of 9.", "Nothing changed, and it passes all the same: the fix belongs in the retry layer's classifier.", components.Plain, components.Band{High: 100, Label: "Nothing is known yet of 393 documents"})
	p.Question = "Does it pass now?"
	again("prove-transient", p)
	out["prove-cannot"] = cannotProve()

	send := func(name string, steps []components.Step, band components.Band, headline, detail string, tone components.Tone, actions ...components.Action) *components.Prove {
		p := going(name)
		p.Steps, p.Band, p.Headline, p.Detail, p.Tone, p.Actions = steps, band, headline, detail, tone, actions
		out[name] = p
		return &p
	}
	pause, cancel, onward, rest := press("Pause", "pause", components.Plain), press("Cancel", "cancel", components.Plain), press("Go on by itself", "go-on", components.Plain), press("Redrive the rest", "next", components.Plain)
	at := func(done, low, high float64, least string) components.Band {
		return components.Band{Done: done, Low: low, High: high, Least: least, Label: "Expected to get past this error: " + least}
	}
	send("prove-step-1", dots(step(running, "1 in flight", 0)), components.Band{High: 100, Label: "Nothing is known yet of 393 documents"}, "Waiting for the first outcome.", "1 is still in flight. Its replay tells what to expect of the others.", components.Plain, cancel, pause, onward, press("Send next 5", "next", components.Primary))
	send("prove-between", dots(step(passed, "passed"), step(next, "")), at(.3, 21, 100, "at least 21 %"), "1 of 1 got past this error.", "Expect 81 to 392 of the 392 left to.", components.Plain, cancel, onward, rest, press("Send next 5", "next", components.Primary))
	out["prove-step-2"] = *proving()
	send("prove-step-3", dots(step(passed, "passed"), step(passed, "5 passed"), step(running, "12 passed, 13 in flight", 48)), at(4.6, 83, 100, "at least 83 %"), "18 of 18 got past this error.", "Expect 309 to 375 of the 375 left to.", components.Plain, cancel, pause, onward, rest, press("Send next 100", "next", components.Primary))
	send("prove-step-4", dots(step(passed, "passed"), step(passed, "5 passed"), step(mixed, "24 passed, 1 failed", 96, 4), step(running, "61 passed, 39 in flight", 61)), components.Band{Done: 23.2, Low: 93, High: 99.5, Lost: .3, Least: "at least 93 %", Label: "Expected to get past this error: 93 to 100 percent"}, "92 of 92 got past this error. 1 more got past it and failed on another.", "Expect 288 to 300 of the 300 left to.", components.Plain, cancel, pause, press("Ask before each step", "go-on", components.Plain), press("Redrive the rest", "next", components.Primary))
	send("prove-rest", dots(step(passed, "passed"), step(passed, "5 passed"), step(passed, "25 passed"), step(passed, "100 passed"), step(running, "120 passed, 8 in flight, 134 to be sent", 45)), at(63.9, 99, 100, "at least 99 %"), "251 of 251 got past this error.", "Expect 140 to 142 of the 142 left to.", components.Plain, cancel, pause)
	held := send("prove-target-down", dots(step(passed, "passed"), step(passed, "5 passed"), step(running, "20 passed, 5 in flight", 80)), at(6.6, 88, 100, "at least 88 %"), "Target down: 5 deliveries in a row failed.", "Tried again at 14:05 UTC. 26 of 26 got past this error.", components.Held, cancel, press("Go on when the target answers", "go-on", components.Plain), press("Go on now", "resume", components.Primary))
	held.Terms = "At most 8 in flight · goes on by itself · stops at the first same failure"
	again("prove-target-down", held)
	send("prove-time-out", dots(step(passed, "passed"), step(running, "2 passed, 3 in flight", 40)), at(.8, 44.3, 100, "at least 44 %"), "3 of step 2 have no outcome in the time that canaries have.", "Wait longer, or send the next step. 3 of 3 got past this error.", components.Held, cancel, press("Wait longer", "resume", components.Plain), press("Send next 25", "next", components.Primary))
	send("prove-paused", dots(step(passed, "passed"), step(running, "2 passed, 3 in flight", 40)), at(.8, 44.3, 100, "at least 44 %"), "Paused by reviewer@example.com. 3 are still in flight.", "3 of 3 got past this error. Expect 171 to 390 of the 390 left to.", components.Plain, cancel, press("Resume", "resume", components.Primary))
	out["prove-stopped"] = *stoppedProof()
	over := func(name string, steps []components.Step, band components.Band, headline, detail string, tone components.Tone) {
		p := send(name, steps, band, headline, detail, tone)
		p.Terms, p.Refresh = "", ""
		again(name, p)
	}
	over("prove-cancelled", dots(step(passed, "passed"), step(passed, "5 passed"), step(cancelled, "25 free again"), step(cancelled, "100 free again"), step(cancelled, "262 free again")), components.Band{Done: 1.5, Low: 1.5, High: 1.5, Label: "6 of 393 got in"}, "Cancelled: 6 done, 0 in flight, 387 not started and free again.", "6 of 6 got past this error.", components.Plain)
	over("prove-done", dots(step(passed, "passed"), step(passed, "5 passed"), step(passed, "25 passed"), step(passed, "100 passed"), step(passed, "262 passed")), components.Band{Done: 100, Low: 100, High: 100, Label: "393 of 393 got in"}, "393 of 393 got in.", "16 documents are still stuck here, and this says nothing of them.", components.Good)
	analyst := going("prove-analyst")
	analyst.Steps, analyst.Band, analyst.Headline, analyst.Detail = proving().Steps, proving().Band, proving().Headline, proving().Detail
	analyst.Cannot = "Analysts cannot redrive, quarantine or extend. Ask a reviewer and give them this page's address."
	out["prove-analyst"] = analyst
	long := going("prove-long")
	long.Question = "Does intake-parser-with-a-very-long-name@20251230.build.4711-rc.2+sha.5114f85 or intake-parser@20251231 fix it?"
	long.Covered, long.Others.Text = "1,204,393 like these", "16,117 under intake-parser-with-a-very-long-na…, not tested"
	long.Steps, long.Headline = dots(step(passed, "passed"), step(running, "2 passed, 1 failed, 1 without an outcome, 1 in flight", 40, 20)), "2 of 3 got past this error. 1 more got past it and failed on another."
	long.Steps[4].Note = "1,204,262"
	long.Band, long.Actions, long.Skip = at(0, 20, 94, "at least 20 %"), proving().Actions, asking("prove-long").Skip
	out["prove-long"] = long
	return out
}

func proveItems() []Item {
	order := []string{"prove-none", "prove-proven", "prove-presumed", "prove-mixed", "prove-refuted", "prove-lapsed", "prove-transient", "prove-cannot", "prove-step-1", "prove-between", "prove-step-2", "prove-step-3", "prove-step-4", "prove-rest",
		"prove-target-down", "prove-time-out", "prove-paused", "prove-stopped", "prove-cancelled", "prove-done", "prove-analyst", "prove-long"}
	states := proveStates()
	var items []Item
	for _, name := range order {
		items = append(items, part(name, components.ProveOf(states[name])))
	}
	return append(items, part("prove-small", smallProves()))
}

// smallProves are the bars of rows, one under the other.
func smallProves() templ.Component {
	rows := []components.SmallProve{
		{Word: "Not tested", Tone: components.Quiet},
		{Steps: dots(step(passed, ""), step(passed, ""), step(running, "")), Word: "Fix works · 6 of 6", Href: "/cohorts/01Kb#prove"},
		{Steps: dots(step(passed, ""), step(next, "")), Word: "Probably works · 1 of 1", Href: "/cohorts/01Kb#prove"},
		{Steps: dots(step(failed, "")), Word: "Stopped at 1", Tone: components.Bad, Href: "/cohorts/01Kb#prove", Title: "392 were not touched"},
		{Steps: dots(step(passed, ""), step(mixed, "")), Word: "Works for some · 3 of 5", Href: "/cohorts/01Kb#prove"},
	}
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		for _, r := range rows {
			if err := components.SmallProveOf(r).Render(ctx, w); err != nil {
				return err
			}
		}
		return nil
	})
}
