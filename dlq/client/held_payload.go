package client

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

// inMemory is how much of a payload is held in memory; a longer one goes to a
// temporary file, so that a pipeline's memory does not depend on its documents.
const inMemory = 1 << 20

// heldPayload is a payload that was read to its end and can be read again: for
// another try, or for the spool.
type heldPayload struct {
	sha256 string
	size   int64
	bytes  []byte   // of a short one
	file   *os.File // of a long one
}

// hold reads a payload to its end. Long ones are kept in a temporary file in
// dir ("": the system's).
func hold(r io.Reader, dir string) (*heldPayload, error) {
	digest := sha256.New()
	var head bytes.Buffer
	n, err := io.Copy(io.MultiWriter(&head, digest), io.LimitReader(r, inMemory+1))
	if err != nil {
		return nil, err
	}
	if n <= inMemory {
		return &heldPayload{sha256: hex.EncodeToString(digest.Sum(nil)), size: n, bytes: head.Bytes()}, nil
	}
	file, err := os.CreateTemp(dir, "payload-*.tmp")
	if err != nil {
		return nil, fmt.Errorf("keep a long payload on disk: %w", err)
	}
	held := &heldPayload{file: file}
	if _, err := file.Write(head.Bytes()); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	rest, err := io.Copy(io.MultiWriter(file, digest), r)
	if err != nil {
		return nil, errors.Join(err, held.Close())
	}
	held.size, held.sha256 = n+rest, hex.EncodeToString(digest.Sum(nil))
	return held, nil
}

// Open gives the payload from its start. The reader is independent of others.
func (h *heldPayload) Open() (io.Reader, error) {
	if h.file == nil {
		return bytes.NewReader(h.bytes), nil
	}
	return io.NewSectionReader(h.file, 0, h.size), nil
}

// Close lets the payload go.
func (h *heldPayload) Close() error {
	if h.file == nil {
		return nil
	}
	err := h.file.Close()
	return errors.Join(err, os.Remove(h.file.Name()))
}
