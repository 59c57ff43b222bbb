package gallery

import (
	"dlo/views/components"
	"dlo/views/source"
	"dlo/views/sources"
)

func sourceItems() []Item {
	ok := components.Tag{Text: "redrives", Tone: components.Good}
	list := sources.Model{Layout: frame("Sources", "Sources"), Lead: "5 sources. A source appears by itself with its first document.", Rows: []sources.Row{
		{Name: components.Link{Text: "wiki", Href: "/sources/wiki"}, Owner: "search-platform", Stuck: components.Link{Text: "640", Href: "/entries?q=source:wiki"}, Oldest: "94 d", Expires: components.Tag{Text: "31 expire", Tone: components.Deadline}, Target: ok, Probe: components.Tag{Text: "asks for ETag", Tone: components.Plain}, Reports: components.Tag{Text: "reported", Tone: components.Plain}, RunsNow: txt("pdfminer.six@20251230"), Ladder: sources.Ladder{Done: 6, Of: 7, Next: "next: census"}},
		{Name: components.Link{Text: "intranet", Href: "/sources/intranet"}, Owner: "nobody", Stuck: components.Link{Text: "1,406", Href: "/entries?q=source:intranet"}, Oldest: "1 d", Target: components.Tag{Text: "no redrive target", Tone: components.Deadline}, Probe: components.Tag{Text: "not set up", Tone: components.Quiet}, Reports: components.Tag{Text: "never reported", Tone: components.Deadline}, RunsNow: txt("not reported"), Circuit: components.Tag{Text: "circuit open", Tone: components.Bad}, Paused: components.Tag{Text: "paused", Tone: components.Held}, Rejects: components.Link{Text: "4 refused", Href: "/sources/intranet#rejected"}, Ladder: sources.Ladder{Done: 1, Of: 7, Next: "next: bytes"}},
	}}
	reports := source.Unplaced{Summary: "the newest 50", Lead: "They are kept as they were told and changed nothing. Sent again, a report is looked at anew.", Rows: []source.Report{
		{When: at("2026-11-29T08:41:00Z", "29 Nov 2026 08:41 UTC", "29 Nov 08:41"), Result: "committed", About: []components.KV{{Key: "Redrive", Value: txt("01K9ZZ0000000000000000000A"), Mono: true}}, Why: "No entry or redrive here has this name; the report is kept.", By: txt("pipeline")},
		{When: at("2026-11-29T08:40:00Z", "29 Nov 2026 08:40 UTC", "29 Nov 08:40"), Result: "failed", About: []components.KV{{Key: "Document", Value: txt("contracts/2026/northern-region/LS-2104-amendment-7-signed-and-countersigned.pdf"), Mono: true}, {Key: "Key", Value: txt("9f2ac81e9f2ac81e9f2ac81e9f2ac81e9f2ac81e9f2ac81e9f2ac81e9f2ac81e"), Mono: true}}, Why: "No entry or redrive here has this name; the report is kept.", By: txt("signed report")},
	}}
	list.Unplaced = &source.Unplaced{Lead: "They name no source. " + reports.Lead, Rows: reports.Rows[:1]}
	rotating := source.Model{Layout: frame("wiki", "Sources", components.Link{Text: "Sources", Href: "/sources"}, components.Link{Text: "wiki"}), Name: "wiki",
		Notices: []components.Notice{{Tone: components.Info, Title: "The signing secret is being replaced.", Text: "Until 2 Dec 2026 08:40 UTC redrives are signed with the new and the old one. Give the pipeline the new one before then.", Do: []components.Action{{Label: "End the overlap now", Href: "/sources/wiki/secret/end", Why: "A pipeline that knows only the old secret refuses every redrive from then on"}}}},
		Policy: []source.Group{
			{Name: "Redrive", Rows: []components.KV{{Key: "Target", Value: txt("https://pipeline.example.com/redrive"), Mono: true}, {Key: "Secret", Value: txt("set"), Tag: components.Tag{Text: "being replaced", Tone: components.Deadline}, Note: "the old one stands until 2 Dec 2026 08:40 UTC"}}},
			{Name: "Outcomes", Rows: []components.KV{{Key: "Learnt", Value: txt("asked of the index"), Href: "/sources/wiki/outcomes"}, {Key: "Waited for", Value: txt("1d")}, {Key: "Asked at", Value: txt("https://index.example.com/doc/{doc_id}"), Mono: true}, {Key: "Version from", Value: txt("json:/version")}, {Key: "ingest_seq from", Value: txt("json:/seq")}}},
		},
		Register: source.Register{None: "Nothing runs now, by what was registered."}, Rejected: source.Rejected{None: "None was refused."}, Unplaced: source.Unplaced{None: "Every outcome that was reported found its document."}, NoBook: "Nothing is written.",
	}
	one := source.Model{
		Layout: frame("intranet", "Sources", components.Link{Text: "Sources", Href: "/sources"}, components.Link{Text: "intranet"}), Name: "intranet",
		State:   []components.Tag{{Text: "paused", Tone: components.Held}},
		Facts:   []components.Fact{{Text: "1,406 stuck", Href: "/entries?q=source:intranet"}, {Text: "owner nobody"}, {Text: "first document", Time: at("2026-11-28T08:00:00Z", "28 Nov 2026 08:00 UTC", "28 Nov 08:00")}},
		Actions: []components.Action{{Label: "Resume redrives", Href: "/sources/intranet/resume"}, {Label: "Close the circuit", Href: "/circuits/intranet/close"}},
		Notices: []components.Notice{{Tone: components.Deadline, Title: "Redrives go unsigned.", Text: "Set a secret so that the pipeline can tell them from anybody's."}},
		Never:   &source.Never{CSRF: csrf, Sentence: "12 redrives were sent, no outcome came. How shall we find out?", Choices: []components.Action{{Label: "It will report", Href: "/sources/intranet/outcomes", Current: true, Fields: []components.Field{{Name: "mode", Value: "reported"}}}, {Label: "Its answer is the outcome", Href: "/sources/intranet/outcomes"}, {Label: "Ask the index", Href: "/sources/intranet/outcomes"}, {Label: "Silence counts as done", Href: "/sources/intranet/outcomes"}}},
		Ladder: []source.Rung{
			{Name: "Park", Done: true, Says: "1,406 documents, last 4 min ago"},
			{Name: "Bytes", Says: "send the document too, and it can be replayed after the source has lost it", Snippet: &components.Code{ID: "snippet-bytes", Label: "How to send the bytes", Text: "-F payload=@\"$FILE\""}},
			{Name: "Versions", Done: true, Says: "embedder, chunker"}, {Name: "Redrive", Says: "say where redrives go"}, {Name: "Outcomes", Says: "report what came of each"}, {Name: "Deployments", Says: "say what runs now, and fixes show by themselves"}, {Name: "Census", Says: "send how many documents there are, and absence becomes a share"},
		},
		Policy: []source.Group{
			{Name: "Redrive", Rows: []components.KV{{Key: "Target", Value: txt("none"), Tag: components.Tag{Text: "nothing can be sent", Tone: components.Deadline}}, {Key: "Rate", Value: txt("50 a second, 8 in flight")}, {Key: "Secret", Value: txt("not set")}}},
			{Name: "Retention", Rows: []components.KV{{Key: "Queue", Value: txt("90 d, at most 365 d")}, {Key: "Copies", Value: txt("90 d")}, {Key: "Records", Value: txt("for ever")}}},
			{Name: "Limits", Rows: []components.KV{{Key: "Depth", Value: txt("6,000")}, {Key: "Poison after", Value: txt("3 same failures")}}},
		},
		Register: source.Register{
			Now: []source.Ran{{Component: "chunker", Version: txt("3"), From: at("2026-11-29T08:40:00Z", "29 Nov 2026 08:40 UTC", "29 Nov 08:40"), By: txt("pipeline")}, {Component: "embedder", Version: txt("7"), Words: "beside another", From: at("2026-11-29T08:40:00Z", "29 Nov 2026 08:40 UTC", "29 Nov 08:40"), By: txt("pipeline")}},
			History: []source.Ran{
				{Component: "chunker", Version: txt("3"), Words: "again, as before", From: at("2026-11-29T08:40:00Z", "29 Nov 2026 08:40 UTC", "29 Nov 08:40"), By: txt("pipeline")},
				{Component: "chunker", Version: txt("4-with-a-very-long-name+build.20251230.0123456789abcdef0123456789abcdef"), From: at("2026-11-28T08:40:00Z", "28 Nov 2026 08:40 UTC", "28 Nov 08:40"), Until: at("2026-11-29T08:40:00Z", "29 Nov 2026 08:40 UTC", "29 Nov 08:40"), By: txt("manager@example.com")},
			},
			Pager:   components.Pager{Next: components.Link{Text: "Older", Href: "/sources/intranet?runs=1-1#runs"}},
			Seen:    []source.Seen{{Component: "parser", Version: txt("pdfminer.six@20221105"), Documents: components.Link{Text: "1,406", Href: "/entries?q=source:intranet"}, Stuck: components.Link{Text: "1,406", Href: "/entries?q=source:intranet"}}},
			Snippet: &components.Code{ID: "snippet-register", Label: "How to register pdfminer.six@20221105", Text: "curl --json '{\"source\":\"intranet\",\"component\":\"parser\",\"version\":\"pdfminer.six@20221105\"}' \"$DLO/api/v1/deployments\""},
			Deploy:  &components.Form{ID: "deploy", CSRF: csrf, Action: "/sources/intranet/deployments", Submit: "Register", Inputs: []components.Input{{Name: "component", Label: "Component", Required: true}, {Name: "version", Label: "Version", Required: true}}},
		},
		Rejected: source.Rejected{Summary: "4 in 30 days", Rows: []source.Envelope{{When: at("2026-11-29T08:41:00Z", "29 Nov 2026 08:41 UTC", "29 Nov 08:41"), Faults: []source.Fault{{Pointer: txt("/content_hash"), Detail: txt("64 lower-case hex digits expected, got 36 characters")}}, Text: txt(`{"source":"intranet","content_hash":"…"}`), Cut: "The whole envelope, 214 bytes."}}, None: "None was refused."},
		Unplaced: reports,
		NoBook:   "Nothing is written. Say whom to ask and what helped.", EditBook: components.Link{Text: "Write", Href: "/sources/intranet/runbook"},
		Edit: "changed with dlo source apply", Export: components.Link{Text: "as YAML", Href: "/sources/intranet.yaml"},
	}
	return []Item{page("sources", sources.Page(list)), page("source", source.Page(one)), page("source-secrets", source.Page(rotating)), page("sources-none", sources.Page(sources.Model{Layout: frame("Sources", "Sources"), Empty: &components.Empty{Title: "No source yet", Text: "The first document creates its source with the defaults."}}))}
}
