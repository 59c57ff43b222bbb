package intake_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dlo/connectors/payload"
	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
	"dlo/dlq/intake"
)

var background = context.Background()

const limit = 1 << 20 // bytes of a payload

// stand is an intake over a real store and real files.
type stand struct {
	*intake.Intake
	db       *dbtest.DB
	payloads payload.Store
	folder   string // of the payloads
}

// damage changes a byte of a stored copy behind the store's back.
func (s *stand) damage(t testing.TB, digest string) {
	t.Helper()
	path := filepath.Join(s.folder, digest[:2], digest)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func newStand(t testing.TB) *stand {
	t.Helper()
	s := &stand{db: dbtest.Open(t), folder: t.TempDir()}
	var err error
	if s.payloads, err = payload.Open("file:" + s.folder); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.payloads.Close() })
	s.Intake = intake.New(s.db, s.payloads, s.db.Clock.Now, limit)
	return s
}

// receive takes an envelope that must be accepted.
func (s *stand) receive(t testing.TB, body string) (dlq.Receipt, dlq.Entry, dlq.Attempt) {
	t.Helper()
	return s.receiveParcel(t, intake.Parcel{Body: []byte(body)})
}

func (s *stand) receiveParcel(t testing.TB, p intake.Parcel) (dlq.Receipt, dlq.Entry, dlq.Attempt) {
	t.Helper()
	r, err := s.Receive(background, dlqtest.Pipeline, p)
	if err != nil {
		t.Fatalf("%.200s: %v %v", p.Body, err, faults(err))
	}
	e := s.db.Entry(t, r.DLQID)
	a, err := s.db.Attempt(background, e.EvidenceID)
	if err != nil {
		t.Fatal(err)
	}
	return r, e, a
}

// refused takes an envelope that must be refused, and kept as it came.
func (s *stand) refused(t testing.TB, by dlq.Actor, p intake.Parcel, source string) error {
	t.Helper()
	before, err := s.db.CountRejected(background, source)
	if err != nil {
		t.Fatal(err)
	}
	r, refusal := s.Receive(background, by, p)
	if refusal == nil {
		t.Fatalf("%.200s was accepted as %+v", p.Body, r)
	}
	list, err := s.db.Rejected(background, source, 1)
	if err != nil || int64(len(list)) == 0 {
		t.Fatalf("%.200s was not kept: %v; refused with %v", p.Body, err, refusal)
	}
	if n, _ := s.db.CountRejected(background, source); n != before+1 || string(list[0].Body) != string(p.Body[:min(len(p.Body), dlq.MaxEnvelope)]) {
		t.Errorf("%.200s was not kept as it came", p.Body)
	}
	var problem struct {
		Detail string
		Errors []dlq.Fault
	}
	if err := json.Unmarshal([]byte(list[0].Problem), &problem); err != nil || problem.Detail == "" || len(problem.Errors) != len(faults(refusal)) {
		t.Errorf("it was kept with the problem %s, refused with %v", list[0].Problem, refusal)
	}
	return refusal
}

func faults(err error) []dlq.Fault {
	var e *dlq.Error
	if errors.As(err, &e) {
		return e.Faults
	}
	return nil
}

func pointers(err error) string {
	var out []string
	for _, f := range faults(err) {
		out = append(out, f.Pointer)
	}
	return strings.Join(out, " ")
}

func (s *stand) holds(t testing.TB, digest string) string {
	t.Helper()
	r, _, err := s.payloads.Open(background, digest)
	if err != nil {
		t.Fatalf("the bytes are not held: %v", err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
