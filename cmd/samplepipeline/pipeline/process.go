package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"dlo/dlq"
	"dlo/dlq/client"
)

// given is what one attempt works on: some bytes and where they stand.
type given struct {
	source, id    string
	bytes         []byte
	contentHash   string // sha256 of the bytes: what the commit is unique on
	sourceVersion string
	seq           int64
}

// processed is what came of parsing and chunking; err says what did not.
type processed struct {
	record record
	chunks int
	err    error
}

// process runs the stages up to the commit. It changes nothing anywhere.
func (p *parser) process(g given) processed {
	rec, err := p.parse(g.source, g.bytes)
	if err != nil {
		return processed{err: err}
	}
	pieces, err := chunks(rec.Text)
	if err != nil {
		return processed{err: err}
	}
	return processed{record: rec, chunks: len(pieces)}
}

// settlementOf shapes the end of an attempt for the store.
func settlementOf(g given, p *parser, done processed, now time.Time) settlement {
	st := settlement{
		state: documentState{Source: g.source, DocID: g.id, State: stateCommitted, IngestSeq: g.seq, SourceVersion: g.sourceVersion,
			ContentHash: g.contentHash, ParserVersion: p.version, UpdatedAt: now},
		chunks: done.chunks,
	}
	if done.err == nil {
		st.record = &done.record
		return st
	}
	f := describe(done.err)
	st.state.State, st.state.Parked = stateFailed, true
	if f.Reason == dlq.ReasonLowConfidence {
		st.state.State = stateInReview
	}
	st.state.ErrorType, st.state.ErrorMessage = f.Type, f.Message
	return st
}

// outcomeOf shapes the report of an attempt. The result is the store's to say.
func outcomeOf(g given, p *parser, done processed, redriveID string, now time.Time) *client.Outcome {
	at, seq := now.UTC(), g.seq
	o := &client.Outcome{
		RedriveID: redriveID, Source: g.source, DocID: g.id, ContentHash: g.contentHash, At: &at, IngestSeq: &seq,
		SourceVersion: g.sourceVersion, PayloadSHA256: g.contentHash,
		ConnectorVersion: connectorVersion, ParserVersion: p.version, ChunkerVersion: chunkerVersion, ProcessingVersion: processingVersion,
	}
	if done.err == nil {
		return o
	}
	f := describe(done.err)
	if f.Reason == dlq.ReasonLowConfidence {
		f.Type = ""
	}
	o.Stage, o.Reason, o.ErrorClass = f.Stage, string(f.Reason), string(f.Class)
	o.ErrorType, o.ErrorMessage, o.StackTrace, o.Confidence = f.Type, f.Message, f.Trace, f.Confidence
	if len(f.Rules) > 0 {
		o.ValidationOutput = f.Rules
	}
	return o
}

// arrival is when and how often a document failed before this envelope.
type arrival struct {
	first, last time.Time
	attempts    int
}

// envelopeOf shapes the dead letter of a failed attempt.
func envelopeOf(doc file, g given, p *parser, err error, when arrival, sourceURL string) dlq.Envelope {
	f := describe(err)
	modified, first, last := doc.Modified.UTC().Truncate(time.Second), when.first.UTC(), when.last.UTC()
	e := dlq.Envelope{
		Source: g.source, DocID: g.id, ContentHash: g.contentHash,
		ContentType: contentType(g.source), Filename: doc.Filename,
		SourceVersion: g.sourceVersion, SourceURL: sourceURL, SourceUpdatedAt: &modified,
		CursorAtArrival: fmt.Sprintf("%s@%s#%06d", g.source, first.Format(time.RFC3339), g.seq), IngestSeq: &g.seq,
		ConnectorVersion: connectorVersion, ParserVersion: p.version, ChunkerVersion: chunkerVersion, ProcessingVersion: processingVersion,
		Stage: f.Stage, Reason: string(f.Reason), ErrorClass: string(f.Class), ErrorType: f.Type, ErrorMessage: f.Message,
		StackTrace: f.Trace, Confidence: f.Confidence,
		Attempts: &when.attempts, FirstSeenAt: &first, LastSeenAt: &last,
		// A run that died between parking and remembering it parks once more; under
		// the same id that is the same arrival.
		EventID: digestOf([]byte(g.source + "\n" + g.id + "\n" + g.contentHash + "\n" + last.Format(time.RFC3339Nano)))[:32],
		Labels:  map[string]string{"portfolio": portfolio(g.id)},
	}
	if f.Reason == dlq.ReasonLowConfidence {
		e.ErrorType = "" // a poor reading is no error
	}
	if len(f.Rules) > 0 {
		e.ValidationOutput = f.Rules
	}
	return e
}

