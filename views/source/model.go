// Package source draws one source: its policy, where redrives go, how its
// outcomes are learnt, what runs there, and what it sent that was refused.
package source

import (
	"dlo/views/components"
	"dlo/views/layout"
)

// Model is the page.
type Model struct {
	Layout   layout.Model
	Name     string
	Facts    []components.Fact
	State    []components.Tag    // paused, circuit open
	Actions  []components.Action // posted at once: pause, resume, open and close the circuit
	Notices  []components.Notice // never reported, no redrive target, unsigned, no probe
	Never    *Never
	Ladder   []Rung
	Policy   []Group
	Register Register
	Rejected Rejected
	Unplaced Unplaced
	Runbook  components.Markdown
	NoBook   string
	EditBook components.Link
	Edit     string // how the policy is changed: `dlo source apply wiki.yaml`
	Export   components.Link
}

// Never is a pipeline that took redrives and never reported.
type Never struct {
	Sentence string              // "12 redrives sent, no outcome. How shall we find out?"
	Choices  []components.Action // the four ways; Current is the one that holds
	CSRF     string
}

// Rung is one step of the ladder.
type Rung struct {
	Name    string // "park", "bytes", "versions", "redrive", "outcomes", "deployments", "census"
	Done    bool
	Says    string // what was seen, or what one would get
	Snippet *components.Code
}

// Group is a part of the policy.
type Group struct {
	Name string
	Rows []components.KV
}

// Rejected is the envelopes that were refused, as they were sent.
type Rejected struct {
	Summary string
	Rows    []Envelope
	More    components.Link
	None    string
}

// Envelope is one of them.
type Envelope struct {
	When   components.Time
	Faults []Fault
	Text   components.Text // what was sent, cut
	Cut    string
}

// Fault is one thing wrong with it.
type Fault struct {
	Pointer components.Text
	Detail  components.Text
}
