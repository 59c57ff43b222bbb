package sweep

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dlo/dlq"
)

// IndexStore is what asking the index needs of the store.
type IndexStore interface {
	Sources(ctx context.Context) ([]dlq.Source, error)
	// IndexQuestions lists what the index is due to be asked about, of one source.
	IndexQuestions(ctx context.Context, source dlq.Source, limit int) ([]dlq.IndexQuestion, error)
	// IndexSaid records an answer that settles nothing, and when to ask again.
	IndexSaid(ctx context.Context, redriveID, said string, again time.Time) error
	ApplyOutcome(ctx context.Context, by dlq.Actor, o dlq.Outcome, fp *dlq.Fingerprint) (dlq.OutcomeReceipt, error)
}

// Index is asked what it holds of a document.
type Index interface {
	AskIndex(ctx context.Context, policy dlq.OutcomePolicy, source, docID string) dlq.IndexNow
}

// The bounds of one turn. What is left stays due for the next.
const (
	indexAtOnce = 8                // questions in flight
	indexSlice  = 32               // of one source, between the others' turns
	indexTurn   = 30 * time.Second // an index that does not answer holds the others up for no longer
)

var indexChecker = dlq.Policy("index check")

// IndexCheck asks the index for what sources with outcomes.mode check have sent,
// until it holds what was sent, or a newer version. Until then it is asked less
// and less often; the time-out of outcomes, which is another step's, ends it.
// wake is told when a place became free; it may be nil.
//
// It waits for others, so it must not share a Runner with steps that people
// wait for.
func IndexCheck(store IndexStore, index Index, clock func() time.Time, wake func()) Step {
	return Step{Name: "asking the index", Every: Often, Do: func(ctx context.Context, _ time.Time) (int, string, error) {
		turn, cancel := context.WithTimeout(ctx, indexTurn)
		defer cancel()
		c := &indexCheck{store: store, index: index, clock: clock, places: make(chan struct{}, indexAtOnce)}
		err := c.all(ctx, turn)
		if c.settled > 0 && wake != nil {
			wake()
		}
		return c.settled, fmt.Sprintf("the index was asked about %s, and %d are settled by it", counted(c.asked, "redrive", "redrives"), c.settled), err
	}}
}

type indexCheck struct {
	store  IndexStore
	index  Index
	clock  func() time.Time
	places chan struct{}

	mu             sync.Mutex
	asked, settled int
	errs           []error
}

// all asks for every source by slices, so that one with much to ask does not
// keep the others waiting.
func (c *indexCheck) all(ctx, turn context.Context) error {
	sources, err := c.store.Sources(ctx)
	if err != nil {
		return fmt.Errorf("find sources whose index is asked: %w", err)
	}
	for more := true; more && turn.Err() == nil; {
		more = false
		var asking sync.WaitGroup
		for _, s := range sources {
			if s.Policy.Outcomes.Mode != dlq.OutcomesCheck {
				continue
			}
			questions, err := c.store.IndexQuestions(ctx, s, indexSlice)
			if err != nil {
				asking.Wait()
				return err
			}
			more = more || len(questions) == indexSlice
			for _, q := range questions {
				select {
				case c.places <- struct{}{}:
				case <-turn.Done():
					asking.Wait()
					return errors.Join(c.errs...)
				}
				asking.Go(func() {
					defer func() { <-c.places }()
					c.one(ctx, turn, s.Policy.Outcomes, q)
				})
			}
		}
		asking.Wait()
		if len(c.errs) > 0 {
			break
		}
	}
	return errors.Join(c.errs...)
}

// one asks about one redrive, and records what came of it. A question that the
// end of the turn broke off says nothing of the index, and stays due.
func (c *indexCheck) one(ctx, turn context.Context, policy dlq.OutcomePolicy, q dlq.IndexQuestion) {
	now := c.index.AskIndex(turn, policy, q.Redrive.Source, q.Redrive.DocID)
	if !now.Found && now.Status == 0 && turn.Err() != nil {
		return
	}
	reading := q.Read(now)
	settled, err := c.record(context.WithoutCancel(ctx), q, reading)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	if settled {
		c.settled++
	}
	if err != nil {
		c.errs = append(c.errs, err)
	}
}

func (c *indexCheck) record(ctx context.Context, q dlq.IndexQuestion, r dlq.IndexReading) (bool, error) {
	at := c.clock()
	if r.Outcome == "" {
		return false, c.store.IndexSaid(ctx, q.Redrive.ID, r.Sentence, at.Add(dlq.IndexBackoff(q.Checks+1)))
	}
	o := dlq.Outcome{RedriveID: q.Redrive.ID, Result: r.Outcome, At: at.UTC().Truncate(time.Millisecond), IngestSeq: r.Seq, SourceVersion: r.Version, PayloadSHA256: r.SHA256}
	if _, err := c.store.ApplyOutcome(ctx, indexChecker, o, nil); err != nil {
		return false, fmt.Errorf("apply what the index holds for redrive %s: %w", q.Redrive.ID, err)
	}
	return true, nil
}
