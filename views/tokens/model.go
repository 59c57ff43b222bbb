// Package tokens draws the bearer tokens of pipelines and programs.
package tokens

import (
	"dlo/views/components"
	"dlo/views/layout"
)

// Model is the page.
type Model struct {
	Layout  layout.Model
	Tabs    []components.Chip
	Rows    []Row
	Empty   *components.Empty
	Create  *components.Form
	Created *Created
}

// Created is a token that was just made. Its secret is shown once.
type Created struct {
	Name   string
	Secret components.Code
	Try    components.Code
}

// Row is one token; the secret is not among what is known of it.
type Row struct {
	Name    string
	ID      string // the public part: "dlo_k3p9"
	Scopes  []components.Tag
	Source  string // "all sources"
	By      string
	Made    components.Time
	Used    components.Time
	Ends    components.Tag
	State   components.Tag      // empty: works
	Actions []components.Action // posted at once: revoke
	CSRF    string
}
