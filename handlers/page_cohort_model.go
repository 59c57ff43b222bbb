package handlers

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/views/cohort"
	"dlo/views/components"
	"dlo/views/layout"
)

// cohortFacts is all that the page of a cohort is made from.
type cohortFacts struct {
	frame       layout.Model
	cohort      dlq.Cohort
	known       knownSources
	members     []dlq.Fingerprint
	months      []dlq.VersionMonth
	arrivals    []int64 // a day, oldest first, today last
	deployments []deployed
	near        []deployed // round the first and the last failure
	registered  time.Time  // when the register of its sources begins; zero: it is empty
	unread      int        // sources whose deployments were not read
	placed      []dlq.SourcePlaces
	axis        arrivalsAxis
	axisOf      string // the source along whose stream; empty: that of most documents
	fixes       []dlq.Fix
	replays     []dlq.Redrive
	notes       []dlq.Note
	decided     dlq.Decided
	audit       []dlq.AuditRow
	runbook     string // HTML, cleaned
	prove       proveFacts
	grouping    dlq.Grouping
	alike       []dlq.Cohort
	others      map[string]dlq.Cohort // those that the grouping names
	past        map[string]dlq.Cohort // those in which replays that got past this error failed
	entries     entryList
	separated   *separated // nil unless the proof is mixed
	pausedBy    string
	csrf        string
	now         time.Time
	by          dlq.Actor
}

// deployed is a deployment with the source that it was in.
type deployed = dlq.SourceDeployment

// newCohortPage is one defect: what it is, what is known of a fix, since when,
// under which code, and the documents that it holds.
func newCohortPage(f cohortFacts) cohort.Model {
	m := cohort.Model{
		Layout:   f.frame,
		Type:     shownLine(cohortTitle(f.cohort), 200),
		Template: shownLine(f.cohort.Template, 400),
		State:    cohortState(f.cohort, f.by),
		Facts:    cohortHeadFacts(f),
		Notices:  cohortNotices(f),
		Runbook:  newRunbook(f),
		Replays:  newReplays(f),
		Fixes:    newFixes(f),
		Arrivals: newArrivals(f),
		Versions: newVersions(f),
		MadeOf:   newMadeOf(f.members),
		Grouping: newGrouping(f),
		Filters:  cohortEntryFilters(f),
		Entries:  newEntryTable(f.entries),
		Activity: newCohortActivity(f),

		Separates: newSeparates(f),
	}
	f.prove.past = pastLinks(f)
	m.Prove, m.Live = newProve(f.prove), liveOf(f.prove, cohortHref(f.cohort.ID), cohortRegions)
	m.VersionsLead = len(m.Replays.Rows) <= fewReplays
	m.Actions, m.More = cohortActions(f)
	if len(f.entries.rows) == 0 {
		m.Entries = components.EntryTable{ID: f.entries.id, Empty: noCohortEntries(f)}
	}
	return m
}

// fewReplays is how many rows of replays leave room under them beside the runbook
// and the arrivals.
const fewReplays = 6

// cohortState are the states that its documents are in beside being stuck.
func cohortState(c dlq.Cohort, by dlq.Actor) []components.Tag {
	var tags []components.Tag
	if tag := partTag(c, by); tag.Text != "" {
		tags = append(tags, tag)
	}
	if c.Review {
		tags = append(tags, components.Tag{Text: "low confidence", Tone: components.Quiet, Title: "In review: no failures, and outside what is counted as stuck."})
	}
	for _, s := range []dlq.Status{dlq.StatusQuarantined, dlq.StatusRedriving} {
		if n := c.Counts[s]; n > 0 {
			tags = append(tags, components.Tag{Text: grouped(n) + " " + map[dlq.Status]string{dlq.StatusQuarantined: "in quarantine", dlq.StatusRedriving: "redriving"}[s], Tone: statusTones[s], Href: entriesHref(cohortQuery(c.ID, "status:"+string(s)))})
		}
	}
	return tags
}

