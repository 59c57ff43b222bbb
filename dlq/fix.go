package dlq

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of what is declared as a fix.
const (
	MaxFixNote  = 2000 // characters
	MaxFixLink  = 2000 // bytes
	MaxFixes    = 20   // standing ones of a cohort
	fixVersions = 100  // that a redrive's query names one by one
)

// FixDeclaration is what somebody says: this version of a component fixes a
// cohort.
type FixDeclaration struct {
	Component string
	Version   string
	Note      string // typed text; may be empty
	Link      string // of the test or the commit; may be empty
}

// Check names every fault of a declaration.
func (d FixDeclaration) Check() error {
	var faults []Fault
	for _, f := range []struct {
		pointer, text string
		least, most   int
	}{{"/component", d.Component, 1, MaxComponent}, {"/version", d.Version, 1, MaxVersion}, {"/note", d.Note, 0, MaxFixNote}, {"/link", d.Link, 0, MaxFixLink}} {
		switch n := utf8.RuneCountInString(f.text); {
		case n < f.least || n > f.most:
			faults = append(faults, Fault{Pointer: f.pointer, Detail: fmt.Sprintf("%d to %d characters expected", f.least, f.most)})
		case !plain(f.text):
			faults = append(faults, Fault{Pointer: f.pointer, Detail: "text in UTF-8 without NUL expected"})
		case f.pointer == "/link" && n > 0 && !webAddress(f.text):
			faults = append(faults, Fault{Pointer: "/link", Detail: "an address that begins with https:// or http:// expected"})
		}
	}
	if len(faults) > 0 {
		return Invalid("the fix was not declared", faults...)
	}
	return nil
}

// webAddress says whether a text is an address that a page may link to.
func webAddress(s string) bool { return httpURL(s) && !strings.ContainsAny(s, " \t\r\n\"<>") }

// Fix is a version of a component of which somebody said that it fixes a cohort,
// with what is known of it since.
type Fix struct {
	ID          string
	CohortID    string // that it is of now
	DeclaredOn  string // the cohort that it was declared on; another where that one was merged since
	Component   string
	Version     string
	Note        string
	Link        string
	Actor       string
	DeclaredAt  time.Time
	WithdrawnAt time.Time // zero: it stands
	WithdrawnBy string
	Sources     []FixIn // those that documents of the cohort are of, most replaced first; none of one that was withdrawn
}

// FixIn is what a fix means in one source.
type FixIn struct {
	Source   string
	Since    time.Time // the version runs there from this moment on; zero: it does not
	Replaced int64     // stuck, failed under another version of the component
	Unsaid   int64     // stuck, and their failure does not name the component
	Under    int64     // open, failed under the fix itself
	Returned int64     // of these stuck ones: came anew after the fix ran there
	AtLeast  bool      // Returned was not counted to its end
	Versions []string  // that the fix replaces here, by name
}

// FixPart is what a fix says of a document, by the versions that it failed under.
type FixPart string

// The parts.
const (
	FixReplaced FixPart = "replaced" // it failed under another version of the component
	FixUnsaid   FixPart = "unsaid"   // its failure does not name the component
	FixUnder    FixPart = "under"    // it failed under the fix itself
)

// Part says what the fix says of a document that failed under these versions.
// There is no order of versions: every other one is replaced.
func (f Fix) Part(v Versions) FixPart {
	switch version, said := v[f.Component]; {
	case !said:
		return FixUnsaid
	case version == f.Version:
		return FixUnder
	}
	return FixReplaced
}

// FixState is where a fix stands.
type FixState string

// The states of a fix.
const (
	FixDeclared   FixState = "declared"    // it runs nowhere yet
	FixPartlyLive FixState = "partly_live" // it runs in some of the sources that need it
	FixLive       FixState = "live"        // it runs in all of them
	FixFailed     FixState = "failed"      // documents failed under it
	FixWithdrawn  FixState = "withdrawn"
)

