package pipeline

import (
	"fmt"
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
func outcomeOf(g given, p *parser, memory string, done processed, redriveID string, now time.Time) *client.Outcome {
	at, seq := now.UTC(), g.seq
	o := &client.Outcome{
		RedriveID: redriveID, Source: g.source, DocID: g.id, ContentHash: g.contentHash, At: &at, IngestSeq: &seq,
		SourceVersion: g.sourceVersion, PayloadSHA256: g.contentHash,
		ConnectorVersion: connectorVersion, ParserVersion: p.version, ChunkerVersion: chunkerVersion, ProcessingVersion: processingVersion,
		Versions: map[string]string{componentWorker: memory},
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

// letterOf shapes what a dead letter of a document says whatever went wrong with it.
// Attempts that the queue has not counted are told by the message.
func letterOf(g given, parser *parser, work syncWork, sourceURL string) dlq.Envelope {
	modified, first, last := work.Modified.UTC().Truncate(time.Second), work.First.UTC(), work.Last.UTC()
	e := dlq.Envelope{
		ContentHash: g.contentHash, ContentType: contentType(g.source), Filename: work.Filename,
		SourceVersion: g.sourceVersion, SourceURL: sourceURL, SourceUpdatedAt: &modified,
		CursorAtArrival: fmt.Sprintf("%s@%s#%06d", g.source, first.Format(time.RFC3339), g.seq), IngestSeq: &g.seq,
		ConnectorVersion: connectorVersion, ParserVersion: parser.version, ChunkerVersion: chunkerVersion, ProcessingVersion: processingVersion,
		FirstSeenAt: &first, LastSeenAt: &last,
		// A worker that died between parking and saying so parks once more; under the
		// same id that is the same arrival.
		EventID: digestOf([]byte(g.source + "\n" + g.id + "\n" + g.contentHash + "\n" + last.Format(time.RFC3339Nano)))[:32],
		Labels:  map[string]string{"portfolio": portfolio(g.id)},
	}
	if work.Attempts > 1 {
		e.Attempts = &work.Attempts
	}
	return e
}

// describeInto adds to a dead letter what the pipeline reads off its own errors.
func describeInto(memory string) func(error, *dlq.Envelope) {
	return func(err error, e *dlq.Envelope) {
		f := describe(err)
		e.Stage, e.Reason, e.ErrorClass = f.Stage, string(f.Reason), string(f.Class)
		e.ErrorType, e.ErrorMessage, e.StackTrace, e.Confidence = f.Type, f.Message, f.Trace, f.Confidence
		if f.Reason == dlq.ReasonLowConfidence {
			e.ErrorType = "" // a poor reading is no error
		}
		if len(f.Rules) > 0 {
			e.ValidationOutput = f.Rules
		}
		if f.Class == dlq.ClassResourceFatal {
			// What a worker has is part of what handled the document: another limit is
			// what a replay of it would test.
			e.Versions = map[string]string{componentWorker: memory}
		}
	}
}

// portfolio spreads the documents over the three portfolios of the demo.
func portfolio(id string) string {
	return []string{"quayside", "elm-court", "ferry-road"}[int(id[len(id)-1])%3]
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
