package components

import (
	"strconv"
	"strings"
	"testing"
)

func TestEveryToneHasAClass(t *testing.T) {
	seen := map[string]bool{}
	for tone := Plain; tone <= Primary; tone++ {
		if c := tone.Class(); c == "" || seen[c] {
			t.Errorf("tone %d has the class %q", tone, c)
		} else {
			seen[c] = true
		}
	}
	for _, unknown := range []Tone{-1, Primary + 1} {
		if unknown.Class() != "plain" {
			t.Errorf("tone %d = %q, want plain", unknown, unknown.Class())
		}
	}
}

func TestTextKeepsWhatItsChipsStandFor(t *testing.T) {
	if got := (Text{{Text: "a"}, {Text: "U+202E", Chip: true}, {Text: "b"}}).String(); got != "aU+202Eb" {
		t.Errorf("got %q", got)
	}
}

// points reads what an SVG attribute says.
func points(t *testing.T, s string) (xs, ys []float64) {
	t.Helper()
	for _, p := range strings.Fields(s) {
		x, y, ok := strings.Cut(p, ",")
		fx, errX := strconv.ParseFloat(x, 64)
		fy, errY := strconv.ParseFloat(y, 64)
		if !ok || errX != nil || errY != nil {
			t.Fatalf("not a point: %q", p)
		}
		xs, ys = append(xs, fx), append(ys, fy)
	}
	return xs, ys
}

func TestSparklineStaysInItsBoxAndPutsTheHighestOnTop(t *testing.T) {
	for name, values := range map[string][]int{"rising": {0, 5, 10}, "zero": {0, 0, 0}, "flat": {7, 7}, "negative": {-3, 4}, "flood": {1, 1_000_000}} {
		xs, ys := points(t, sparkLine(values, 76, 22))
		if len(xs) != len(values) {
			t.Fatalf("%s: %d points of %d", name, len(xs), len(values))
		}
		for i := range xs {
			if xs[i] < 0 || xs[i] > 76 || ys[i] < 0 || ys[i] > 22 {
				t.Errorf("%s: point %d at %v,%v is outside", name, i, xs[i], ys[i])
			}
		}
		if name == "rising" && !(ys[0] > ys[1] && ys[1] > ys[2]) {
			t.Errorf("rising series does not rise: %v", ys)
		}
	}
}

func TestOneArrivalIsSeenBesideAFlood(t *testing.T) {
	boxes := dayColumns([]int{0, 1, 100_000})
	if len(boxes) != 2 {
		t.Fatalf("%d columns, want 2: a day without arrivals has none", len(boxes))
	}
	if h, err := strconv.ParseFloat(boxes[0].H, 64); err != nil || h < 1.5 {
		t.Errorf("height %s", boxes[0].H)
	}
}

func TestWordsOfAMarkStayOnTheChart(t *testing.T) {
	c := DayChart{Values: make([]int, 90), Marks: []Mark{{At: 2, Text: "early"}, {At: 88, Text: "late"}}}
	marks := dayMarks(c)
	if marks[0].Anchor != "start" || marks[1].Anchor != "end" {
		t.Errorf("anchors %s and %s: words would leave the chart", marks[0].Anchor, marks[1].Anchor)
	}
	if marks[0].TextY == marks[1].TextY {
		t.Error("the words of neighbours stand on one line")
	}
	if dayMarks(DayChart{Marks: []Mark{{At: 0}}}) != nil {
		t.Error("a chart without days has marks")
	}
}

func TestCeilingIsInsideTheChartThoughTheLevelIsFarBelow(t *testing.T) {
	c := LevelChart{Values: []int{10, 20}, Ceiling: 6000, Ticks: []Tick{{Value: 2000}}}
	if y := levelAt(c, c.Ceiling); y < 0 || y > levelBottomY {
		t.Errorf("ceiling at %v", y)
	}
	if levelAt(c, 20) <= levelAt(c, 6000) {
		t.Error("20 is drawn above the ceiling")
	}
	one := LevelChart{Values: []int{5}}
	if xs, _ := points(t, levelLine(one)); len(xs) != 1 {
		t.Error("a single day is not drawn")
	}
}

func TestBarsShareOneScale(t *testing.T) {
	b := Bars{Parts: []string{"new", "old"}, Rows: []BarRow{{Name: "a", Parts: []int{50, 50}}, {Name: "b", Parts: []int{25, 0}}}}
	if got := barParts(b, b.Rows[0]); len(got) != 2 || got[0].W != "500" || got[1].X != "500" {
		t.Errorf("longest row: %+v", got)
	}
	if got := barParts(b, b.Rows[1]); len(got) != 1 || got[0].W != "250" {
		t.Errorf("quarter row: %+v", got)
	}
	if got, want := barWords(b, b.Rows[1]), "b: 25 new, 0 old"; got != want {
		t.Errorf("words %q, want %q", got, want)
	}
}

func TestProgressPartsFollowEachOther(t *testing.T) {
	got := progressParts(Progress{Parts: []ProgressPart{{Share: 200, Tone: Good}, {Share: 0, Tone: Bad}, {Share: 300, Tone: Info}}})
	if len(got) != 2 || got[0].X != "0" || got[1].X != "200" || got[1].W != "300" {
		t.Errorf("%+v", got)
	}
}

func TestAFieldIsReadOutWithItsHintAndItsError(t *testing.T) {
	attrs := described("f", Input{Name: "reason", Hint: "h", Error: "e"})
	if attrs["aria-describedby"] != "f-reason-hint f-reason-error" || attrs["aria-invalid"] != "true" {
		t.Errorf("%v", attrs)
	}
	if attrs := described("f", Input{Name: "reason"}); len(attrs) != 0 {
		t.Errorf("a plain field has %v", attrs)
	}
}

func TestABarSubmitsToWhatCanBeDone(t *testing.T) {
	actions := []Action{{Href: "/no", Disabled: true}, {Href: "/yes"}}
	if got := firstHref(actions); got != "/yes" {
		t.Errorf("got %q", got)
	}
}

func TestAnAddressThatIsEmptyIsNeverAskedAgain(t *testing.T) {
	if Poll("x", "", "2s") != nil || Boost("") != nil {
		t.Error("attributes without an address")
	}
}
