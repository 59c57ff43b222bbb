package components

import (
	"math"
	"strconv"

	"github.com/a-h/templ"
)

func stepClass(s StepState) string {
	return [...]string{"planned", "next", "running", "passed", "failed", "mixed", "cancelled"}[s]
}

func stepWord(s StepState) string {
	return [...]string{"not sent yet", "not sent yet", "in flight", "passed", "failed", "settled, some failed", "cancelled"}[s]
}

// Attributes are what static/live.js looks for.
func (l Live) Attributes() templ.Attributes {
	a := templ.Attributes{"data-regions": l.Regions}
	if l.URL != "" {
		a["data-live"] = l.URL
	}
	return a
}

// percent is an SVG length. Two digits after the point: of 100,000 documents the
// first still moves the edge.
func percent(share float64) string {
	return strconv.FormatFloat(math.Round(100*min(max(share, 0), 100))/100, 'f', -1, 64) + "%"
}

// arc is the dash of a circle whose length is called 100, and nothing behind it.
func arc(share int) string { return strconv.Itoa(share) + " 200" }

// anchor keeps the words at the edge of the forecast inside the band.
func anchor(b Band) string {
	switch {
	case b.Low > 66:
		return "end"
	case b.Low < 34:
		return "start"
	}
	return "middle"
}
