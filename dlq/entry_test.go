package dlq

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestWhichStatesAreStuck(t *testing.T) {
	for s, open := range map[Status]bool{StatusParked: true, StatusRedriving: true, StatusQuarantined: true, StatusArchived: true, StatusResolved: false, StatusErased: false} {
		if s.Open() != open || !s.Valid() || !slices.Contains(Statuses, s) {
			t.Errorf("%s: open %v, valid %v", s, s.Open(), s.Valid())
		}
	}
	if Status("lost").Valid() || Status("lost").Open() {
		t.Error("there is no state lost")
	}
}

func TestMovesLeadBetweenStatesAndNeverNowhere(t *testing.T) {
	for from, moves := range Moves {
		for _, to := range moves {
			if !from.Valid() || !to.Valid() || from == to {
				t.Errorf("%s to %s is no move", from, to)
			}
		}
		if from != StatusErased && !MayMove(from, StatusErased) {
			t.Errorf("%s cannot be erased", from)
		}
	}
	for _, never := range [][2]Status{{StatusResolved, StatusRedriving}, {StatusQuarantined, StatusRedriving}, {StatusArchived, StatusRedriving}, {StatusErased, StatusResolved}, {StatusRedriving, StatusArchived}, {StatusResolved, StatusArchived}} {
		if MayMove(never[0], never[1]) {
			t.Errorf("%s moves to %s", never[0], never[1])
		}
	}
}

func TestWhatIsNewer(t *testing.T) {
	seq := func(n int64) *int64 { return &n }
	early, late := readAt, readAt.Add(time.Hour)
	for name, c := range map[string]struct {
		p, q  Position
		newer bool
	}{
		"a greater sequence, though seen earlier":   {Position{seq(2), early, early}, Position{seq(1), late, late}, true},
		"a smaller sequence, though seen later":     {Position{seq(1), late, late}, Position{seq(2), early, early}, false},
		"equal sequences, seen later":               {Position{seq(1), late, early}, Position{seq(1), early, late}, true},
		"one has no sequence, seen later":           {Position{nil, late, early}, Position{seq(9), early, late}, true},
		"one has no sequence, seen earlier":         {Position{seq(9), early, late}, Position{nil, late, early}, false},
		"no sequence, seen at once, received later": {Position{nil, early, late}, Position{nil, early, early}, true},
		"equal in all":                   {Position{seq(1), early, early}, Position{seq(1), early, early}, false},
		"a negative sequence is one too": {Position{seq(-1), early, early}, Position{seq(-2), late, late}, true},
	} {
		if got := c.p.Newer(c.q); got != c.newer {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestNewerOrdersEventsOfOneSource(t *testing.T) {
	draw := func(t *rapid.T, name string) Position {
		n := rapid.Int64Range(0, 3).Draw(t, name)
		return Position{&n, readAt.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, name+" seen")) * time.Second), readAt.Add(time.Duration(rapid.IntRange(0, 2).Draw(t, name+" received")) * time.Second)}
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := draw(t, "a"), draw(t, "b"), draw(t, "c")
		if a.Newer(b) && b.Newer(a) {
			t.Fatalf("%v and %v are newer than each other", a, b)
		}
		if a.Newer(b) && b.Newer(c) && !a.Newer(c) {
			t.Fatal("newer does not carry over")
		}
		if a.Newer(b) && !a.NotOlder(b) {
			t.Fatalf("%v is newer than %v and older", a, b)
		}
	})
}

