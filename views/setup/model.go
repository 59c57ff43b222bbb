// Package setup draws the page on which the first administrator is made.
package setup

import "dlo/views/layout"

// Model is the set-up page. It posts email, password, code and csrf to Action.
type Model struct {
	Bare          layout.BareModel
	CSRF          string
	Action        string // where it posts: the address of the one-use link itself; empty: "/setup"
	Email         string // as it was typed
	EmailError    string
	PasswordError string
	CodeError     string
	AskCode       bool   // the one-time code that the server printed is asked for
	PasswordHint  string // "At least 12 characters."
	Error         string // about the whole form
}
