package gallery

import (
	"dlo/views/cohorts"
	"dlo/views/components"
)

func cohortsItems() []Item {
	full := cohortsModel()

	paused := cohortsModel()
	paused.Layout.Notices = []components.Notice{{
		Tone: components.Held, Title: "All redrives are paused", Text: "by manager@example.com since 09:12: the target is being moved. What is in flight will still be counted.",
		Do: []components.Action{{Label: "Resume", Href: "/resume"}},
	}}
	paused.Layout.Flashes = []components.Flash{{Tone: components.Good, Text: "393 documents are kept 30 days longer.", Link: components.Link{Text: "See them", Href: "/operations/01K7Z"}}}

	nothing := cohortsModel()
	nothing.Heading = "Nothing is stuck"
	nothing.Stats = []components.Stat{{Value: "0", Label: "stuck now", Tone: components.Good}, {Value: "1,204", Label: "resolved this week", Href: "/entries?q=status:resolved"}}
	nothing.List.Rows, nothing.List.Bulk, nothing.List.Pager = nil, components.Bulk{}, components.Pager{}
	nothing.List.Empty = &components.Empty{Title: "Every document got through", Text: "The last one was resolved 2 h ago. New failures appear here by themselves.", Links: []components.Link{{Text: "See what was resolved", Href: "/entries?q=status:resolved"}}}

	back := cohortsModel()
	back.Since = &cohorts.Since{Title: "Since you last looked, 14 h ago", Links: []components.Link{{Text: "2 new cohorts", Href: "/cohorts?new=1"}, {Text: "1 cohort came back", Href: "/cohorts?back=1"}, {Text: "1 operation stopped", Href: "/operations/01K7Z"}, {Text: "3 new alerts", Href: "/alerts?since=1"}},
		CSRF: back.Layout.CSRF, Seen: components.Action{Label: "Seen", Href: "/cohorts/seen", Fields: []components.Field{{Name: "until", Value: "1"}}}}

	narrowed := cohortsModel()
	narrowed.List.Search = cohorts.Search{Action: "/cohorts", Value: "parser:pdfminer.six@20221105", Keep: []components.Field{{Name: "sort", Value: "parked"}}, Clear: "/cohorts?sort=parked"}
	narrowed.List.Note = "The numbers are of the documents that match: 412 of 4,912 stuck."
	narrowed.List.Rows = narrowed.List.Rows[:2]
	narrowed.List.Rows[1].StuckOf = "of 4,912"
	narrowed.List.Rows[1].Tags = []components.Tag{{Text: "needs code", Tone: components.Quiet}}
	narrowed.List.Pager = components.Pager{Summary: "2 of 38 cohorts"}

	unread := cohortsModel()
	unread.List.Search = cohorts.Search{Action: "/cohorts", Value: "parser:1 bogus:" + longWord, Clear: "/cohorts",
		Problem: &cohorts.Problem{Sentence: "This term was not understood. Expected: one of source, status, class.", Before: "parser:1 ", Term: "bogus:" + longWord}}
	unread.List.Rows, unread.List.Bulk, unread.List.Pager = nil, components.Bulk{}, components.Pager{}
	unread.List.Empty = &components.Empty{Title: "Nothing was looked for", Text: "A term of the query was not understood; it stands above, with what was expected."}

	none := cohortsModel()
	none.List.Rows, none.List.Bulk, none.List.Pager = nil, components.Bulk{}, components.Pager{}
	none.List.Hints = []components.Hint{{Text: components.PlainText("No document ever failed under parser 2026123."), Try: components.Link{Text: "Did you mean 20261230?", Href: "/cohorts?q=parser:20261230"}}}
	none.List.Empty = &components.Empty{Title: "No cohort matches", Text: "38 are hidden by source:intranet and age:>30d.", Links: []components.Link{{Text: "Show all 38", Href: "/cohorts"}}}

	first := cohorts.Model{Layout: frame("Waiting for the first document", "Cohorts"), First: &cohorts.First{
		Title: "Waiting for the first document",
		Text:  "Run this where your pipeline gives up. The token is yours and works now.",
		Command: components.Code{ID: "first-command", Label: "Command that parks a document", Text: `curl -H "Authorization: Bearer dlo_k3p9_made-up" \
  -F 'envelope={"source":"wiki","doc_id":"42","error_type":"ParseError"};type=application/json' \
  -F payload=@broken.pdf http://127.0.0.1:8080/api/v1/dead-letters`},
		TokenNote: "It may park documents and look them up, nothing else, and ends in 24 hours.",
		Poll:      "/cohorts",
		Links:     []components.Link{{Text: "Start the demo pipeline instead", Href: "/sources"}, {Text: "Make a token", Href: "/settings/tokens"}},
	}}
	for i := range first.Layout.Nav {
		first.Layout.Nav[i].Count = ""
	}

	return []Item{
		page("cohorts", cohorts.Page(full)), page("cohorts-paused", cohorts.Page(paused)), page("cohorts-nothing-stuck", cohorts.Page(nothing)),
		page("cohorts-no-match", cohorts.Page(none)), page("cohorts-since", cohorts.Page(back)), page("cohorts-narrowed", cohorts.Page(narrowed)), page("cohorts-unread", cohorts.Page(unread)), page("cohorts-first", cohorts.Page(first)),
	}
}

