package handlers

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"dlo/dlq"
	"dlo/views/components"
)

// What the list of cohorts and the page of one say alike.

// cohortTitle is what a cohort goes by.
func cohortTitle(c dlq.Cohort) string {
	switch {
	case c.ErrorType != "":
		return c.ErrorType
	case c.Review:
		return "Low confidence"
	}
	return "No exception type"
}

// cohortQuery is what a cohort holds, in the query language; more terms narrow
// it. The id is written whole: a prefix could match another one day.
func cohortQuery(id string, terms ...string) string {
	return strings.Join(append([]string{"cohort:" + dlq.QuoteValue(id)}, terms...), " ")
}

// liveFix is a version that runs now and under which none of the cohort's stuck
// documents failed: the reason to try one. It looks at the components that the
// failures name, those of most documents first.
func liveFix(c dlq.Cohort, running map[string]dlq.Running) (component, version string, ok bool) {
	for _, under := range c.FailedUnder {
		runs := running[under.Source]
		names := under.Versions.Components()
		slices.SortStableFunc(names, func(a, b string) int { return weightOf(a) - weightOf(b) })
		for _, name := range names {
			for _, now := range runs[name] {
				if !failedUnder(c, under.Source, name, now) {
					return name, now, true
				}
			}
		}
	}
	return "", "", false
}

func failedUnder(c dlq.Cohort, source, component, version string) bool {
	return slices.ContainsFunc(c.FailedUnder, func(v dlq.VersionCount) bool {
		return v.Source == source && v.Versions[component] == version
	})
}

// runsNow says what runs of the component by which a set of versions goes.
func runsNow(v dlq.Versions, running dlq.Running) (words components.Text, other bool) {
	main := mainComponent(v, running)
	switch {
	case main == "":
		return nil, false
	case len(running[main]) == 0:
		return components.PlainText("not reported"), false
	case running.Has(main, v[main]) && len(running[main]) == 1:
		return components.PlainText("same"), false
	case running.Has(main, v[main]):
		return components.PlainText("still runs, beside " + grouped(len(running[main])-1) + " more"), false
	}
	now := make([]string, len(running[main]))
	for i, version := range running[main] {
		now[i] = versionBeside(version, v[main])
	}
	return shownLine(strings.Join(now, ", ")+" runs now", 100), true
}

// versionWhole is how many characters of a version are shown as they are. What is
// left of p@3 without its program, a 3, is no version that anybody knows.
const versionWhole = 24

// versionBeside is a version where another of the same program stands beside
// it: of a long one what both have before the @ is left out.
func versionBeside(version, other string) string {
	if utf8.RuneCountInString(version) <= versionWhole {
		return version
	}
	if at := strings.LastIndexByte(version, '@'); at > 0 && strings.HasPrefix(other, version[:at+1]) {
		return version[at+1:]
	}
	return version
}

// shortVersion is a version for where the program that it is of stands in the
// same row: of a long one the program is left out.
func shortVersion(version string) string {
	if utf8.RuneCountInString(version) <= versionWhole {
		return version
	}
	if at := strings.LastIndexByte(version, '@'); at > 0 && at < len(version)-1 {
		return version[at+1:]
	}
	return version
}

// situation is what decides the next step of a cohort.
type situation struct {
	need        dlq.Need // the home page is ordered by it
	parked      int64
	quarantined int64
	redriving   int64
	expiring    int64
	alerts      int64  // that fire on it
	flood       bool   // many more arrivals today than before
	back        int64  // that failed under a declared fix
	backUnder   string // that fix
	untested    string // a declared fix that runs now, with nothing sent since
	fix         string // what runs now and may be a fix: one that was declared and tested, or a version that nothing failed under
	declared    bool   // somebody said that it is a fix
	undeployed  string // a declared fix that does not run
	disposition dlq.Disposition
	today       int64 // arrivals
	daysBefore  []int64
	hasTarget   bool
	source      string // where a target would be set
	proof       dlq.Proof
	redrive     *dlq.Operation // in steps, which has not ended
}

// step is one verb and why.
type step struct {
	verb string
	why  string
	tone components.Tone
	to   stepTarget
}

