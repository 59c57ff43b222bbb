package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"dlo/connectors/broker/webhook"
	"dlo/connectors/outbound"
	"dlo/dlq/intake"
	"dlo/dlq/probe"
	"dlo/dlq/redrive"
	"dlo/dlq/regroup"
	"dlo/dlq/sweep"
	"dlo/docs"
	"dlo/handlers"
	"dlo/static"
	"dlo/web"
)

// App is the whole server: what cmd alone sees together. open makes it, run
// serves until the context ends.
type App struct {
	config   serveConfig
	log      *slog.Logger
	stores   *stores
	guard    *outbound.Guard
	listener net.Listener
	server   *web.Server
	runner   *redrive.Runner
	asker    *redrive.Asker
	sweeper  *sweep.Runner
	checker  *sweep.Runner // asks the indexes of sources, which may take its time
	indexer  *sweep.TextIndexer
	regroup  *regroup.Runner
	tokens   *tokenLookup
	live     *handlers.Live
	setup    string // the link by which the first person is made; empty where somebody is there
	base     *url.URL
}

// openApp opens the data folder and everything that works on it, and listens.
// Nothing is answered before run.
func openApp(ctx context.Context, config serveConfig, log *slog.Logger) (_ *App, err error) {
	a := &App{config: config, log: log, guard: outbound.NewGuard(config.allow...)}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	if a.stores, err = config.open(ctx, true, config.NoMigrate); err != nil {
		return nil, err
	}
	voided, err := a.stores.db.VoidPreparations(ctx)
	if err != nil {
		return nil, fmt.Errorf("void what was being prepared: %w", err)
	}
	if voided > 0 {
		log.Warn("operations were voided whose membership was being written when the server stopped", "count", voided)
	}
	if n, err := a.stores.db.EndLeases(ctx); err != nil {
		return nil, err
	} else if n > 0 {
		log.Info("deliveries go on that were under way when the server stopped", "count", n)
	}
	if a.listener, err = net.Listen("tcp", config.Listen); err != nil {
		return nil, fmt.Errorf("--listen %q: %w", config.Listen, err)
	}
	a.base = config.publicURL
	if a.base == nil {
		a.base = &url.URL{Scheme: "http", Host: a.listener.Addr().String()}
	}
	if a.setup, err = a.firstPerson(ctx); err != nil {
		return nil, err
	}
	return a, a.wire()
}

// wire makes the parts and hands each what it needs.
func (a *App) wire() error {
	store, payloads := a.stores.db, a.stores.payloads
	links := handlers.SignedLinks{Key: a.stores.linkKey, Base: a.base}
	prober := probe.New(a.guard.Client(outbound.Options{ConnectTimeout: 3 * time.Second}), a.config.secrets.forHost, time.Now, a.config.MaxPayload)
	redrives, sender := a.redriveParts(webhook.New(a.guard.Client(outbound.Options{ConnectTimeout: 3 * time.Second, Timeout: 30 * time.Second, IdlePerHost: 256}), time.Now))
	a.runner = redrive.NewRunner(redrive.Options{Store: redrives, Sender: sender,
		Payloads: payloads, Links: links, Prober: prober, Reading: probe.Read, Clock: time.Now, Owner: owner(), ReplyTo: a.base.JoinPath("api", "v1", "outcomes").String(), Grace: 10 * time.Second,
		Report: func(err error) { a.log.Error("redrives", "error", err) }})
	a.asker = &redrive.Asker{Store: store, Prober: prober, Reading: probe.Read, Clock: time.Now, Report: func(err error) { a.log.Error("questions to sources", "error", err) }}
	a.sweeper = &sweep.Runner{Steps: sweepSteps(a.stores), Clock: time.Now, Report: a.reportSweep, Swept: store}
	a.checker = &sweep.Runner{Steps: []sweep.Step{sweep.IndexCheck(store, prober, time.Now, a.runner.Wake)}, Clock: time.Now, Report: a.reportSweep}
	a.indexer = &sweep.TextIndexer{Store: store, Report: func(err error) { a.log.Error("text index", "error", err) }}
	a.regroup = regroup.NewRunner(store, func(err error) { a.log.Error("grouping", "error", err) })
	sessions, err := web.NewSessions(web.SessionsConfig{Rows: sessionRows{store}, People: store.Person, PublicURL: a.base})
	if err != nil {
		return fmt.Errorf("make the sessions: %w", err)
	}
	assets, err := web.NewAssets(static.FS, static.URL)
	if err != nil {
		return fmt.Errorf("read the assets: %w", err)
	}
	a.server, err = web.NewServer(web.ServerConfig{Listen: a.listener.Addr().String(), PublicURL: a.base, TrustedProxies: a.config.proxies, Pages: handlers.ErrorPages(), Log: a.log})
	if err != nil {
		return fmt.Errorf("make the server: %w", err)
	}
	a.live = handlers.NewLive(store)
	h := &handlers.Handlers{Store: store, Live: a.live, Intake: intake.New(store, payloads, time.Now, a.config.MaxPayload),
		Redrives: &redrive.Planner{Store: redrives, Clock: time.Now, Wake: a.runner.Wake}, Outcomes: &redrive.Reporter{Store: redrives, Clock: time.Now, Wake: a.runner.Wake},
		Prober: prober, Payloads: payloads, Links: links, Sessions: sessions, Passwords: web.NewPasswords(), Throttle: web.NewLoginThrottle(throttleRows{store}, time.Now),
		Assets: assets, PublicURL: a.base, Now: time.Now, MaxFetch: a.config.MaxPayload, OpenAPI: docs.OpenAPI, Wake: a.runner.Wake, Regroup: a.regroup.Wake}
	a.tokens = newTokenLookup(store)
	h.Register(a.server.Echo, a.tokens.find)
	// Making the password hasher takes 19 MiB once; an idle server gives it back.
	debug.FreeOSMemory()
	return nil
}