func cohortsModel() cohorts.Model {
	m := cohorts.Model{
		Layout:  frame("Cohorts", "Cohorts"),
		Heading: "38 problems behind 2,842 stuck documents",
		Stats: []components.Stat{
			{Value: "2,842", Label: "stuck now, +126 this week", Href: "/entries?q=status:parked"},
			{Value: "94 d", Label: "oldest, wiki", Href: "/entries?q=age:>93d"},
			{Value: "57", Label: "expire within 7 days", Href: "/entries?q=expires:<7d", Tone: components.Deadline},
			{Value: "17", Label: "in quarantine, to decide", Href: "/quarantine", Tone: components.Held},
			{Value: "1.2 %", Label: "of wiki's PDFs absent", Href: "/reports/absence"},
			{Value: "533", Label: "low confidence, in review", Href: "/entries?q=reason:low_confidence"},
		},
		List: cohorts.List{
			Filters: []components.Chip{
				{Text: "In the queue", Href: "/cohorts?all=1", On: true}, {Text: "Quarantine", Count: "17", Href: "/cohorts?status=quarantined"},
				{Text: "Archive", Href: "/cohorts?status=archived"}, {Text: "Low confidence", Count: "533", Href: "/cohorts?reason=low_confidence"},
				{Text: "Not running now", Href: "/cohorts?parser=!current"}, {Text: "wiki", Href: "/cohorts?source=wiki"},
			},
			Search: cohorts.Search{Action: "/cohorts"},
			Orders: []components.Chip{{Text: "Needs a decision", Href: "/cohorts", On: true}, {Text: "Most stuck", Href: "/cohorts?sort=parked"}, {Text: "Stuck longest", Href: "/cohorts?sort=oldest"}},
			Heads: cohorts.Heads{
				Cohort: components.Sort{Text: "Cohort"}, Source: components.Sort{Text: "Source, owner"}, Failed: components.Sort{Text: "Failed under"},
				Stuck: components.Sort{Text: "Stuck", Href: "/cohorts?sort=stuck", Num: true, Dir: "descending"}, Arrivals: components.Sort{Text: "30 days"},
				Oldest: components.Sort{Text: "Oldest", Href: "/cohorts?sort=oldest", Num: true}, Proof: components.Sort{Text: "Proof"}, Next: components.Sort{Text: "Next step"},
			},
			Bulk: components.Bulk{
				FormID: "bulk", Noun: "cohorts", Shown: "7", Total: "38", Expect: "38", AllLabel: "all 38 that match",
				Actions: []components.Action{
					{Label: "Redrive", Href: "/confirm/redrive", Key: "r", Tone: components.Primary}, {Label: "Quarantine", Href: "/confirm/quarantine", Key: "q"},
					{Label: "Keep longer", Href: "/confirm/extend", Key: "e"}, {Label: "Assign", Href: "/confirm/assign", Key: "a"},
				},
			},
			Pager: components.Pager{Summary: "1 to 7 of 38 cohorts", Next: components.Link{Text: "Next 7", Href: "/cohorts?after=x"}},
		},
	}
	m.Layout.Fresh = &components.Fresh{Poll: "/cohorts/fresh?since=1", Text: "3 new since you looked", Href: "/cohorts"}

	add := func(r cohorts.Row) {
		id := string(rune('a' + len(m.List.Rows)))
		r.Href = "/cohorts/01K" + id
		r.Check.Name, r.Check.Value, r.Check.Label = "id", "01K"+id, "Select "+r.Type.String()
		r.Stuck.Href = "/entries?q=cohort:01K" + id
		r.Next.Href = r.Href + "#prove"
		m.List.Rows = append(m.List.Rows, r)
	}
	spark := func(values ...int) components.Sparkline {
		return components.Sparkline{Values: values, Label: "Arrivals a day over 30 days"}
	}
	quiet := components.SmallProve{Word: "Not tested", Tone: components.Quiet}
	add(cohorts.Row{Type: txt("ContextWindowExceeded"), Template: txt("chunk of {int} tokens exceeds window of {int}"), Frame: txt("embed/client.go · (*Client).Embed"),
		Source: components.Link{Text: "intranet", Href: "/sources/intranet"}, Owner: "embeddings", Under: txt("embedder@1536"), RunsNow: txt("1536 · same"),
		Stuck: components.Link{Text: "1,306"}, Arrivals: spark(0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 30, 52), Oldest: "1 d", Proof: quiet,
		Next: components.Link{Text: "Look"}, NextWhy: "1,306 in 1 h, since chunker@3", NextTone: components.Bad, Tags: []components.Tag{{Text: "alert", Tone: components.Bad}}})
	add(cohorts.Row{Type: txt("PDFSyntaxError"), Template: txt("No /Root object! - Is this really a PDF?"), Frame: txt("pdfdocument.py · PDFDocument.__init__"),
		Source: components.Link{Text: "wiki", Href: "/sources/wiki"}, Owner: "search-platform", Under: txt("pdfminer.six@20221105"), RunsNow: txt("20251230 runs now"), Moved: true,
		Stuck: components.Link{Text: "409"}, Arrivals: spark(2, 3, 2, 5, 8, 6, 9, 14, 12, 15, 18, 16), Oldest: "94 d", Expiring: components.Tag{Text: "31 expire", Tone: components.Deadline},
		Proof: components.SmallProve{Word: "Fix works · 3 of 3", Tone: components.Good, Href: "/cohorts/01Kb#prove", Title: "By parser 20251230. Expect 172 to 393 of 393 to get past this error. 16 under other versions: this says nothing of them."}, Next: components.Link{Text: "Redrive 393"}, NextWhy: "like the three that passed; 31 expire", NextTone: components.Deadline,
		Check: components.Check{On: true}})
	add(cohorts.Row{Type: txt("ValidationError"), Template: txt("amount: value is not a canonical decimal {str}"), Frame: txt("rules/money.py · parse_amount"),
		Source: components.Link{Text: "change-orders", Href: "/sources/change-orders"}, Owner: "estimating", Under: txt("mapper@2.4.0"), RunsNow: txt("2.5.0 runs now"), Moved: true,
		Stuck: components.Link{Text: "188"}, Arrivals: spark(0, 0, 0, 0, 1, 30, 44, 22, 10, 12, 9, 8), Oldest: "12 d",
		Proof: components.SmallProve{Steps: dots(step(passed, ""), step(running, ""), step(planned, ""), step(planned, ""), step(planned, "")), Word: "Fix works · 2 of 2", Tone: components.Good, Href: "/cohorts/01Kc#prove"}, Next: components.Link{Text: "Wait"}, NextWhy: "operation running, step 2"})
	add(cohorts.Row{Type: txt("UnicodeDecodeError"), Template: txt("'utf-8' codec can't decode byte {hex} in position {int}: invalid continuation byte"), Frame: txt("codecs.py · decode"),
		Source: components.Link{Text: "submittals", Href: "/sources/submittals"}, Owner: "nobody", Under: txt("csv-reader@1.9"), RunsNow: txt("1.9 · same"),
		Stuck: components.Link{Text: "240"}, Arrivals: spark(20, 18, 18, 16, 18, 20, 16, 18, 14, 16, 18, 16), Oldest: "61 d", Expiring: components.Tag{Text: "4 expire", Tone: components.Deadline},
		Proof: quiet, Next: components.Link{Text: "Ask the vendor"}, NextWhy: "1 new document passed; code unchanged"})
	add(cohorts.Row{Type: txt("EncryptedDocument"), Template: txt("document is password protected"), Frame: txt("pdf/open.go · Open"),
		Source: components.Link{Text: "leases", Href: "/sources/leases"}, Owner: "legal-ops", Under: txt("pdfcpu@0.11"), RunsNow: txt("0.11 · same"),
		Stuck: components.Link{Text: "97"}, Arrivals: spark(3, 2, 4, 3, 3, 2, 4, 3, 3, 4, 3, 3), Oldest: "88 d", Expiring: components.Tag{Text: "22 expire", Tone: components.Deadline},
		Proof: quiet, Next: components.Link{Text: "Decide"}, NextWhy: "22 expire within 7 days", NextTone: components.Deadline})
	add(cohorts.Row{Type: txt("ReadTimeout"), Template: txt("read timed out after {int} s"), Frame: txt("httpx/_transports.py · handle"),
		Source: components.Link{Text: "2 sources", Href: "/entries?q=cohort:01Kf"}, Owner: "search-platform", Under: txt("wiki-connector@3.14.2"), RunsNow: txt("not reported"),
		Stuck: components.Link{Text: "76"}, Arrivals: spark(0, 0, 0, 18, 14, 2, 0, 0, 0, 1, 0, 0), Oldest: "20 d",
		Proof: components.SmallProve{Word: "Passes unchanged · 9 of 9", Tone: components.Plain, Href: "/cohorts/01Kf#prove"}, Next: components.Link{Text: "Fix the retry rule"}, NextWhy: "looks transient"})
	add(cohorts.Row{Type: components.Text{{Text: "Bad"}, {Text: "U+202E", Chip: true}, {Text: "fdp.exe"}}, Template: txt("<img src=x onerror=alert(1)> " + longWord), Frame: txt("vendor/" + longWord + ".py · f"),
		Source: components.Link{Text: "uploads", Href: "/sources/uploads"}, Owner: "nobody", Under: txt("importer@0.0.1-rc.12+build.20260101"), RunsNow: txt("not reported"),
		Stuck: components.Link{Text: "1"}, Arrivals: spark(0, 1), Oldest: "2 h", Proof: components.SmallProve{Word: "Works for some · 3 of 5", Tone: components.Held, Href: "/cohorts/01Kg#prove"}, Next: components.Link{Text: "Split"}, NextWhy: "content type separates passed from failed",
		Tags: []components.Tag{{Text: "low confidence", Tone: components.Quiet}}})
	return m
}

const longWord = "aVeryLongWordWithoutAnySpaceThatAStrangerSentAndThatMustNotWidenThePageOnAPhoneOfThreeHundredAndSixtyPixels"
