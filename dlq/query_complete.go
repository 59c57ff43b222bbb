package dlq

import "strings"

// Completing is what somebody is typing at a place of a query: a key, or a value
// of one.
type Completing struct {
	Key        string // whose value it is; "" where a key or free text is being typed
	Part       string // what there is of it before the caret, without quotes
	Start, End int    // what a choice replaces, in bytes of the text
}

// CompleteAt says what is being typed at a place in a query, in bytes. False
// where it is something that there are no choices for, such as a quoted text.
func CompleteAt(text string, caret int) (Completing, bool) {
	caret = min(max(caret, 0), len(text))
	word := queryWord{start: caret, end: caret}
	for _, w := range splitQuery(text) {
		if w.start <= caret && caret <= w.end {
			word = w
		}
	}
	start := word.start
	if start < caret && text[start] == '-' {
		start++
	}
	typed := text[start:caret]
	if strings.HasPrefix(typed, `"`) {
		return Completing{}, false
	}
	colon := strings.IndexByte(typed, ':')
	if colon < 0 {
		end := word.end
		if i := strings.IndexByte(text[caret:word.end], ':'); i >= 0 {
			end = caret + i + 1
		}
		return Completing{Part: typed, Start: start, End: end}, true
	}
	// The last comma before the caret that stands outside quotes begins the value,
	// and the first after it ends it.
	from, quote := start+colon+1, false
	for i := from; i < caret; i++ {
		switch {
		case text[i] == '"':
			quote = !quote
		case text[i] == ',' && !quote:
			from = i + 1
		}
	}
	end := caret
	open := quote
	for end < word.end && (quote || text[end] != ',') {
		if text[end] == '"' {
			quote = !quote
		}
		end++
	}
	if open && word.open { // the quote goes on to the end of the text: what follows stays
		end = caret
	}
	key := FindQueryKey(typed[:colon])
	if key == nil {
		return Completing{}, false
	}
	return Completing{Key: key.Name, Part: strings.ReplaceAll(text[from:caret], `"`, ""), Start: from, End: end}, true
}

// Take puts a choice in the place of what is being typed. It gives the text, and
// where the caret stands then: behind the choice, and behind a blank where the
// text ends there and the term is done.
func (c Completing) Take(text, choice string, done bool) (string, int) {
	before, after := text[:c.Start], text[c.End:]
	if done && after == "" {
		choice += " "
	}
	return before + choice + after, len(before) + len(choice)
}
