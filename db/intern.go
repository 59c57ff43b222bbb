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
	var ref fingerprintRef
	found, err := t.row(`select f.id, f.cohort_id, c.review from fingerprint f join cohort c on c.id = f.cohort_id where f.algorithm = $1 and f.digest = $2`,
		[]any{f.Algorithm, f.Digest}, &ref.id, &ref.cohort, &ref.review)
	if err != nil {
		return ref, fmt.Errorf("find fingerprint: %w", err)
	}
	if found {
		return ref, nil
	}
	frames, err := json.Marshal(f.Frames)
	if err != nil {
		return ref, fmt.Errorf("write frames: %w", err)
	}
	frame := ""
	if len(f.Frames) > 0 {
		frame = f.Frames[0].String()
	}
	f.Type, f.RootType, f.Template, f.Canonical, frame = storable(f.Type), storable(f.RootType), storable(f.Template), storable(f.Canonical), storable(frame)
	ref.cohort, ref.review = t.newID(), review
	if _, err := t.exec(`insert into cohort (id, review, confidence, error_type, template, frame, source_id, first_seen, last_seen, created_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		ref.cohort, review, f.Confidence, f.Type, f.Template, frame, sourceID, ms(t.now), 0, ms(t.now)); err != nil {
		return ref, fmt.Errorf("add cohort: %w", err)
	}
	if _, err := t.row(`insert into fingerprint (algorithm, digest, cohort_id, mode, confidence, language, error_type, root_type, template, frames, canonical, created_at)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) returning id`,
		[]any{f.Algorithm, f.Digest, ref.cohort, f.Mode, f.Confidence, f.Language, f.Type, f.RootType, f.Template, string(frames), f.Canonical, ms(t.now)}, &ref.id); err != nil {
		return ref, fmt.Errorf("add fingerprint: %w", err)
	}
	return ref, nil
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
