package main

import (
	"context"
	"fmt"
	"os"
	"unicode/utf8"

	"dlo/dlq"
)

// pauseFlags say what is paused or resumed: everything, a source or an operation.
type pauseFlags struct {
	dataFlags
	Source    string `xor:"what" help:"The redrives of one source." placeholder:"NAME"`
	Operation string `xor:"what" help:"One operation." placeholder:"ID"`
	Reason    string `help:"Why; it stands in the audit trail."`
	JSON      bool   `name:"json" help:"What stands now, as JSON."`
}

type pauseCommand struct{ pauseFlags }

// Run pauses: nothing more is sent, and what is in flight keeps its outcome.
func (c pauseCommand) Run(ctx context.Context) error { return c.turn(ctx, true) }

type resumeCommand struct{ pauseFlags }

// Run resumes.
func (c resumeCommand) Run(ctx context.Context) error { return c.turn(ctx, false) }

func (c pauseFlags) turn(ctx context.Context, pause bool) error {
	if !utf8.ValidString(c.Reason) || utf8.RuneCountInString(c.Reason) > 2000 {
		return usage("--reason: at most 2,000 characters in UTF-8 expected")
	}
	return c.withStore(ctx, func(s *stores) error {
		done := "resumed"
		if pause {
			done = "paused"
		}
		switch {
		case c.Operation != "":
			return c.operation(ctx, s, pause)
		case c.Source != "":
			changed, err := s.db.PauseSource(ctx, onCall(), c.Source, pause, c.Reason)
			if err != nil {
				return err
			}
			if c.JSON {
				return writeJSON(os.Stdout, map[string]any{"source": c.Source, "paused": pause, "changed": changed})
			}
			if !changed {
				done = "so already; nothing was changed"
			}
			fmt.Printf("redrives of %s: %s\n", oneLine(c.Source), done)
			return nil
		}
		if err := s.db.PauseAll(ctx, onCall(), pause, c.Reason); err != nil {
			return err
		}
		if c.JSON {
			return writeJSON(os.Stdout, map[string]any{"paused": pause})
		}
		fmt.Printf("all redrives: %s\n", done)
		return nil
	})
}

func (c pauseFlags) operation(ctx context.Context, s *stores, pause bool) error {
	to, why := dlq.OperationRunning, ""
	if pause {
		to, why = dlq.OperationPaused, "paused by "+onCall().Name
		if c.Reason != "" {
			why += ": " + c.Reason
		}
	}
	o, err := s.db.MoveOperation(ctx, onCall(), c.Operation, to, why)
	if err != nil {
		return err
	}
	return showCommand{JSON: c.JSON}.operation(ctx, s, o)
}
