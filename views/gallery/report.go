package gallery

import (
	"dlo/views/components"
	"dlo/views/reports"
)

func reportItems() []Item {
	crumbs := []components.Link{{Text: "Reports", Href: "/reports"}, {Text: "Versions"}}
	head := reports.Frame{
		Layout: frame("Versions", "Reports", crumbs...), Title: "Versions", Lead: "Documents that are stuck now, by the versions that they failed under and the month in which they first failed. As of 29 Nov 2026 09:44 UTC.",
		Action: "/reports/versions", Files: []components.Link{{Text: "CSV", Href: "/reports/versions.csv"}},
		Filters: []components.Input{
			{Name: "source", Label: "Source", Kind: components.InputSelect, Options: []components.Option{{Label: "any", On: true}, {Value: "wiki", Label: "wiki"}}},
			{Name: "content", Label: "Content type", Placeholder: "any"},
		},
		Sentence: components.Link{Text: "1,204 of 2,842 failed under versions that are not running now.", Href: "/reports/versions?running=no"},
	}
	n := func(texts ...string) []components.Link {
		var out []components.Link
		for _, t := range texts {
			out = append(out, components.Link{Text: t, Href: "/entries?q=source:wiki"})
		}
		return out
	}
	full := reports.Versions{Frame: head, Months: []string{"earlier", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov"}, Rows: []reports.VersionsRow{
		{Source: components.Link{Text: "wiki", Href: "/sources/wiki"}, ErrorType: txt("PDFSyntaxError"), Versions: txt("wiki-connector 3.13 · pdfminer.six@20221105"), State: components.Tag{Text: "not running now", Tone: components.Quiet, Title: "another parser runs now"}, Cells: n("21", "0", "0", "0", "118", "177", "77"), Total: components.Link{Text: "393", Href: "/entries?q=1"}},
		{Source: components.Link{Text: "leases-of-the-northern-region", Href: "/sources/leases"}, ErrorType: txt("com.example.contracts.extraction.TemplateMismatchException"), Versions: txt("4-with-a-very-long-name+build.20251230.0123456789abcdef0123456789abcdef"), State: components.Tag{Text: "runs now", Tone: components.CodeSame}, Cells: n("0", "0", "0", "0", "0", "0", "1,306"), Total: components.Link{Text: "1,306"}},
		{Source: components.Link{Text: "intranet", Href: "/sources/intranet"}, ErrorType: txt("no exception type"), Versions: txt("not reported"), Cells: n("0", "0", "0", "0", "0", "0", "3"), Total: components.Link{Text: "3"}},
	}, Sum: &reports.VersionsRow{Cells: n("21", "0", "0", "0", "118", "177", "1,386"), Total: components.Link{Text: "1,702"}}, More: components.Link{Text: "12 of 15 rows are not shown, and are in the sum and in the file. Show them", Href: "/reports/versions?rows=all"}}
	none := reports.Versions{Frame: head, Empty: &components.Empty{Title: "No document matches", Text: "No document matches the filters.", Links: []components.Link{{Text: "Without filters", Href: "/reports/versions"}}}}
	none.Sentence = components.Link{}
	none.Notices = []components.Notice{{Tone: components.Deadline, Title: "This is not all.", Text: "Only the first 20,000 figures were read, those of the newest months. Choose a source, or fewer months."}}
	return []Item{page("report-versions", reports.VersionsPage(full)), page("report-versions-none", reports.VersionsPage(none))}
}

func redriveReportItems() []Item {
	crumbs := []components.Link{{Text: "Reports", Href: "/reports"}, {Text: "Redrives"}}
	when := components.Time{ISO: "2026-11-29T09:44:00Z", UTC: "29 Nov 2026 09:44 UTC", Short: "29 Nov 09:44"}
	head := reports.Frame{
		Layout: frame("Redrives", "Reports", crumbs...), Title: "Redrives", Lead: "Redrives that were started from September 2026 to November 2026: what was expected of each when it began, and what came of it. As of 29 Nov 2026 09:44 UTC.",
		Action: "/reports/redrives", Files: []components.Link{{Text: "CSV", Href: "/reports/redrives.csv"}},
		Kinds:    []components.Chip{{Text: "Versions", Href: "/reports/versions"}, {Text: "Redrives", Href: "/reports/redrives", On: true}},
		Filters:  []components.Input{{Name: "from", Label: "From", Kind: components.InputSelect, Options: []components.Option{{Value: "2026-09", Label: "Sep 2026", On: true}}}},
		Sentence: components.Link{Text: "1 of 2 forecasts came out as expected."},
	}
	full := reports.Redrives{Frame: head, Rows: []reports.RedrivesRow{
		{Redrive: components.Link{Text: "393 documents", Href: "/operations/01Ka"}, State: components.Tag{Text: "done", Tone: components.Good}, By: "mara@example.com", Started: when, Defect: components.Link{Text: "PDFSyntaxError", Href: "/cohorts/01Kb"}, Expected: "172 to 393 of 393; 3 of 3 had passed", Achieved: "391 of 393 got past it", Also: []string{"2 failed on another error", "4 left out"}, End: components.Tag{Text: "as expected", Tone: components.Good}},
		{Redrive: components.Link{Text: "1,306 documents", Href: "/operations/01Kb"}, State: components.Tag{Text: "stopped", Tone: components.Bad}, By: "token nightly-redrives-of-the-northern-region", Started: when, Defect: components.Link{Text: "com.example.contracts.extraction.TemplateMismatchException", Href: "/cohorts/01Kc"}, Expected: "7 to 12 of 12; 31 of 31 had passed", Achieved: "3 of 12 got past it", Also: []string{"1,294 not settled"}, End: components.Tag{Text: "fewer than expected", Tone: components.Bad}},
		{Redrive: components.Link{Text: "1 document", Href: "/operations/01Kc"}, State: components.Tag{Text: "done", Tone: components.Good}, By: "mara@example.com", Started: when, Defect: components.Link{Text: "chosen by hand"}, Expected: "nothing was known", Achieved: "none tested", Also: []string{"1 no answer in time"}, End: components.Tag{Text: "no forecast", Tone: components.Quiet}},
	}}
	none := reports.Redrives{Frame: head, Empty: &components.Empty{Title: "No redrive was started in these months", Text: "What is redriven stands here, with what was expected of it.", Links: []components.Link{{Text: "To the operations", Href: "/operations"}}}}
	none.Sentence = components.Link{}
	return []Item{page("report-redrives", reports.RedrivesPage(full)), page("report-redrives-none", reports.RedrivesPage(none))}
}
