package gallery

import (
	"dlo/views/casefile"
	"dlo/views/components"
	"dlo/views/report"
)

func reportItems() []Item {
	num := func(s, href string) report.Cell { return report.Cell{Text: txt(s), Href: href, Num: true} }
	head := func(s string) report.Cell { return report.Cell{Text: txt(s), Head: true} }
	strong := func(s string) report.Cell { return report.Cell{Text: txt(s), Num: true, Strong: true} }
	tabs := []components.Chip{{Text: "Aging", Href: "/reports/aging"}, {Text: "Accumulation", Href: "/reports/accumulation", On: true}, {Text: "Absence", Href: "/reports/absence"}, {Text: "Expiring", Href: "/reports/expiring"}, {Text: "Versions", Href: "/reports/versions"}, {Text: "Redrives", Href: "/reports/redrives"}, {Text: "Grouping", Href: "/reports/grouping"}}
	full := report.Model{
		Layout: frame("Accumulation", "Reports"), Title: "Accumulation", Lead: "A steady rate hides a growing total. This page counts the total.", Reports: tabs,
		Choices: []components.Chip{{Text: "90 days", On: true, Href: "?days=90"}, {Text: "1 year", Href: "?days=365"}, {Text: "All sources", On: true, Href: "?"}},
		AsOf:    at("2026-11-29T09:44:00Z", "29 Nov 2026 09:44 UTC", "29 Nov 09:44"),
		Stats:   []components.Stat{{Value: "2,842", Label: "stuck now", Href: "/entries"}, {Value: "+1,604", Label: "arrived a day, median"}, {Value: "−1,512", Label: "resolved a day"}, {Value: "−74", Label: "left unsolved a day: archived 71, erased 3"}, {Value: "+18", Label: "net a day: 6,000 in 175 days", Tone: components.Deadline}},
		Sections: []report.Section{
			{ID: "stuck", Title: "Stuck, all sources", Aside: "1 Sep to 29 Nov 2026, UTC", Wide: true, Note: "Failure rate over the same days: 0.40 % (1,604 of 401,000 a day), flat.",
				Level: &components.LevelChart{Values: []int{1240, 1310, 1405, 1500, 1610, 1800, 1905, 2010, 2100, 2204, 2300, 2410, 2640, 2842}, Ceiling: 6000, CeilingLabel: "ceiling 6,000", First: "1 Sep", Middle: "15 Oct", Last: "29 Nov", Ticks: []components.Tick{{Value: 0, Label: "0"}, {Value: 2000, Label: "2,000"}, {Value: 4000, Label: "4,000"}}, Label: "Documents stuck over 90 days, from 1,240 to 2,842; the ceiling is 6,000"}},
			{ID: "absent", Title: "Absent from the index", Aside: "by source and content type", Table: &report.Table{Caption: "Absence by source and content type",
				Heads: []components.Sort{{Text: "Source"}, {Text: "Type"}, {Text: "Corpus", Num: true}, {Text: "Absent", Num: true}, {Text: "Share", Num: true}},
				Rows:  [][]report.Cell{{head("leases"), {Text: txt("pdf")}, num("18,400", ""), num("751", "/entries?q=x"), strong("4.1 %")}, {head("wiki"), {Text: txt("pdf")}, num("53,000", ""), num("640", "/entries?q=y"), strong("1.2 %")}, {head("intranet"), {Text: txt("html")}, {Tag: components.Tag{Text: "no census", Tone: components.Quiet}, Num: true}, num("1,406", "/entries?q=z"), num("unknown", "")}}}},
			{ID: "age", Title: "Age of what is stuck", Aside: "by source", Bars: &components.Bars{Label: "Age of what is stuck, by source", Parts: []string{"≤ 1 d", "7 d", "30 d", "90 d", "older"}, Rows: []components.BarRow{{Name: "intranet", Href: "/sources/intranet", Parts: []int{1306, 40, 30, 20, 10}, Total: "1,406"}, {Name: "wiki", Href: "/sources/wiki", Parts: []int{30, 110, 190, 220, 90}, Total: "640"}}}},
		},
		Exports: []components.Link{{Text: "CSV", Href: "/reports/accumulation.csv"}},
	}
	empty := report.Model{Layout: frame("Absence", "Reports"), Title: "Absence", Lead: "What the index lacks, as a share of what there is.", Reports: tabs, Empty: &components.Empty{Title: "No census yet", Text: "Send how many documents each source has, and this page says what share of them is absent.", Links: []components.Link{{Text: "How to send one", Href: "/sources"}}}}
	file := casefile.Model{
		Layout: frame("Case file: wiki / 1147801144", "Documents", components.Link{Text: "wiki / 1147801144", Href: "/entries/01J1"}, components.Link{Text: "Case file"}), Source: "wiki", DocID: txt("1147801144"),
		Made: at("2026-11-29T10:00:00Z", "29 Nov 2026 10:00 UTC", "29 Nov 10:00"), By: "auditor@example.com", Back: components.Link{Text: "Back to the document", Href: "/entries/01J1"},
		Summary: []string{"Absent from the index from 27 Aug 2026 until now, 94 days.", "Three people looked at it and one kept it; nobody decided to leave it out."},
		Facts:   []components.KV{{Key: "Content hash", Value: txt("9f2a4c1e7b0d55aa01be9c33d2f4709f2a4c1e7b0d55aa01be9c33d2c7e50f11"), Mono: true}},
		Episodes: []casefile.Episode{{Title: "27 Aug 2026 to now: 94 days", Facts: []components.KV{{Key: "Why", Value: txt("PDFSyntaxError: No /Root object! - Is this really a PDF?")}}, Events: []components.Event{
			{Text: "Parked: failed under pdfminer.six@20221105", When: at("2026-08-27T09:42:00Z", "27 Aug 2026 09:42 UTC", "27 Aug 09:42"), Tone: components.Bad},
			{Who: "reviewer@example.com", Text: "kept it 30 more days", Note: txt("waiting for the parser release"), When: at("2026-11-16T08:20:00Z", "16 Nov 2026 08:20 UTC", "16 Nov 08:20")}}}},
		Looks: []components.Event{{Who: "analyst@example.com", Text: "opened the preview", When: at("2026-11-16T08:00:00Z", "16 Nov 2026 08:00 UTC", "16 Nov 08:00")}},
		Chain: "Rows 13,902 to 14,209 of the audit chain; head a91c04f2. Check it with: dlo audit verify",
	}
	return []Item{page("report", report.Page(full)), page("report-empty", report.Page(empty)), page("casefile", casefile.Page(file))}
}
