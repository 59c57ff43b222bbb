package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dlo/dlq/sweep"
)

type sweepCommand struct{ dataFlags }

// Run does every step once, and prints what each did. Beside a running server
// the steps that remove bytes are left to that server.
func (c sweepCommand) Run(ctx context.Context) error {
	s, err := c.openExisting(ctx, true)
	beside := errors.Is(err, errLocked)
	if beside {
		s, err = c.openExisting(ctx, false)
	}
	if err != nil {
		return err
	}
	steps := sweepSteps(s)
	if beside {
		steps = databaseSteps(s)
	}
	errs := []error{sweepOnce(ctx, steps)}
	if beside {
		fmt.Println("a server runs on this folder; removing stored copies that nobody holds is left to it")
	}
	return errors.Join(append(errs, s.Close())...)
}

func sweepOnce(ctx context.Context, steps []sweep.Step) error {
	runner := sweep.Runner{Steps: steps, Clock: time.Now}
	var errs []error
	for _, r := range runner.RunOnce(ctx, time.Now()) {
		if r.Err != nil {
			errs = append(errs, r.Err)
			fmt.Printf("%-26s failed\n", r.Name)
			continue
		}
		fmt.Printf("%-26s %s\n", r.Name, r.Sentence)
	}
	return errors.Join(errs...)
}
