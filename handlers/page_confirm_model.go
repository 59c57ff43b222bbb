package handlers

import (
	"fmt"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/dlq/redrive"
	"dlo/views/components"
	"dlo/views/confirm"
	"dlo/web"
)

// confirmFacts is everything that the page between a button and what it does is
// made from.
type confirmFacts struct {
	choice  choice
	by      dlq.Actor
	csrf    string
	now     time.Time
	address string // of this page, to hand over

	count   int64       // of what is chosen, counted for this answer
	entries []dlq.Entry // some of a selection by hand; the one of a single choice
	sources []chosenSource
	more    int // further sources that are not among them
	paused  string
	unknown []dlq.UnknownValue // values of the query that nothing ever had

	preview redrive.Preview      // of a redrive
	states  map[dlq.Status]int64 // of any other action: how many stand where
	faults  []dlq.Fault          // of what was sent before
	problem string               // about the whole of it
}

// chosenSource is a source with how many of the chosen documents are its.
type chosenSource struct {
	source  dlq.Source
	running dlq.Running
	count   int64
}

// confirmReasons are the chips over the reason.
var confirmReasons = []string{"fix deployed", "waiting for vendor", "duplicate", "test file"}

// newConfirmPage shapes the confirmation; what stands round it is added by the
// handler.
func newConfirmPage(f confirmFacts) confirm.Model {
	c := f.choice
	m := confirm.Model{Title: confirmTitle(f), Lead: confirmLeads[c.action], Chosen: newChosen(f), Cancel: components.Link{Text: "Do nothing", Href: c.back}}
	if !f.by.May(c.permission()) {
		m.Denied = &confirm.Denied{Sentence: deniedSentence(f.by.Role, c.action), Ask: "Ask a reviewer and give them the address of this page: it holds the selection.", Address: f.address}
	}
	if c.expect >= 0 && c.query != "" && c.expect != f.count {
		m.Notices = append(m.Notices, components.Notice{Tone: components.Deadline, Title: fmt.Sprintf("You saw %s; %s match now.", grouped(c.expect), grouped(f.count)), Text: "The button is for the number that matches now."})
	}
	m.Notices = append(m.Notices, confirmHints(f)...)
	if c.action == dlq.OperationRedrive {
		redriveConfirm(&m, f)
	} else {
		actionConfirm(&m, f)
	}
	if m.Form == nil && m.Denied == nil {
		m.Notices = append(m.Notices, components.Notice{Tone: components.Deadline, Title: "There is nothing to do here.", Text: "None of these can be " + pastWords[c.action] + " in the state that it is in.", Links: []components.Link{{Text: "Back", Href: c.back}}})
	}
	if m.Denied != nil {
		m.Form = nil
	}
	return m
}

var confirmLeads = map[dlq.OperationKind]string{
	dlq.OperationRedrive:    "The membership is frozen when you press the button; what fails later is not swept in.",
	dlq.OperationQuarantine: "Out of the queue until somebody decides. It does not expire there, and no redrive takes it.",
	dlq.OperationRelease:    "Back to the queue, where a redrive can take it.",
	dlq.OperationExtend:     "It leaves the queue later than its source's policy says.",
	dlq.OperationArchive:    "Out of the queue and of every count, unsolved. It stays searchable and can be restored.",
	dlq.OperationRestore:    "Back to the queue, with at least 30 days in it or its source's whole time.",
	dlq.OperationAssign:     "It changes who looks after it, and nothing of the document.",
	dlq.OperationDispose:    "No longer listed as needing a decision; still in every list and every count, and leaving when it would have left.",
}

var pastWords = map[dlq.OperationKind]string{
	dlq.OperationRedrive:    "redriven",
	dlq.OperationQuarantine: "quarantined",
	dlq.OperationRelease:    "released",
	dlq.OperationExtend:     "kept longer",
	dlq.OperationArchive:    "archived",
	dlq.OperationRestore:    "restored",
	dlq.OperationAssign:     "assigned",
	dlq.OperationDispose:    "decided",
	dlq.OperationProbe:      "asked about",
}

func actionLabel(kind dlq.OperationKind) string { return actionWords[kind] }

func confirmTitle(f confirmFacts) string {
	if f.choice.single() && len(f.entries) == 1 {
		return actionLabel(f.choice.action) + ": " + titleOf(f.entries[0].Source+" / "+f.entries[0].DocID)
	}
	return actionLabel(f.choice.action) + ": " + documents(f.count)
}

