package redrive

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"dlo/dlq"
)

// maxRetryAfter is how long a target may ask to be left alone. Longer is taken
// for a mistake, because nobody would notice a redrive that waits for days.
const maxRetryAfter = time.Hour

// linkTime is for how long a link to the stored copy is good, at most. A target
// queues what it takes and fetches it later, so that minutes would be too short.
const linkTime = 24 * time.Hour

// deliverer is who acts when the target's answer itself says what came of it.
var deliverer = dlq.Policy("answer of the redrive target")

// deliver sends one claimed redrive and records what came of it. Until it has
// begun, the context's end gives the redrive back; from then on whatever came
// back is recorded, because the target has seen it.
func (r *Runner) deliver(ctx, sendCtx context.Context, src dlq.Source, claimed dlq.Redrive, ahead readAhead) error {
	record := context.WithoutCancel(ctx)
	o, err := r.operation(record, claimed.OperationID, ahead)
	if err != nil {
		return err
	}
	if src.Policy.Redrive.URL == "" {
		return r.o.Store.LeaveOut(record, claimed, dlq.LeftNoTarget)
	}
	p, leftOut, err := r.prepare(ctx, src, claimed, ahead)
	switch {
	case ctx.Err() != nil:
		return r.giveBack(record, claimed, claimed.NextAt)
	case p.silent && leftOut == dlq.LeftCannotTellChanged:
		if next, again := askAgain(claimed, r.o.Clock()); again {
			return r.o.Store.DeliveryFailed(record, claimed, 0, p.redrive.Probe.Sentence+" It is asked again.", "", next)
		}
	case err != nil:
		return r.notNow(record, src, claimed, err)
	case p.noTest && o.Step < o.Rest():
		if deferred, err := r.o.Store.Defer(record, p.redrive); err != nil || deferred {
			return err
		}
	}
	if leftOut != "" {
		return r.o.Store.LeaveOut(record, p.redrive, leftOut)
	}
	secrets, known := ahead.secrets[src.Name()]
	if !known {
		if secrets, err = r.o.Store.RedriveSecrets(record, src.Name()); err != nil {
			return r.notNow(record, src, claimed, fmt.Errorf("read the secrets of %s: %w", src.Name(), err))
		}
	}
	begun, err := r.o.Store.BeginDelivery(record, p.redrive)
	if err != nil {
		return err
	}
	if !begun { // settled, paused, cancelled, or somebody else's by now; only in the middle two is there a lease to give back
		return r.giveBack(record, claimed, claimed.NextAt)
	}
	d := p.delivery(src, secrets, r.o.ReplyTo)
	if p.redrive.Sent == dlq.ModeHeld && r.o.Links != nil {
		d.PayloadURL = r.o.Links.Link(p.redrive.PayloadSHA256, r.o.Clock().Add(min(linkTime, src.Policy.Outcomes.Timeout.Std())))
	}
	answer, sendErr := r.o.Sender.Send(sendCtx, d)
	if sendErr != nil && answer.Status == 0 && sendCtx.Err() != nil {
		return r.giveBack(record, claimed, r.o.Clock()) // cut off by a stop: the next start sends it again under the same id
	}
	if sendErr != nil {
		r.o.Report(sendErr)
	}
	return r.settle(record, src, o, p.redrive, answer)
}

// For how long a source that cannot say anything now is asked again before a
// document is left out for it, and how soon at first.
const (
	askedFor   = 3 * time.Minute
	askedAfter = 5 * time.Second
)

// askAgain says when a source that did not answer is asked again: each time as long
// after as it was silent already.
func askAgain(d dlq.Redrive, now time.Time) (next time.Time, again bool) {
	silent := now.Sub(d.CreatedAt)
	return now.Add(max(askedAfter, silent)), silent < askedFor
}

// settle records what a target's answer means.
func (r *Runner) settle(ctx context.Context, src dlq.Source, o dlq.Operation, d dlq.Redrive, a dlq.Answer) error {
	now := r.o.Clock()
	v := Judge(a, d.ID, now)
	failed := v.Judgement == Retry && a.Status != http.StatusTooManyRequests // that one only asks for less
	if err := r.heard(ctx, o, failed); err != nil {
		r.o.Report(fmt.Errorf("look at the target of redrive %s: %w", d.ID, err))
	}
	switch v.Judgement {
	case Taken:
		return r.taken(ctx, src, d, a, v)
	case Skipped:
		return r.apply(ctx, d, dlq.Outcome{RedriveID: d.ID, Result: dlq.OutcomeSkipped, At: now}, a)
	case Gone:
		r.health.isDown(o.ID)
		return r.o.Store.TargetGone(ctx, d, a.Status, v.Sentence)
	case Retry:
		next := now.Add(r.wait(src.Policy.Redrive.Retry, d.Deliveries+1, v.RetryAfter))
		if giveUp, ends := giveUpAt(src.Policy.Redrive.Retry, d, now); ends && next.After(giveUp) {
			return r.o.Store.Undelivered(ctx, d, a.Status, v.Sentence, v.Body)
		}
		return r.o.Store.DeliveryFailed(ctx, d, a.Status, v.Sentence, v.Body, next)
	}
	return r.o.Store.Undelivered(ctx, d, a.Status, v.Sentence, v.Body)
}