// portfolio spreads the documents over the three portfolios of the demo.
func portfolio(id string) string {
	return []string{"quayside", "elm-court", "ferry-road"}[int(id[len(id)-1])%3]
}

// workOnRedrive processes one redrive to its outcome, which is then in the
// store. An error means that the redrive is still to be done: its bytes may come
// later, and it was not tried too often.
func (p *Pipeline) workOnRedrive(ctx context.Context, q queued) error {
	r, parser := q.redrive, p.parser()
	g, err := p.bytesOf(ctx, r)
	var done processed
	switch {
	case err == nil:
		done = parser.process(g)
	case client.ClassOf(err) == dlq.ClassTransient && q.tries < maxTries:
		return err
	case client.ClassOf(err) == "":
		err = client.Transient(err) // a link that lapsed, a copy that differs: another redrive can do better
		fallthrough
	default:
		done = processed{err: err}
		g = given{source: r.Source, id: r.DocID, contentHash: r.ContentHash, sourceVersion: r.SourceVersion, seq: seqOf(r)}
	}
	now := p.now()
	st := settlementOf(g, parser, done, now)
	st.redriveID, st.outcome = r.RedriveID, outcomeOf(g, parser, done, r.RedriveID, now)
	if g.bytes == nil {
		st.outcome.PayloadSHA256 = "" // nothing was read
	}
	result, err := p.store.settle(context.WithoutCancel(ctx), st)
	if err != nil {
		return err
	}
	p.log.Info("redrive processed", "redrive_id", r.RedriveID, "source", r.Source, "mode", r.Mode, "result", result, "parser", parser.version)
	return nil
}

// bytesOf gets the bytes that a redrive asks for: the copy that failed, from the
// server, or the document as it is now, from its source. The copy keeps its
// place in the order of arrivals; what is read anew comes now.
func (p *Pipeline) bytesOf(ctx context.Context, r client.Redrive) (given, error) {
	if r.Mode == string(dlq.ModeHeld) && r.PayloadURL != "" {
		raw, err := p.client.ReadPayload(ctx, r, maxDocument)
		if err != nil {
			return given{}, &stageError{"fetch", err}
		}
		return given{source: r.Source, id: r.DocID, bytes: raw, contentHash: digestOf(raw), sourceVersion: r.SourceVersion, seq: seqOf(r)}, nil
	}
	doc, err := p.folder.read(r.Source, r.DocID)
	if errors.Is(err, fs.ErrNotExist) {
		return given{}, &stageError{"fetch", client.Unsupported(&SourceGoneError{})}
	}
	if err != nil {
		return given{}, &stageError{"fetch", client.Transient(err)}
	}
	seq, err := p.store.nextSeq(ctx)
	if err != nil {
		return given{}, client.Transient(err)
	}
	return givenFrom(doc, seq), nil
}

// SourceGoneError is a document that its source does not have any more.
type SourceGoneError struct{}

func (*SourceGoneError) Error() string { return "the source does not have the document any more" }

func givenFrom(doc file, seq int64) given {
	return given{source: doc.Source, id: doc.ID, bytes: doc.Bytes, contentHash: doc.SHA256, sourceVersion: doc.version(), seq: seq}
}

func seqOf(r client.Redrive) int64 {
	if r.IngestSeq == nil {
		return 0
	}
	return *r.IngestSeq
}

// syncOne takes a source's document as an ordinary run of the connector does: parse
// it, and commit it or park it.
func (p *Pipeline) syncOne(ctx context.Context, source, id string) error {
	doc, err := p.folder.read(source, id)
	if err != nil {
		return fmt.Errorf("sync %s/%s: %w", source, id, err)
	}
	seq, err := p.store.nextSeq(ctx)
	if err != nil {
		return err
	}
	before, known, err := p.store.document(ctx, source, id)
	if err != nil {
		return err
	}
	g, parser, now := givenFrom(doc, seq), p.parser(), p.now()
	when := arrival{now, now, 1}
	if plan, planned := p.folder.planned(source, id); planned && !known {
		when = arrival{plan.First, plan.Last, plan.Attempts}
	}
	done := parser.process(g)
	st := settlementOf(g, parser, done, when.last)
	if done.err == nil && known && before.Parked {
		// Somebody waits for this document in the queue.
		st.outcome = outcomeOf(g, parser, done, "", now)
	}
	if done.err != nil {
		e := envelopeOf(doc, g, parser, done.err, when, p.documentURL(source, id))
		if err := p.park(ctx, e, doc.Bytes); err != nil {
			return err
		}
	}
	if _, err := p.store.settle(context.WithoutCancel(ctx), st); err != nil {
		return err
	}
	if st.outcome != nil {
		p.wakeReporter()
	}
	return nil
}

