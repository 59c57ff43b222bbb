package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"dlo/dlq"
	"dlo/dlq/client"
)

// WorkerArgument is the argument with which the program starts as a worker; see
// RunWorker.
const WorkerArgument = "parse-worker"

// hello is the first frame that a worker gets: who it is.
type hello struct {
	ServerURL string       `json:"server"`
	Token     string       `json:"token"`
	Folder    string       `json:"folder"`
	Spool     string       `json:"spool"`
	Base      string       `json:"base"` // address of the pipeline
	Retry     client.Retry `json:"retry"`
	Memory    int64        `json:"memory"` // bytes
}

// job is a delivery, as a worker gets it.
type job struct {
	Source       string          `json:"source"`
	DocID        string          `json:"doc_id"`
	Redrive      *client.Redrive `json:"redrive,omitempty"`
	Sync         *syncWork       `json:"sync,omitempty"`
	Seq          int64           `json:"seq"` // of what is read from the source
	ReceiveCount int             `json:"receive_count"`
	Back         client.Returned `json:"back"`
	Parser       string          `json:"parser"`
	Memory       string          `json:"memory"` // as a version
	Now          time.Time       `json:"now"`
	Slow         time.Duration   `json:"slow,omitempty"` // before the work, for whoever wants to watch
}

// answer is what a worker says to a job: what to do with the message and, of one
// that is acknowledged, what to write down.
type answer struct {
	Do     client.Action    `json:"do"`
	After  time.Duration    `json:"after,omitempty"`
	Class  dlq.FailureClass `json:"class,omitempty"`
	Why    string           `json:"why"`
	Err    string           `json:"err,omitempty"`
	Back   client.Returned  `json:"back"`
	Gone   bool             `json:"gone,omitempty"` // there is nothing to settle
	State  documentState    `json:"state"`
	Record *record          `json:"record,omitempty"`
	Chunks int              `json:"chunks,omitempty"`
	Report *client.Outcome  `json:"report,omitempty"`
}

// RunWorker is a worker of the pipeline: a process that takes one delivery after
// the other from its standard input, works on it under the guard, and answers on
// its standard output. It has little memory, and a document that needs more kills
// it; the pipeline notices, and its queue delivers again. It ends when its input
// does.
func RunWorker(in io.Reader, out io.Writer) error {
	// A terminal's Ctrl-C reaches every process of its group. Who stops is for the
	// pipeline to say; a worker that went first would look like one that died.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	os.Stdout = os.Stderr // what a library prints must not stand between frames
	var h hello
	if err := readFrame(in, &h); err != nil {
		return fmt.Errorf("read who the worker is: %w", err)
	}
	debug.SetMemoryLimit(h.Memory * 3 / 4) // the collector works harder before the system says no
	if err := limitMemory(h.Memory); err != nil {
		return err
	}
	w, err := newWorker(h)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	jobs := make(chan job)
	go func() {
		defer stop() // the pipeline is gone
		for {
			var j job
			if readFrame(in, &j) != nil {
				return
			}
			select {
			case jobs <- j:
			case <-ctx.Done():
				return
			}
		}
	}()
	spool := time.NewTicker(lookEvery)
	defer spool.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case j := <-jobs:
			if err := writeFrame(out, w.handle(ctx, j)); err != nil {
				return err
			}
		case <-spool.C:
			_, _ = w.client.SendSpool(ctx) // what is left is sent next time
		}
	}
}

// worker works on one job at a time.
type worker struct {
	hello
	client *client.Client
	folder *folder
	guard  *client.Guard

	// Of the job at hand.
	job    job
	parser *parser
	back   client.Returned
	at     given
	done   processed
	gone   bool
}

func newWorker(h hello) (*worker, error) {
	c, err := client.New(client.Config{URL: h.ServerURL, Token: h.Token, Spool: h.Spool, Retry: h.Retry})
	if err != nil {
		return nil, err
	}
	w := &worker{hello: h, client: c, folder: &folder{dir: h.Folder, now: time.Now}}
	w.guard = &client.Guard{Client: c, Park: w, Tries: w, Limit: maxDocument, TransientTries: 8, First: 500 * time.Millisecond, Max: time.Minute}
	return w, nil
}

// handle works on one delivery.
func (w *worker) handle(ctx context.Context, j job) answer {
	parser, err := parserNamed(j.Parser)
	if err != nil {
		return answer{Do: client.ActRedeliver, Err: err.Error(), Back: j.Back, After: time.Minute}
	}
	w.job, w.parser, w.back, w.done, w.gone = j, parser, j.Back, processed{}, false
	w.at = w.given()
	w.guard.Describe = describeInto(j.Memory)
	d := client.Delivery{ReceiveCount: j.ReceiveCount, Source: j.Source, DocID: j.DocID}
	if j.Redrive != nil {
		d.RedriveID = j.Redrive.RedriveID
		return w.answer(w.guard.Handle(ctx, d, nil, w.redrive))
	}
	d.Envelope, d.Open = letterOf(w.at, parser, *j.Sync, w.documentURL()), w.open
	return w.answer(w.guard.Handle(ctx, d, w.length, w.sync))
}

func (w *worker) documentURL() string {
	return w.Base + "/docs/" + w.job.Source + "/" + w.job.DocID
}

