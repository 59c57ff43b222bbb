package db_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

// lived is a store in which something of everything happened.
func lived(t testing.TB) (*dbtest.DB, []dlq.Receipt) {
	t.Helper()
	s := withTarget(t)
	var got []dlq.Receipt
	for i := range 6 {
		got = append(got, s.Park(t, dlqtest.Doc(fmt.Sprint(i)), dlqtest.Held(fmt.Sprint("v", i)), dlqtest.Defect(fmt.Sprint("E", i%2)), dlqtest.FirstSeen(dlqtest.Now.AddDate(0, -i, 0))))
	}
	bring(t, s, got[1].DLQID, dlq.StatusArchived)
	bring(t, s, got[2].DLQID, dlq.StatusQuarantined)
	bring(t, s, got[3].DLQID, dlq.StatusResolved)
	bring(t, s, got[4].DLQID, dlq.StatusRedriving)
	s.MustHold(t)
	return s, got
}

// Replays of before verdicts were kept count in proofs all the same.
func TestOlderReplaysAreJudged(t *testing.T) {
	s, _ := lived(t)
	counts := func() (replays, judged int64) {
		return s.Int(t, `select coalesce(sum(replays), 0) from replay_tally`), s.Int(t, `select count(*) from redrive where verdict is not null`)
	}
	replays, judged := counts()
	if replays == 0 || replays != judged {
		t.Fatalf("%d replays are counted and %d judged", replays, judged)
	}
	s.Exec(t, `update redrive set verdict = null, step_id = null`)
	s.Exec(t, `delete from replay_tally`)
	for range 100 {
		n, err := s.JudgeOlder(background, 1)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			break
		}
	}
	if again, againJudged := counts(); again != replays || againJudged != judged {
		t.Errorf("%d are counted and %d judged again, want %d and %d", again, againJudged, replays, judged)
	}
	s.MustHold(t)
}

func TestTheCheckFindsWhatMustNeverBe(t *testing.T) {
	noGuard := []string{`drop trigger audit_no_update`, `drop trigger audit_no_delete`}
	for name, c := range map[string]struct {
		damage []string
		says   string
		mended bool // by RepairCounters
	}{
		"a cohort's count":                 {[]string{`update cohort set parked = parked + 1 where parked > 0`}, "counts other entries than it has", true},
		"a cohort's count of the resolved": {[]string{`update cohort set resolved = 7`}, "counts other entries than it has", true},
		"a cohort's arrivals":              {[]string{`update cohort set arrivals = arrivals + 1`}, "arrivals and its days", true},
		"a cell's month":                   {[]string{`update cell_month set entries = entries + 1 where rowid = (select min(rowid) from cell_month)`}, "counts 2 parked and has 1", true},
		"a cell's month that is gone":      {[]string{`delete from cell_month where status = 'archived'`}, "counts 0 archived and has 1", true},
		"a cell's month of nothing":        {[]string{`insert into cell_month (cell_id, month, status, entries) values (1, 1, 'erased', 3)`}, "counts 3 erased and has 0", true},
		"a source's day":                   {[]string{`update source_day set parked = parked + 2`}, "source wiki", true},
		"a source's days that are gone":    {[]string{`delete from source_day`}, "source wiki", true},
		"an operation's counts":            {[]string{`update operation set settled = settled + 1`}, "counts other items than it has", true},
		"an operation's steps":             {[]string{`update operation_tally set items = items + 1`}, "items that are", true},
		"replays that nobody judged":       {[]string{`update replay_tally set replays = replays + 1`}, "counts other replays than were judged", true},
		"replays that were not presumed":   {[]string{`update replay_tally set presumed = 1 - presumed`}, "counts other replays than were judged", true},
		"replays that fell elsewhere":      {[]string{`update replay_tally set outcome_cohort = 'another'`}, "counts other replays than were judged", true},
		"replays that would have been":     {[]string{`update replay_tally set other_verdict = 'next_defect'`}, "counts other replays than were judged", true},
		"a state that nobody counted":      {[]string{`update entry set status = 'archived' where status = 'parked'`}, "counts other entries than it has", true},
		"an attempt that is gone":          {[]string{`delete from attempt where id = (select min(id) from attempt)`}, "has no evidence", false},
		"a history with a gap":             {[]string{`update entry set last_attempt = 5 where doc_id = '0'`}, "has another number of rows", false},
		"a payload's row":                  {[]string{`delete from payload where sha256 = '` + dlqtest.Digest("v0") + `'`}, "bytes are held which no payload row has", false},
		"a redrive that is gone":           {[]string{`update redrive set state = 'settled' where state <> 'settled'`}, "redriving without a redrive in flight", false},
		"a cell of another fingerprint":    {[]string{`update entry set fingerprint_id = (select max(id) from fingerprint) where doc_id = '0'`}, "disagree on the fingerprint", false},
		"a reference to nothing":           {[]string{`update entry set cell_id = 999 where doc_id = '0'`}, "points to nothing in cell", false},
		"an audit row that was edited":     {append(noGuard, `update audit set actor_name = 'nobody@example.com' where seq = 2`), "audit row 2 does not follow", false},
		"an audit row that is gone":        {append(noGuard, `delete from audit where seq = 2`), "audit row 2 is missing", false},
		"an index that disagrees":          {[]string{`pragma writable_schema = on; delete from sqlite_schema where name = 'entry_by_doc'`}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := lived(t)
			for _, statement := range c.damage {
				s.Exec(t, statement)
			}
			faults, err := s.Check(background)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(faults, "\n"), c.says) {
				t.Errorf("found %q, want %q", faults, c.says)
			}
			if !c.mended {
				return
			}
			if err := s.RepairCounters(background); err != nil {
				t.Fatal(err)
			}
			s.MustHold(t)
		})
	}
}

