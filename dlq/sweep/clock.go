package sweep

import (
	"context"
	"fmt"
	"time"
)

// A clock that is wrong would do at once what is due in a year: archive all that
// waits, give up every outcome, remove every copy. So what goes by age waits for a
// while when the clock has jumped, which is time to set it right. A machine that
// slept, or a server that was stopped for days, looks the same and costs that
// while.
const (
	jump     = 2 * time.Hour  // that the clock may be ahead of the time that passed
	longStop = 48 * time.Hour // between two sweeps
	jumpHold = time.Hour      // for which what goes by age then waits
	noteTime = time.Hour      // between two notes that the sweep works
)

// SweptStore remembers when the sweep last worked, over a restart.
type SweptStore interface {
	LastSweep(ctx context.Context) (time.Time, error)
	NoteSweep(ctx context.Context) error
}

// Watch holds the clock to the time that passed, which the machine counts without
// a clock.
type Watch struct {
	wall, machine time.Time // when they were last found to agree
	jumped        time.Time // of the machine: until when a jump is waited out; zero: there was none
	stopped       time.Time // the same for a long stop before the start
}

// NewWatch begins to watch. The last sweep is when there was one before; zero
// where that is not known.
func NewWatch(now, machine, lastSweep time.Time) *Watch {
	w := &Watch{wall: now, machine: machine}
	if !lastSweep.IsZero() && now.Sub(lastSweep) > longStop {
		w.stopped = machine.Add(jumpHold)
	}
	return w
}

// Look says whether what goes by age has to wait, and by how much the clock has
// jumped where that is why.
func (w *Watch) Look(now, machine time.Time) (held bool, jumped time.Duration) {
	ahead := now.Sub(w.wall) - machine.Sub(w.machine)
	if ahead > jump && w.jumped.IsZero() {
		w.jumped = machine.Add(jumpHold)
	}
	if ahead > jump && machine.Before(w.jumped) {
		return true, ahead
	}
	// It agrees, was set right, or nobody set it right for as long as we wait.
	if ahead < -jump || !machine.Before(w.stopped) {
		w.stopped = time.Time{}
	}
	w.wall, w.machine, w.jumped = now, machine, time.Time{}
	return !w.stopped.IsZero(), 0
}

// keep looks at the clock for a runner, says once why something waits, and notes
// now and then that the sweep works.
type keep struct {
	runner *Runner
	watch  *Watch
	said   bool
	noted  time.Time
}

func (r *Runner) keep(ctx context.Context) *keep {
	k := &keep{runner: r}
	var last time.Time
	if r.Swept != nil {
		var err error
		if last, err = r.Swept.LastSweep(ctx); err != nil {
			k.tell(ctx, err)
		}
	}
	k.watch = NewWatch(r.Clock(), time.Now(), last)
	return k
}

func (k *keep) holds(ctx context.Context) bool {
	now, machine := k.runner.Clock(), time.Now()
	held, jumped := k.watch.Look(now, machine)
	switch {
	case held && !k.said && jumped > 0:
		k.tell(ctx, fmt.Errorf("the clock is %s ahead of the time that passed: what goes by age waits for %s, or until the clock is set right", jumped.Round(time.Minute), jumpHold))
	case held && !k.said:
		k.tell(ctx, fmt.Errorf("the last sweep was more than %s ago: if the clock is right, this is only late; what goes by age waits for %s", longStop, jumpHold))
	}
	k.said = held
	if !held && k.runner.Swept != nil && (k.noted.IsZero() || machine.Sub(k.noted) >= noteTime) {
		k.noted = machine
		if err := k.runner.Swept.NoteSweep(ctx); err != nil {
			k.tell(ctx, err)
		}
	}
	return held
}

func (k *keep) tell(ctx context.Context, err error) {
	if k.runner.Report != nil && ctx.Err() == nil {
		k.runner.Report(Result{Name: "clock", Err: err})
	}
}
