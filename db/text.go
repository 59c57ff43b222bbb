package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dlo/dlq"
)

// The text index is fed outside the acknowledgement's path. Its high-water mark
// is the id of the newest document that it has read; documents whose evidence
// was replaced since stand in text_pending. What it has not read is searched
// directly, by the same words and the same rule, so that a result does not
// depend on how far the index has come.

// What is looked at of a document's texts, in bytes. A message or a validation
// output that is longer is found by its beginning; of a trace its beginning and
// its end are looked at, because its raise point stands at either.
const (
	textMessage    = 4 << 10
	textValidation = 16 << 10
	textTraceEnd   = 8 << 10
	textLabels     = 8 << 10
	exemplarsMost  = 5
	// What the writer takes of texts at once: some 30 ms of trigrams.
	textSliceBytes = 256 << 10
)

// fieldMark stands between the parts of a column, and in no part: what is looked
// for never reaches from one into the next.
const fieldMark = "\x1e"

// fold makes texts comparable: letters that differ in case alone become one, and
// what is not text becomes the sign for it. It changes no number of characters.
// A letter of ASCII is one with its capital alone, and not with the signs that
// Unicode counts as cases of it (of k the Kelvin sign, of s the long s): so LIKE
// answers as fold does wherever what is looked for is ASCII.
func fold(s string) string {
	if isPlain(s) {
		return strings.ToLower(s)
	}
	return strings.Map(func(r rune) rune {
		if r == 0 || r == rune(fieldMark[0]) || r == utf8.RuneError {
			return utf8.RuneError
		}
		if r < utf8.RuneSelf {
			if 'A' <= r && r <= 'Z' {
				r += 'a' - 'A'
			}
			return r
		}
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			if next >= utf8.RuneSelf {
				least = min(least, next)
			}
		}
		return least
	}, s)
}

// isPlain says that a text is ASCII, without what fold puts a sign in the place
// of.
func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf || s[i] == 0 || s[i] == fieldMark[0] {
			return false
		}
	}
	return true
}

// beginning gives at most so many bytes of a text, without half a character.
func beginning(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// bothEnds is a trace as far as it is looked at.
func bothEnds(s string) string {
	if len(s) <= 2*textTraceEnd {
		return s
	}
	from := len(s) - textTraceEnd
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return beginning(s, textTraceEnd) + fieldMark + s[from:]
}

// documentText is what can be looked for in a document, folded.
type documentText struct {
	id, fingerprint, evidence int64
	version                   int64 // of its row: with another, its texts may be others
	body, label, url          string
	trace                     string // of its evidence: it may become one of its fingerprint's
}

func bodyOf(message, validation, docID, filename, errorType string) string {
	parts := []string{fold(beginning(message, textMessage)), fold(beginning(validation, textValidation)), fold(docID), fold(filename), fold(errorType)}
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	return strings.Join(parts, fieldMark)
}

// labelsOf sets two marks before each label: with its first letter they are a
// trigram, so that one letter of a name can be looked for.
func labelsOf(labels map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if b.Len() == 0 {
			b.WriteString(fieldMark + fieldMark)
		}
		one := fold(name) + "=" + fold(labels[name]) + fieldMark + fieldMark
		if b.Len()+len(one) > textLabels {
			break
		}
		b.WriteString(one)
	}
	return b.String()
}

func traceOf(trace string) string {
	parts := strings.Split(bothEnds(trace), fieldMark)
	for i := range parts {
		parts[i] = fold(parts[i])
	}
	return strings.Join(parts, fieldMark)
}

// documentTexts reads the texts of documents as they stand now.
func (s *Store) documentTexts(ctx context.Context, r reader, ids []int64) ([]documentText, error) {
	var out []documentText
	err := each(ctx, r, `select e.id, e.fingerprint_id, e.evidence_id, e.version, e.doc_id, e.filename, e.message, c.error_type, coalesce(a.source_url, ''), a.detail
		from json_each($1) j cross join entry e on e.id = j.value join cell c on c.id = e.cell_id left join attempt a on a.id = e.evidence_id order by e.id`,
		[]any{jsonList(ids)}, func(rows *sql.Rows) error {
			var d documentText
			var docID, filename, message, errorType, url string
			var packed []byte
			if err := rows.Scan(&d.id, &d.fingerprint, &d.evidence, &d.version, &docID, &filename, &message, &errorType, &url, &packed); err != nil {
				return err
			}
			var detail dlq.AttemptDetail
			if err := s.codec.unpackJSON(packed, &detail); err != nil {
				return fmt.Errorf("read the texts of an attempt: %w", err)
			}
			if detail.Message == "" {
				detail.Message = message
			}
			d.body, d.label, d.url = bodyOf(detail.Message, detail.Validation, docID, filename, errorType), labelsOf(detail.Labels), fold(url)
			d.trace = detail.Trace
			out = append(out, d)
			return nil
		})
	return out, err
}