// syncAll goes through all documents of the sources in the order in which they
// came, and takes those that are new, or changed, or worth another try.
func (p *Pipeline) syncAll(ctx context.Context, sources []string) (int, error) {
	p.syncing.Lock()
	defer p.syncing.Unlock()
	p.busy.Store(true)
	defer p.busy.Store(false)
	var due []candidate
	for _, source := range sources {
		ids, err := p.folder.list(source)
		if err != nil {
			return 0, err
		}
		for _, id := range ids {
			c, ok, err := p.candidate(ctx, source, id)
			if err != nil {
				return 0, err
			}
			if ok {
				due = append(due, c)
			}
		}
	}
	slices.SortStableFunc(due, func(a, b candidate) int { return a.first.Compare(b.first) })
	due = p.worthTrying(ctx, due)
	for i, c := range due {
		if err := p.syncOne(ctx, c.lookup.Source, c.lookup.DocID); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return i, err
		}
	}
	return len(due), p.census(ctx, sources, len(due))
}

// candidate is a document that a sync may take.
type candidate struct {
	first  time.Time
	lookup client.Document
}

// candidate looks whether a document moved since it was last tried: it, or the
// parser. What is committed as it is now is left alone.
func (p *Pipeline) candidate(ctx context.Context, source, id string) (candidate, bool, error) {
	doc, err := p.folder.read(source, id)
	if errors.Is(err, fs.ErrNotExist) {
		return candidate{}, false, nil
	}
	if err != nil {
		return candidate{}, false, err
	}
	before, known, err := p.store.document(ctx, source, id)
	if err != nil {
		return candidate{}, false, err
	}
	unchanged := known && before.SourceVersion == doc.version()
	if unchanged && (before.State == stateCommitted || before.ParserVersion == p.parser().version) {
		return candidate{}, false, nil
	}
	c := candidate{first: doc.Modified, lookup: client.Document{
		Source: source, DocID: id, SourceVersion: doc.version(), PayloadSHA256: doc.SHA256,
		Versions: map[string]string{"connector": connectorVersion, "parser": p.parser().version, "chunker": chunkerVersion}}}
	if plan, ok := p.folder.planned(source, id); ok && !known {
		c.first = plan.First
	}
	return c, true, nil
}

// worthTrying asks the server about what the pipeline does not remember, so that
// a pipeline that lost its memory does not fail on everything again. Without an
// answer all are tried: a look-up saves work and guards nothing.
func (p *Pipeline) worthTrying(ctx context.Context, due []candidate) []candidate {
	docs := make([]client.Document, len(due))
	for i, c := range due {
		docs[i] = c.lookup
	}
	advice, err := p.client.LookupBatch(ctx, docs)
	if err != nil {
		p.log.Warn("the look-up before the sync failed, so everything is tried", "error", err)
		return due
	}
	kept := due[:0]
	for i, c := range due {
		if !advice[i].Skip() {
			kept = append(kept, c)
		}
	}
	return kept
}

// park hands a failed document over. It is safe when park returns nil: with the
// server, or in the spool.
func (p *Pipeline) park(ctx context.Context, e dlq.Envelope, payload []byte) error {
	if _, err := p.client.Park(ctx, e, bytes.NewReader(payload)); err != nil {
		return fmt.Errorf("park %s/%s: %w", e.Source, e.DocID, err)
	}
	return nil
}

// census tells the server how much there is of each source, so that what is
// absent has a denominator.
func (p *Pipeline) census(ctx context.Context, sources []string, tried int) error {
	states, err := p.store.documents(ctx)
	if err != nil {
		return err
	}
	for _, source := range sources {
		ids, err := p.folder.list(source)
		if err != nil {
			return err
		}
		n := client.Census{Source: source, ContentType: contentType(source), Day: p.now().UTC().Format(time.DateOnly), Corpus: int64(len(ids))}
		for _, s := range states {
			if s.Source != source {
				continue
			}
			n.Processed++
			if s.State == stateCommitted {
				n.Indexed++
			}
		}
		if err := p.client.Census(ctx, n); err != nil {
			p.log.Warn("the census was not reported", "source", source, "tried", tried, "error", err)
		}
	}
	return nil
}
