package db

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"dlo/dlq"
)

// What is proven of a document follows from its cell: from its cohort's replays,
// the versions under which it failed, and what runs in its source. A rule in Go
// concludes it, so the cells are looked up before a query is compiled. Only those
// of cohorts of which something was replayed can have a proof.

// provenCells are cells by the state of the proof of their documents. A cell that
// is in none has no proof.
type provenCells map[dlq.ProofState][]int64

// replayedMost is how many cohorts with replays a query looks at.
const replayedMost = 20_000

// proof is the condition that a cell's documents have a proof in one of some
// states.
func (f *filter) proof(values []string) string {
	none := slices.Contains(values, string(dlq.ProofNone))
	listed := []int64{}
	for _, state := range dlq.ProofStates {
		if state != dlq.ProofNone && slices.Contains(values, string(state)) != none {
			listed = append(listed, f.proofs[state]...)
		}
	}
	slices.Sort(listed)
	in := "c.id in (select value from json_each(" + f.arg(jsonList(listed)) + "))"
	if none { // all but those with another proof
		return "not " + in
	}
	return in
}

// proofsFor looks up what is proven of cells, where a query asks for it: of all, or
// of those alone that have something stuck.
func (s *Store) proofsFor(ctx context.Context, by dlq.Actor, q dlq.Query, stuck bool) (provenCells, error) {
	if !q.Has("proof") {
		return nil, nil
	}
	replayed, err := s.texts(ctx, distinctBySeeks("cohort_id", "replay_tally", "1 = 1"), replayedMost)
	if err != nil {
		return nil, fmt.Errorf("find the cohorts with replays: %w", err)
	}
	tallies, err := s.ReplayTallies(ctx, by, replayed)
	if err != nil {
		return nil, err
	}
	running, err := s.RunningIn(ctx, by)
	if err != nil {
		return nil, err
	}
	under, cells, err := s.groupsOf(ctx, by, slices.Sorted(maps.Keys(tallies)), stuck)
	if err != nil {
		return nil, err
	}
	out := provenCells{}
	for cohort, groups := range under {
		stateOf := dlq.ProveCohort(groups, running, tallies[cohort]).States()
		for i, g := range groups {
			if state := stateOf(g.Source, g.Versions); state != dlq.ProofNone {
				out[state] = append(out[state], cells[cohort][i]...)
			}
		}
	}
	return out, nil
}

// groupsOf reads the cells of cohorts, grouped by source and version set: how many
// of each group are parked, and its cells.
func (s *Store) groupsOf(ctx context.Context, by dlq.Actor, cohorts []string, stuck bool) (map[string][]dlq.VersionCount, map[string][][]int64, error) {
	var f filter
	condition := f.ofSourcesOf(by, "+c.source_id")
	if stuck {
		condition += " and " + sumOf("c", stuckStates) + " > 0"
	}
	type group struct {
		cohort              string
		sourceID, versionID int64
	}
	at := map[group]int{}
	under, cells := map[string][]dlq.VersionCount{}, map[string][][]int64{}
	parsed := map[int64]dlq.Versions{}
	err := each(ctx, s.reader(), `select m.cohort_id, c.id, s.id, s.name, v.id, v.versions, c.parked from json_each(`+f.arg(jsonTexts(cohorts))+`) j cross join fingerprint m on m.cohort_id = j.value
		cross join cell c on c.fingerprint_id = m.id join source s on s.id = c.source_id join version_set v on v.id = c.version_set_id where `+condition+` order by m.cohort_id, c.id`, f.args, func(rows *sql.Rows) error {
		var g group
		var cell, parked int64
		var source, versions string
		if err := rows.Scan(&g.cohort, &cell, &g.sourceID, &source, &g.versionID, &versions, &parked); err != nil {
			return err
		}
		if _, known := parsed[g.versionID]; !known {
			parsed[g.versionID] = dlq.ParseVersions(versions)
		}
		i, known := at[g]
		if !known {
			i = len(under[g.cohort])
			at[g] = i
			under[g.cohort] = append(under[g.cohort], dlq.VersionCount{Source: source, Versions: parsed[g.versionID]})
			cells[g.cohort] = append(cells[g.cohort], nil)
		}
		under[g.cohort][i].Parked += parked
		cells[g.cohort][i] = append(cells[g.cohort][i], cell)
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read what replays may prove something of: %w", err)
	}
	return under, cells, nil
}
