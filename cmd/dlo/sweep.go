package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dlo/dlq/sweep"
)

type sweepCommand struct{ dataFlags }

// Run does every step once, and prints what each did.
func (c sweepCommand) Run(ctx context.Context) error {
	return c.withStore(ctx, func(s *stores) error {
		runner := sweep.Runner{Steps: sweepSteps(s), Clock: time.Now}
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
	})
}
