package redrive

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"

	"dlo/dlq"
)

// TargetCheck holds a redrive target to what it promises by sending it test
// redrives, each marked as one, so that a pipeline can answer what would come of
// it and commit nothing.
type TargetCheck struct {
	Sender  Sender
	Clock   func() time.Time
	URL     string
	Secret  string // that signs; empty: unsigned, and nothing is said of signatures
	ReplyTo string // where a target that does not answer with the outcome may report it
	// Heard waits for the outcomes of redrives that were reported to ReplyTo, by
	// the redrive's id; nil where nobody listens.
	Heard func(ctx context.Context, redriveIDs []string) map[string]dlq.OutcomeResult
}

// PromiseState says whether a promise is kept.
type PromiseState string

// The states of a promise. Unknown is a target that did not tell.
const (
	PromiseKept    PromiseState = "kept"
	PromiseBroken  PromiseState = "broken"
	PromiseUnknown PromiseState = "not told"
)

// Promise is one that a pipeline makes by being a redrive target.
type Promise struct {
	Name  string       `json:"name"`
	State PromiseState `json:"state"`
	Says  string       `json:"says"` // what was seen, and what is expected where it differs
}

// CheckedDelivery is one delivery of a check, and what came back.
type CheckedDelivery struct {
	Step      string            `json:"step"`
	RedriveID string            `json:"redrive_id"`
	Status    int               `json:"status"`           // of HTTP; 0 where no answer came
	Result    dlq.OutcomeResult `json:"result,omitempty"` // as it answered or reported
	Says      string            `json:"says,omitempty"`   // what stood in the way

	key       string
	judgement Judgement
}

// TargetReport is what a check found.
type TargetReport struct {
	Promises   []Promise         `json:"promises"`
	Deliveries []CheckedDelivery `json:"deliveries"`
	// Unchecked says why the target could not be checked at all; empty where it
	// could.
	Unchecked string `json:"unchecked,omitempty"`
}

// Count counts the promises of a state.
func (r TargetReport) Count(s PromiseState) int {
	n := 0
	for _, p := range r.Promises {
		if p.State == s {
			n++
		}
	}
	return n
}

// atOnce is how many redrives of one key are sent at one time, each twice.
const atOnce = 4

// The steps of a check, in their order.
const (
	stepUnsigned = "signed with another secret"
	stepFirst    = "first"
	stepAgain    = "the same again"
	stepSameKey  = "another redrive of the same key"
	stepAtOnce   = "at the same time"
	stepOlder    = "an older version after a newer one"
)

// Run sends the test redrives, 12 of them and one more where they are signed,
// and says which promises the target keeps.
func (c *TargetCheck) Run(ctx context.Context) TargetReport {
	var r TargetReport
	run := strings.ToLower(rand.Text())
	delivery := func(id, key string, seq int64) dlq.Delivery {
		digest := sha256.Sum256([]byte(run + key))
		hash := hex.EncodeToString(digest[:])
		return dlq.Delivery{URL: c.URL, Secrets: c.secrets(), Test: true, RedriveID: "test-" + run + "-" + id, DLQID: "test-" + run, Source: "dlo-target-check", DocID: run,
			ContentHash: hash, Mode: dlq.ModeHeld, PayloadSHA256: hash, SourceVersion: fmt.Sprintf(`"%d"`, seq), IngestSeq: &seq, RedriveCount: 1, Attempts: 1, ReplyTo: c.ReplyTo, Try: 1}
	}
	send := func(step string, d dlq.Delivery) CheckedDelivery {
		answer, _ := c.Sender.Send(ctx, d) // the answer says it in words
		v := Judge(answer, d.RedriveID, c.Clock())
		out := CheckedDelivery{Step: step, RedriveID: d.RedriveID, Status: answer.Status, Says: v.Sentence, key: d.ContentHash, judgement: v.Judgement}
		switch {
		case v.Outcome != nil:
			out.Result = v.Outcome.Result
		case v.Judgement == Skipped:
			out.Result = dlq.OutcomeSkipped
		}
		return out
	}
	add := func(d CheckedDelivery) CheckedDelivery {
		r.Deliveries = append(r.Deliveries, d)
		return d
	}

	first := add(send(stepFirst, delivery("1", "a", 1000)))
	if first.Status == 0 {
		r.Unchecked = first.Says
		return r
	}
	add(send(stepAgain, delivery("1", "a", 1000)))
	add(send(stepSameKey, delivery("2", "a", 1000)))
	for _, d := range sendAtOnce(delivery, send) {
		add(d)
	}
	newer := r.Deliveries // an outcome that follows is waited for, so that what comes next is older for certain
	c.listen(ctx, newer)
	add(send(stepOlder, delivery("older", "c", 1)))
	c.listen(ctx, r.Deliveries[len(r.Deliveries)-1:])
	older := r.Deliveries[len(r.Deliveries)-1]

	r.Promises = []Promise{takes(newer), commitsOnce(newer), supersedes(newer, older)}
	if c.Secret != "" {
		d := delivery("forged", "forged", 1000)
		d.Secrets = []string{newSecret()}
		r.Promises = append([]Promise{refusesForgeries(add(send(stepUnsigned, d)))}, r.Promises...)
	}
	return r
}

func (c *TargetCheck) secrets() []string {
	if c.Secret == "" {
		return nil
	}
	return []string{c.Secret}
}

func newSecret() string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // crypto/rand.Read never returns an error
	return "whsec_" + base64.StdEncoding.EncodeToString(raw)
}

