package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"dlo/dlq"
)

// judged is how a redrive was judged when it was settled: what redrive.verdict
// keeps. A failure is judged both ways, for it may turn out to have fallen into
// the same cohort, or another, once cohorts are merged or split.
type judged struct {
	dlq.Verdict
	Other *dlq.Verdict `json:"other,omitempty"` // of a failure: if it fell into another cohort
}

func judge(r dlq.Redrive) judged {
	j := judged{Verdict: r.JudgedAs(false)}
	if r.Outcome == dlq.OutcomeFailed {
		other := r.JudgedAs(true)
		j.Other = &other
	}
	return j
}

// keepVerdict writes down how a redrive was judged, and counts it. What was never
// sent says nothing.
func (t *Tx) keepVerdict(r dlq.Redrive) error {
	j := judge(r)
	step, said, err := t.verdictText(r, j)
	if err != nil || said == "" {
		return err
	}
	if _, err := t.exec(`update redrive set step_id = $1, verdict = $2 where id = $3`, step, said, r.ID); err != nil {
		return fmt.Errorf("keep a verdict: %w", err)
	}
	if err := t.countReplay(r.ID, 1); err != nil {
		return err
	}
	return t.weighVerdict(j, r.FailedCohort)
}

// weighVerdict weighs anew whether a cohort looks transient, after a verdict that
// speaks for it or against it.
func (t *Tx) weighVerdict(j judged, cohort string) error {
	if j.Name == dlq.VerdictTransient || j.Name == dlq.VerdictStillBroken {
		return t.weighTransient(cohort)
	}
	return nil
}

// verdictText gives what is kept of a verdict. An empty text: there is none.
func (t *Tx) verdictText(r dlq.Redrive, j judged) (step int64, text string, err error) {
	if j.Name == dlq.VerdictNone {
		return 0, "", nil
	}
	if step, err = t.stepID(r.Step().Key()); err != nil {
		return 0, "", err
	}
	said, err := json.Marshal(j)
	if err != nil {
		return 0, "", fmt.Errorf("write the verdict on redrive %s: %w", r.ID, err)
	}
	return step, string(said), nil
}

// judgeAnew changes what is known of a settled redrive, and judges it by that.
func (t *Tx) judgeAnew(redriveID string, change func() error) error {
	if err := t.countReplay(redriveID, -1); err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	r, err := t.redriveWhere(`where r.id = $1 and r.state = 'settled'`, redriveID)
	if err != nil || r == nil {
		return err
	}
	if err := t.keepVerdict(*r); err != nil {
		return err
	}
	return t.weighTransient(r.FailedCohort) // by what it said before, too
}

// recountReplays counts the replays of some cohorts anew.
func (t *Tx) recountReplays(cohorts ...string) error {
	if err := t.countNow(); err != nil {
		return err
	}
	list := jsonTexts(cohorts)
	if _, err := t.exec(`delete from replay_tally where cohort_id in (select value from json_each($1))`, list); err != nil {
		return fmt.Errorf("count replays anew: %w", err)
	}
	if _, err := t.exec(replaysCounted+` where verdict is not null and failed_cohort in (select value from json_each($1))`+replaysGrouped, list); err != nil {
		return fmt.Errorf("count replays anew: %w", err)
	}
	return nil
}

const (
	replaysCounted = `insert into replay_tally (cohort_id, source_id, step_id, verdict, presumed, other_verdict, other_presumed, outcome_cohort, replays, last_at) select failed_cohort, source_id, step_id, json_extract(verdict, '$.name'),
		json_extract(verdict, '$.presumed'), coalesce(json_extract(verdict, '$.other.name'), ''), coalesce(json_extract(verdict, '$.other.presumed'), 0), case outcome when 'failed' then coalesce(outcome_cohort, '') else '' end, count(*), coalesce(max(settled_at), 0) from redrive`
	replaysGrouped = ` group by 1, 2, 3, 4, 5, 6, 7, 8`
)