// stepTarget is where a step leads.
type stepTarget int

// Where steps lead.
const (
	toCohort stepTarget = iota
	toQuarantine
	toExpiring
	toRedrive
	toReplays
	toArrivals
	toFlight
	toSource
	toAlerts
)

// nextStep says what to do about a cohort: one verb, and why. The need comes
// first, so that the list is ordered by what it says; within it the first rule
// that fits wins. What is on its way comes before the proposal to send more, and
// a fix that cannot be tried for want of a target is said to be there.
func nextStep(s situation) step {
	switch s.need {
	case dlq.NeedDecided:
		return step{"Decided", dispositionWords[s.disposition][0], components.Plain, toCohort}
	case dlq.NeedLook:
		return stepLook(s)
	case dlq.NeedTest:
		if !s.hasTarget {
			return step{"Set a target", shortVersion(s.untested) + " is live, and nothing can be sent", components.Plain, toSource}
		}
		return step{"Test the fix", shortVersion(s.untested) + " is live", components.Plain, toRedrive}
	case dlq.NeedProven:
		return stepProven(s)
	case dlq.NeedDeadline:
		return step{"Decide", counted(s.expiring, "leaves", "leave") + " within 7 days", components.Deadline, toExpiring}
	case dlq.NeedVerdict:
		return step{"Decide", counted(s.quarantined, "document is", "documents are") + " in quarantine", components.Held, toQuarantine}
	}
	switch {
	case s.redrive != nil && s.redrive.State == dlq.OperationPaused:
		return stepPaused(s)
	case s.redriving > 0:
		return step{"Wait", counted(s.redriving, "document is", "documents are") + " being redriven", components.Plain, toFlight}
	case s.redrive != nil:
		return step{"Wait", "its redrive is under way", components.Plain, toRedrive}
	case s.proof.State != dlq.ProofNone && s.proof.Covers > 0 && s.hasTarget:
		return stepProof(s)
	case s.fix != "" && s.parked > 0 && s.hasTarget:
		return stepFix(s)
	case s.undeployed != "" && s.parked > 0:
		return step{"Deploy", shortVersion(s.undeployed) + " is declared a fix", components.Plain, toCohort}
	case s.parked > 0 && !s.hasTarget && s.fix != "":
		return step{"Set a target", shortVersion(s.fix) + " runs now, and nothing can be sent", components.Plain, toSource}
	case s.parked > 0 && !s.hasTarget:
		return step{"Set a target", "without one nothing can be redriven", components.Plain, toSource}
	case s.parked > 0:
		return step{"Look", "no version has changed since", components.Plain, toCohort}
	}
	return step{"", "nothing is stuck", components.Plain, toCohort}
}

// stepLook says what there is to look at: what came back after its fix, a
// flood, or an alert.
func stepLook(s situation) step {
	alert := ""
	if s.alerts > 0 {
		alert = " · alert"
	}
	switch {
	case s.back > 0:
		return step{"Look", counted(s.back, "failed", "failed") + " under " + shortVersion(s.backUnder) + ", its declared fix" + alert, components.Bad, toCohort}
	case s.flood:
		return step{"Look", counted(s.today, "arrival", "arrivals") + " today, " + meanWords(s.daysBefore) + " on a day before" + alert, components.Bad, toArrivals}
	}
	if s.redrive != nil && s.redrive.State == dlq.OperationStopped {
		return step{"Look", "stopped at " + grouped(s.redrive.Sent()) + ", " + counted(s.redrive.Untouched(), "was", "were") + " not touched" + alert, components.Bad, toRedrive}
	}
	return step{"Look", counted(s.alerts, "alert fires", "alerts fire") + " on it", components.Bad, toAlerts}
}

// stepProven is what to do with a proof that nobody used, or has used for some
// steps.
func stepProven(s situation) step {
	switch {
	case !s.hasTarget:
		return step{"Set a target", proofWhy(s.proof) + ", and nothing can be sent", components.Plain, toSource}
	case s.redrive != nil:
		return step{"Send next " + grouped(s.redrive.Next()), proofWhy(s.proof), components.Plain, toRedrive}
	}
	return step{"Redrive " + grouped(s.proof.Covers), proofWhy(s.proof), components.Plain, toRedrive}
}

