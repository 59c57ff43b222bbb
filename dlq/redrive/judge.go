package redrive

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"time"

	"dlo/dlq"
)

// Judgement is what an answer of a target means for the redrive.
type Judgement string

// The judgements, as rows of the table of what a target answers.
const (
	Taken   Judgement = "taken"   // 2xx: the outcome follows, or stands in the body
	Skipped Judgement = "skipped" // 409: that key is committed already
	Gone    Judgement = "gone"    // 410: the target is gone for good
	Retry   Judgement = "retry"   // 429, 5xx, no answer: tried again
	Refused Judgement = "refused" // any other answer: it will not be taken
)

// Verdict is a judgement with what goes with it.
type Verdict struct {
	Judgement Judgement
	// Outcome is what the body of a 2xx reports; nil where it reports nothing.
	Outcome *dlq.Outcome
	// Unclear says that the body of a 2xx meant to report something that could
	// not be read: the answer alone must then not be taken for a commit.
	Unclear    bool
	RetryAfter time.Duration
	Sentence   string // for a person; of Taken empty unless it is unclear
	Body       string // the first 4 KiB of the body of a refusal, or of what is unclear, as text
}

// maxKept is how much of a refusal's body is kept, in bytes.
const maxKept = 4 << 10

// Judge says what a target's answer to a redrive means.
func Judge(a dlq.Answer, redriveID string, now time.Time) Verdict {
	switch {
	case a.Refused:
		return Verdict{Judgement: Refused, Sentence: a.Trouble}
	case a.Status == 0:
		return Verdict{Judgement: Retry, Sentence: a.Trouble}
	case a.Status >= 200 && a.Status <= 299:
		return taken(a, redriveID, now)
	case a.Status == http.StatusConflict:
		return Verdict{Judgement: Skipped, Sentence: "the target answered that this key is committed already"}
	case a.Status == http.StatusGone:
		return Verdict{Judgement: Gone, Sentence: "the target answered 410: it is gone for good"}
	case a.Status == http.StatusTooManyRequests, a.Status >= 500 && a.Status <= 599:
		return Verdict{Judgement: Retry, RetryAfter: a.RetryAfter, Sentence: answered(a.Status), Body: kept(a.Body)}
	case a.Status >= 300 && a.Status <= 399:
		return Verdict{Judgement: Refused, Sentence: answered(a.Status) + ": redirects are not followed", Body: kept(a.Body)}
	}
	return Verdict{Judgement: Refused, Sentence: answered(a.Status), Body: kept(a.Body)}
}

func answered(status int) string {
	return strings.TrimSpace(fmt.Sprintf("the target answered %d %s", status, http.StatusText(status)))
}

// taken reads an outcome from the body of a 2xx. Most bodies are none, and a
// target may answer whatever it likes; but one that is an object with a result,
// or that broke off, meant to say something.
func taken(a dlq.Answer, redriveID string, now time.Time) Verdict {
	v := Verdict{Judgement: Taken}
	if a.BrokenOff {
		v.Unclear, v.Sentence, v.Body = true, "the target took it, and its answer broke off", kept(a.Body)
		return v
	}
	fields, err := dlq.DecodeObject(bytes.TrimSpace(a.Body))
	if err != nil {
		return v
	}
	if _, reports := fields["result"]; !reports {
		return v
	}
	o, err := dlq.ParseAnswer(a.Body, redriveID, now)
	if err != nil {
		v.Unclear, v.Sentence, v.Body = true, "the target took it, and its answer means to report an outcome that is not understood", kept(a.Body)
		return v
	}
	o.Told = true
	v.Outcome = &o
	return v
}

// kept is the head of a body as text that any store and page can hold.
func kept(body []byte) string {
	s := strings.ToValidUTF8(string(body[:min(len(body), maxKept)]), "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}
