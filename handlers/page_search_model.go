package handlers

import (
	"strconv"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/views/search"
)

// maxSearch is the longest text that is completed, in bytes: the longest query.
const maxSearch = 4096

func utf16Units(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}

func utf16Length(s string) int {
	n := 0
	for _, r := range s {
		n += utf16Units(r)
	}
	return n
}

func beginsWith(s, part string) bool {
	return len(part) <= len(s) && strings.EqualFold(s[:len(part)], part)
}

// fixedChoices are the values of a key that do not depend on what there is.
func fixedChoices(at dlq.Completing, now time.Time) []completion {
	var out []completion
	add := func(value, hint string) {
		if beginsWith(value, at.Part) && value != at.Part {
			out = append(out, completion{value, hint})
		}
	}
	key := dlq.FindQueryKey(at.Key)
	if key == nil {
		return nil
	}
	switch key.Form {
	case dlq.FormChoice:
		for _, v := range key.Choices {
			add(v, choiceHints[v])
		}
	case dlq.FormSpan:
		for _, v := range []string{">1d", ">7d", ">30d", ">90d", "<1h", "<1d", "<7d", "<30d"} {
			add(v, "")
		}
	case dlq.FormDate:
		for _, c := range dateChoices(now) {
			add(c.value, c.hint)
		}
	case dlq.FormCount:
		for _, v := range []string{"0", ">0", ">=2", ">10"} {
			add(v, "")
		}
	case dlq.FormVersion:
		add(dlq.VersionNotCurrent, "not running now")
		add(dlq.VersionCurrent, "running now")
	case dlq.FormComponent:
		if component, _, named := strings.Cut(at.Part, "@"); named && component != "" {
			add(component+"@"+dlq.VersionNotCurrent, "not running now")
			add(component+"@"+dlq.VersionCurrent, "running now")
		}
	}
	if key.Name == "owner" {
		add("me", "yours")
		add("nobody", "without an owner")
	}
	return out
}

var choiceHints = map[string]string{
	"parked": "stuck", "open": "every state but resolved and erased", "quarantined": "in quarantine", "archived": "in the archive",
	"deployed": "a fix runs now, and it did not fail under it", "declared": "a fix was declared",
}

// newChoices are the choices with what the box says once each is taken: the keys
// of the language, or values of one.
func newChoices(text string, at dlq.Completing, values []completion) search.Model {
	var m search.Model
	add := func(shown, hint, choice string, done bool) {
		if len(m.Options) == choicesMost {
			return
		}
		query, caret := at.Take(text, choice, done)
		m.Options = append(m.Options, search.Option{Text: shown, Hint: hint, Query: query, Caret: strconv.Itoa(utf16Length(query[:caret]))})
	}
	if at.Key == "" {
		if at.Part == "" {
			return m // nothing was typed that could become a key
		}
		for _, key := range dlq.QueryKeys {
			if beginsWith(key.Name, at.Part) {
				add(key.Name+":", key.Help, key.Name+":", false)
			}
		}
		return m
	}
	for _, v := range values {
		component := at.Key == "version" && strings.HasSuffix(v.value, "@")
		choice := dlq.QuoteValue(v.value)
		if strings.Contains(v.value, `"`) || v.value == at.Part && !component {
			continue // it cannot be written, or stands there already
		}
		add(shownLine(v.value, 100).String(), v.hint, choice, !component)
	}
	return m
}

// newUnknownChoice is what is said where nothing that is known can stand: that the
// value is unknown, and the one that may have been meant, to be taken.
func newUnknownChoice(text string, at dlq.Completing, unknown []dlq.UnknownValue, by dlq.Actor) search.Model {
	if len(unknown) == 0 {
		return search.Model{}
	}
	u := unknown[0]
	m := search.Model{}
	if u.Near != "" {
		m = newChoices(text, at, []completion{{u.Near, "did you mean this?"}})
	}
	m.Note = unknownWords(u, len(by.Sources) > 0) + "."
	return m
}