// stepPaused is what to do about a redrive that waits for somebody, or for its
// target.
func stepPaused(s situation) step {
	switch s.redrive.Asks {
	case dlq.AsksStep:
		return step{"Send next " + grouped(s.redrive.Next()), proofWhy(s.proof), components.Plain, toRedrive}
	case dlq.AsksTarget:
		return step{"Look", "its redrive is paused: the target is down", components.Held, toRedrive}
	case dlq.AsksTimeOut:
		return step{"Look", "what was sent has no outcome yet, in its time", components.Held, toRedrive}
	}
	return step{"Resume", "its redrive is paused", components.Plain, toRedrive}
}

// stepProof is what to do where replays say something, and not that the fix works
// for all.
func stepProof(s situation) step {
	switch s.proof.State {
	case dlq.ProofMixed:
		return step{"Split", proofWhy(s.proof), components.Held, toRedrive}
	case dlq.ProofRefuted, dlq.ProofLooksTransient:
		return step{"Look", proofWhy(s.proof), components.Plain, toReplays}
	case dlq.ProofLapsed:
		return step{"Test again", "what was tested does not run any more", components.Plain, toRedrive}
	}
	return step{"Redrive " + grouped(s.proof.Covers), proofWhy(s.proof), components.Plain, toRedrive}
}

// stepFix is what to do with a version that runs now and of which no replay says
// anything.
func stepFix(s situation) step {
	switch {
	case s.proof.Past > 0:
		return step{"Look", counted(s.proof.Past, "replay", "replays") + " got past it and failed on another", components.Plain, toReplays}
	case s.declared:
		return step{"Look", "what was sent since " + shortVersion(s.fix) + " is live proves nothing", components.Plain, toReplays}
	}
	return step{"Try one", shortVersion(s.fix) + " runs now", components.Plain, toRedrive}
}

func mean(days []int64) float64 {
	if len(days) == 0 {
		return 0
	}
	var sum int64
	for _, n := range days {
		sum += n
	}
	return float64(sum) / float64(len(days))
}

func meanWords(days []int64) string {
	m := mean(days)
	if m > 0 && m < 1 {
		return "less than 1"
	}
	return grouped(int64(m + 0.5))
}

// situationOf gathers what decides a cohort's next step.
func situationOf(c dlq.Cohort, known knownSources, now time.Time) situation {
	s := situation{need: dlq.NeedOf(c, now), parked: c.Parked(), quarantined: c.Counts[dlq.StatusQuarantined], redriving: c.Counts[dlq.StatusRedriving], expiring: c.Expiring,
		alerts: c.Standing.Alerts, flood: dlq.Flood(c.Daily), disposition: c.Disposition, proof: c.Standing.Proof.Shown(), redrive: c.Standing.Redrive}
	component, version := "", ""
	for _, f := range c.Standing.Fixes {
		name := fixName(f.Component, f.Version)
		switch {
		case f.Returned > 0 && s.back == 0:
			s.back, s.backUnder = f.Returned, name
		case f.Untested && s.untested == "":
			s.untested = name
		case f.Covers > 0 && version == "":
			component, version, s.declared = f.Component, f.Version, true
		case !f.Runs && f.Returned == 0 && s.undeployed == "":
			s.undeployed = name
		}
	}
	if version == "" {
		component, version, _ = liveFix(c, known.running)
	}
	if version != "" {
		s.fix = fixName(component, version)
	}
	if days := len(c.Daily); days > 0 {
		s.today, s.daysBefore = c.Daily[days-1], c.Daily[:days-1]
	}
	for _, name := range c.Sources {
		if _, visible := known.byName[name]; visible && s.source == "" {
			s.source = name
		}
		s.hasTarget = s.hasTarget || known.hasTarget(name)
	}
	return s
}

func fixName(component, version string) string {
	return shownLine(withComponent(component, version), 80).String()
}

