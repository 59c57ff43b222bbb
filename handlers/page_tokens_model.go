package handlers

import (
	"net/url"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/tokens"
	"dlo/web"
)

// scopeHints are what each scope lets a program do.
var scopeHints = map[dlq.Scope]string{
	dlq.ScopeIngest:  "Park and look up",
	dlq.ScopeOutcome: "Report outcomes and deployments",
	dlq.ScopeRead:    "Read everything but the audit trail",
	dlq.ScopeAct:     "Do what a reviewer does",
	dlq.ScopeAdmin:   "The rest: policies, audit, erasure",
}

// tokensFacts is what the page of tokens is made from.
type tokensFacts struct {
	list    []dlq.Token
	csrf    string
	now     time.Time
	created *tokens.Created
	sent    tokenSent
	wrong   error
}

// tokenSent is the form as it was sent.
type tokenSent struct {
	name, source, days string
	scopes             []dlq.Scope
}

func (s tokenSent) has(scope dlq.Scope) bool {
	for _, have := range s.scopes {
		if have == scope {
			return true
		}
	}
	return false
}

// newTokensPage shapes the bearer tokens of programs.
func newTokensPage(f tokensFacts) tokens.Model {
	m := tokens.Model{Tabs: settingsTabs("tokens"), Create: tokenForm(f), Created: f.created}
	for _, t := range f.list {
		m.Rows = append(m.Rows, newTokenRow(t, f))
	}
	if len(f.list) == 0 {
		m.Empty = &components.Empty{Title: "No token yet", Text: "A pipeline signs its calls with one. It is shown once, when it is made."}
	}
	return m
}

func newTokenRow(t dlq.Token, f tokensFacts) tokens.Row {
	row := tokens.Row{Name: web.VisibleText(t.Name), ID: "dlo_" + t.ID[:min(len(t.ID), 6)], Source: "all sources", By: web.VisibleText(t.CreatedBy), Made: moment(t.CreatedAt), Used: moment(t.UsedAt), CSRF: f.csrf}
	for _, s := range t.Scopes {
		row.Scopes = append(row.Scopes, components.Tag{Text: string(s), Title: scopeHints[s]})
	}
	if t.Source != "" {
		row.Source = web.VisibleText(t.Source)
	}
	switch {
	case !t.RevokedAt.IsZero():
		row.State = components.Tag{Text: "revoked", Tone: components.Quiet, Title: dateOf(t.RevokedAt)}
		return row
	case t.ExpiresAt.IsZero():
		row.Ends = components.Tag{Text: "never", Tone: components.Quiet}
	case !t.ExpiresAt.After(f.now):
		row.State = components.Tag{Text: "expired", Tone: components.Quiet, Title: dateOf(t.ExpiresAt)}
		return row
	default:
		row.Ends = components.Tag{Text: until(f.now, t.ExpiresAt), Title: dateOf(t.ExpiresAt)}
		if t.ExpiresAt.Before(f.now.Add(soon)) {
			row.Ends.Tone = components.Deadline
		}
	}
	row.Actions = []components.Action{{Label: "Revoke", Href: "/settings/tokens/" + url.PathEscape(t.ID) + "/revoke", Why: "Whoever uses it is refused from now on"}}
	return row
}

func tokenForm(f tokensFacts) *components.Form {
	faults, problem := faultsOf(f.wrong)
	form := &components.Form{ID: "create", CSRF: f.csrf, Action: "/settings/tokens", Submit: "Make", Tone: components.Primary, Error: problem,
		Inputs: []components.Input{{Name: "name", Label: "Name", Value: f.sent.name, Required: true, Hint: "Who will use it.", Autocomplete: "off", Error: faultAt(faults, "/name")}}}
	for i, s := range dlq.Scopes {
		in := components.Input{Name: "scope_" + string(s), Label: string(s) + ": " + scopeHints[s], Kind: components.InputCheck, Value: "1", On: f.sent.has(s)}
		if i == 0 {
			in.Error = faultAt(faults, "/scopes")
		}
		form.Inputs = append(form.Inputs, in)
	}
	form.Inputs = append(form.Inputs,
		components.Input{Name: "source", Label: "Source", Value: f.sent.source, Hint: "Bound to this one; empty is all.", Autocomplete: "off", Error: faultAt(faults, "/source")},
		components.Input{Name: "days", Label: "Ends after", Kind: components.InputNumber, Value: f.sent.days, Unit: "days", Min: "1", Max: "3650", Hint: "Empty is never.", Error: faultAt(faults, "/days")})
	return form
}

// tokenTry is a command that shows that a token works, for what it may do.
func tokenTry(scopes []dlq.Scope, base string) string {
	has := tokenSent{scopes: scopes}.has
	header := "curl -H \"Authorization: Bearer $DLO_TOKEN\" "
	base = strings.TrimSuffix(base, "/")
	switch {
	case has(dlq.ScopeIngest):
		return header + "--json '{\"source\":\"…\",\"doc_id\":\"…\",\"error_message\":\"…\"}' " + base + "/api/v1/dead-letters"
	case has(dlq.ScopeRead):
		return header + "\"" + base + "/api/v1/cohorts?limit=1\""
	case has(dlq.ScopeOutcome):
		return header + "--json '{\"redrive_id\":\"…\",\"result\":\"committed\"}' " + base + "/api/v1/outcomes"
	case has(dlq.ScopeAdmin):
		return header + "\"" + base + "/api/v1/audit?limit=1\""
	}
	return header + "--json '{\"owner\":\"…\"}' " + base + "/api/v1/dead-letters/…/assign"
}