// given is what is known of the document before it is opened.
func (w *worker) given() given {
	g := given{source: w.job.Source, id: w.job.DocID, seq: w.job.Seq}
	if r := w.job.Redrive; r != nil {
		g.contentHash, g.sourceVersion, g.seq = r.ContentHash, r.SourceVersion, seqOf(*r)
		return g
	}
	g.contentHash, g.sourceVersion = w.job.Sync.ContentHash, w.job.Sync.SourceVersion
	return g
}

// sync works on a document as its source has it.
func (w *worker) sync(ctx context.Context, a *client.Attempt) error {
	doc, err := w.folder.read(w.job.Source, w.job.DocID)
	if errors.Is(err, fs.ErrNotExist) {
		w.gone = true
		return nil
	}
	if err != nil {
		return &stageError{"fetch", client.Transient(err)}
	}
	w.at = givenFrom(doc, w.job.Seq)
	work := *w.job.Sync
	work.Filename, work.Modified = doc.Filename, doc.Modified
	a.Envelope, a.Open = letterOf(w.at, w.parser, work, w.documentURL()), client.Bytes(doc.Bytes)
	a.Envelope.Source, a.Envelope.DocID = w.job.Source, w.job.DocID
	return w.process(ctx)
}

// redrive works on the bytes that a redrive asks for: the copy that failed, from
// the server, or the document as it is now, from its source. The copy keeps its
// place in the order of arrivals; what is read anew comes now.
func (w *worker) redrive(ctx context.Context, _ *client.Attempt) error {
	if r := w.job.Redrive; r.Mode == string(dlq.ModeHeld) && r.PayloadURL != "" {
		raw, err := w.client.ReadPayload(ctx, *r, maxDocument)
		if err != nil && client.ClassOf(err) == "" {
			err = &copyError{err}
		}
		if err != nil {
			return &stageError{"fetch", err}
		}
		w.at.bytes, w.at.contentHash = raw, digestOf(raw)
		return w.process(ctx)
	}
	doc, err := w.folder.read(w.job.Source, w.job.DocID)
	if errors.Is(err, fs.ErrNotExist) {
		return &stageError{"fetch", client.Unsupported(&SourceGoneError{})}
	}
	if err != nil {
		return &stageError{"fetch", client.Transient(err)}
	}
	w.at = givenFrom(doc, w.job.Seq)
	return w.process(ctx)
}

func (w *worker) process(ctx context.Context) error {
	if w.job.Slow > 0 {
		select {
		case <-time.After(w.job.Slow):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	w.done = w.parser.process(w.at)
	return w.done.err
}

// length is what a HEAD would say of the document.
func (w *worker) length(context.Context) (int64, error) {
	info, err := os.Lstat(filepath.Join(w.Folder, w.job.Source, filepath.Base(w.job.DocID)+series[w.job.Source].extension))
	if err != nil {
		return -1, err
	}
	return info.Size(), nil
}

// open gives the document to a dead letter that is parked unread.
func (w *worker) open(context.Context) (io.ReadCloser, error) {
	doc, err := w.folder.read(w.job.Source, w.job.DocID)
	if err != nil || doc.SHA256 != w.at.contentHash {
		return nil, errGone
	}
	return client.Bytes(doc.Bytes)(nil)
}

// answer shapes what came of a delivery. The result of an outcome is the store's
// to say.
func (w *worker) answer(d client.Decision) answer {
	j, parser := w.job, w.parser
	a := answer{Do: d.Do, After: d.After, Class: d.Class, Why: d.Why, Back: w.back, Gone: w.gone}
	if d.Err != nil {
		a.Err = d.Err.Error()
	}
	if !d.Acknowledge() || w.gone {
		return a
	}
	done := w.done
	if d.Do == client.ActParked {
		done = processed{err: d.Err}
	}
	when := j.Now
	if j.Sync != nil {
		when = j.Sync.Last
	}
	st := settlementOf(w.at, parser, done, when)
	a.State, a.Chunks = st.state, st.chunks
	if st.record != nil {
		a.Record = &record{Fields: st.record.Fields} // the text was counted
	}
	switch {
	case j.Redrive != nil:
		a.Report = outcomeOf(w.at, parser, j.Memory, done, j.Redrive.RedriveID, j.Now)
		if w.at.bytes == nil {
			a.Report.PayloadSHA256 = "" // nothing was read
		}
	case done.err == nil && j.Sync.WasParked: // somebody waits for this document in the queue
		a.Report = outcomeOf(w.at, parser, j.Memory, done, "", j.Now)
	}
	return a
}

// Park implements client.Parker. The failure of a redrive goes to the server as
// its outcome, which the pipeline keeps until it is taken; a document of a sync is
// parked.
func (w *worker) Park(ctx context.Context, e dlq.Envelope, payload io.Reader) (client.Parked, error) {
	if w.job.Redrive != nil {
		return client.Parked{}, nil
	}
	return w.client.Park(ctx, e, payload)
}

// Load implements client.Tries on what came with the message: the pipeline's
// table has it, and writes down what Return says together with the message's next
// delivery. A worker that dies between the two has given no answer.
func (w *worker) Load(context.Context, string) (client.Returned, error) { return w.back, nil }

// Return implements client.Tries.
func (w *worker) Return(_ context.Context, _ string, tried bool) error {
	w.back.Deliveries++
	if !tried {
		w.back.Untried++
	}
	return nil
}

// Forget implements client.Tries. A message that is done takes its count along.
func (w *worker) Forget(context.Context, string) error { return nil }