// sendAtOnce sends several redrives of one key, each of them twice, and lets
// them go together.
func sendAtOnce(delivery func(id, key string, seq int64) dlq.Delivery, send func(string, dlq.Delivery) CheckedDelivery) []CheckedDelivery {
	out := make([]CheckedDelivery, 2*atOnce)
	start := make(chan struct{})
	var sent sync.WaitGroup
	for i := range out {
		d := delivery(fmt.Sprintf("at-once-%d", i/2+1), "b", 1001)
		sent.Go(func() {
			<-start
			out[i] = send(stepAtOnce, d)
		})
	}
	close(start)
	sent.Wait()
	return out
}

// listen fills in the outcomes that a target reported in place of answering
// with them.
func (c *TargetCheck) listen(ctx context.Context, deliveries []CheckedDelivery) {
	if c.Heard == nil {
		return
	}
	var ids []string
	for _, d := range deliveries {
		if d.Result == "" && d.judgement == Taken {
			ids = append(ids, d.RedriveID)
		}
	}
	if len(ids) == 0 {
		return
	}
	heard := c.Heard(ctx, ids)
	for i, d := range deliveries {
		if d.Result == "" {
			deliveries[i].Result = heard[d.RedriveID]
		}
	}
}

// takes judges that every delivery is answered with 2xx or 409, repeated ones
// included. One that is asked to come later, as by 429, breaks nothing.
func takes(deliveries []CheckedDelivery) Promise {
	p := Promise{Name: "takes a redrive, and the same one again", State: PromiseKept, Says: fmt.Sprintf("%d deliveries were answered with 2xx or 409", len(deliveries))}
	for _, d := range deliveries {
		switch d.judgement {
		case Taken, Skipped:
			continue
		case Retry:
			if p.State == PromiseKept {
				p.State, p.Says = PromiseUnknown, fmt.Sprintf("%s: %s, so it has to be sent again; run the check again", d.Step, d.Says)
			}
			continue
		}
		return Promise{p.Name, PromiseBroken, fmt.Sprintf("%s: %s; 2xx or 409 expected", d.Step, d.Says)}
	}
	return p
}

// commitsOnce judges that a key is committed by one of its redrives at most. A
// redrive that is delivered twice may tell its own commit twice.
func commitsOnce(deliveries []CheckedDelivery) Promise {
	const name = "commits a key once"
	committed, told, other, keys := map[string]map[string]bool{}, 0, dlq.OutcomeResult(""), map[string]bool{}
	for _, d := range deliveries {
		keys[d.key] = true
		switch d.Result {
		case "":
			continue
		case dlq.OutcomeCommitted:
			if committed[d.key] == nil {
				committed[d.key] = map[string]bool{}
			}
			committed[d.key][d.RedriveID] = true
		case dlq.OutcomeSkipped:
		default:
			other = d.Result
		}
		told++
	}
	for _, by := range committed {
		if len(by) > 1 {
			return Promise{name, PromiseBroken, fmt.Sprintf("%d redrives of one key each say that they committed it; one expected, and skipped or 409 from the others", len(by))}
		}
	}
	switch {
	case told == 0:
		return Promise{name, PromiseUnknown, "it took them and told no outcome, neither in its answers nor to reply_to"}
	case other != "":
		return Promise{name, PromiseUnknown, fmt.Sprintf("it says %s of a test redrive; committed or skipped expected", other)}
	case told < len(deliveries):
		return Promise{name, PromiseUnknown, fmt.Sprintf("it told %d of %d outcomes", told, len(deliveries))}
	case len(committed) < len(keys):
		return Promise{name, PromiseUnknown, "it skipped every redrive of a key that is new to it"}
	}
	return Promise{name, PromiseKept, fmt.Sprintf("%d deliveries of %d keys: %d committed, the others skipped", len(deliveries), len(keys), len(keys))}
}

// supersedes judges that an older version never goes in after a newer one.
func supersedes(newer []CheckedDelivery, older CheckedDelivery) Promise {
	const name = "lets no older version in after a newer one"
	in := false
	for _, d := range newer {
		in = in || d.Result == dlq.OutcomeCommitted
	}
	switch {
	case older.judgement != Taken && older.judgement != Skipped:
		return Promise{name, PromiseUnknown, older.Says}
	case older.Result == dlq.OutcomeSuperseded:
		return Promise{name, PromiseKept, "a smaller ingest_seq after a greater one is superseded"}
	case older.Result == dlq.OutcomeCommitted && in:
		return Promise{name, PromiseBroken, "a smaller ingest_seq after a greater one is committed; superseded expected"}
	case older.Result == "":
		return Promise{name, PromiseUnknown, "it took the older version and told no outcome"}
	}
	return Promise{name, PromiseUnknown, fmt.Sprintf("it says %s of the older version; superseded expected", older.Result)}
}

// refusesForgeries judges that a delivery whose signature does not fit is not
// taken.
func refusesForgeries(d CheckedDelivery) Promise {
	const name = "refuses what is not signed with its secret"
	switch {
	case d.judgement == Taken || d.judgement == Skipped:
		return Promise{name, PromiseBroken, fmt.Sprintf("a delivery that is signed with another secret was answered %d; 401 expected", d.Status)}
	case d.judgement == Refused && d.Status != 0:
		return Promise{name, PromiseKept, fmt.Sprintf("a delivery that is signed with another secret was answered %d", d.Status)}
	}
	return Promise{name, PromiseUnknown, d.Says}
}