func TestTheCheckFindsADamagedPage(t *testing.T) {
	s, _ := lived(t)
	again, err := s.Damaged(t)
	if err != nil {
		return // so damaged that it does not even open
	}
	if faults, err := again.Check(background); err == nil && len(faults) == 0 {
		t.Error("nothing was found")
	}
}

func TestRepairingWhatIsSoundChangesNoCounter(t *testing.T) {
	s, _ := lived(t)
	counters := `select 'cohort ' || id || ' ' || parked || ' ' || redriving || ' ' || quarantined || ' ' || archived || ' ' || resolved || ' ' || erased || ' ' || arrivals from cohort
		union all select 'cell ' || cell_id || ' ' || month || ' ' || status || ' ' || entries from cell_month where entries <> 0
		union all select 'day ' || source_id || ' ' || day || ' ' || review || ' ' || parked || ' ' || unparked from source_day
		union all select 'operation ' || id || ' ' || total || ' ' || waiting || ' ' || in_flight || ' ' || settled || ' ' || left_out || ' ' || cancelled from operation order by 1`
	before := s.Lines(t, counters)
	if err := s.RepairCounters(background); err != nil {
		t.Fatal(err)
	}
	if after := s.Lines(t, counters); strings.Join(after, "\n") != strings.Join(before, "\n") {
		t.Errorf("the counters were\n%s\nand are\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	head, err := s.AuditHead(background)
	if err != nil || head.Action != "counters.repaired" {
		t.Errorf("the trail ends with %q, %v", head.Action, err)
	}
}

func TestDepthOfADayIsWhatCameLessWhatLeft(t *testing.T) {
	s := withTarget(t)
	s.Clock.Set(dlqtest.Now)
	a := s.Park(t, dlqtest.Doc("a"), dlqtest.Held("a"))
	s.Park(t, dlqtest.Doc("b"))
	s.Clock.Advance(day)
	bring(t, s, a.DLQID, dlq.StatusResolved)
	s.Clock.Advance(day)
	s.Park(t, dlqtest.Doc("a"), dlqtest.Seen(s.Now()), dlqtest.Held("a"))
	got := s.Lines(t, `select (day - (select min(day) from source_day)) || ': ' || arrivals || ' arrivals, ' || opened || ' opened, ' || parked || ' parked, ' || unparked || ' unparked, ' || resolved || ' resolved' from source_day order by day`)
	want := []string{"0: 2 arrivals, 2 opened, 2 parked, 0 unparked, 0 resolved", "1: 0 arrivals, 0 opened, 0 parked, 1 unparked, 1 resolved", "2: 1 arrivals, 1 opened, 1 parked, 0 unparked, 0 resolved"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the days are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	s.Clock.Advance(time.Hour)
	s.MustHold(t)
}
