package dlq

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// CountedReplay is one replay of a step of versions that counts for others.
type CountedReplay struct {
	EntryID   int64
	AttemptID int64 // the failure that was replayed
	Passed    bool
	Presumed  bool
}

// CountingReplays leaves out the replays that a proof leaves out: where some
// passed for certain, those that are presumed. A certain failure speaks against
// presumed passes too.
func CountingReplays(list []CountedReplay) []CountedReplay {
	if !slices.ContainsFunc(list, func(r CountedReplay) bool { return r.Passed && !r.Presumed }) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(r CountedReplay) bool { return r.Presumed })
}

// ToldApart is one failure, whether it is past the error now, and what it says of
// each attribute by which failures can be told apart.
type ToldApart struct {
	Passed bool
	Values map[SplitBy]string // an attribute that it does not name has the empty value
}

// Separation is the attribute that tells what passed from what failed best.
type Separation struct {
	By     SplitBy
	Groups []SeparationGroup // the surest to pass first
	// Right of Of are on the side of their group: they passed in a group that
	// passes more often than all do, or failed in one that passes less often.
	Right, Of int64
	Newest    bool  // more were replayed: these are the newest of each side
	Arrived   int64 // failures among them that were no replays, but came under the new code
}

// SeparationGroup is how many with one value passed.
type SeparationGroup struct {
	Value      string
	Passed, Of int64
	GoesOut    bool // it passes less often than all do
}

// GoesOut are the values of the groups that pass less often than all do: what a
// split would take out.
func (s Separation) GoesOut() []string {
	var out []string
	for _, g := range s.Groups {
		if g.GoesOut {
			out = append(out, g.Value)
		}
	}
	return out
}

// separatesLeast is the share of what is not known of a failure's end that an
// attribute must tell, once the part that chance alone would tell is taken off.
const separatesLeast = 0.2

// Separate finds the attribute that tells passed from failed best: by the
// information that it gives of the end of a failure, less what the same values
// would give on average if they were dealt out by lot. Without that, one that is
// different in every failure would always win. False: none tells enough, or all ended alike.
func Separate(list []ToldApart, attributes []SplitBy) (Separation, bool) {
	var passed int64
	for _, one := range list {
		if one.Passed {
			passed++
		}
	}
	all := int64(len(list))
	unknown := entropy(passed, all)
	var best Separation
	least, found := separatesLeast*unknown, false
	for _, by := range attributes {
		groups := groupsBy(list, by)
		if len(groups) < 2 || unknown == 0 {
			continue
		}
		left, byChance := 0.0, 0.0 // of what is not known, with the attribute and with as many values dealt out by lot
		for _, g := range groups {
			left += float64(g.Of) / float64(all) * entropy(g.Passed, g.Of)
			byChance += float64(g.Of) / float64(all) * expectedEntropy(passed, all, g.Of)
		}
		if told := byChance - left; told > least && (!found || told > least+1e-9) {
			best, least, found = Separation{By: by, Groups: groups, Of: all}, told, true
		}
	}
	if !found {
		return Separation{}, false
	}
	for i := range best.Groups {
		g := &best.Groups[i]
		g.GoesOut = g.Passed*all < passed*g.Of
		if g.GoesOut {
			best.Right += g.Of - g.Passed
		} else {
			best.Right += g.Passed
		}
	}
	return best, true
}

func groupsBy(list []ToldApart, by SplitBy) []SeparationGroup {
	index := map[string]*SeparationGroup{}
	for _, one := range list {
		value := one.Values[by]
		g := index[value]
		if g == nil {
			g = &SeparationGroup{Value: value}
			index[value] = g
		}
		g.Of++
		if one.Passed {
			g.Passed++
		}
	}
	var out []SeparationGroup
	for _, g := range index {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b SeparationGroup) int {
		return cmp.Or(cmp.Compare(b.Passed*a.Of, a.Passed*b.Of), cmp.Compare(b.Of, a.Of), strings.Compare(a.Value, b.Value))
	})
	return out
}

// entropy is how much is not known of one of n of which k passed, in bits.
func entropy(k, n int64) float64 {
	if k <= 0 || k >= n {
		return 0
	}
	p := float64(k) / float64(n)
	return -p*math.Log2(p) - (1-p)*math.Log2(1-p)
}

// expectedEntropy is the mean entropy of size failures that are drawn by lot from
// n of which k passed.
func expectedEntropy(k, n, size int64) float64 {
	choose := func(n, k int64) float64 {
		a, _ := math.Lgamma(float64(n + 1))
		b, _ := math.Lgamma(float64(k + 1))
		c, _ := math.Lgamma(float64(n - k + 1))
		return a - b - c
	}
	mean := 0.0
	for drawn := max(0, size-(n-k)); drawn <= min(k, size); drawn++ {
		mean += math.Exp(choose(k, drawn)+choose(n-k, size-drawn)-choose(n, size)) * entropy(drawn, size)
	}
	return mean
}
