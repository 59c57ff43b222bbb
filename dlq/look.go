package dlq

import "time"

// Look is until when a person has looked at the home page. The mark moves when
// they say so, or when they come back after a pause: then what stood there on
// their last visit counts as seen.
type Look struct {
	Until   time.Time // what came later is new to them; zero: they were never here
	Visited time.Time // when they were last on the home page
}

// LookPause is how long somebody is away before their coming back is a visit of
// its own. LookGrain is how fine visits are kept: a page that is drawn again
// within it writes nothing.
const (
	LookPause = time.Hour
	LookGrain = time.Minute
)

// Visit says what a visit does to the mark, and whether there is anything to
// write.
func (l Look) Visit(now time.Time) (Look, bool) {
	switch {
	case l.Visited.IsZero():
		return Look{Until: now, Visited: now}, true
	case now.Sub(l.Visited) >= LookPause:
		return Look{Until: latest(l.Until, l.Visited), Visited: now}, true
	case now.Sub(l.Visited) >= LookGrain:
		return Look{Until: l.Until, Visited: now}, true
	}
	return l, false
}

// Seen says that everything until a moment was seen: the moment when the page
// was drawn on which they said so. It never moves the mark back, nor past now.
func (l Look) Seen(until, now time.Time) Look {
	if until.After(now) {
		until = now
	}
	return Look{Until: latest(l.Until, until), Visited: now}
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// SinceLook counts what came since somebody last looked, of what they may see.
type SinceLook struct {
	Since    time.Time
	New      int64 // cohorts that were not there
	Back     int64 // cohorts of which nothing was stuck, and something is again
	Stopped  []Operation
	Alerts   int64 // that stand, and began since
	Unlisted bool  // there may be more operations than were looked at
}
