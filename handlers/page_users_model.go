package handlers

import (
	"net/url"
	"strings"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/users"
)

// roleHints are what each role is for, in a few words.
var roleHints = map[dlq.Role]string{
	dlq.RoleAnalyst:  "looks, notes, assigns",
	dlq.RoleReviewer: "decides",
	dlq.RoleManager:  "sets policies, pauses",
	dlq.RoleAuditor:  "reads everything, changes nothing",
	dlq.RoleAdmin:    "everything, users and tokens included",
}

// usersFacts is what the page of accounts is made from.
type usersFacts struct {
	people  []dlq.Person
	self    string // the viewer's id
	csrf    string
	created *users.Created
	email   string // of a form that was sent, with what is wrong with it
	role    dlq.Role
	sources string
	wrong   error
}

// settingsTabs lead between the pages of the settings.
func settingsTabs(at string) []components.Chip {
	return []components.Chip{{Text: "Users", Href: "/settings/users", On: at == "users"}, {Text: "Tokens", Href: "/settings/tokens", On: at == "tokens"}}
}

// newUsersPage shapes the accounts.
func newUsersPage(f usersFacts) users.Model {
	m := users.Model{Tabs: settingsTabs("users"), Created: f.created, Invite: inviteForm(f)}
	admins := 0
	for _, p := range f.people {
		if p.Role == dlq.RoleAdmin && !p.Disabled {
			admins++
		}
	}
	for _, p := range f.people {
		m.Rows = append(m.Rows, newUserRow(p, f, admins))
	}
	return m
}

func newUserRow(p dlq.Person, f usersFacts, admins int) users.Row {
	href := "/settings/users/" + url.PathEscape(p.ID)
	row := users.Row{Email: p.Email, Self: p.ID == f.self, RoleText: string(p.Role), Sources: scopeWords(p), CSRF: f.csrf}
	if p.Disabled {
		row.State = components.Tag{Text: "disabled", Tone: components.Quiet}
	}
	newPassword := components.Action{Label: "New password", Href: href + "/password", Why: "Makes one and ends their sessions"}
	switch last := p.Role == dlq.RoleAdmin && !p.Disabled && admins == 1; {
	case row.Self && last:
		row.Why = "The last admin, and you: somebody else must be one first."
		row.Actions = []components.Action{newPassword}
		return row
	case row.Self:
		row.Why = "Nobody changes their own role or disables themselves."
		row.Actions = []components.Action{newPassword}
		return row
	case last:
		row.Why = "The last admin who can sign in cannot be taken away."
		row.Actions = []components.Action{newPassword}
		return row
	}
	row.Role = &components.Form{ID: "role-" + p.ID, CSRF: f.csrf, Action: href, Submit: "Set", Inputs: []components.Input{
		{Name: "role", Label: "Role of " + p.Email, HideLabel: true, Kind: components.InputSelect, Options: shortRoles(p.Role)},
		{Name: "sources", Label: "Sources of " + p.Email, HideLabel: true, Value: strings.Join(p.Sources, ", "), Placeholder: "all sources", Autocomplete: "off"}}}
	if p.Disabled {
		row.Actions = []components.Action{{Label: "Enable", Href: href + "/enable"}}
		return row
	}
	row.Actions = []components.Action{newPassword, {Label: "Sign out everywhere", Href: href + "/signout"}, {Label: "Disable", Href: href + "/disable", Why: "Ends their sessions at once; what they did stays"}}
	return row
}

func roleOptions(on dlq.Role) []components.Option {
	var out []components.Option
	for _, r := range dlq.Roles {
		out = append(out, components.Option{Value: string(r), Label: string(r) + ": " + roleHints[r], On: r == on})
	}
	return out
}

// shortRoles are the roles by name alone, for a row of a table.
func shortRoles(on dlq.Role) []components.Option {
	out := roleOptions(on)
	for i := range out {
		out[i].Label = out[i].Value
	}
	return out
}

func inviteForm(f usersFacts) *components.Form {
	role := f.role
	if role == "" {
		role = dlq.RoleAnalyst
	}
	faults, problem := faultsOf(f.wrong)
	return &components.Form{ID: "invite", CSRF: f.csrf, Action: "/settings/users", Submit: "Add", Tone: components.Primary, Error: problem, Inputs: []components.Input{
		{Name: "email", Label: "E-mail address", Kind: components.InputEmail, Value: f.email, Required: true, Autocomplete: "off", Error: faultAt(faults, "/email")},
		{Name: "role", Label: "Role", Kind: components.InputSelect, Options: roleOptions(role), Error: faultAt(faults, "/role")},
		{Name: "sources", Label: "Sources", Value: f.sources, Hint: "Names with commas between; empty is all.", Autocomplete: "off", Error: faultAt(faults, "/sources")},
	}}
}

// sourceList reads names with commas between.
func sourceList(text string) []string {
	var out []string
	for _, name := range strings.Split(text, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}
