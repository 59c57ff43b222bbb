package db

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"dlo/dlq"
)

const (
	// textUnreadMost is how many documents that the index has not read are
	// searched directly. With more, a list would take too long; the screen then
	// says how many documents it does not cover, and whatever acts on a set or
	// hands it out waits.
	textUnreadMost = 1000
	// textRare is how many documents a text may be in so that a list begins with
	// them, and not with the order that it is read in.
	textRare = 5000
	// textDense is how many documents a text is in at least where a page of a
	// list asks the index of each document that it comes to.
	textDense = 100_000
	textRetry = 2 * time.Second
	// textShortest is how many characters a trigram has.
	textShortest = 3
)

// textSought is one thing that is looked for in the text index: in a column, and
// as it was typed.
type textSought struct{ column, value string }

// textFound is where a text is, as of one moment.
type textFound struct {
	match        string  // for the index, where it is in too many documents to name them
	dense        bool    // it is in very many
	entries      []int64 // the documents of the index that have it, where they are few; else those not of it alone
	stale        []int64 // documents of which the index has an older form
	fingerprints []int64 // whose documents all have it
	rare         bool    // entries and fingerprints are few documents
}

// textOf says what a term looks for in the text index: nothing where it is short,
// or of another key.
func textOf(t dlq.Term, value string) (textSought, bool) {
	switch t.Key {
	case "":
		return textSought{"body", fold(value)}, utf8.RuneCountInString(value) >= textShortest
	case "url":
		return textSought{"url", fold(value)}, true
	case "label":
		// Names and values stand between marks, so that a label is found whole.
		switch begin, ok := strings.CutSuffix(value, "*"); {
		case ok:
			return textSought{"label", fieldMark + fieldMark + fold(begin)}, true
		case strings.Contains(value, "="):
			return textSought{"label", fieldMark + fold(value) + fieldMark}, true
		}
		return textSought{"label", fieldMark + fold(value) + "="}, true
	}
	return textSought{}, false
}

// phrase is what is looked for as a quoted text of FTS5, bound to a column. No
// operator of its language can be reached from within the quotes.
func (s textSought) phrase() string {
	return s.column + ` : "` + strings.ReplaceAll(s.value, `"`, `""`) + `"`
}

func (d documentText) has(s textSought) bool {
	return strings.Contains(map[string]string{"body": d.body, "label": d.label, "url": d.url}[s.column], s.value)
}

// findTexts looks up every text that a query names, and says up to which document
// they were looked for.
func (s *Store) findTexts(ctx context.Context, q dlq.Query) (found map[textSought]textFound, searched int64, err error) {
	found = map[textSought]textFound{}
	for _, t := range q.Terms {
		for _, v := range t.Values {
			if sought, ok := textOf(t, v); ok {
				found[sought] = textFound{}
			}
		}
	}
	if len(found) == 0 {
		return nil, 0, nil
	}
	unread, err := s.unread(ctx, textUnreadMost, 0)
	if err != nil {
		return nil, 0, err
	}
	if searched = unread.all; unread.more {
		searched = unread.newest
	}
	for sought := range found {
		if found[sought], err = s.findText(ctx, sought, unread); err != nil {
			return nil, 0, fmt.Errorf("look up a text: %w", err)
		}
	}
	return found, searched, nil
}

func (s *Store) findText(ctx context.Context, sought textSought, unread unreadText) (textFound, error) {
	f := textFound{stale: unread.pending}
	phrase := sought.phrase()
	var err error
	if f.entries, err = ids(ctx, s.reader(), `select rowid from text_entry where text_entry match $1 limit $2`, phrase, textRare+1); err != nil {
		return f, err
	}
	if len(f.entries) > textRare {
		f.match, f.entries = phrase, nil
		var n int64
		if _, err := s.one(ctx, `select count(*) from (select 1 from text_entry where text_entry match $1 limit $2)`, []any{phrase, textDense}, &n); err != nil {
			return f, err
		}
		f.dense = n == textDense
	}
	stale := map[int64]bool{}
	for _, id := range unread.pending {
		stale[id] = true
	}
	f.entries = slices.DeleteFunc(f.entries, func(id int64) bool { return stale[id] })
	for _, d := range unread.documents {
		if d.has(sought) {
			f.entries = append(f.entries, d.id)
		}
	}
	if sought.column != "body" {
		f.rare = f.match == ""
		return f, nil
	}
	if f.fingerprints, err = ids(ctx, s.reader(), `select rowid from text_fingerprint where text_fingerprint match $1`, phrase); err != nil {
		return f, err
	}
	for id, texts := range unread.fingerprints {
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, sought.value) }) {
			f.fingerprints = append(f.fingerprints, id)
		}
	}
	slices.Sort(f.fingerprints)
	f.fingerprints = slices.Compact(f.fingerprints)
	var n sql.NullInt64
	if len(f.fingerprints) > 0 {
		if _, err := s.one(ctx, `select sum(m.entries) from json_each($1) j cross join cell c on c.fingerprint_id = j.value join cell_month m on m.cell_id = c.id`, []any{jsonList(f.fingerprints)}, &n); err != nil {
			return f, err
		}
	}
	f.rare = f.match == "" && n.Int64 <= 4*textRare
	return f, nil
}

