package dlq

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"
)

// GroupingKind says what a person did to the grouping.
type GroupingKind string

// The kinds of rule.
const (
	GroupingMerge GroupingKind = "merge" // cohorts became one
	GroupingSplit GroupingKind = "split" // a cohort became several
)

// GroupingState says how far a rule is. New failures follow it from the moment
// it is made; documents that were there before move behind it.
type GroupingState string

// The states of a rule.
const (
	GroupingMoving GroupingState = "moving" // documents are on their way
	GroupingDone   GroupingState = "done"
	GroupingUndone GroupingState = "undone"
)

// GroupingRule is a merge or a split: a row that outranks the algorithm, can be
// undone, and stays on record when it was.
type GroupingRule struct {
	ID       string
	Kind     GroupingKind
	State    GroupingState
	CohortID string   // merge: which stays; split: which was split
	Others   []string // merge: which went into it; split: which came out of it
	By       SplitBy  // of a split
	Values   []SplitValue
	Moved    int64 // documents that a split has moved
	MadeAt   time.Time
	Actor    string
	UndoneAt time.Time
	UndoneBy string
}

// SplitValue is a value of the attribute by which a cohort was split, and the
// cohort that its failures go to.
type SplitValue struct {
	Value    string
	CohortID string
}

// SplitAttribute is what failures of one fingerprint can be told apart by.
type SplitAttribute string

// The attributes.
const (
	SplitTemplate    SplitAttribute = "template"     // of the error message
	SplitFrames      SplitAttribute = "frames"       // those behind the three of the fingerprint
	SplitRule        SplitAttribute = "rule"         // the set of failed validation rules
	SplitContentType SplitAttribute = "content_type" // of the document
	SplitVersion     SplitAttribute = "version"      // of one component
)

// SplitAttributes in the order in which screens offer them.
var SplitAttributes = []SplitAttribute{SplitTemplate, SplitFrames, SplitRule, SplitContentType, SplitVersion}

// Words names the attribute for people.
func (a SplitAttribute) Words() string {
	return map[SplitAttribute]string{SplitTemplate: "message template", SplitFrames: "deeper frames", SplitRule: "failed rules", SplitContentType: "content type", SplitVersion: "version"}[a]
}

// SplitBy is an attribute, and of a version whose.
type SplitBy struct {
	Attribute SplitAttribute
	Component string
}

// ParseSplitBy reads what a form or a program names: an attribute, or
// version:COMPONENT.
func ParseSplitBy(s string) (SplitBy, error) {
	attribute, component, _ := strings.Cut(s, ":")
	by := SplitBy{SplitAttribute(attribute), component}
	switch {
	case !slices.Contains(SplitAttributes, by.Attribute):
		return by, fmt.Errorf("one of template, frames, rule, content_type, version:COMPONENT expected")
	case by.Attribute == SplitVersion && (component == "" || len(component) > 64):
		return by, fmt.Errorf("a component after the colon expected, such as version:parser")
	case by.Attribute != SplitVersion && component != "":
		return by, fmt.Errorf("nothing after %s expected", attribute)
	}
	return by, nil
}

// String is what ParseSplitBy reads.
func (b SplitBy) String() string {
	if b.Attribute == SplitVersion {
		return string(b.Attribute) + ":" + b.Component
	}
	return string(b.Attribute)
}

// Words names it for people.
func (b SplitBy) Words() string {
	if b.Attribute == SplitVersion {
		return "version of the " + b.Component
	}
	return b.Attribute.Words()
}

// longestSplitValue bounds the text of one value, in bytes. A longer one is cut:
// it then stands for all that begin alike.
const longestSplitValue = 1024

// ValueOf is the value that one failure has. It is empty where the failure says
// nothing of the attribute, which is a value like any other.
func (b SplitBy) ValueOf(f Fingerprint, versions Versions, contentType string) string {
	v := ""
	switch b.Attribute {
	case SplitTemplate:
		v = f.Template
	case SplitFrames:
		frames := make([]string, len(f.Deeper))
		for i, frame := range f.Deeper {
			frames[i] = frame.Function + "@" + frame.Unit
		}
		v = strings.Join(frames, " < ")
	case SplitRule:
		v = strings.Join(f.Rules, ", ")
	case SplitContentType:
		v = strings.ToLower(contentType)
	case SplitVersion:
		v = versions[b.Component]
	}
	return CutSplitValue(v)
}

