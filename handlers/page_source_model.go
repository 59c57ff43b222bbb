package handlers

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/source"
	"dlo/web"
)

const (
	rejectedShown    = 20
	rejectedTextMost = 4 << 10 // bytes of an envelope that is shown
)

// sourcePageFacts is what the page of one source is made from.
type sourcePageFacts struct {
	sourceFacts
	runs         []dlq.Deployment // that run now, by component
	history      []dlq.Deployment // a page, newest first
	historyFrom  string           // the cursor of that page; empty: the first
	historyNext  string
	seen         []dlq.SeenVersion // that failures name and nobody registered
	refused      []dlq.RejectedEnvelope
	unplaced     []dlq.UnplacedOutcome // reports that belong to nothing, newest first
	moreUnplaced bool
	runbook      string // rendered and cleaned; empty without one
	noRunbook    string // why a runbook that is there is not shown
	by           dlq.Actor
	csrf         string
	now          time.Time
}

// newSourcePage shapes one source.
func newSourcePage(f sourcePageFacts) source.Model {
	s := f.source
	href := sourceHref(s.Name())
	m := source.Model{
		Name: web.VisibleText(s.Name()), Facts: sourceHeadFacts(f), Actions: sourceActions(f), Notices: sourceNotices(f), Never: newNever(f), Ladder: newLadder(f),
		Policy: policyGroups(f), Register: newRegister(f), Rejected: newRejected(f), Unplaced: newUnplaced(f.unplaced, f.moreUnplaced), Runbook: components.Markdown{SanitisedHTML: f.runbook},
		NoBook: "Nothing is written. Say whom to ask and what helped.", Edit: "changed with dlo source apply",
	}
	if s.Paused {
		m.State = append(m.State, components.Tag{Text: "paused", Tone: components.Held, Title: "by " + s.PausedBy})
	}
	if f.noRunbook != "" {
		m.NoBook = f.noRunbook
	}
	if f.by.May(dlq.MaySetPolicy) {
		m.Edit, m.Export = "", components.Link{Text: "Edit", Href: href + "/policy"}
	}
	if f.by.May(dlq.MayEditRunbook) {
		m.EditBook = components.Link{Text: "Edit", Href: href + "/runbook"}
		if s.Policy.Runbook == "" {
			m.EditBook.Text = "Write one"
		}
	}
	return m
}

func sourceHeadFacts(f sourcePageFacts) []components.Fact {
	s := f.source
	facts := []components.Fact{{Text: grouped(f.stuck) + " stuck", Href: entriesHref(sourceQuery(s.Name(), stuckTerms))}, {Text: "owner " + ownerWord(s.Policy.Owner)}}
	if !f.oldest.IsZero() {
		facts = append(facts, components.Fact{Text: "oldest " + span(f.now.Sub(f.oldest))})
	}
	if f.expiring > 0 {
		facts = append(facts, components.Fact{Text: counted(f.expiring, "leaves", "leave") + " within 7 d", Tone: components.Deadline, Href: entriesHref(sourceQuery(s.Name(), stuckTerms+" expires:<7d"))})
	}
	facts = append(facts, components.Fact{Text: "known since", Time: day(s.CreatedAt)})
	if !s.LastArrivalAt.IsZero() {
		facts = append(facts, components.Fact{Text: "last failure", Time: since(f.now, s.LastArrivalAt)})
	}
	return facts
}

func sourceActions(f sourcePageFacts) []components.Action {
	if !f.by.May(dlq.MayPause) {
		return nil
	}
	if f.source.Paused {
		return []components.Action{{Label: "Resume redrives", Href: sourceHref(f.source.Name()) + "/resume", Tone: components.Primary}}
	}
	return []components.Action{{Label: "Pause redrives", Href: sourceHref(f.source.Name()) + "/pause", Why: "Nothing more of this source is sent until they are resumed"}}
}

