package sweep

import (
	"context"
	"fmt"
	"time"
)

// orphanAge is for how long bytes may lie without an entry: they are stored
// before the envelope that names them, and a sender may take its time between.
const orphanAge = 24 * time.Hour

// PayloadRows are the store's records of which bytes are held.
type PayloadRows interface {
	// Orphans lists what no entry holds and what is older than the time.
	Orphans(ctx context.Context, before time.Time, limit int) ([]string, error)
	// ForgetOrphans removes the records of bytes that are gone, unless they were
	// stored again since.
	ForgetOrphans(ctx context.Context, before time.Time, gone []string) error
	HoldsPayload(ctx context.Context, sha256 string) (bool, error)
}

// PayloadFiles are the bytes.
type PayloadFiles interface {
	// RemoveIdle removes bytes unless they were put again since the time, and
	// says whether they are gone.
	RemoveIdle(ctx context.Context, sha256 string, since time.Time) (gone bool, err error)
	Each(ctx context.Context, f func(sha256 string, size int64, put time.Time) error) error
	SweepTemporary(ctx context.Context, olderThan time.Time) (removed int, err error)
}

// Orphans removes bytes that no entry holds any more.
func Orphans(rows PayloadRows, files PayloadFiles) Step {
	return Step{Name: "orphans", Every: Minute, ByAge: true, Do: func(ctx context.Context, now time.Time) (int, string, error) {
		before := now.Add(-orphanAge)
		n, err := bySlices(ctx, func(ctx context.Context, limit int) (int, error) {
			return forgetOrphans(ctx, rows, files, before, limit)
		})
		return n, counted(n, "stored copy that no document holds was removed", "stored copies that no document holds were removed"), err
	}}
}

// forgetOrphans removes the bytes before their records: what is cut off in
// between is found again, and nothing is removed while arrivals wait for the
// database.
func forgetOrphans(ctx context.Context, rows PayloadRows, files PayloadFiles, before time.Time, limit int) (int, error) {
	orphans, err := rows.Orphans(ctx, before, limit)
	if err != nil {
		return 0, err
	}
	var gone []string
	for _, sha256 := range orphans {
		removed, err := files.RemoveIdle(ctx, sha256, before)
		if err != nil {
			return 0, err
		}
		if removed {
			gone = append(gone, sha256)
		}
	}
	return len(gone), rows.ForgetOrphans(ctx, before, gone)
}

// LostFiles removes bytes that no record names: what a crash between the bytes
// and their record leaves, and what broken-off uploads began. It has to look at
// every file, so it is done seldom.
func LostFiles(rows PayloadRows, files PayloadFiles) Step {
	return Step{Name: "lost files", Every: Hourly, ByAge: true, Do: func(ctx context.Context, now time.Time) (int, string, error) {
		before := now.Add(-orphanAge)
		did := 0
		err := files.Each(ctx, func(sha256 string, _ int64, put time.Time) error {
			if !put.Before(before) {
				return ctx.Err()
			}
			held, err := rows.HoldsPayload(ctx, sha256)
			if err != nil || held {
				return err
			}
			removed, err := files.RemoveIdle(ctx, sha256, before)
			if removed {
				did++
			}
			return err
		})
		if err != nil {
			return did, "", fmt.Errorf("remove bytes without a record: %w", err)
		}
		unfinished, err := files.SweepTemporary(ctx, before)
		if err != nil {
			err = fmt.Errorf("remove unfinished uploads: %w", err)
		}
		return did + unfinished, fmt.Sprintf("%d stored copies without a record and %d unfinished uploads were removed", did, unfinished), err
	}}
}