func (t *Tx) stepID(key string) (int64, error) {
	if id, ok := t.remembered.steps[key]; ok {
		return id, nil
	}
	var id int64
	found, err := t.row(`select id from version_step where moved = $1`, []any{key}, &id)
	if err != nil {
		return 0, fmt.Errorf("find a step of versions: %w", err)
	}
	if !found {
		if _, err := t.row(`insert into version_step (moved) values ($1) returning id`, []any{key}, &id); err != nil {
			return 0, fmt.Errorf("intern a step of versions: %w", err)
		}
	}
	if t.remembered.steps == nil {
		t.remembered.steps = map[string]int64{}
	}
	t.remembered.steps[key] = id
	return id, nil
}

// countReplay adds a judged redrive to the counts of its cohort, or takes it out.
func (t *Tx) countReplay(redriveID string, n int) error {
	var cohort, said, fell string
	var source, step, at int64
	found, err := t.row(`select failed_cohort, source_id, step_id, verdict, case outcome when 'failed' then coalesce(outcome_cohort, '') else '' end, coalesce(settled_at, 0) from redrive where id = $1 and verdict is not null`,
		[]any{redriveID}, &cohort, &source, &step, &said, &fell, &at)
	if err != nil || !found {
		return err
	}
	var j judged
	if err := json.Unmarshal([]byte(said), &j); err != nil {
		return fmt.Errorf("read the verdict on redrive %s: %w", redriveID, err)
	}
	t.sumReplay(replayOf{cohort: cohort, source: source, step: step, outcomeCohort: fell}, j, int64(n), at)
	return nil
}

func (t *Tx) sumReplay(of replayOf, j judged, n, at int64) {
	of.verdict, of.presumed, of.other = j.Name, j.Presumed, dlq.VerdictNone
	if j.Other != nil {
		of.other, of.otherPresumed = j.Other.Name, j.Other.Presumed
	}
	sum := into(&t.jobSums.replays, of)
	sum.replays += n
	sum.lastAt = max(sum.lastAt, at)
}

// recountReplays compares the counts of replays with the redrives that were
// judged, in all by which a proof tells them apart.
const recountReplays = `select coalesce(t.cohort_id, r.cohort_id) as cohort_id from (select cohort_id, source_id, step_id, verdict, presumed, other_verdict, other_presumed, outcome_cohort, replays from replay_tally where replays <> 0) t
	full outer join (select failed_cohort as cohort_id, source_id, step_id, json_extract(verdict, '$.name') as verdict, json_extract(verdict, '$.presumed') as presumed, coalesce(json_extract(verdict, '$.other.name'), '') as other_verdict,
		coalesce(json_extract(verdict, '$.other.presumed'), 0) as other_presumed, case outcome when 'failed' then coalesce(outcome_cohort, '') else '' end as outcome_cohort, count(*) as replays from redrive where verdict is not null group by 1, 2, 3, 4, 5, 6, 7, 8) r
	on r.cohort_id = t.cohort_id and r.source_id = t.source_id and r.step_id = t.step_id and r.verdict = t.verdict and r.presumed = t.presumed and r.other_verdict = t.other_verdict and r.other_presumed = t.other_presumed and r.outcome_cohort = t.outcome_cohort
	where t.replays is distinct from r.replays`

func (s *Store) checkReplays(ctx context.Context) ([]string, error) {
	return s.lines(ctx, `select 'cohort ' || cohort_id || ' counts other replays than were judged' from (select distinct cohort_id from (`+recountReplays+`)) order by 1 limit 100`)
}

