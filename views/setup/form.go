package setup

import "dlo/views/components"

func form(m Model) components.Form {
	action := m.Action
	if action == "" {
		action = "/setup"
	}
	f := components.Form{
		ID: "setup", CSRF: m.CSRF, Action: action, Submit: "Make the account", Tone: components.Primary, Error: m.Error,
		Inputs: []components.Input{
			{Name: "email", Label: "E-mail address", Kind: components.InputEmail, Value: m.Email, Error: m.EmailError, Autocomplete: "username", Autofocus: true, Required: true},
			{Name: "password", Label: "Password", Kind: components.InputPassword, Hint: m.PasswordHint, Error: m.PasswordError, Autocomplete: "new-password", Required: true},
		},
	}
	if m.AskCode {
		f.Inputs = append(f.Inputs, components.Input{
			Name: "code", Label: "Set-up code", Hint: "The server printed it when it started.", Error: m.CodeError, Autocomplete: "one-time-code", Required: true,
		})
	}
	return f
}
