package dlq

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// VersionStep is what moved between a failure and its replay: the step that a
// proof is about. Its zero value says that nothing moved.
type VersionStep struct {
	Moved []ComponentMove `json:"moved,omitempty"` // in the order in which screens show components
	// Unreported are the versions that the failure names where nobody knows which
	// ones replayed it.
	Unreported Versions `json:"unreported,omitempty"`
	// Unnamed: the failure names no version, so that nothing can be compared.
	Unnamed bool `json:"unnamed,omitempty"`

	key string // as it was read, so that it need not be written again
}

// ComponentMove is one component of a step: the version that the failure names,
// and what it was replayed under; several during a rolling deploy.
type ComponentMove struct {
	Component string   `json:"component"`
	From      string   `json:"from"`
	To        []string `json:"to"`
}

// StepBetween says what moved, by the rule of CompareCode: component by component
// the version of the outcome, else what runs.
func StepBetween(failed, outcome Versions, running Running) VersionStep {
	code, moved := CompareCode(failed, outcome, running)
	switch {
	case len(failed) == 0:
		return VersionStep{Unnamed: true}
	case code == CodeUnknown:
		return VersionStep{Unreported: failed}
	case code == CodeSame:
		return VersionStep{}
	}
	var step VersionStep
	for _, component := range moved {
		to := slices.Sorted(slices.Values(running[component]))
		if now, ok := outcome[component]; ok {
			to = []string{now}
		}
		step.Moved = append(step.Moved, ComponentMove{component, failed[component], to})
	}
	return step
}

// Key is the text under which a step is interned: JSON in one spelling. Of a step
// in which nothing moved it is empty.
func (s VersionStep) Key() string {
	if s.key != "" || s.None() {
		return s.key
	}
	b, err := json.Marshal(s)
	if err != nil {
		return ""
	}
	return string(b)
}

// ParseVersionStep reads what Key wrote. Anything else is a step in which nothing
// moved.
func ParseVersionStep(key string) VersionStep {
	var s VersionStep
	if json.Unmarshal([]byte(key), &s) != nil {
		return VersionStep{}
	}
	s.key = key
	return s
}

// None says that nothing moved.
func (s VersionStep) None() bool { return len(s.Moved) == 0 && s.Unreported == nil && !s.Unnamed }

// Known says that it is known what moved.
func (s VersionStep) Known() bool { return len(s.Moved) > 0 }

// Covers says whether a replay now of a failure under these versions would be the
// same step: from the same versions to what replayed it then. A component of which
// nobody reports what runs is taken to be what the replays named.
func (s VersionStep) Covers(failed Versions, running Running) bool {
	if !s.Known() {
		now := StepBetween(failed, nil, running)
		return !now.Known() && s.Unnamed == now.Unnamed && s.None() == now.None() && maps.Equal(s.Unreported, now.Unreported)
	}
	from, known := s.from(failed)
	if !from {
		return false
	}
	for component, version := range failed {
		now := running[component]
		to, moves := known[component]
		switch {
		case len(now) == 0:
		case moves && !slices.Equal(slices.Sorted(slices.Values(now)), to) && !(len(to) == 1 && slices.Contains(now, to[0])):
			return false
		case !moves && !slices.Contains(now, version):
			return false
		}
	}
	return true
}

// LapsedFor says whether the step began where these versions are, and led to
// something that does not run any more: its component was deployed anew.
func (s VersionStep) LapsedFor(failed Versions, running Running) bool {
	from, to := s.from(failed)
	if !from || !s.Known() || s.Covers(failed, running) {
		return false
	}
	for component, versions := range to {
		now := running[component]
		if len(now) > 0 && !slices.ContainsFunc(versions, func(v string) bool { return slices.Contains(now, v) }) {
			return true
		}
	}
	return false
}

func (s VersionStep) from(failed Versions) (bool, map[string][]string) {
	to := map[string][]string{}
	for _, m := range s.Moved {
		if failed[m.Component] != m.From {
			return false, nil
		}
		to[m.Component] = m.To
	}
	return true, to
}

// Under says whether versions are those that the step led to: in one component of
// it at least, and in none anything else.
func (s VersionStep) Under(v Versions) bool {
	under := false
	for _, m := range s.Moved {
		version, named := v[m.Component]
		if !named {
			continue
		}
		if !slices.Contains(m.To, version) {
			return false
		}
		under = true
	}
	return under
}

// To names what the step led to: "parser 20251230", or "parser 20251230 and
// mapper 4". Empty where nobody knows.
func (s VersionStep) To() string {
	parts := make([]string, len(s.Moved))
	for i, m := range s.Moved {
		parts[i] = m.Component + " " + strings.Join(m.To, " or ")
	}
	return joinAnd(parts)
}

func joinAnd(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}
