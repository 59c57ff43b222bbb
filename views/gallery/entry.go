package gallery

import (
	"dlo/views/components"
	"dlo/views/entry"
)

func entryItems() []Item {
	quarantined := entryModel()
	quarantined.State = components.Tag{Text: "in quarantine", Tone: components.Held}
	quarantined.Actions = []components.Action{{Label: "Release one more", Href: "/confirm/release?grant=one", Tone: components.Primary, Key: "r"}, {Label: "Keep 30 more days", Href: "/confirm/extend", Key: "e"}, {Label: "Archive", Href: "/confirm/archive"}}
	quarantined.Cannot = "It cannot be redriven while it is in quarantine: release it first."
	quarantined.Answer = entry.Answer{Headline: "It failed the same way after 3 replays.", Why: "Nothing about the document or the code has changed since the last one, so a fourth would most likely do the same.", Tone: components.Held, Links: []components.Link{{Text: "The three failures", Href: "#attempts"}}}
	quarantined.Trace = entry.Trace{None: "No trace.", NoneWhy: "The process died twice before it could write one (deliveries 1 and 2, no answer). It was parked on the third delivery without opening the document.", Summary: "resource_fatal"}
	quarantined.Validation = entry.Validation{Summary: "as it was sent", Raw: txt("line 14: column total does not match\nexpected 1204.50, got 1204.5O\n"), Cut: "Cut at 256 KiB of 3.1 MB."}
	quarantined.Document = entry.Document{Summary: "214 MB", State: components.Tag{Text: "not held", Tone: components.Deadline}, None: "The copy was not kept: the source's quota was full when it came. A replay goes to the source.", NoLoad: "There is nothing to download."}
	quarantined.Changed.Problem = "The source did not answer within 10 s, 3 minutes ago. What stands here is from 28 Nov; check again, or look at the source's page."
	quarantined.Linked = nil

	flying := entryModel()
	flying.State = components.Tag{Text: "redriving", Tone: components.Info}
	flying.Actions = []components.Action{{Label: "Keep 30 more days", Href: "/confirm/extend", Key: "e"}}
	flying.Answer = entry.Answer{Headline: "Sent 40 s ago, no outcome yet.", Why: "The stored copy went to wiki's pipeline. The answer is waited for until 10:14.", Tone: components.Info, Links: []components.Link{{Text: "Its operation", Href: "/operations/01K7Z"}}}
	flying.Document.Kind, flying.Document.Text = entry.PreviewText, []components.Text{txt("{"), txt(`  "amount": "1204.5O",`), {{Text: `  "file": "lease`}, {Text: "U+202E", Chip: true}, {Text: `fdp.exe"`}}, txt("}")}
	flying.Document.Summary, flying.Document.Cut = "214 B JSON", ""

	refused := entryModel()
	refused.Refusal = &entry.Refusal{Sentence: "The last redrive was not delivered.", Reason: "The target answered 422.", When: at("2026-11-29T09:44:00Z", "29 Nov 2026 09:44 UTC", "29 Nov 09:44"), Operation: components.Link{Text: "The operation", Href: "/operations/01K7Z"},
		Summary: "What the target answered with 422, 43 bytes", Body: components.Text{{Text: `{"error": "no such document: lease`}, {Text: "U+202E", Chip: true}, {Text: `fdp"}`}}}
	refused.RecordAt = entry.RecordUnderValidation
	refused.Activity.Events = append(refused.Activity.Events, components.Event{Who: "reviewer@example.com", Text: "noted", Body: components.Markdown{SanitisedHTML: "<p>Ask the <strong>vendor</strong>.</p>"}, When: at("2026-11-13T11:29:00Z", "13 Nov 2026 11:29 UTC", "13 Nov 11:29")})

	analyst := entryModel()
	analyst.Actions = nil
	analyst.Answer.Do, analyst.Answer.Others = nil, nil
	analyst.Answer.Links = []components.Link{{Text: "Copy a link for a reviewer", Href: "/entries/01J1"}}
	analyst.Cannot = "Analysts look, note and assign. Ask a reviewer to redrive it."
	analyst.Document.Download, analyst.Document.NoLoad = nil, "Analysts see the preview; reviewers may download."
	analyst.Document.Kind, analyst.Document.Head = entry.PreviewTable, []components.Text{txt("id"), txt("amount"), txt("due")}
	analyst.Document.Cells = [][]components.Text{{txt("1"), txt("1204.50"), txt("2026-01-01")}, {txt("2"), txt("=HYPERLINK(\"x\")"), txt("")}}
	analyst.Document.Summary = "12 KB CSV"

	return []Item{page("entry", entry.Page(entryModel())), page("entry-quarantined", entry.Page(quarantined)), page("entry-redriving", entry.Page(flying)), page("entry-refused", entry.Page(refused)), page("entry-analyst", entry.Page(analyst))}
}

