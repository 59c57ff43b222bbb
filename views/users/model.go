// Package users draws who may sign in, and as what.
package users

import (
	"dlo/views/components"
	"dlo/views/layout"
)

// Model is the page.
type Model struct {
	Layout  layout.Model
	Tabs    []components.Chip
	Rows    []Row
	Invite  *components.Form
	Created *Created
	HasSeen bool // when each signed in last is known
}

// Created is an account that was just made, with its password, shown once.
type Created struct {
	Email    string
	Password components.Code
}

// Row is one account.
type Row struct {
	Email    string
	Self     bool             // the viewer: nobody changes their own role
	Role     *components.Form // a select that posts; nil: RoleText alone
	RoleText string
	Sources  string
	Seen     components.Time     // last signed in
	State    components.Tag      // empty: active
	Actions  []components.Action // posted at once: disable, enable, new password, sign out everywhere
	Why      string              // why something cannot be done: "the last admin"
	CSRF     string
}
