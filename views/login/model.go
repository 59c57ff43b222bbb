// Package login draws the page that signs somebody in.
package login

import "dlo/views/layout"

// Model is the login page. It posts email, password, next and csrf to /login.
type Model struct {
	Bare   layout.BareModel
	CSRF   string
	Next   string // where to go afterwards, already judged safe; may be empty
	Email  string // as it was typed
	Error  string // "That address and password do not fit together."; may be empty
	Notice string // why one is here: "Your session ended after 30 minutes."; may be empty
	Demo   []Demo // the demo's accounts, shown by `dlo demo` alone
}

// Demo is one account of the demo.
type Demo struct {
	Role     string
	Email    string
	Password string
}
