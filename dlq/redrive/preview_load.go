package redrive

import (
	"time"

	"dlo/dlq"
)

// Load is what a redrive would put on its pipelines: how many bytes, and from
// where. What a document is at its source now, nobody knows before it is fetched.
type Load struct {
	Held      int64 // documents of which the stored copy can go
	HeldBytes int64 // of those copies
	FromThere int64 // documents that the pipeline would fetch from their source
	Bytes     int64 // of these, as they were when they failed
	Unsized   int64 // of all, documents whose size is not known
}

func (l *Load) add(c dlq.Candidate) {
	held := c.Copy == dlq.CopyHeld && c.Mode != dlq.ModeSource
	if held {
		l.Held++
	} else {
		l.FromThere++
	}
	switch {
	case c.Bytes < 0:
		l.Unsized++
	case held:
		l.HeldBytes += c.Bytes
	default:
		l.Bytes += c.Bytes
	}
}

// Said is what sources said last of documents, each held against its current
// evidence.
type Said struct {
	Readings map[dlq.Reading]int64
	NotAsked int64     // since their current evidence, though their source can be asked
	NoProbe  int64     // whose source cannot be asked
	First    time.Time // the oldest answer among the readings; zero without any
	Last     time.Time
}

// Askable is how many documents have a source that can be asked.
func (s Said) Askable() int64 {
	n := s.NotAsked
	for _, of := range s.Readings {
		n += of
	}
	return n
}

func (s *Said) add(c dlq.Candidate) {
	switch {
	case c.Said == "" && !c.Probed:
		s.NoProbe++
		return
	case c.Said == "":
		s.NotAsked++
		return
	}
	s.Readings[c.Said]++
	if s.First.IsZero() || c.SaidAt.Before(s.First) {
		s.First = c.SaidAt
	}
	if c.SaidAt.After(s.Last) {
		s.Last = c.SaidAt
	}
}