// ReplayTallies counts the replays of cohorts by what they prove, as far as the
// viewer may see: by the id of each cohort, those that were merged into it
// included. Which failures fell into the same cohort is decided now.
func (s *Store) ReplayTallies(ctx context.Context, by dlq.Actor, cohorts []string) (map[string][]dlq.ReplayTally, error) {
	out := map[string][]dlq.ReplayTally{}
	steps := map[string]dlq.VersionStep{} // few, of many replays
	var f filter
	err := each(ctx, s.reader(), `select coalesce(c.merged_into, c.id), s.name, v.moved, t.verdict, t.presumed, t.other_verdict, t.other_presumed, t.outcome_cohort,
		coalesce((select o.merged_into from cohort o where o.id = t.outcome_cohort), t.outcome_cohort), t.replays, t.last_at
		from cohort c join replay_tally t on t.cohort_id = c.id join source s on s.id = t.source_id join version_step v on v.id = t.step_id
		where c.id in (select value from json_each(`+f.arg(jsonTexts(cohorts))+`) union select m.id from json_each(`+f.arg(jsonTexts(cohorts))+`) j join cohort m on m.merged_into = j.value)
		and t.replays > 0 and `+f.ofSourcesOf(by, "t.source_id")+`
		order by 1, t.source_id, t.step_id, t.verdict, t.presumed, t.other_verdict, t.other_presumed, t.outcome_cohort`, f.args, func(rows *sql.Rows) error {
		var cohort, moved, fell, fellNow string
		var other dlq.VerdictName
		var otherPresumed bool
		var at int64
		var tally dlq.ReplayTally
		if err := rows.Scan(&cohort, &tally.Source, &moved, &tally.Verdict, &tally.Presumed, &other, &otherPresumed, &fell, &fellNow, &tally.Replays, &at); err != nil {
			return err
		}
		step, known := steps[moved]
		if !known {
			step = dlq.ParseVersionStep(moved)
			steps[moved] = step
		}
		tally.Step, tally.Last = step, fromMS(at)
		if fell != "" && fellNow != cohort {
			tally.Verdict, tally.Presumed = other, otherPresumed
		}
		out[cohort] = append(out[cohort], tally)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count replays: %w", err)
	}
	return out, nil
}

// CohortProofs concludes what the replays of cohorts prove, from the versions
// under which their documents are stuck and what runs in their sources.
func (s *Store) CohortProofs(ctx context.Context, by dlq.Actor, cohorts []dlq.Cohort) (map[string]dlq.CohortProof, error) {
	ids := make([]string, len(cohorts))
	for i, c := range cohorts {
		ids[i] = c.ID
	}
	tallies, err := s.ReplayTallies(ctx, by, ids)
	if err != nil {
		return nil, err
	}
	running, err := s.RunningIn(ctx, by)
	if err != nil {
		return nil, err
	}
	out := make(map[string]dlq.CohortProof, len(cohorts))
	for _, c := range cohorts {
		out[c.ID] = dlq.ProveCohort(c.FailedUnder, running, tallies[c.ID])
	}
	return out, nil
}

// JudgeOlder judges redrives that were settled before verdicts were kept, at most
// limit of them, and answers how many it looked at. It remembers how far it is;
// with nothing older it does nothing.
func (s *Store) JudgeOlder(ctx context.Context, limit int) (int, error) {
	const place = "judged_up_to"
	var done string
	if _, err := s.one(ctx, `select value from meta where name = $1`, []any{place}, &done); err != nil {
		return 0, fmt.Errorf("find how far older redrives are judged: %w", err)
	}
	if done == afterAll {
		return 0, nil
	}
	looked := 0
	err := s.update(ctx, func(tx *Tx) error {
		list, err := redrivesWhere(tx.ctx, tx, `where r.id > $1 order by r.id limit $2`, done, limit)
		if err != nil {
			return err
		}
		looked = len(list)
		upTo := afterAll
		for _, r := range list {
			var one int
			open, err := tx.row(`select 1 from redrive where id = $1 and state = 'settled' and verdict is null`, []any{r.ID}, &one)
			if err != nil {
				return fmt.Errorf("find an older redrive: %w", err)
			}
			if open {
				if err := tx.keepVerdict(r); err != nil {
					return err
				}
			}
			if looked == limit {
				upTo = r.ID
			}
		}
		_, err = tx.exec(`insert into meta (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value`, place, upTo)
		return err
	})
	return looked, err
}
