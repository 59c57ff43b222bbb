package handlers

import (
	"strings"
	"time"

	"dlo/dlq"
)

// Dates of the query language: as terms, in words, and as what is offered.

// openedIn narrows a query to the documents that were opened in the months from
// one up to another, which is not among them; zero at either side is without an
// end there. It names the months, and so finds the same ones next year.
func openedIn(from, to time.Time) []string {
	month := func(t time.Time) string { return t.UTC().Format("2006-01") }
	switch {
	case from.IsZero() && to.IsZero():
		return nil
	case from.IsZero():
		return []string{"opened:<" + month(to)}
	case to.IsZero():
		return []string{"opened:>=" + month(from)}
	}
	if last := month(to.AddDate(0, -1, 0)); last != month(from) {
		return []string{"opened:" + month(from) + ".." + last}
	}
	return []string{"opened:" + month(from)}
}

// periodsWords are periods as people say them: "in Nov 2026", "on 29 Nov 2026",
// "before 1 Nov 2026", "from 1 Nov 2026 to 14 Jan 2027".
func periodsWords(periods []dlq.Period) string {
	words := make([]string, len(periods))
	for i, p := range periods {
		words[i] = periodWords(p)
	}
	return strings.Join(words, " or ")
}

func periodWords(p dlq.Period) string {
	const day = "2 Jan 2006"
	switch {
	case p.To.IsZero():
		return "on " + p.From.Format(day) + " or later"
	case p.From.IsZero():
		return "before " + p.To.Format(day)
	case p.To.Equal(p.From.AddDate(0, 0, 1)):
		return "on " + p.From.Format(day)
	case p.From.Day() == 1 && p.To.Equal(p.From.AddDate(0, 1, 0)):
		return "in " + p.From.Format("Jan 2006")
	}
	return "from " + p.From.Format(day) + " to " + p.To.AddDate(0, 0, -1).Format(day)
}

// dateChoices are the dates that the box offers.
func dateChoices(now time.Time) []completion {
	now = now.UTC()
	this := monthStart(now)
	return []completion{
		{now.Format("2006-01-02"), "today, UTC"},
		{now.AddDate(0, 0, -1).Format("2006-01-02"), "yesterday"},
		{">=" + now.AddDate(0, 0, -6).Format("2006-01-02"), "the last 7 days"},
		{this.Format("2006-01"), "this month"},
		{this.AddDate(0, -1, 0).Format("2006-01"), "last month"},
		{"<" + this.Format("2006-01"), "before this month"},
	}
}
