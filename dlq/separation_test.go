package dlq

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

var (
	byTemplate = SplitBy{Attribute: SplitTemplate}
	byContent  = SplitBy{Attribute: SplitContentType}
	byMapper   = SplitBy{Attribute: SplitVersion, Component: "mapper"}
)

// told reads failures written as template/content type/mapper, with a + before
// those that passed.
func told(list ...string) []ToldApart {
	var out []ToldApart
	for _, one := range list {
		text, passed := strings.CutPrefix(one, "+")
		parts := strings.Split(text, "/")
		out = append(out, ToldApart{Passed: passed, Values: map[SplitBy]string{byTemplate: parts[0], byContent: parts[1], byMapper: parts[2]}})
	}
	return out
}

func many(n int, one string) []string { return slices.Repeat([]string{one}, n) }

func TestWhatTellsPassedFromFailed(t *testing.T) {
	var noise []string
	for i := range 100 {
		noise = append(noise, fmt.Sprintf("%s%d/%d/m", map[bool]string{true: "+"}[i%2 == 0], i, i/2%3))
	}
	for name, c := range map[string]struct {
		list []string
		want string // "" where nothing does
		out  string
		told string
	}{
		"the template, exactly":                         {list: []string{"+a/pdf/m", "+a/csv/m", "+a/pdf/m", "b/pdf/m", "b/csv/m"}, want: "template", out: "b", told: "5 of 5"},
		"the content type, exactly":                     {list: []string{"+a/pdf/m", "+b/pdf/m", "+a/pdf/m", "a/csv/m", "b/csv/m"}, want: "content_type", out: "csv", told: "5 of 5"},
		"the version of a component":                    {list: []string{"+a/pdf/4", "+b/csv/4", "b/pdf/3", "a/csv/3"}, want: "version:mapper", out: "3", told: "4 of 4"},
		"of two that tell the same, the first":          {list: []string{"+a/pdf/m", "+a/pdf/m", "b/csv/m", "b/csv/m"}, want: "template", out: "b", told: "4 of 4"},
		"the one with fewer values, where both tell it": {list: []string{"+a/pdf/m", "+b/pdf/m", "+c/pdf/m", "d/csv/m", "e/csv/m"}, want: "content_type", out: "csv", told: "5 of 5"},
		"one that tells most of them":                   {list: slices.Concat(many(10, "+a/pdf/m"), many(1, "+b/pdf/m"), many(1, "a/pdf/m"), many(8, "b/pdf/m")), want: "template", out: "b", told: "18 of 20"},
		"of three values, those that pass less":         {list: slices.Concat(many(6, "+a/x/m"), many(5, "b/x/m"), many(4, "c/x/m")), want: "template", out: "b,c", told: "15 of 15"},
		"one that is not said":                          {list: []string{"+a//m", "+a//m", "a/csv/m", "a/csv/m"}, want: "content_type", out: "csv", told: "4 of 4"},
		"one that is different in each tells nothing":   {list: noise},
		"a slight difference is none":                   {list: slices.Concat(many(55, "+a/x/m"), many(45, "a/x/m"), many(45, "+b/x/m"), many(55, "b/x/m"))},
		"all are the same":                              {list: []string{"+a/x/m", "a/x/m"}},
		"all passed":                                    {list: []string{"+a/x/m", "+b/x/m"}},
		"none passed":                                   {list: []string{"a/x/m", "b/x/m"}},
		"nothing was replayed":                          {},
	} {
		t.Run(name, func(t *testing.T) {
			s, found := Separate(told(c.list...), []SplitBy{byTemplate, byContent, byMapper})
			if !found {
				if c.want != "" {
					t.Error("nothing tells them apart")
				}
				return
			}
			if s.By.String() != c.want || strings.Join(s.GoesOut(), ",") != c.out || fmt.Sprintf("%d of %d", s.Right, s.Of) != c.told {
				t.Errorf("%s tells %d of %d apart, and %v goes out: %+v; want %s, %s and %s", s.By, s.Right, s.Of, s.GoesOut(), s.Groups, c.want, c.told, c.out)
			}
		})
	}
}

func TestTheGroupsOfASeparationSayHowManyPassed(t *testing.T) {
	s, _ := Separate(told("+a/x/m", "+a/x/m", "+b/x/m", "b/x/m", "c/x/m", "c/x/m", "c/x/m"), []SplitBy{byTemplate})
	want := []SeparationGroup{{"a", 2, 2, false}, {"b", 1, 2, false}, {"c", 0, 3, true}}
	if !slices.Equal(s.Groups, want) {
		t.Errorf("%+v, want %+v", s.Groups, want)
	}
}

// As in the proof: what is presumed counts only where nothing passed for certain.
func TestPresumedReplaysAreLeftOutWhereSomePassedForCertain(t *testing.T) {
	pass, guess, fail, guessedFail := CountedReplay{AttemptID: 1, Passed: true}, CountedReplay{AttemptID: 2, Passed: true, Presumed: true}, CountedReplay{AttemptID: 3}, CountedReplay{AttemptID: 4, Presumed: true}
	if got := CountingReplays([]CountedReplay{pass, guess, fail, guessedFail}); !slices.Equal(got, []CountedReplay{pass, fail}) {
		t.Errorf("%+v count", got)
	}
	if got := CountingReplays([]CountedReplay{guess, fail, guessedFail}); len(got) != 3 {
		t.Errorf("%+v count where all passes are presumed", got)
	}
}