// run serves until the context ends: stop accepting, finish requests, give
// leases back. What it starts it waits for.
func (a *App) run(ctx context.Context) error {
	work, stop := context.WithCancel(ctx)
	defer stop()
	var background sync.WaitGroup
	background.Go(func() { a.runner.Run(work) })
	background.Go(func() { a.asker.Run(work) })
	background.Go(func() { a.sweeper.Run(work) })
	background.Go(func() { a.checker.Run(work) })
	background.Go(func() { a.indexer.Run(work) })
	background.Go(func() { a.regroup.Run(work) })
	background.Go(func() { a.tokens.run(work) })
	defer context.AfterFunc(ctx, a.live.Close)() // the server waits for its streams
	err := a.server.Serve(ctx, a.listener)
	stop()
	background.Wait()
	return errors.Join(err, a.close())
}

func (a *App) close() error {
	var errs []error
	if a.listener != nil {
		if err := a.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if a.stores != nil {
		errs = append(errs, a.stores.Close())
		a.stores = nil
	}
	return errors.Join(errs...)
}

// allowOwn opens an address of this machine itself, for the sample pipeline.
func (a *App) allowOwn(u string) error {
	parsed, err := url.Parse(u)
	if err != nil {
		return fmt.Errorf("read the pipeline's address: %w", err)
	}
	addr, err := netip.ParseAddrPort(parsed.Host)
	if err != nil {
		return fmt.Errorf("read the pipeline's address: %w", err)
	}
	return a.guard.AllowOwn(addr)
}

func (a *App) reportSweep(r sweep.Result) {
	if r.Err != nil {
		a.log.Error("sweep", "step", r.Name, "error", r.Err)
		return
	}
	a.log.Info("sweep", "step", r.Name, "did", r.Did, "what", r.Sentence)
}

// sweepSteps are what the sweep does, in its order.
func sweepSteps(s *stores) []sweep.Step {
	return append(databaseSteps(s), sweep.Orphans(s.db, s.payloads), sweep.LostFiles(s.db, s.payloads))
}

// databaseSteps are those that may be done beside a running server. The others
// remove bytes, and what keeps them from removing those that are being stored
// is known within one process only.
func databaseSteps(s *stores) []sweep.Step {
	return []sweep.Step{
		sweep.Overdue(s.db),
		sweep.Cancelled(s.db),
		sweep.Expiry(s.db),
		sweep.Text(s.db),
		sweep.Dispositions(s.db),
		sweep.Verdicts(s.db),
		sweep.Forget("preparations that were cut off", func(ctx context.Context, now time.Time) (int, error) {
			n, err := s.db.VoidAbandoned(ctx, now.Add(-10*time.Minute))
			return int(n), err
		}),
		sweep.Forget("alerts that are over", func(ctx context.Context, _ time.Time) (int, error) { return s.db.ResolveOverAlerts(ctx) }),
		sweep.Forget("secrets that were replaced", func(ctx context.Context, _ time.Time) (int, error) { return s.db.EndOverlaps(ctx) }),
		sweep.Forget("sessions and login tries", func(ctx context.Context, now time.Time) (int, error) {
			n, err := s.db.ForgetSessions(ctx, now.Add(-24*time.Hour))
			return int(n), err
		}),
	}
}

// owner names this process in its leases.
func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d", host, os.Getpid())
}
