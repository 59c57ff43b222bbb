package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"dlo/db"
	"dlo/dlq"
)

// The shape of some years of failures: two at the small scale, ten at the full.
// The history is as long in both sizes, and the queue as deep: what ten times
// the entries change is how many were resolved meanwhile.
const (
	historyDefect = 400   // cohorts, the largest of which has a twentieth of all
	historyParked = 6_000 // the ceiling of the queue
	historyHeld   = 300   // in quarantine
	parserDays    = 75    // a new parser every so many days
	connectorDays = 210
	bulkRows      = 40 // of one statement
)

// historyDays is how long the history is; the scale sets it before anything is
// built.
var historyDays int64 = 730

// benchNow is when the history ends.
var benchNow = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// history writes entries with their attempts and counters straight into a
// database that nobody else has open: without syncing, and with the indexes made
// at the end. What it writes is what the store would have written; the recount
// at the end of the measurement says whether it is.
type history struct {
	tx      *sql.Tx
	rnd     *rand.Rand
	defects []*defect
	sets    map[[2]int]int64
	cells   map[cellOf]*cellCount
	months  map[monthOf]int64
	days    map[dayOf]int64
	sources map[[2]int64]*[4]int64 // by source and day: parked, unparked, resolved, archived
	details [][]byte
}

type defect struct {
	id          string
	member      int64
	name        string
	class       string
	sources     []int64
	from, to    int64 // days
	counts      map[dlq.Status]int64
	arrivals    int64
	first, last int64
	oldest      int64
	expiry      int64
}

type cellOf struct {
	member, source, set int64
	content             string
}

type cellCount struct {
	id     int64
	class  string
	name   string
	counts map[dlq.Status]int64
}

type monthOf struct {
	cell, month int64
	status      dlq.Status
}

type dayOf struct{ member, source, day int64 }

const dayMS = 24 * 3600 * 1000

// buildHistory makes a database with so many entries.
func buildHistory(ctx context.Context, o db.Options, entries int) error {
	store, err := db.Open(ctx, o)
	if err != nil {
		return err
	}
	if err := errors.Join(prepareHistory(ctx, store), store.Close()); err != nil {
		return err
	}
	raw, err := sql.Open("sqlite", "file:"+o.Path)
	if err != nil {
		return err
	}
	raw.SetMaxOpenConns(1)
	defer raw.Close()
	// Foreign keys are off here by default; the check at the end looks at them.
	for _, pragma := range []string{"busy_timeout = 5000", "journal_mode = delete", "journal_mode = off", "synchronous = off", "cache_size = -200000", "temp_store = memory"} {
		var got string
		if err := raw.QueryRowContext(ctx, "pragma "+pragma).Scan(&got); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("%s: %w", pragma, err)
		}
	}
	return writeHistory(ctx, raw, entries)
}

// prepareHistory makes by the store what is few: sources, what runs in them, and
// some documents whose long texts the others have too.
func prepareHistory(ctx context.Context, store *db.Store) error {
	by := dlq.Policy("bench")
	for n := range benchSources {
		p := dlq.DefaultPolicy(fmt.Sprintf("source-%d", n))
		p.Redrive.URL = "https://pipeline.example.com/redrive"
		if _, _, err := store.PutSource(ctx, by, p); err != nil {
			return err
		}
		for component, version := range map[string]string{"parser": parserOf(historyDays), "connector": connectorOf(historyDays), "chunker": "chunker@1"} {
			if _, err := store.RecordDeployment(ctx, by, p.Name, component, version, nil); err != nil {
				return err
			}
		}
	}
	for n := range 20 {
		a := arrival(n)
		a.Envelope.DocID, a.EventKey = fmt.Sprintf("sample-%d", n), ""
		if _, err := store.RecordArrival(ctx, a); err != nil {
			return err
		}
	}
	return nil
}

func parserOf(day int64) string    { return fmt.Sprintf("parser@%d", day/parserDays) }
func connectorOf(day int64) string { return fmt.Sprintf("connector@%d", day/connectorDays) }