func sourceNotices(f sourcePageFacts) []components.Notice {
	s := f.source
	var out []components.Notice
	if s.Policy.Redrive.URL == "" {
		n := components.Notice{Tone: components.Deadline, Title: "No redrive target.", Text: "Nothing of this source can be sent back to its pipeline. Set redrive.url in its policy."}
		if f.by.May(dlq.MaySetPolicy) {
			n.Links = []components.Link{{Text: "Edit the policy", Href: sourceHref(s.Name()) + "/policy"}}
		}
		out = append(out, n)
	} else if !s.HasSecret {
		out = append(out, components.Notice{Tone: components.Deadline, Title: "Redrives go unsigned.", Text: "Set redrive.secret (whsec_ and base64) so that the pipeline can tell them from anybody's."})
	}
	out = append(out, secretNotice(f)...)
	if !s.Policy.Probe.Configured() {
		out = append(out, components.Notice{Tone: components.Info, Title: "This source cannot be asked what its documents are now.", Text: "Their bytes are unknown unless the stored copy is sent. Set probe.url in its policy."})
	} else if s.Policy.Probe.Fetch == dlq.FetchAlways {
		out = append(out, components.Notice{Tone: components.Info, Title: "We compare the bytes themselves.", Text: "Each question fetches the document and takes its digest."})
	}
	return out
}

// newLadder is the steps, each done or what one would get with the snippet to
// paste.
func newLadder(f sourcePageFacts) []source.Rung {
	var out []source.Rung
	for _, r := range sourceLadder(f.sourceFacts) {
		rung := source.Rung{Name: capital(r.name), Done: r.done, Says: r.says}
		if text := ladderSnippet(r.name, f.source.Name()); !r.done && text != "" {
			rung.Snippet = &components.Code{ID: "snippet-" + r.name, Label: "How to " + r.name, Text: text}
		}
		out = append(out, rung)
	}
	return out
}

// ladderSnippet is what to paste. A policy is replaced whole, so the command
// begins with the one that is.
func ladderSnippet(step, name string) string {
	quoted := strconv.Quote(web.VisibleText(name))
	switch step {
	case "bytes":
		return "curl -H \"Authorization: Bearer $DLO_TOKEN\" -F envelope=@envelope.json -F payload=@\"$FILE\" \"$DLO/api/v1/dead-letters\""
	case "versions":
		return `"connector_version": "3.14", "parser_version": "pdfminer.six@20251230"`
	case "redrive":
		return "dlo source show " + quoted + " > source.yaml\n# in source.yaml:\nredrive:\n  url: https://pipeline.example.com/redrive\n  secret: whsec_…   # 24 to 64 random bytes in base64\n# then:\ndlo source apply source.yaml"
	case "outcomes":
		return "curl -H \"Authorization: Bearer $DLO_TOKEN\" --json '{\"redrive_id\":\"…\",\"result\":\"committed\"}' \"$DLO/api/v1/outcomes\""
	case "deployments":
		return "curl -H \"Authorization: Bearer $DLO_TOKEN\" --json '{\"source\":" + quoted + ",\"component\":\"parser\",\"version\":\"…\"}' \"$DLO/api/v1/deployments\""
	}
	return ""
}

// notYet stands beside what a policy may say and nothing does.
const notYet = "not acted on yet"