func TestAnOutcomeAsOldAsTheFailureIsNotOlder(t *testing.T) {
	one, two := int64(1), int64(2)
	for name, c := range map[string]struct {
		p, q Position
		want bool
	}{
		"the same sequence":        {Position{IngestSeq: &one, LastSeen: readAt}, Position{IngestSeq: &one, LastSeen: readAt.Add(time.Hour)}, true},
		"a smaller sequence":       {Position{IngestSeq: &one, LastSeen: readAt.Add(time.Hour)}, Position{IngestSeq: &two, LastSeen: readAt}, false},
		"no sequence, same time":   {Position{LastSeen: readAt}, Position{IngestSeq: &two, LastSeen: readAt}, true},
		"no sequence, before then": {Position{LastSeen: readAt.Add(-1)}, Position{LastSeen: readAt}, false},
	} {
		if got := c.p.NotOlder(c.q); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestExpiryArithmetic(t *testing.T) {
	day := 24 * time.Hour
	r := RetentionPolicy{EntryTTL: Days(90), MaxTTL: Days(365)}
	now := readAt
	for name, c := range map[string]struct{ got, want time.Time }{
		"opened now":                             {r.Expiry(now, now), now.Add(90 * day)},
		"opened 80 days ago":                     {r.Expiry(now.Add(-80*day), now), now.Add(10 * day)},
		"opened 89 days ago: a week at least":    {r.Expiry(now.Add(-89*day), now), now.Add(7 * day)},
		"opened a year ago: a week at least":     {r.Expiry(now.Add(-365*day), now), now.Add(7 * day)},
		"renewed when it had long":               {r.RenewedExpiry(now.Add(60*day), now), now.Add(60 * day)},
		"renewed when it was over":               {r.RenewedExpiry(now.Add(-day), now), now.Add(30 * day)},
		"renewed under a short time to live":     {RetentionPolicy{EntryTTL: Days(5)}.RenewedExpiry(now, now), now.Add(5 * day)},
		"a week at least under a short one, too": {RetentionPolicy{EntryTTL: Days(5)}.Expiry(now, now), now.Add(7 * day)},
	} {
		if !c.got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}

func TestAnExtensionOnlyMakesItLaterAndHasAnEnd(t *testing.T) {
	day := 24 * time.Hour
	r := RetentionPolicy{EntryTTL: Days(90), MaxTTL: Days(365)}
	opened, expires := readAt.Add(-80*day), readAt.Add(10*day)
	for name, c := range map[string]struct {
		got  func() (time.Time, error)
		want time.Time
	}{
		"from what it was":          {func() (time.Time, error) { return r.Extended(opened, expires, readAt, 30*day) }, readAt.Add(40 * day)},
		"from now when it is over":  {func() (time.Time, error) { return r.Extended(opened, readAt.Add(-day), readAt, 30*day) }, readAt.Add(30 * day)},
		"to a date":                 {func() (time.Time, error) { return r.ExtendedTo(opened, expires, readAt, readAt.Add(20*day)) }, readAt.Add(20 * day)},
		"to the last date":          {func() (time.Time, error) { return r.ExtendedTo(opened, expires, readAt, opened.Add(365*day)) }, opened.Add(365 * day)},
		"past the last date":        {func() (time.Time, error) { return r.ExtendedTo(opened, expires, readAt, opened.Add(365*day+1)) }, time.Time{}},
		"by more than there is":     {func() (time.Time, error) { return r.Extended(opened, expires, readAt, 276*day) }, time.Time{}},
		"to a date before":          {func() (time.Time, error) { return r.ExtendedTo(opened, expires, readAt, expires.Add(-1)) }, time.Time{}},
		"to what it is":             {func() (time.Time, error) { return r.ExtendedTo(opened, expires, readAt, expires) }, time.Time{}},
		"to a date that has passed": {func() (time.Time, error) { return r.ExtendedTo(opened, readAt.Add(-2*day), readAt, readAt.Add(-day)) }, time.Time{}},
	} {
		got, err := c.got()
		switch {
		case c.want.IsZero() && (KindOf(err) != KindInvalid || !reflect.DeepEqual(pointersOf(err), []string{"/until"})):
			t.Errorf("%s: %v, %v", name, got, err)
		case !c.want.IsZero() && (err != nil || !got.Equal(c.want)):
			t.Errorf("%s: %v, %v; want %v", name, got, err, c.want)
		}
	}
}

func TestMarksAreASet(t *testing.T) {
	var m Marks
	m = m.With(MarkReturned).With(MarkLate).With(MarkReturned)
	if got := m.String(); got != "late,returned" {
		t.Errorf("written as %q", got)
	}
	if back := ParseMarks(m.String()); !reflect.DeepEqual(back, m) {
		t.Errorf("read as %v", back)
	}
	without := m.Without(MarkLate, MarkAssumed)
	if without.String() != "returned" || m.String() != "late,returned" {
		t.Errorf("without late: %v, and the set before is %v", without, m)
	}
	if ParseMarks("") != nil || Marks(nil).String() != "" || m.Has(MarkAssumed) || !m.Has(MarkLate) {
		t.Error("the empty set has marks, or a set has others than its own")
	}
}

func TestAnExpiryIsNeverSoonerThanAWeek(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := RetentionPolicy{EntryTTL: Duration(rapid.Int64Range(int64(time.Hour), int64(1000*24*time.Hour)).Draw(t, "ttl"))}
		opened := readAt.Add(-time.Duration(rapid.Int64Range(-int64(24*time.Hour), int64(3000*24*time.Hour)).Draw(t, "age")))
		if e := r.Expiry(opened, readAt); e.Before(readAt.Add(7 * 24 * time.Hour)) {
			t.Fatalf("leaves at %v", e)
		}
	})
}