func jsonList(ids []int64) string {
	b, err := json.Marshal(ids)
	if err != nil || ids == nil {
		return "[]"
	}
	return string(b)
}

func jsonTexts(texts []string) string {
	b, err := json.Marshal(texts)
	if err != nil || texts == nil {
		return "[]"
	}
	return string(b)
}

// unreadText is what the index has not read, as of one moment: documents with
// their texts, and the traces that will stand for their fingerprints.
type unreadText struct {
	pending      []int64 // of the documents, those that the index has read in an older form
	documents    []documentText
	fingerprints map[int64][]string // texts that a fingerprint will gain, by its id
	exemplars    []exemplar         // that will be added
	newest       int64              // the newest document of those after the mark
	newestPrint  int64
	all          int64 // the newest document that there was
	forgotten    int64 // how often a text had been forgotten
	more         bool  // there is more than was asked for
}

type exemplar struct {
	fingerprint, entry, attempt int64
	trace                       string
}

// unread reads at most so many documents that the index has not read: those
// whose evidence was replaced, then new ones in the order of their arrival.
func (s *Store) unread(ctx context.Context, limit, budget int) (unreadText, error) {
	u := unreadText{fingerprints: map[int64][]string{}}
	tx, err := s.read.BeginTx(ctx, nil)
	if err != nil {
		return u, fmt.Errorf("read what the text index has not read: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // it only read
	if err := s.readUnread(ctx, snapshot{tx}, limit, budget, &u); err != nil {
		return u, fmt.Errorf("read what the text index has not read: %w", err)
	}
	return u, nil
}

// snapshot reads at one moment.
type snapshot struct{ tx *sql.Tx }

func (t snapshot) rows(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return t.tx.QueryContext(ctx, query, args...)
}

func ids(ctx context.Context, r reader, query string, args ...any) ([]int64, error) {
	var out []int64
	err := each(ctx, r, query, args, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		out = append(out, id)
		return err
	})
	return out, err
}

func (s *Store) readUnread(ctx context.Context, r reader, limit, budget int, u *unreadText) error {
	var mark, printMark int64
	if _, err := one(ctx, r, `select (select at from text_mark where name = 'entry'), (select at from text_mark where name = 'fingerprint'), (select coalesce(max(id), 0) from entry)`, nil, &mark, &printMark, &u.all); err != nil {
		return err
	}
	var err error
	if u.forgotten, err = timesForgotten(ctx, r); err != nil {
		return err
	}
	if u.pending, err = ids(ctx, r, `select entry_id from text_pending order by entry_id limit $1`, limit+1); err != nil {
		return err
	}
	fresh, err := ids(ctx, r, `select id from entry where id > $1 order by id limit $2`, mark, limit+1)
	if err != nil {
		return err
	}
	if len(u.pending) > limit {
		u.pending, u.more = u.pending[:limit], true
	}
	fresh = slices.DeleteFunc(fresh, func(id int64) bool { return slices.Contains(u.pending, id) })
	if room := limit - len(u.pending); len(fresh) > room {
		fresh, u.more = fresh[:room], true
	}
	u.newest = mark
	if len(fresh) > 0 {
		u.newest = fresh[len(fresh)-1]
	}
	documents, err := s.documentTexts(ctx, r, slices.Concat(u.pending, fresh))
	if err != nil {
		return err
	}
	// Pending ones first: the order decides whose traces are kept.
	u.documents = slices.Concat(
		slices.DeleteFunc(slices.Clone(documents), func(d documentText) bool { return !slices.Contains(u.pending, d.id) }),
		slices.DeleteFunc(slices.Clone(documents), func(d documentText) bool { return slices.Contains(u.pending, d.id) }))
	if budget > 0 {
		u.cutTo(budget, mark)
	}
	if err := readNewFingerprints(ctx, r, printMark, limit, u); err != nil {
		return err
	}
	return chooseExemplars(ctx, r, u)
}

// cutTo leaves out the last documents of what was read, so that what is written
// of the others is some bytes at most, or one document.
func (u *unreadText) cutTo(budget int, mark int64) {
	for i, d := range u.documents {
		budget -= len(d.body) + len(d.label) + len(d.url) + min(len(d.trace), 2*textTraceEnd)
		if budget >= 0 || i == 0 {
			continue
		}
		u.documents, u.more, u.newest = u.documents[:i], true, mark
		u.pending = u.pending[:min(i, len(u.pending))]
		if i > len(u.pending) {
			u.newest = u.documents[i-1].id
		}
		return
	}
}

// readNewFingerprints reads the template and frames of fingerprints that the
// index does not know.
func readNewFingerprints(ctx context.Context, r reader, mark int64, limit int, u *unreadText) error {
	u.newestPrint = mark
	n := 0
	return each(ctx, r, `select id, error_type, root_type, template, frames from fingerprint where id > $1 order by id limit $2`, []any{mark, limit + 1}, func(rows *sql.Rows) error {
		var id int64
		var errorType, rootType, template, frames string
		if err := rows.Scan(&id, &errorType, &rootType, &template, &frames); err != nil {
			return err
		}
		if n++; n > limit {
			u.more = true
			return nil
		}
		u.newestPrint = id
		u.fingerprints[id] = append(u.fingerprints[id], fingerprintText(errorType, rootType, template, frames))
		return nil
	})
}

func fingerprintText(errorType, rootType, template, frames string) string {
	parts := []string{fold(errorType), fold(rootType), fold(beginning(template, textMessage))}
	var list []dlq.Frame
	if json.Unmarshal([]byte(frames), &list) == nil {
		for _, frame := range list {
			parts = append(parts, fold(frame.String()))
		}
	}
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	return strings.Join(parts, fieldMark)
}

// chooseExemplars says which of the documents' traces will stand for their
// fingerprints: the first that have one, five in all.
func chooseExemplars(ctx context.Context, r reader, u *unreadText) error {
	var prints []int64
	for _, d := range u.documents {
		if d.trace != "" {
			prints = append(prints, d.fingerprint)
		}
	}
	if len(prints) == 0 {
		return nil
	}
	slices.Sort(prints)
	have := map[int64]map[int64]bool{}
	err := each(ctx, r, `select x.fingerprint_id, x.entry_id from json_each($1) j join text_exemplar x on x.fingerprint_id = j.value`, []any{jsonList(slices.Compact(prints))}, func(rows *sql.Rows) error {
		var fingerprint, entry int64
		err := rows.Scan(&fingerprint, &entry)
		if have[fingerprint] == nil {
			have[fingerprint] = map[int64]bool{}
		}
		have[fingerprint][entry] = true
		return err
	})
	if err != nil {
		return err
	}
	for _, d := range u.documents {
		of := have[d.fingerprint]
		if d.trace == "" || len(of) >= exemplarsMost || of[d.id] {
			continue
		}
		if of == nil {
			of = map[int64]bool{}
			have[d.fingerprint] = of
		}
		of[d.id] = true
		x := exemplar{d.fingerprint, d.id, d.evidence, traceOf(d.trace)}
		u.exemplars = append(u.exemplars, x)
		u.fingerprints[d.fingerprint] = append(u.fingerprints[d.fingerprint], x.trace)
	}
	return nil
}

// IndexText reads at most so many documents into the text index, and says how
// many it read and whether there are more. Texts are read and unpacked outside
// the writer; what the writer does of it is kept under 50 ms by its caller, who
// chooses the limit by how long the last slice took.
func (s *Store) IndexText(ctx context.Context, limit int) (did int, more bool, took time.Duration, err error) {
	u, err := s.unread(ctx, limit, textSliceBytes)
	if err != nil {
		return 0, false, 0, err
	}
	if len(u.documents) == 0 && len(u.fingerprints) == 0 && len(u.pending) == 0 {
		return 0, false, 0, nil
	}
	var began time.Time
	err = s.update(ctx, func(tx *Tx) error {
		began = time.Now()
		return tx.indexText(&u)
	})
	// With the commit: the trigrams are written when the transaction ends.
	took = time.Since(began)
	if err != nil {
		return 0, false, took, fmt.Errorf("write the text index: %w", err)
	}
	return len(u.documents), u.more, took, nil
}

func (t *Tx) indexText(u *unreadText) error {
	// A text that was forgotten since may be among those that were read.
	if n, err := timesForgotten(t.ctx, t); err != nil || n != u.forgotten {
		u.more = true
		return err
	}
	// Another process may have read further meanwhile. What it wrote is the same,
	// and is written once more: the marks only ever move on. A document that
	// changed since it was read waits, and is read again.
	for _, d := range u.documents {
		var version int64
		found, err := t.row(`select version from entry where id = $1`, []any{d.id}, &version)
		if err == nil && found && version != d.version {
			err = t.textIsStale(d.id)
		} else if err == nil && found {
			err = t.writeText(d)
		}
		if err != nil {
			return err
		}
	}
	for _, x := range u.exemplars {
		if _, err := t.exec(`insert into text_exemplar (fingerprint_id, entry_id, attempt_id) select $1, $2, $3
			where (select count(*) from text_exemplar where fingerprint_id = $1) < $4
			and exists (select 1 from entry where id = $2 and fingerprint_id = $1 and evidence_id = $3) on conflict do nothing`, x.fingerprint, x.entry, x.attempt, exemplarsMost); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(u.fingerprints)) {
		if err := t.writeFingerprintText(id); err != nil {
			return err
		}
	}
	if _, err := t.exec(`update text_mark set at = max(at, $1) where name = 'entry'`, u.newest); err != nil {
		return err
	}
	_, err := t.exec(`update text_mark set at = max(at, $1) where name = 'fingerprint'`, u.newestPrint)
	return err
}

func (t *Tx) writeText(d documentText) error {
	_, err := t.exec(`insert or replace into text_entry (rowid, body, label, url) values ($1, $2, $3, $4)`, d.id, d.body, d.label, d.url)
	if err == nil {
		_, err = t.exec(`delete from text_pending where entry_id = $1`, d.id)
	}
	return err
}

// writeFingerprintText writes what can be looked for in a fingerprint anew.
func (t *Tx) writeFingerprintText(id int64) error {
	var errorType, rootType, template, frames string
	if _, err := t.row(`select error_type, root_type, template, frames from fingerprint where id = $1`, []any{id}, &errorType, &rootType, &template, &frames); err != nil {
		return err
	}
	parts := []string{fingerprintText(errorType, rootType, template, frames)}
	err := each(t.ctx, t, `select a.detail from text_exemplar x join attempt a on a.id = x.attempt_id where x.fingerprint_id = $1 order by x.entry_id`, []any{id}, func(rows *sql.Rows) error {
		var packed []byte
		var detail dlq.AttemptDetail
		if err := rows.Scan(&packed); err != nil {
			return err
		}
		if err := t.w.store.codec.unpackJSON(packed, &detail); err != nil {
			return err
		}
		parts = append(parts, traceOf(detail.Trace))
		return nil
	})
	if err != nil {
		return err
	}
	_, err = t.exec(`insert or replace into text_fingerprint (rowid, body) values ($1, $2)`, id, strings.Join(parts, fieldMark))
	return err
}

// textIsStale notes that a document's evidence is another than the text index
// has read, or may be.
func (t *Tx) textIsStale(entryID int64) error {
	if _, err := t.exec(`insert into text_pending (entry_id) values ($1) on conflict do nothing`, entryID); err != nil {
		return fmt.Errorf("mark the text of an entry for the index: %w", err)
	}
	return nil
}

// textMoves notes that a document goes to another fingerprint with the failure
// that it has: its trace no longer stands for the one that it was of, and may
// come to stand for the other, for which the index reads it again.
func (t *Tx) textMoves(entryID, from int64) error {
	n, err := t.exec(`delete from text_exemplar where fingerprint_id = $1 and entry_id = $2`, from, entryID)
	if err == nil && n > 0 {
		err = t.writeFingerprintText(from)
	}
	if err != nil {
		return fmt.Errorf("take a trace from a fingerprint: %w", err)
	}
	return t.textIsStale(entryID)
}

// traceLeaves notes that a failure has another trace now, or goes to another
// fingerprint: its trace no longer stands for the one that it was of.
func (t *Tx) traceLeaves(entryID, attemptID int64) error {
	prints, err := ids(t.ctx, t, `select fingerprint_id from text_exemplar where entry_id = $1 and attempt_id = $2 order by fingerprint_id`, entryID, attemptID)
	if err == nil && len(prints) > 0 {
		_, err = t.exec(`delete from text_exemplar where entry_id = $1 and attempt_id = $2`, entryID, attemptID)
	}
	for _, id := range prints {
		if err == nil {
			err = t.writeFingerprintText(id)
		}
	}
	if err != nil {
		return fmt.Errorf("take the trace of a failure from its fingerprint: %w", err)
	}
	return nil
}

// forgottenMark counts, beside the marks of the index, how often something was
// taken out of it: what was read of texts before is not written after.
const forgottenMark = "forgotten"

func timesForgotten(ctx context.Context, r reader) (int64, error) {
	var n int64
	_, err := one(ctx, r, `select coalesce(max(at), 0) from text_mark where name = $1`, []any{forgottenMark}, &n)
	return n, err
}

// ForgetText takes a document out of the text index, and its traces out of what
// stands for its fingerprints. What the index kept of it is gone from the
// database once PurgeText has come to its end. The document itself must hold no
// text any more, or the index reads it again with its next arrival.
func (s *Store) ForgetText(ctx context.Context, dlqID string) error {
	return s.update(ctx, func(tx *Tx) error {
		e, found, err := tx.entryByDLQID(dlqID)
		if err != nil || !found {
			return err
		}
		return tx.forgetText(e.id)
	})
}

func (t *Tx) forgetText(entryID int64) error {
	prints, err := ids(t.ctx, t, `select fingerprint_id from text_exemplar where entry_id = $1 order by fingerprint_id`, entryID)
	if err != nil {
		return fmt.Errorf("find what the text index keeps: %w", err)
	}
	for _, statement := range []string{`delete from text_entry where rowid = $1`, `delete from text_pending where entry_id = $1`, `delete from text_exemplar where entry_id = $1`} {
		if _, err := t.exec(statement, entryID); err != nil {
			return fmt.Errorf("take an entry out of the text index: %w", err)
		}
	}
	for _, id := range prints {
		if err := t.writeFingerprintText(id); err != nil {
			return fmt.Errorf("make the text of a fingerprint anew: %w", err)
		}
	}
	if _, err := t.exec(`insert into text_mark (name, at) values ($1, 1) on conflict (name) do update set at = at + 1`, forgottenMark); err != nil {
		return fmt.Errorf("count what was forgotten: %w", err)
	}
	return nil
}

// purgePages is how much of the index one step of PurgeText writes anew, in
// pages of FTS5: some ten milliseconds of the writer's time.
const purgePages = 200

// PurgeText rewrites a part of the text index without what was deleted from it,
// and says whether it has come to its end. Deleting alone leaves what stood there
// in older pages of the index until they happen to be merged.
func (s *Store) PurgeText(ctx context.Context, begin bool) (done bool, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		done = true
		for _, table := range []string{"text_entry", "text_fingerprint"} {
			pages := purgePages
			if begin {
				pages = -purgePages // every level is to become one
			}
			var before, after int64
			if _, err := tx.row(`select total_changes()`, nil, &before); err != nil {
				return err
			}
			if _, err := tx.exec(`insert into `+table+` (`+table+`, rank) values ('merge', $1)`, pages); err != nil {
				return err
			}
			if _, err := tx.row(`select total_changes()`, nil, &after); err != nil {
				return err
			}
			done = done && after-before < 2
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("purge the text index: %w", err)
	}
	return done, nil
}

// TextLag says how many documents the text index has not read, and since when
// the oldest of them waits. At most limit are counted, plus one.
func (s *Store) TextLag(ctx context.Context, limit int) (documents int64, since time.Time, err error) {
	var oldest sql.NullInt64
	_, err = s.one(ctx, `select count(*), min(e.received_at) from (
			select * from (select entry_id as id from text_pending order by entry_id limit $1)
			union select * from (select id from entry where id > (select at from text_mark where name = 'entry') order by id limit $1)
		) u cross join entry e on e.id = u.id`, []any{limit + 1}, &documents, &oldest)
	if err != nil {
		return 0, since, fmt.Errorf("read how far the text index is: %w", err)
	}
	return documents, fromNullMS(oldest), nil
}