func cohortHeadFacts(f cohortFacts) []components.Fact {
	c := f.cohort
	stuck := "stuck"
	if c.Review {
		stuck = "in review"
	}
	facts := []components.Fact{{Text: grouped(c.Parked()) + " " + stuck, Href: entriesHref(cohortQuery(c.ID, "status:parked"))}}
	for _, name := range c.Sources {
		if _, visible := f.known.byName[name]; visible {
			facts = append(facts, components.Fact{Text: titleOf(name), Href: sourceHref(name)})
		}
	}
	facts = append(facts, components.Fact{Text: "owner " + ownerFrom(c.Owner, fallsTo{cohortOwner(c, f.known), "source"})})
	if c.Ticket != "" {
		facts = append(facts, components.Fact{Text: "ticket", Value: shownLine(c.Ticket, 120), Href: ticketHref(c.Ticket)})
	}
	if c.Expiring > 0 {
		facts = append(facts, components.Fact{Text: grouped(c.Expiring) + " " + verb(c.Expiring, "leaves", "leave") + " within 7 days", Tone: components.Deadline, Href: entriesHref(cohortQuery(c.ID, "status:parked", "expires:<7d"))})
	}
	if !c.Oldest.IsZero() {
		facts = append(facts, components.Fact{Text: "oldest " + oldestWords(c, f.now), Title: "stuck since " + dateOf(c.Oldest)})
	}
	facts = append(facts,
		components.Fact{Text: counted(c.Arrivals, "failure", "failures") + " since", Time: day(c.FirstSeen)},
		components.Fact{Text: "last", Time: since(f.now, c.LastSeen)},
		components.Fact{Text: "what this is made of", Href: "#made-of"})
	return facts
}

// cohortActions are the buttons that work in this state for this person.
func cohortActions(f cohortFacts) (actions, more []components.Action) {
	c, back := f.cohort, cohortHref(f.cohort.ID)
	if f.by.May(dlq.MayNote) {
		actions = append(actions, components.Action{Label: "Assign", Href: back + "/assign", Key: "a"})
	}
	if f.by.May(dlq.MayNote) {
		more = append(more, components.Action{Label: "Set a disposition", Href: back + "/dispose"})
	}
	if !f.by.May(dlq.MayDecide) {
		return actions, more
	}
	of := func(kind dlq.OperationKind, label string, statuses ...dlq.Status) (components.Action, bool) {
		var n int64
		terms := make([]string, len(statuses))
		for i, s := range statuses {
			n += c.Counts[s]
			terms[i] = string(s)
		}
		return components.Action{Label: label, Href: confirmHref(kind, cohortQuery(c.ID, "status:"+strings.Join(terms, ",")), -1, back), Why: documents(n), Key: bulkKeys[kind]}, n > 0
	}
	if a, ok := of(dlq.OperationExtend, "Keep longer", dlq.StatusParked, dlq.StatusQuarantined); ok {
		actions = append([]components.Action{a}, actions...)
	}
	for _, a := range []struct {
		kind     dlq.OperationKind
		label    string
		statuses []dlq.Status
	}{
		{dlq.OperationRelease, "Release from quarantine", []dlq.Status{dlq.StatusQuarantined}},
		{dlq.OperationQuarantine, "Quarantine what is stuck", []dlq.Status{dlq.StatusParked}},
		{dlq.OperationArchive, "Archive", []dlq.Status{dlq.StatusParked, dlq.StatusQuarantined}},
		{dlq.OperationRestore, "Restore from the archive", []dlq.Status{dlq.StatusArchived}},
	} {
		if action, ok := of(a.kind, a.label, a.statuses...); ok {
			more = append(more, action)
		}
	}
	if f.grouping.Whole {
		more = append(more, components.Action{Label: "Split", Href: back + "/split"}, components.Action{Label: "Merge", Href: back + "/merge"})
	}
	return actions, more
}

