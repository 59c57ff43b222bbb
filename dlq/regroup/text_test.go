package regroup_test

import (
	"testing"

	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

func TestTracesGoWithTheDocumentsOfASplit(t *testing.T) {
	o := newOffice(t)
	night := date
	night.caller = "night_batch"
	cohort := o.park(wide).Cohort
	for range 3 {
		o.park(wide)
		if o.park(night).Cohort != cohort {
			t.Fatal("the two defects do not share a fingerprint, and the test would show nothing")
		}
	}
	found := func() int64 {
		t.Helper()
		q, _ := dlq.ParseQuery("night_batch.py")
		n, err := o.CountEntries(background, dlqtest.Admin, q)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	index := func() {
		t.Helper()
		for more := true; more; {
			var err error
			if _, more, _, err = o.IndexText(background, 3); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := found(); n != 7 {
		t.Errorf("a trace finds %d of the 7 documents of its fingerprint", n)
	}
	index()
	o.split(cohort, dlq.SplitBy{Attribute: dlq.SplitTemplate}, "cannot read a date in row <int>")
	o.move()
	for _, when := range []string{"before the index has read it", "after"} {
		if n := found(); n != 3 {
			t.Errorf("%s, the trace finds %d documents, want the 3 that went out", when, n)
		}
		index()
	}
}
