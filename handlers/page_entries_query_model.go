package handlers

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/entries"
	"dlo/web"
)

// usualQuery is what the list of documents shows to somebody who asked nothing:
// what is stuck, without what is only in review. It stands in the box, so that
// nobody wonders what is hidden.
const usualQuery = "status:open -reason:low_confidence"

// narrowFields are the fields of the filter form, each a key of the query
// language. The box itself is "q".
var narrowFields = []string{"source", "status", "class", "type", "parser", "age"}

// narrowing says that the filter form was sent, which then has to be put into
// the query.
func narrowing(params url.Values) bool {
	return slices.ContainsFunc(narrowFields, params.Has)
}

// narrowed puts the fields of the filter form into the query beside them. Each
// field stands for the one positive term of its key: a value replaces it, an
// empty one takes it out, and negated terms are left alone.
func narrowed(params url.Values) string {
	text := params.Get("q")
	for _, key := range narrowFields {
		if !params.Has(key) {
			continue
		}
		value := strings.TrimSpace(params.Get(key))
		q, bad := dlq.ParseQuery(text)
		if len(bad) > 0 {
			return text // the page names what is wrong with it, with everything in place
		}
		if value == fieldValue(q, key) {
			continue
		}
		for i := len(q.Terms) - 1; i >= 0; i-- {
			if t := q.Terms[i]; t.Key == key && !t.Negated {
				q, _ = dlq.ParseQuery(q.Without(i))
			}
		}
		text = q.Text
		if value != "" {
			text = strings.TrimSpace(text + " " + fieldTerm(key, value))
		}
	}
	return text
}

// fieldTerm is one field of the form as a term.
func fieldTerm(key, value string) string {
	if key == "age" {
		return "age:>" + strings.TrimLeft(value, "<>=")
	}
	return key + ":" + value
}

// fieldValue is what a field of the form shows of a query, as the query
// language writes it: quoted where it must be, several with commas.
func fieldValue(q dlq.Query, key string) string {
	for _, t := range q.Terms {
		if t.Key == key && !t.Negated {
			return strings.TrimPrefix(quotedList(t.Values), ">")
		}
	}
	return ""
}

func quotedList(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = dlq.QuoteValue(v)
	}
	return strings.Join(quoted, ",")
}

// newFilters are the fields of the filter form, filled from the query.
func newFilters(q dlq.Query, sources []dlq.Source, choices dlq.FilterChoices) []components.Input {
	names := make([]string, len(sources))
	for i, s := range sources {
		names[i] = s.Name()
	}
	statuses := []string{"open"}
	for _, s := range dlq.Statuses {
		statuses = append(statuses, string(s))
	}
	return []components.Input{
		{Name: "q", Label: "Search", Value: q.Text, Placeholder: "free text, or terms such as age:>30d", Autocomplete: "off"},
		choiceOf(q, "source", "Source", names, nil),
		choiceOf(q, "status", "State", statuses, map[string]string{"open": "open: not resolved or erased", "parked": "stuck", "quarantined": "quarantine", "archived": "archive"}),
		choiceOf(q, "class", "Class", choices.Classes, nil),
		choiceOf(q, "type", "Exception", choices.Types, nil),
		choiceOf(q, "parser", "Parser", choices.Parsers, nil),
		choiceOf(q, "age", "Stuck for longer than", []string{"1d", "7d", "30d", "90d"}, map[string]string{"1d": "1 day", "7d": "7 days", "30d": "30 days", "90d": "90 days"}),
	}
}

// choiceOf is one field as a list to choose from. What the query asks for is
// among the choices whatever it is, so that sending the form changes nothing
// by itself.
func choiceOf(q dlq.Query, key, label string, values []string, words map[string]string) components.Input {
	now := fieldValue(q, key)
	in := components.Input{Name: key, Label: label, Kind: components.InputSelect, Options: []components.Option{{Label: "any", On: now == ""}}}
	known := now == ""
	for _, v := range values {
		text := words[v]
		if text == "" {
			text = shownLine(v, 80).String()
		}
		value := dlq.QuoteValue(v)
		known = known || value == now
		in.Options = append(in.Options, components.Option{Value: value, Label: text, On: value == now})
	}
	if !known {
		in.Options = append(in.Options, components.Option{Value: now, Label: shownLine(now, 80).String(), On: true})
	}
	return in
}

