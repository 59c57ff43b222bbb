package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"dlo/dlq"
)

type showCommand struct {
	dataFlags
	ID   string `arg:"" name:"id" help:"A document's dlq_id, a cohort's id or fingerprint, or an operation's id."`
	JSON bool   `name:"json" help:"As the API answers it."`
}

// Run shows one document, cohort or operation.
func (c showCommand) Run(ctx context.Context) error {
	return c.withStore(ctx, func(s *stores) error {
		by := onCall()
		e, err := s.db.Entry(ctx, by, c.ID)
		if err == nil {
			return c.entry(ctx, s, e)
		}
		if dlq.KindOf(err) != dlq.KindNotFound {
			return err
		}
		o, err := s.db.Operation(ctx, c.ID)
		if err == nil {
			return c.operation(ctx, s, o)
		}
		if dlq.KindOf(err) != dlq.KindNotFound {
			return err
		}
		cohort, err := s.db.Cohort(ctx, by, c.ID)
		if dlq.KindOf(err) == dlq.KindNotFound {
			return fmt.Errorf("there is no document, cohort or operation %q", c.ID)
		}
		if err != nil {
			return err
		}
		return c.cohort(ctx, s, cohort)
	})
}

// traceLines is how much of a trace is shown: its end, where most languages say
// what happened.
const traceLines = 12

func (c showCommand) entry(ctx context.Context, s *stores, e dlq.Entry) error {
	if c.JSON {
		answer, err := answers(s).EntryAnswer(ctx, onCall(), e.DLQID)
		if err != nil {
			return err
		}
		return writeJSON(os.Stdout, answer)
	}
	failed, err := s.db.Attempt(ctx, e.EvidenceID)
	if err != nil {
		return err
	}
	redrives, err := s.db.RedrivesOf(ctx, e.ID, 5)
	if err != nil {
		return err
	}
	b := &strings.Builder{}
	field(b, "document", e.Source+" / "+e.DocID)
	field(b, "state", string(e.Status))
	field(b, "id", e.DLQID)
	field(b, "failure", strings.TrimSuffix(e.ErrorType+": "+e.Message, ": "))
	field(b, "class", string(e.ErrorClass))
	field(b, "cohort", e.CohortID)
	field(b, "failed under", versionsText(e.Versions))
	field(b, "attempts", fmt.Sprintf("%d, redriven %d times, %d identical failures", e.Attempts, e.RedrivesTotal, e.SameFailures))
	field(b, "stuck since", utc(e.OpenedAt))
	field(b, "last seen", utc(e.LastSeen))
	field(b, "leaves", utc(e.ExpiresAt))
	field(b, "stored copy", string(e.Copy))
	field(b, "owner", e.Owner)
	field(b, "ticket", e.Ticket)
	field(b, "decided", string(e.Disposition))
	for i, r := range redrives {
		name := ""
		if i == 0 {
			name = "redrives"
		}
		outcome := string(r.Outcome)
		if r.InFlight() {
			outcome = "no outcome yet"
		}
		field(b, name, utc(r.CreatedAt)+" "+outcome+" (operation "+r.OperationID+")")
	}
	if lines := strings.Split(strings.TrimRight(failed.Detail.Trace, "\n"), "\n"); failed.Detail.Trace != "" {
		fmt.Fprintln(b)
		if hidden := len(lines) - traceLines; hidden > 0 {
			fmt.Fprintf(b, "trace, its last %d of %s lines\n", traceLines, thousands(int64(len(lines))))
			lines = lines[hidden:]
		} else {
			fmt.Fprintln(b, "trace")
		}
		for _, line := range lines {
			indent := len(line) - len(strings.TrimLeft(line, " \t"))
			fmt.Fprintln(b, strings.TrimRight(strings.Repeat(" ", min(indent, 8))+cell(line, screenWidth-min(indent, 8)), " "))
		}
	}
	return print(b)
}

func versionsText(v dlq.Versions) string {
	var parts []string
	for component, version := range v {
		parts = append(parts, component+" "+version)
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

func (c showCommand) cohort(ctx context.Context, s *stores, cohort dlq.Cohort) error {
	if c.JSON {
		answer, err := answers(s).CohortAnswer(ctx, onCall(), cohort.ID)
		if err != nil {
			return err
		}
		return writeJSON(os.Stdout, answer)
	}
	proofs, err := s.db.CohortProofs(ctx, onCall(), []dlq.Cohort{cohort})
	if err != nil {
		return err
	}
	b := &strings.Builder{}
	field(b, "cohort", strings.TrimSuffix(cohort.ErrorType+": "+cohort.Template, ": "))
	field(b, "id", cohort.ID)
	var counts []string
	for _, status := range dlq.Statuses {
		if n := cohort.Counts[status]; n > 0 {
			counts = append(counts, thousands(n)+" "+string(status))
		}
	}
	field(b, "documents", strings.Join(counts, ", "))
	proof := proofs[cohort.ID].Shown()
	known := strings.ReplaceAll(string(proof.State), "_", " ")
	if proof.Of > 0 {
		known += fmt.Sprintf(", %s of %s replays passed; %s like these", thousands(proof.Passed), thousands(proof.Of), documentsOf(proof.Covers))
	}
	field(b, "proof", known)
	field(b, "stuck since", utc(cohort.Oldest))
	field(b, "last seen", utc(cohort.LastSeen))
	field(b, "owner", cohort.Owner)
	field(b, "ticket", cohort.Ticket)
	field(b, "decided", string(cohort.Disposition))
	field(b, "list them", "dlo list --query 'cohort:"+cohort.ID+"'")
	return print(b)
}

func (c showCommand) operation(ctx context.Context, s *stores, o dlq.Operation) error {
	if c.JSON {
		answer, err := answers(s).OperationAnswer(ctx, o)
		if err != nil {
			return err
		}
		return writeJSON(os.Stdout, answer)
	}
	b := &strings.Builder{}
	if err := operationText(ctx, s, b, o); err != nil {
		return err
	}
	return print(b)
}

// operationText says where an operation stands.
func operationText(ctx context.Context, s *stores, b *strings.Builder, o dlq.Operation) error {
	left, err := s.db.LeftOutCounts(ctx, o.ID)
	if err != nil {
		return err
	}
	outcomes, err := s.db.OutcomeCounts(ctx, o.ID)
	if err != nil {
		return err
	}
	field(b, "operation", string(o.Kind)+" of "+documentsOf(o.Total))
	field(b, "id", o.ID)
	state := string(o.State)
	if len(o.Sizes) > 1 && !o.State.Ended() {
		state += fmt.Sprintf(", step %d of %d", o.Step, len(o.Sizes))
	}
	field(b, "state", state)
	field(b, "why", o.Why)
	var parts []string
	for _, state := range dlq.ItemStates {
		if n := o.Counts[state]; n > 0 {
			parts = append(parts, thousands(n)+" "+strings.ReplaceAll(string(state), "_", " "))
		}
	}
	field(b, "documents", strings.Join(parts, ", "))
	field(b, "outcomes", countsText(outcomes))
	field(b, "left out", countsText(left))
	field(b, "query", o.Query)
	field(b, "reason", o.Reason)
	field(b, "asked by", o.Actor.Name)
	field(b, "started", utc(o.CreatedAt))
	if !o.EndedAt.IsZero() {
		field(b, "ended", utc(o.EndedAt))
	}
	return nil
}

func countsText[K ~string](counts map[K]int64) string {
	var parts []string
	for k, n := range counts {
		if n > 0 {
			parts = append(parts, thousands(n)+" "+strings.ReplaceAll(string(k), "_", " "))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