// CutSplitValue is the form in which a value is compared and kept.
func CutSplitValue(v string) string {
	v = strings.ToValidUTF8(strings.ReplaceAll(v, "\x00", "\uFFFD"), "\uFFFD")
	if len(v) > longestSplitValue {
		v = strings.ToValidUTF8(v[:longestSplitValue], "")
	}
	return strings.TrimSpace(v)
}

// SplitHash is by which a value stands in the digest of a derived member.
func SplitHash(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:6])
}

// Derived is the member that a split makes of a fingerprint for one value:
// digest/rule:hash.
func (f Fingerprint) Derived(ruleID string, by SplitBy, value string) Fingerprint {
	f.Digest = f.Digest + "/" + ruleID + ":" + SplitHash(value)
	f.Canonical += "split=" + by.String() + " " + strings.Join(strings.Fields(value), " ") + "\n"
	if by.Attribute == SplitTemplate {
		f.Template = value
	}
	return f
}

// PlainDigest is the digest that the algorithm gave, without what splits made
// of it.
func PlainDigest(digest string) string {
	plain, _, _ := strings.Cut(digest, "/")
	return plain
}

// Bounds on one rule.
const (
	MostSplitValues   = 50
	MostMergedCohorts = 50
)

// SplitRequest asks for a split of a cohort.
type SplitRequest struct {
	CohortID string
	Grouping int64 // as the person saw it; 0 where they do not say
	By       SplitBy
	Values   []string // what goes out; every other value stays
	Together bool     // into one cohort; else into one each
	Reason   string
}

// Check names every fault of a request, by field.
func (r *SplitRequest) Check() error {
	var faults []Fault
	if _, err := ParseSplitBy(r.By.String()); err != nil {
		faults = append(faults, Fault{"/by", err.Error()})
	}
	for i, v := range r.Values {
		r.Values[i] = CutSplitValue(v)
	}
	slices.Sort(r.Values)
	r.Values = slices.Compact(r.Values)
	switch n := len(r.Values); {
	case n == 0:
		faults = append(faults, Fault{"/values", "at least one value expected, which goes into a cohort of its own"})
	case n > MostSplitValues:
		faults = append(faults, Fault{"/values", fmt.Sprintf("at most %d values expected, got %d", MostSplitValues, n)})
	}
	faults = append(faults, reasonFaults(r.Reason)...)
	if len(faults) > 0 {
		return Invalid("the split was not understood", faults...)
	}
	return nil
}

// MergeRequest asks for a merge of cohorts into one.
type MergeRequest struct {
	CohortID string   // which stays
	Others   []string // which go into it: ids, or fingerprints
	Grouping int64    // of the one that stays, as the person saw it; 0 where they do not say
	Reason   string
}

// Check names every fault of a request, by field.
func (r *MergeRequest) Check() error {
	var faults []Fault
	slices.Sort(r.Others)
	r.Others = slices.Compact(r.Others)
	switch n := len(r.Others); {
	case n == 0:
		faults = append(faults, Fault{"/cohorts", "at least one cohort expected"})
	case n > MostMergedCohorts:
		faults = append(faults, Fault{"/cohorts", fmt.Sprintf("at most %d cohorts expected, got %d", MostMergedCohorts, n)})
	}
	faults = append(faults, reasonFaults(r.Reason)...)
	if len(faults) > 0 {
		return Invalid("the merge was not understood", faults...)
	}
	return nil
}

// longestGroupingReason bounds what a person types beside a rule, in bytes.
const longestGroupingReason = 2000

func reasonFaults(reason string) []Fault {
	switch {
	case strings.TrimSpace(reason) == "":
		return []Fault{{"/reason", "a reason expected, in a few words"}}
	case len(reason) > longestGroupingReason:
		return []Fault{{"/reason", fmt.Sprintf("at most %d bytes expected", longestGroupingReason)}}
	}
	return nil
}

// Alike says whether two fingerprints look like one defect to a person: the same
// type and message template, and two of three frames. It is a reason to ask, and
// never one to merge.
func (f Fingerprint) Alike(g Fingerprint) bool {
	if f.Type != g.Type || f.Template != g.Template || f.Type == "" {
		return false
	}
	shared := 0
	for i, frame := range f.Frames {
		if slices.Contains(g.Frames, frame) && !slices.Contains(f.Frames[:i], frame) {
			shared++
		}
	}
	return shared >= 2
}

// RegroupAttempt is one failure whose place in the grouping is asked anew: what
// a fingerprint is made from, and where it stands.
type RegroupAttempt struct {
	ID            int64
	EntryID       int64
	Current       bool     // the evidence of its entry
	FingerprintID int64    // the member that it stands in
	RootID        int64    // the member that the algorithm gave it, splits aside
	Root          string   // that member's fingerprint
	RootCohort    string   // the cohort of that member
	Envelope      Envelope // source, versions, error fields, texts; nothing else
}

