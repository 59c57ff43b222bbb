package dlq

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"time"
)

// errorFields are the fields of an envelope that say how a document failed. An
// outcome may have them only with failed.
var errorFields = []string{"reason", "error_class", "error_type", "error_message", "stack_trace", "stack_trace_uri", "validation_output", "confidence"}

// ParseOutcome reads one outcome from JSON at the moment now. The error is
// KindMalformed for what is no single JSON object, else KindInvalid with every
// fault of every field. The document is named by redrive_id, by content_hash, or
// by source and doc_id; who knows more than one may say so, and the first of
// them counts. Null and "" are as absent, the aliases of an envelope are read
// here too, and other fields are passed over.
func ParseOutcome(body []byte, now time.Time) (Outcome, error) {
	return parseOutcome(body, "", now)
}

// ParseAnswer reads the outcome that a target gave in its answer to a redrive,
// which need not name the redrive again. One that names another is refused.
func ParseAnswer(body []byte, redriveID string, now time.Time) (Outcome, error) {
	return parseOutcome(body, redriveID, now)
}

func parseOutcome(body []byte, redriveID string, now time.Time) (Outcome, error) {
	if len(body) > MaxEnvelope {
		return Outcome{}, Errorf(KindTooLarge, "the outcome has %d bytes, and at most %d are taken", len(body), MaxEnvelope)
	}
	fields, err := DecodeObject(body)
	if err != nil {
		return Outcome{}, err
	}
	r := fieldReader{fields: fields}
	r.resolveAliases()
	o := r.outcome(redriveID, now)
	if len(r.faults) > 0 {
		sort.SliceStable(r.faults, func(i, j int) bool { return r.faults[i].Pointer < r.faults[j].Pointer })
		return o, Invalid(outcomeSentence(len(r.faults)), r.faults...)
	}
	return o, nil
}

func outcomeSentence(n int) string {
	if n == 1 {
		return "one field of the outcome is wrong; nothing was recorded"
	}
	return fmt.Sprintf("%d fields of the outcome are wrong; nothing was recorded", n)
}

func (r *fieldReader) outcome(redriveID string, now time.Time) Outcome {
	failure := r.failure()
	o := Outcome{
		RedriveID:     r.id("redrive_id", maxShort),
		ContentHash:   r.digest("content_hash"),
		Source:        r.id("source", maxSource),
		DocID:         r.id("doc_id", maxDocID),
		Result:        OutcomeResult(r.text("result", maxShort)),
		At:            now.UTC().Truncate(time.Millisecond),
		IngestSeq:     r.integer("ingest_seq", math.MinInt64),
		SourceVersion: r.text("source_version", maxLong),
		PayloadSHA256: r.digest("payload_sha256"),
		Versions:      failure.ComponentVersions(),
	}
	if at := r.time("at", now); at != nil {
		o.At = *at
	}
	r.named(&o, redriveID)
	if !o.Result.Reportable() && !r.hasFault("/result") {
		r.fault("result", "committed, skipped, superseded or failed expected, got %q", shorten(string(o.Result), 40))
	}
	if o.Result == OutcomeFailed && failure.saysHow() {
		r.classify(&failure)
		failure.IngestSeq, failure.SourceVersion, failure.PayloadSHA256 = o.IngestSeq, o.SourceVersion, o.PayloadSHA256
		o.Failure = &failure
	}
	return o
}

// failure takes what an outcome says of the code that ran and of how it failed.
// Error fields beside another result than failed are faults, each of them: the
// sender means one of the two, and guessing which would settle a document.
func (r *fieldReader) failure() Envelope {
	if result, _ := r.fields["result"].(string); OutcomeResult(result) != OutcomeFailed {
		for _, name := range errorFields {
			if _, there := r.take(name); there {
				r.fault(name, "only a failed outcome says how it failed")
			}
		}
	}
	e := Envelope{
		ConnectorVersion:  r.text("connector_version", maxShort),
		ParserVersion:     r.text("parser_version", maxShort),
		ChunkerVersion:    r.text("chunker_version", maxShort),
		EmbedderVersion:   r.text("embedder_version", maxShort),
		ProcessingVersion: r.text("processing_version", maxShort),
		Versions:          r.stringMap("versions", maxComponents, maxShort),

		Stage:         r.text("stage", maxShort),
		ContentType:   r.text("content_type", maxShort),
		Reason:        r.text("reason", maxShort),
		ErrorClass:    r.text("error_class", maxShort),
		ErrorType:     r.text("error_type", maxShort),
		ErrorMessage:  r.text("error_message", 0),
		StackTrace:    r.text("stack_trace", 0),
		StackTraceURI: r.text("stack_trace_uri", maxLong),
		Confidence:    r.share("confidence"),
	}
	if v, ok := r.take("validation_output"); ok {
		e.ValidationOutput = v
	}
	r.components(&e)
	return e
}

// saysHow says whether an outcome names the error that it failed with. A stage
// or a confidence alone does not: then the evidence that stands is kept.
func (e Envelope) saysHow() bool {
	return e.Reason == string(ReasonLowConfidence) || e.ValidationOutput != nil ||
		slices.ContainsFunc([]string{e.ErrorClass, e.ErrorType, e.ErrorMessage, e.StackTrace}, func(s string) bool { return s != "" })
}

// named settles by what the outcome names its document, and finds fault where
// nothing does.
func (r *fieldReader) named(o *Outcome, redriveID string) {
	if redriveID != "" {
		if o.RedriveID != "" && o.RedriveID != redriveID {
			r.fault("redrive_id", "the redrive that was answered expected, got another")
		}
		o.RedriveID = redriveID
		return
	}
	faulty := r.hasFault("/redrive_id") || r.hasFault("/content_hash") || r.hasFault("/source") || r.hasFault("/doc_id")
	switch {
	case o.RedriveID != "", o.ContentHash != "", o.Source != "" && o.DocID != "", faulty:
	case o.DocID != "":
		r.fault("source", "the document's source expected beside its doc_id")
	case o.Source != "":
		r.fault("doc_id", "the document's doc_id expected beside its source")
	default:
		r.fault("redrive_id", "redrive_id, content_hash, or source and doc_id expected: nothing says which document this is about")
	}
}
