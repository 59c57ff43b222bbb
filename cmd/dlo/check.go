package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dlo/dlq"
)

type checkCommand struct {
	dataFlags
	Repair bool `help:"Mend counters, and sweep what nobody holds. No server may run meanwhile."`
}

// Run prints a line for each fault and ends with 1 if there is one. Bytes that
// nobody holds are notes: they are no fault, and the sweep takes them.
func (c checkCommand) Run(ctx context.Context) error {
	s, err := c.openExisting(ctx, c.Repair)
	if err != nil {
		return err
	}
	err = c.check(ctx, s)
	return errors.Join(err, s.Close())
}

func (c checkCommand) check(ctx context.Context, s *stores) error {
	if c.Repair {
		if err := s.db.RepairCounters(ctx); err != nil {
			return err
		}
		fmt.Println("repaired: the counters are what a recount found")
	}
	faults, err := s.db.Check(ctx)
	if err != nil {
		return err
	}
	held, damaged, err := checkPayloads(ctx, s)
	if err != nil {
		return err
	}
	faults = append(faults, damaged...)
	notes, err := c.orphans(ctx, s)
	if err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Println("note: " + n)
	}
	for _, f := range faults {
		fmt.Println("fault: " + f)
	}
	if len(faults) > 0 {
		fmt.Printf("%d faults\n", len(faults))
		return errFaults
	}
	fmt.Printf("no faults; %d payloads have their digests\n", held)
	return nil
}

// checkPayloads reads every payload that the database says is held.
func checkPayloads(ctx context.Context, s *stores) (sound int, faults []string, err error) {
	err = s.db.Payloads(ctx, func(sha256 string, size int64) error {
		n, err := s.payloads.Verify(ctx, sha256)
		switch {
		case dlq.KindOf(err) == dlq.KindConflict:
			faults = append(faults, "payload "+sha256+" no longer has its digest")
		case dlq.KindOf(err) == dlq.KindNotFound:
			faults = append(faults, "payload "+sha256+" is not there")
		case err != nil:
			return err
		case n != size:
			faults = append(faults, fmt.Sprintf("payload %s has %d bytes, and the database says %d", sha256, n, size))
		default:
			sound++
		}
		return nil
	})
	return sound, faults, err
}

// orphans finds bytes that no record names.
func (c checkCommand) orphans(ctx context.Context, s *stores) ([]string, error) {
	var lost []string
	err := s.payloads.Each(ctx, func(sha256 string, size int64, put time.Time) error {
		held, err := s.db.HoldsPayload(ctx, sha256)
		if err == nil && !held {
			lost = append(lost, sha256)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var notes []string
	for _, sha := range lost {
		if !c.Repair {
			notes = append(notes, "payload "+sha+" is named by no record")
			continue
		}
		if err := s.payloads.Remove(ctx, sha); err != nil {
			return nil, err
		}
		notes = append(notes, "payload "+sha+" was named by no record, and was removed")
	}
	if c.Repair {
		n, err := s.payloads.SweepTemporary(ctx, time.Now())
		if err != nil {
			return nil, err
		}
		if n > 0 {
			notes = append(notes, fmt.Sprintf("%d temporary files were removed", n))
		}
	}
	return notes, nil
}
