package client

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"dlo/dlq"
)

// The spool is a folder of NDJSON files, an envelope a line, that `dlo import`
// reads too. Short payloads stand inline as base64; a longer one lies beside, in
// payloads/<sha256>, and its line names the digest. What the server refused goes
// to rejected.ndjson, with why, and is never sent again by itself.
const (
	spoolInline   = 256 << 10 // bytes of a payload that still goes inline
	spoolSuffix   = ".ndjson"
	spoolRejected = "rejected.ndjson"
	spoolBatch    = 4 << 20 // bytes sent in one call
)

type spool struct {
	dir string // "" for none
	now func() time.Time

	sending sync.Mutex // held by the one SendSpool that runs

	mu      sync.Mutex // guards what follows
	segment *os.File   // the file that is appended to, nil before the first line
	size    int64      // of the segment, as far as it is known to be on disk
	made    int        // segments made, for their names
}

func (s *spool) open() error {
	if s.dir == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(s.dir, "payloads"), 0o700); err != nil {
		return fmt.Errorf("client: make the spool's folder: %w", err)
	}
	// What a run that died left half written belongs to documents that were never
	// reported as safe.
	halves, err := filepath.Glob(filepath.Join(s.dir, "*.tmp"))
	if err != nil {
		return fmt.Errorf("client: look through the spool's folder: %w", err)
	}
	for _, half := range halves {
		if err := os.Remove(half); err != nil {
			return fmt.Errorf("client: tidy the spool's folder: %w", err)
		}
	}
	return nil
}

// add writes one envelope with its payload. It is on disk when add returns nil.
func (s *spool) add(e dlq.Envelope, p *heldPayload) error {
	s.mu.Lock()
	defer s.mu.Unlock()                                       // a payload file has its line before dropPayloads looks
	if p.size <= spoolInline && roughSize(e) <= spoolInline { // both fit into one envelope

		raw, err := p.Open()
		if err != nil {
			return fmt.Errorf("spool a dead letter: %w", err)
		}
		b, err := io.ReadAll(raw)
		if err != nil {
			return fmt.Errorf("spool a dead letter: %w", err)
		}
		e.Payload, e.PayloadEncoding = base64.StdEncoding.EncodeToString(b), "base64"
	} else if err := s.writePayload(p); err != nil {
		return fmt.Errorf("spool a dead letter's payload: %w", err)
	}
	return s.appendLines([]dlq.Envelope{e})
}

// addAll writes envelopes that have no payload beside them. They are on disk when
// it returns nil.
func (s *spool) addAll(envelopes []dlq.Envelope) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.appendLines(envelopes)
}

// appendLines appends envelopes with one flush to disk. On an error the segment
// is cut back and left, because what a failed flush kept is not known. The caller
// holds mu.
func (s *spool) appendLines(envelopes []dlq.Envelope) error {
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for _, e := range envelopes {
		if err := encoder.Encode(e); err != nil {
			return fmt.Errorf("spool a dead letter: %w", err)
		}
	}
	if s.segment == nil {
		if err := s.startSegment(); err != nil {
			return err
		}
	}
	_, err := s.segment.Write(lines.Bytes())
	if err == nil {
		err = s.segment.Sync()
	}
	if err != nil {
		err = errors.Join(err, s.segment.Truncate(s.size), s.closeSegment())
		return fmt.Errorf("spool a dead letter: %w", err)
	}
	s.size += int64(lines.Len())
	return nil
}

func (s *spool) startSegment() error {
	s.made++
	name := fmt.Sprintf("%s-%d-%d%s", s.now().UTC().Format("20060102T150405.000000000"), os.Getpid(), s.made, spoolSuffix)
	file, err := os.OpenFile(filepath.Join(s.dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("start a spool file: %w", err)
	}
	if err := syncDir(s.dir); err != nil {
		return errors.Join(err, file.Close())
	}
	s.segment, s.size = file, 0
	return nil
}

func (s *spool) closeSegment() error {
	if s.segment == nil {
		return nil
	}
	err := s.segment.Close()
	s.segment = nil
	return err
}

func (s *spool) payloadPath(sha string) string { return filepath.Join(s.dir, "payloads", sha) }

func (s *spool) writePayload(p *heldPayload) error {
	raw, err := p.Open()
	if err != nil {
		return err
	}
	return writeDurably(s.payloadPath(p.sha256), raw)
}

// finished lists the files to send, oldest first, after closing the one that is
// written to. What is spooled from now on starts another.
func (s *spool) finished() ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.closeSegment(); err != nil {
		return nil, fmt.Errorf("close the spool file: %w", err)
	}
	return s.segments()
}

// segments lists all files of envelopes, oldest first. The caller holds mu.
func (s *spool) segments() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, fmt.Errorf("read the spool's folder: %w", err)
	}
	var paths []string
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, spoolSuffix) && name != spoolRejected {
			paths = append(paths, filepath.Join(s.dir, name))
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// dropPayloads removes the payload files once no line can name them.
func (s *spool) dropPayloads() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left, err := s.segments(); err != nil || len(left) > 0 {
		return err
	}
	entries, err := os.ReadDir(filepath.Join(s.dir, "payloads"))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		err = errors.Join(err, os.Remove(filepath.Join(s.dir, "payloads", entry.Name())))
	}
	return err
}