func deniedSentence(role dlq.Role, kind dlq.OperationKind) string {
	verb := map[dlq.OperationKind]string{dlq.OperationRedrive: "redrive", dlq.OperationQuarantine: "quarantine", dlq.OperationRelease: "release", dlq.OperationExtend: "keep documents longer",
		dlq.OperationArchive: "archive", dlq.OperationRestore: "restore", dlq.OperationAssign: "assign", dlq.OperationDispose: "set dispositions"}[kind]
	return capital(string(role)) + "s cannot " + verb + "."
}

// newChosen repeats the selection: the filter and the exact number.
func newChosen(f confirmFacts) confirm.Chosen {
	c := confirm.Chosen{Count: grouped(f.count), Noun: "documents"}
	if f.count == 1 {
		c.Noun = "document"
	}
	if f.choice.query != "" {
		c.Noun += " match"
		if f.count == 1 {
			c.Noun = "document matches"
		}
		c.Query = web.VisibleText(f.choice.query)
		c.All = components.Link{Text: "see them", Href: f.choice.list()}
		return c
	}
	for i, e := range f.entries {
		if i == sampleMost {
			break
		}
		c.Sample = append(c.Sample, confirm.Sample{Text: shownLine(e.Source+" / "+e.DocID, 120), Href: entryHref(e.DLQID)})
	}
	if rest := f.count - int64(len(c.Sample)); rest > 0 {
		c.Sample = append(c.Sample, confirm.Sample{Text: components.PlainText("and " + grouped(rest) + " more")})
	}
	return c
}

// sampleMost is how many of a selection by hand are named.
const sampleMost = 10

// redriveConfirm says where a redrive goes, with which bytes, what it leaves
// out, and what there is to know before.
func redriveConfirm(m *confirm.Model, f confirmFacts) {
	p := f.preview
	for _, why := range leftOutOrder {
		n := p.LeftOut[why]
		if n == 0 {
			continue
		}
		l := confirm.LeftOut{Count: grouped(n), Why: leftOutWords[why], Href: leftOutHref(f.choice.query, why)}
		if f.looksAtSome() {
			l.Why = strings.TrimSpace(firstWords(f)) + ": " + l.Why
			l.Href = "" // the rows behind it would be more than the number says
		}
		if why == dlq.LeftQuarantined && p.Quarantined > 0 {
			l.Why += fmt.Sprintf(" (%s at the threshold go there instead)", grouped(p.Quarantined))
		}
		m.LeftOut = append(m.LeftOut, l)
	}
	for _, s := range f.sources {
		m.Facts = append(m.Facts, targetRow(s, len(f.sources) > 1))
	}
	if f.more > 0 {
		m.Facts = append(m.Facts, components.KV{Key: "And", Value: components.PlainText(counted(f.more, "more source", "more sources"))})
	}
	if len(f.sources) == 1 {
		m.Facts = append(m.Facts, components.KV{Key: "Runs there", Value: shownLine(runningWords(f.sources[0].running), 200)})
	}
	drawAsk(m, f)
	if p.Skipped > 0 {
		m.Notices = append(m.Notices, components.Notice{Tone: components.Info, Title: documents(p.Skipped) + firstWords(f) + " will be resolved without being sent.", Text: "Their keys are in the register of commits already."})
	}
	m.Notices = append(m.Notices, redriveNotices(f)...)
	if f.looksAtSome() {
		m.Notices = append(m.Notices, components.Notice{Tone: components.Info, Title: "Looked at before the click: the first " + grouped(p.Looked) + " of these " + grouped(f.count) + ".",
			Text: "What of the others cannot go is left out when it runs, and stands on the operation's page with why."})
	} else if p.Goes+p.Skipped == 0 && p.Quarantined == 0 {
		return
	}
	label := actionWords[dlq.OperationRedrive]
	switch {
	case f.looksAtSome():
		label += " what can go of " + grouped(f.count)
	case !f.choice.single():
		label += " " + grouped(p.Goes+p.Skipped)
	}
	form := confirmForm(f, label)
	form.Inputs = append(form.Inputs, modeInput(f), components.Input{Name: "accept_unknown", Label: "Send the stored copy also where nobody can tell whether the document changed", Kind: components.InputCheck, Value: "1", On: f.choice.acceptUnknown}, reasonInput(f))
	m.Form = &form
}

