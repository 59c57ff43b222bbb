package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	pieces, err := p.chunk(rec)
	if err != nil {
		return processed{err: err}
	}
	return processed{record: rec, chunks: len(pieces)}
}

// chunk cuts the text of a record as the index takes it.
func (p *parser) chunk(rec record) ([]string, error) { return chunks(rec.Text) }

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
