package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"dlo/dlq"
	"dlo/handlers"
)

type listCommand struct {
	dataFlags
	Query string `help:"Which documents, in the query language of the screens; by default what is stuck." default:"status:parked"`
	Sort  string `default:"last_seen" enum:"last_seen,oldest,expires,attempts" help:"The order: last_seen, oldest, expires or attempts."`
	Limit int    `default:"25" help:"How many are listed, at most 500."`
	JSON  bool   `name:"json" help:"As the API answers it."`
}

// Run lists documents, and says how many match in all.
func (c listCommand) Run(ctx context.Context) error {
	if c.Limit < 1 || c.Limit > 500 {
		return usage("--limit %d: 1 to 500 expected", c.Limit)
	}
	q, err := readQuery(c.Query)
	if err != nil {
		return err
	}
	return c.withStore(ctx, func(s *stores) error {
		if err := caughtUp(ctx, s, q); err != nil {
			return err
		}
		total, err := s.db.CountEntries(ctx, onCall(), q)
		if err != nil {
			return err
		}
		list, next, err := s.db.Entries(ctx, onCall(), q, dlq.EntrySort(c.Sort), "", c.Limit)
		if err != nil {
			return err
		}
		if c.JSON {
			rows := []any{}
			for _, e := range list {
				rows = append(rows, handlers.EntryRow(e))
			}
			return writeJSON(os.Stdout, map[string]any{"items": rows, "next": next, "total": total})
		}
		return print(listText(c.Query, total, list))
	})
}

// listText is the list for people: a line for each, in 80 columns.
func listText(query string, total int64, list []dlq.Entry) *strings.Builder {
	b := &strings.Builder{}
	match := "match"
	if total == 1 {
		match = "matches"
	}
	fmt.Fprintln(b, strings.TrimRight(cell(documentsOf(total)+" "+match+": "+query, screenWidth), " "))
	if len(list) == 0 {
		return b
	}
	const id, document, state, failure = 26, 21, 11, 19
	line := func(texts ...string) {
		widths := []int{id, document, state, failure}
		for i, text := range texts {
			texts[i] = cell(text, widths[i])
		}
		fmt.Fprintln(b, strings.TrimRight(strings.Join(texts, " "), " "))
	}
	line("DLQ_ID", "DOCUMENT", "STATE", "FAILURE")
	for _, e := range list {
		failure := e.ErrorType
		if failure == "" {
			failure = string(e.Reason)
		}
		line(e.DLQID, e.Source+" / "+e.DocID, string(e.Status), failure)
	}
	if rest := total - int64(len(list)); rest > 0 {
		fmt.Fprintf(b, "and %s more; --limit, --sort and --query say which\n", thousands(rest))
	}
	return b
}
