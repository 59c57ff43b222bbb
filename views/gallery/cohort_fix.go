package gallery

import (
	"dlo/views/cohort"
	"dlo/views/components"
)

func fixes() cohort.Fixes {
	return cohort.Fixes{Leads: true, Declare: components.Action{Label: "Declare a fix", Href: "/cohorts/01Kb/fix"}, Rows: []cohort.Fix{{
		ID: "fix-01F", Heading: "Test the fix: parser 20251230 is live", Leads: true, State: components.Tag{Text: "live", Tone: components.Good},
		Facts: []components.Fact{{Text: "393 failed under versions it replaces", Href: "/entries?q=cohort:01Kb+-parser:20251230"}, {Text: "12 do not say", Href: "/entries?q=cohort:01Kb"}, {Text: "live in wiki since", Time: at("2026-11-27T14:02:00Z", "27 Nov 2026 14:02 UTC", "27 Nov 14:02")}},
		Do:    []components.Action{{Label: "Test it on one", Href: "/confirm?action=redrive&id=01J1", Tone: components.Primary, Key: "r"}, {Label: "Redrive the 393", Href: "/confirm?action=redrive&q=cohort"}},
		Note:  txt("Reads the incremental update after %%EOF."), Link: components.Link{Text: "https://git.example.com/parser/commit/4f2a", Href: "https://git.example.com/parser/commit/4f2a"},
		Said: "declared by reviewer@example.com", When: at("2026-11-20T09:00:00Z", "20 Nov 2026 09:00 UTC", "20 Nov 09:00"), Withdraw: components.Action{Label: "Withdraw", Href: "/cohorts/01Kb/fix/01F/withdraw"},
	}}}
}

func failedFixes() cohort.Fixes {
	f := fixes()
	f.Leads = false
	one := &f.Rows[0]
	one.Leads, one.Heading, one.Do, one.State = false, "Parser 20251230", nil, components.Tag{Text: "live, and failed for some", Tone: components.Bad}
	one.Cannot = "Analysts cannot redrive, quarantine or extend. Ask a reviewer and give them this page's address."
	one.Notices = []components.Notice{{Tone: components.Bad, Title: "It came back after the fix.", Text: "2 documents that came anew since it runs failed under parser 20251230."}, {Tone: components.Plain, Title: "3 failed under the fix itself.", Links: []components.Link{{Text: "Look at them", Href: "/entries?q=cohort:01Kb+parser:20251230"}}}}
	one.Sources = []cohort.FixSource{
		{Source: components.Link{Text: "wiki", Href: "/sources/wiki"}, Replaced: components.Link{Text: "390", Href: "/entries?q=1"}, Unsaid: components.Link{Text: "12", Href: "/entries?q=2"}, Under: components.Link{Text: "3", Href: "/entries?q=3"}, Live: "since", Since: at("2026-11-27T14:02:00Z", "27 Nov 2026 14:02 UTC", "27 Nov 14:02")},
		{Source: components.Link{Text: "leases-of-the-northern-region", Href: "/sources/leases"}, Replaced: components.Link{Text: "3", Href: "/entries?q=4"}, Unsaid: components.Link{Text: "0"}, Under: components.Link{Text: "0"}, Live: "not yet"},
	}
	f.Rows = append(f.Rows, cohort.Fix{ID: "fix-02F", Heading: "Mapper@2.5.1-with-a-very-long-name-that-nobody-can-break+build.20251230.0123456789abcdef", State: components.Tag{Text: "declared, not deployed", Tone: components.Quiet},
		Facts: []components.Fact{{Text: "0 failed under versions it replaces"}, {Text: "409 do not say"}}, Said: "declared by analyst@example.com", When: at("2026-11-21T09:00:00Z", "21 Nov 2026 09:00 UTC", "21 Nov 09:00")})
	f.Past = []components.Event{{Who: "reviewer@example.com", Text: "withdrew parser 20251101, declared by reviewer@example.com on 2 Nov 2026", Note: txt("It was another defect."), When: at("2026-11-10T09:00:00Z", "10 Nov 2026 09:00 UTC", "10 Nov 09:00")}}
	return f
}
