// Package problem draws the page of an error: what happened, what was kept,
// and what to do.
package problem

import (
	"dlo/views/components"
	"dlo/views/layout"
)

// Model is the page.
type Model struct {
	Layout    *layout.Model     // nil: nobody is signed in, or the fault is in what the layout needs
	Status    int               // 403, 404, 409, 410, 413, 429, 500, 503
	Title     string            // empty: Title(Status)
	Sentence  string            // what happened
	Kept      string            // what was kept: "Nothing was sent."; may be empty
	RequestID string            // to quote; may be empty
	Links     []components.Link // what to do; empty: the home page
	Faults    []components.KV
}
