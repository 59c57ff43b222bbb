package handlers

import (
	"strings"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/layout"
	"dlo/web"
)

// standing is what holds for every page, whichever it is.
type standing struct {
	totals     dlq.Totals
	operations int // that have not ended; 0 where they are not counted
	alerts     int64
	pausedBy   string // who paused all redrives; empty while they run
	flashes    []web.Flash
}

// newFrame makes what stands round a page for a person.
func newFrame(p dlq.Person, path string, s standing) layout.Model {
	return layout.Model{
		Nav:     navFor(p, path, s),
		User:    p.Email,
		Role:    string(p.Role),
		Scope:   scopeWords(p),
		Notices: standingNotices(p, s),
		Flashes: flashesFor(s.flashes),
	}
}

func scopeWords(p dlq.Person) string {
	if len(p.Sources) == 0 {
		return "all sources"
	}
	return strings.Join(p.Sources, ", ")
}

// navLine is one line of the rail, with what a person must be allowed to see it.
type navLine struct {
	item layout.NavItem
	may  dlq.Permission
	at   string // the path that it stands for
}

// navFor is the rail: nothing that the person may not open, and a count where
// something waits.
func navFor(p dlq.Person, path string, s standing) []layout.NavItem {
	quarantined, alerts, operations := components.Plain, components.Plain, components.Plain
	if s.totals.Quarantined > 0 {
		quarantined = components.Held
	}
	if s.alerts > 0 {
		alerts = components.Bad
	}
	if s.operations > 0 {
		operations = components.Info
	}
	lines := []navLine{
		{layout.NavItem{Text: "Cohorts", Href: "/cohorts", Icon: "layers", Count: countOrNothing(s.totals.Cohorts), Key: "c", Phone: true}, dlq.MaySee, "/cohorts"},
		{layout.NavItem{Text: "Documents", Href: "/entries", Icon: "file-text", Count: countOrNothing(s.totals.Stuck), Key: "d"}, dlq.MaySee, "/entries"},
		{layout.NavItem{Text: "Operations", Href: "/operations", Icon: "list-checks", Count: countOrNothing(int64(s.operations)), Tone: operations, Key: "o", Phone: true}, dlq.MaySee, "/operations"},
		{layout.NavItem{Text: "Quarantine", Href: "/quarantine", Icon: "octagon-alert", Count: countOrNothing(s.totals.Quarantined), Tone: quarantined, Key: "q", Phone: true, Short: "Decide"}, dlq.MaySee, "/quarantine"},
		{layout.NavItem{Text: "Reports", Href: "/reports", Icon: "chart-column", Key: "r", Group: 1}, dlq.MaySee, "/reports"},
		{layout.NavItem{Text: "Sources", Href: "/sources", Icon: "database", Key: "s", Group: 1}, dlq.MaySee, "/sources"},
		{layout.NavItem{Text: "Alerts", Href: "/alerts", Icon: "bell", Count: countOrNothing(s.alerts), Tone: alerts, Key: "a", Group: 1, Phone: true}, dlq.MaySee, "/alerts"},
		{layout.NavItem{Text: "Audit", Href: "/audit", Icon: "scroll-text", Key: "u", Group: 1}, dlq.MayAudit, "/audit"},
		{layout.NavItem{Text: "Settings", Href: "/settings/users", Icon: "settings", Key: ",", Group: 2}, dlq.MayManageAccess, "/settings"},
	}
	by := p.Actor()
	var nav []layout.NavItem
	for _, l := range lines {
		if !by.May(l.may) {
			continue
		}
		l.item.Current = path == l.at || strings.HasPrefix(path, l.at+"/")
		nav = append(nav, l.item)
	}
	return nav
}

// countOrNothing leaves a zero out: a rail full of zeros says nothing.
func countOrNothing(n int64) string {
	if n == 0 {
		return ""
	}
	return grouped(n)
}

// standingNotices are on every page while they hold.
func standingNotices(p dlq.Person, s standing) []components.Notice {
	if s.pausedBy == "" {
		return nil
	}
	n := components.Notice{Tone: components.Held, Title: "All redrives are paused by " + s.pausedBy + ".",
		Text: "Nothing is sent until they are resumed. Outcomes of what was sent before still count."}
	if mayPauseAll(p.Actor()) {
		n.Do = []components.Action{{Label: "Resume all redrives", Href: "/resume"}}
	}
	return []components.Notice{n}
}

var flashTones = map[string]components.Tone{"good": components.Good, "info": components.Info, "warn": components.Deadline, "bad": components.Bad}

func flashesFor(flashes []web.Flash) []components.Flash {
	var out []components.Flash
	for _, f := range flashes {
		out = append(out, components.Flash{Tone: flashTones[f.Tone], Text: f.Text, Link: components.Link{Text: f.LinkText, Href: f.Link}})
	}
	return out
}
