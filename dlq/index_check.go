package dlq

import (
	"net/url"
	"strings"
	"time"
)

// indexProbe is the question to the index in the form of a question to a source:
// address, where the version stands, and headers follow the same rules.
func (p OutcomePolicy) indexProbe() ProbePolicy {
	return ProbePolicy{URL: p.CheckURL, ETagFrom: p.CheckFrom, Headers: p.CheckHeaders}
}

// IndexProbe is how the index is asked for a document: by the rules of a probe.
func (p OutcomePolicy) IndexProbe() ProbePolicy { return p.indexProbe() }

// IndexSeqProbe is where the answer names the ingest_seq, in the form of
// ProbePolicy; false where it does not.
func (p OutcomePolicy) IndexSeqProbe() (ProbePolicy, bool) {
	return ProbePolicy{ETagFrom: p.CheckSeqFrom}, p.CheckSeqFrom != ""
}

// IndexAddress puts the document's id into the address of the index.
func (p OutcomePolicy) IndexAddress(docID string) (*url.URL, error) {
	return p.indexProbe().Address(docID)
}

// checkFaults names what is wrong with how the index is asked. Who does not ask
// it may leave all of it out.
func (p OutcomePolicy) checkFaults() []Fault {
	var faults []Fault
	if p.Mode == OutcomesCheck && p.CheckURL == "" {
		faults = append(faults, Fault{"/outcomes/check_url", "an http or https address with {doc_id} in it expected, because the mode is check"})
	}
	for _, f := range p.indexProbe().Validate() {
		at, ok := map[string]string{"/probe/url": "/outcomes/check_url", "/probe/etag_from": "/outcomes/check_from"}[f.Pointer]
		if !ok {
			at = strings.Replace(f.Pointer, "/probe/headers", "/outcomes/check_headers", 1)
		}
		faults = append(faults, Fault{at, f.Detail})
	}
	if seq, ok := p.IndexSeqProbe(); ok {
		if fault := seq.tagFault(); fault != "" {
			faults = append(faults, Fault{"/outcomes/check_seq_from", fault})
		}
	}
	return faults
}

// IndexNow is what the index answered of one document.
type IndexNow struct {
	Status   int    // of HTTP; 0 where no answer came
	Found    bool   // it holds the document in some version
	Holds    string // what it names: a version, or a digest; as it came
	Seq      *int64 // its ingest_seq, where it names one
	Sentence string // why there is nothing to compare; for a person
}

// IndexQuestion is a redrive that the target took, and that the index is asked
// about.
type IndexQuestion struct {
	Redrive   Redrive
	IngestSeq *int64 // of the failure that is replayed, as it was sent
	Checks    int    // how often it was asked before
}

// IndexReading is what an answer says of a redrive.
type IndexReading struct {
	Outcome  OutcomeResult // committed or superseded; empty: it is asked again
	Version  string        // of the document in the index, where that is what agreed
	SHA256   string        // likewise
	Seq      *int64
	Sentence string
}

// Read says what the index's answer tells of the redrive. Only what agrees with
// something that was sent is a commit: that a document is there at all may be
// the version that was there before. A greater ingest_seq than was sent is a
// newer version, so this one was superseded; without sequence numbers, newer
// cannot be told from older, and the index is asked again until the time is over.
func (q IndexQuestion) Read(now IndexNow) IndexReading {
	r := IndexReading{Seq: q.IngestSeq}
	if !now.Found {
		r.Sentence = now.Sentence
		return r
	}
	if now.Seq != nil && q.IngestSeq != nil && *now.Seq > *q.IngestSeq {
		return IndexReading{Outcome: OutcomeSuperseded, Seq: now.Seq, Sentence: "the index holds a newer version"}
	}
	version, digest := q.sent()
	holds := bareTag(now.Holds)
	comparable := false
	if isHex(holds, 64) && digest != "" {
		comparable = true
		if strings.EqualFold(holds, digest) {
			r.Outcome, r.SHA256, r.Sentence = OutcomeCommitted, digest, "the index holds the bytes that were sent"
			return r
		}
	}
	if holds != "" && version != "" {
		comparable = true
		if holds == bareTag(version) {
			r.Outcome, r.Version, r.Sentence = OutcomeCommitted, version, "the index holds the version that was sent"
			return r
		}
	}
	switch {
	case comparable:
		r.Sentence = "the index holds another version than was sent"
	case now.Seq != nil && q.IngestSeq != nil && *now.Seq == *q.IngestSeq:
		r.Outcome, r.Sentence = OutcomeCommitted, "the index holds the ingest_seq that was sent"
	case now.Seq != nil && q.IngestSeq != nil:
		r.Sentence = "the index holds an older ingest_seq than was sent"
	case now.Sentence != "":
		r.Sentence = now.Sentence
	default:
		r.Sentence = "the index holds the document, and nothing was sent that its version can be compared with; park it with source_version, payload_sha256 or ingest_seq"
	}
	return r
}

// sent is the version and the digest of what went to the pipeline. Under held
// they are the stored copy's; under source those that the source named when it
// was asked before the send.
func (q IndexQuestion) sent() (version, digest string) {
	if q.Redrive.Sent == ModeHeld {
		return q.Redrive.SourceVersion, q.Redrive.PayloadSHA256
	}
	return q.Redrive.Probe.ETag, q.Redrive.Probe.SHA256
}

// bareTag takes the quotes and the mark of weakness off a tag: an index keeps
// versions as words, and drops them.
func bareTag(tag string) string {
	tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/")
	if len(tag) >= 2 && strings.HasPrefix(tag, `"`) && strings.HasSuffix(tag, `"`) {
		tag = tag[1 : len(tag)-1]
	}
	return tag
}

// The index is asked soon after the target took the redrive, and then less and
// less often: most commits are there at once, and what is not may take a night.
const (
	indexFirst = 5 * time.Second
	indexMost  = 5 * time.Minute
)

// IndexBackoff is how long to wait after the index was asked n times.
func IndexBackoff(n int) time.Duration {
	wait := indexFirst
	for i := 1; i < n && wait < indexMost; i++ {
		wait *= 2
	}
	return min(wait, indexMost)
}

// IndexChecked is how far the index was asked about a redrive in flight.
type IndexChecked struct {
	Times int
	Said  string // of the last answer, in words; empty before the first
	Again time.Time
	Until time.Time // its outcome is overdue after this
}
