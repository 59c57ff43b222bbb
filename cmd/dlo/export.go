package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"

	"dlo/dlq"
	"dlo/dlq/sweep"
)

type exportCommand struct {
	dataFlags
	Query string `help:"What to export, in the query language of the screens; everything without it."`
	Sort  string `default:"last_seen" enum:"last_seen,oldest,expires,attempts" help:"The order: last_seen, oldest, expires or attempts."`
	CSV   bool   `name:"csv" help:"CSV in place of NDJSON, without the long texts."`
}

// Run writes every document of a query to standard output. It reads while a
// server runs.
func (c exportCommand) Run(ctx context.Context) error {
	q, bad := dlq.ParseQuery(c.Query)
	if len(bad) > 0 {
		return fmt.Errorf("--query %q: %w", c.Query, faultSentence(dlq.QueryError(bad)))
	}
	return c.withStore(ctx, func(s *stores) error {
		if s.db.TextIsBehind(ctx, q) != nil { // no server runs here that would catch up
			if _, err := (&sweep.TextIndexer{Store: s.db}).RunOnce(ctx); err != nil {
				return err
			}
		}
		format := dlq.ExportNDJSON
		if c.CSV {
			format = dlq.ExportCSV
		}
		out := bufio.NewWriter(os.Stdout)
		rows, err := s.db.Export(ctx, console(), q, dlq.EntrySort(c.Sort), dlq.ExportTo(out, format))
		err = errors.Join(err, out.Flush())
		return errors.Join(err, s.db.Audit(context.WithoutCancel(ctx), console(), "export", nil, "", dlq.ExportDetail(format, q, rows, err == nil)))
	})
}
