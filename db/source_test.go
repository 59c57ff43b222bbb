package db_test

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

const signing = "whsec_c2VjcmV0IHRoYXQgc2lnbnMgZGVsaXZlcmllcw"

func TestTheFirstEnvelopeOfASourceCreatesIt(t *testing.T) {
	s := dbtest.Open(t)
	s.Park(t)
	src, err := s.Source(background, "wiki")
	if err != nil || !reflect.DeepEqual(src.Policy, dlq.DefaultPolicy("wiki")) || src.HasSecret || !src.LastArrivalAt.Equal(dlqtest.Now) {
		t.Errorf("%+v, %v", src, err)
	}
	if rows, err := s.AuditTrail(background, 0, 10); err != nil || len(rows) != 1 || rows[0].Action != "source.created" || rows[0].ActorKind != dlq.ActorPolicy {
		t.Errorf("%+v, %v", rows, err)
	}
	if _, err := s.Source(background, "Wiki"); dlq.KindOf(err) != dlq.KindNotFound {
		t.Error(err)
	}
}

func TestAPolicyIsReplacedWholeAndItsSecretsKept(t *testing.T) {
	s := dbtest.Open(t)
	putPolicy(t, s, dlqtest.Policy("wiki", func(p *dlq.SourcePolicy) { p.Redrive.Secret, p.Runbook, p.PoisonThreshold = signing, "call", 7 }))
	putPolicy(t, s, dlqtest.Policy("wiki"))
	src, err := s.Source(background, "wiki")
	if err != nil || !src.HasSecret || src.Policy.Redrive.Secret != "" || src.Policy.Runbook != "" || src.Policy.PoisonThreshold != 3 {
		t.Errorf("%+v, %v", src, err)
	}
	if got, err := s.RedriveSecrets(background, "wiki"); err != nil || len(got) != 1 || got[0] != signing {
		t.Errorf("the secrets are %q, %v", got, err)
	}
	putPolicy(t, s, dlqtest.Policy("wiki", func(p *dlq.SourcePolicy) { p.Redrive.Secret = signing + "Mg" }))
	if got, err := s.RedriveSecrets(background, "wiki"); err != nil || len(got) != 2 || got[0] != signing+"Mg" {
		t.Errorf("with a new one the secrets are %q, %v", got, err)
	}
	for _, name := range []string{"leases", ""} {
		if got, err := s.RedriveSecrets(background, name); err != nil || len(got) > 0 {
			t.Errorf("the secret of %q is %q, %v", name, got, err)
		}
	}
}

func TestNoSecretStandsInTheDatabaseAsItIs(t *testing.T) {
	s := dbtest.Open(t)
	putPolicy(t, s, dlqtest.Policy("wiki", func(p *dlq.SourcePolicy) {
		p.Redrive.Secret, p.Alerts.Secret, p.Alerts.URL, p.Owner = signing, "whsec_YWxlcnRz", "https://router.example.com", "found-because-it-is-no-secret@example.com"
	}))
	b := s.Bytes(t)
	if !bytes.Contains(b, []byte("found-because-it-is-no-secret")) {
		t.Fatal("the search would find nothing at all")
	}
	for _, secret := range []string{signing, signing[6:], "whsec_", "YWxlcnRz"} {
		if bytes.Contains(b, []byte(secret)) {
			t.Errorf("the file holds %d bytes of a secret", len(secret))
		}
	}
	rows, err := s.AuditTrail(background, 0, 10)
	if err != nil || strings.Contains(rows[0].Detail, "whsec_") {
		t.Errorf("the trail holds a secret, or %v", err)
	}
}

