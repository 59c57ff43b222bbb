package pipeline

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"dlo/dlq/client"
)

// workingOn is what a worker does at this moment.
type workingOn struct {
	PID    int    `json:"pid"`
	Source string `json:"source"`
	DocID  string `json:"doc_id"`
}

// queueNow is the queue's clock. When a message is due is nobody's business but
// the queue's, so it is the machine's time in every case.
func (p *Pipeline) queueNow() time.Time { return time.Now() }

func (p *Pipeline) runWorker(ctx context.Context, n int) {
	w := &workerProcess{command: p.options.Worker, hello: hello{ServerURL: p.options.ServerURL, Token: p.options.Token, Folder: p.options.Folder,
		Spool: filepath.Join(p.options.Data, "spool", fmt.Sprintf("worker-%d", n+1)), Base: p.base, Retry: p.options.Retry}}
	defer w.stop()
	p.every(ctx, p.workCame, "working on a document", func(ctx context.Context) (bool, error) { return p.workOnce(ctx, n, w) })
}

// workOnce delivers one message to a worker, if one is due, and does what the
// worker answers.
func (p *Pipeline) workOnce(ctx context.Context, n int, w *workerProcess) (bool, error) {
	// Before there is work, because a worker sends its spool in between.
	if err := w.ready(p.memory.Load().MiB << 20); err != nil {
		return false, err
	}
	m, ok, err := p.store.take(ctx, p.queueNow())
	if err != nil || !ok {
		return false, err
	}
	wake(p.workCame) // there may be more, for another worker
	kept := context.WithoutCancel(ctx)
	j, err := p.jobOf(ctx, m)
	if err != nil {
		return false, errors.Join(err, p.store.putBack(kept, m, untried(m.back), p.queueNow().Add(lookEvery)))
	}
	p.working[n].Store(&workingOn{w.pid(), m.source, m.docID})
	a, err := w.call(ctx, j)
	p.working[n].Store(nil)
	switch {
	case errors.Is(err, errNoWorker): // it had died before; the next one is started first
		return true, p.store.putBack(kept, m, untried(m.back), p.queueNow())
	case err != nil && ctx.Err() != nil: // the pipeline stops; nothing is wrong with the document
		return false, p.store.putBack(kept, m, untried(m.back), p.queueNow())
	case err != nil:
		// The queue saw the worker die. It delivers again, and the count tells the
		// guard: nobody gave this delivery back.
		p.deaths.Add(1)
		p.log.Warn("a worker died", "source", m.source, "receive_count", m.receiveCount)
		wake(p.workCame)
		return true, p.store.putBack(kept, m, m.back, p.queueNow())
	}
	return true, p.settle(kept, m, j, a)
}

// untried is one more delivery that was given back, and that no work began on.
func untried(back client.Returned) client.Returned {
	return client.Returned{Deliveries: back.Deliveries + 1, Untried: back.Untried + 1}
}

// jobOf shapes a message for a worker.
func (p *Pipeline) jobOf(ctx context.Context, m message) (job, error) {
	way := p.ways.of(m.source)
	j := job{Source: m.source, DocID: m.docID, Redrive: m.redrive, Sync: m.sync, Seq: m.seq, ReceiveCount: m.receiveCount, Back: m.back,
		Parser: p.parser().name, Memory: p.memory.Load().version(), Now: p.now(), Slow: time.Duration(way.SlowMS) * time.Millisecond}
	if m.redrive != nil && j.Seq == 0 {
		var err error
		j.Seq, err = p.store.nextSeq(ctx)
		return j, err
	}
	return j, nil
}

// settle does what a worker answered.
func (p *Pipeline) settle(ctx context.Context, m message, j job, a answer) error {
	switch {
	case a.Do == client.ActRedeliver:
		p.log.Info("a message was given back", "source", m.source, "receive_count", m.receiveCount, "after", a.After, "class", a.Class, "why", a.Why)
		if a.After > 0 && a.After < lookEvery {
			time.AfterFunc(a.After, func() { wake(p.workCame) }) // sooner than the loop looks by itself
		}
		return p.store.putBack(ctx, m, a.Back, p.queueNow().Add(a.After))
	case a.Gone:
		return p.store.drop(ctx, m)
	}
	st := settlement{state: a.State, record: a.Record, chunks: a.Chunks, message: m.id, outcome: a.Report, silent: p.ways.of(m.source).Outcomes != outcomesReported}
	if m.redrive != nil {
		st.redriveID = m.redrive.RedriveID
	}
	result, err := p.store.settle(ctx, st)
	if err != nil {
		return err
	}
	if st.outcome != nil {
		p.wakeReporter()
	}
	if m.redrive != nil {
		p.log.Info("redrive processed", "redrive_id", m.redrive.RedriveID, "source", m.source, "mode", m.redrive.Mode, "result", result, "parser", a.State.ParserVersion)
	}
	return nil
}
