package gallery

import (
	"dlo/views/components"
	"dlo/views/layout"
	"dlo/views/login"
	"dlo/views/problem"
	"dlo/views/setup"
	"dlo/views/tokens"
	"dlo/views/users"
)

func accountItems() []Item {
	tabs := []components.Chip{{Text: "Users", Href: "/settings/users", On: true}, {Text: "Tokens", Href: "/settings/tokens"}}
	people := users.Model{
		Layout: frame("Users", "Settings"), Tabs: tabs, HasSeen: true,
		Created: &users.Created{Email: "analyst@example.com", Password: components.Code{ID: "new-password", Label: "The new password", Text: "made-up-password-4711"}},
		Rows: []users.Row{
			{Email: "admin@example.com", Self: true, RoleText: "admin", Sources: "all", Seen: at("2026-11-29T09:00:00Z", "29 Nov 2026 09:00 UTC", "29 Nov 09:00"), Why: "the last admin", CSRF: csrf},
			{Email: "analyst@example.com", Sources: "wiki", CSRF: csrf, Role: &components.Form{ID: "role-2", CSRF: csrf, Action: "/settings/users/2/role", Submit: "Set", Inputs: []components.Input{{Name: "role", Label: "Role of analyst@example.com", HideLabel: true, Kind: components.InputSelect, Options: []components.Option{{Value: "analyst", Label: "analyst", On: true}, {Value: "reviewer", Label: "reviewer"}}}}}, Actions: []components.Action{{Label: "New password", Href: "/settings/users/2/password"}, {Label: "Disable", Href: "/settings/users/2/disable", Tone: components.Bad}}},
		},
		Invite: &components.Form{ID: "invite", CSRF: csrf, Action: "/settings/users", Submit: "Add", Tone: components.Primary, Inputs: []components.Input{{Name: "email", Label: "E-mail address", Kind: components.InputEmail, Required: true}, {Name: "role", Label: "Role", Kind: components.InputSelect, Options: []components.Option{{Value: "analyst", Label: "analyst: looks, notes, assigns", On: true}, {Value: "reviewer", Label: "reviewer: decides"}}}, {Name: "sources", Label: "Sources", Hint: "Names with commas between; empty is all."}}},
	}
	keys := tokens.Model{
		Layout: frame("Tokens", "Settings"), Tabs: []components.Chip{{Text: "Users", Href: "/settings/users"}, {Text: "Tokens", Href: "/settings/tokens", On: true}},
		Created: &tokens.Created{Name: "wiki-worker", Secret: components.Code{ID: "secret", Label: "The token", Text: "dlo_k3p9_made-up"}, Try: components.Code{ID: "try", Label: "A command that uses it", Text: "curl -H \"Authorization: Bearer dlo_k3p9_made-up\" http://127.0.0.1:8080/api/v1/dead-letters"}},
		Rows: []tokens.Row{
			{Name: "wiki-worker", ID: "dlo_k3p9", Scopes: []components.Tag{{Text: "ingest"}, {Text: "outcome"}}, Source: "wiki", By: "admin@example.com", Made: at("2026-11-29T09:00:00Z", "29 Nov 2026 09:00 UTC", "29 Nov 09:00"), Ends: components.Tag{Text: "in 90 d"}, CSRF: csrf, Actions: []components.Action{{Label: "Revoke", Href: "/settings/tokens/k3p9/revoke", Tone: components.Bad}}},
			{Name: "old-worker", ID: "dlo_zz81", Scopes: []components.Tag{{Text: "ingest"}}, Source: "all sources", By: "admin@example.com", Made: at("2026-01-10T09:00:00Z", "10 Jan 2026 09:00 UTC", "10 Jan 09:00"), Used: at("2026-10-10T09:00:00Z", "10 Oct 2026 09:00 UTC", "10 Oct 09:00"), State: components.Tag{Text: "revoked", Tone: components.Bad}, CSRF: csrf},
		},
		Create: &components.Form{ID: "create", CSRF: csrf, Action: "/settings/tokens", Submit: "Make", Tone: components.Primary, Inputs: []components.Input{{Name: "name", Label: "Name", Required: true}, {Name: "ingest", Label: "Park and look up", Kind: components.InputCheck, Value: "1", On: true}, {Name: "outcome", Label: "Report outcomes and deployments", Kind: components.InputCheck, Value: "1"}, {Name: "source", Label: "Source", Hint: "Empty is all."}}},
	}
	signIn := login.Model{Bare: layout.BareModel{Title: "Sign in"}, CSRF: csrf, Next: "/cohorts", Notice: "Your session ended after 30 minutes. Nothing that you sent before is lost.", Demo: []login.Demo{{Role: "analyst", Email: "analyst@example.com", Password: "made-up-1"}, {Role: "reviewer", Email: "reviewer@example.com", Password: "made-up-2"}, {Role: "manager", Email: "manager@example.com", Password: "made-up-3"}}}
	failed := login.Model{Bare: layout.BareModel{Title: "Sign in"}, CSRF: csrf, Email: "reviewer@example.com", Error: "That address and password do not fit together."}
	return []Item{
		page("users", users.Page(people)), page("tokens", tokens.Page(keys)), page("login", login.Page(signIn)), page("login-failed", login.Page(failed)),
		page("setup", setup.Page(setup.Model{Bare: layout.BareModel{Title: "Set up"}, CSRF: csrf, AskCode: true, PasswordHint: "At least 12 characters.", PasswordError: "This password is on the list of common ones."})),
	}
}

func problemItems() []Item {
	in := frame("Not here", "")
	return []Item{
		page("problem-404", problem.Page(problem.Model{Layout: &in, Status: 404, Title: "Not here", Sentence: "There is no document of this id, or it belongs to a source that you may not see."})),
		page("problem-403", problem.Page(problem.Model{Layout: &in, Status: 403, Title: "Not allowed", Sentence: "Analysts cannot change a source's policy.", Kept: "Nothing was changed.", Links: []components.Link{{Text: "Back to the source", Href: "/sources/wiki"}}})),
		page("problem-409", problem.Page(problem.Model{Layout: &in, Status: 409, Title: "It changed since you looked", Sentence: "The document is being redriven, so it cannot be quarantined.", Kept: "Nothing was done.", Links: []components.Link{{Text: "See it as it is", Href: "/entries/01J1"}}})),
		page("problem-503", problem.Page(problem.Model{Status: 503, Title: "The database is read-only", Sentence: "The disk is full. Documents can be read but nothing can be changed.", Kept: "Pipelines keep what they park and send it later.", RequestID: "01KREQ", Links: []components.Link{{Text: "Try again", Href: "/cohorts"}}})),
		page("problem-500", problem.Page(problem.Model{Status: 500, Title: "Something broke here", Sentence: "The page could not be made. Nothing was changed.", RequestID: "01KREQ"})),
		part("problem-toast", problem.Toast(problem.Model{Status: 409, Title: "It changed since you looked", Sentence: "The document is being redriven."})),
	}
}
