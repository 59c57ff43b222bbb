package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"dlo/dlq/client"
)

// maxDocument is how long a document may be, in bytes.
const maxDocument = 64 << 20

// Options say where a pipeline finds its world. Only ServerURL is required.
type Options struct {
	ServerURL string   // of the dead letter office
	Token     string   // of the scopes ingest, outcome and read
	Secrets   []string // whsec_…, one, or two while it is replaced; none: every delivery is refused

	Folder string // the documents; made with their faults where they are not there yet. Default: documents in Data
	Data   string // the pipeline's own database and spools. Default: a fresh temporary folder, removed at the end
	Listen string // default 127.0.0.1:0
	Seed   uint64 // of the documents, default 1

	Workers int              // processes that work at once, default 2
	Worker  []string         // the command that runs RunWorker; default: this program with WorkerArgument
	Retry   client.Retry     // of calls to the server, default 5 s
	Now     func() time.Time // default time.Now
	Log     *slog.Logger     // default: none
}

// Pipeline is a running sample pipeline.
type Pipeline struct {
	options Options
	client  *client.Client
	store   *store
	tests   *store // of test redrives: the same tables, and nobody's documents
	folder  *folder
	log     *slog.Logger
	now     func() time.Time
	base    string // http://host:port that it listens on

	current atomic.Pointer[parser]
	memory  atomic.Pointer[memorySetting] // of a worker
	ways    sourceWays                    // how each source behaves
	deaths  atomic.Int64                  // workers that ended without an answer, since the start
	working []atomic.Pointer[workingOn]   // by worker
	syncing sync.Mutex                    // one sync at a time
	busy    atomic.Bool

	workCame, outcomeCame chan struct{}
}

// Run runs a pipeline until the context ends, and returns when everything that
// it started has stopped. The first line that it prints is
// "pipeline listening on http://…"; the first sync follows by itself.
func Run(ctx context.Context, o Options, stdout io.Writer) (err error) {
	if o.Data == "" {
		o.Data, err = os.MkdirTemp("", "samplepipeline-*")
		if err != nil {
			return fmt.Errorf("make a folder for the pipeline's data: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.Data)) }()
	}
	p, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.tests.Close(), p.store.Close()) }()
	listen := o.Listen
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", listen, err)
	}
	p.base = "http://" + listener.Addr().String()
	if _, err := fmt.Fprintf(stdout, "pipeline listening on %s\n", p.base); err != nil {
		return errors.Join(err, listener.Close())
	}
	return p.serve(ctx, listener)
}

// open prepares everything but the listener.
func open(ctx context.Context, o Options) (*Pipeline, error) {
	p := &Pipeline{log: o.Log, now: o.Now,
		workCame: make(chan struct{}, 1), outcomeCame: make(chan struct{}, 1)}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if p.now == nil {
		p.now = time.Now
	}
	if o.Folder == "" {
		o.Folder = filepath.Join(o.Data, "documents")
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	if o.Workers <= 0 {
		o.Workers = 2
	}
	p.working = make([]atomic.Pointer[workingOn], o.Workers)
	if len(o.Worker) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find this program: %w", err)
		}
		o.Worker = []string{self, WorkerArgument}
	}
	if o.Retry == (client.Retry{}) {
		o.Retry = client.Retry{Budget: 5 * time.Second, Max: 2 * time.Second} // the queue and the spool have the long patience
	}
	p.options = o
	var err error
	p.client, err = client.New(client.Config{URL: o.ServerURL, Token: o.Token, Spool: filepath.Join(o.Data, "spool"), Retry: o.Retry, Now: p.now})
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Folder, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the documents: %w", err)
	}
	p.folder, err = openFolder(o.Folder, o.Seed, p.now)
	if err != nil {
		return nil, err
	}
	p.store, err = openStore(ctx, filepath.Join(o.Data, "pipeline.db"))
	if err != nil {
		return nil, err
	}
	if err := p.restoreSettings(ctx); err != nil {
		return nil, errors.Join(err, p.store.Close())
	}
	if p.tests, err = openStore(ctx, ":memory:"); err != nil {
		return nil, errors.Join(err, p.store.Close())
	}
	return p, nil
}