// cohortNotices say what stands in the way of a redrive, or is under way.
func cohortNotices(f cohortFacts) []components.Notice {
	var notices []components.Notice
	if n, any := dispositionNotice(f.decided, f.by, f.now, cohortHref(f.cohort.ID)+"/dispose"); any {
		notices = append(notices, n)
	}
	way, waiting := map[string]int{}, map[string]int{}
	var order []string
	for _, r := range f.replays {
		if !r.InFlight() || f.prove.hasOp && r.OperationID == f.prove.op.ID {
			continue // the bar says it
		}
		if way[r.OperationID]+waiting[r.OperationID] == 0 {
			order = append(order, r.OperationID)
		}
		if unsent(r) {
			waiting[r.OperationID]++
		} else {
			way[r.OperationID]++
		}
	}
	for _, id := range order {
		notices = append(notices, components.Notice{Tone: components.Info, Title: wayWords(int64(way[id]), int64(waiting[id])),
			Links: []components.Link{{Text: "See the operation", Href: operationHref(id)}}})
	}
	for _, name := range f.cohort.Sources {
		s, visible := f.known.byName[name]
		if !visible {
			continue
		}
		if s.Paused && f.pausedBy == "" {
			notices = append(notices, components.Notice{Tone: components.Held, Title: "Redrives of " + titleOf(name) + " are paused by " + s.PausedBy + ".", Links: []components.Link{{Text: "Look at the source", Href: sourceHref(name)}}})
		}
		if neverReported(s) {
			notices = append(notices, components.Notice{Tone: components.Deadline, Title: neverReportedSentence(s), Links: []components.Link{{Text: "Look at the source", Href: sourceHref(name)}}})
		}
	}
	return notices
}

// pastLinks lead to the cohorts in which documents that got past this error
// failed next.
func pastLinks(f cohortFacts) []components.Link {
	var links []components.Link
	for _, id := range pastCohorts(f.replays) {
		if c, visible := f.past[id]; visible {
			links = append(links, components.Link{Text: titleOf(cohortTitle(c)), Href: cohortHref(id)})
		}
	}
	return links
}

// pastMost bounds how many next defects a page names.
const pastMost = 3

// pastCohorts are the ids of the cohorts in which replays that got past an error
// failed, newest first.
func pastCohorts(replays []dlq.Redrive) []string {
	var ids []string
	for _, r := range replays {
		if len(ids) < pastMost && r.Verdict().Name == dlq.VerdictNextDefect && !slices.Contains(ids, r.OutcomeCohort) {
			ids = append(ids, r.OutcomeCohort)
		}
	}
	return ids
}

// queryable says whether the query language has a key for a component.
func queryable(component string) bool {
	for _, name := range componentsByWeight {
		if name == component {
			return true
		}
	}
	return false
}

// newRunbook is what people know of the defect: of its sources, and what they
// noted here.
func newRunbook(f cohortFacts) cohort.Runbook {
	r := cohort.Runbook{Text: components.Markdown{SanitisedHTML: f.runbook}, None: "Nothing is known yet. Note what helped, so that the next person need not find out again."}
	if f.cohort.Ticket != "" {
		r.Ticket = components.Link{Text: titleOf(f.cohort.Ticket), Href: ticketHref(f.cohort.Ticket)}
	}
	if f.by.May(dlq.MayNote) {
		r.Note = components.Link{Text: "Write a note", Href: "#note"}
	}
	if f.by.May(dlq.MayEditRunbook) {
		r.Edit = components.Link{Text: "Edit", Href: cohortHref(f.cohort.ID) + "/runbook"}
	}
	return r
}

