package gallery

import (
	"dlo/views/alerts"
	"dlo/views/audit"
	"dlo/views/components"
)

func recordItems() []Item {
	a := alerts.Model{
		Layout: frame("Alerts", "Alerts"), Heading: "2 alerts are firing", CSRF: csrf,
		Filters: []components.Chip{{Text: "Firing", Count: "2", On: true, Href: "?"}, {Text: "Acknowledged", Href: "?state=acknowledged"}, {Text: "Resolved", Href: "?state=resolved"}},
		Rows: []alerts.Row{
			{Title: components.Link{Text: "ContextWindowExceeded: 1,306 in 1 h", Href: "/cohorts/01Ka"}, State: components.Tag{Text: "firing", Tone: components.Bad}, Rule: "spike", Why: "1,306 arrivals in an hour; this cohort's own baseline is 4.", Source: components.Link{Text: "intranet", Href: "/sources/intranet"}, Since: at("2026-11-29T08:44:00Z", "29 Nov 2026 08:44 UTC", "29 Nov 08:44"), Sent: "handed to router.example.com", Actions: []components.Action{{Label: "Acknowledge", Href: "/alerts/1/acknowledge", Tone: components.Primary}, {Label: "Silence for a day", Href: "/alerts/1/silence"}}},
			{Title: components.Link{Text: "Oldest document over its age", Href: "/entries?q=age:>90d"}, State: components.Tag{Text: "acknowledged", Tone: components.Held}, Rule: "age", Why: "94 d; the limit is 90 d.", Source: components.Link{Text: "wiki", Href: "/sources/wiki"}, Since: at("2026-11-25T08:44:00Z", "25 Nov 2026 08:44 UTC", "25 Nov 08:44"), By: "reviewer@example.com"},
		},
		Pager: components.Pager{Summary: "2 alerts"},
	}
	t := audit.Model{
		Layout: frame("Audit", "Audit"), Chain: components.Notice{Tone: components.Good, Title: "The chain is whole up to row 14,209.", Text: "Verified 3 minutes ago."},
		Filters: []components.Input{{Name: "who", Label: "Who", Placeholder: "address, token or policy"}, {Name: "action", Label: "Action", Kind: components.InputSelect, Options: []components.Option{{Label: "any", On: true}, {Value: "redrive.start", Label: "redrive.start"}}}, {Name: "from", Label: "From", Kind: components.InputDate}, {Name: "until", Label: "Until", Kind: components.InputDate}},
		Rows: []audit.Row{
			{Seq: "14,209", When: at("2026-11-29T09:44:00Z", "29 Nov 2026 09:44 UTC", "29 Nov 09:44"), Who: "reviewer@example.com", Kind: "person", Action: "redrive.start", Target: components.Link{Text: "01K7Z", Href: "/operations/01K7Z"}, Reason: txt("fix deployed"), Address: "192.0.2.10", Hash: "a91c04f2"},
			{Seq: "14,208", When: at("2026-11-29T03:00:00Z", "29 Nov 2026 03:00 UTC", "29 Nov 03:00"), Who: "entry_ttl", Kind: "policy", Action: "entry.archive", Target: components.Link{Text: "01J8", Href: "/entries/01J8"}, Reason: txt("90 d in the queue"), Hash: "77be0913"},
		},
		Pager: components.Pager{Summary: "14,209 rows", Next: components.Link{Text: "Older", Href: "?after=x"}}, Exports: []components.Link{{Text: "CSV", Href: "/audit.csv"}},
	}
	calm := alerts.Model{Layout: frame("Alerts", "Alerts"), Heading: "No alert is firing", CSRF: csrf, Empty: &components.Empty{Title: "All quiet", Text: "3 were resolved this week."}}
	return []Item{page("alerts", alerts.Page(a)), page("alerts-none", alerts.Page(calm)), page("audit", audit.Page(t))}
}
