package redrive_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/probe"
	"dlo/dlq/redrive"
)

// withSource gives the stand a source that can be asked, and answers as told.
func (s *stand) withSource(h http.HandlerFunc) {
	s.t.Helper()
	server := httptest.NewServer(h)
	s.t.Cleanup(server.Close)
	s.policy.Probe = dlq.ProbePolicy{URL: server.URL + "/doc/{doc_id}", Kind: "any", ETagFrom: "header:ETag", Fetch: dlq.FetchNever}
	s.put(s.policy)
	s.o.Prober = probe.New(&http.Client{}, nil, s.clock.Now, 1<<20)
}

func TestWhichBytesAreSentFollowsTheEvidence(t *testing.T) {
	unchanged := answer(200, "", "ETag", `"v1"`)
	changed := answer(200, "", "ETag", `"v2"`)
	silent := answer(500, "")
	for _, c := range []struct {
		name    string
		source  http.HandlerFunc // nil: it has no probe
		mode    dlq.Mode
		accept  bool
		held    bool
		sent    dlq.Mode
		leftOut dlq.LeftOut
		bytes   dlq.Reading
		grade   dlq.Grade
	}{
		{"auto, unchanged: the copy", unchanged, dlq.ModeAuto, false, true, dlq.ModeHeld, "", dlq.ReadingUnchanged, dlq.GradeDigest},
		{"auto, changed: the source", changed, dlq.ModeAuto, false, true, dlq.ModeSource, "", dlq.ReadingChanged, dlq.GradeStrongETag},
		{"auto, gone: left out", answer(404, ""), dlq.ModeAuto, false, true, "", dlq.LeftGoneAtSource, "", ""},
		{"auto, cannot tell: left out", silent, dlq.ModeAuto, false, true, "", dlq.LeftCannotTellChanged, "", ""},
		{"auto, cannot tell, accepted: the copy", silent, dlq.ModeAuto, true, true, dlq.ModeHeld, "", dlq.ReadingUnchanged, dlq.GradeDigest},
		{"auto, cannot tell, accepted, no copy: the source", silent, dlq.ModeAuto, true, false, dlq.ModeSource, "", dlq.ReadingUnknown, dlq.GradeNone},
		{"auto, unchanged, no copy: the source", unchanged, dlq.ModeAuto, false, false, dlq.ModeSource, "", dlq.ReadingUnchanged, dlq.GradeStrongETag},
		{"auto, no probe: the copy", nil, dlq.ModeAuto, false, true, dlq.ModeHeld, "", dlq.ReadingUnchanged, dlq.GradeDigest},
		{"auto, no probe, no copy: the source", nil, dlq.ModeAuto, false, false, dlq.ModeSource, "", dlq.ReadingUnknown, dlq.GradeNone},
		{"held, gone: the copy all the same", answer(410, ""), dlq.ModeHeld, false, true, dlq.ModeHeld, "", dlq.ReadingUnchanged, dlq.GradeDigest},
		{"source, gone: sent all the same", answer(404, ""), dlq.ModeSource, false, true, dlq.ModeSource, "", dlq.ReadingGone, dlq.GradeStatus},
		{"source, no probe", nil, dlq.ModeSource, false, true, dlq.ModeSource, "", dlq.ReadingUnknown, dlq.GradeNone},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newStand(t)
			if c.source != nil {
				s.withSource(c.source)
			}
			park := s.parkUnheld
			if c.held {
				park = s.park
			}
			id := park("1", "one", `{"source_version":"\"v1\"","payload_uri":"s3://bucket/1"}`)
			o := s.ask(redrive.Request{Entries: []string{id}, Mode: c.mode, AcceptUnknown: c.accept})
			for range 6 { // a source that is silent is asked again for some minutes
				s.run()
				s.clock.advance(time.Minute)
			}
			r, got := s.redrive(id), s.target.got()
			if c.leftOut != "" {
				if len(got) != 0 || s.leftOut(o)[c.leftOut] != 1 || s.status(id) != dlq.StatusParked || s.entry(id).RedrivesTotal != 0 {
					t.Fatalf("%d deliveries, left out %v, entry %s", len(got), s.leftOut(o), s.status(id))
				}
				return
			}
			if len(got) != 1 {
				t.Fatalf("%d deliveries, left out %v", len(got), s.leftOut(o))
			}
			if r.Sent != c.sent || got[0].text("mode") != string(c.sent) || r.Bytes.Bytes != c.bytes || r.Bytes.Grade != c.grade {
				t.Errorf("sent %s (%s), reading %s by %s", r.Sent, got[0].text("mode"), r.Bytes.Bytes, r.Bytes.Grade)
			}
			want := ""
			if c.sent == dlq.ModeHeld {
				want = digest("one")
			}
			if got[0].text("payload_sha256") != want || got[0].text("payload_uri") != "s3://bucket/1" {
				t.Errorf("it is about bytes %q at %q", got[0].text("payload_sha256"), got[0].text("payload_uri"))
			}
			if c.source != nil && r.Probe.Status == 0 {
				t.Error("the question to the source was not recorded")
			}
		})
	}
}

func TestEmptyModeIsThatOfTheSource(t *testing.T) {
	for _, mode := range []dlq.Mode{dlq.ModeHeld, dlq.ModeSource} {
		s := newStand(t)
		s.policy.Redrive.Mode = mode
		s.put(s.policy)
		id := s.park("1", "one", "")
		s.start(id)
		s.run()
		if r := s.redrive(id); r.Mode != mode || r.Sent != mode {
			t.Errorf("a source of mode %s was asked %q and sent %q", mode, r.Mode, r.Sent)
		}
	}
}

