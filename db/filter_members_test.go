package db_test

import (
	"strings"
	"testing"

	"dlo/db"
	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

// The first characters of an id are its time: a few of them name nearly every
// cohort, and all of their fingerprints.
func TestACohortTermOfVeryManyMembersIsAnswered(t *testing.T) {
	s := dbtest.Open(t)
	r := s.Park(t, dlqtest.Doc("1"))
	s.Park(t, dlqtest.Doc("2"), dlqtest.Defect("Other"))
	s.Exec(t, `with recursive n (i) as (select 1 union all select i + 1 from n where i < 40000)
		insert into fingerprint (algorithm, digest, cohort_id, mode, confidence, language, error_type, root_type, template, frames, canonical, created_at)
		select f.algorithm, printf('%064x', n.i), f.cohort_id, f.mode, f.confidence, f.language, f.error_type, f.root_type, f.template, f.frames, f.canonical, f.created_at
		from n cross join fingerprint f where f.cohort_id = $1`, r.Cohort)
	for text, want := range map[string]int64{
		"cohort:" + r.Cohort[:4]:                                            2,
		"cohort:" + r.Cohort:                                                1,
		"cohort:" + r.Cohort[:4] + " status:open,resolved":                  2,
		"-cohort:" + r.Cohort:                                               1,
		"cohort:" + r.Cohort[:4] + " has:payload":                           0,
		"cohort:" + r.Cohort[:4] + "," + r.Cohort + " -has:ticket":          2,
		"cohort:" + r.Cohort + " source:wiki parser:pdfminer status:parked": 0,
	} {
		q := query(t, text)
		n, err := s.CountEntries(background, dlqtest.Admin, q)
		if err != nil || n != want {
			t.Errorf("%s counts %d, %v, want %d", text, n, err, want)
		}
		list, _, err := s.Entries(background, dlqtest.Admin, q, dlq.SortLastSeen, "", 10)
		if err != nil || int64(len(list)) != want {
			t.Errorf("%s lists %d, %v, want %d", text, len(list), err, want)
		}
		ids, err := s.Members(background, dlqtest.Admin, q)
		if err != nil || int64(len(ids)) != want {
			t.Errorf("%s has %d members, %v, want %d", text, len(ids), err, want)
		}
	}
	plans, err := s.Plans(func() error {
		_, _, err := s.Entries(background, dlqtest.Admin, query(t, "status:parked cohort:"+r.Cohort), dlq.SortLastSeen, "", 10)
		return err
	})
	if err != nil || len(plans) == 0 {
		t.Fatal(err)
	}
	for q, plan := range plans { // of all that this store was asked so far
		for _, line := range plan {
			if db.ReadsWhole(line) && strings.Contains(q, "json_each") {
				t.Errorf("%s\n\tin the plan of %.200s", line, strings.Join(strings.Fields(q), " "))
			}
		}
	}
}
