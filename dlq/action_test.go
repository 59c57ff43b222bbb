package dlq

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

// What each action does in each state: the state after it, "=" for no change,
// "409" for what the state does not allow.
var actionTable = map[OperationKind]map[Status]string{
	OperationExtend:     {StatusParked: "parked", StatusRedriving: "redriving", StatusQuarantined: "quarantined", StatusArchived: "409", StatusResolved: "409", StatusErased: "409"},
	OperationQuarantine: {StatusParked: "quarantined", StatusRedriving: "409", StatusQuarantined: "=", StatusArchived: "409", StatusResolved: "409", StatusErased: "409"},
	OperationRelease:    {StatusParked: "409", StatusRedriving: "409", StatusQuarantined: "parked", StatusArchived: "409", StatusResolved: "409", StatusErased: "409"},
	OperationArchive:    {StatusParked: "archived", StatusRedriving: "409", StatusQuarantined: "archived", StatusArchived: "=", StatusResolved: "409", StatusErased: "409"},
	OperationRestore:    {StatusParked: "=", StatusRedriving: "409", StatusQuarantined: "409", StatusArchived: "parked", StatusResolved: "409", StatusErased: "409"},
}

func TestEveryActionInEveryState(t *testing.T) {
	r := DefaultPolicy("wiki").Retention
	for kind, row := range actionTable {
		for _, status := range Statuses {
			s := Standing{Status: status, OpenedAt: readAt.AddDate(0, 0, -80), ExpiresAt: readAt.AddDate(0, 0, 10), SameFailures: 3}
			e, err := s.Act(Action{Kind: kind, Days: 5, Grant: GrantOne}, r, readAt)
			switch want := row[status]; want {
			case "409":
				if KindOf(err) != KindConflict || !strings.Contains(err.Error(), inWords[status]) {
					t.Errorf("%s of %s: %v", kind, status, err)
				}
			case "=":
				if err != nil || e.Changes || e.Status != status {
					t.Errorf("%s of %s: %+v, %v", kind, status, e, err)
				}
			default:
				if err != nil || !e.Changes || string(e.Status) != want {
					t.Errorf("%s of %s: %+v, %v", kind, status, e, err)
				}
				if e.Status != status && !MayMove(status, e.Status) {
					t.Errorf("%s moves %s to %s, which no event does", kind, status, e.Status)
				}
			}
		}
	}
}

func TestAReleaseGrantsOneMoreOrCountsAnew(t *testing.T) {
	r := DefaultPolicy("wiki").Retention
	s := Standing{Status: StatusQuarantined, SameFailures: 3, OpenedAt: readAt.AddDate(0, 0, -89), ExpiresAt: readAt.AddDate(0, 0, -1)}
	one, err := s.Act(Action{Kind: OperationRelease, Grant: GrantOne}, r, readAt)
	if err != nil || !one.Granted || one.SameFailures != 3 {
		t.Errorf("one more: %+v, %v", one, err)
	}
	reset, err := s.Act(Action{Kind: OperationRelease, Grant: GrantReset}, r, readAt)
	if err != nil || reset.Granted || reset.SameFailures != 0 {
		t.Errorf("reset: %+v, %v", reset, err)
	}
	if want := readAt.AddDate(0, 0, 30); !one.ExpiresAt.Equal(want) || !reset.ExpiresAt.Equal(want) {
		t.Errorf("leaves at %v and %v, want %v", one.ExpiresAt, reset.ExpiresAt, want)
	}
	for _, g := range []Grant{"", "all"} {
		if _, err := s.Act(Action{Kind: OperationRelease, Grant: g}, r, readAt); !reflect.DeepEqual(pointersOf(err), []string{"/grant"}) {
			t.Errorf("grant %q: %v", g, err)
		}
	}
}

func TestARestoreRenewsTheExpiry(t *testing.T) {
	s := Standing{Status: StatusArchived, OpenedAt: readAt.AddDate(-2, 0, 0), ExpiresAt: readAt.AddDate(-1, 0, 0), SameFailures: 2}
	e, err := s.Act(Action{Kind: OperationRestore}, DefaultPolicy("wiki").Retention, readAt)
	if want := readAt.AddDate(0, 0, 30); err != nil || !e.ExpiresAt.Equal(want) || e.SameFailures != 2 {
		t.Errorf("%+v, %v; want %v", e, err, want)
	}
}

func TestAnExtensionNeedsASpanOrADate(t *testing.T) {
	r := DefaultPolicy("wiki").Retention
	s := Standing{Status: StatusParked, OpenedAt: readAt, ExpiresAt: readAt.Add(r.EntryTTL.Std())}
	for name, c := range map[string]struct {
		a    Action
		want time.Time
	}{
		"days":                   {Action{Days: 30}, readAt.AddDate(0, 0, 120)},
		"a date":                 {Action{Until: readAt.AddDate(0, 0, 100)}, readAt.AddDate(0, 0, 100)},
		"a date goes before":     {Action{Days: 1, Until: readAt.AddDate(0, 0, 100)}, readAt.AddDate(0, 0, 100)},
		"neither":                {Action{}, time.Time{}},
		"days before now":        {Action{Days: -1}, time.Time{}},
		"days past the last":     {Action{Days: 36500}, time.Time{}},
		"days that overflow":     {Action{Days: 1 << 40}, time.Time{}},
		"a date that has passed": {Action{Until: readAt.AddDate(0, 0, -1)}, time.Time{}},
	} {
		c.a.Kind = OperationExtend
		e, err := s.Act(c.a, r, readAt)
		if c.want.IsZero() != (KindOf(err) == KindInvalid) || (err == nil && !e.ExpiresAt.Equal(c.want)) {
			t.Errorf("%s: %v, %v; want %v", name, e.ExpiresAt, err, c.want)
		}
	}
}

func TestARedriveIsNoAction(t *testing.T) {
	for _, kind := range []OperationKind{OperationRedrive, "", "fly"} {
		if _, err := (Standing{Status: StatusParked}).Act(Action{Kind: kind}, DefaultPolicy("wiki").Retention, readAt); KindOf(err) != KindInvalid {
			t.Errorf("%q: %v", kind, err)
		}
	}
}
