package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"dlo/dlq"
	"dlo/dlq/redrive"

	"golang.org/x/term"
)

type redriveCommand struct {
	dataFlags
	ID            []string `arg:"" optional:"" name:"dlq-id" help:"Documents, by their dlq_id; or else --query."`
	Query         string   `help:"All documents that match, in the query language of the screens."`
	Reason        string   `required:"" help:"Why; it stands in the audit trail and on each document."`
	Expect        int64    `default:"-1" help:"How many you saw; with another number nothing is sent."`
	Mode          string   `enum:",auto,held,source" default:"" help:"Which bytes go: auto, held or source; by default as each source's policy says."`
	Canary        string   `help:"Sizes of the steps before the rest, as 1,5,25,100, or none; by default these for a query, and none for documents." placeholder:"SIZES"`
	Rate          float64  `help:"Deliveries a second; the source's by default, and never more."`
	Concurrency   int      `help:"Documents without an outcome yet; the source's by default."`
	AcceptUnknown bool     `help:"Send the stored copy also where nobody can tell whether the document changed."`
	Yes           bool     `help:"Do not ask."`
	Wait          bool     `help:"Wait until it has ended, or stands; 1 where it did not end by itself."`
	JSON          bool     `name:"json" help:"The operation, as the API answers it."`
}

// Run starts a redrive, which the server carries on.
func (c redriveCommand) Run(ctx context.Context) error {
	req, err := c.request()
	if err != nil {
		return err
	}
	return c.withStore(ctx, func(s *stores) error {
		runs, err := c.serverRuns()
		if err != nil {
			return err
		}
		if c.Wait && !runs {
			return fmt.Errorf("no server runs on this data folder, so there is nothing to wait for; nothing was sent")
		}
		if req, err = c.confirmed(ctx, s, req); err != nil {
			return err
		}
		planner := &redrive.Planner{Store: s.db, Clock: time.Now}
		o, err := planner.Start(ctx, onCall(), req)
		if err != nil {
			return faultSentence(err)
		}
		if c.Wait {
			if o, err = waitFor(ctx, s, o); err != nil {
				return err
			}
		}
		if err := (showCommand{JSON: c.JSON}).operation(ctx, s, o); err != nil {
			return err
		}
		if !runs {
			fmt.Fprintln(os.Stderr, noServer)
		}
		if c.Wait && o.State != dlq.OperationDone {
			return errFaults
		}
		return nil
	})
}

func (c redriveCommand) request() (redrive.Request, error) {
	r := redrive.Request{Kind: dlq.OperationRedrive, Entries: c.ID, Query: c.Query, Expect: c.Expect, Reason: c.Reason, Mode: dlq.Mode(c.Mode), AcceptUnknown: c.AcceptUnknown, Rate: c.Rate, Concurrency: c.Concurrency, GoOn: true}
	switch {
	case len(c.ID) == 0 && c.Query == "":
		return r, usage("documents or --query expected")
	case len(c.ID) > 0 && c.Query != "":
		return r, usage("either documents or --query expected, not both")
	case strings.TrimSpace(c.Reason) == "":
		return r, usage("--reason: why expected")
	case c.Expect < redrive.NotSaid:
		return r, usage("--expect %d: 0 or more expected", c.Expect)
	}
	if c.Query != "" {
		if _, err := readQuery(c.Query); err != nil {
			return r, err
		}
	}
	switch c.Canary {
	case "":
	case "none":
		r.Canary = []int{}
	default:
		for _, size := range strings.Split(c.Canary, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(size))
			if err != nil || n < 1 {
				return r, usage("--canary %q: sizes such as 1,5,25,100, or none, expected", c.Canary)
			}
			r.Canary = append(r.Canary, n)
		}
	}
	return r, nil
}

// confirmed says what would go, and asks. What was shown is what is expected to
// match when it starts.
func (c redriveCommand) confirmed(ctx context.Context, s *stores, r redrive.Request) (redrive.Request, error) {
	if c.Query != "" {
		q, err := readQuery(c.Query)
		if err != nil {
			return r, err
		}
		if err := caughtUp(ctx, s, q); err != nil {
			return r, err
		}
		n, err := s.db.CountEntries(ctx, onCall(), q)
		if err != nil {
			return r, err
		}
		if r.Expect == redrive.NotSaid {
			r.Expect = n
		}
		if r.Expect != n {
			return r, fmt.Errorf("%s matched when you looked, %s match now; nothing was sent", thousands(r.Expect), thousands(n))
		}
		if n == 0 {
			return r, fmt.Errorf("no document matches; nothing was sent")
		}
	}
	if c.Yes {
		return r, nil
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return r, fmt.Errorf("nobody can be asked here: --yes starts it without; nothing was sent")
	}
	preview, err := redrive.PreviewOf(ctx, s.db, onCall(), r)
	if err != nil {
		return r, faultSentence(err)
	}
	all := max(r.Expect, int64(len(r.Entries)))
	fmt.Fprintf(os.Stderr, "%s chosen", documentsOf(all))
	if preview.Looked < all {
		fmt.Fprintf(os.Stderr, "; of the first %s", thousands(preview.Looked))
	}
	fmt.Fprintf(os.Stderr, ": %s go", thousands(preview.Goes))
	if preview.Skipped > 0 {
		fmt.Fprintf(os.Stderr, ", %s are committed already", thousands(preview.Skipped))
	}
	if left := countsText(preview.LeftOut); left != "" {
		fmt.Fprintf(os.Stderr, ", left out: %s", left)
	}
	fmt.Fprint(os.Stderr, "\nRedrive them? [y/N] ")
	answer, _ := bufio.NewReader(os.Stdin).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return r, fmt.Errorf("nothing was sent")
	}
	return r, nil
}

// waitFor looks until an operation has ended or stands, and says on a terminal how
// far it is.
func waitFor(ctx context.Context, s *stores, o dlq.Operation) (dlq.Operation, error) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	said := ""
	for o.State == dlq.OperationRunning || o.State == dlq.OperationPreparing {
		if now := fmt.Sprintf("%s of %s settled", thousands(o.Counts[dlq.ItemSettled]), thousands(o.Total)); now != said && term.IsTerminal(int(os.Stderr.Fd())) {
			fmt.Fprintln(os.Stderr, now)
			said = now
		}
		select {
		case <-ctx.Done():
			return o, fmt.Errorf("it goes on; dlo show %s says how far it is", o.ID)
		case <-tick.C:
		}
		var err error
		if o, err = s.db.Operation(ctx, o.ID); err != nil {
			return o, err
		}
	}
	return o, nil
}