// looksAtSome says that the preview is of the first of the chosen documents only.
func (f confirmFacts) looksAtSome() bool {
	return f.preview.Looked == redrive.PreviewMost && f.count > f.preview.Looked
}

// firstWords say of a number of the preview how many documents it is of, where it
// is not all.
func firstWords(f confirmFacts) string {
	if !f.looksAtSome() {
		return ""
	}
	return " of the first " + grouped(f.preview.Looked)
}

// leftOutOrder is the order in which reasons to leave out are listed.
var leftOutOrder = []dlq.LeftOut{dlq.LeftQuarantined, dlq.LeftInFlight, dlq.LeftNoTarget, dlq.LeftNoIdentity, dlq.LeftNoPayload, dlq.LeftPayloadExpired, dlq.LeftPayloadCorrupt,
	dlq.LeftArchived, dlq.LeftResolved, dlq.LeftErased, dlq.LeftOnHold, dlq.LeftGoneAtSource, dlq.LeftCannotTellChanged, dlq.LeftState, dlq.LeftPastLimit, dlq.LeftNotFound}

// leftOutHref opens the rows behind a number, where the query language can name
// them.
func leftOutHref(query string, why dlq.LeftOut) string {
	status, ok := map[dlq.LeftOut]dlq.Status{dlq.LeftQuarantined: dlq.StatusQuarantined, dlq.LeftArchived: dlq.StatusArchived, dlq.LeftResolved: dlq.StatusResolved, dlq.LeftErased: dlq.StatusErased}[why]
	if query == "" || !ok {
		return ""
	}
	return entriesHref(query + " status:" + string(status))
}

func targetRow(s chosenSource, several bool) components.KV {
	row := components.KV{Key: "Goes to", Value: shown(s.source.Policy.Redrive.URL), Mono: true}
	if several {
		row.Note = documents(s.count) + " of " + web.VisibleText(s.source.Name())
	}
	if s.source.Policy.Redrive.URL == "" {
		row.Value, row.Mono = components.PlainText("nowhere"), false
		row.Tag = components.Tag{Text: "no redrive target", Tone: components.Deadline, Href: sourceHref(s.source.Name())}
	}
	return row
}

func redriveNotices(f confirmFacts) []components.Notice {
	var out []components.Notice
	if f.paused != "" {
		out = append(out, components.Notice{Tone: components.Held, Title: sentence("All redrives are paused by %s", f.paused), Text: "It waits until they are resumed."})
	}
	for _, s := range f.sources {
		name := web.VisibleText(s.source.Name())
		link := []components.Link{{Text: "The source", Href: sourceHref(s.source.Name())}}
		if s.source.Paused {
			out = append(out, components.Notice{Tone: components.Held, Title: sentence("Redrives of %s are paused by %s", name, s.source.PausedBy), Text: "Its documents wait until they are resumed.", Links: link})
		}
		if neverReported(s.source) {
			out = append(out, components.Notice{Tone: components.Deadline, Title: neverReportedSentence(s.source), Text: "Without outcomes nobody will know what this redrive did.", Links: []components.Link{outcomesLink(s.source, f.by)}})
		}
		if s.source.Policy.Redrive.URL != "" && !s.source.HasSecret {
			out = append(out, components.Notice{Tone: components.Info, Title: "Deliveries to " + name + " are unsigned.", Links: link})
		}
	}
	return out
}

// modeInput asks which bytes go, with what each way risks and for how many.
func modeInput(f confirmFacts) components.Input {
	mode := f.choice.mode
	if mode == "" {
		mode = dlq.ModeAuto
		if len(f.sources) == 1 && f.more == 0 {
			mode = policyMode(f.sources[0].source.Policy)
		}
	}
	noCopy := f.preview.Copies[dlq.CopyNever] + f.preview.Copies[dlq.CopyExpired]
	in := components.Input{Name: "mode", Label: "Which bytes", Kind: components.InputRadio, Required: true, Error: faultAt(f.faults, "/mode")}
	for _, m := range []dlq.Mode{dlq.ModeAuto, dlq.ModeHeld, dlq.ModeSource} {
		o := components.Option{Value: string(m), Label: modeLabels[m], Hint: modeRisks[m], On: m == mode}
		switch {
		case m == dlq.ModeHeld && noCopy > 0:
			o.Hint += fmt.Sprintf(" %s no copy here and would be left out.", hasWords(f, noCopy))
		case m == dlq.ModeSource && f.preview.Copies[dlq.CopyHeld] > 0:
			o.Hint += fmt.Sprintf(" %s a copy here that would not be used.", hasWords(f, f.preview.Copies[dlq.CopyHeld]))
		}
		o.Hint += saidRisks(f, m)
		in.Options = append(in.Options, o)
	}
	return in
}