func writeHistory(ctx context.Context, raw *sql.DB, entries int) (err error) {
	indexes, err := dropIndexes(ctx, raw)
	if err != nil {
		return err
	}
	tx, err := raw.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	h := &history{tx: tx, rnd: rand.New(rand.NewPCG(1, 2)), sets: map[[2]int]int64{}, cells: map[cellOf]*cellCount{}, months: map[monthOf]int64{}, days: map[dayOf]int64{}, sources: map[[2]int64]*[4]int64{}}
	for _, step := range []func() error{h.readDetails, h.makeDefects, func() error { return h.makeEntries(ctx, entries) }, h.writeCounters, h.makeDecisions} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	for _, text := range indexes {
		if _, err := raw.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// dropIndexes drops the indexes of what is written most, and gives the texts
// that make them anew.
func dropIndexes(ctx context.Context, raw *sql.DB) ([]string, error) {
	rows, err := raw.QueryContext(ctx, `select name, sql from sqlite_master where type = 'index' and sql is not null and tbl_name in ('entry', 'attempt')`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var names, texts []string
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return nil, err
		}
		names, texts = append(names, name), append(texts, text)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	for _, name := range names {
		if _, err := raw.ExecContext(ctx, "drop index "+name); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

func (h *history) readDetails() error {
	rows, err := h.tx.Query(`select detail from attempt order by id`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var detail []byte
		if err := rows.Scan(&detail); err != nil {
			return err
		}
		h.details = append(h.details, detail)
	}
	return rows.Err()
}

var (
	benchClasses  = []string{"ambiguous_parse", "permanent_input", "transient", "resource_fatal", "downstream_contract"}
	benchContents = []string{"application/pdf", "application/json", "text/csv"}
	benchWords    = []string{"object", "xref", "token", "window", "column", "amount", "lease", "clause", "stream", "header", "vendor", "schedule"}
)

// makeDefects makes the cohorts. Two in five still happen.
func (h *history) makeDefects() error {
	for n := range historyDefect {
		d := &defect{id: fmt.Sprintf("01BENCH%019d", n), name: fmt.Sprintf("%sError%d", strings.ToUpper(benchWords[n%len(benchWords)][:1])+benchWords[n%len(benchWords)][1:], n), class: benchClasses[n/5%len(benchClasses)], counts: map[dlq.Status]int64{}}
		for range 1 + h.rnd.IntN(3) {
			d.sources = append(d.sources, int64(1+h.rnd.IntN(benchSources)))
		}
		length := int64(60 + h.rnd.IntN(2000))
		d.to = (h.rnd.Int64N(historyDays-60) + 60)
		if n%5 < 2 {
			d.to = historyDays
		}
		d.from = max(0, d.to-length)
		if _, err := h.tx.Exec(`insert into cohort (id, confidence, error_type, template, frame, source_id, first_seen, last_seen, created_at) values ($1, 'high', $2, $3, $4, $5, 0, 0, $6)`,
			d.id, d.name, "no "+benchWords[n%len(benchWords)]+" at offset {int}", fmt.Sprintf("module_%d.py · read_%d", n, n), d.sources[0], historyTime(d.from, 0)); err != nil {
			return err
		}
		res, err := h.tx.Exec(`insert into fingerprint (algorithm, digest, cohort_id, mode, confidence, language, error_type, root_type, template, frames, canonical, created_at)
			values ('f1', $1, $2, 'trace', 'high', 'python', $3, '', $4, '[]', 'f1', 0)`, fmt.Sprintf("b%031x", n), d.id, d.name, "no object at offset {int}")
		if err != nil {
			return err
		}
		if d.member, err = res.LastInsertId(); err != nil {
			return err
		}
		h.defects = append(h.defects, d)
	}
	return nil
}

// historyTime is a moment of a day of the history.
func historyTime(day, ms int64) int64 {
	return (benchNow.UnixMilli()/dayMS-historyDays+day)*dayMS + ms
}

func (h *history) set(day int64) (int64, error) {
	key := [2]int{int(day / parserDays), int(day / connectorDays)}
	if id, ok := h.sets[key]; ok {
		return id, nil
	}
	v := dlq.Versions{"parser": parserOf(day), "connector": connectorOf(day), "chunker": "chunker@1"}
	var id int64
	if err := h.tx.QueryRow(`insert into version_set (versions) values ($1) on conflict (versions) do update set versions = excluded.versions returning id`, v.Canonical()).Scan(&id); err != nil {
		return 0, err
	}
	for component, version := range v {
		if _, err := h.tx.Exec(`insert into version_of (component, version, version_set_id) values ($1, $2, $3) on conflict do nothing`, component, version, id); err != nil {
			return 0, err
		}
	}
	h.sets[key] = id
	return id, nil
}

func (h *history) cell(d *defect, source, day int64, content string) (*cellCount, error) {
	set, err := h.set(day)
	if err != nil {
		return nil, err
	}
	key := cellOf{d.member, source, set, content}
	if c, ok := h.cells[key]; ok {
		return c, nil
	}
	c := &cellCount{class: d.class, name: d.name, counts: map[dlq.Status]int64{}}
	res, err := h.tx.Exec(`insert into cell (fingerprint_id, source_id, version_set_id, reason, error_class, error_type, content_type, stage) values ($1, $2, $3, 'exception', $4, $5, $6, 'parse')`,
		d.member, source, set, d.class, d.name, content)
	if err != nil {
		return nil, err
	}
	c.id, err = res.LastInsertId()
	h.cells[key] = c
	return c, err
}

const (
	entryInsert   = `insert into entry (id, dlq_id, source_id, doc_id, status, resolution, cell_id, fingerprint_id, evidence_id, attempts, arrivals, last_attempt, redrives_total, first_seen, opened_at, last_seen, expires_at, received_at, settled_at, content_hash, filename, message) values `
	entryPlaces   = 22
	attemptInsert = `insert into attempt (id, source_id, kind, why, episode, cell_id, attempts, received_at, first_seen, last_seen, detail, actor) values `
	attemptPlaces = 12
)

func rowsOf(places int) string {
	one := "(" + strings.TrimSuffix(strings.Repeat("?,", places), ",") + "),"
	return strings.TrimSuffix(strings.Repeat(one, bulkRows), ",")
}

func (h *history) makeEntries(ctx context.Context, entries int) error {
	entries -= entries % bulkRows
	entryStmt, err := h.tx.Prepare(entryInsert + rowsOf(entryPlaces))
	if err != nil {
		return err
	}
	attemptStmt, err := h.tx.Prepare(attemptInsert + rowsOf(attemptPlaces))
	if err != nil {
		return err
	}
	var first int64
	if err := h.tx.QueryRow(`select coalesce(max(id), 0) + 1 from entry`).Scan(&first); err != nil {
		return err
	}
	zipf := rand.NewZipf(h.rnd, 1.1, 8, historyDefect-1)
	var entryArgs, attemptArgs []any
	for n := range entries {
		e, a, err := h.entry(first+int64(n), n, entries, h.defects[zipf.Uint64()])
		if err != nil {
			return err
		}
		entryArgs, attemptArgs = append(entryArgs, e...), append(attemptArgs, a...)
		if (n+1)%bulkRows > 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := entryStmt.Exec(entryArgs...); err != nil {
			return fmt.Errorf("write entries: %w", err)
		}
		if _, err := attemptStmt.Exec(attemptArgs...); err != nil {
			return fmt.Errorf("write attempts: %w", err)
		}
		entryArgs, attemptArgs = entryArgs[:0], attemptArgs[:0]
	}
	return nil
}

// entry makes the n-th entry, counts it, and gives its rows.
func (h *history) entry(id int64, n, entries int, d *defect) (entry, attempt []any, err error) {
	status, resolution := dlq.StatusResolved, "committed"
	day := d.from + h.rnd.Int64N(d.to-d.from)
	switch at := n % (entries / historyParked); {
	case at == 0: // what is stuck came in the last months, of what still happens
		status, resolution = dlq.StatusParked, ""
		if n/(entries/historyParked)%(historyParked/historyHeld) == 0 {
			status = dlq.StatusQuarantined
		}
		for d.to < historyDays {
			d = h.defects[h.rnd.IntN(len(h.defects))]
		}
		day = max(d.from, historyDays-1-h.rnd.Int64N(85))
	case h.rnd.IntN(33) == 0:
		status, resolution = dlq.StatusArchived, ""
	}
	source := d.sources[h.rnd.IntN(len(d.sources))]
	content := benchContents[0]
	if h.rnd.IntN(5) == 0 {
		content = benchContents[1+h.rnd.IntN(2)]
	}
	c, err := h.cell(d, source, day, content)
	if err != nil {
		return nil, nil, err
	}
	at := historyTime(day, h.rnd.Int64N(dayMS/3))
	expires := at + 90*dayMS
	var settled any
	left := min(historyDays, day+h.rnd.Int64N(20))
	if status == dlq.StatusResolved {
		settled = historyTime(left, dayMS/3)
	}
	h.count(d, c, source, status, day, left, at, expires)
	message := fmt.Sprintf("no %s %d at offset %d in %s of %d bytes", benchWords[h.rnd.IntN(len(benchWords))], n%977, h.rnd.IntN(1<<20), content, 4096+h.rnd.IntN(1<<20))
	evidence := id<<20 | 1
	entry = []any{id, fmt.Sprintf("01HIST%020d", id), source, fmt.Sprintf("document-%08d", n), string(status), resolution, c.id, d.member, evidence, 1, 1, 1, 0, at, at, at, expires, at, settled,
		fmt.Sprintf("%064x", id), fmt.Sprintf("%s-%d.pdf", benchWords[n%len(benchWords)], n), message}
	attempt = []any{evidence, source, "arrival", "parked", 1, c.id, 1, at, at, at, h.details[n%len(h.details)], "bench"}
	return entry, attempt, nil
}

func (h *history) count(d *defect, c *cellCount, source int64, status dlq.Status, day, left, at, expires int64) {
	d.counts[status]++
	d.arrivals++
	c.counts[status]++
	if d.first == 0 || at < d.first {
		d.first = at
	}
	d.last = max(d.last, at)
	if status == dlq.StatusParked {
		if d.oldest == 0 || at < d.oldest {
			d.oldest, d.expiry = at, expires
		}
	}
	t := time.UnixMilli(at).UTC()
	h.months[monthOf{c.id, int64(t.Year())*12 + int64(t.Month()) - 1, status}]++
	epoch := at / dayMS
	h.days[dayOf{d.member, source, epoch}]++
	h.sourceDay(source, epoch)[0]++
	switch status {
	case dlq.StatusParked:
		return
	case dlq.StatusResolved:
		h.sourceDay(source, epoch+left-day)[2]++
	case dlq.StatusArchived:
		h.sourceDay(source, epoch+left-day)[3]++
	}
	h.sourceDay(source, epoch+left-day)[1]++
}

func (h *history) sourceDay(source, day int64) *[4]int64 {
	k := [2]int64{source, day}
	if h.sources[k] == nil {
		h.sources[k] = &[4]int64{}
	}
	return h.sources[k]
}

func (h *history) writeCounters() error {
	for _, d := range h.defects {
		var oldest, expiry any
		if d.oldest > 0 {
			oldest, expiry = d.oldest, d.expiry
		}
		if _, err := h.tx.Exec(`update cohort set parked = $1, quarantined = $2, archived = $3, resolved = $4, arrivals = $5, first_seen = $6, last_seen = $7, oldest_opened = $8, next_expiry = $9 where id = $10`,
			d.counts[dlq.StatusParked], d.counts[dlq.StatusQuarantined], d.counts[dlq.StatusArchived], d.counts[dlq.StatusResolved], d.arrivals, d.first, d.last, oldest, expiry, d.id); err != nil {
			return err
		}
	}
	for _, c := range h.cells {
		if _, err := h.tx.Exec(`update cell set parked = $1, quarantined = $2, archived = $3, resolved = $4 where id = $5`, c.counts[dlq.StatusParked], c.counts[dlq.StatusQuarantined], c.counts[dlq.StatusArchived], c.counts[dlq.StatusResolved], c.id); err != nil {
			return err
		}
	}
	for k, n := range h.months {
		if _, err := h.tx.Exec(`insert into cell_month (cell_id, month, status, entries) values ($1, $2, $3, $4)`, k.cell, k.month, string(k.status), n); err != nil {
			return err
		}
	}
	// What is stuck no more leaves its row behind, as it does in the store.
	if _, err := h.tx.Exec(`insert into cell_month (cell_id, month, status, entries) select distinct cell_id, month, 'parked', 0 from cell_month where true on conflict do nothing`); err != nil {
		return err
	}
	for k, n := range h.days {
		if _, err := h.tx.Exec(`insert into fingerprint_day (fingerprint_id, source_id, day, arrivals) values ($1, $2, $3, $4)`, k.member, k.source, k.day, n); err != nil {
			return err
		}
	}
	for k, n := range h.sources {
		if _, err := h.tx.Exec(`insert into source_day (source_id, day, arrivals, opened, parked, unparked, resolved, archived) values ($1, $2, $3, $3, $3, $4, $5, $6)
			on conflict (source_id, day, review) do update set arrivals = arrivals + excluded.arrivals, opened = opened + excluded.opened, parked = parked + excluded.parked, unparked = unparked + excluded.unparked,
			resolved = resolved + excluded.resolved, archived = archived + excluded.archived`, k[0], k[1], n[0], n[1], n[2], n[3]); err != nil {
			return err
		}
	}
	return nil
}

// makeDecisions adds what the order of the home page looks at: fixes that run
// and that do not, alerts, and redrives.
func (h *history) makeDecisions() error {
	now := benchNow.UnixMilli()
	if _, err := h.tx.Exec(`insert into operation (id, kind, state, query, expect, reason, actor_kind, actor_id, actor_name, created_at, updated_at, ended_at) values ('01BENCHOPERATION', 'redrive', 'done', '', 0, 'bench', 'policy', '', 'bench', $1, $1, $1)`, now); err != nil {
		return err
	}
	for n, d := range h.defects {
		if n%7 == 0 {
			version := parserOf(historyDays)
			if n%2 == 0 {
				version = "parser@next"
			}
			if _, err := h.tx.Exec(`insert into fix (id, cohort_id, component, version, declared_at, actor) values ($1, $2, 'parser', $3, $4, 'bench')`, fmt.Sprintf("01FIX%05d", n), d.id, version, now); err != nil {
				return err
			}
		}
		if n%40 == 0 && d.to == historyDays {
			if _, err := h.tx.Exec(`insert into alert (id, rule, subject, state, cohort_id, why, since, updated_at) values ($1, 'downstream_contract', $2, 'firing', $3, '', $4, $4)`, fmt.Sprintf("01ALERT%05d", n), "cohort:"+d.id, d.id, now); err != nil {
				return err
			}
		}
	}
	_, err := h.tx.Exec(`insert into redrive (id, operation_id, entry_id, source_id, content_hash, mode, state, failed_attempt, failed_cohort, failed_under, created_at, sent_at, next_at, outcome, settled_at)
		select '01REDRIVE' || e.id, '01BENCHOPERATION', e.id, e.source_id, e.content_hash, 'auto', 'settled', e.evidence_id, f.cohort_id, '{}', e.opened_at, e.opened_at, 0, 'committed', e.opened_at
		from entry e join fingerprint f on f.id = e.fingerprint_id where e.id % 97 = 0 and e.status = 'resolved'`)
	return err
}
