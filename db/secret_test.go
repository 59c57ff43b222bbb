package db_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

const (
	secondSecret = "whsec_c2Vjb25kIHNlY3JldCBvZiB0aGUgc291cmNl"
	thirdSecret  = "whsec_dGhpcmQgc2VjcmV0IG9mIHRoZSBzb3VyY2Uh"
)

func putSecret(t *testing.T, s *dbtest.DB, secret string) {
	t.Helper()
	putPolicy(t, s, dlqtest.Policy("wiki", func(p *dlq.SourcePolicy) { p.Redrive.Secret, p.Redrive.SecretOverlap = secret, dlq.Duration(time.Hour) }))
}

func secretsAre(t *testing.T, s *dbtest.DB, want ...string) {
	t.Helper()
	if got, err := s.RedriveSecrets(background, "wiki"); err != nil || !slices.Equal(got, want) {
		t.Helper()
		t.Errorf("the secrets are %q, %v; want %q", got, err, want)
	}
}

func TestASecretThatIsReplacedStandsBesideTheNewOneForTheOverlap(t *testing.T) {
	s := dbtest.Open(t)
	putSecret(t, s, signing)
	secretsAre(t, s, signing)
	putSecret(t, s, secondSecret)
	secretsAre(t, s, secondSecret, signing)
	src, err := s.Source(background, "wiki")
	if err != nil || !src.OverlapUntil.Equal(s.Clock.Now().Add(time.Hour)) {
		t.Errorf("both stand until %s, %v", src.OverlapUntil, err)
	}
	s.Clock.Advance(59 * time.Minute)
	putSecret(t, s, "")           // a policy without a secret keeps both
	putSecret(t, s, secondSecret) // and the same again neither replaces nor prolongs
	secretsAre(t, s, secondSecret, signing)
	s.Clock.Advance(time.Minute)
	secretsAre(t, s, secondSecret)
	for want := 1; want >= 0; want-- {
		if n, err := s.EndOverlaps(background); err != nil || n != want {
			t.Errorf("the sweep let go of %d, %v; want %d", n, err, want)
		}
	}
	if src, err := s.Source(background, "wiki"); err != nil || !src.OverlapUntil.IsZero() {
		t.Errorf("after the sweep both stand until %s, %v", src.OverlapUntil, err)
	}
}

func TestAThirdSecretTakesThePlaceOfTheOldest(t *testing.T) {
	s := dbtest.Open(t)
	putSecret(t, s, signing)
	putSecret(t, s, secondSecret)
	putSecret(t, s, thirdSecret)
	secretsAre(t, s, thirdSecret, secondSecret)
	putSecret(t, s, secondSecret) // back again
	secretsAre(t, s, secondSecret, thirdSecret)
}

func TestAnOverlapIsEndedAtOnceAndSaidInTheTrail(t *testing.T) {
	s := dbtest.Open(t)
	putSecret(t, s, signing)
	putSecret(t, s, secondSecret)
	for _, want := range []bool{true, false} {
		if ended, err := s.EndOverlap(background, dlqtest.Admin, "wiki", "it leaked"); err != nil || ended != want {
			t.Errorf("ended %v, %v; want %v", ended, err, want)
		}
	}
	secretsAre(t, s, secondSecret)
	if _, err := s.EndOverlap(background, dlqtest.Admin, "leases", ""); dlq.KindOf(err) != dlq.KindNotFound {
		t.Errorf("of no source: %v", err)
	}
	rows, err := s.AuditTrail(background, 0, 20)
	if err != nil {
		t.Fatal(err)
	}
	var actions []string
	for _, r := range rows {
		actions = append(actions, r.Action)
		if strings.Contains(r.Detail, "whsec_") {
			t.Error("the trail holds a secret")
		}
	}
	if !slices.Contains(actions, "source.secret_replaced") || actions[0] != "source.overlap_ended" || rows[0].Reason != "it leaked" {
		t.Errorf("the trail is %q", actions)
	}
	if b := s.Bytes(t); bytes.Contains(b, []byte("whsec_")) || bytes.Contains(b, []byte(signing[6:])) {
		t.Error("the file holds a secret")
	}
}

func TestASecretThatItsKeyDoesNotOpenIsNotKeptBesideTheNewOne(t *testing.T) {
	s := dbtest.Open(t)
	putSecret(t, s, signing)
	s.Exec(t, `update source set redrive_secret = substr(redrive_secret, 1, 20) where name = 'wiki'`)
	putSecret(t, s, secondSecret)
	secretsAre(t, s, secondSecret)
}
