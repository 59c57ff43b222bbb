package dlq

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Query is what a person or a program asks of the entries: terms that must all
// hold. The text of it stands in the address bar.
type Query struct {
	Text  string // as it was typed
	Terms []Term
}

// Term is one condition. Values are either-or; Negated turns the whole around.
type Term struct {
	Key     string // the name of one of QueryKeys; "" is free text
	Values  []string
	Negated bool
	// Of an age: the comparison and the span; of a count: the comparison and the
	// number.
	Compare string // "", "<", "<=", ">", ">="
	Span    time.Duration
	Number  int64
	Periods []Period // of a date: any of them, one a value
	// Start and End are where the term stands in the text, in bytes.
	Start, End int
}

// BadTerm is a term that was not understood, where it stands and what was
// expected there.
type BadTerm struct {
	Term       string
	Start, End int
	Expected   string
}

// maxQueryValues bounds what one query asks. A store's own limit on the depth of
// a condition lies at a thousand, and would be a fault of ours and not a
// sentence for whoever typed.
const maxQueryValues = 200

// ParseQuery reads a query. It guesses nothing: what it does not understand is
// named in place, and then there is no query.
func ParseQuery(text string) (Query, []BadTerm) {
	q := Query{Text: text}
	var bad []BadTerm
	if len(text) > 4096 {
		return q, []BadTerm{{Term: "", Start: 0, End: len(text), Expected: "at most 4096 bytes"}}
	}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return q, []BadTerm{{Term: "", Start: 0, End: len(text), Expected: "text in UTF-8 without NUL"}}
	}
	values := 0
	for _, w := range splitQuery(text) {
		term, expected := parseTerm(w)
		if expected != "" {
			bad = append(bad, BadTerm{Term: text[w.start:w.end], Start: w.start, End: w.end, Expected: expected})
			continue
		}
		if values += len(term.Values); values > maxQueryValues {
			bad = append(bad, BadTerm{Term: text[w.start:w.end], Start: w.start, End: len(text), Expected: fmt.Sprintf("at most %d words and values", maxQueryValues)})
			break
		}
		q.Terms = append(q.Terms, term)
	}
	if len(bad) > 0 {
		return Query{Text: text}, bad
	}
	return q, nil
}

type queryWord struct {
	text       string // without its quotes
	start, end int
	colon      int // of the first colon outside quotes, in text; -1 without one
	commas     []int
	quoted     bool // it began with a quote
	open       bool // a quote was not closed
}

