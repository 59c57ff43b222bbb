package login

import "dlo/views/components"

// form is the sign-in form. Which of the two was wrong is never said.
func form(m Model) components.Form {
	return components.Form{
		ID: "login", CSRF: m.CSRF, Action: "/login", Submit: "Sign in", Tone: components.Primary, Error: m.Error,
		Fields: []components.Field{{Name: "next", Value: m.Next}},
		Inputs: []components.Input{
			{Name: "email", Label: "E-mail address", Kind: components.InputEmail, Value: m.Email, Autocomplete: "username", Autofocus: m.Email == "", Required: true},
			{Name: "password", Label: "Password", Kind: components.InputPassword, Autocomplete: "current-password", Autofocus: m.Email != "", Required: true},
		},
	}
}
