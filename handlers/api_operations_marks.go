package handlers

import (
	"time"

	"dlo/dlq"
	"dlo/dlq/redrive"
)

// operationMarks are the fields of POST /operations that some kinds need: until is
// a time of an extension, and of a disposition what ends it.
type operationMarks struct {
	Days        int       `json:"days"`
	Until       string    `json:"until"`
	Grant       dlq.Grant `json:"grant"`
	Owner       string    `json:"owner"`
	Ticket      string    `json:"ticket"`
	Disposition *string   `json:"disposition"`
	Date        string    `json:"date"`
}

// into fills in the request, as far as its kind has such fields.
func (m operationMarks) into(r *redrive.Request) error {
	r.Days, r.Grant = m.Days, m.Grant
	switch r.Kind {
	case dlq.OperationAssign:
		r.Owner, r.Ticket = m.Owner, m.Ticket
	case dlq.OperationDispose:
		if m.Disposition == nil {
			return nil // is said with the other faults
		}
		n, err := newDisposition(*m.Disposition, m.Until, m.Date, "")
		if err != nil {
			return err
		}
		r.Disposition = &n
	default:
		if m.Until == "" {
			return nil
		}
		until, err := time.Parse(time.RFC3339, m.Until)
		if err != nil {
			return dlq.Invalid("the request was not understood; nothing was done", dlq.Fault{Pointer: "/until", Detail: "a time in RFC 3339 expected, such as 2026-12-24T18:00:00Z"})
		}
		r.Until = until
	}
	return nil
}

// apiMarks is what an operation of such a kind does.
type apiMarks struct {
	Days        int                   `json:"days,omitempty"`
	Grant       dlq.Grant             `json:"grant,omitempty"`
	Owner       string                `json:"owner,omitempty"`
	Ticket      string                `json:"ticket,omitempty"`
	Disposition string                `json:"disposition,omitempty"`
	Until       string                `json:"until,omitempty"`
	Date        *apiTime              `json:"date,omitempty"`
	Readings    map[dlq.Reading]int64 `json:"readings,omitempty"` // of a probe
}

func newAPIMarks(o dlq.Operation) apiMarks {
	m := apiMarks{Days: o.Days, Grant: o.Grant, Owner: o.Owner, Ticket: o.Ticket}
	if !o.Until.IsZero() {
		m.Until = o.Until.UTC().Format(time.RFC3339)
	}
	if o.Disposition == nil {
		return m
	}
	m.Disposition, m.Until = string(o.Disposition.Disposition), string(o.Disposition.Until)
	if !o.Disposition.Date.IsZero() {
		at := apiTime(o.Disposition.Date)
		m.Date = &at
	}
	return m
}
