package db

import (
	"encoding/json"
	"fmt"
	"maps"

	"dlo/dlq"

	"github.com/oklog/ulid/v2"
)

// internedIDs remembers the rows that many entries point to, so that an arrival
// of a known defect asks the database for none of them. What a batch adds
// counts only after its commit.
type internedIDs struct {
	versions map[string]int64
	cells    map[cellKey]int64
}

const internedMost = 50_000 // of each kind; past that it begins anew

func (i *internedIDs) reset() {
	i.versions, i.cells = map[string]int64{}, map[cellKey]int64{}
}

func (i *internedIDs) adopt(fresh *internedIDs) {
	if len(i.versions) > internedMost || len(i.cells) > internedMost {
		i.reset()
	}
	maps.Copy(i.versions, fresh.versions)
	maps.Copy(i.cells, fresh.cells)
}

type cellKey struct {
	fingerprint, source, versions                int64
	reason, class, errorType, contentType, stage string
}

// fingerprintRef is a fingerprint's row, with the cohort that it is a member of.
type fingerprintRef struct {
	id     int64
	cohort string
	review bool
	splits int64   // splits in force that name it
	from   []int64 // the members that splits derived it from
}

// newID makes a ULID for a row that people see, at the transaction's moment.
func (t *Tx) newID() string {
	return ulid.MustNew(ulid.Timestamp(t.now), ulid.DefaultEntropy()).String()
}

func (t *Tx) versionSet(v dlq.Versions) (int64, error) {
	canonical := v.Canonical()
	if id, ok := t.w.ids.versions[canonical]; ok {
		return id, nil
	}
	if id, ok := t.fresh.versions[canonical]; ok {
		return id, nil
	}
	var id int64
	found, err := t.row(`select id from version_set where versions = $1`, []any{canonical}, &id)
	if err != nil {
		return 0, fmt.Errorf("find versions: %w", err)
	}
	if !found {
		if _, err := t.row(`insert into version_set (versions) values ($1) returning id`, []any{canonical}, &id); err != nil {
			return 0, fmt.Errorf("add versions: %w", err)
		}
		for _, component := range v.Components() {
			if _, err := t.exec(`insert into version_of (component, version, version_set_id) values ($1, $2, $3) on conflict do nothing`, storable(component), storable(v[component]), id); err != nil {
				return 0, fmt.Errorf("add versions: %w", err)
			}
		}
	}
	t.fresh.versions[canonical] = id
	return id, nil
}

// fingerprint finds the member and its cohort, or makes both: a fingerprint
// that nobody has seen is a new cohort.
func (t *Tx) fingerprint(f dlq.Fingerprint, sourceID int64, review bool) (fingerprintRef, error) {
	ref, found, err := t.member(f.Algorithm, f.Digest)
	if err != nil || found {
		return ref, err
	}
	cohort, err := t.addCohort(newCohort{fingerprint: f, sourceID: sourceID, review: review})
	if err != nil {
		return ref, err
	}
	id, err := t.addMember(f, cohort, nil)
	return fingerprintRef{id: id, cohort: cohort, review: review}, err
}

func (t *Tx) member(algorithm, digest string) (fingerprintRef, bool, error) {
	var ref fingerprintRef
	found, err := t.row(`select f.id, f.cohort_id, c.review, f.splits from fingerprint f join cohort c on c.id = f.cohort_id where f.algorithm = $1 and f.digest = $2`,
		[]any{algorithm, digest}, &ref.id, &ref.cohort, &ref.review, &ref.splits)
	if err != nil {
		return ref, false, fmt.Errorf("find fingerprint: %w", err)
	}
	return ref, found, nil
}

// newCohort is what a cohort begins with.
type newCohort struct {
	fingerprint dlq.Fingerprint
	sourceID    int64
	review      bool
	splitFrom   string
	part        string
}

func (t *Tx) addCohort(n newCohort) (string, error) {
	f, frame := n.fingerprint, ""
	if len(f.Frames) > 0 {
		frame = f.Frames[0].String()
	}
	id := t.newID()
	if _, err := t.exec(`insert into cohort (id, review, confidence, error_type, template, frame, source_id, first_seen, last_seen, created_at, split_from, part)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		id, n.review, f.Confidence, storable(f.Type), storable(f.Template), storable(frame), n.sourceID, ms(t.now), 0, ms(t.now), textOrNull(n.splitFrom), n.part); err != nil {
		return "", fmt.Errorf("add cohort: %w", err)
	}
	return id, nil
}

// derivation is the member that a split derived another from, and the rule.
type derivation struct {
	parentID int64
	ruleID   string
}

func (t *Tx) addMember(f dlq.Fingerprint, cohort string, from *derivation) (int64, error) {
	frames, err := json.Marshal(f.Frames)
	if err != nil {
		return 0, fmt.Errorf("write frames: %w", err)
	}
	var parent, rule any
	if from != nil {
		parent, rule = from.parentID, from.ruleID
	}
	var id int64
	if _, err := t.row(`insert into fingerprint (algorithm, digest, cohort_id, mode, confidence, language, error_type, root_type, template, frames, canonical, created_at, parent_id, rule_id)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) returning id`,
		[]any{f.Algorithm, f.Digest, cohort, f.Mode, f.Confidence, f.Language, storable(f.Type), storable(f.RootType), storable(f.Template), string(frames), storable(f.Canonical), ms(t.now), parent, rule}, &id); err != nil {
		return 0, fmt.Errorf("add fingerprint: %w", err)
	}
	return id, nil
}

func (t *Tx) cell(k cellKey) (int64, error) {
	if id, ok := t.w.ids.cells[k]; ok {
		return id, nil
	}
	if id, ok := t.fresh.cells[k]; ok {
		return id, nil
	}
	args := []any{k.fingerprint, k.source, k.versions, k.reason, k.class, k.errorType, k.contentType, k.stage}
	var id int64
	found, err := t.row(`select id from cell where fingerprint_id = $1 and source_id = $2 and version_set_id = $3 and reason = $4
		and error_class = $5 and error_type = $6 and content_type = $7 and stage = $8`, args, &id)
	if err != nil {
		return 0, fmt.Errorf("find cell: %w", err)
	}
	if !found {
		if _, err := t.row(`insert into cell (fingerprint_id, source_id, version_set_id, reason, error_class, error_type, content_type, stage)
			values ($1, $2, $3, $4, $5, $6, $7, $8) returning id`, args, &id); err != nil {
			return 0, fmt.Errorf("add cell: %w", err)
		}
	}
	t.fresh.cells[k] = id
	return id, nil
}
