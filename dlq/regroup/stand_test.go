package regroup_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"dlo/connectors/payload"
	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
	"dlo/dlq/fingerprint"
	"dlo/dlq/intake"
	"dlo/dlq/regroup"
)

var background = context.Background()

// office is a store with an intake before it and a runner behind it.
type office struct {
	*dbtest.DB
	t          *testing.T
	algorithms fingerprint.Algorithms
	payloads   payload.Store
	n          int
}

func newOffice(t *testing.T) *office {
	t.Helper()
	payloads, err := payload.Open("file:" + t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { payloads.Close() })
	return &office{DB: dbtest.Open(t), t: t, algorithms: fingerprint.Shipped, payloads: payloads}
}

// restart closes everything and opens it anew, as after the end of the process.
func (o *office) restart() { o.DB = o.Reopen(o.t) }

// failure is what a test says of one document that failed.
type failure struct {
	doc, message, parser, mapper, contentType, caller, source, redrive string
}

// park sends the failure through the intake, as a pipeline does.
func (o *office) park(f failure) dlq.Receipt {
	o.t.Helper()
	if f.doc == "" {
		o.n++
		f.doc = fmt.Sprintf("doc-%d", o.n)
	}
	if f.source == "" {
		f.source = "wiki"
	}
	if f.caller == "" {
		f.caller = "ingest"
	}
	trace := "Traceback (most recent call last):\n  File \"/srv/worker/" + f.caller + ".py\", line 80, in run\n    handle(doc)\n  File \"/srv/worker/handle.py\", line 11, in handle\n    return load(doc)\n" +
		"  File \"/srv/lib/sheet/load.py\", line 42, in load\n    rows = cells(sheet)\n  File \"/srv/lib/sheet/cells.py\", line 7, in cells\n    raise SheetError(text)\nsheet.SheetError: " + f.message + "\n"
	fields := map[string]any{"source": f.source, "doc_id": f.doc, "stack_trace": trace, "error_message": f.message, "parser_version": f.parser, "content_type": f.contentType,
		"last_seen_at": o.Now().Format(time.RFC3339Nano), "payload_sha256": dlqtest.Digest(f.doc)}
	if f.redrive != "" {
		fields["redrive_id"] = f.redrive
	}
	if f.mapper != "" {
		fields["versions"] = map[string]string{"mapper": f.mapper}
	}
	body, err := json.Marshal(fields)
	if err != nil {
		o.t.Fatal(err)
	}
	in := intake.New(o.Store, o.payloads, o.Now, 1<<20)
	in.Fingerprints = o.algorithms
	r, err := in.Receive(background, dlqtest.Pipeline, intake.Parcel{Body: body})
	if err != nil {
		o.t.Fatal(err)
	}
	o.Clock.Advance(time.Second)
	return r
}

// move moves everything that is to be moved.
func (o *office) move() int64 {
	o.t.Helper()
	moved, err := regroup.NewRunner(o.Store, func(err error) { o.t.Error(err) }).RunOnce(background)
	if err != nil {
		o.t.Fatal(err)
	}
	return moved
}

func (o *office) split(cohort string, by dlq.SplitBy, values ...string) dlq.GroupingRule {
	o.t.Helper()
	rule, err := o.SplitCohort(background, dlqtest.Reviewer, dlq.SplitRequest{CohortID: cohort, By: by, Values: values, Reason: "two defects"})
	if err != nil {
		o.t.Fatal(err)
	}
	return rule
}

func (o *office) cohort(id string) dlq.Cohort {
	o.t.Helper()
	c, err := o.Store.Cohort(background, dlqtest.Admin, id)
	if err != nil {
		o.t.Fatal(err)
	}
	return c
}

// stuck is how many documents a cohort's counter says and its list has.
func (o *office) stuck(id string) int64 {
	o.t.Helper()
	q, _ := dlq.ParseQuery("status:parked cohort:" + id)
	n, err := o.CountEntries(background, dlqtest.Admin, q)
	if err != nil {
		o.t.Fatal(err)
	}
	if c := o.cohort(id); c.Parked() != n {
		o.t.Errorf("cohort %s counts %d and lists %d", id, c.Parked(), n)
	}
	return n
}
