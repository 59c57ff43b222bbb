package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"dlo/connectors/payload"
	"dlo/db"
	"dlo/dlq"
)

// importStore keeps no rejected envelopes: the rejects of an import stand in a
// file beside what was imported, and a second run would keep them twice.
type importStore struct{ *db.Store }

// KeepRejected keeps nothing.
func (importStore) KeepRejected(context.Context, dlq.Actor, string, []byte, string) error { return nil }

// dryStore is for an import that only looks.
type dryStore struct{ importStore }

// RecordArrivals takes everything, and writes nothing of it.
func (dryStore) RecordArrivals(_ context.Context, arrivals []dlq.Arrival) ([]dlq.Receipt, error) {
	receipts := make([]dlq.Receipt, len(arrivals))
	for i := range receipts {
		receipts[i].Created = true
	}
	return receipts, nil
}

// RememberPayload remembers nothing.
func (dryStore) RememberPayload(context.Context, string, int64) error { return nil }

// PayloadIsSound has nothing to mend.
func (dryStore) PayloadIsSound(context.Context, string) error { return nil }

// dryPayloads digests what it is given, and keeps none of it.
type dryPayloads struct{ payload.Store }

// Put gives the digest of the bytes.
func (dryPayloads) Put(_ context.Context, r io.Reader, limit int64) (dlq.StoredPayload, error) {
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(r, limit+1))
	if err != nil {
		return dlq.StoredPayload{}, fmt.Errorf("read the bytes: %w", err)
	}
	if n > limit {
		return dlq.StoredPayload{}, dlq.Errorf(dlq.KindTooLarge, "the document is larger than the %d bytes that are taken", limit)
	}
	return dlq.StoredPayload{SHA256: hex.EncodeToString(h.Sum(nil)), Bytes: n}, nil
}

// Renew says that nothing is held: whether it is makes no line good or bad.
func (dryPayloads) Renew(context.Context, string) (int64, bool, error) { return 0, false, nil }
