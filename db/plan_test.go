package db_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dlo/db"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
)

func TestNoScreenOrStepReadsAWholeTable(t *testing.T) {
	s := withTarget(t, "wiki", "leases")
	var last dlq.Receipt
	for i := range 50 {
		last = s.Park(t, dlqtest.Of([]string{"wiki", "leases"}[i%2], fmt.Sprint(i)), dlqtest.Defect(fmt.Sprint("E", i%5)), dlqtest.Held(fmt.Sprint(i)), dlqtest.Event(fmt.Sprint(i)), dlqtest.Seen(dlqtest.Now.Add(time.Duration(i)*time.Second)))
	}
	e := s.Entry(t, last.DLQID)
	entries := func(text string, by dlq.Actor, sort dlq.EntrySort) func() error {
		return func() error {
			_, next, err := s.Entries(background, by, query(t, text), sort, "", 2)
			if err == nil && next != "" {
				_, _, err = s.Entries(background, by, query(t, text), sort, next, 2)
			}
			return err
		}
	}
	wiki, told := dlqtest.Only(dlqtest.Reviewer, "wiki"), map[string]bool{}
	for name, do := range map[string]func() error{
		"the cohorts": func() error {
			_, next, err := s.Cohorts(background, dlqtest.Admin, dlq.CohortQuery{Open: true}, "", 2)
			if err == nil {
				_, _, err = s.Cohorts(background, dlqtest.Admin, dlq.CohortQuery{}, next, 2)
			}
			return err
		},
		"the cohorts in every order": func() error {
			for _, sort := range dlq.CohortSorts {
				for _, q := range []dlq.CohortQuery{{}, {Open: true}, {Status: dlq.StatusArchived}, {Open: true, Source: "wiki", Class: "transient"}, {Having: query(t, "status:open type:E1 parser:1")}, {Open: true, Having: query(t, "fix:deployed,none")}, {Open: true, New: dlqtest.Now, Back: dlqtest.Now}} {
					for _, by := range []dlq.Actor{dlqtest.Admin, wiki} {
						q.Sort = sort
						_, next, err := s.Cohorts(background, by, q, "", 1)
						if err == nil && next != "" {
							_, _, err = s.Cohorts(background, by, q, next, 2)
						}
						if err != nil {
							return err
						}
					}
				}
			}
			return nil
		},
		"how many cohorts": func() error {
			_, _, err := s.CountCohorts(background, wiki, dlq.CohortQuery{Open: true, Class: "transient"})
			return err
		},
		"what was decided": func() error {
			for _, text := range []string{"disposition:waiting", "disposition:waiting,needs_code", "disposition:none", "-disposition:waiting status:open", "disposition:waiting,none source:wiki"} {
				if err := entries(text, wiki, dlq.SortLastSeen)(); err != nil {
					return err
				}
			}
			return nil
		},
		"the cohorts of what is stuck long": func() error {
			_, _, err := s.Cohorts(background, dlqtest.Admin, dlq.CohortQuery{Open: true, Having: query(t, "age:>30d")}, "", 2)
			return err
		},
		"the oldest of each source": func() error { _, err := s.OldestOfSources(background, wiki); return err },
		"the depth by day":          func() error { _, err := s.DepthByDay(background, wiki, 90); return err },
		"the depth of all":          func() error { _, err := s.DepthByDay(background, dlqtest.Admin, 90); return err },
		"the ages": func() error {
			_, err := s.Aging(background, wiki, []time.Duration{time.Hour, 24 * time.Hour})
			return err
		},
		"what stopped":                   func() error { _, _, err := s.StoppedSince(background, dlqtest.Now); return err },
		"the alerts since":               func() error { _, err := s.AlertsSince(background, wiki, dlqtest.Now); return err },
		"a cohort":                       func() error { _, err := s.Cohort(background, dlqtest.Admin, last.Cohort); return err },
		"a cohort's stuck entries":       entries("status:parked cohort:"+last.Cohort, dlqtest.Admin, dlq.SortLastSeen),
		"a fingerprint's entries":        entries("cohort:"+last.Fingerprint, dlqtest.Admin, dlq.SortLastSeen),
		"a source's stuck entries":       entries("status:parked source:wiki", dlqtest.Admin, dlq.SortLastSeen),
		"a class's entries":              entries("class:transient", wiki, dlq.SortLastSeen),
		"what is stuck":                  entries("status:parked", dlqtest.Admin, dlq.SortLastSeen),
		"what is open":                   entries("status:open", dlqtest.Admin, dlq.SortLastSeen),
		"what leaves soon":               entries("status:parked expires:<7d", dlqtest.Admin, dlq.SortExpires),
		"quarantine":                     entries("status:quarantined", dlqtest.Admin, dlq.SortLastSeen),
		"an id":                          entries("id:1147829310", dlqtest.Admin, dlq.SortLastSeen),
		"a digest":                       entries("sha256:"+dlqtest.Digest("7")[:12], dlqtest.Admin, dlq.SortLastSeen),
		"an entry":                       func() error { _, err := s.Store.Entry(background, dlqtest.Admin, last.DLQID); return err },
		"a document":                     func() error { _, err := s.EntryByDoc(background, dlqtest.Admin, "wiki", "2"); return err },
		"what is linked":                 func() error { _, err := s.Linked(background, dlqtest.Admin, e, 5); return err },
		"a history":                      func() error { _, err := s.Attempts(background, e.ID, 5); return err },
		"an attempt":                     func() error { _, err := s.Attempt(background, e.EvidenceID); return err },
		"the totals":                     func() error { _, err := s.Totals(background, dlqtest.Admin); return err },
		"the totals of one who sees one": func() error { _, err := s.Totals(background, wiki); return err },
		"an entry's audit":               func() error { _, err := s.AuditOfEntry(background, e.ID, 5); return err },
		"a cohort's audit":               func() error { _, err := s.AuditOfCohort(background, last.Cohort, 5); return err },
		"the trail":                      func() error { _, err := s.AuditTrail(background, 0, 5); return err },
		"an entry's redrives":            func() error { _, err := s.RedrivesOf(background, e.ID, 5); return err },
		"the report of redrives": func() error {
			for _, by := range []dlq.Actor{dlqtest.Admin, wiki} {
				if _, _, err := s.RedriveReport(background, by, dlq.RedriveReportQuery{From: dlqtest.Now.AddDate(0, -3, 0), Until: dlqtest.Now.AddDate(0, 1, 0)}, 5); err != nil {
					return err
				}
			}
			return nil
		},
		"whether a cohort looks transient": func() error {
			return s.Update(background, func(tx *db.Tx) error { return tx.WeighTransient(last.Cohort) })
		},
		"the replays of a step": func() error {
			for _, by := range []dlq.Actor{dlqtest.Admin, wiki} {
				if _, err := s.CountedReplays(background, by, last.Cohort, dlq.VersionStep{Unnamed: true}); err != nil {
					return err
				}
			}
			return nil
		},
		"a cohort's redrives":        func() error { _, err := s.CohortRedrives(background, dlqtest.Reviewer, last.Cohort, 5); return err },
		"a cohort's days":            func() error { _, err := s.DailyArrivals(background, dlqtest.Reviewer, last.Cohort, 30); return err },
		"what a filter offers":       func() error { _, err := s.FilterChoices(background); return err },
		"the operations":             func() error { _, err := s.Operations(background, "", 5); return err },
		"an operation's items":       func() error { _, err := s.Items(background, last.DLQID, "", "", 0, 5); return err },
		"what an operation left out": func() error { _, err := s.LeftOutCounts(background, last.DLQID); return err },
		"a source's deployments": func() error {
			_, _, err := s.DeploymentHistory(background, 1, fmt.Sprint(s.Now().UnixMilli(), "-1"), 5)
			return err
		},
		"deployments near a moment":       func() error { _, err := s.DeploymentsBetween(background, 1, dlqtest.Now, s.Now(), 5); return err },
		"what failures name":              func() error { _, err := s.SeenVersions(background, 1, 5); return err },
		"what a fix can be":               func() error { _, err := s.KnownVersions(background, wiki, last.Cohort, 5); return err },
		"a cohort's places in its stream": func() error { _, err := s.Places(background, wiki, last.Cohort, 5); return err },
		"the report of versions": func() error {
			_, _, err := s.VersionReport(background, wiki, dlq.VersionReportQuery{From: dlqtest.Now}, 5)
			return err
		},
		"a fix and what failed under it": func() error {
			if _, _, err := s.DeclareFix(background, dlqtest.Reviewer, e.CohortID, dlq.FixDeclaration{Component: "parser", Version: "pdfminer.six@20221105"}); err != nil {
				return err
			}
			if _, _, err := s.Deploy(background, dlqtest.Pipeline, e.Source, dlq.DeploymentReport{Component: "parser", Version: "pdfminer.six@20221105", At: dlqtest.Now.Add(-time.Hour)}); err != nil {
				return err
			}
			list, err := s.Fixes(background, dlqtest.Reviewer, []string{e.CohortID})
			if err == nil && list[e.CohortID][0].Counts().Returned == 0 {
				t.Error("nothing failed under the fix, so its documents were not read")
			}
			if err == nil {
				_, _, err = s.FixProposals(background, dlqtest.Pipeline, e.Source, "parser", "pdfminer.six@20221105")
			}
			return err
		},
		"an operation's outcomes":        func() error { _, err := s.OutcomeCounts(background, last.DLQID); return err },
		"the alerts":                     func() error { _, err := s.Alerts(background, dlqtest.Reviewer, 5); return err },
		"the sources with something due": func() error { _, err := s.DueSources(background); return err },
		"candidates": func() error {
			_, err := s.Candidates(background, dlqtest.Admin, []string{last.DLQID}, "")
			return err
		},
		"every change": func() error {
			r := send(t, s, last.DLQID)
			s.Clock.Advance(time.Minute)
			s.Park(t, dlqtest.Of(e.Source, e.DocID), dlqtest.Replay(r.ID), dlqtest.Seen(s.Now()), dlqtest.Held("49"))
			s.Clock.Advance(time.Minute)
			r = send(t, s, last.DLQID)
			report(t, s, dlq.Outcome{RedriveID: r.ID, Result: dlq.OutcomeCommitted})
			report(t, s, dlq.Outcome{ContentHash: dlqtest.Digest("48"), Result: dlq.OutcomeCommitted})
			report(t, s, dlq.Outcome{Source: "wiki", DocID: "46", Result: dlq.OutcomeCommitted})
			if err := s.Act(background, dlqtest.Reviewer, s.Park(t, dlqtest.Doc("new"), dlqtest.Held("new")).DLQID, dlq.Action{Kind: dlq.OperationArchive}); err != nil {
				return err
			}
			if _, err := s.ArchiveExpired(background, 10); err != nil {
				return err
			}
			if _, _, err := s.SettleOverdue(background, 10); err != nil {
				return err
			}
			if err := s.PayloadIsSound(background, dlqtest.Digest("1")); err != nil {
				return err
			}
			if _, err := s.Orphans(background, s.Now(), 10); err != nil {
				return err
			}
			if _, err := s.OpenOperations(background); err != nil {
				return err
			}
			src, err := s.Source(background, "wiki")
			if err != nil {
				return err
			}
			if _, err := s.IndexQuestions(background, src, 10); err != nil {
				return err
			}
			if err := s.IndexSaid(background, r.ID, "not there yet", s.Now()); err != nil {
				return err
			}
			if _, _, err := s.IndexChecked(background, r.EntryID); err != nil {
				return err
			}
			if _, err := s.EndOverlaps(background); err != nil {
				return err
			}
			if _, err := s.CancelledOperations(background, 10); err != nil {
				return err
			}
			return s.ForgetOrphans(background, s.Now(), []string{dlqtest.Digest("none")})
		},
	} {
		plans, err := s.Plans(do)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(plans) == 0 {
			t.Errorf("%s: no query was seen", name)
		}
		for q, plan := range plans {
			if db.MayReadAll(q) {
				continue
			}
			for _, line := range plan {
				if db.ReadsWhole(line) && !told[q] {
					told[q] = true
					t.Errorf("%s: %s\n\tin the plan of %.300s", name, line, strings.Join(strings.Fields(q), " "))
				}
			}
		}
	}
}

func TestThePlanOfWhatLeavesSoonIsOneRange(t *testing.T) {
	s := withTarget(t)
	s.Park(t)
	for text, want := range map[string]string{
		"status:parked expires:<7d": "USING INDEX entry_expiring",
		"status:parked":             "USING INDEX entry_by_status (status=?",
	} {
		sort := dlq.SortLastSeen
		if strings.Contains(text, "expires") {
			sort = dlq.SortExpires
		}
		plans, err := s.Plans(func() error {
			_, _, err := s.Entries(background, dlqtest.Admin, query(t, text), sort, "", 2)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for q, plan := range plans {
			if !strings.Contains(q, "limit") || !strings.Contains(q, "from entry e join") {
				continue
			}
			all := strings.Join(plan, "\n")
			if strings.Contains(all, want) && !strings.Contains(all, "TEMP B-TREE") {
				found = true
			} else if strings.Contains(q, "order by e.") {
				t.Logf("%s:\n%s", text, all)
			}
		}
		if !found {
			t.Errorf("%q is not read as one range of %s, in its order", text, want)
		}
	}
}