// ranUnder says whether a replay ran under a version of a component: as its
// pipeline reported, else as it was known when it was sent.
func ranUnder(r dlq.Redrive, component, version string) bool {
	if reported, ok := r.OutcomeVersions[component]; ok {
		return reported == version
	}
	return slices.Equal(r.Running[component], []string{version})
}

// stepHref is where a step leads for a cohort.
func stepHref(s step, c dlq.Cohort, source string) string {
	switch s.to {
	case toQuarantine:
		return entriesHref(cohortQuery(c.ID, "status:quarantined"))
	case toExpiring:
		return entriesHref(cohortQuery(c.ID, "status:parked", "expires:<7d"))
	case toFlight:
		return entriesHref(cohortQuery(c.ID, "status:redriving"))
	case toSource:
		return sourceHref(source)
	case toRedrive:
		return cohortHref(c.ID) + "#prove"
	case toReplays:
		return cohortHref(c.ID) + "#replays"
	case toAlerts:
		return "/alerts"
	case toArrivals:
		return cohortHref(c.ID) + "#arrivals-title"
	}
	return cohortHref(c.ID)
}

// replaysLooked is how many of a cohort's newest replays its screens look at.
const replaysLooked = 50

// replaySummary counts what replays say, without concluding from it.
type replaySummary struct {
	seen, passed, failed, flying int
	waiting                      int  // to be sent: no replay yet, and not among those seen
	past                         int  // of the failed: got past the cohort's error, and failed on another
	proven, refuted              int  // got past the error, or did not, under code that changed or was not reported, with the same bytes
	more                         bool // there are older ones that were not looked at
}

// unsent says that a redrive waits for its first delivery to begin.
func unsent(r dlq.Redrive) bool {
	return (r.State == dlq.RedrivePending || r.State == dlq.RedriveClaimed) && r.SentAt.IsZero()
}

func summarise(replays []dlq.Redrive) replaySummary {
	s := replaySummary{more: len(replays) >= replaysLooked}
	for _, r := range replays {
		if unsent(r) {
			s.waiting++
			continue
		}
		s.seen++
		switch {
		case r.InFlight():
			s.flying++
		case r.Outcome.Success():
			s.passed++
		case r.Outcome == dlq.OutcomeFailed:
			s.failed++
		}
		switch r.Verdict().Name {
		case dlq.VerdictFixedByCode:
			s.proven++
		case dlq.VerdictNextDefect:
			s.proven++
			s.past++
		case dlq.VerdictStillBroken:
			s.refuted++
		}
	}
	return s
}

// words: "3 replays · 2 passed".
func (s replaySummary) words() string {
	switch {
	case s.seen == 0 && s.waiting > 0:
		return grouped(s.waiting) + " to be sent"
	case s.seen == 0:
		return "Not tested"
	}
	head := counted(s.seen, "replay", "replays")
	if s.more {
		head = "Last " + head
	}
	words := fmt.Sprintf("%s · %s passed", head, grouped(s.passed))
	if s.past > 0 {
		words += " · " + grouped(s.past) + " got past it and failed on another"
	}
	if s.flying > 0 {
		words += " · " + grouped(s.flying) + " in flight"
	}
	if s.waiting > 0 {
		words += " · " + grouped(s.waiting) + " to be sent"
	}
	return words
}

// proof says how many replays got past the error of those that tested the code.
// Who failed on another error got past this one, and proves as much of the fix as
// who passed. Nothing where none tested it.
func (s replaySummary) proof() string {
	tested := s.proven + s.refuted
	if tested == 0 {
		return ""
	}
	return fmt.Sprintf("%s of %s got past this error.", grouped(s.proven), counted(tested, "replay that tested the code", "replays that tested the code"))
}

// oldestWords is how long the oldest document has been stuck.
func oldestWords(c dlq.Cohort, now time.Time) string {
	if c.Oldest.IsZero() {
		return ""
	}
	return span(now.Sub(c.Oldest))
}

// ints makes a series for a chart.
func ints(values []int64) []int {
	out := make([]int, len(values))
	for i, v := range values {
		out[i] = int(v)
	}
	return out
}

func sumOf(values []int64) int64 {
	var sum int64
	for _, v := range values {
		sum += v
	}
	return sum
}
