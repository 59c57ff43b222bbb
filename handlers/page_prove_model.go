package handlers

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/dlq/redrive"
	"dlo/views/components"
	"dlo/views/operation"
	"dlo/web"
)

// proveFacts is what the bar is made from: on a cohort's page what is known of its
// fix and the redrive that was started about it, if there is one to be shown; on
// an operation's page that one.
type proveFacts struct {
	cohort dlq.Cohort // zero where the operation is about no cohort that the viewer may see
	known  knownSources
	proofs dlq.CohortProof
	past   []components.Link // the defects that documents failed on after they got past this one
	op     dlq.Operation
	hasOp  bool
	steps  []dlq.OperationStep
	now    time.Time
	proof  dlq.Proof // what the replays of the operation's step say by now
	paused string    // by whom all redrives are
	by     dlq.Actor
	csrf   string
	here   string // the page to come back to
	large  bool
}

// provePlan is what the bar would send.
type provePlan struct {
	proof     dlq.Proof
	query     string // of the documents that the proof covers; empty: the language cannot say it
	documents int64
	others    components.Link
}

// showsOperation says whether the bar is about a redrive that was begun, and not
// about one to begin: it is open, or it ended and left nothing that a new one
// would ask the same of, and no new version asks anything.
func (f proveFacts) showsOperation() bool {
	switch {
	case !f.hasOp:
		return false
	case !f.op.State.Ended():
		return true
	case f.op.State == dlq.OperationCancelled && f.op.Sent() == 0:
		return false // nothing came of it
	}
	shown := f.proofs.Shown()
	if shown.Covers > 0 && shown.Step.Known() {
		return false
	}
	return f.cohort.Parked() == 0 || !slices.ContainsFunc(f.proofs.Proofs, func(p dlq.Proof) bool {
		return p.Covers > 0 && f.op.Proof != nil && p.Step.Key() == f.op.Proof.Step.Key()
	})
}

// newProve is the bar.
func newProve(f proveFacts) components.Prove {
	if f.showsOperation() {
		return proveOperation(f)
	}
	return proveAsk(f)
}

// --- Before anything is sent

func planOf(f proveFacts) provePlan {
	p := provePlan{proof: f.proofs.Shown()}
	p.documents = p.proof.Covers
	if len(p.proof.Groups) == 0 { // nothing is known of what they failed under
		p.documents = f.cohort.Parked()
	}
	p.query, _ = groupsQuery(f.cohort, p.proof.Groups)
	p.others = othersLink(f, p.proof.Step, p.documents)
	return p
}