// Sent counts what SendSpool did, in envelopes.
type Sent struct {
	Parked   int
	Rejected int // refused by the server; in the spool's rejected.ndjson with why
	Left     int // still in the spool
}

// SendSpool sends what was spooled, oldest first, and removes what was taken.
// It stops at the first call that the server does not answer; what is left stays
// for the next time. Sending twice, as after a crash in between, is one arrival.
// Without a spool it does nothing.
func (c *Client) SendSpool(ctx context.Context) (Sent, error) {
	var sent Sent
	if c.spool.dir == "" {
		return sent, nil
	}
	c.spool.sending.Lock()
	defer c.spool.sending.Unlock()
	paths, err := c.spool.finished()
	if err != nil {
		return sent, err
	}
	for _, path := range paths {
		err := c.sendSegment(ctx, path, &sent)
		if err != nil {
			return sent, fmt.Errorf("send the spool: %w", err)
		}
	}
	if sent.Parked > 0 {
		c.away.Store(0) // it is back
	}
	if sent.Left > 0 {
		return sent, nil
	}
	return sent, c.spool.dropPayloads()
}

// sendSegment sends one file in batches, and leaves in it what was not taken.
func (c *Client) sendSegment(ctx context.Context, path string, sent *Sent) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var left [][]byte
	lines := slices.DeleteFunc(bytes.Split(content, []byte("\n")), func(l []byte) bool { return len(bytes.TrimSpace(l)) == 0 })
	all := len(lines)
	for len(lines) > 0 {
		n := batchLength(lines)
		kept, err := c.sendSpooled(ctx, lines[:n], sent)
		left = append(left, kept...)
		if err != nil {
			left = append(left, lines[n:]...)
			sent.Left += len(left)
			if len(left) == all {
				return err // the file stands as it is
			}
			return errors.Join(err, keepLines(path, left))
		}
		lines = lines[n:]
	}
	sent.Left += len(left)
	return keepLines(path, left)
}

// batchLength is how many lines go into one call: at least one.
func batchLength(lines [][]byte) int {
	size := 0
	for i, line := range lines {
		if size += len(line) + 1; size > spoolBatch && i > 0 {
			return i
		}
	}
	return len(lines)
}

// sendSpooled sends some lines, and gives those to be sent again.
func (c *Client) sendSpooled(ctx context.Context, lines [][]byte, sent *Sent) (left [][]byte, err error) {
	var whole, torn [][]byte
	for _, line := range lines {
		if !json.Valid(line) {
			torn = append(torn, line)
			continue
		}
		if err := c.sendPayloadBeside(ctx, line); err != nil {
			return lines, err
		}
		whole = append(whole, line)
	}
	var answers []Line
	if len(whole) > 0 {
		answers, err = c.sendLines(ctx, append(bytes.Join(whole, []byte("\n")), '\n'), len(whole))
		if err != nil {
			return lines, err
		}
	}
	for _, line := range torn {
		// The program died while it wrote the line; the document was never
		// reported as safe, so its message came again.
		sent.Rejected++
		if err := c.spool.reject(line, &Error{Title: "the line is not whole"}); err != nil {
			return whole, err
		}
	}
	for i, answer := range answers {
		switch {
		case answer.Err == nil:
			sent.Parked++
		case retryable(answer.Err):
			left = append(left, whole[i])
		default:
			sent.Rejected++
			if err := c.spool.reject(whole[i], answer.Err); err != nil {
				return append(left, whole[i:]...), err
			}
		}
	}
	return left, nil
}

// sendPayloadBeside stores the payload that a line names and that lies beside
// the spool file, if there is one.
func (c *Client) sendPayloadBeside(ctx context.Context, line []byte) error {
	var e struct {
		SHA256  string `json:"payload_sha256"`
		Payload string `json:"payload"`
	}
	if json.Unmarshal(line, &e) != nil || len(e.SHA256) != 64 || e.Payload != "" || filepath.Base(e.SHA256) != e.SHA256 {
		return nil
	}
	file, err := os.Open(c.spool.payloadPath(e.SHA256))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return c.putHeld(ctx, &heldPayload{sha256: e.SHA256, size: info.Size(), file: file})
}

// reject appends a line that will never be taken, beside why, to a file that a
// person looks at.
func (s *spool) reject(line []byte, why *Error) error {
	kept, err := json.Marshal(map[string]any{"envelope": string(line), "status": why.Status, "title": why.Title, "detail": why.Detail, "errors": why.Faults})
	if err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(s.dir, spoolRejected), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(kept, '\n'))
	return errors.Join(err, file.Sync(), file.Close())
}

// keepLines leaves the lines in the file, or removes it if there are none.
func keepLines(path string, lines [][]byte) error {
	if len(lines) == 0 {
		return os.Remove(path)
	}
	return writeDurably(path, bytes.NewReader(append(bytes.Join(lines, []byte("\n")), '\n')))
}

// writeDurably replaces a file as a whole: a crash leaves the old one or the
// new one, and the new one is on disk when it returns.
func writeDurably(path string, content io.Reader) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-*.tmp")
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
