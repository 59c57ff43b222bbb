package main

import (
	"context"
	"fmt"
)

type migrateCommand struct{ dataFlags }

// Run opens the database, which brings it to the current schema.
func (c migrateCommand) Run(ctx context.Context) error {
	s, err := c.open(ctx, false, false)
	if err != nil {
		return err
	}
	fmt.Println("the database has the current schema")
	return s.Close()
}
