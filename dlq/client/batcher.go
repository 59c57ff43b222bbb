package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dlo/dlq"
)

// BatcherConfig bounds a Batcher. A zero field is its default.
type BatcherConfig struct {
	Lines int           // envelopes in one call, default 200
	Bytes int           // of messages, traces and inline payloads in one call, roughly; default 4 MiB
	Wait  time.Duration // how long the first envelope of a batch waits for others, default 50 ms
	Queue int           // envelopes that wait for a batch, default 2 × Lines; then Add and Park block
}

// Batcher gathers envelopes into calls of ParkBatch. Whoever adds faster than
// the server takes is made to wait: memory is bounded, and a flood of failures
// slows the pipeline instead of losing them.
type Batcher struct {
	client *Client
	config BatcherConfig
	queue  chan batched
	closed chan struct{} // closed when no more envelopes are taken
	done   chan struct{} // closed when all that were taken are answered for

	mu       sync.Mutex // guards isClosed, and adding against a late Add
	isClosed bool
	adding   sync.WaitGroup
}

type batched struct {
	envelope dlq.Envelope
	answer   func(Parked, error)
}

// ErrBatcherClosed says that an envelope came after Close.
var ErrBatcherClosed = errors.New("client: the batcher is closed")

// NewBatcher makes a batcher. Nothing is sent before Run runs.
func NewBatcher(c *Client, config BatcherConfig) *Batcher {
	if config.Lines <= 0 {
		config.Lines = 200
	}
	if config.Bytes <= 0 {
		config.Bytes = 4 << 20
	}
	if config.Wait <= 0 {
		config.Wait = 50 * time.Millisecond
	}
	if config.Queue <= 0 {
		config.Queue = 2 * config.Lines
	}
	return &Batcher{client: c, config: config, queue: make(chan batched, config.Queue), closed: make(chan struct{}), done: make(chan struct{})}
}

// Add hands over an envelope and returns as soon as there is room for it. answer
// is called once, from Run, when the envelope is safe or is known not to be; it
// must not block. Where Add returns an error answer is never called.
func (b *Batcher) Add(ctx context.Context, e dlq.Envelope, answer func(Parked, error)) error {
	b.mu.Lock()
	if b.isClosed {
		b.mu.Unlock()
		return ErrBatcherClosed
	}
	b.adding.Add(1)
	b.mu.Unlock()
	defer b.adding.Done()
	select {
	case b.queue <- batched{e, answer}:
		return nil
	case <-b.closed:
		return ErrBatcherClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Park is Add that waits for the answer. An error of the context leaves open
// whether the envelope was parked; parking it again is one arrival if it has an
// event_id or a last_seen_at.
func (b *Batcher) Park(ctx context.Context, e dlq.Envelope) (Parked, error) {
	type result struct {
		parked Parked
		err    error
	}
	answered := make(chan result, 1)
	if err := b.Add(ctx, e, func(p Parked, err error) { answered <- result{p, err} }); err != nil {
		return Parked{}, err
	}
	select {
	case r := <-answered:
		return r.parked, r.err
	case <-ctx.Done():
		return Parked{}, ctx.Err()
	}
}

// Run sends batches until Close is called or the context ends, sends what is
// queued by then (without a server: to the spool), and returns. It is called
// once.
func (b *Batcher) Run(ctx context.Context) {
	defer close(b.done)
	for {
		select {
		case first := <-b.queue:
			b.send(ctx, b.gather(ctx, first))
			continue
		case <-b.closed:
		case <-ctx.Done():
		}
		b.takeNoMore()
		b.adding.Wait() // an Add that is under way is in the queue or refused
		b.drain(ctx)
		return
	}
}

// Close takes no more envelopes, and returns when all that were taken are
// answered for. Run must have been called.
func (b *Batcher) Close() {
	b.takeNoMore()
	<-b.done
}

func (b *Batcher) takeNoMore() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.isClosed {
		b.isClosed = true
		close(b.closed)
	}
}

// gather fills a batch until it is full or the first has waited long enough.
func (b *Batcher) gather(ctx context.Context, first batched) []batched {
	batch, size := []batched{first}, roughSize(first.envelope)
	timer := time.NewTimer(b.config.Wait)
	defer timer.Stop()
	for len(batch) < b.config.Lines && size < b.config.Bytes {
		select {
		case next := <-b.queue:
			batch, size = append(batch, next), size+roughSize(next.envelope)
		case <-timer.C:
			return batch
		case <-b.closed:
			return batch
		case <-ctx.Done():
			return batch
		}
	}
	return batch
}

// drain answers for what was queued when Run ended.
func (b *Batcher) drain(ctx context.Context) {
	for {
		select {
		case first := <-b.queue:
			b.send(ctx, b.gather(ctx, first))
		default:
			return
		}
	}
}

func (b *Batcher) send(ctx context.Context, batch []batched) {
	envelopes := make([]dlq.Envelope, len(batch))
	for i, one := range batch {
		envelopes[i] = one.envelope
	}
	lines, err := b.client.ParkBatch(ctx, envelopes)
	for i, one := range batch {
		switch {
		case err != nil:
			one.answer(Parked{}, err)
		case lines[i].Err != nil:
			one.answer(Parked{}, fmt.Errorf("park %s/%s: %w", one.envelope.Source, one.envelope.DocID, lines[i].Err))
		default:
			one.answer(lines[i].Parked, nil)
		}
	}
}

func roughSize(e dlq.Envelope) int {
	return 1024 + len(e.Payload) + len(e.StackTrace) + len(e.ErrorMessage)
}
