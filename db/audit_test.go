package db_test

import (
	"fmt"
	"strings"
	"testing"

	"dlo/db"
	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

// trail is a store with a trail of rows, of which the guards are down.
func trail(t testing.TB, rows int) *dbtest.DB {
	t.Helper()
	s := dbtest.Open(t)
	for i := range rows {
		if err := s.Audit(background, dlqtest.Reviewer, fmt.Sprint("act.", i), nil, "wiki", map[string]any{"n": i}); err != nil {
			t.Fatal(err)
		}
	}
	s.Exec(t, `drop trigger audit_no_update`)
	s.Exec(t, `drop trigger audit_no_delete`)
	return s
}

func TestASoundTrailVerifies(t *testing.T) {
	s := trail(t, 12)
	rows, fault, err := s.VerifyAudit(background)
	if rows != 12 || fault != "" || err != nil {
		t.Errorf("%d rows, %q, %v", rows, fault, err)
	}
	head, err := s.AuditHead(background)
	if err != nil || head.Seq != 12 || len(head.Hash) != 64 {
		t.Errorf("%+v, %v", head, err)
	}
	if rows, fault, err := dbtest.Open(t).VerifyAudit(background); rows != 0 || fault != "" || err != nil {
		t.Errorf("an empty trail: %d, %q, %v", rows, fault, err)
	}
}

func TestEveryChangeToTheTrailShows(t *testing.T) {
	changes := map[string]struct {
		damage string
		row    int64
	}{
		"a row that is gone":           {`delete from audit where seq = 5`, 5},
		"the first row, gone":          {`delete from audit where seq = 1`, 1},
		"a tail in the middle":         {`delete from audit where seq between 5 and 8`, 5},
		"two rows that changed places": {`update audit set seq = case seq when 5 then -6 else -5 end where seq in (5, 6); update audit set seq = -seq where seq < 0`, 5},
		"a row that was doubled":       {`insert into audit select 13, at, actor_kind, actor_id, actor_name, action, entry_id, dlq_id, cohort_id, operation_id, source, detail, hash from audit where seq = 12`, 13},
		"numbers that were closed":     {`delete from audit where seq = 5; update audit set seq = -seq + 1 where seq > 5; update audit set seq = -seq where seq < 0`, 5},
		"a text moved to the next":     {`update audit set actor_id = '', actor_name = actor_id || actor_name where seq = 5`, 5},
	}
	for _, column := range []string{"at", "actor_kind", "actor_id", "actor_name", "action", "entry_id", "dlq_id", "cohort_id", "operation_id", "source", "detail", "hash"} {
		value := `'x'`
		if column == "at" || column == "entry_id" {
			value = "7"
		}
		changes["an edited "+column] = struct {
			damage string
			row    int64
		}{`update audit set ` + column + ` = ` + value + ` where seq = 5`, 5}
	}
	for name, c := range changes {
		t.Run(name, func(t *testing.T) {
			s := trail(t, 12)
			s.Exec(t, c.damage)
			_, fault, err := s.VerifyAudit(background)
			if err != nil || !strings.Contains(fault, fmt.Sprintf("audit row %d ", c.row)) {
				t.Errorf("%q, %v; want row %d named", fault, err, c.row)
			}
			if faults, err := s.Check(background); err != nil || len(faults) != 1 || faults[0] != fault {
				t.Errorf("the check finds %q, %v", faults, err)
			}
		})
	}
}

func TestAnEditedRowWithAHashOfItsOwnBreaksTheNext(t *testing.T) {
	s := trail(t, 12)
	rows, err := s.AuditTrail(background, 6, 2) // the fifth and the fourth
	if err != nil {
		t.Fatal(err)
	}
	forged := rows[0]
	forged.ActorName = "nobody@example.com"
	s.Exec(t, `update audit set actor_name = $1, hash = $2 where seq = 5`, forged.ActorName, db.Chain(forged, rows[1].Hash))
	if _, fault, err := s.VerifyAudit(background); err != nil || !strings.Contains(fault, "audit row 6 ") {
		t.Errorf("%q, %v", fault, err)
	}
}

func TestTheTrailIsOnlyEverAppendedTo(t *testing.T) {
	s := dbtest.Open(t)
	if err := s.Audit(background, dlqtest.Reviewer, "signed_in", nil, "", nil); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{`update audit set actor_name = 'x'`, `delete from audit`, `insert or replace into audit select * from audit`} {
		if err := s.TryExec(t, `pragma recursive_triggers = on; `+statement); err == nil || !strings.Contains(err.Error(), "appended to") {
			t.Errorf("%s: %v", statement, err)
		}
	}
	if rows, fault, err := s.VerifyAudit(background); rows != 1 || fault != "" || err != nil {
		t.Errorf("%d, %q, %v", rows, fault, err)
	}
}

func TestWhatAPersonDoesStandsInTheTrailAndWhatAnArrivalSaysDoesNot(t *testing.T) {
	s := withTarget(t)
	secret := "contract of the tenant"
	r := s.Park(t, dlqtest.Held("v1"), dlqtest.With(func(e *dlq.Envelope) { e.ErrorMessage, e.Filename, e.StackTrace = secret, secret, secret }))
	for _, kind := range []dlq.OperationKind{dlq.OperationQuarantine, dlq.OperationRelease, dlq.OperationExtend, dlq.OperationArchive, dlq.OperationRestore} {
		if err := s.Act(background, dlqtest.Reviewer, r.DLQID, dlq.Action{Kind: kind, Days: 5, Grant: dlq.GrantOne, Reason: "because"}); err != nil {
			t.Fatal(err)
		}
	}
	bring(t, s, r.DLQID, dlq.StatusResolved)
	rows, err := s.AuditOfEntry(background, s.Entry(t, r.DLQID).ID, 100)
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]dlq.AuditRow{}
	for _, row := range rows {
		done[row.Action] = row
		if row.DLQID != r.DLQID || row.Source != "wiki" {
			t.Errorf("%+v", row)
		}
	}
	for _, action := range []string{"entry.quarantine", "entry.release", "entry.extend", "entry.archive", "entry.restore", "entry.redrive"} {
		if row, ok := done[action]; !ok || row.ActorName != "reviewer@example.com" || row.ActorKind != dlq.ActorPerson {
			t.Errorf("%s: %+v", action, row)
		}
	}
	all, err := s.AuditTrail(background, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range all {
		if strings.Contains(fmt.Sprint(row), secret) {
			t.Errorf("the trail holds content: %+v", row)
		}
		if row.Seq != int64(len(all)-i) {
			t.Errorf("row %d has the number %d", i, row.Seq)
		}
	}
	older, err := s.AuditTrail(background, all[2].Seq, 2)
	if err != nil || len(older) != 2 || older[0].Seq != all[3].Seq {
		t.Errorf("before %d: %+v, %v", all[2].Seq, older, err)
	}
}

func TestWhatFailsLeavesNoTrail(t *testing.T) {
	s := dbtest.Open(t)
	r := s.Park(t)
	before, err := s.AuditHead(background)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Act(background, dlqtest.Reviewer, r.DLQID, dlq.Action{Kind: dlq.OperationRelease, Grant: dlq.GrantOne}); dlq.KindOf(err) != dlq.KindConflict {
		t.Fatal(err)
	}
	if err := s.Act(background, dlqtest.Reviewer, r.DLQID, dlq.Action{Kind: dlq.OperationRestore}); err != nil { // is so already
		t.Fatal(err)
	}
	if after, err := s.AuditHead(background); err != nil || after.Seq != before.Seq {
		t.Errorf("%+v, %v", after, err)
	}
}
