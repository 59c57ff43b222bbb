package pipeline

import (
	"context"
	"net/http"
	"testing"
	"time"

	"dlo/connectors/broker/webhook"
	"dlo/dlq/redrive"
)

func TestThePipelineKeepsThePromisesOfATargetAndCommitsNoTest(t *testing.T) {
	o := newOffice(t)
	p := start(t, o, t.TempDir())
	now := func() time.Time { return fixedNow }
	check := &redrive.TargetCheck{Sender: webhook.New(&http.Client{}, now), Clock: now, URL: p.base + "/redrive", Secret: testSecret}
	report := check.Run(context.Background())
	for _, promise := range report.Promises {
		if promise.State != redrive.PromiseKept {
			t.Errorf("%s: %s, %s", promise.Name, promise.State, promise.Says)
		}
	}
	if len(report.Promises) != 4 {
		t.Errorf("%d promises were looked at: %+v", len(report.Promises), report)
	}
	for _, c := range p.commits() {
		if c.Source == "dlo-target-check" {
			t.Error("a test redrive is committed")
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, told := range o.outcomes {
		if told.Source == "dlo-target-check" || len(told.RedriveID) > 5 && told.RedriveID[:5] == "test-" {
			t.Errorf("the outcome of a test redrive is reported: %+v", told)
		}
	}
}