// splitQuery cuts a text at blanks that stand outside double quotes.
func splitQuery(s string) []queryWord {
	var words []queryWord
	i := 0
	for i < len(s) {
		if isBlank(s[i]) {
			i++
			continue
		}
		w := queryWord{start: i, colon: -1}
		var b strings.Builder
		quote := false
		for i < len(s) && (quote || !isBlank(s[i])) {
			switch c := s[i]; {
			case c == '"':
				quote = !quote
				if b.Len() == 0 || (b.Len() == 1 && b.String() == "-") {
					w.quoted = w.quoted || w.colon < 0
				}
			case c == ':' && !quote && w.colon < 0:
				w.colon = b.Len()
				b.WriteByte(c)
			case c == ',' && !quote:
				w.commas = append(w.commas, b.Len())
				b.WriteByte(c)
			default:
				b.WriteByte(c)
			}
			i++
		}
		w.text, w.end, w.open = b.String(), i, quote
		words = append(words, w)
	}
	return words
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func parseTerm(w queryWord) (Term, string) {
	t := Term{Start: w.start, End: w.end}
	text := w.text
	shift := 0
	if w.open {
		return t, "a closing quote"
	}
	if strings.HasPrefix(text, "-") && len(text) > 1 {
		t.Negated, text, shift = true, text[1:], 1
	}
	if w.colon < 0 || w.quoted {
		if strings.TrimSpace(text) == "" {
			return t, "a word"
		}
		t.Values = []string{text}
		return t, ""
	}
	name, rest := text[:w.colon-shift], text[w.colon-shift+1:]
	key := FindQueryKey(name)
	if key == nil {
		return t, "one of " + strings.Join(queryKeyNames(), ", ") + "; quote a text that has a colon"
	}
	t.Key = key.Name
	if rest == "" {
		return t, expectedOf(*key)
	}
	switch key.Form {
	case FormSpan:
		return t.withSpan(rest)
	case FormCount:
		return t.withCount(rest)
	}
	from := w.colon + 1
	for _, c := range append(w.commas, len(w.text)) {
		if c < from {
			continue
		}
		value := w.text[from:c]
		from = c + 1
		if value == "" {
			return t, expectedOf(*key)
		}
		t.Values = append(t.Values, value)
	}
	for _, v := range t.Values {
		if expected := faultOf(*key, v); expected != "" {
			return t, expected
		}
		if key.Form == FormDate {
			p, expected := parsePeriod(v)
			if expected != "" {
				return t, expected
			}
			t.Periods = append(t.Periods, p)
		}
	}
	return t, ""
}

// expectedOf says what a key wants.
func expectedOf(key QueryKey) string {
	if key.Form == FormChoice {
		return "one of " + strings.Join(key.Choices, ", ")
	}
	return key.Help
}

// faultOf says what a key wants in place of a value; empty where the value will
// do.
func faultOf(key QueryKey, v string) string {
	bad := false
	switch key.Name {
	case "cohort":
		bad = len(v[strings.LastIndexByte(v, ':')+1:]) < 4
	case "sha256":
		bad = len(v) < 8 || len(v) > 64 || strings.Trim(v, "0123456789abcdef") != ""
	case "url":
		bad = utf8.RuneCountInString(v) < 3
	case "operation":
		_, _, ok := OperationValue(v)
		bad = !ok
	case "label":
		bad = strings.HasPrefix(v, "=") || strings.HasPrefix(v, "*")
	}
	switch key.Form {
	case FormChoice:
		bad = !slices.Contains(key.Choices, v)
	case FormVersion:
		bad = strings.HasPrefix(v, "!") && v != VersionNotCurrent
	case FormComponent:
		name, version, ok := strings.Cut(v, "@")
		bad = !ok || name == "" || version == "" || strings.HasPrefix(version, "!") && version != VersionNotCurrent
	}
	if bad {
		return expectedOf(key)
	}
	return ""
}

func splitComparison(s string) (string, string) {
	for _, c := range []string{"<=", ">=", "<", ">"} {
		if strings.HasPrefix(s, c) {
			return c, s[len(c):]
		}
	}
	return "", s
}

func (t Term) withSpan(s string) (Term, string) {
	compare, rest := splitComparison(s)
	if compare == "" {
		return t, "a comparison and a span, such as >30d"
	}
	d, err := ParseDuration(rest)
	if err != nil || d == Forever {
		return t, "a span after the comparison, such as 30d, 12h or 45m"
	}
	t.Compare, t.Span, t.Values = compare, d.Std(), []string{s}
	return t, ""
}

func (t Term) withCount(s string) (Term, string) {
	compare, rest := splitComparison(s)
	n, err := strconv.ParseInt(rest, 10, 64)
	if err != nil || n < 0 {
		return t, "a number, or a comparison and a number, such as >10"
	}
	t.Compare, t.Number, t.Values = compare, n, []string{s}
	return t, ""
}

// QueryError turns bad terms into an error that names each.
func QueryError(bad []BadTerm) error {
	var faults []Fault
	for _, b := range bad {
		faults = append(faults, Fault{Pointer: "/q", Detail: fmt.Sprintf("%q at %d: %s expected", shorten(b.Term, 60), b.Start, b.Expected)})
	}
	return Invalid("the query was not understood", faults...)
}

// Without gives the text of the query without one of its terms.
func (q Query) Without(i int) string {
	t := q.Terms[i]
	return strings.TrimSpace(strings.TrimSpace(q.Text[:t.Start]) + " " + strings.TrimSpace(q.Text[t.End:]))
}

// WithoutTerm asks for what the query does without one of its terms. Its terms
// stand where they stood in the whole text.
func (q Query) WithoutTerm(i int) Query {
	return Query{Text: q.Text, Terms: slices.Delete(slices.Clone(q.Terms), i, i+1)}
}

// Has says whether any term has the key.
func (q Query) Has(key string) bool {
	return slices.ContainsFunc(q.Terms, func(t Term) bool { return t.Key == key })
}

// QuoteValue writes a value so that the query language reads it as one.
func QuoteValue(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n\r,\":") {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, "") + `"`
}
