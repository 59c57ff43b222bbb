package dlq

import (
	"strings"
	"unicode/utf8"
)

// UnknownValue is a value of a query that can be read and that nothing ever had.
// It may be a misspelling, or come later: so it is said beside what was found, and
// stops nothing.
type UnknownValue struct {
	Term  Term
	Value string
	Near  string // a known value that looks like it; empty where none does
}

// Text is the term with this value alone, as the query language writes it.
func (u UnknownValue) Text() string {
	text := u.Term.Key + ":" + QuoteValue(u.Value)
	if u.Term.Negated {
		text = "-" + text
	}
	return text
}

// Mended is the text of the query with the near value in the place of the unknown
// one; empty without one, or where the query language cannot write it.
func (u UnknownValue) Mended(q Query) string {
	t := u.Term
	if u.Near == "" || strings.Contains(u.Near, `"`) || t.End > len(q.Text) || t.Start >= t.End {
		return ""
	}
	values := make([]string, len(t.Values))
	for i, v := range t.Values {
		if v == u.Value {
			v = u.Near
		}
		values[i] = QuoteValue(v)
	}
	term := t.Key + ":" + strings.Join(values, ",")
	if t.Negated {
		term = "-" + term
	}
	return q.Text[:t.Start] + term + q.Text[t.End:]
}

// ExcludingTerm is a term without which a query that finds nothing would find
// something.
type ExcludingTerm struct {
	At        int   // its place among the terms
	Documents int64 // how many it would find; -1 where that was not counted
}

// nearestMost is the longest value, in characters, that another is looked for.
const nearestMost = 100

// Nearest finds the known value that one was most likely meant to be: with one
// letter in four wrong at most, left out, too many or changed with the next, and
// three in all. Capitals do not matter. Of several the first; empty without one.
func Nearest(value string, known []string) string {
	asked := []rune(strings.ToLower(value))
	if len(asked) > nearestMost {
		return ""
	}
	best, found := "", min(3, (len(asked)+1)/4)+1
	for _, k := range known {
		if k == value || k == "" || utf8.RuneCountInString(k) > nearestMost+3 {
			continue
		}
		if n := editDistance(asked, []rune(strings.ToLower(k)), found); n < found {
			best, found = k, n
		}
	}
	return best
}

// editDistance counts the letters by which two texts differ; anything from most on
// may be more.
func editDistance(a, b []rune, most int) int {
	if d := len(a) - len(b); d >= most || -d >= most {
		return most
	}
	before, last, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i, x := range a {
		next[0] = i + 1
		least := next[0]
		for j, y := range b {
			cost := 1
			if x == y {
				cost = 0
			}
			n := min(last[j]+cost, last[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && x == b[j-1] && a[i-1] == y {
				n = min(n, before[j-1]+1)
			}
			next[j+1] = n
			least = min(least, n)
		}
		if least >= most {
			return most
		}
		before, last, next = last, next, before
	}
	return last[len(b)]
}
