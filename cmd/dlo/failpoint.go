package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dlo/db"
	"dlo/dlq"
	"dlo/dlq/redrive"
)

// failpoint is a step of a redrive at which the process kills itself, as a power
// cut or the kernel would: nothing is flushed, closed or given back. It proves
// that each step can be cut off, and is named at the start by a hidden flag, as
// STEP:WHEN or STEP:WHEN:N for the N-th time. A server that was started without
// the flag has none of this between itself and its store.
type failpoint struct {
	step, when string
	left       atomic.Int64
	asked      atomic.Bool // somebody has asked this process for a redrive: what it finds to finish is not its step
	armed      atomic.Bool // the step is within its transaction: its commit is not to be
}

// The steps, and when in them: before anything of it is done, within its
// transaction just before the commit, and after it while nobody knows yet.
var (
	failSteps = []string{"prepare", "claim", "send", "record", "settle"}
	failWhens = []string{"before", "within", "after"}
)

func parseFailpoint(s string) (*failpoint, error) {
	if s == "" {
		return nil, nil
	}
	expected := fmt.Errorf("--failpoint %q: STEP:WHEN or STEP:WHEN:N expected, with a step of %s, and before, within or after; nothing is within send", s, strings.Join(failSteps, ", "))
	parts := strings.Split(s, ":")
	if len(parts) < 2 || len(parts) > 3 || !slices.Contains(failSteps, parts[0]) || !slices.Contains(failWhens, parts[1]) || (parts[0] == "send" && parts[1] == "within") {
		return nil, expected
	}
	f := &failpoint{step: parts[0], when: parts[1]}
	f.left.Store(1)
	if len(parts) == 3 {
		n, err := strconv.ParseInt(parts[2], 10, 64)
		if err != nil || n < 1 {
			return nil, expected
		}
		f.left.Store(n)
	}
	return f, nil
}

// around does a step, unless the process does not live to do it.
func (f *failpoint) around(step string, do func() error) error {
	if step == "prepare" {
		f.asked.Store(true)
	}
	if step != f.step || !f.asked.Load() {
		return do()
	}
	due := f.left.Add(-1) == 0
	if due && f.when == "before" {
		die()
	}
	if due && f.when == "within" {
		f.armed.Store(true)
	}
	err := do()
	if due && f.when == "after" {
		die()
	}
	return err
}

// committing is called by the store's writer before each commit.
func (f *failpoint) committing() {
	if f.armed.Load() {
		die()
	}
}

var dying sync.Once

// die ends the process with a signal that nothing can catch, and does not return.
func die() {
	dying.Do(func() {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			_ = self.Kill() // the end
		}
	})
	select {}
}

// failingStore is the store with a failpoint in the steps that write.
type failingStore struct {
	*db.Store
	at *failpoint
}

func (s failingStore) StartOperation(ctx context.Context, id string, limit int) (o dlq.Operation, err error) {
	err = s.at.around("prepare", func() error {
		o, err = s.Store.StartOperation(ctx, id, limit)
		return err
	})
	return o, err
}

func (s failingStore) ClaimRedrives(ctx context.Context, source, owner string, lease time.Duration, limit int) (claimed []dlq.Redrive, err error) {
	err = s.at.around("claim", func() error {
		claimed, err = s.Store.ClaimRedrives(ctx, source, owner, lease, limit)
		return err
	})
	return claimed, err
}

func (s failingStore) DeliveryTaken(ctx context.Context, r dlq.Redrive, status int, sentence, body string) error {
	return s.at.around("record", func() error { return s.Store.DeliveryTaken(ctx, r, status, sentence, body) })
}

func (s failingStore) ApplyOutcome(ctx context.Context, by dlq.Actor, o dlq.Outcome, fp *dlq.Fingerprint) (receipt dlq.OutcomeReceipt, err error) {
	err = s.at.around("settle", func() error {
		receipt, err = s.Store.ApplyOutcome(ctx, by, o, fp)
		return err
	})
	return receipt, err
}

// DeliverySettled is both steps in one transaction.
func (s failingStore) DeliverySettled(ctx context.Context, by dlq.Actor, r dlq.Redrive, status int, o dlq.Outcome, fp *dlq.Fingerprint) error {
	return s.at.around("settle", func() error {
		return s.at.around("record", func() error { return s.Store.DeliverySettled(ctx, by, r, status, o, fp) })
	})
}

// failingSender is the sender with a failpoint: before, the delivery is begun and
// not sent; after, the target has answered and nothing of it is recorded.
type failingSender struct {
	redrive.Sender
	at *failpoint
}

func (s failingSender) Send(ctx context.Context, d dlq.Delivery) (a dlq.Answer, err error) {
	err = s.at.around("send", func() error {
		a, err = s.Sender.Send(ctx, d)
		return err
	})
	return a, err
}

// redriveStore is what redrives need of the store.
type redriveStore interface {
	redrive.RunStore
	redrive.PlanStore
	redrive.OutcomeStore
}

// redriveParts gives what the redrives work with: the store and the sender as they
// are, or with a failpoint in them.
func (a *App) redriveParts(sender redrive.Sender) (redriveStore, redrive.Sender) {
	at := a.config.failpoint
	if at == nil {
		return a.stores.db, sender
	}
	a.log.Warn("this server kills itself at a step of a redrive; it was started so", "step", at.step, "when", at.when)
	a.stores.db.BeforeCommit(at.committing)
	return failingStore{a.stores.db, at}, failingSender{sender, at}
}
