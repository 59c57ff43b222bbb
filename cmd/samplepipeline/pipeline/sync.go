package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"dlo/dlq/client"
)

// syncOne takes a source's document as an ordinary run of the connector does: into
// the queue, where a worker parses it, and commits it or parks it. It returns when
// that is done.
func (p *Pipeline) syncOne(ctx context.Context, source, id string) error {
	doc, err := p.folder.read(source, id)
	if err != nil {
		return fmt.Errorf("sync %s/%s: %w", source, id, err)
	}
	return p.syncDocuments(ctx, []file{doc})
}

// syncDocuments puts documents into the queue, and waits until they are out of it.
func (p *Pipeline) syncDocuments(ctx context.Context, docs []file) error {
	now, due := p.now(), make([]found, 0, len(docs))
	for _, doc := range docs {
		before, known, err := p.store.document(ctx, doc.Source, doc.ID)
		if err != nil {
			return err
		}
		work := syncWork{ContentHash: doc.SHA256, SourceVersion: doc.version(), Filename: doc.Filename, Modified: doc.Modified,
			First: now, Last: now, WasParked: known && before.Parked}
		if plan, planned := p.folder.planned(doc.Source, doc.ID); planned && !known {
			work.First, work.Last, work.Attempts = plan.First, plan.Last, plan.Attempts
		}
		due = append(due, found{doc.Source, doc.ID, work})
	}
	ids, err := p.store.enqueueSyncs(ctx, due, p.queueNow())
	if err != nil {
		return err
	}
	wake(p.workCame)
	return p.awaitSyncs(ctx, ids)
}

// awaitSyncs waits until the messages are out of the queue. One that fails for
// want of a server comes again and again: then it is the caller's context that
// ends.
func (p *Pipeline) awaitSyncs(ctx context.Context, ids []int64) error {
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		n, err := p.store.waiting(ctx, ids)
		if err != nil || n == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d documents are still in the queue: %w", n, len(ids), ctx.Err())
		case <-look.C:
		}
	}
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
	docs := make([]file, len(due))
	for i, c := range due {
		docs[i] = c.doc
	}
	return len(docs), p.syncDocuments(ctx, docs)
}

// candidate is a document that a sync may take.
type candidate struct {
	doc    file // without its bytes
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
	c := candidate{doc: doc, first: doc.Modified, lookup: client.Document{
		Source: source, DocID: id, SourceVersion: doc.version(), PayloadSHA256: doc.SHA256,
		Versions: map[string]string{"connector": connectorVersion, "parser": p.parser().version, "chunker": chunkerVersion}}}
	c.doc.Bytes = nil
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