// State says where the fix stands. A source needs it while documents of the
// cohort are stuck there; where none are, every source of the cohort counts.
func (f Fix) State() FixState {
	if !f.WithdrawnAt.IsZero() {
		return FixWithdrawn
	}
	need := slices.DeleteFunc(slices.Clone(f.Sources), func(in FixIn) bool { return in.Replaced+in.Unsaid == 0 })
	if len(need) == 0 {
		need = f.Sources
	}
	live := 0
	for _, in := range need {
		if !in.Since.IsZero() {
			live++
		}
	}
	switch {
	case f.Counts().Under > 0:
		return FixFailed
	case live == 0:
		return FixDeclared
	case live < len(need):
		return FixPartlyLive
	}
	return FixLive
}

// Counts sums what the fix means over its sources; Source and Since are empty.
func (f Fix) Counts() FixIn {
	var sum FixIn
	for _, in := range f.Sources {
		sum.Replaced += in.Replaced
		sum.Unsaid += in.Unsaid
		sum.Under += in.Under
		sum.Returned += in.Returned
		sum.AtLeast = sum.AtLeast || in.AtLeast
	}
	return sum
}

// Live gives the sources in which the fix runs.
func (f Fix) Live() []FixIn {
	return slices.DeleteFunc(slices.Clone(f.Sources), func(in FixIn) bool { return in.Since.IsZero() })
}

// FixRedrive is what a fix proposes: to send the documents that failed under
// what it replaces, where it runs.
type FixRedrive struct {
	Documents int64
	Sources   []string
	Query     string // in the query language; empty where that cannot say which
}

// Proposes says what can be tested now. Nothing is proposed of a fix that runs
// nowhere or that was withdrawn. Documents that do not name the component are
// not among them: nobody knows whether the fix is for those.
func (f Fix) Proposes() (FixRedrive, bool) {
	var r FixRedrive
	if !f.WithdrawnAt.IsZero() {
		return r, false
	}
	var in []FixIn
	for _, i := range f.Live() {
		if i.Replaced > 0 {
			r.Documents += i.Replaced
			r.Sources = append(r.Sources, i.Source)
			in = append(in, i)
		}
	}
	slices.Sort(r.Sources)
	r.Query = f.Query(FixReplaced, in...)
	return r, r.Documents > 0
}

// Query says in the query language which documents of some sources a part of the
// fix means; empty where the language cannot say it: a component may have no key,
// and a quote cannot be written in a value.
func (f Fix) Query(part FixPart, in ...FixIn) string {
	var unsaid int64
	var sources, versions []string
	for _, i := range in {
		sources = append(sources, i.Source)
		unsaid += i.Unsaid
		for _, v := range i.Versions {
			if !slices.Contains(versions, v) {
				versions = append(versions, v)
			}
		}
	}
	slices.Sort(sources)
	slices.Sort(versions)
	status, term, values := "status:parked", "-"+f.Component, []string{f.Version}
	switch {
	case part == FixUnder:
		status, term = "status:open", f.Component
	case part == FixUnsaid:
		values = append(values, versions...)
	case unsaid > 0: // "not under the fix" would take along those that do not say
		term, values = f.Component, versions
	}
	if len(in) == 0 || len(values) == 0 || len(values) > fixVersions || !slices.Contains(componentOrder, f.Component) || strings.ContainsRune(strings.Join(append(sources, values...), ""), '"') {
		return ""
	}
	quoted := func(list []string) string {
		out := make([]string, len(list))
		for i, v := range list {
			out[i] = QuoteValue(v)
		}
		return strings.Join(out, ",")
	}
	q := "cohort:" + QuoteValue(f.CohortID) + " " + status + " " + term + ":" + quoted(values) + " source:" + quoted(sources)
	if _, bad := ParseQuery(q); len(bad) > 0 {
		return ""
	}
	return q
}

// FixProposal is a cohort that a deployment may have fixed.
type FixProposal struct {
	Fix     Fix
	Redrive FixRedrive
}
