package handlers

import (
	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/source"
	"dlo/web"
)

// outcomeWays are the four ways to learn an outcome, in the order in which they
// tell more: what each asks of the pipeline, and what it is good for.
var outcomeWays = []struct {
	mode  dlq.OutcomeMode
	label string
	why   string
}{
	{dlq.OutcomesReported, "It will report", "POST /api/v1/outcomes with the redrive_id that it was sent. Nothing else can prove a fix."},
	{dlq.OutcomesResponse, "Its answer is the outcome", "A 2xx of the target counts as the commit. For a pipeline that works before it answers."},
	{dlq.OutcomesCheck, "Ask the index", "We ask until the index holds the version that was sent, and say so when it does not in time."},
	{dlq.OutcomesAssumed, "Silence counts as done", "Nothing within the time-out resolves the document, marked as assumed. It proves nothing."},
}

// newNever asks how outcomes shall be learnt of a pipeline that never reported.
func newNever(f sourcePageFacts) *source.Never {
	if !neverReported(f.source) {
		return nil
	}
	n := &source.Never{CSRF: f.csrf, Sentence: neverReportedSentence(f.source) + " How shall we find out?"}
	if !f.by.May(dlq.MaySetPolicy) {
		n.Sentence += " A manager can choose."
		return n
	}
	for _, w := range outcomeWays {
		n.Choices = append(n.Choices, components.Action{Label: w.label, Href: outcomesHref(f.source), Why: w.why, Current: f.source.Policy.Outcomes.Mode == w.mode, Fields: []components.Field{{Name: "mode", Value: string(w.mode)}}})
	}
	return n
}

func outcomesHref(s dlq.Source) string { return sourceHref(s.Name()) + "/outcomes" }

// outcomesLink leads those who may choose to the form, and others to who can.
func outcomesLink(s dlq.Source, by dlq.Actor) components.Link {
	if by.May(dlq.MaySetPolicy) {
		return components.Link{Text: "How shall outcomes be learnt?", Href: outcomesHref(s)}
	}
	return components.Link{Text: "The source; a manager can choose another way", Href: sourceHref(s.Name())}
}

// outcomesForm is the four ways with what asking the index needs to know.
func outcomesForm(s dlq.Source, o dlq.OutcomePolicy, faults []dlq.Fault) components.Form {
	wrong := map[string]string{}
	for _, f := range faults {
		wrong[f.Pointer] = sentence("%s", f.Detail)
	}
	way := components.Input{Name: "mode", Label: "How outcomes are learnt", Kind: components.InputRadio, Required: true, Error: wrong["/outcomes/mode"]}
	for _, w := range outcomeWays {
		way.Options = append(way.Options, components.Option{Value: string(w.mode), Label: w.label, Hint: w.why, On: o.Mode == w.mode})
	}
	form := components.Form{ID: "outcomes", Action: outcomesHref(s), Submit: "Save", Tone: components.Primary, Inputs: []components.Input{
		way,
		{Name: "check_url", Label: "Address of the index", Value: web.VisibleText(o.CheckURL), Error: wrong["/outcomes/check_url"], Hint: "To ask it. Such as https://index.example.com/doc/{doc_id}.", Autocomplete: "off"},
		{Name: "check_from", Label: "Where it names the version or digest", Value: web.VisibleText(o.CheckFrom), Error: wrong["/outcomes/check_from"], Hint: "header:ETag, or json:/version into its answer.", Autocomplete: "off"},
		{Name: "check_seq_from", Label: "Where it names the ingest_seq", Value: web.VisibleText(o.CheckSeqFrom), Error: wrong["/outcomes/check_seq_from"], Hint: "In the same form; may be empty. By it a newer version is told from an older one.", Autocomplete: "off"},
		{Name: "timeout", Label: "Waited for", Value: o.Timeout.String(), Error: wrong["/outcomes/timeout"], Hint: "Such as 15m, 24h or 2d, from when the target took it.", Autocomplete: "off"},
	}}
	for _, f := range faults {
		switch f.Pointer {
		case "/outcomes/mode", "/outcomes/check_url", "/outcomes/check_from", "/outcomes/check_seq_from", "/outcomes/timeout":
		default:
			form.Error = sentence("Elsewhere in the policy, %s: %s", f.Pointer, f.Detail)
		}
	}
	return form
}

// indexWords say how far the index was asked about a redrive in flight.
func indexWords(f entryFacts) string {
	if f.source.Policy.Outcomes.Mode != dlq.OutcomesCheck {
		return ""
	}
	if f.checked.Times == 0 {
		return " The index is asked next."
	}
	return " " + sentence("The index was asked %s", counted(f.checked.Times, "time", "times")) + " " + sentence("%s", f.checked.Said)
}