// groupsQuery says in the query language which documents of a cohort failed in
// some sources under some sets of versions; false where it cannot.
func groupsQuery(c dlq.Cohort, groups []dlq.VersionCount) (string, bool) {
	in := func(list []dlq.VersionCount, g dlq.VersionCount) bool {
		return slices.ContainsFunc(list, func(o dlq.VersionCount) bool {
			return o.Source == g.Source && o.Versions.Canonical() == g.Versions.Canonical()
		})
	}
	parked := slices.DeleteFunc(slices.Clone(c.FailedUnder), func(g dlq.VersionCount) bool { return g.Parked == 0 })
	groups = slices.DeleteFunc(slices.Clone(groups), func(g dlq.VersionCount) bool { return g.Parked == 0 })
	terms := []string{"status:parked"}
	exact := func(keep func(dlq.VersionCount) bool) bool {
		return !slices.ContainsFunc(parked, func(g dlq.VersionCount) bool { return keep(g) != in(groups, g) })
	}
	all := func(dlq.VersionCount) bool { return true }
	if len(groups) == 0 || exact(all) {
		return cohortQuery(c.ID, terms...), true
	}
	keep := all
	narrow := func(key string, of func(dlq.VersionCount) (string, bool)) {
		var values []string
		for _, g := range groups {
			v, named := of(g)
			if !named || strings.ContainsRune(v, '"') || strings.HasPrefix(v, "!") {
				return
			}
			if !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		slices.Sort(values)
		before := keep
		now := func(g dlq.VersionCount) bool { v, _ := of(g); return before(g) && slices.Contains(values, v) }
		if len(values) > termValuesMost || !slices.ContainsFunc(parked, func(g dlq.VersionCount) bool { return before(g) != now(g) }) {
			return
		}
		quoted := make([]string, len(values))
		for i, v := range values {
			quoted[i] = dlq.QuoteValue(v)
		}
		keep, terms = now, append(terms, key+":"+strings.Join(quoted, ","))
	}
	for _, component := range componentsByWeight {
		if exact(keep) {
			break
		}
		narrow(component, func(g dlq.VersionCount) (string, bool) { v, named := g.Versions[component]; return v, named })
	}
	if !exact(keep) {
		narrow("source", func(g dlq.VersionCount) (string, bool) { return g.Source, true })
	}
	if !exact(keep) {
		return "", false
	}
	return cohortQuery(c.ID, terms...), true
}

// othersLink are the stuck documents that the proof of a step says nothing of.
func othersLink(f proveFacts, step dlq.VersionStep, covered int64) components.Link {
	n := f.cohort.Parked() - covered
	if n <= 0 {
		return components.Link{}
	}
	var others []dlq.VersionCount
	names := map[string]bool{}
	tested := false
	for _, o := range f.proofs.Proofs {
		if o.Step.Key() == step.Key() {
			continue
		}
		tested = tested || o.State != dlq.ProofNone && o.Covers > 0
		for _, g := range o.Groups {
			if g.Parked > 0 {
				others = append(others, g)
				main := mainComponent(g.Versions, f.known.running[g.Source])
				names[shortVersion(g.Versions[main])] = true
			}
		}
	}
	words := grouped(n) + " under other versions"
	if len(names) == 1 {
		for name := range names {
			if name != "" {
				words = grouped(n) + " under " + shownLine(name, 40).String()
			}
		}
	}
	if !tested {
		words += ", not tested"
	}
	link := components.Link{Text: words}
	if q, ok := groupsQuery(f.cohort, others); ok && len(others) > 0 {
		link.Href = entriesHref(q)
	}
	return link
}

// stepQuestion asks what a step of versions is about.
func stepQuestion(s dlq.VersionStep) string {
	switch {
	case s.Known():
		return "Does " + stepName(s) + " fix it?"
	case s.None():
		return "Does it pass now?"
	}
	return "Does the code that runs now fix it?"
}

// stepName is what a step led to: "parser 20251230". The program's own name stands
// in many versions already.
func stepName(s dlq.VersionStep) string {
	parts := make([]string, len(s.Moved))
	for i, m := range s.Moved {
		parts[i] = withComponent(m.Component, strings.Join(m.To, " or "))
	}
	if n := len(parts); n > 1 {
		parts = []string{strings.Join(parts[:n-1], ", ") + " and " + parts[n-1]}
	}
	return shownLine(strings.Join(parts, ""), 80).String()
}

// proveAsk is the bar before anything is sent.
func proveAsk(f proveFacts) components.Prove {
	c, plan := f.cohort, planOf(f)
	p := components.Prove{ID: "prove-bar", CSRF: f.csrf, Question: stepQuestion(plan.proof.Step), Covered: grouped(plan.documents) + " like these", Others: plan.others, Large: f.large}
	if plan.others.Text == "" {
		p.Covered = counted(plan.documents, "document", "documents") + " stuck"
	}
	if c.Parked() == 0 {
		p.Question, p.Covered, p.Others = "Nothing is stuck here now", "", components.Link{}
		p.Headline = "So there is nothing to redrive."
		return p
	}
	p.Steps = plannedDots(dlq.StepSizes(plan.documents, redrive.DefaultCanary))
	p.Band = bandOf(plan.proof, plan.documents, 0, 0)
	p.Headline, p.Detail, p.Tone = askWords(plan)
	p.Next = helpLinks(f, plan.proof)
	source, any := "", false
	for _, name := range c.Sources {
		if _, visible := f.known.byName[name]; visible && source == "" {
			source = name
		}
		any = any || f.known.hasTarget(name)
	}
	switch {
	case !any && source != "":
		p.Cannot, p.CannotDo = titleOf(source)+" has no redrive target, so nothing can be sent.", components.Link{Text: "Look at its policy", Href: sourceHref(source)}
	case !f.by.May(dlq.MayDecide):
		p.Cannot = roleCannot(f.by.Role)
	case plan.query == "":
		p.Cannot, p.CannotDo = "The query language cannot say which documents these are, so choose them in the list below.", components.Link{Text: "To the documents", Href: "#documents-title"}
	default:
		p.Ask, p.Submits, p.Skip = askForm(f, plan)
		p.Next = append(p.Next, components.Link{Text: "Choose which bytes go", Href: confirmHref(dlq.OperationRedrive, plan.query, plan.documents, f.here)})
	}
	return p
}

// askWords say what is known, and what one more replay would tell.
func askWords(plan provePlan) (headline, detail string, tone components.Tone) {
	p := plan.proof
	expect := expectWords(p, plan.documents)
	switch p.State {
	case dlq.ProofProven:
		return passedWords(p), expect, components.Plain
	case dlq.ProofPresumed:
		return "Probably: " + passedWords(p), "Which version it ran under was not reported, or the evidence on the bytes is weak. " + expect, components.Plain
	case dlq.ProofMixed:
		return "Works for some: " + passedWords(p), "Two defects may reach the same frames. Look at what tells them apart before you send more.", components.Held
	case dlq.ProofRefuted:
		return "Not fixed: " + passedWords(p), "What was sent failed in the same way again.", components.Bad
	case dlq.ProofLapsed:
		return "Out of date: " + passedWords(p), "That was " + stepName(p.Step) + ", which does not run any more. Send one to test what runs now.", components.Plain
	case dlq.ProofLooksTransient:
		return "Passes unchanged: " + grouped(p.Passed) + " of " + grouped(p.Of) + ".", "Nothing changed, and it passes all the same: the fix belongs in the retry layer's classifier.", components.Plain
	}
	switch {
	case p.Step.Known():
		detail = "Send one: its stored copy tells whether " + stepName(p.Step) + " gets past this error."
	case p.Step.None():
		detail = "No version that these failed under is known to have been replaced, so a replay may only fail again."
	case p.Step.Unnamed:
		detail = "These failures name no version, so a pass would only be presumed to be the code's."
	default:
		detail = "Nobody reported what runs now, so a pass would only be presumed to be the code's."
	}
	return "Not tested.", detail, components.Plain
}

// passedWords: "3 of 3 got past this error."
func passedWords(p dlq.Proof) string {
	words := grouped(p.Passed) + " of " + grouped(p.Of) + " got past this error."
	if p.Past > 0 {
		words += " " + grouped(p.Past) + " more got past it and failed on another."
	}
	return words
}

// expectWords: "Expect 171 to 390 of 390 to." Nothing without replays that count.
func expectWords(p dlq.Proof, of int64) string {
	if p.Of == 0 || of == 0 {
		return ""
	}
	low, high := expected(p, of)
	if low == high {
		return "Expect " + grouped(low) + " of " + grouped(of) + " to."
	}
	return "Expect " + grouped(low) + " to " + grouped(high) + " of " + grouped(of) + " to."
}

func expected(p dlq.Proof, of int64) (low, high int64) {
	l, h := dlq.Wilson(p.Passed, p.Of)
	return int64(l*float64(of) + .5), int64(h*float64(of) + .5)
}

// helpLinks are what to do about a fix that does not work, or not for all.
func helpLinks(f proveFacts, p dlq.Proof) []components.Link {
	var links []components.Link
	if p.State == dlq.ProofRefuted || p.State == dlq.ProofMixed || f.op.State == dlq.OperationStopped {
		if f.hasOp && f.op.State == dlq.OperationStopped {
			links = append(links, components.Link{Text: "Look at what failed", Href: itemsHref(f.op.ID, itemChoice{outcome: dlq.OutcomeFailed, step: f.op.Step}, 0)})
		} else if f.cohort.ID != "" {
			links = append(links, components.Link{Text: "Look at what failed", Href: cohortHref(f.cohort.ID) + "#replays"})
		}
		if f.cohort.ID != "" && f.by.May(dlq.MayDecide) {
			links = append(links, components.Link{Text: "Declare another fix", Href: cohortHref(f.cohort.ID) + "/fix"}, components.Link{Text: "Split the cohort", Href: cohortHref(f.cohort.ID) + "/split"})
		}
	}
	for _, l := range f.past {
		links = append(links, components.Link{Text: "Failed on next: " + l.Text, Href: l.Href})
	}
	return links
}

// The choices of what the first press sends, as the form says them.
const (
	sendSteps = "steps"
	sendAll   = "all"
)

// askForm asks for the first step, and beside it for everything: at once where a
// proof lets the steps be skipped, and else behind a fold, with a reason that is
// typed.
func askForm(f proveFacts, plan provePlan) (*components.Form, []components.Submit, *components.Skip) {
	fields := []components.Field{{Name: "q", Value: plan.query}, {Name: "expect", Value: strconv.FormatInt(plan.documents, 10)}, {Name: "state", Value: string(plan.proof.State)}}
	form := &components.Form{ID: "redrive", CSRF: f.csrf, Action: cohortHref(f.cohort.ID) + "/redrive", Fields: fields,
		Inputs: []components.Input{{Name: "reason", Label: "Why", Value: reasonFor(plan.proof), Required: true, Suggestions: confirmReasons, Autocomplete: "off", Hint: "Stands in the audit trail and on each document."}}}
	one := components.Submit{Label: "Send one", Name: "send", Value: sendSteps, Tone: components.Primary, Key: "r", Why: "One whose stored copy tests the code. Then 5, 25, 100 and the rest, each when you say so; it stops at the first that fails the same way"}
	if plan.documents == 1 {
		one.Label, one.Why = "Send it", ""
		return form, []components.Submit{one}, nil
	}
	if plan.proof.State == dlq.ProofProven {
		one.Tone, one.Key = components.Plain, ""
		all := components.Submit{Label: "Redrive the " + grouped(plan.documents), Name: "send", Value: sendAll, Tone: components.Primary, Key: "r", Why: "Without the steps between, because the fix is proven"}
		return form, []components.Submit{one, all}, nil
	}
	skip := &components.Skip{Summary: "Skip the steps", Form: components.Form{ID: "skip", CSRF: f.csrf, Action: form.Action, Submit: "Redrive all " + grouped(plan.documents), Tone: components.Plain,
		Fields: append(slices.Clone(fields), components.Field{Name: "send", Value: sendAll}), Inputs: []components.Input{skipInput()}}}
	return form, []components.Submit{one}, skip
}

func skipInput() components.Input {
	return components.Input{Name: "reason", Label: "Why the steps can be skipped", Required: true, Autocomplete: "off", Hint: "Nothing is proven yet. In your own words; it stands in the audit trail."}
}

// reasonFor is what stands in the field at first. It can be typed over.
func reasonFor(p dlq.Proof) string {
	switch {
	case p.State == dlq.ProofProven:
		return "fix deployed"
	case p.Step.Known():
		return "test of " + stepName(p.Step)
	}
	return ""
}

// --- While it goes, and when it is over

func proveOperation(f proveFacts) components.Prove {
	o := f.op
	p := components.Prove{ID: "prove-bar", CSRF: f.csrf, Question: "Does it pass now?", Covered: documents(o.Total), Large: f.large, Tone: components.Plain}
	if o.Proof != nil {
		p.Question, p.Covered = stepQuestion(o.Proof.Step), grouped(o.Total)+" like these"
		p.Others = othersLink(f, o.Proof.Step, remaining(f))
	}
	p.Steps = operationDots(f)
	p.Band = operationBand(f)
	p.Headline, p.Detail = operationHeadline(f)
	p.Terms = operationPace(f)
	switch {
	case o.State == dlq.OperationStopped:
		p.Tone = components.Bad
	case o.State == dlq.OperationDone:
		p.Tone = components.Good
	case o.State == dlq.OperationPaused && (o.Asks == dlq.AsksTarget || o.Asks == dlq.AsksTimeOut):
		p.Tone = components.Held
	}
	p.Next = helpLinks(f, dlq.Proof{})
	if !f.large {
		p.Next = append(p.Next, components.Link{Text: "The operation", Href: operationHref(o.ID)})
	}
	if !o.State.Ended() {
		p.Refresh = f.here
		p.Actions, p.Skip = proveActions(f)
		if len(p.Actions) == 0 && o.State != dlq.OperationPreparing {
			p.Cannot = roleCannot(f.by.Role)
		}
	}
	return p
}

// remaining are the parked documents of the cohort that the operation's step
// covers.
func remaining(f proveFacts) int64 {
	var n int64
	for _, p := range f.proofs.Proofs {
		if f.op.Proof != nil && p.Step.Key() == f.op.Proof.Step.Key() {
			n += p.Covers
		}
	}
	return n
}

// plannedDots are the steps of a redrive that was not begun.
func plannedDots(sizes []int64) []components.Step {
	var dots []components.Step
	for i, n := range sizes {
		dots = append(dots, components.Step{Label: stepLabel(sizes, i), Note: restNote(sizes, i, n)})
	}
	if len(dots) > 0 {
		dots[0].State = components.StepNext
	}
	return dots
}

func stepLabel(sizes []int64, i int) string {
	if i == len(sizes)-1 && len(sizes) > 1 {
		return "rest"
	}
	return grouped(sizes[i])
}

func restNote(sizes []int64, i int, n int64) string {
	if i == len(sizes)-1 && len(sizes) > 1 {
		return grouped(n)
	}
	return ""
}

// operationDots are the steps of a redrive with what came of each.
func operationDots(f proveFacts) []components.Step {
	o := f.op
	sizes := o.Sizes
	if len(sizes) == 0 {
		sizes = []int64{o.Total}
	}
	by := map[int]dlq.OperationStep{}
	for _, s := range f.steps {
		by[s.Step] = s
	}
	dots := make([]components.Step, len(sizes))
	for i := range sizes {
		step := by[i+1]
		d := components.Step{Label: stepLabel(sizes, i), Href: itemsHref(o.ID, itemChoice{step: i + 1}, 0)}
		t := tallyOf(step)
		d.Passed, d.Failed = t.shares()
		switch {
		case o.State == dlq.OperationCancelled && t.of == t.waiting: // the slices that free them may still run
			d.State, d.Note = components.StepCancelled, grouped(t.cancelled+t.waiting)+" free again"
		case t.of == 0 && step.Counts[dlq.ItemLeftOut] > 0:
			d.State, d.Note = components.StepCancelled, "left out"
		case i+1 > o.Step:
			d.Note = restNote(sizes, i, cmp.Or(t.of, sizes[i]))
			if i == o.Step && o.State == dlq.OperationPaused && (o.Asks == dlq.AsksStep || o.Asks == dlq.AsksTimeOut) {
				d.State = components.StepNext
			}
		default:
			d.State, d.Note = t.state(o, i+1), t.words(o, i+1)
		}
		dots[i] = d
	}
	return dots
}

// stepTally is where the documents of one step stand.
type stepTally struct {
	of, passed, failed, silent, flying, waiting, cancelled int64
}

func tallyOf(s dlq.OperationStep) stepTally {
	t := stepTally{flying: s.Counts[dlq.ItemInFlight], waiting: s.Counts[dlq.ItemWaiting], cancelled: s.Counts[dlq.ItemCancelled]}
	for outcome, n := range s.Outcomes {
		switch {
		case outcome.Success():
			t.passed += n
		case outcome == dlq.OutcomeFailed:
			t.failed += n
		default:
			t.silent += n
		}
	}
	t.of = t.passed + t.failed + t.silent + t.flying + t.waiting
	return t
}

func (t stepTally) shares() (passed, failed int) {
	if t.of == 0 {
		return 0, 0
	}
	passed = int(100 * t.passed / t.of)
	failed = int(100 * t.failed / t.of)
	if t.failed > 0 && failed < 4 {
		failed = min(4, 100-passed) // one of a thousand is seen all the same
	}
	return passed, min(failed, 100-passed)
}

func (t stepTally) state(o dlq.Operation, step int) components.StepState {
	switch {
	case o.State == dlq.OperationStopped && step == o.Step && t.failed > 0:
		return components.StepFailed
	case t.flying > 0 || t.waiting > 0 && !o.State.Ended():
		return components.StepRunning
	case t.failed > 0 && t.passed == 0:
		return components.StepFailed
	case t.failed > 0 || t.silent > 0:
		return components.StepMixed
	case t.passed > 0:
		return components.StepPassed
	}
	return components.StepPlanned
}

// words: "2 passed, 3 in flight".
func (t stepTally) words(o dlq.Operation, step int) string {
	var parts []string
	add := func(n int64, words string) {
		if n > 0 {
			parts = append(parts, grouped(n)+" "+words)
		}
	}
	same := o.StoppedAtSame() && step == o.Step
	if t.of == 1 && t.passed == 1 {
		return "passed"
	}
	if t.of == 1 && t.failed == 1 && same {
		return "failed the same"
	}
	add(t.passed, "passed")
	if same {
		add(t.failed, "failed the same")
	} else {
		add(t.failed, "failed")
	}
	add(t.silent, "without an outcome")
	add(t.flying, "in flight")
	add(t.waiting, "to be sent")
	add(t.cancelled, "free again")
	return strings.Join(parts, ", ")
}

// operationBand is the forecast of an operation: what is settled stands at its
// ends, and the forecast covers what is between.
func operationBand(f proveFacts) components.Band {
	o := f.op
	all := o.Total - o.Counts[dlq.ItemLeftOut]
	var passed, failed int64
	for _, s := range f.steps {
		t := tallyOf(s)
		passed, failed = passed+t.passed, failed+t.failed
	}
	if all <= 0 {
		return components.Band{}
	}
	if o.State.Ended() {
		done, lost := 100*float64(passed)/float64(all), 100*float64(failed)/float64(all)
		return components.Band{Done: done, Low: done, High: done, Lost: lost, Label: grouped(passed) + " of " + grouped(all) + " got in"}
	}
	p := f.proof
	if p.State == dlq.ProofLapsed {
		p = dlq.Proof{}
	}
	return bandOf(p, all, passed, failed)
}

// bandOf draws what is expected of all documents, of which some passed and some
// failed already.
func bandOf(p dlq.Proof, all, passed, failed int64) components.Band {
	if all <= 0 {
		return components.Band{}
	}
	low, high := dlq.Wilson(p.Passed, p.Of)
	if p.State == dlq.ProofLapsed || p.State == dlq.ProofLooksTransient {
		low, high = 0, 1
	}
	left := float64(all - passed - failed)
	share := func(n float64) float64 { return 100 * n / float64(all) }
	b := components.Band{Done: share(float64(passed)), Lost: share(float64(failed))}
	b.Low, b.High = share(float64(passed)+low*left), share(float64(passed)+high*left)
	atLeast := strconv.Itoa(int(b.Low + .5))
	b.Label = "Nothing is known yet of " + documents(all)
	if p.Of > 0 && low+1-high > 0 {
		b.Label = "Expected to get past this error: " + atLeast + " to " + strconv.Itoa(int(b.High+.5)) + " percent of " + documents(all)
		if b.Low >= 1 {
			b.Least = "at least " + atLeast + " %"
		}
	}
	return b
}

// operationHeadline says where a redrive stands, and what to expect.
func operationHeadline(f proveFacts) (headline, detail string) {
	o := f.op
	known := knownWords(f)
	way := ""
	if n := o.Counts[dlq.ItemInFlight] - o.Unsent; n > 0 {
		way = counted(n, "is", "are") + " still in flight."
	}
	join := func(parts ...string) string {
		return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
	}
	switch o.State {
	case dlq.OperationPreparing:
		return "Choosing the documents.", "They are frozen as they match now; what fails later is not swept in."
	case dlq.OperationStopped:
		untouched := counted(o.Untouched(), "was", "were") + " not touched."
		if o.StoppedAtSame() {
			why := "It failed in the same way again."
			if f.proof.Step.Known() {
				why = "New code still fails: " + stepName(f.proof.Step) + " raised the same error."
			}
			return "Stopped at " + grouped(o.Sent()) + ". " + untouched, join(why, way)
		}
		return "Stopped at " + grouped(o.Sent()) + ". " + untouched, join(sentence("%s", web.VisibleText(o.Why)), way)
	case dlq.OperationCancelled:
		return cancelledWords(o), known
	case dlq.OperationDone:
		return doneWords(f), remainsWords(f)
	case dlq.OperationPaused:
		switch o.Asks {
		case dlq.AsksStep:
			return known, expectLeft(f)
		case dlq.AsksTarget:
			if o.TryAt.IsZero() { // it is gone, or answers again
				return sentence("%s", web.VisibleText(o.Why)), join(triedWords(o), known)
			}
			return "Target down: " + strings.TrimSuffix(web.VisibleText(o.Why), ".") + ".", join(triedWords(o), known)
		case dlq.AsksTimeOut:
			return sentence("%s", web.VisibleText(o.Why)), join("Wait longer, or send the next step.", known)
		}
		return join(sentence("%s", web.VisibleText(o.Why)), way), join(known, expectLeft(f))
	}
	if f.paused != "" {
		return sentence("All redrives are paused by %s, so nothing is sent", f.paused), join(known, way)
	}
	if f.proof.Of == 0 && o.Counts[dlq.ItemSettled] == 0 {
		return "Waiting for the first outcome.", join(way, "Its replay tells what to expect of the others.")
	}
	return known, expectLeft(f)
}

// knownWords is what the replays of the step say, or of an operation that is about
// no step what came of it.
func knownWords(f proveFacts) string {
	if f.proof.Of > 0 {
		return passedWords(f.proof)
	}
	var passed, settled int64
	for _, s := range f.steps {
		t := tallyOf(s)
		passed, settled = passed+t.passed, settled+t.passed+t.failed
	}
	if settled == 0 {
		return "Nothing is settled yet."
	}
	words := grouped(passed) + " of " + grouped(settled) + " got in."
	if f.op.Proof != nil && f.op.Proof.Step.None() && passed > 0 {
		words += " Nothing changed, so that says nothing of the others."
	}
	return words
}

// expectLeft is the forecast for what was not replayed yet.
func expectLeft(f proveFacts) string {
	left := f.op.Untouched() + f.op.Counts[dlq.ItemInFlight] - f.op.Unsent
	if f.proof.Of == 0 || left == 0 {
		return ""
	}
	low, high := expected(f.proof, left)
	return "Expect " + grouped(low) + " to " + grouped(high) + " of the " + grouped(left) + " left to."
}

// cancelledWords say what was done, what is in flight and what was not started.
func cancelledWords(o dlq.Operation) string {
	return "Cancelled: " + grouped(o.Counts[dlq.ItemSettled]) + " done, " + grouped(o.Counts[dlq.ItemInFlight]-o.Unsent) + " in flight, " + grouped(o.Counts[dlq.ItemCancelled]+o.Untouched()) + " not started and free again."
}

// triedWords say when a target that is down is tried again, and what then.
func triedWords(o dlq.Operation) string {
	words := ""
	if !o.TryAt.IsZero() {
		words = "Tried again at " + o.TryAt.UTC().Format("15:04") + " UTC."
	}
	if o.Returns {
		words += " It goes on by itself when the target answers."
	}
	return strings.TrimSpace(words)
}

// doneWords say what was achieved.
func doneWords(f proveFacts) string {
	var passed, failed, silent int64
	for _, s := range f.steps {
		t := tallyOf(s)
		passed, failed, silent = passed+t.passed, failed+t.failed, silent+t.silent
	}
	words := grouped(passed) + " of " + grouped(f.op.Total) + " got in"
	if failed > 0 {
		words += ", " + grouped(failed) + " failed again"
	}
	if silent > 0 {
		words += ", " + grouped(silent) + " without an outcome"
	}
	if n := f.op.Counts[dlq.ItemLeftOut]; n > 0 {
		words += ", " + grouped(n) + " left out"
	}
	return words + "."
}

func remainsWords(f proveFacts) string {
	if f.cohort.ID == "" {
		return ""
	}
	if n := f.cohort.Parked(); n > 0 {
		return counted(n, "document is", "documents are") + " still stuck here, and this says nothing of them."
	}
	return "Nothing is stuck here now."
}

// operationPace says under which rules it goes.
func operationPace(f proveFacts) string {
	o := f.op
	if o.State.Ended() || o.State == dlq.OperationStopped {
		return "" // nothing goes
	}
	var parts []string
	if o.Concurrency > 0 {
		parts = append(parts, "At most "+grouped(o.Concurrency)+" in flight")
	}
	if o.Rate > 0 {
		parts = append(parts, strconv.FormatFloat(o.Rate, 'g', -1, 64)+" a second")
	}
	if len(o.Sizes) > 1 {
		if o.Step < o.Rest() && o.GoOn {
			parts = append(parts, "goes on by itself")
		} else if o.Step < o.Rest() {
			parts = append(parts, "waits for you after each step")
		}
		if o.SameStops {
			parts = append(parts, "stops at the first same failure")
		} else {
			parts = append(parts, "same failures do not stop it any more")
		}
	}
	if n := o.Counts[dlq.ItemLeftOut]; n > 0 {
		parts = append(parts, grouped(n)+" left out")
	}
	return capital(strings.Join(parts, " · "))
}

// proveActions are the buttons that work in the state for the viewer, the one to
// take last; and what stands behind the fold.
func proveActions(f proveFacts) ([]components.Action, *components.Skip) {
	o := f.op
	href := operationHref(o.ID)
	back := components.Field{Name: "back", Value: f.here}
	var out []components.Action
	add := func(label, path, why string, tone components.Tone, fields ...components.Field) {
		out = append(out, components.Action{Label: label, Href: href + path, Why: why, Tone: tone, Fields: append(fields, back)})
	}
	decide := f.by.May(dlq.MayDecide)
	if o.State == dlq.OperationPreparing {
		return nil, nil
	}
	if decide {
		add("Cancel", "/cancel", "Frees every document that was not sent yet; what was sent keeps its outcome", components.Plain)
	}
	if o.State == dlq.OperationRunning && f.by.May(dlq.MayPause) {
		add("Pause", "/pause", "What is in flight keeps its outcome; nothing more is sent", components.Plain)
	}
	if !decide {
		return out, nil
	}
	asked := o.State == dlq.OperationPaused && (o.Asks == dlq.AsksStep || o.Asks == dlq.AsksTimeOut)
	stepping := (o.State == dlq.OperationRunning || asked) && o.Step < o.Rest()
	var skip *components.Skip
	switch {
	case o.State == dlq.OperationStopped:
		add("Go on anyway", "/resume", "Sends what is left; the same failure stops it no more", components.Plain)
	case o.State == dlq.OperationPaused && o.Asks == dlq.AsksTarget:
		if !o.Returns {
			add("Go on when the target answers", "/go-on", "It is tried now and then", components.Plain, components.Field{Name: "returns", Value: "1"})
		} else {
			add("Wait for me instead", "/go-on", "", components.Plain, components.Field{Name: "returns", Value: "0"})
		}
		add("Go on now", "/resume", "", components.Primary)
	case o.State == dlq.OperationPaused && o.Asks == dlq.AsksTimeOut:
		add("Wait longer", "/resume", "Gives what is in flight its time again", components.Plain)
	case o.State == dlq.OperationPaused && !asked:
		add("Resume", "/resume", "", components.Primary)
	}
	if stepping {
		switch {
		case !o.GoOn && o.Step+1 < o.Rest():
			add("Go on by itself", "/go-on", "Takes each next step when the one before is settled, and stops at the first that fails the same way", components.Plain, components.Field{Name: "go_on", Value: "1"})
		case o.GoOn:
			add("Ask before each step", "/go-on", "", components.Plain, components.Field{Name: "go_on", Value: "0"})
		}
		if last := o.Step+1 == o.Rest(); !last {
			rest := components.Field{Name: "rest", Value: "1"}
			if f.proof.State == dlq.ProofProven {
				add("Redrive the rest", "/next", "Without the steps between, because the fix is proven", components.Plain, rest)
			} else {
				skip = &components.Skip{Summary: "Skip the steps", Form: components.Form{ID: "skip", CSRF: f.csrf, Action: href + "/next", Submit: "Redrive the rest", Fields: []components.Field{rest, back}, Inputs: []components.Input{skipInput()}}}
			}
			add("Send next "+grouped(o.Next()), "/next", "", components.Primary)
		} else {
			add("Redrive the rest", "/next", grouped(o.Next())+" are left", components.Primary)
		}
	}
	return out, skip
}

// liveOf says where the region of a redrive that is under way asks for events.
func liveOf(f proveFacts, page, regions string) components.Live {
	l := components.Live{Regions: regions}
	if f.hasOp && !f.op.State.Ended() {
		l.URL = page + "/live"
	}
	return l
}

// operationRegions are those of an operation's page that move.
const operationRegions = operation.ProgressID