// newReplays are the replays as evidence: whether the document changed, whether
// the code did, and what came of it.
func newReplays(f cohortFacts) cohort.Replays {
	r := cohort.Replays{Summary: "none yet", None: "A first replay of a stored copy tells whether the code that runs now gets past this error."}
	if len(f.replays) == 0 {
		return r
	}
	r.Summary = summarise(f.replays).words()
	counts := 0
	// Failures first: they are what speaks against redriving the rest.
	ordered := slices.Clone(f.replays)
	slices.SortStableFunc(ordered, func(a, b dlq.Redrive) int { return failureFirst(a) - failureFirst(b) })
	for _, replay := range ordered {
		v := replay.Verdict()
		if v.Name == dlq.VerdictFixedByCode || v.Name == dlq.VerdictStillBroken {
			counts++
		}
		if len(r.Rows) == replaysShown {
			continue
		}
		row := cohort.Replay{
			Document: shownLine(replay.DocID, 80), Href: entryHref(replay.DLQID),
			Bytes:   bytesTag(dlq.Evidence{Bytes: v.Bytes, Grade: v.Grade, Caveats: v.Caveats}),
			Code:    codeTag(v.Code, v.Moved),
			Verdict: verdictWord(replay), Counts: countsFor(v), Tone: verdictTone(v), When: moment(replay.CreatedAt),
		}
		if !replay.SettledAt.IsZero() {
			row.When = moment(replay.SettledAt)
		}
		if c, visible := f.past[replay.OutcomeCohort]; visible && v.Name == dlq.VerdictNextDefect {
			row.Next = components.Link{Text: titleOf(cohortTitle(c)), Href: cohortHref(c.ID)}
		}
		r.Rows = append(r.Rows, row)
	}
	if counts > 0 {
		r.Summary += " · " + grouped(counts) + " " + verb(int64(counts), "counts", "count") + " for others"
	}
	if len(f.replays) > replaysShown {
		r.More = components.Link{Text: grouped(replaysShown) + " are shown, failures first. All that were redriven", Href: entriesHref(cohortQuery(f.cohort.ID, "redrives:>0"))}
	}
	return r
}

func failureFirst(r dlq.Redrive) int {
	if r.Outcome == dlq.OutcomeFailed {
		return 0
	}
	return 1
}

// replaysShown is how many rows the table of replays has at most.
const replaysShown = 12

// cohortEntryFilters are the states that the list of documents can show.
func cohortEntryFilters(f cohortFacts) []components.Chip {
	var chips []components.Chip
	asked := cohortStatus(f.entries.params)
	for _, s := range []dlq.Status{dlq.StatusParked, dlq.StatusRedriving, dlq.StatusQuarantined, dlq.StatusArchived, dlq.StatusResolved} {
		if f.cohort.Counts[s] == 0 && s != asked {
			continue
		}
		value := string(s)
		if s == dlq.StatusParked {
			value = ""
		}
		chips = append(chips, components.Chip{Text: sentenceStart(statusWords[s]), Count: grouped(f.cohort.Counts[s]), Href: f.entries.href("status", value), On: s == asked})
	}
	return chips
}

// cohortStatus is the state whose documents are asked for.
func cohortStatus(params url.Values) dlq.Status {
	if s := dlq.Status(params.Get("status")); s.Valid() {
		return s
	}
	return dlq.StatusParked
}

func noCohortEntries(f cohortFacts) *components.Empty {
	if f.entries.lost {
		return noSuchPlace(f.entries.href("after", ""))
	}
	if f.entries.from > 0 {
		return &components.Empty{Title: "The list ends here", Links: []components.Link{{Text: "First page", Href: f.entries.href("after", "")}}}
	}
	e := &components.Empty{Title: "No document is stuck here now"}
	if s := cohortStatus(f.entries.params); s != dlq.StatusParked {
		e.Title = "No document is in this state"
	}
	if n := f.cohort.Counts[dlq.StatusResolved]; n > 0 {
		e.Text = counted(n, "document that was here is", "documents that were here are") + " resolved."
		e.Links = []components.Link{{Text: "See them", Href: f.entries.href("status", string(dlq.StatusResolved))}}
	}
	return e
}