func entryModel() entry.Model {
	line := func(s string, k entry.LineKind) entry.TraceLine { return entry.TraceLine{Text: txt(s), Kind: k} }
	same := entry.AttemptCell{Same: true}
	doc := func(s string) entry.AttemptCell { return entry.AttemptCell{Text: txt(s), Tone: components.DocChanged} }
	code := func(s string) entry.AttemptCell {
		return entry.AttemptCell{Text: txt(s), Tone: components.CodeChanged}
	}
	what := func(s string) entry.AttemptCell { return entry.AttemptCell{Text: txt(s)} }
	return entry.Model{
		Layout: frame("wiki / 1147801144", "Documents", components.Link{Text: "Cohorts", Href: "/cohorts"}, components.Link{Text: "PDFSyntaxError", Href: "/cohorts/01Kb"}, components.Link{Text: "wiki / 1147801144"}),
		Source: components.Link{Text: "wiki", Href: "/sources/wiki"}, DocID: txt("1147801144"), Filename: txt("Lease agreement, building 14 (countersigned).pdf"), Cohort: components.Link{Text: "PDFSyntaxError", Href: "/cohorts/01Kb"},
		Facts: []components.Fact{
			{Text: "stuck since", Time: ago("2026-08-27T09:42:00Z", "27 Aug 2026 09:42 UTC", "27 Aug 2026")}, {Text: "214 attempts, last", Time: at("2026-11-29T09:44:00Z", "29 Nov 2026 09:44 UTC", "29 Nov 09:44"), Href: "#attempts"}, {Text: "ambiguous_parse"},
			{Text: "1 identical failed replay of 3"}, {Text: "leaves the queue in 3 d", Tone: components.Deadline, Title: "2 Dec 2026 09:42 UTC"}, {Text: "copy kept 41 d"},
		},
		Actions: []components.Action{{Label: "Keep 30 more days", Href: "/confirm/extend", Key: "e"}, {Label: "Quarantine", Href: "/confirm/quarantine", Key: "q"}},
		More:    []components.Action{{Label: "Assign", Href: "/confirm/assign", Key: "a"}, {Label: "Archive", Href: "/confirm/archive"}, {Label: "Hold", Href: "/confirm/hold", Disabled: true, Why: "Managers place a hold."}, {Label: "Erase", Href: "/confirm/erase", Tone: components.Bad}},
		Notices: []components.Notice{{Tone: components.Info, Title: "It came back.", Text: "It was resolved on 3 Aug and failed again on 27 Aug, so this is its second episode."}},
		Answer: entry.Answer{Headline: "Redrive the stored copy: a test of the code.", Why: "Parser 20251230 runs now, 20221105 failed it. The document at the source looks unchanged (weak tag), so this would also bring nothing stale.", Tone: components.Info,
			Do:     &components.Action{Label: "Redrive", Href: "/confirm/redrive?mode=held", Key: "r", Tone: components.Primary},
			Others: []components.Action{{Label: "From the source", Href: "/confirm/redrive?mode=source", Why: "Would repair it if the document was mended, and test both at once."}}},
		Trace: entry.Trace{Summary: "14 frames, 9 of libraries folded", CopyID: "trace-raw", RawText: txt("Traceback (most recent call last):\n  …"), Raw: components.Link{Text: "Raw", Href: "/entries/01J1/trace"}, Blocks: []entry.TraceBlock{
			{Lines: []entry.TraceLine{line("Traceback (most recent call last):", entry.LineLibrary), line(`  File "ingest/worker.py", line 212, in handle`, entry.LinePlain), line("    text = parse(doc)", entry.LinePlain)}},
			{Fold: "9 library frames", Lines: []entry.TraceLine{line(`  File "concurrent/futures/thread.py", line 58, in run`, entry.LineLibrary), line("    result = self.fn(*self.args, **self.kwargs)", entry.LineLibrary)}},
			{Lines: []entry.TraceLine{line(`  File "pdfminer/high_level.py", line 177, in extract_text`, entry.LineKey), line(`  File "pdfminer/pdfpage.py", line 128, in get_pages`, entry.LineKey), line(`  File "pdfminer/pdfdocument.py", line 752, in __init__`, entry.LineKey), line(`    raise PDFSyntaxError("No /Root object! - Is this really a PDF?")`, entry.LinePlain), line("PDFSyntaxError: No /Root object! - Is this really a PDF?", entry.LineRaise)}},
		}},
		Validation: entry.Validation{Summary: "1 of 6 rules failed", More: "3 more rules passed.", RawLink: components.Link{Text: "Raw", Href: "/entries/01J1/validation"}, Rules: []entry.Rule{
			{Name: txt("document.structure"), Message: txt("the file has a catalogue"), Path: txt("/trailer/Root"), Expected: txt("indirect reference"), Got: txt("absent")},
			{Name: txt("content_type"), Message: txt("application/pdf, magic %PDF-1.7"), Passed: true}, {Name: txt("size"), Message: txt("4,718,592 bytes, under the 64 MB limit"), Passed: true},
		}},
		Changed: entry.Changed{
			Asked: "asked 12 s ago", CSRF: csrf, Reading: components.Tag{Text: "unchanged · weak tag", Tone: components.DocSame}, Says: "The source gives the same tag as at the failure. It is a weak one: it promises the same meaning, not the same bytes.",
			Actions: []components.Action{{Label: "Check now", Href: "/entries/01J1/probe"}, {Label: "Fetch and hash", Href: "/entries/01J1/probe", Fields: []components.Field{{Name: "fetch", Value: "1"}}, Why: "Settles it: reads the document once and compares its digest"}},
			Rows: []entry.Evidence{
				{Name: "ETag", Stored: txt(`W/"5c9f-1b3d2a7"`), Now: txt(`W/"5c9f-1b3d2a7"`), Tag: components.Tag{Text: "unchanged · weak", Tone: components.DocSame}},
				{Name: "SHA-256", Stored: txt("9f2a4c1e…c7e50f · stored copy"), Now: txt("not fetched"), Note: "would settle it"},
				{Name: "Modified", Stored: txt("11 Feb 2026 09:41:07"), Now: txt("11 Feb 2026 09:41:07"), Tag: components.Tag{Text: "unchanged", Tone: components.DocSame}},
				{Name: "Parser", Stored: txt("pdfminer.six@20221105"), Now: txt("pdfminer.six@20251230"), Tag: components.Tag{Text: "changed", Tone: components.CodeChanged}},
				{Name: "Others", Stored: txt("connector 3.14.2 · chunker 2 · embedder 1536"), Now: txt("the same"), Tag: components.Tag{Text: "same", Tone: components.CodeSame}},
			},
			Caveats: []string{"Two edits within one second would look like none to the modification time."},
		},
		Attempts: entry.Attempts{Summary: "214 attempts, 5 arrivals, 3 replays", All: components.Link{Text: "All 214", Href: "/entries/01J1/attempts"},
			Columns: []entry.AttemptColumn{{When: at("2026-08-27T09:42:00Z", "27 Aug 2026 09:42 UTC", "27 Aug 09:42"), Href: "/entries/01J1/attempts#1"}, {When: at("2026-09-02T04:10:00Z", "2 Sep 2026 04:10 UTC", "2 Sep 04:10"), Href: "/entries/01J1/attempts#2"}, {Fold: "210 the same"}, {When: at("2026-11-14T11:30:00Z", "14 Nov 2026 11:30 UTC", "14 Nov 11:30"), Href: "/entries/01J1/attempts#213"}, {When: at("2026-11-29T09:44:00Z", "29 Nov 2026 09:44 UTC", "29 Nov 09:44"), Href: "/entries/01J1/attempts#214"}},
			Rows: []entry.AttemptRow{
				{Label: "ETag", Cells: []entry.AttemptCell{what(`W/"5c9f-0a"`), doc(`W/"5c9f-1b3d2a7"`), same, same, same}},
				{Label: "Parser", Cells: []entry.AttemptCell{what("20221105"), same, same, code("20240706"), code("20221105")}},
				{Label: "What", Cells: []entry.AttemptCell{what("parked"), what("parked"), what("parked"), what("replay, same failure"), what("parked")}},
			}},
		Document: entry.Document{Summary: "4.5 MB PDF", State: components.Tag{Text: "digest verified", Tone: components.Good}, Kind: entry.PreviewHex, Views: []components.Chip{{Text: "Page", Href: "?view=page"}, {Text: "Text", Href: "?view=text"}, {Text: "Hex", Href: "?view=hex", On: true}},
			Hex: []entry.HexLine{{Offset: "00000000", Bytes: "25 50 44 46 2d 31 2e 37  0a 25 c7 ec 8f a2 0a 35", Ascii: "%PDF-1.7.%.....5"}, {Offset: "00000010", Bytes: "20 30 20 6f 62 6a 0a 3c  3c 2f 4c 65 6e 67 74 68", Ascii: " 0 obj.<</Length"}}, Cut: "The first 64 KiB of 4.5 MB.", Download: &components.Link{Text: "Download", Href: "/entries/01J1/payload"}},
		Record:   []entry.Light{{Name: "The bytes", On: true, Why: "digest known, copy held"}, {Name: "The code", On: true, Why: "connector, parser, chunker, embedder named"}, {Name: "The moment", On: true, Why: "ingest position and cursor given"}, {Name: "The siblings", On: false, Why: "send filename or labels to tell related documents"}},
		Details:  []components.KV{{Key: "Our id", Value: txt("01JDQ8M6Z4N7T2K9R5V3W1X0YB"), Mono: true, Copy: true}, {Key: "Content hash", Value: txt("9f2a4c1e7b0d55aa01be9c33d2f4709f2a4c1e7b0d55aa01be9c33d2c7e50f11"), Mono: true, Copy: true, Tag: components.Tag{Text: "sha256 of the bytes", Tone: components.Quiet}}, {Key: "Label region", Value: components.Text{{Text: "eu"}, {Text: "U+200B", Chip: true}}}},
		Linked:   []entry.Linked{{Document: txt("lease-2231.pdf"), Source: "leases", Href: "/entries/01J9", State: components.Tag{Text: "parked", Tone: components.Plain}, Why: "same digest"}},
		Activity: activity(), CaseFile: components.Link{Text: "Case file", Href: "/entries/01J1/case"},
	}
}
