package handlers

import (
	"net/url"
	"strconv"
	"time"

	"dlo/dlq"
	"dlo/views/cohorts"
	"dlo/views/components"
)

// newSince is the strip that says what came since somebody last looked. Nil:
// nothing did, or they were never here before.
func newSince(s dlq.SinceLook, now time.Time, csrf string) *cohorts.Since {
	if s.Since.IsZero() || s.New+s.Back+s.Alerts == 0 && len(s.Stopped) == 0 {
		return nil
	}
	at := strconv.FormatInt(s.Since.UnixMilli(), 10)
	m := &cohorts.Since{Title: "Since you last looked, " + ago(now, s.Since),
		Seen: components.Action{Label: "Seen", Href: "/cohorts/seen", Why: "What came before now is not told again", Fields: []components.Field{{Name: "until", Value: strconv.FormatInt(now.UnixMilli(), 10)}}}, CSRF: csrf}
	add := func(text, href string) {
		m.Links = append(m.Links, components.Link{Text: text, Href: href})
	}
	if s.New > 0 {
		add(counted(s.New, "new cohort", "new cohorts"), "/cohorts?"+url.Values{"new": {at}}.Encode())
	}
	if s.Back > 0 {
		add(counted(s.Back, "cohort came back", "cohorts came back"), "/cohorts?"+url.Values{"back": {at}}.Encode())
	}
	switch {
	case len(s.Stopped) == 1 && !s.Unlisted:
		add("1 operation "+stoppedWord(s.Stopped), operationHref(s.Stopped[0].ID))
	case len(s.Stopped) > 0:
		more := ""
		if s.Unlisted {
			more = " or more"
		}
		add(grouped(len(s.Stopped))+more+" operations "+stoppedWord(s.Stopped), "/operations?state=open")
	}
	if s.Alerts > 0 {
		add(counted(s.Alerts, "new alert", "new alerts"), "/alerts?"+url.Values{"since": {at}}.Encode())
	}
	return m
}

// stoppedWord is how operations stand: stopped, paused, or some of each.
func stoppedWord(list []dlq.Operation) string {
	stopped, paused := false, false
	for _, o := range list {
		stopped, paused = stopped || o.State == dlq.OperationStopped, paused || o.State == dlq.OperationPaused
	}
	switch {
	case stopped && paused:
		return "stopped or paused"
	case stopped:
		return "stopped"
	}
	return "paused"
}