// policyGroups shows the policy; secrets are said to be there or not, and what is
// kept without effect is said to be so.
func policyGroups(f sourcePageFacts) []source.Group {
	s, now := f.source, f.now
	p := s.Policy
	kv := func(key, value string) components.KV { return components.KV{Key: key, Value: shown(value)} }
	idle := func(key, value string) components.KV {
		return components.KV{Key: key, Value: shown(value), Note: notYet}
	}
	target := components.KV{Key: "Target", Value: shown(p.Redrive.URL), Mono: true}
	if p.Redrive.URL == "" {
		target = components.KV{Key: "Target", Value: components.PlainText("none"), Tag: components.Tag{Text: "nothing can be sent", Tone: components.Deadline}}
	}
	probe := []components.KV{kv("Address", "none")}
	if p.Probe.Configured() {
		probe = []components.KV{{Key: "Address", Value: shown(p.Probe.URL), Mono: true}, kv("Kind of tag", p.Probe.Kind), kv("Tag from", p.Probe.ETagFrom), kv("Fetches", p.Probe.Fetch)}
		for _, name := range sortedKeys(p.Probe.Headers) {
			probe = append(probe, components.KV{Key: "Header " + shownLine(name, 60).String(), Value: shownLine(p.Probe.Headers[name], 120), Mono: true})
		}
	}
	learnt := kv("Learnt", outcomeModeWords[p.Outcomes.Mode])
	if f.by.May(dlq.MaySetPolicy) {
		learnt.Href = outcomesHref(s)
	}
	outcomes := []components.KV{learnt, kv("Waited for", p.Outcomes.Timeout.String())}
	if p.Outcomes.CheckURL != "" {
		asked := components.KV{Key: "Asked at", Value: shown(p.Outcomes.CheckURL), Mono: true}
		if p.Outcomes.Mode != dlq.OutcomesCheck {
			asked.Note = "not asked, while outcomes are learnt otherwise"
		}
		outcomes = append(outcomes, asked, kv("Version from", p.Outcomes.CheckFrom))
		if p.Outcomes.CheckSeqFrom != "" {
			outcomes = append(outcomes, kv("ingest_seq from", p.Outcomes.CheckSeqFrom))
		}
		for _, name := range sortedKeys(p.Outcomes.CheckHeaders) {
			outcomes = append(outcomes, components.KV{Key: "Header " + shownLine(name, 60).String(), Value: shownLine(p.Outcomes.CheckHeaders[name], 120), Mono: true})
		}
	}
	alerts := kv("Alerts go to", "nobody")
	if p.Alerts.URL != "" {
		alerts = components.KV{Key: "Alerts go to", Value: shown(p.Alerts.URL), Mono: true, Note: notYet}
	}
	return []source.Group{
		{Name: "Redrive", Rows: []components.KV{target, kv("Which bytes", modeLabels[policyMode(p)]), kv("Pace", fmt.Sprintf("%g deliveries a second, %s in flight", p.Redrive.Rate, grouped(p.Redrive.Concurrency))),
			kv("Tried again", fmt.Sprintf("after %s up to %s, for %s", p.Redrive.Retry.First, p.Redrive.Retry.Max, p.Redrive.Retry.Budget)), secretWords(s, now)}},
		{Name: "Document now", Rows: probe},
		{Name: "Outcomes", Rows: outcomes},
		{Name: "Retention", Rows: []components.KV{kv("Queue", p.Retention.EntryTTL.String()+", at most "+p.Retention.MaxTTL.String()), idle("Copies", p.Retention.PayloadTTL.String()), idle("Records", p.Retention.RecordTTL.String())}},
		{Name: "Limits", Rows: []components.KV{kv("Poison after", counted(p.PoisonThreshold, "same failure", "same failures")), kv("Floor of confidence", fmt.Sprintf("%g", p.ConfidenceFloor)), idle("Depth", limitWords(p.Limits.Depth)),
			idle("Age", p.Limits.Age.String()), idle("Space for copies", p.Limits.QuotaBytes.String()), alerts}},
	}
}

func limitWords(n int64) string {
	if n == 0 {
		return "no ceiling"
	}
	return grouped(n)
}

// newRejected shows envelopes that were refused as they were sent, each with
// every fault that it had.
func newRejected(f sourcePageFacts) source.Rejected {
	r := source.Rejected{None: "None was refused."}
	if f.rejected == 0 {
		return r
	}
	r.Summary = grouped(f.rejected) + " refused"
	if f.rejected > int64(len(f.refused)) {
		r.Summary += ", the newest " + grouped(len(f.refused)) + " here"
	}
	for _, e := range f.refused {
		envelope := source.Envelope{When: moment(e.ReceivedAt), Faults: rejectedFaults(e.Problem), Text: firstBytes(string(e.Body), rejectedTextMost), Cut: "The whole envelope, " + byteSize(e.Bytes) + "."}
		if e.Bytes > rejectedTextMost {
			envelope.Cut = firstOf(rejectedTextMost, e.Bytes)
		}
		r.Rows = append(r.Rows, envelope)
	}
	return r
}

// rejectedFaults reads the answer that the sender got.
func rejectedFaults(problem string) []source.Fault {
	var p web.Problem
	if err := json.Unmarshal([]byte(problem), &p); err != nil {
		return []source.Fault{{Detail: shownLine(problem, 300)}}
	}
	var out []source.Fault
	for _, f := range p.Errors {
		out = append(out, source.Fault{Pointer: shownLine(f.Pointer, 120), Detail: shownLine(f.Detail, 300)})
	}
	if len(out) == 0 {
		out = append(out, source.Fault{Detail: shownLine(p.Detail, 300)})
	}
	return out
}
