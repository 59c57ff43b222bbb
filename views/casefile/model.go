// Package casefile draws what happened to one document as a page to print:
// when it was absent, who looked, who decided and why.
package casefile

import (
	"dlo/views/components"
	"dlo/views/layout"
)

// Model is the page.
type Model struct {
	Layout   layout.Model
	Title    string // "Case file: wiki / 1147801144", said in the tab
	Source   string
	DocID    components.Text
	Made     components.Time    // when this page was made
	By       string             // for whom
	Summary  []string           // sentences: absent from … to …, resolved by …
	Facts    []components.KV    // ids, digests, versions
	Episodes []Episode          // oldest first
	Looks    []components.Event // who saw or downloaded the document
	Chain    string             // how the rows can be checked: "rows 13,902 to 14,209 of the audit chain, head a91c04f2"
	Back     components.Link
}

// Episode is the time from parking to leaving.
type Episode struct {
	Title  string // "27 Aug 2026 to now: 94 days absent"
	Facts  []components.KV
	Events []components.Event // attempts, redrives, decisions with their reasons
}