// restoreSettings makes run what ran when the pipeline stopped.
func (p *Pipeline) restoreSettings(ctx context.Context) error {
	name, err := p.store.setting(ctx, "parser", "old")
	if err != nil {
		return err
	}
	parser, err := parserNamed(name)
	if err != nil {
		return err
	}
	p.current.Store(parser)
	if name, err = p.store.setting(ctx, "memory", "small"); err != nil {
		return err
	}
	memory, err := memoryNamed(name)
	if err != nil {
		return err
	}
	p.memory.Store(&memory)
	return p.ways.restore(ctx, p.store)
}

// serve answers HTTP and runs the loops until the context ends.
func (p *Pipeline) serve(ctx context.Context, listener net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := &http.Server{Handler: p.routes(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: 5 * time.Minute, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(p.log.Handler(), slog.LevelWarn)}
	var loops sync.WaitGroup
	for n := range p.options.Workers {
		loops.Go(func() { p.runWorker(ctx, n) })
	}
	loops.Go(func() { p.runReporter(ctx) })
	loops.Go(func() { p.runSpool(ctx) })
	loops.Go(func() { p.runAnnouncer(ctx) })
	loops.Go(func() { p.runFirstSync(ctx) })
	failed := make(chan error, 1)
	loops.Go(func() { failed <- server.Serve(listener) })

	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	cancel()
	grace, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer done()
	err = errors.Join(err, server.Shutdown(grace))
	loops.Wait()
	if err != nil {
		return fmt.Errorf("serve the pipeline: %w", err)
	}
	return nil
}

func (p *Pipeline) parser() *parser { return p.current.Load() }

// switchParser makes another parser the one that runs, says so to the server,
// and remembers it. announced is false when the server was not there to be told;
// it is told later.
func (p *Pipeline) switchParser(ctx context.Context, name string) (announced bool, err error) {
	next, err := parserNamed(name)
	if err != nil {
		return false, err
	}
	if err := p.store.setSetting(ctx, "parser", name); err != nil {
		return false, err
	}
	p.current.Store(next)
	p.log.Info("the parser was switched", "parser", next.version)
	return p.announceOrLater(ctx)
}

// switchMemory gives workers another amount of memory, from their next job on, and
// says so as switchParser does.
func (p *Pipeline) switchMemory(ctx context.Context, name string) (announced bool, err error) {
	next, err := memoryNamed(name)
	if err != nil {
		return false, err
	}
	if err := p.store.setSetting(ctx, "memory", name); err != nil {
		return false, err
	}
	p.memory.Store(&next)
	p.log.Info("the workers' memory was changed", "memory", next.version())
	return p.announceOrLater(ctx)
}

func (p *Pipeline) announceOrLater(ctx context.Context) (announced bool, err error) {
	if err := p.announce(ctx); err != nil {
		p.log.Warn("the deployment was not announced, and is later", "error", err)
		return false, p.store.setSetting(ctx, "announced", "")
	}
	return true, nil
}

// runsNow names what can be switched, as it is.
func (p *Pipeline) runsNow() string { return p.parser().version + " " + p.memory.Load().version() }

// announce registers what runs now for every source.
func (p *Pipeline) announce(ctx context.Context) error {
	now := p.runsNow()
	running, stopped := p.parser().version, newParserVersion
	if running == newParserVersion {
		stopped = oldParserVersion
	}
	memory := p.memory.Load()
	var stoppedMemory []string
	for _, m := range memorySettings {
		if m != *memory {
			stoppedMemory = append(stoppedMemory, m.version())
		}
	}
	for _, source := range sourceNames {
		if err := p.client.Deployed(ctx, source, "parser", running, stopped); err != nil {
			return err
		}
		for component, version := range map[string]string{"connector": connectorVersion, "chunker": chunkerVersion} {
			if err := p.client.Deployed(ctx, source, component, version); err != nil {
				return err
			}
		}
		if err := p.client.Deployed(ctx, source, componentWorker, memory.version(), stoppedMemory...); err != nil {
			return err
		}
	}
	return p.store.setSetting(ctx, "announced", now)
}
