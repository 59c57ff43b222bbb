package gallery

import (
	"dlo/views/components"
	"dlo/views/confirm"
)

func confirmItems() []Item {
	redrive := confirm.Model{
		Layout: frame("Redrive 409 documents", "Documents"), Title: "Redrive 409 documents",
		Lead:    "The membership is frozen when you press the button; what fails later is not swept in.",
		Chosen:  confirm.Chosen{Count: "409", Noun: "documents match", Query: "cohort:01Kb source:wiki", Terms: []components.Chip{{Text: "PDFSyntaxError"}, {Text: "source: wiki"}}, Sample: []confirm.Sample{{Text: txt("1147801144"), Href: "/entries/01J1"}, {Text: txt("1150067990"), Href: "/entries/01J2"}, {Text: txt("and 407 more")}}, All: components.Link{Text: "see them", Href: "/entries?q=cohort:01Kb"}},
		Facts:   []components.KV{{Key: "Goes to", Value: txt("https://pipeline.example.com/redrive"), Mono: true}, {Key: "Runs there", Value: txt("parser 20251230"), Tag: components.Tag{Text: "changed", Tone: components.CodeChanged}}, {Key: "Steps", Value: txt("1, 5, 25, 100, then the rest; at most 8 in flight")}, {Key: "Goes downstream", Value: txt("404 documents, 1.2 GB"), Note: "390 as stored copies, 1.1 GB; 14 from their source, 100 MB when they failed"}, {Key: "At the source", Value: txt("380 unchanged, 20 changed, 4 gone at the source"), Note: "asked between 3 h and 2 d ago"}},
		Ask:     &components.Form{ID: "ask-form", CSRF: csrf, Action: "/confirm/ask", Submit: "Ask the source about these 409 now", Tone: components.Plain, Fields: []components.Field{{Name: "q", Value: "cohort:01Kb source:wiki"}, {Name: "expect", Value: "409"}}},
		LeftOut: []confirm.LeftOut{{Count: "3", Why: "in quarantine: release them first", Href: "/entries?q=1"}, {Count: "2", Why: "in flight already", Href: "/entries?q=2"}},
		Notices: []components.Notice{{Tone: components.Deadline, Title: "No replay has been tried yet.", Text: "Until one passes, the steps cannot be skipped."}},
		Cancel:  components.Link{Text: "Do nothing", Href: "/cohorts/01Kb"},
		Form: &components.Form{ID: "confirm-form", CSRF: csrf, Action: "/operations", Submit: "Redrive 404", Tone: components.Primary, Fields: []components.Field{{Name: "expect", Value: "409"}, {Name: "q", Value: "cohort:01Kb source:wiki"}},
			Inputs: []components.Input{
				{Name: "mode", Label: "Which bytes", Kind: components.InputRadio, Options: []components.Option{{Value: "auto", Label: "Stored copy where unchanged, else the source", Hint: "A changed document goes fresh, one that is gone is left out.", On: true}, {Value: "held", Label: "The stored copy, always", Hint: "Would bring back 4 documents that are gone at the source."}, {Value: "source", Label: "From the source, always", Disabled: true, Hint: "This source has no address to ask."}}},
				{Name: "reason", Label: "Why", Required: true, Autofocus: true, Suggestions: reasons(), Hint: "Stands in the audit trail and on each document.", Error: "Say why: nothing was sent."},
			}},
	}
	extend := confirm.Model{
		Layout: frame("Keep longer", "Documents"), Title: "Keep wiki / 1147801144 longer", Lead: "It leaves the queue on 2 Dec 2026. At most until 27 Aug 2027.",
		Cancel: components.Link{Text: "Do nothing", Href: "/entries/01J1"},
		Form: &components.Form{ID: "confirm-form", CSRF: csrf, Action: "/entries/01J1/extend", Submit: "Keep", Tone: components.Primary, Inputs: []components.Input{
			{Name: "days", Label: "Days from the day it would leave", Kind: components.InputNumber, Value: "30", Min: "1", Max: "267", Unit: "days", Required: true},
			{Name: "until", Label: "Or until", Kind: components.InputDate}, {Name: "note", Label: "Note", Kind: components.InputArea}, {Name: "mine", Label: "Assign it to me", Kind: components.InputCheck, Value: "1"},
		}},
	}
	erase := confirm.Model{
		Layout: frame("Erase", "Documents"), Title: "Erase 1 document", Lead: "This cannot be undone. The row, its attempts, texts and the stored copy go; the audit trail keeps that it was done.",
		Chosen: confirm.Chosen{Count: "1", Noun: "document", Sample: []confirm.Sample{{Text: components.Text{{Text: "lease"}, {Text: "U+202E", Chip: true}, {Text: "fdp.exe"}}, Href: "/entries/01J1"}}},
		Cancel: components.Link{Text: "Do nothing", Href: "/entries/01J1"},
		Form:   &components.Form{ID: "confirm-form", CSRF: csrf, Action: "/erasures", Submit: "Erase for good", Tone: components.Bad, Inputs: []components.Input{{Name: "reason", Label: "Why", Required: true}}},
	}
	conflict := confirm.Model{Layout: frame("Redrive", "Documents"), Title: "Redrive 412 documents", Conflict: &confirm.Conflict{
		Sentence: "412 matched when you looked, 418 match now.", Kept: "Nothing was sent.", Links: []components.Link{{Text: "Look at the 6 new ones", Href: "/entries?q=x"}},
		Retry: &components.Form{ID: "retry", CSRF: csrf, Action: "/operations", Submit: "Redrive the 412", Fields: []components.Field{{Name: "expect", Value: "412"}}},
	}}
	denied := redrive
	denied.Form = nil
	denied.Denied = &confirm.Denied{Sentence: "Analysts cannot redrive.", Ask: "Ask a reviewer and give them the address of this page: it holds the selection.", Address: "https://dlo.example.com/confirm/redrive?q=x"}

	return []Item{page("confirm-redrive", confirm.Page(redrive)), page("confirm-extend", confirm.Page(extend)), page("confirm-erase", confirm.Page(erase)), page("confirm-conflict", confirm.Page(conflict)), page("confirm-denied", confirm.Page(denied))}
}