// taken records that a target took a redrive, with its outcome where the answer
// is one: because the body says so, or because the source's policy does.
func (r *Runner) taken(ctx context.Context, src dlq.Source, d dlq.Redrive, a dlq.Answer, v Verdict) error {
	switch {
	case v.Outcome != nil:
		return r.apply(ctx, d, *v.Outcome, a)
	case src.Policy.Outcomes.Mode == dlq.OutcomesResponse && !v.Unclear:
		return r.apply(ctx, d, dlq.Outcome{RedriveID: d.ID, Result: dlq.OutcomeCommitted, At: r.o.Clock()}, a)
	}
	return r.o.Store.DeliveryTaken(ctx, d, a.Status, v.Sentence, v.Body)
}

// apply records an answer together with the outcome that came in it.
func (r *Runner) apply(ctx context.Context, d dlq.Redrive, o dlq.Outcome, a dlq.Answer) error {
	fp := fingerprintOf(&o, d.Source) // cuts its texts first
	if err := r.o.Store.DeliverySettled(ctx, deliverer, d, a.Status, o, fp); err != nil {
		return fmt.Errorf("apply the outcome in its answer: %w", err)
	}
	return nil
}

// giveBack ends a lease without having sent anything that counts.
func (r *Runner) giveBack(ctx context.Context, c dlq.Redrive, next time.Time) error {
	return r.o.Store.DeliveryFailed(ctx, c, c.LastStatus, c.LastError, c.LastBody, next)
}

// notNow gives a redrive back that could not be prepared, because something of
// ours does not work: nothing was sent, so it does not count against its budget.
func (r *Runner) notNow(ctx context.Context, src dlq.Source, c dlq.Redrive, cause error) error {
	next := r.o.Clock().Add(r.wait(src.Policy.Redrive.Retry, max(c.Deliveries, 5), 0)) // not at once again: it is we who are in trouble
	if err := r.o.Store.DeliveryFailed(ctx, c, 0, "it could not be prepared; the server's log says why", "", next); err != nil {
		return err
	}
	return cause
}

// wait is how long to wait after the n-th failure: the policy's backoff with
// jitter, so that what failed together does not return together, and no less
// than the target asked for.
func (r *Runner) wait(p dlq.RetryPolicy, n int, retryAfter time.Duration) time.Duration {
	backoff := p.Backoff(n)
	jittered := backoff/2 + time.Duration(r.o.Jitter()*float64(backoff)/2)
	if retryAfter <= 0 {
		return jittered
	}
	asked := min(retryAfter, maxRetryAfter)
	return max(jittered, asked+time.Duration(r.o.Jitter()*float64(asked)/10))
}

// giveUpAt is when the budget of a redrive's deliveries ends: counted from its
// first send, so that time in the queue or in a pause costs nothing of it. A
// budget of dlq.Forever has no end.
func giveUpAt(p dlq.RetryPolicy, d dlq.Redrive, now time.Time) (time.Time, bool) {
	if p.Budget == dlq.Forever {
		return time.Time{}, false
	}
	first := d.SentAt
	if first.IsZero() {
		first = now
	}
	end := first.Add(p.Budget.Std())
	if d.GiveUpAt.After(end) {
		end = d.GiveUpAt
	}
	return end, true
}

// prepared is a redrive with all that its delivery says.
type prepared struct {
	redrive dlq.Redrive
	entry   dlq.Replayed
	silent  bool        // the source cannot say anything now
	noTest  bool        // it would not test the code, as the document is not known to be unchanged
	sent    dlq.Attempt // the failure that is replayed; under held, the one that brought the copy
}

