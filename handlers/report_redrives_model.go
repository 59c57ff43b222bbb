package handlers

import (
	"time"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/reports"
)

// reportKinds lead from one report to the others.
func reportKinds(here string) []components.Chip {
	return []components.Chip{{Text: "Versions", Href: versionsReportPath, On: here == versionsReportPath}, {Text: "Redrives", Href: redrivesReportPath, On: here == redrivesReportPath}}
}

var forecastTags = map[dlq.ForecastEnd]components.Tag{
	dlq.ForecastNone:  {Text: "no forecast", Tone: components.Quiet},
	dlq.ForecastOpen:  {Text: "nothing to tell yet", Tone: components.Quiet},
	dlq.ForecastHeld:  {Text: "as expected", Tone: components.Good},
	dlq.ForecastFewer: {Text: "fewer than expected", Tone: components.Bad},
	dlq.ForecastMore:  {Text: "more than expected", Tone: components.Held},
}

// newRedriveReport shapes the report of redrives.
func newRedriveReport(f redriveReportFacts, now time.Time) reports.Redrives {
	m := reports.Redrives{Frame: reports.Frame{
		Title:  "Redrives",
		Lead:   "Redrives that were started from " + f.from.Format("January 2006") + " to " + f.to.Format("January 2006") + ": what was expected of each when it began, and what came of it. As of " + now.UTC().Format("2 Jan 2006 15:04") + " UTC.",
		Action: redrivesReportPath, Kinds: reportKinds(redrivesReportPath),
		Filters: []components.Input{
			{Name: "from", Label: "From", Kind: components.InputSelect, Options: monthOptions(now, f.from, f.to, f.from)},
			{Name: "to", Label: "To", Kind: components.InputSelect, Options: monthOptions(now, f.to, f.to, f.from)},
		},
		Files: []components.Link{{Text: "CSV", Href: f.address(redrivesReportPath + ".csv")}},
	}}
	if f.more {
		m.Notices = append(m.Notices, components.Notice{Tone: components.Deadline, Title: "This is not all.", Text: "Only the newest " + grouped(redrivesMost) + " redrives were read. Choose fewer months."})
	}
	if len(f.rows) == 0 {
		m.Empty = &components.Empty{Title: "No redrive was started in these months", Text: "What is redriven stands here, with what was expected of it.", Links: []components.Link{{Text: "To the operations", Href: "/operations"}}}
		return m
	}
	forecast, held := 0, 0
	for _, r := range f.rows {
		past, of := r.Tested()
		switch r.Operation.Proof.Against(past, of) {
		case dlq.ForecastHeld:
			held++
			forecast++
		case dlq.ForecastFewer, dlq.ForecastMore:
			forecast++
		}
		m.Rows = append(m.Rows, newRedriveReportRow(r))
	}
	if forecast > 0 {
		m.Sentence.Text = grouped(held) + " of " + counted(forecast, "forecast", "forecasts") + " came out as expected."
	}
	return m
}

func newRedriveReportRow(r dlq.RedriveReportRow) reports.RedrivesRow {
	o := r.Operation
	past, of := r.Tested()
	row := reports.RedrivesRow{
		Redrive: components.Link{Text: documents(o.Total), Href: operationHref(o.ID)}, State: operationTag(o), By: actorWord(o.Actor), Started: moment(o.CreatedAt),
		Defect: components.Link{Text: "chosen by hand"}, Expected: "nothing was known", Achieved: "none tested", End: forecastTags[o.Proof.Against(past, of)],
	}
	if o.Query != "" {
		row.Defect.Text = "by a query"
	}
	if r.CohortID != "" {
		row.Defect = components.Link{Text: titleOf(cohortTitle(dlq.Cohort{ErrorType: r.ErrorType})), Href: cohortHref(r.CohortID)}
	}
	if p := o.Proof; p != nil && p.Of > 0 {
		row.Expected = grouped(p.Passed) + " of " + grouped(p.Of) + " had passed"
		if low, high, any := p.Expected(of); any && of > 0 {
			row.Expected = grouped(low) + " to " + grouped(high) + " of " + grouped(of) + "; " + row.Expected
		}
	}
	if of > 0 {
		row.Achieved = grouped(past) + " of " + grouped(of) + " got past it"
	}
	add := func(n int64, words string) {
		if n > 0 {
			row.Also = append(row.Also, grouped(n)+" "+words)
		}
	}
	add(r.Past, "failed on another error")
	add(r.Outcomes[dlq.OutcomeFailed]-r.Past-r.Again, "failed for another reason")
	for _, outcome := range []dlq.OutcomeResult{dlq.OutcomeSkipped, dlq.OutcomeSuperseded, dlq.OutcomeUnattributed, dlq.OutcomeAssumed, dlq.OutcomeNoOutcome, dlq.OutcomeUndelivered} {
		add(r.Outcomes[outcome], outcomeWords[outcome])
	}
	add(o.Counts[dlq.ItemLeftOut], "left out")
	add(o.Counts[dlq.ItemCancelled], "cancelled")
	add(o.Counts[dlq.ItemWaiting]+o.Counts[dlq.ItemInFlight], "not settled")
	return row
}

// monthOptions are the months that a report can begin or end with, the newest
// first; what the address asks for is among them.
func monthOptions(now, on, to time.Time, asked ...time.Time) []components.Option {
	last := monthStart(now)
	if to.After(last) {
		last = to
	}
	var months []components.Option
	add := func(m time.Time) {
		value := m.Format("2006-01")
		for _, o := range months {
			if o.Value == value {
				return
			}
		}
		months = append(months, components.Option{Value: value, Label: m.Format("Jan 2006"), On: m.Equal(on)})
	}
	for m, n := last, 0; n < 2*reportMonthsMost; m, n = m.AddDate(0, -1, 0), n+1 {
		add(m)
	}
	for _, m := range asked {
		add(m)
	}
	return months
}
