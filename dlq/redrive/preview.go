package redrive

import (
	"context"
	"fmt"

	"dlo/dlq"
)

// PreviewStore is what a preview needs of the store.
type PreviewStore interface {
	// FirstMembers lists the ids of what a query matches, at most so many, in the
	// order of first arrival.
	FirstMembers(ctx context.Context, by dlq.Actor, q dlq.Query, most int) ([]string, error)
	// Candidates says of each entry, in the order of the names, what decides
	// whether a redrive takes it. One that is not found, or that the actor may
	// not see, has no Status. An empty mode is that of each entry's source.
	Candidates(ctx context.Context, by dlq.Actor, dlqIDs []string, mode dlq.Mode) ([]dlq.Candidate, error)
}

// PreviewMost is how many entries a preview looks at: the first that arrived. It
// is made for each look at a page, so its price must not grow with the queue.
const PreviewMost = 5000

// Preview is what a redrive would do if it were started now.
type Preview struct {
	Looked      int64 // at how many of its entries, of PreviewMost at most; the other numbers are of these
	Goes        int64 // sent to its pipeline
	Skipped     int64 // resolved without being sent: its key is committed already
	Quarantined int64 // at the poison threshold: quarantined instead; also in LeftOut
	LeftOut     map[dlq.LeftOut]int64
	// Of those that go: what is held of their bytes. Under held, and under
	// source, this is what the choice risks.
	Copies map[dlq.CopyState]int64

	Load Load // what of those that go will go downstream, as far as it is known
	Said Said // what the sources said last of those that go
}

// candidatesAtOnce bounds one question to the store.
const candidatesAtOnce = 500

// PreviewOf says what a redrive would do with the first of its entries, and
// changes nothing. How many there are in all is the caller's to count. Between it
// and the start anything may happen; that is what Expect is for.
func PreviewOf(ctx context.Context, store PreviewStore, by dlq.Actor, req Request) (Preview, error) {
	p := Preview{LeftOut: map[dlq.LeftOut]int64{}, Copies: map[dlq.CopyState]int64{}, Said: Said{Readings: map[dlq.Reading]int64{}}}
	members := distinct(req.Entries)
	if req.Query != "" {
		q, bad := dlq.ParseQuery(req.Query)
		if len(bad) > 0 {
			return p, dlq.QueryError(bad)
		}
		var err error
		if members, err = store.FirstMembers(ctx, by, q, PreviewMost); err != nil {
			return p, fmt.Errorf("read what the query matches: %w", err)
		}
	}
	members = members[:min(len(members), PreviewMost)]
	p.Looked = int64(len(members))
	for len(members) > 0 {
		slice := members[:min(candidatesAtOnce, len(members))]
		candidates, err := store.Candidates(ctx, by, slice, req.Mode)
		if err != nil {
			return p, fmt.Errorf("read what decides of each entry: %w", err)
		}
		for _, c := range candidates {
			p.count(c)
		}
		members = members[len(slice):]
	}
	return p, nil
}

func (p *Preview) count(c dlq.Candidate) {
	if c.Status == "" {
		p.LeftOut[dlq.LeftNotFound]++
		return
	}
	e := c.Ask()
	switch {
	case e.LeftOut != "":
		p.LeftOut[e.LeftOut]++
		if e.Quarantine {
			p.Quarantined++
		}
	case e.Skip:
		p.Skipped++
	default:
		p.Goes++
		p.Copies[c.Copy]++
		p.Load.add(c)
		p.Said.add(c)
	}
}