// prepare decides which bytes a redrive sends, and checks them. On a second try
// they are those of the first: the target may have taken that one, and what its
// outcome says is then about them.
func (r *Runner) prepare(ctx context.Context, src dlq.Source, c dlq.Redrive, ahead readAhead) (prepared, dlq.LeftOut, error) {
	p := prepared{redrive: c}
	var known bool
	var err error
	if p.entry, known = ahead.replayed[c.ID]; !known {
		own, err := r.o.Store.Replayed(ctx, []dlq.Redrive{c})
		if err != nil {
			return p, "", err
		}
		if p.entry, known = own[c.ID]; !known {
			return p, "", fmt.Errorf("entry %s is not there", c.DLQID)
		}
	}
	p.sent = p.entry.Failure
	if c.SentAt.IsZero() {
		if leftOut, err := r.choose(ctx, src, &p); err != nil || leftOut != "" {
			return p, leftOut, err
		}
	}
	if p.redrive.Sent != dlq.ModeHeld {
		return p, "", nil
	}
	if _, err := r.o.Payloads.Verify(ctx, p.redrive.PayloadSHA256); err != nil {
		switch dlq.KindOf(err) {
		case dlq.KindConflict, dlq.KindNotFound:
			return p, dlq.LeftPayloadCorrupt, nil
		}
		return p, "", fmt.Errorf("check the stored copy: %w", err)
	}
	if p.entry.CopyOfAttempt != 0 && p.entry.CopyOfAttempt != c.FailedAttempt && p.entry.HeldSHA256 == p.redrive.PayloadSHA256 {
		if p.sent, err = r.o.Store.Attempt(ctx, p.entry.CopyOfAttempt); err != nil {
			return p, "", fmt.Errorf("find the attempt that brought the copy: %w", err)
		}
		p.redrive.SourceVersion = p.sent.SourceVersion
	}
	return p, "", nil
}

// choose asks the source, if it can be asked, and decides which bytes go.
func (r *Runner) choose(ctx context.Context, src dlq.Source, p *prepared) (dlq.LeftOut, error) {
	d := &p.redrive
	hasProbe := r.o.Prober != nil && src.Policy.Probe.Configured()
	reading := dlq.UnknownBytes("This source has no probe, so nothing is known of the document there.")
	if hasProbe {
		d.Probe = r.o.Prober.Ask(ctx, src.Policy.Probe, d.Source, d.DocID)
		reading = r.o.Reading(src.Policy.Probe.Kind, recorded(p.sent), d.Probe)
		if ctx.Err() != nil {
			return "", ctx.Err() // what was broken off says nothing of the source
		}
		if err := r.o.Store.SaveProbe(ctx, d.EntryID, d.FailedAttempt, d.Probe, reading); err != nil {
			return "", fmt.Errorf("record what the source said: %w", err)
		}
	}
	isCurrent := p.entry.CopyOfAttempt == d.FailedAttempt || (p.sent.PayloadSHA256 != "" && p.entry.HeldSHA256 == p.sent.PayloadSHA256)
	copyState := p.entry.Copy
	if copyState == dlq.CopyHeld && !isCurrent && d.Mode == dlq.ModeAuto {
		copyState = dlq.CopyNever // of an older failure: whatever it proves, it is not this document
	}
	choice := dlq.BytesQuestion{Mode: d.Mode, Copy: copyState, HasPointer: p.sent.PayloadURI != "", HasProbe: hasProbe, Now: reading.Bytes, AcceptUnknown: d.AcceptUnknown}.Choose()
	// A canary tests the code: with bytes that are not known to be those that
	// failed, another goes in its place.
	p.silent = d.Probe.Silent()
	p.noTest = d.Mode == dlq.ModeAuto && !p.silent && (choice.LeftOut != "" || choice.Send != dlq.ModeHeld)
	if choice.LeftOut != "" {
		return choice.LeftOut, nil
	}
	d.Sent, d.Bytes = choice.Send, reading
	if choice.Send != dlq.ModeHeld {
		return "", nil
	}
	d.PayloadSHA256 = p.entry.HeldSHA256
	d.Bytes = dlq.Evidence{Bytes: dlq.ReadingUnchanged, Grade: dlq.GradeDigest}
	if !isCurrent {
		d.Bytes = dlq.UnknownBytes("The stored copy is of an older failure than the one that was replayed.")
	}
	return "", nil
}

// recorded is what an attempt knows of its document, as one side of a comparison.
func recorded(a dlq.Attempt) dlq.Validators {
	v := dlq.Validators{ETag: a.SourceVersion, SHA256: a.PayloadSHA256}
	if !a.SourceUpdatedAt.IsZero() {
		v.LastModified = a.SourceUpdatedAt.UTC().Format(http.TimeFormat)
	}
	return v
}

func (p prepared) delivery(src dlq.Source, secrets []string, replyTo string) dlq.Delivery {
	d := p.redrive
	count := p.entry.RedrivesTotal
	if d.SentAt.IsZero() {
		count++ // this one is counted when it begins
	}
	return dlq.Delivery{URL: src.Policy.Redrive.URL, Secrets: secrets, RedriveID: d.ID, DLQID: d.DLQID, Source: d.Source, DocID: d.DocID, ContentHash: d.ContentHash,
		Mode: d.Sent, PayloadSHA256: d.PayloadSHA256, PayloadURI: d.PayloadURI,
		SourceVersion: p.sent.SourceVersion, IngestSeq: p.sent.IngestSeq, CursorAtArrival: p.sent.Cursor,
		RedriveCount: count, Attempts: p.entry.Attempts, ReplyTo: replyTo, Try: d.Deliveries + 1}
}
