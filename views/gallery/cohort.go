package gallery

import (
	"dlo/views/cohort"
	"dlo/views/components"
)

func cohortItems() []Item {
	running := cohortModel()
	running.Prove = *proving()
	running.Live = components.Live{URL: "/cohorts/01Kb/live", Regions: "prove facts replays"}

	stopped := cohortModel()
	stopped.Prove = *stoppedProof()
	stopped.Separates = &cohort.Separates{
		Sentence: "Content type tells all 5 apart. Two defects can reach the same frames.",
		Groups:   []components.KV{{Key: "3 of 3 passed", Value: txt("application/pdf"), Mono: true}, {Key: "0 of 2 passed", Value: txt("application/pdf; xfa"), Mono: true}},
		Note:     "3 of 5 replays got past this error with parser pdfminer.six@20251230.",
		Split:    &components.Action{Label: "Split by content type", Href: "/cohorts/01Kb/split?by=content_type&out=3f2a91c07d55"},
	}

	no := cohortModel()
	no.Prove = cannotProve()
	no.Replays = cohort.Replays{Summary: "none yet", None: "A first replay of a stored copy would tell whether the code that runs now gets past this error."}
	no.Runbook = cohort.Runbook{None: "Nothing is known yet. Write what helped, so that the next person need not find out again.", Edit: components.Link{Text: "Write", Href: "/cohorts/01Kb/runbook"}}
	no.Entries.Rows, no.Entries.Bulk = nil, components.Bulk{}
	no.Entries.Empty = &components.Empty{Title: "No document is stuck here now", Text: "409 were, and all were resolved."}

	no.Fixes = cohort.Fixes{None: "Nobody has said what fixes this.", Declare: components.Action{Label: "Declare a fix", Href: "/cohorts/01Kb/fix"}}
	no.Arrivals = cohort.Arrivals{About: "along cursor", Axes: []components.Chip{{Text: "By day", Href: "/cohorts/01Kb"}, {Text: "By cursor", Href: "/cohorts/01Kb?arrivals=cursor", On: true}}, None: "No document that was looked at says its cursor."}

	failed := cohortModel()
	failed.Separates = &cohort.Separates{Sentence: "Message template, content type and versions do not tell them apart.", Note: "3 of 5 replays got past this error with parser pdfminer.six@20251230. Compare two of them by hand: one that passed, one that failed."}
	failed.Fixes = failedFixes()

	grouped := cohortModel()
	grouped.Grouping = cohort.Grouping{CSRF: csrf, Poll: "/cohorts/01Kb/grouping",
		Notices: []components.Notice{
			{Tone: components.Info, Title: "This is a part of another cohort: message template: row <int> has <int> cells.", Links: []components.Link{{Text: "See what it was split from", Href: "/cohorts/01Ka"}}},
			{Tone: components.Info, Title: "A split is moving its documents: 12,400 moved so far.", Text: "New failures follow it already. Counts settle when it is done."},
		},
		Suggestions: []cohort.Suggestion{{Title: txt("PDFSyntaxError: No /Root object! - Is this really a PDF?"), Href: "/cohorts/01Kc", Why: "the same type and message, and two frames or more; 12 stuck"}},
		Merge:       components.Link{Text: "Merge…", Href: "/cohorts/01Kb/merge"},
		Rules: []cohort.Rule{
			{Event: components.Event{Who: "reviewer@example.com", Text: "split it by content type", When: at("2026-11-20T10:02:00Z", "20 Nov 2026 10:02 UTC", "20 Nov 10:02")},
				Lines: []components.KV{{Key: "goes out", Value: txt("text/csv"), Mono: true, Href: "/cohorts/01Kd", Note: "31 stuck there"}, {Key: "goes out", Value: txt("not said"), Mono: true, Href: "/cohorts/01Ke", Note: "2 stuck there"}},
				Undo:  &components.Form{ID: "undo-01R2", CSRF: csrf, Action: "/cohorts/01Kb/undo", Submit: "Undo this split", Fields: []components.Field{{Name: "rule", Value: "01R2"}}}},
			{Event: components.Event{Who: "reviewer@example.com", Text: "merged 1 cohort into this one; undone by admin@example.com", When: at("2026-11-14T10:02:00Z", "14 Nov 2026 10:02 UTC", "14 Nov 10:02"), Tone: components.Quiet}},
		}}

	return []Item{page("cohort-fix-failed", cohort.Page(failed)), page("cohort-grouping", cohort.Page(grouped)), page("cohort", cohort.Page(cohortModel())), page("cohort-running", cohort.Page(running)), page("cohort-stopped", cohort.Page(stopped)), page("cohort-no-target", cohort.Page(no))}
}

