package handlers

import (
	"strings"
	"time"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/sources"
	"dlo/web"
)

// sourceFacts is one source with what was seen of it.
type sourceFacts struct {
	source   dlq.Source
	running  dlq.Running
	stuck    int64
	expiring int64
	oldest   time.Time // opening of the oldest stuck document; zero without one
	newest   dlq.Entry // the document that failed last; zero without one
	rejected int64
}

// sourceQuery is what of a source is stuck, as a query.
func sourceQuery(name string, terms string) string {
	return "source:" + dlq.QuoteValue(name) + " " + terms
}

const stuckTerms = "status:parked -reason:low_confidence"

// newSourcesPage shapes the list of sources.
func newSourcesPage(list []sourceFacts, now time.Time) sources.Model {
	m := sources.Model{Lead: counted(len(list), "source", "sources") + ". A source appears by itself with its first document."}
	for _, f := range list {
		m.Rows = append(m.Rows, newSourceRow(f, now))
	}
	if len(list) == 0 {
		m.Lead = ""
		m.Empty = &components.Empty{Title: "No source yet", Text: "The first document creates its source, with the defaults and no redrive target."}
	}
	return m
}

func newSourceRow(f sourceFacts, now time.Time) sources.Row {
	s := f.source
	row := sources.Row{
		Name: components.Link{Text: web.VisibleText(s.Name()), Href: sourceHref(s.Name())}, Owner: ownerWord(s.Policy.Owner),
		Stuck: components.Link{Text: grouped(f.stuck), Href: entriesHref(sourceQuery(s.Name(), stuckTerms))}, Oldest: "none",
		Target: targetTag(s), Probe: probeTag(s), Reports: reportsTag(s), RunsNow: shownLine(runningWords(f.running), 160),
	}
	if !f.oldest.IsZero() {
		row.Oldest = span(now.Sub(f.oldest))
	}
	if f.expiring > 0 {
		row.Expires = components.Tag{Text: grouped(f.expiring) + map[bool]string{true: " expires", false: " expire"}[f.expiring == 1], Tone: components.Deadline, Title: "within seven days", Href: entriesHref(sourceQuery(s.Name(), stuckTerms+" expires:<7d"))}
	}
	if s.Paused {
		row.Paused = components.Tag{Text: "paused", Tone: components.Held, Title: "by " + s.PausedBy}
	}
	if f.rejected > 0 {
		row.Rejects = components.Link{Text: grouped(f.rejected) + " refused", Href: sourceHref(s.Name()) + "#rejected"}
	}
	for _, step := range sourceLadder(f) {
		row.Ladder.Of++
		if step.done {
			row.Ladder.Done++
		} else if row.Ladder.Next == "" {
			row.Ladder.Next = "next: " + step.name
		}
	}
	return row
}

func targetTag(s dlq.Source) components.Tag {
	switch {
	case s.Policy.Redrive.URL == "":
		return components.Tag{Text: "no redrive target", Tone: components.Deadline}
	case !s.HasSecret:
		return components.Tag{Text: "redrives, unsigned", Tone: components.Plain, Title: "Set a secret so that the pipeline can tell deliveries from anybody's"}
	}
	return components.Tag{Text: "redrives", Tone: components.Good}
}

func probeTag(s dlq.Source) components.Tag {
	p := s.Policy.Probe
	switch {
	case !p.Configured():
		return components.Tag{Text: "not set up", Tone: components.Quiet}
	case p.Fetch == dlq.FetchAlways:
		return components.Tag{Text: "fetches the bytes", Tone: components.Plain}
	}
	if name, ok := p.TagHeader(); ok {
		return components.Tag{Text: "asks for " + shownLine(name, 40).String(), Tone: components.Plain}
	}
	return components.Tag{Text: "asks for a version", Tone: components.Plain}
}

// outcomeModeWords are the ways to learn an outcome that a policy can name.
var outcomeModeWords = map[dlq.OutcomeMode]string{
	dlq.OutcomesReported: "reported by the pipeline",
	dlq.OutcomesResponse: "the target's answer",
	dlq.OutcomesCheck:    "asked of the index",
	dlq.OutcomesAssumed:  "silence counts as done",
}

func reportsTag(s dlq.Source) components.Tag {
	if neverReported(s) {
		return components.Tag{Text: "never reported", Tone: components.Deadline, Title: neverReportedSentence(s)}
	}
	return components.Tag{Text: outcomeModeWords[s.Policy.Outcomes.Mode], Tone: components.Plain}
}

// runningWords says what runs now, component by component, as versions are
// written everywhere.
func runningWords(r dlq.Running) string {
	first := dlq.Versions{}
	for name, versions := range r {
		first[name] = strings.Join(versions, ", ")
	}
	return allVersions(first)
}

// rungOf is one step of what can be set up for a source.
type rungOf struct {
	name string
	done bool
	says string // what was seen, or what one would get
}

// sourceLadder is how far a source is set up, filled in from what was seen.
func sourceLadder(f sourceFacts) []rungOf {
	s, newest := f.source, f.newest
	rungs := []rungOf{
		{"park", newest.DLQID != "", "send what failed, and it stands here instead of in a log"},
		{"bytes", newest.Copy == dlq.CopyHeld || newest.Copy == dlq.CopyExpired, "send the document too, and it can be replayed after the source has lost it"},
		{"versions", len(newest.Versions) > 0, "say which versions handled it, and a fix can be told from luck"},
		{"redrive", s.Policy.Redrive.URL != "", "say where redrives go"},
		{"outcomes", s.Reported > 0 || !waitsForReports(s), "report what came of each redrive, and fixes are proven"},
		{"deployments", len(f.running) > 0, "say what runs now, and a fix that is live shows by itself"},
	}
	seen := []string{
		"last document " + dateOf(newest.LastSeen),
		"the newest document came with its bytes",
		shownLine(allVersions(newest.Versions), 120).String(),
		shownLine(s.Policy.Redrive.URL, 120).String(),
		outcomeModeWords[s.Policy.Outcomes.Mode],
		shownLine(runningWords(f.running), 160).String(),
	}
	for i := range rungs {
		if rungs[i].done {
			rungs[i].says = seen[i]
		}
	}
	return rungs
}
