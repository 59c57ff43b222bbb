package components

import (
	"fmt"
	"strconv"
	"strings"
)

// itoa and px write numbers for attributes; px keeps one decimal, which is
// finer than any screen and keeps pages small.
func itoa(n int) string { return strconv.Itoa(n) }

func px(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

// highest is the greatest value, at least 1, so that it can be divided by.
func highest(values []int) int {
	top := 1
	for _, v := range values {
		top = max(top, v)
	}
	return top
}

// sparkLine scales a series into a box with two pixels of air above and below.
func sparkLine(values []int, w, h float64) string {
	var b strings.Builder
	top := float64(highest(values))
	for i, v := range values {
		if i > 0 {
			b.WriteByte(' ')
		}
		x := 1 + (w-2)*float64(i)/float64(len(values)-1)
		y := h - 2 - (h-4)*float64(max(v, 0))/top
		b.WriteString(px(x) + "," + px(y))
	}
	return b.String()
}

func sparkArea(values []int, w, h float64) string {
	return px(1) + "," + px(h) + " " + sparkLine(values, w, h) + " " + px(w-1) + "," + px(h)
}

// box is a rectangle as attributes.
type box struct{ X, Y, W, H, Class string }

const (
	dayLeft, dayRight = 34.0, 556.0
	dayTop, dayBottom = 30.0, 132.0
)

func dayColumns(values []int) []box {
	if len(values) == 0 {
		return nil
	}
	step := (dayRight - dayLeft) / float64(len(values))
	top := float64(highest(values))
	boxes := make([]box, 0, len(values))
	for i, v := range values {
		if v <= 0 {
			continue
		}
		h := max((dayBottom-dayTop)*float64(v)/top, 1.5) // one arrival is still seen beside a flood
		boxes = append(boxes, box{X: px(dayLeft + step*float64(i) + step*0.1), Y: px(dayBottom - h), W: px(step * 0.8), H: px(h)})
	}
	return boxes
}

// markBox is a mark with the place of its words.
type markBox struct{ X, TextX, TextY, Anchor, Text string }

// dayMarks sets the words of marks on the side where there is room, and those
// of neighbours on different lines.
func dayMarks(c DayChart) []markBox {
	if len(c.Values) == 0 {
		return nil
	}
	step := (dayRight - dayLeft) / float64(len(c.Values))
	marks := make([]markBox, 0, len(c.Marks))
	for i, m := range c.Marks {
		x := dayLeft + step*float64(m.At)
		b := markBox{X: px(x), TextX: px(x + 5), TextY: itoa(10 + 12*(i%2)), Anchor: "start", Text: m.Text}
		if x > (dayLeft+dayRight)/2 {
			b.TextX, b.Anchor = px(x-5), "end"
		}
		marks = append(marks, b)
	}
	return marks
}

const (
	levelLeft, levelRight      = 50.0, 850.0
	levelTopEdge, levelBottomY = 24.0, 206.0
)

func levelTop(c LevelChart) float64 {
	top := max(highest(c.Values), c.Ceiling)
	for _, t := range c.Ticks {
		top = max(top, t.Value)
	}
	return float64(top)
}

func levelAt(c LevelChart, v int) float64 {
	return levelBottomY - (levelBottomY-levelTopEdge)*float64(v)/levelTop(c)
}

func levelY(c LevelChart, v int) string     { return px(levelAt(c, v)) }
func levelTextY(c LevelChart, v int) string { return px(levelAt(c, v) + 4) }
func levelAbove(c LevelChart, v int) string { return px(levelAt(c, v) - 6) }

func levelLine(c LevelChart) string {
	points := make([]string, len(c.Values))
	for i, v := range c.Values {
		x := levelLeft
		if len(c.Values) > 1 {
			x += (levelRight - levelLeft) * float64(i) / float64(len(c.Values)-1)
		}
		points[i] = px(x) + "," + levelY(c, v)
	}
	return strings.Join(points, " ")
}

func levelArea(c LevelChart) string {
	return px(levelLeft) + "," + px(levelBottomY) + " " + levelLine(c) + " " + px(levelRight) + "," + px(levelBottomY)
}

// shade gives the class of one part of a stacked bar: five steps from faint to
// full, spread over however many parts there are.
func shade(i, of int) string {
	if of < 2 {
		return "shade5"
	}
	return "shade" + itoa(1+i*4/(of-1))
}

func barParts(b Bars, r BarRow) []box {
	top := 1
	for _, row := range b.Rows {
		top = max(top, sum(row.Parts))
	}
	var boxes []box
	x := 0.0
	for i, n := range r.Parts {
		w := 1000 * float64(n) / float64(top)
		if n > 0 {
			boxes = append(boxes, box{X: px(x), W: px(w), Class: shade(i, len(b.Parts))})
		}
		x += w
	}
	return boxes
}

// barWords reads a bar out: "wiki: 12 to 1 d, 40 to 7 d".
func barWords(b Bars, r BarRow) string {
	words := make([]string, 0, len(r.Parts))
	for i, n := range r.Parts {
		if i < len(b.Parts) {
			words = append(words, fmt.Sprintf("%d %s", n, b.Parts[i]))
		}
	}
	return r.Name + ": " + strings.Join(words, ", ")
}

func sum(values []int) int {
	total := 0
	for _, v := range values {
		total += v
	}
	return total
}

func progressParts(p Progress) []box {
	boxes := make([]box, 0, len(p.Parts))
	x := 0
	for _, part := range p.Parts {
		if part.Share > 0 && !part.Rest {
			boxes = append(boxes, box{X: itoa(x), W: itoa(part.Share), Class: part.Tone.Class()})
		}
		x += part.Share
	}
	return boxes
}