func TestASecretOpensWithItsKeyAndInItsPlaceAlone(t *testing.T) {
	s := dbtest.Open(t)
	putPolicy(t, s, dlqtest.Policy("wiki", func(p *dlq.SourcePolicy) { p.Redrive.Secret = signing }))
	putPolicy(t, s, dlqtest.Policy("leases"))
	other := s.Beside(t, dbtest.Key(bytes.Repeat([]byte{7}, 32)))
	if got, err := other.RedriveSecrets(background, "wiki"); err == nil || strings.Contains(err.Error(), "whsec_") {
		t.Errorf("another key opens %q, %v", got, err)
	}
	none := s.Beside(t, dbtest.Key(nil))
	if _, err := none.RedriveSecrets(background, "wiki"); err == nil {
		t.Error("no key opens it")
	}
	if _, _, err := none.PutSource(background, dlqtest.Admin, dlqtest.Policy("wiki", func(p *dlq.SourcePolicy) { p.Redrive.Secret = signing })); err == nil {
		t.Error("a secret is kept without a key")
	}
	if _, _, err := none.PutSource(background, dlqtest.Admin, dlqtest.Policy("third")); err != nil {
		t.Errorf("a policy without secrets needs no key: %v", err)
	}
	s.Exec(t, `update source set redrive_secret = (select redrive_secret from source where name = 'wiki') where name = 'leases'`)
	if got, err := s.RedriveSecrets(background, "leases"); err == nil {
		t.Errorf("a secret moved to another source opens as %q", got)
	}
	s.Exec(t, `update source set redrive_secret = substr(redrive_secret, 1, 5) where name = 'wiki'`)
	if _, err := s.RedriveSecrets(background, "wiki"); err == nil {
		t.Error("a secret cut short opens")
	}
}

func TestPausing(t *testing.T) {
	s := withTarget(t)
	r := s.Park(t, dlqtest.Held("v"))
	ask(t, s, r.DLQID)
	due := func() int {
		t.Helper()
		list, err := s.DueSources(background)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if due() != 1 {
		t.Fatal("nothing is due")
	}
	if changed, err := s.PauseSource(background, dlqtest.Reviewer, "wiki", true, "why"); err != nil || !changed || due() != 0 {
		t.Errorf("paused: %v, %v, %d due", changed, err, due())
	}
	if changed, err := s.PauseSource(background, dlqtest.Reviewer, "wiki", true, "why"); err != nil || changed {
		t.Errorf("paused again: %v, %v", changed, err)
	}
	if src, err := s.Source(background, "wiki"); err != nil || !src.Paused || src.PausedBy != "reviewer@example.com" {
		t.Errorf("%+v, %v", src, err)
	}
	if changed, err := s.PauseSource(background, dlqtest.Reviewer, "wiki", false, ""); err != nil || !changed || due() != 1 {
		t.Errorf("resumed: %v, %v", changed, err)
	}
	if _, err := s.PauseSource(background, dlqtest.Reviewer, "none", true, ""); dlq.KindOf(err) != dlq.KindNotFound {
		t.Error(err)
	}
	for _, paused := range []bool{true, false} {
		if err := s.PauseAll(background, dlqtest.Reviewer, paused, "why"); err != nil {
			t.Fatal(err)
		}
		by, err := s.Paused(background)
		if err != nil || (by == "reviewer@example.com") != paused || (due() == 0) != paused {
			t.Errorf("all paused %v: by %q, %v, %d due", paused, by, err, due())
		}
	}
}

func TestWhatRunsNow(t *testing.T) {
	s := dbtest.Open(t)
	record := func(version string, stopped []string) dlq.Running {
		t.Helper()
		s.Clock.Advance(time.Minute)
		r, err := s.RecordDeployment(background, dlqtest.Pipeline, "wiki", "parser", version, stopped)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, c := range []struct {
		version string
		stopped []string
		want    []string
	}{
		{"1", nil, []string{"1"}},
		{"2", []string{}, []string{"1", "2"}}, // a rolling deploy
		{"2", []string{"1"}, []string{"2"}},
		{"2", nil, []string{"2"}},
		{"1", nil, []string{"1"}}, // a rollback
		{"", []string{"1"}, nil},
	} {
		if got := record(c.version, c.stopped); !reflect.DeepEqual(got["parser"], c.want) {
			t.Errorf("%q, stopped %q: %v runs, want %v", c.version, c.stopped, got["parser"], c.want)
		}
	}
	src, err := s.Source(background, "wiki")
	if err != nil {
		t.Fatal(err)
	}
	list, err := s.Deployments(background, src.ID, 0, 10)
	if err != nil || len(list) != 3 || list[0].Version != "1" || list[0].StoppedAt.IsZero() || list[2].Version != "1" || list[0].Actor != "pipeline" {
		t.Errorf("%+v, %v", list, err)
	}
}