// termChips are the terms of a query in words; each leads to the list without it.
func termChips(q dlq.Query, href func(query string) string) []components.Chip {
	var chips []components.Chip
	for i, t := range q.Terms {
		chips = append(chips, components.Chip{Text: termWords(t), Href: href(q.Without(i)), On: true, Drop: true})
	}
	return chips
}

var compareWords = map[string]string{"<": "under", "<=": "at most", ">": "over", ">=": "at least"}

// termWords is a term as people say it: "older than 30 d", "not class: transient".
func termWords(t dlq.Term) string {
	values := make([]string, len(t.Values))
	for i, v := range t.Values {
		values[i] = shownLine(v, 60).String()
		if t.Key == "status" {
			if words := statusWords[dlq.Status(v)]; words != "" {
				values[i] = words
			}
		}
	}
	value := strings.Join(values, " or ")
	words := ""
	switch t.Key {
	case "":
		words = "“" + value + "”"
	case "age":
		words = map[string]string{"<": "stuck for less than ", "<=": "stuck for at most ", ">": "stuck for more than ", ">=": "stuck for at least "}[t.Compare] + spanWords(t.Span)
	case "expires":
		words = map[string]string{"<": "leaves within ", "<=": "leaves within ", ">": "leaves later than in ", ">=": "leaves later than in "}[t.Compare] + spanWords(t.Span)
	case "opened":
		words = "opened " + periodsWords(t.Periods)
	case "seen":
		words = "failed last " + periodsWords(t.Periods)
	case "attempts", "redrives":
		words = t.Key + ": " + strings.TrimSpace(compareWords[t.Compare]+" "+grouped(t.Number))
	default:
		words = t.Key + ": " + value
	}
	if t.Negated {
		return "not " + words
	}
	return words
}

// spanWords is a span of a query in words; unlike an age it is not rounded.
func spanWords(d time.Duration) string {
	if d > 0 && d%(24*time.Hour) == 0 {
		return counted(int64(d/(24*time.Hour)), "day", "days")
	}
	return dlq.Duration(d).String()
}

// newProblemTerm is the first term that was not understood, in its place.
func newProblemTerm(text string, bad []dlq.BadTerm) *entries.Problem {
	b := bad[0]
	p := &entries.Problem{
		Before: web.VisibleText(text[:b.Start]), Term: web.VisibleText(text[b.Start:b.End]), After: web.VisibleText(text[b.End:]),
		Sentence: sentence("This term was not understood. Expected: %s", b.Expected),
	}
	if more := len(bad) - 1; more > 0 {
		p.Sentence += " " + counted(more, "other term was", "other terms were") + " not understood either."
	}
	without := strings.TrimSpace(strings.TrimSpace(text[:b.Start]) + " " + strings.TrimSpace(text[b.End:]))
	p.Try = []components.Link{{Text: "Search without it", Href: entriesHref(without)}}
	if !strings.Contains(b.Term, `"`) && b.Term != "" {
		quoted := strings.TrimSpace(strings.TrimSpace(text[:b.Start]) + ` "` + b.Term + `" ` + strings.TrimSpace(text[b.End:]))
		p.Try = append(p.Try, components.Link{Text: "Search for it as text", Href: entriesHref(quoted)})
	}
	return p
}

// queryHelp is the query language, term by term, as the parser has it.
func queryHelp() []entries.Help {
	help := []entries.Help{{Term: `leases "No /Root object"`, Means: "words and quoted texts, or parts of them, in messages, validation output, traces, exception types, document ids and file names"}}
	for _, key := range dlq.QueryKeys {
		help = append(help, entries.Help{Term: key.Example, Means: key.Means})
	}
	return help
}

// lagWords say how many documents a search for text does not cover.
func lagWords(lag textLag, now time.Time) string {
	if lag.documents == 0 {
		return ""
	}
	n := "More than " + grouped(lagCounted)
	if lag.documents <= lagCounted {
		n = grouped(lag.documents)
	}
	return sentence("%s documents are not in the text index yet; the oldest of them came %s. A search for words may miss them; they are not lost, and every other term covers them.", n, ago(now, lag.since))
}
