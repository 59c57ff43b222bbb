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
// came, and takes those that are new or changed, if they are worth a try.
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
	return len(due), nil
}

// candidate is a document that a sync may take.
type candidate struct {
	first  time.Time
	lookup client.Document
}

// candidate looks whether a document is new, or moved since it was last tried.
// What failed and did not move is in the queue's hands, under a newer parser too.
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
	if known && before.SourceVersion == doc.version() {
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
