package pipeline

import (
	"context"
	"errors"
	"time"

	"dlo/dlq/client"
)

// lookEvery is how often a loop looks by itself, when nothing woke it.
const lookEvery = 2 * time.Second

// wake leaves a note for a loop; one note is enough.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (p *Pipeline) wakeReporter() { wake(p.outcomeCame) }

// every calls once when woken and now and then, until the context ends. once says
// whether there is more to do at once.
func (p *Pipeline) every(ctx context.Context, woken <-chan struct{}, what string, once func(context.Context) (bool, error)) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		for more := true; more && ctx.Err() == nil; {
			var err error
			more, err = once(ctx)
			if err != nil {
				more = false
				if ctx.Err() == nil {
					p.log.Warn(what+" failed, and is tried again", "error", err)
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-woken:
		case <-ticker.C:
		}
	}
}

func (p *Pipeline) runReporter(ctx context.Context) {
	p.every(ctx, p.outcomeCame, "reporting outcomes", p.reportOnce)
}

// reportOnce reports some outcomes. One that the server refuses for what it says
// is noted and let go, so that it does not stand in the way of the others.
func (p *Pipeline) reportOnce(ctx context.Context) (bool, error) {
	const batch = 50
	waiting, err := p.store.unreportedOutcomes(ctx, batch)
	if err != nil {
		return false, err
	}
	for _, u := range waiting {
		refused := ""
		_, err := p.client.Outcome(ctx, u.outcome)
		var answered *client.Error
		switch {
		case err == nil:
		case errors.As(err, &answered) && (answered.Status == 400 || answered.Status == 404 || answered.Status == 409 || answered.Status == 422):
			refused = answered.Error()
			p.log.Warn("an outcome was refused", "redrive_id", u.outcome.RedriveID, "error", err)
		default:
			return false, err
		}
		if err := p.store.reported(ctx, u.id, refused, p.now()); err != nil {
			return false, err
		}
	}
	return len(waiting) == batch, nil
}

func (p *Pipeline) runSpool(ctx context.Context) {
	p.every(ctx, nil, "sending the spool", func(ctx context.Context) (bool, error) {
		sent, err := p.client.SendSpool(ctx)
		if sent.Parked+sent.Rejected > 0 {
			p.log.Info("the spool was sent", "parked", sent.Parked, "rejected", sent.Rejected, "left", sent.Left)
		}
		return false, err
	})
}

// runAnnouncer says to the server what runs, at the start and whenever a switch
// could not be told.
func (p *Pipeline) runAnnouncer(ctx context.Context) {
	fresh := true
	p.every(ctx, nil, "announcing what runs", func(ctx context.Context) (bool, error) {
		announced, err := p.store.setting(ctx, "announced", "")
		if err != nil || (!fresh && announced == p.runsNow()) {
			return false, err
		}
		if err := p.announce(ctx); err != nil {
			return false, err
		}
		fresh = false
		return false, nil
	})
}

// runFirstSync takes every document once, so that there is something to look at.
// It is repeated until it gets through, and ends then: later syncs are asked for.
func (p *Pipeline) runFirstSync(ctx context.Context) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	p.every(ctx, nil, "the first sync", func(ctx context.Context) (bool, error) {
		n, err := p.syncAll(ctx, sourceNames)
		if err == nil {
			p.log.Info("the first sync is done", "documents", n)
			done()
		}
		return false, err
	})
}