// textHolds is the condition that a document has one of the values of a term.
// Short texts are held against the heads of the messages, without the index.
func (f *filter) textHolds(t dlq.Term) string {
	return f.either(t.Values, func(v string) string {
		sought, ok := textOf(t, v)
		if !ok {
			return f.shortText(v)
		}
		found := f.texts[sought]
		condition := "(+e.id in (select value from json_each(" + f.arg(jsonList(found.entries)) + "))"
		if len(found.fingerprints) > 0 {
			condition += " or +e.fingerprint_id in (select value from json_each(" + f.arg(jsonList(found.fingerprints)) + "))"
		}
		if found.match != "" {
			match := f.arg(found.match)
			in := "e.id in (select rowid from text_entry where text_entry match " + match + ")"
			if found.dense && f.page {
				in = "exists (select 1 from text_entry where text_entry match " + match + " and text_entry.rowid = e.id)"
			}
			condition += " or (+" + strings.TrimPrefix(in, "+")
			if len(found.stale) > 0 {
				condition += " and +e.id not in (select value from json_each(" + f.arg(jsonList(found.stale)) + "))"
			}
			condition += ")"
		}
		if t.Key == "" && isDigest(v) {
			condition += " or " + f.digest(v)
		}
		return condition + ")"
	})
}

// shortText is the condition that a text too short for the index is in what a
// list shows of a document.
func (f *filter) shortText(v string) string {
	has := f.like("%" + escapeLike(v) + "%")
	return "(" + has("e.message") + " or " + has("e.doc_id") + " or " + has("e.filename") + " or +e.cell_id in (select id from cell where " + has("error_type") + "))"
}

// textDriver gives the ids of what a term finds, where that is few.
func (f *filter) textDriver(t dlq.Term) (string, bool) {
	if slices.ContainsFunc(t.Values, func(v string) bool { sought, ok := textOf(t, v); return !ok || !f.texts[sought].rare }) {
		return "", false
	}
	var parts []string
	for _, v := range t.Values {
		sought, _ := textOf(t, v)
		found := f.texts[sought]
		parts = append(parts, "select value from json_each("+f.arg(jsonList(found.entries))+")")
		if len(found.fingerprints) > 0 {
			parts = append(parts, "select x.id from json_each("+f.arg(jsonList(found.fingerprints))+") j cross join entry x on x.fingerprint_id = j.value")
		}
		if t.Key == "" && isDigest(v) {
			parts = append(parts, f.digestIDs(v)...)
		}
	}
	return strings.Join(parts, " union "), true
}

func isDigest(v string) bool {
	return len(v) >= 8 && len(v) <= 64 && strings.Trim(v, "0123456789abcdef") == ""
}

// TextIsBehind is the error of whatever needs an exact answer while the text
// index is so far behind that it cannot be given; nil where the query asks for
// no text, or can be answered.
func (s *Store) TextIsBehind(ctx context.Context, q dlq.Query) error {
	if !asksText(q) {
		return nil
	}
	n, _, err := s.TextLag(ctx, textUnreadMost)
	if err != nil {
		return err
	}
	// A move to another fingerprint makes many at once, without a document.
	var prints int64
	if _, err := s.one(ctx, `select count(*) from (select 1 from fingerprint where id > (select at from text_mark where name = 'fingerprint') limit $1)`, []any{textUnreadMost + 1}, &prints); err != nil {
		return fmt.Errorf("read how far the text index is: %w", err)
	}
	if max(n, prints) <= textUnreadMost {
		return nil
	}
	return &dlq.Error{Kind: dlq.KindUnavailable, Message: "the text index is catching up, and an exact answer has to wait for it; try again in a moment, or ask without the words", RetryAfter: textRetry}
}

func asksText(q dlq.Query) bool { return slices.ContainsFunc(q.Terms, isText) }

// isText says whether a term is one that the text index answers.
func isText(t dlq.Term) bool {
	return slices.ContainsFunc(t.Values, func(v string) bool { _, ok := textOf(t, v); return ok })
}