func hasWords(f confirmFacts, n int64) string {
	if n == 1 {
		return "1" + firstWords(f) + " has"
	}
	return grouped(n) + firstWords(f) + " have"
}

// actionConfirm is for everything but a redrive.
func actionConfirm(m *confirm.Model, f confirmFacts) {
	c := f.choice
	able := int64(0)
	for _, status := range dlq.Statuses {
		n := f.states[status]
		why := stateWhy[c.action][status]
		switch {
		case n == 0:
		case why == "":
			able += n
		default:
			href := ""
			if c.query != "" {
				href = entriesHref(c.query + " status:" + string(status))
			}
			m.LeftOut = append(m.LeftOut, confirm.LeftOut{Count: grouped(n), Why: why, Href: href})
		}
	}
	if able == 0 {
		return
	}
	label := actionLabel(c.action)
	if !c.single() {
		label += " " + grouped(able)
	}
	if c.action == dlq.OperationDispose {
		label = "Set it on " + documents(able)
	}
	form := confirmForm(f, label)
	switch c.action {
	case dlq.OperationRelease:
		form.Inputs = append(form.Inputs, grantInput(f))
	case dlq.OperationExtend:
		form.Inputs = append(form.Inputs, daysInput(f))
	case dlq.OperationDispose:
		form.Inputs = append(form.Inputs, dispositionInputs(c.decided, f.faults, f.now)...)
	case dlq.OperationAssign:
		owner, ticket := c.owner, c.ticket
		if owner == "" && ticket == "" && len(f.entries) == 1 {
			owner, ticket = f.entries[0].Owner, f.entries[0].Ticket
		}
		form.Inputs = append(form.Inputs,
			components.Input{Name: "owner", Label: "Owner", Value: owner, Suggestions: []string{f.by.Name}, Hint: "An address or a team. Empty takes it away.", Error: faultAt(f.faults, "/owner"), Autocomplete: "off"},
			components.Input{Name: "ticket", Label: "Ticket", Value: ticket, Hint: "An id such as SEARCH-1182, or an https address, which becomes a link.", Error: faultAt(f.faults, "/ticket"), Autocomplete: "off"})
	}
	if !c.mayBeUnreasoned() {
		form.Inputs = append(form.Inputs, reasonInput(f))
	}
	if c.action == dlq.OperationArchive {
		form.Tone = components.Plain
	}
	m.Form = &form
}

// stateWhy says of each action which states it leaves out, and why. A state
// that has no words is acted upon.
var stateWhy = map[dlq.OperationKind]map[dlq.Status]string{
	dlq.OperationQuarantine: {dlq.StatusRedriving: "on their way to the pipeline", dlq.StatusQuarantined: "in quarantine already", dlq.StatusArchived: "in the archive; restore them first", dlq.StatusResolved: "resolved already", dlq.StatusErased: "erased"},
	dlq.OperationRelease:    {dlq.StatusParked: "not in quarantine", dlq.StatusRedriving: "not in quarantine", dlq.StatusArchived: "in the archive; restore them instead", dlq.StatusResolved: "resolved already", dlq.StatusErased: "erased"},
	dlq.OperationExtend:     {dlq.StatusArchived: "in the archive; restore them first", dlq.StatusResolved: "resolved already", dlq.StatusErased: "erased"},
	dlq.OperationArchive:    {dlq.StatusRedriving: "on their way to the pipeline", dlq.StatusArchived: "in the archive already", dlq.StatusResolved: "resolved already", dlq.StatusErased: "erased"},
	dlq.OperationAssign:     {dlq.StatusErased: "erased"},
	dlq.OperationDispose:    {dlq.StatusResolved: "resolved already", dlq.StatusErased: "erased"},
	dlq.OperationRestore:    {dlq.StatusParked: "in the queue already", dlq.StatusRedriving: "on their way to the pipeline", dlq.StatusQuarantined: "in quarantine; release them instead", dlq.StatusResolved: "resolved already", dlq.StatusErased: "erased"},
}