func TestCopyThatLostItsDigestIsNotSent(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"damaged": func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.WriteFile(path, []byte("two"), 0o600)
		},
		"lost": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t)
			id := s.park("1", "one", "")
			sha := digest("one")
			s.must(damage(filepath.Join(s.blobs, sha[:2], sha)))
			o := s.start(id)
			s.run()
			if len(s.target.got()) != 0 || s.leftOut(o)[dlq.LeftPayloadCorrupt] != 1 {
				t.Errorf("%d deliveries, left out %v", len(s.target.got()), s.leftOut(o))
			}
			if e := s.entry(id); e.Status != dlq.StatusParked || e.Copy != dlq.CopyCorrupt {
				t.Errorf("entry %s, copy %s", e.Status, e.Copy)
			}
		})
	}
}

type unavailable struct{}

func (unavailable) Verify(context.Context, string) (int64, error) {
	return 0, dlq.Errorf(dlq.KindUnavailable, "the disk does not answer")
}

func TestTroubleOfOursIsNotHeldAgainstTheDocument(t *testing.T) {
	s := newStand(t)
	sound := s.o.Payloads
	s.o.Payloads = unavailable{}
	id := s.park("1", "one", "")
	s.start(id)
	s.run()
	if r := s.redrive(id); r.State != dlq.RedrivePending || r.Deliveries != 0 || !r.NextAt.After(s.clock.Now()) || len(s.target.got()) != 0 {
		t.Fatalf("redrive %s after %d deliveries, next at %s", r.State, r.Deliveries, r.NextAt)
	}
	s.o.Payloads = sound
	s.clock.advance(s.redrive(id).NextAt.Sub(s.clock.Now()))
	s.run()
	if r := s.redrive(id); r.State != dlq.RedriveDelivered {
		t.Errorf("redrive %s when the store is back", r.State)
	}
}

func TestSecondTrySendsWhatTheFirstSent(t *testing.T) {
	s := newStand(t)
	var edited atomic.Bool
	s.withSource(func(w http.ResponseWriter, r *http.Request) {
		if edited.Load() {
			answer(200, "", "ETag", `"v2"`)(w, r)
			return
		}
		answer(200, "", "ETag", `"v1"`)(w, r)
	})
	s.target.answers(inTurn(answer(503, ""), answer(202, "")))
	id := s.park("1", "one", `{"source_version":"\"v1\""}`)
	s.start(id)
	s.run()
	edited.Store(true)
	s.clock.advance(s.redrive(id).NextAt.Sub(s.clock.Now()))
	s.run()
	got := s.target.got()
	if len(got) != 2 || got[0].text("mode") != "held" || got[1].text("mode") != "held" || got[1].text("payload_sha256") != digest("one") {
		t.Fatalf("sent %d times: %v", len(got), got)
	}
	if r := s.redrive(id); r.Probe.ETag != `"v1"` {
		t.Errorf("what the source said at the first send was replaced by %q", r.Probe.ETag)
	}
}

func TestCopyOfAnOlderFailureIsNotTakenForThisDocument(t *testing.T) {
	for _, c := range []struct {
		mode    dlq.Mode
		sent    dlq.Mode
		sha     string
		version string
	}{
		{dlq.ModeAuto, dlq.ModeSource, "", `"v2"`},
		{dlq.ModeHeld, dlq.ModeHeld, digest("old"), `"v1"`}, // the version guard must not be told that old bytes are new
	} {
		s := newStand(t)
		id := s.park("1", "old", `{"source_version":"\"v1\"","ingest_seq":1}`)
		s.parkUnheld("1", "new", `{"source_version":"\"v2\"","ingest_seq":2}`)
		s.ask(redrive.Request{Entries: []string{id}, Mode: c.mode})
		s.run()
		got := s.target.got()
		if len(got) != 1 {
			t.Fatalf("%s: %d deliveries", c.mode, len(got))
		}
		if got[0].text("mode") != string(c.sent) || got[0].text("payload_sha256") != c.sha || got[0].text("source_version") != c.version {
			t.Errorf("%s sends %s %q of version %s", c.mode, got[0].text("mode"), got[0].text("payload_sha256"), got[0].text("source_version"))
		}
		if r := s.redrive(id); r.Bytes.Bytes != dlq.ReadingUnknown {
			t.Errorf("%s reads %s", c.mode, r.Bytes.Bytes)
		}
	}
}

func TestTargetThatWasTakenAwayLeavesItsEntriesOut(t *testing.T) {
	s := newStand(t)
	id := s.park("1", "one", "")
	o := s.start(id)
	s.policy.Redrive.URL = ""
	s.put(s.policy)
	s.run()
	if s.leftOut(o)[dlq.LeftNoTarget] != 1 || s.status(id) != dlq.StatusParked {
		t.Errorf("left out %v, entry %s", s.leftOut(o), s.status(id))
	}
}

// A source that is down for a moment costs a document nothing but that moment.
func TestASilentSourceIsAskedAgain(t *testing.T) {
	s := newStand(t)
	s.withSource(inTurn(answer(503, ""), answer(503, ""), answer(503, ""), answer(200, "", "ETag", `"v1"`)))
	id := s.park("1", "one", `{"source_version":"\"v1\""}`)
	o := s.start(id)
	for range 6 {
		s.run()
		s.clock.advance(10 * time.Second)
	}
	if n := len(s.target.got()); n != 1 || s.leftOut(o)[dlq.LeftCannotTellChanged] != 0 {
		t.Errorf("%d were sent, left out %v", n, s.leftOut(o))
	}
}
