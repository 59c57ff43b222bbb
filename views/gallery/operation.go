package gallery

import (
	"dlo/views/components"
	"dlo/views/operation"
	"dlo/views/operations"
	"dlo/views/quarantine"
)

func progress() components.Progress {
	return components.Progress{Label: "6 of 393 settled", Parts: []components.ProgressPart{{Share: 120, Tone: components.Good, Text: "5 passed", Href: "?outcome=committed"}, {Share: 30, Tone: components.Bad, Text: "1 failed", Href: "?outcome=failed"}, {Share: 80, Tone: components.Info, Text: "3 on their way", Href: "?state=in_flight"}, {Share: 60, Text: "2 without a result", Href: "?outcome=no_outcome"}, {Share: 710, Rest: true, Text: "379 to be sent", Href: "?state=in_flight"}}}
}

func operationItems() []Item {
	list := operations.Model{
		Layout: frame("Operations", "Operations"), Lead: "1 runs, 1 was stopped.", Poll: "/operations",
		Filters: []components.Chip{{Text: "All", On: true, Href: "?"}, {Text: "Running", Count: "1", Href: "?state=running"}, {Text: "Mine", Href: "?by=me"}},
		Rows: []operations.Row{
			{Href: "/operations/01K7Z", Title: "Redrive 393 documents", Of: txt("PDFSyntaxError"), State: components.Tag{Text: "running, step 2 of 5", Tone: components.Info}, Progress: progress(), By: "reviewer@example.com", Reason: txt("fix deployed"), Started: at("2026-11-29T09:44:00Z", "29 Nov 2026 09:44 UTC", "29 Nov 09:44")},
			{Href: "/operations/01K7Y", Title: "Redrive 188 documents", Of: txt("ValidationError"), State: components.Tag{Text: "stopped", Tone: components.Bad}, Why: "The first one failed the same way; 187 were not touched.", Progress: components.Progress{Label: "1 of 188 settled", Parts: []components.ProgressPart{{Share: 5, Tone: components.Bad, Text: "1 failed"}}}, By: "reviewer@example.com", Reason: txt("mapper 2.5.0"), Started: at("2026-11-28T14:00:00Z", "28 Nov 2026 14:00 UTC", "28 Nov 14:00"), Ended: at("2026-11-28T14:02:00Z", "28 Nov 2026 14:02 UTC", "14:02")},
		},
		Pager: components.Pager{Summary: "2 operations"},
	}
	none := operations.Model{Layout: frame("Operations", "Operations"), Empty: &components.Empty{Title: "No bulk action yet", Text: "Choose documents or a cohort and redrive, quarantine or keep them; what you start stands here until it is done and after."}}

	one := operation.Model{
		Layout: frame("Redrive 393 documents", "Operations", components.Link{Text: "Operations", Href: "/operations"}, components.Link{Text: "01K7Z"}),
		Title:  "Redrive 393 documents", Of: components.Link{Text: "PDFSyntaxError", Href: "/cohorts/01Kb"}, HasVerdict: true,
		Running: operation.Running{
			State: components.Tag{Text: "running, step 2 of 5", Tone: components.Info}, Prove: proving(), Progress: progress(), CSRF: csrf, Live: components.Live{URL: "/operations/01K7Z/live", Regions: "progress"}, Updated: at("2026-11-29T09:44:10Z", "29 Nov 2026 09:44 UTC", "29 Nov 09:44"),
			Counts: []components.Stat{{Value: "379", Label: "to be sent", Href: "?state=in_flight"}, {Value: "3", Label: "on their way", Href: "?state=in_flight"}, {Value: "3", Label: "settled", Href: "?state=settled"}, {Value: "16", Label: "left out", Href: "#leftout-title"}},
		},
		LeftOut: []operation.LeftOut{{Count: components.Link{Text: "12", Href: "?left=quarantined"}, Why: "in quarantine", Do: components.Link{Text: "decide", Href: "/quarantine"}}, {Count: components.Link{Text: "4", Href: "?left=gone"}, Why: "gone at the source; a replay would bring a deleted document back"}},
		Terms:   []components.KV{{Key: "Asked by", Value: txt("reviewer@example.com")}, {Key: "Why", Value: txt("fix deployed")}, {Key: "Filter", Value: txt("cohort:01Kb parser:pdfminer.six@20221105"), Mono: true, Href: "/entries?q=x"}, {Key: "Goes to", Value: txt("https://pipeline.example.com/redrive"), Mono: true}, {Key: "Stops", Value: txt("at the first same failure, or at 20 % of 20 settled")}},
		Filters: []components.Chip{{Text: "All", Count: "393", On: true, Href: "?"}, {Text: "Failed", Count: "1", Href: "?outcome=failed"}},
		Items: []operation.Item{
			{Document: txt("1147829310"), Source: "wiki", Href: "/entries/01J1", Step: "1", State: components.Tag{Text: "settled", Tone: components.Good}, Outcome: "committed", Bytes: components.Tag{Text: "unchanged · digest", Tone: components.DocSame}, Code: components.Tag{Text: "parser changed", Tone: components.CodeChanged}, Verdict: "New code fixed it", When: at("2026-11-29T09:44:00Z", "29 Nov 2026 09:44 UTC", "29 Nov 09:44")},
			{Document: txt("1147830021"), Source: "wiki", Href: "/entries/01J2", Step: "2", State: components.Tag{Text: "on its way", Tone: components.Info}, Why: "Sent just now."},
			{Document: txt("1147811876"), Source: "wiki", Href: "/entries/01J3", State: components.Tag{Text: "waiting", Tone: components.Quiet}},
		},
		Pager: components.Pager{Summary: "1 to 3 of 393", Next: components.Link{Text: "Next 50", Href: "?after=x"}}, Exports: []components.Link{{Text: "CSV", Href: "/operations/01K7Z.csv"}},
	}
	one.Running.Prove.Large = true
	done := one
	done.Running.Prove, done.Running.Live = nil, components.Live{Regions: "progress"}
	done.Running.State, done.Running.Why = components.Tag{Text: "done", Tone: components.Good}, "390 of 393 got past this error, as forecast."
	done.Again = &components.Action{Label: "Redrive only the 3 that failed", Href: "/confirm/redrive?operation=01K7Z"}
	done.Stuck = []operation.LeftOut{{Count: components.Link{Text: "3", Href: "/entries?q=x"}, Why: "failed again, parked now", Do: components.Link{Text: "redrive them", Href: "/confirm/redrive?q=x"}},
		{Count: components.Link{Text: "1", Href: "/entries?q=y"}, Why: "could not be delivered, parked now", Do: components.Link{Text: "redrive it", Href: "/confirm/redrive?q=y"}}}
	done.LeftOut = nil

	return []Item{page("operations", operations.Page(list)), page("operations-none", operations.Page(none)), page("operation", operation.Page(one)), page("operation-done", operation.Page(done))}
}