// confirmForm is the form without its inputs. The number that was seen goes
// along, and is refused where it no longer holds.
func confirmForm(f confirmFacts, submit string) components.Form {
	form := components.Form{ID: "confirm-form", CSRF: f.csrf, Action: "/confirm/do", Submit: submit, Tone: components.Primary, Error: f.problem}
	values := f.choice.values()
	values.Del("mode")
	values.Del("grant")
	for name := range f.choice.markFields() {
		values.Del(name) // is an input of the form
	}
	for _, name := range sortedKeys(values) {
		for _, v := range values[name] {
			form.Fields = append(form.Fields, components.Field{Name: name, Value: v})
		}
	}
	form.Fields = append(form.Fields, components.Field{Name: "expect", Value: fmt.Sprint(f.count)})
	return form
}

func reasonInput(f confirmFacts) components.Input {
	return components.Input{Name: "reason", Label: "Why", Value: f.choice.reason, Required: true, Autofocus: true, Suggestions: confirmReasons, Autocomplete: "off",
		Hint: "Stands in the audit trail and on each document.", Error: faultAt(f.faults, "/reason")}
}

func grantInput(f confirmFacts) components.Input {
	one := f.choice.grant != dlq.GrantReset
	return components.Input{Name: "grant", Label: "How", Kind: components.InputRadio, Required: true, Error: faultAt(f.faults, "/grant"), Options: []components.Option{
		{Value: string(dlq.GrantOne), Label: "One more replay", Hint: "If it fails the same way again, it comes back here.", On: one},
		{Value: string(dlq.GrantReset), Label: "Count anew", Hint: "Its failures are forgotten; as many replays as the source's threshold.", On: !one},
	}}
}

// extensionDays are the choices of an extension.
var extensionDays = []int{7, 30, 90}

func daysInput(f confirmFacts) components.Input {
	in := components.Input{Name: "days", Label: "For how long", Kind: components.InputRadio, Required: true, Error: firstOfFaults(f.faults, "/days", "/until")}
	chosen := f.choice.days
	if chosen == 0 {
		chosen = 30
	}
	for _, days := range extensionDays {
		o := components.Option{Value: fmt.Sprint(days), Label: fmt.Sprintf("%d days longer", days), On: days == chosen}
		if f.choice.single() && len(f.entries) == 1 && len(f.sources) == 1 {
			e := f.entries[0]
			until, err := f.sources[0].source.Policy.Retention.Extended(e.OpenedAt, e.ExpiresAt, f.now, time.Duration(days)*24*time.Hour)
			if err != nil {
				o.Disabled, o.On = true, false
				o.Hint = fmt.Sprintf("Its source keeps a document until %s at most.", dateOf(e.OpenedAt.Add(f.sources[0].source.Policy.Retention.MaxTTL.Std())))
			} else {
				o.Hint = "until " + dateOf(until)
			}
		}
		in.Options = append(in.Options, o)
	}
	return in
}

func faultAt(faults []dlq.Fault, pointer string) string {
	for _, f := range faults {
		if f.Pointer == pointer || strings.HasPrefix(f.Pointer, pointer+"/") {
			return sentence("%s", f.Detail)
		}
	}
	return ""
}

func firstOfFaults(faults []dlq.Fault, pointers ...string) string {
	for _, p := range pointers {
		if s := faultAt(faults, p); s != "" {
			return s
		}
	}
	return ""
}

// newConfirmConflict is what stands there when the selection is no longer what
// was seen.
func newConfirmConflict(f confirmFacts, sentenceOf string) confirm.Model {
	c := f.choice
	retry := components.Form{ID: "retry", CSRF: f.csrf, Action: "/confirm", Submit: "Look at what matches now", Tone: components.Primary}
	values := c.values()
	values.Set("reason", c.reason)
	for _, name := range sortedKeys(values) {
		for _, v := range values[name] {
			retry.Fields = append(retry.Fields, components.Field{Name: name, Value: v})
		}
	}
	m := confirm.Model{Title: confirmTitle(f), Conflict: &confirm.Conflict{Sentence: sentence("%s", sentenceOf), Kept: "Nothing was done.", Retry: &retry}}
	if list := c.list(); list != "" {
		m.Conflict.Links = append(m.Conflict.Links, components.Link{Text: "The documents", Href: list})
	}
	m.Conflict.Links = append(m.Conflict.Links, components.Link{Text: "Back", Href: c.back})
	return m
}
