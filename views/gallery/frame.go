package gallery

import (
	"dlo/views/components"
	"dlo/views/layout"
)

const csrf = "made-up-token"

// at makes a time of the made-up year from what stands on the page and its ISO
// form, so that drawings never depend on the clock or the zone.
func at(iso, utc, short string) components.Time {
	return components.Time{ISO: iso, UTC: utc, Short: short}
}

func ago(iso, utc, short string) components.Time {
	return components.Time{ISO: iso, UTC: utc, Short: short, Keep: true}
}

func txt(s string) components.Text { return components.PlainText(s) }

// frame is what stands round a page, with one line of the rail current.
func frame(title, current string, crumbs ...components.Link) layout.Model {
	nav := []layout.NavItem{
		{Text: "Cohorts", Href: "/cohorts", Icon: "layers", Count: "38", Key: "c", Phone: true},
		{Text: "Documents", Href: "/entries", Icon: "file-text", Count: "2,842", Key: "d"},
		{Text: "Operations", Href: "/operations", Icon: "list-checks", Count: "1", Tone: components.Info, Key: "o", Phone: true},
		{Text: "Quarantine", Href: "/quarantine", Icon: "octagon-alert", Count: "17", Tone: components.Held, Key: "q", Phone: true, Short: "Decide"},
		{Text: "Reports", Href: "/reports/aging", Icon: "chart-column", Key: "r", Group: 1},
		{Text: "Sources", Href: "/sources", Icon: "database", Key: "s", Group: 1},
		{Text: "Alerts", Href: "/alerts", Icon: "bell", Count: "2", Tone: components.Bad, Key: "a", Group: 1, Phone: true},
		{Text: "Audit", Href: "/audit", Icon: "scroll-text", Key: "u", Group: 1},
		{Text: "Settings", Href: "/settings/users", Icon: "settings", Key: ",", Group: 2},
	}
	for i := range nav {
		nav[i].Current = nav[i].Text == current
	}
	return layout.Model{
		Title: title, Nav: nav, CSRF: csrf, User: "reviewer@example.com", Role: "reviewer", Scope: "all sources", Crumbs: crumbs,
	}
}
