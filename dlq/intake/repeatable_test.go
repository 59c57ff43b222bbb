package intake_test

import (
	"testing"
	"time"

	"dlo/dlq/dlqtest"
	"dlo/dlq/intake"
)

// A pipeline that sends the same body twice failed twice; a file that is read
// twice says the same thing twice.
func TestOnlyWhatIsRepeatableIsKnownByItsBytes(t *testing.T) {
	s := newStand(t)
	const body = `{"doc_id":"1","error_type":"ParseError"}`
	for i, c := range []struct {
		p         intake.Parcel
		duplicate bool
		arrivals  int64
	}{
		{intake.Parcel{Body: []byte(body), Source: "wiki"}, false, 1},
		{intake.Parcel{Body: []byte(body), Source: "wiki"}, false, 2},
		{intake.Parcel{Body: []byte(body), Source: "wiki", Repeatable: true}, false, 3},
		{intake.Parcel{Body: []byte(body), Source: "wiki", Repeatable: true}, true, 3},
		{intake.Parcel{Body: []byte(body), Source: "leases", Repeatable: true}, false, 1},
		{intake.Parcel{Body: []byte(`{"source":"wiki","doc_id":"1","error_type":"ParseError"}`), Source: "leases", Repeatable: true}, false, 4},
	} {
		s.db.Clock.Advance(time.Minute)
		r, err := s.Receive(background, dlqtest.Admin, c.p)
		if err != nil || r.Duplicate != c.duplicate || r.Arrivals != c.arrivals {
			t.Errorf("%d: %+v, %v", i, r, err)
		}
	}
	s.db.MustHold(t)
}