func quarantineItems() []Item {
	m := quarantine.Model{
		Layout: frame("Quarantine", "Quarantine"), Heading: "17 documents wait for a decision", Lead: "Each failed the same way after every replay. Another one happens only if you let it.",
		Filters: []components.Chip{{Text: "All", Count: "17", On: true, Href: "?"}, {Text: "Mine", Count: "2", Href: "?owner=me"}, {Text: "Expire within 7 days", Count: "4", Href: "?expires=7d"}},
		Rows: []quarantine.Row{{
			Check: components.Check{Name: "id", Value: "01J5", Label: "Select submittals / 88112"}, Href: "/entries/01J5", Source: "submittals", DocID: txt("88112"), Cohort: components.Link{Text: "UnicodeDecodeError", Href: "/cohorts/01Kd"},
			Why: "Failed the same way after 3 replays.", Message: txt("'utf-8' codec can't decode byte 0x92 in position 11041: invalid start byte"), Since: at("2026-11-20T10:00:00Z", "20 Nov 2026 10:00 UTC", "20 Nov 10:00"), Leaves: components.Tag{Text: "leaves in 6 d", Tone: components.Deadline}, Bytes: components.Tag{Text: "unchanged · digest", Tone: components.DocSame}, Owner: "nobody",
			Same: []quarantine.Same{
				{When: at("2026-11-18T10:00:00Z", "18 Nov 2026 10:00 UTC", "18 Nov 10:00"), Under: txt("csv-reader@1.9"), Bytes: components.Tag{Text: "unchanged", Tone: components.DocSame}, What: "replay, same failure"},
				{When: at("2026-11-19T10:00:00Z", "19 Nov 2026 10:00 UTC", "19 Nov 10:00"), Under: txt("csv-reader@1.9"), Bytes: components.Tag{Text: "unchanged", Tone: components.DocSame}, What: "replay, same failure"},
				{When: at("2026-11-20T10:00:00Z", "20 Nov 2026 10:00 UTC", "20 Nov 10:00"), Under: txt("csv-reader@1.9"), Bytes: components.Tag{Text: "unchanged", Tone: components.DocSame}, What: "replay, same failure"},
			},
			Actions: []components.Action{{Label: "Release one more", Href: "/confirm/release?grant=one", Key: "r"}, {Label: "Reset", Href: "/confirm/release?grant=reset"}, {Label: "Keep longer", Href: "/confirm/extend", Key: "e"}, {Label: "Assign", Href: "/confirm/assign", Key: "a"}, {Label: "Archive", Href: "/confirm/archive"}, {Label: "Erase", Href: "/confirm/erase", Tone: components.Bad}},
		}},
		Bulk:  components.Bulk{FormID: "bulk", Noun: "documents", Shown: "1", Total: "17", Expect: "17", Query: "status:quarantined", AllLabel: "all 17", Actions: []components.Action{{Label: "Archive", Href: "/confirm/archive"}, {Label: "Keep longer", Href: "/confirm/extend"}}},
		Pager: components.Pager{Summary: "1 of 17", Next: components.Link{Text: "Next 50", Href: "?after=x"}},
	}
	second := m.Rows[0]
	second.Check, second.Href, second.DocID, second.Decision = components.Check{Name: "id", Value: "01J6", Label: "Select submittals / 88113"}, "/entries/01J6", txt("88113"), "needs source"
	second.Leaves, second.Owner = components.Tag{}, "estimating"
	m.Rows = append(m.Rows, second)
	empty := quarantine.Model{Layout: frame("Quarantine", "Quarantine"), Heading: "Nothing to decide", Empty: &components.Empty{Title: "No document is in quarantine", Text: "One comes here when it fails the same way after 3 replays."}}
	return []Item{page("quarantine", quarantine.Page(m)), page("quarantine-empty", quarantine.Page(empty))}
}
