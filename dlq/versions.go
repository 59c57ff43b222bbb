package dlq

import (
	"encoding/json"
	"slices"
	"sort"
	"strings"
	"time"
)

// Versions says which version of each component handled a document, by
// component name. A component that is not named is not a key.
type Versions map[string]string

func (v Versions) set(component, version string) {
	if component != "" && version != "" {
		v[component] = version
	}
}

// Canonical is the text under which a set of versions is interned: JSON with
// sorted keys. The empty set is "{}".
func (v Versions) Canonical() string {
	if len(v) == 0 {
		return "{}"
	}
	b, err := json.Marshal(map[string]string(v)) // encoding/json sorts map keys
	if err != nil {
		return "{}"
	}
	return string(b)
}

// ParseVersions reads what Canonical wrote. Anything else gives the empty set.
func ParseVersions(canonical string) Versions {
	v := Versions{}
	if json.Unmarshal([]byte(canonical), &v) != nil {
		return Versions{}
	}
	return v
}

// Components lists the named components in the order in which screens show
// them: connector, parser, chunker, embedder, then the others by name.
func (v Versions) Components() []string {
	names := make([]string, 0, len(v))
	for name := range v {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		ri, rj := componentRank(names[i]), componentRank(names[j])
		if ri != rj {
			return ri < rj
		}
		return names[i] < names[j]
	})
	return names
}

var componentOrder = []string{"connector", "parser", "chunker", "embedder"}

func componentRank(name string) int {
	if i := slices.Index(componentOrder, name); i >= 0 {
		return i
	}
	return len(componentOrder)
}

// Running says which versions of each component run now. It is a set, not an
// order: two may run during a rolling deploy, and a rollback is a fix too.
type Running map[string][]string

// Has says whether the version of the component runs now.
func (r Running) Has(component, version string) bool {
	return slices.Contains(r[component], version)
}

// String names what runs now, component by component.
func (r Running) String() string {
	names := make([]string, 0, len(r))
	for name := range r {
		names = append(names, name)
	}
	sort.Strings(names)
	var parts []string
	for _, name := range names {
		parts = append(parts, name+" "+strings.Join(r[name], ", "))
	}
	return strings.Join(parts, " · ")
}

// Deployment is one version of a component that ran in a source from a time on.
type Deployment struct {
	Component string
	Version   string
	StartedAt time.Time
	StoppedAt time.Time // zero: it runs now
	Actor     string
	Again     bool // it had run before: a rollback, or back and forth
	Beside    bool // another version ran on when it began: a rolling deploy
}

// SourceDeployment is a deployment with the source that it was in.
type SourceDeployment struct {
	Deployment
	Source string
}

// Code says whether the code that read a document moved between two attempts.
type Code string

// The three readings of code.
const (
	CodeMoved   Code = "moved"   // at least one component differs
	CodeSame    Code = "same"    // every named component is known and equal
	CodeUnknown Code = "unknown" // nothing is named, or something is not known
)

// CompareCode compares, component by component of those that the failing
// attempt names, the version of the outcome, else the one that is registered
// as running now. One that differs is moved (and named); all known and equal is
// same; else unknown. Where several versions run and the outcome names none,
// the component is moved only if the failing version is not among them, and
// known to be the same only if it alone runs.
func CompareCode(failed, outcome Versions, running Running) (Code, []string) {
	if len(failed) == 0 {
		return CodeUnknown, nil
	}
	var moved []string
	known := true
	for _, component := range failed.Components() {
		was := failed[component]
		if now, ok := outcome[component]; ok {
			if now != was {
				moved = append(moved, component)
			}
			continue
		}
		now := running[component]
		switch {
		case len(now) == 0:
			known = false
		case !slices.Contains(now, was):
			moved = append(moved, component)
		case len(now) > 1:
			known = false
		}
	}
	switch {
	case len(moved) > 0:
		return CodeMoved, moved
	case !known:
		return CodeUnknown, nil
	}
	return CodeSame, nil
}

// TakeOverVersions gives the versions of a failure, component by component of
// those that the failing attempt named: what the outcome says, else the one
// version that is registered as running, else what it was before. What the
// outcome names beyond those is kept.
func TakeOverVersions(outcome Versions, running Running, before Versions) Versions {
	out := Versions{}
	for component, version := range before {
		out[component] = version
		if now := running[component]; len(now) == 1 {
			out[component] = now[0]
		}
	}
	for component, version := range outcome {
		out[component] = version
	}
	return out
}