func reasons() []string {
	return []string{"fix deployed", "waiting for vendor", "duplicate", "test file"}
}

func cohortModel() cohort.Model {
	l := func(n string) components.Link {
		if n == "0" {
			return components.Link{Text: n}
		}
		return components.Link{Text: n, Href: "/entries?q=x"}
	}
	return cohort.Model{
		Layout: frame("PDFSyntaxError", "Cohorts", components.Link{Text: "Cohorts", Href: "/cohorts"}, components.Link{Text: "f1:7f3a19c2"}),
		Type:   txt("PDFSyntaxError"), Template: txt("No /Root object! - Is this really a PDF?"),
		Facts: []components.Fact{
			{Text: "409 stuck", Href: "/entries?q=cohort:01Kb"}, {Text: "wiki", Href: "/sources/wiki"}, {Text: "owner search-platform"},
			{Text: "31 expire within 7 days", Tone: components.Deadline}, {Text: "oldest 94 d"}, {Text: "what this is made of", Href: "#made-of"},
		},
		Actions: []components.Action{{Label: "Keep longer", Href: "/confirm/extend", Key: "e"}, {Label: "Assign", Href: "/confirm/assign", Key: "a"}},
		More: []components.Action{
			{Label: "Declare a fix", Href: "/confirm/fix", Why: "Arrivals under the fixed version raise an alert."}, {Label: "Merge with another", Href: "/confirm/merge"},
			{Label: "Split", Href: "/confirm/split", Disabled: true, Why: "All documents have the same frames and template."}, {Label: "Set a disposition", Href: "/confirm/dispose"},
		},
		Notices: []components.Notice{{Tone: components.Info, Title: "Needs code until the code changes.", Text: "Decided by reviewer@example.com, 3 h ago. “waits for parser 20251230”", Links: []components.Link{{Text: "Change", Href: "/cohorts/01Kb/dispose"}}, Do: []components.Action{{Label: "Take off", Href: "/cohorts/01Kb/dispose"}}}, {Tone: components.Info, Title: "12 documents moved here", Text: "when f1:22ab04d1 was merged in on 14 Nov.", Links: []components.Link{{Text: "Undo the merge", Href: "/confirm/undo"}}}},
		Prove:   askProve(),
		Live:    components.Live{Regions: "prove facts replays"},
		Runbook: cohort.Runbook{
			Text:        components.Markdown{SanitisedHTML: "<p><strong>Exports from the old e-signature tool.</strong> They carry an incremental update after <code>%%EOF</code>. The 2025 parser reads them; do not ask the vendor again.</p>"},
			Disposition: "needs code, waiting until the code changes", Ticket: components.Link{Text: "SEARCH-1182", Href: "https://tickets.example.com/SEARCH-1182"}, Edit: components.Link{Text: "Edit", Href: "/cohorts/01Kb/runbook"}, Note: components.Link{Text: "Write a note", Href: "#note"},
		},
		Replays: cohort.Replays{Summary: "4 replays, 3 count for others", Rows: []cohort.Replay{
			{Document: txt("1147829310"), Href: "/entries/01J1", Bytes: components.Tag{Text: "unchanged · digest", Tone: components.DocSame}, Code: components.Tag{Text: "parser changed", Tone: components.CodeChanged}, Verdict: "New code fixed it", Counts: "counts for 393", Tone: components.Good, When: at("2026-11-29T09:44:00Z", "29 Nov 2026 09:44 UTC", "29 Nov 09:44")},
			{Document: txt("1147830021"), Href: "/entries/01J2", Bytes: components.Tag{Text: "unchanged · digest", Tone: components.DocSame}, Code: components.Tag{Text: "parser changed", Tone: components.CodeChanged}, Verdict: "New code fixed it", Counts: "counts for 393", Tone: components.Good, When: at("2026-11-29T09:46:00Z", "29 Nov 2026 09:46 UTC", "29 Nov 09:46")},
			{Document: txt("1147811876"), Href: "/entries/01J3", Bytes: components.Tag{Text: "unchanged · strong tag", Tone: components.DocSame}, Code: components.Tag{Text: "parser changed", Tone: components.CodeChanged}, Verdict: "New code fixed it", Counts: "counts for 393", Tone: components.Good, When: at("2026-11-29T09:46:00Z", "29 Nov 2026 09:46 UTC", "29 Nov 09:46")},
			{Document: txt("1150067123"), Href: "/entries/01J4", Bytes: components.Tag{Text: "changed · strong tag", Tone: components.DocChanged}, Code: components.Tag{Text: "parser same", Tone: components.CodeSame}, Verdict: "New document passed", Counts: "counts for itself", Tone: components.Plain, When: at("2026-11-14T11:30:00Z", "14 Nov 2026 11:30 UTC", "14 Nov 11:30")},
		}},
		Fixes: fixes(),
		Arrivals: cohort.Arrivals{About: "45 days, with deployments", Axes: []components.Chip{{Text: "By day", Href: "/cohorts/01Kb#arrivals-title", On: true}, {Text: "By ingest_seq", Href: "/cohorts/01Kb?arrivals=seq#arrivals-title"}}, Chart: components.DayChart{
			Values: []int{2, 1, 3, 2, 4, 2, 3, 1, 2, 3, 2, 4, 3, 2, 3, 4, 2, 3, 12, 14, 11, 13, 15, 12, 10, 14, 16, 12, 18, 15, 14, 16, 13, 17, 15, 12, 14, 16, 18, 15, 13, 14, 6, 2, 1},
			Marks:  []components.Mark{{At: 18, Text: "wiki-connector 3.14"}, {At: 42, Text: "parser 20251230"}}, First: "16 Oct", Last: "29 Nov",
			Label: "Arrivals a day from 16 Oct to 29 Nov: 2 a day, 14 a day from 3 Nov, 1 on the last day", Sentence: "Started 4 h after wiki-connector 3.14 was deployed. Stopped after parser 20251230 was deployed: none came for 2 d.",
		}, Marks: []cohort.Mark{
			{When: at("2026-11-27T14:02:00Z", "27 Nov 2026 14:02 UTC", "27 Nov 14:02"), Version: txt("parser 20251230"), Source: components.Link{Text: "wiki", Href: "/sources/wiki"}, Words: "beside another", Marked: true},
			{When: at("2026-11-03T09:40:00Z", "3 Nov 2026 09:40 UTC", "3 Nov 09:40"), Version: txt("wiki-connector 3.14"), Source: components.Link{Text: "wiki", Href: "/sources/wiki"}, Marked: true},
			{When: at("2026-10-29T16:11:00Z", "29 Oct 2026 16:11 UTC", "29 Oct 16:11"), Version: txt("embedder 7"), Source: components.Link{Text: "wiki", Href: "/sources/wiki"}},
		}, More: "12 older deployments are not listed; the source's page has them all."},
		Versions: cohort.Versions{Months: []string{"earlier", "Sep", "Oct", "Nov"}, Rows: []cohort.VersionRow{
			{Version: txt("pdfminer.six@20221105"), State: components.Tag{Text: "not running now", Tone: components.Quiet}, Cells: []components.Link{l("21"), l("118"), l("177"), l("77")}, Stuck: l("393")},
			{Version: txt("pdfminer.six@20240706"), Cells: []components.Link{l("0"), l("0"), l("4"), l("12")}, Stuck: l("16")},
			{Version: txt("pdfminer.six@20251230"), State: components.Tag{Text: "runs now", Tone: components.CodeSame}, Cells: []components.Link{l("0"), l("0"), l("0"), l("0")}, Stuck: l("0")},
		}},
		MadeOf: cohort.MadeOf{
			Summary:      "the exception's type and the three frames nearest the raise point",
			Fingerprints: []components.KV{{Key: "Fingerprint", Value: txt("f1:7f3a19c2d0e14b55aa01be9c33d2f470"), Mono: true, Copy: true, Note: "397 documents"}, {Key: "merged in", Value: txt("f1:22ab04d1e7705f0c9d2be1a4c8f03b91"), Mono: true, Note: "12 documents"}},
			Parts:        []components.KV{{Key: "Type", Value: txt("PDFSyntaxError"), Mono: true}, {Key: "Frame 1", Value: txt("pdfminer/pdfdocument.py · PDFDocument.__init__"), Mono: true}, {Key: "Frame 2", Value: txt("pdfminer/pdfpage.py · PDFPage.get_pages"), Mono: true}, {Key: "Frame 3", Value: txt("pdfminer/high_level.py · extract_text"), Mono: true}},
			Canonical:    txt("python\npdfminer.pdfparser.PDFSyntaxError\npdfminer/pdfdocument.py:__init__\npdfminer/pdfpage.py:get_pages\npdfminer/high_level.py:extract_text"),
		},
		Filters:  []components.Chip{{Text: "Stuck", Count: "409", On: true, Href: "/cohorts/01Kb"}, {Text: "Quarantine", Count: "3", Href: "/cohorts/01Kb?status=quarantined"}, {Text: "Resolved", Count: "61", Href: "/cohorts/01Kb?status=resolved"}},
		Entries:  entryTable("entries", false),
		Activity: activity(),
	}
}

