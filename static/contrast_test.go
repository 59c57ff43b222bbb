package static

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"testing"
)

// colours reads the tokens of app.css: name → the colour in the light theme
// and in the dark one.
func colours(t *testing.T) map[string][2]string {
	t.Helper()
	css, err := FS.ReadFile("app.css")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][2]string{}
	for _, m := range regexp.MustCompile(`--([a-z-]+): light-dark\(#([0-9a-f]{3,6}), #([0-9a-f]{3,6})\)`).FindAllStringSubmatch(string(css), -1) {
		found[m[1]] = [2]string{m[2], m[3]}
	}
	if len(found) < 20 {
		t.Fatalf("only %d colours read", len(found))
	}
	return found
}

// luminance is the relative luminance of WCAG 2.2.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	if len(hex) == 3 {
		hex = fmt.Sprintf("%c%c%c%c%c%c", hex[0], hex[0], hex[1], hex[1], hex[2], hex[2])
	}
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	part := func(v uint64) float64 {
		c := float64(v&255) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*part(n>>16) + 0.7152*part(n>>8) + 0.0722*part(n)
}

func contrast(t *testing.T, a, b string) float64 {
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// WCAG 2.2 asks for 4.5 to 1 between text and ground (1.4.3) and for 3 to 1
// between a control's edge and what is round it (1.4.11).
func TestTextAndEdgesStandOutInBothThemes(t *testing.T) {
	c := colours(t)
	pairs := []struct {
		front, ground string
		least         float64
	}{
		{"on-accent", "accent", 4.5}, {"accent", "accent-soft", 4.5},
		{"bytes", "bytes-soft", 4.5}, {"code", "code-soft", 4.5}, {"surface", "bytes", 4.5}, {"surface", "code", 4.5},
		{"good", "good-soft", 4.5}, {"deadline", "deadline-soft", 4.5}, {"bad", "bad-soft", 4.5}, {"held", "held-soft", 4.5},
		{"edge", "surface", 3}, {"edge", "bg", 3},
	}
	for _, front := range []string{"ink", "muted", "faint", "accent", "bytes", "code", "good", "deadline", "bad", "held"} {
		for _, ground := range []string{"bg", "surface", "sunk"} {
			pairs = append(pairs, struct {
				front, ground string
				least         float64
			}{front, ground, 4.5})
		}
	}
	for _, ground := range []string{"accent-soft", "good-soft", "deadline-soft", "bad-soft", "held-soft", "code-soft"} {
		pairs = append(pairs, struct {
			front, ground string
			least         float64
		}{"muted", ground, 4.5})
	}
	for _, p := range pairs {
		for theme, name := range []string{"light", "dark"} {
			if got := contrast(t, c[p.front][theme], c[p.ground][theme]); got < p.least {
				t.Errorf("%s: %s on %s is %.2f to 1, wants %.1f", name, p.front, p.ground, got, p.least)
			}
		}
	}
}
