package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dlo/db"
	"dlo/dlq"
)

// The shape of the data: many failures of few defects, in some sources, under
// some versions, over half a year.
const (
	benchSources  = 8
	benchCohorts  = 40
	benchVersions = 6
	benchDays     = 180
	traceLines    = 40 // about 3 KB
)

var benchStart = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

// withStore gives a fresh database to a measurement and removes it afterwards.
// Before it goes, every counter is recounted (P13).
func withStore(ctx context.Context, o db.Options, measure func(*db.Store) error) (err error) {
	dir, err := os.MkdirTemp("", "dlo-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	o.Path, o.Key = filepath.Join(dir, "dlo.db"), make([]byte, 32)
	if o.Clock == nil {
		o.Clock = func() time.Time { return benchStart.Add(benchDays * 24 * time.Hour) }
	}
	store, err := db.Open(ctx, o)
	if err != nil {
		return err
	}
	if err := measure(store); err != nil {
		return errors.Join(err, store.Close())
	}
	faults, err := store.Check(ctx)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	fmt.Printf("  P13 recount: %d rows differ\n", len(faults))
	if len(faults) > 0 {
		err = fmt.Errorf("counters do not equal a recount: %s", faults[0])
	}
	return errors.Join(err, store.Close())
}

// arrival makes the n-th failure. Neighbours differ in everything, as they do
// when several pipelines fail at once.
func arrival(n int) dlq.Arrival {
	cohort := n * 7 % benchCohorts
	at := benchStart.Add(time.Duration(n*7919%(benchDays*24*60)) * time.Minute)
	e := dlq.Envelope{
		Source: fmt.Sprintf("source-%d", n%benchSources), DocID: fmt.Sprintf("document-%d", n),
		ContentHash:   fmt.Sprintf("%064x", n),
		ParserVersion: fmt.Sprintf("parser@%d", n%benchVersions), ConnectorVersion: "connector@3",
		Reason: string(dlq.ReasonException), ErrorClass: string(dlq.ClassAmbiguousParse), ErrorType: fmt.Sprintf("Error%d", cohort),
		ErrorMessage: fmt.Sprintf("no object %d at offset %d", cohort, n), StackTrace: trace(n, cohort), ContentType: "application/pdf",
		FirstSeenAt: &at, LastSeenAt: &at,
	}
	return dlq.Arrival{Envelope: e, ReceivedAt: at, EventKey: fmt.Sprintf("event-%d", n), Actor: dlq.Policy("bench"),
		Fingerprint: dlq.Fingerprint{Algorithm: "f1", Digest: fmt.Sprintf("%032x", cohort), Mode: "trace", Confidence: "high", Language: "python", Type: e.ErrorType,
			Template: fmt.Sprintf("no object %d at offset <int>", cohort), Frames: []dlq.Frame{{Function: "read", Unit: "parser.py"}}, Canonical: "f1"}}
}

func trace(n, cohort int) string {
	var b strings.Builder
	b.WriteString("Traceback (most recent call last):\n")
	for i := range traceLines {
		fmt.Fprintf(&b, "  File \"/srv/pipeline/lib/module_%d.py\", line %d, in step_%d\n    value = read(document, %d)\n", i, n%400+i, (cohort+i)%90, n)
	}
	return b.String()
}