func activity() components.Activity {
	return components.Activity{
		Events: []components.Event{
			{Who: "reviewer@example.com", Text: "kept 31 documents 30 more days", Note: txt("waiting for the parser release"), When: at("2026-11-16T08:20:00Z", "16 Nov 2026 08:20 UTC", "16 Nov 08:20"), Link: components.Link{Text: "operation", Href: "/operations/01K7Y"}},
			{Text: "Failed the same way under 20240706", When: at("2026-11-14T11:30:00Z", "14 Nov 2026 11:30 UTC", "14 Nov 11:30"), Tone: components.Bad},
			{Who: "reviewer@example.com", Text: "redrove it: fix deployed", When: at("2026-11-14T11:29:00Z", "14 Nov 2026 11:29 UTC", "14 Nov 11:29"), Tone: components.Info},
		},
		More: components.Link{Text: "All 14", Href: "#all"},
		Note: &components.NoteForm{CSRF: csrf, Action: "/cohorts/01Kb/notes", Hint: "Markdown. Everybody who may see this page reads it."},
	}
}

func entryTable(id string, withCohort bool) components.EntryTable {
	row := func(n, doc, under, attempts string, first components.Time, leaves, now components.Tag) components.EntryRow {
		return components.EntryRow{
			Check: components.Check{Name: "id", Value: "01J" + n, Label: "Select wiki / " + doc}, Href: "/entries/01J" + n, Source: "wiki", DocID: txt(doc),
			Type: txt("PDFSyntaxError"), Message: txt("No /Root object! - Is this really a PDF?"), Cohort: components.Link{Text: "PDFSyntaxError", Href: "/cohorts/01Kb"},
			Under: txt(under), Class: txt("ambiguous_parse"), Attempts: attempts, First: first, Leaves: leaves, Now: now,
		}
	}
	t := components.EntryTable{
		ID: id, Caption: "Documents", Cohort: withCohort,
		Heads: components.EntryHeads{
			Document: components.Sort{Text: "Document"}, Failed: components.Sort{Text: "Failed under"}, Attempts: components.Sort{Text: "Attempts", Num: true},
			FirstSeen: components.Sort{Text: "First seen", Href: "?sort=first", Dir: "ascending"}, Leaves: components.Sort{Text: "Leaves", Href: "?sort=leaves"}, Now: components.Sort{Text: "Document now"},
		},
		Rows: []components.EntryRow{
			row("1", "1147801144", "pdfminer.six@20221105", "214", ago("2026-08-27T09:42:00Z", "27 Aug 2026 09:42 UTC", "27 Aug 2026"), components.Tag{Text: "in 3 d", Tone: components.Deadline}, components.Tag{Text: "unchanged", Tone: components.DocSame}),
			row("2", "1150067990", "pdfminer.six@20221105", "8", ago("2026-09-11T10:00:00Z", "11 Sep 2026 10:00 UTC", "11 Sep 2026"), components.Tag{Text: "in 18 d"}, components.Tag{Text: "changed", Tone: components.DocChanged}),
			row("3", "1150071102", "pdfminer.six@20240706", "1", ago("2026-10-30T10:00:00Z", "30 Oct 2026 10:00 UTC", "30 Oct 2026"), components.Tag{Text: "in 67 d"}, components.Tag{Text: "not asked yet", Tone: components.Quiet}),
		},
		Pager: components.Pager{Summary: "1 to 3 of 409", Next: components.Link{Text: "Next 50", Href: "?after=x"}},
		Bulk: components.Bulk{
			FormID: id + "-bulk", Noun: "documents", Shown: "3", Total: "409", Expect: "409", Query: "cohort:01Kb", AllLabel: "all 409 that match",
			Actions: []components.Action{{Label: "Redrive", Href: "/confirm/redrive", Tone: components.Primary}, {Label: "Quarantine", Href: "/confirm/quarantine", Key: "q"}, {Label: "Keep longer", Href: "/confirm/extend"}, {Label: "Archive", Href: "/confirm/archive"}},
		},
	}
	t.Rows[1].State = components.Tag{Text: "redriving", Tone: components.Info}
	t.Rows[1].Filename = txt("Lease amendment 4 (signed, final).pdf")
	return t
}