// Placed is a failure with the fingerprint that was made of it anew.
type Placed struct {
	RegroupAttempt
	Now Fingerprint
}

// RegroupPlan is what a new version of the fingerprint would do to the grouping:
// it is shown before anything moves, and then followed.
type RegroupPlan struct {
	From, To   string // algorithms
	Documents  int64  // that were looked at
	Unreadable int64  // whose texts are gone: they keep the fingerprint that they have
	Digests    []RegroupDigest
}

// RegroupDigest is one digest of the new algorithm, and where its documents go.
type RegroupDigest struct {
	Fingerprint Fingerprint
	Home        string           // the cohort that most of its documents are in
	Part        bool             // it leaves that cohort, as a part of it that other digests do not share
	Roots       []string         // the old fingerprints, within its home, that it goes on for
	Documents   int64            // at home
	Elsewhere   map[string]int64 // documents in other cohorts: they stay there, because a merge needs a person
}

// Splits counts the cohorts that the plan makes.
func (p RegroupPlan) Splits() int {
	n := 0
	for _, d := range p.Digests {
		if d.Part {
			n++
		}
	}
	return n
}

// Merges counts the digests that are found in several cohorts.
func (p RegroupPlan) Merges() int {
	n := 0
	for _, d := range p.Digests {
		if len(d.Elsewhere) > 0 {
			n++
		}
	}
	return n
}

// RegroupPair is documents that have one old fingerprint and one new digest.
type RegroupPair struct {
	Cohort string // of the old fingerprint as the algorithm gave it; splits are followed afterwards
	Root   string // that fingerprint
	Digest string // of the new algorithm
}

// PlanRegroup decides where new digests go. A digest whose documents are all in
// one cohort joins it. An old fingerprint that becomes several digests keeps the
// largest, and each other one is a part. A digest that is found in several
// cohorts is at home where most of its documents are, and merges nothing.
func PlanRegroup(pairs map[RegroupPair]int64, made map[string]Fingerprint) []RegroupDigest {
	homes := map[string]map[string]int64{} // documents of a digest in a cohort
	for p, n := range pairs {
		if homes[p.Digest] == nil {
			homes[p.Digest] = map[string]int64{}
		}
		homes[p.Digest][p.Cohort] += n
	}
	home := map[string]string{}
	for digest, cohorts := range homes {
		home[digest] = largest(cohorts)
	}
	shares := map[string]map[string]int64{} // of an old fingerprint, the documents of each digest that is at home with it
	roots := map[string][]string{}
	for p, n := range pairs {
		if home[p.Digest] != p.Cohort {
			continue
		}
		if shares[p.Root] == nil {
			shares[p.Root] = map[string]int64{}
		}
		shares[p.Root][p.Digest] += n
		roots[p.Digest] = append(roots[p.Digest], p.Root)
	}
	stays := map[string]bool{}
	for _, digests := range shares {
		stays[largest(digests)] = true
	}
	var out []RegroupDigest
	for digest, cohorts := range homes {
		d := RegroupDigest{Fingerprint: made[digest], Home: home[digest], Part: !stays[digest], Roots: roots[digest], Documents: cohorts[home[digest]], Elsewhere: map[string]int64{}}
		slices.Sort(d.Roots)
		for cohort, n := range cohorts {
			if cohort != d.Home {
				d.Elsewhere[cohort] = n
			}
		}
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b RegroupDigest) int { return strings.Compare(a.Fingerprint.Digest, b.Fingerprint.Digest) })
	return out
}

// largest is the key with the greatest number, and of several the first by name,
// so that two runs decide alike.
func largest(m map[string]int64) string {
	best := ""
	for k, n := range m {
		if best == "" || n > m[best] || n == m[best] && k < best {
			best = k
		}
	}
	return best
}

// Refingerprinting is a move to a new version of the fingerprint that is under
// way: how far it is, how many documents moved, and how many stayed because
// their new digest is in another cohort.
type Refingerprinting struct {
	ID, From, To         string
	After, Moved, Stayed int64
}

// Grouping is how a cohort came to be what it is.
type Grouping struct {
	State     int64  // moves with every merge, split and undo; a decision names the one that it was made in
	Whole     bool   // the asker sees every document in it, and may decide about it
	SplitFrom string // the cohort that it was a part of
	Part      string // which part: the values that came here
	Rules     []GroupingRule
}
