package dlq

import (
	"fmt"
	"math"
	"testing"
)

func TestDocumentsAreCountedAlongTheSequence(t *testing.T) {
	at := func(h int, seq int64) Place { return Place{At: hour(h), Seq: &seq} }
	bars, column, without := AlongSequence([]Place{at(1, 100), at(2, 101), {At: hour(2)}, at(3, 140), at(4, 179)})
	if without != 1 || len(bars) != 40 || bars[0].From != "100" || bars[0].To != "101" || bars[0].Documents != 2 || bars[39].To != "179" || bars[39].Documents != 1 || bars[20].Documents != 1 {
		t.Errorf("%d without, %d bars: %+v", without, len(bars), bars)
	}
	for h, want := range map[int]int{0: 0, 2: 0, 3: 20, 4: 39, 5: -1} {
		if got := column(hour(h)); got != want {
			t.Errorf("hour %d lies in column %d, want %d", h, got, want)
		}
	}
	if bars, _, _ := AlongSequence([]Place{at(1, 7)}); len(bars) != 1 || bars[0] != (StreamBar{"7", "7", 1}) {
		t.Errorf("one document: %+v", bars)
	}
	if bars, _, _ := AlongSequence([]Place{at(1, math.MinInt64), at(2, 0), at(3, math.MaxInt64)}); len(bars) > 40 || bars[0].Documents != 1 || bars[len(bars)-1].Documents != 1 || bars[len(bars)-1].To != fmt.Sprint(int64(math.MaxInt64)) {
		t.Errorf("as wide as can be: %+v", bars)
	}
	if bars, column, without := AlongSequence([]Place{{At: hour(1)}}); len(bars) != 0 || without != 1 || column(hour(0)) != -1 {
		t.Errorf("no places: %+v", bars)
	}
}

func TestDocumentsAreCountedAlongACursorThatNobodyCanRead(t *testing.T) {
	var places []Place
	for i := range 100 {
		places = append(places, Place{At: hour(i), Cursor: fmt.Sprintf("c%02d", 99-i)})
	}
	places = append(places, Place{At: hour(200), Cursor: "c99"}, Place{At: hour(201)})
	bars, column, without := AlongCursor(places)
	if without != 1 || len(bars) != 34 || bars[0].From != "c99" || bars[0].To != "c97" || bars[0].Documents != 4 || bars[33] != (StreamBar{"c00", "c00", 1}) {
		t.Errorf("%d without, %d bars: %+v", without, len(bars), bars)
	}
	if column(hour(99)) != 33 || column(hour(300)) != -1 {
		t.Errorf("%d and %d", column(hour(99)), column(hour(300)))
	}
}
