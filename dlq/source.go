package dlq

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Mode says which bytes a redrive sends.
type Mode string

// The modes.
const (
	ModeAuto   Mode = "auto"   // what evidence allows, entry by entry
	ModeHeld   Mode = "held"   // the stored copy
	ModeSource Mode = "source" // the pipeline reads the document from the source anew
)

// Valid says whether the mode is one of the three.
func (m Mode) Valid() bool { return slices.Contains([]Mode{ModeAuto, ModeHeld, ModeSource}, m) }

// OutcomeMode says how we learn what came of a redrive.
type OutcomeMode string

// The ways to learn an outcome.
const (
	OutcomesReported OutcomeMode = "reported" // the pipeline tells us
	OutcomesResponse OutcomeMode = "response" // a 2xx of the target is the commit
	OutcomesCheck    OutcomeMode = "check"    // we ask the index
	OutcomesAssumed  OutcomeMode = "assumed"  // silence resolves
)

// Valid says whether the mode is one of the four.
func (m OutcomeMode) Valid() bool {
	return slices.Contains([]OutcomeMode{OutcomesReported, OutcomesResponse, OutcomesCheck, OutcomesAssumed}, m)
}

// Source is where documents come from, with the policy that somebody set for it.
type Source struct {
	ID        int64
	Policy    SourcePolicy
	Paused    bool // no redrive of this source leaves
	PausedBy  string
	CreatedAt time.Time
	UpdatedAt time.Time
	// EchoesRedriveID says that this pipeline has sent a redrive_id back at
	// least once, and is trusted to do so from then on.
	EchoesRedriveID bool
	// Delivered and Reported count redrives that the target took, and outcomes
	// that the pipeline told us. Many of the first and none of the second is a
	// pipeline that never reported.
	Delivered, Reported int64
	LastArrivalAt       time.Time
	// HasSecret says that deliveries are signed. The secret itself never leaves
	// the store but for the signer.
	HasSecret bool
	// OverlapUntil is until when the secret before the present one stands beside
	// it; zero where none does. It may have passed, and the sweep not have come.
	OverlapUntil time.Time
}

// Name is the source's name.
func (s Source) Name() string { return s.Policy.Name }

// SourcePolicy is what PUT /sources/{name} replaces whole. What is left out is
// the default; secrets left out are kept. The JSON is that of the API, and the
// YAML of `dlo source apply` the same.
type SourcePolicy struct {
	Name            string          `json:"name"`
	Owner           string          `json:"owner,omitempty"`
	Redrive         RedrivePolicy   `json:"redrive"`
	Probe           ProbePolicy     `json:"probe"`
	Outcomes        OutcomePolicy   `json:"outcomes"`
	Retention       RetentionPolicy `json:"retention"`
	PoisonThreshold int             `json:"poison_threshold"`
	ConfidenceFloor float64         `json:"confidence_floor"`
	Limits          LimitPolicy     `json:"limits"`
	Alerts          AlertPolicy     `json:"alerts"`
	Runbook         string          `json:"runbook,omitempty"`
}

// RedrivePolicy is the target of redrives and how it may be used. Rate is
// deliveries a second, Concurrency redrives without an outcome yet.
type RedrivePolicy struct {
	URL    string `json:"url,omitempty"`
	Secret string `json:"secret,omitempty"` // whsec_…; write-only
	// SecretOverlap is for how long the secret that another replaces stands
	// beside it: deliveries are signed with both, and signed reports taken under
	// either.
	SecretOverlap Duration    `json:"secret_overlap"`
	Mode          Mode        `json:"mode"`
	Rate          float64     `json:"rate"`
	Concurrency   int         `json:"concurrency"`
	Retry         RetryPolicy `json:"retry"`
}

// RetryPolicy says how long and how fast an undelivered redrive is tried again.
type RetryPolicy struct {
	Budget Duration `json:"budget"`
	First  Duration `json:"first"`
	Max    Duration `json:"max"`
}

// OutcomePolicy says how outcomes are learned, and for how long one may be out.
type OutcomePolicy struct {
	Mode          OutcomeMode `json:"mode"`
	Timeout       Duration    `json:"timeout"`
	CanaryTimeout Duration    `json:"canary_timeout"`
	// CheckURL is where the index is asked for a document, with {doc_id} in its
	// path or query.
	CheckURL string `json:"check_url,omitempty"`
	// CheckFrom is where its answer names what it holds: header:NAME, or
	// json:/pointer. CheckSeqFrom, in the same form, is where it names the
	// ingest_seq; empty where it does not.
	CheckFrom    string `json:"check_from"`
	CheckSeqFrom string `json:"check_seq_from,omitempty"`
	// CheckHeaders are sent along, as those of the probe are.
	CheckHeaders map[string]string `json:"check_headers,omitempty"`
}

// RetentionPolicy holds the clocks of the entry, its bytes and its record. A
// RecordTTL of Forever is without an end.
type RetentionPolicy struct {
	EntryTTL   Duration `json:"entry_ttl"`
	MaxTTL     Duration `json:"max_ttl"`
	PayloadTTL Duration `json:"payload_ttl"`
	RecordTTL  Duration `json:"record_ttl"`
}

// LimitPolicy holds the ceilings whose crossing raises an alert. 0 is none.
type LimitPolicy struct {
	Depth      int64    `json:"depth"`
	Age        Duration `json:"age"`
	QuotaBytes Bytes    `json:"quota_bytes"`
}

// AlertPolicy is where alerts of the source are delivered.
type AlertPolicy struct {
	URL    string `json:"url,omitempty"`
	Secret string `json:"secret,omitempty"`
}

// DefaultPolicy is the policy of a source that nobody described: no redrive
// target, no probe, and the retention of the product's promise.
func DefaultPolicy(name string) SourcePolicy {
	return SourcePolicy{
		Name: name,
		Redrive: RedrivePolicy{Mode: ModeAuto, Rate: 50, Concurrency: 8, SecretOverlap: Days(1),
			Retry: RetryPolicy{Budget: Duration(24 * time.Hour), First: Duration(time.Second), Max: Duration(time.Hour)}},
		Probe:           ProbePolicy{Kind: "any", ETagFrom: "header:ETag", Fetch: "never"},
		Outcomes:        OutcomePolicy{Mode: OutcomesReported, Timeout: Duration(24 * time.Hour), CanaryTimeout: Duration(15 * time.Minute), CheckFrom: "header:ETag"},
		Retention:       RetentionPolicy{EntryTTL: Days(90), MaxTTL: Days(365), PayloadTTL: Days(90), RecordTTL: Forever},
		PoisonThreshold: 3,
		ConfidenceFloor: 0.75,
		Limits:          LimitPolicy{Depth: 6000, Age: Days(90), QuotaBytes: 50 << 30},
	}
}

// ValidSourceName says whether s can name a source: 1 to 128 characters, none
// of them a control character. It may have a slash: who writes it into an
// address escapes it.
func ValidSourceName(s string) bool {
	n := utf8.RuneCountInString(s)
	return n >= 1 && n <= maxSource && !strings.ContainsFunc(s, unicode.IsControl)
}

// Validate names every fault of the policy.
func (p SourcePolicy) Validate() []Fault {
	var faults []Fault
	add := func(pointer, format string, args ...any) {
		faults = append(faults, Fault{pointer, fmt.Sprintf(format, args...)})
	}
	if !ValidSourceName(p.Name) {
		add("/name", "1 to 128 characters without control characters expected")
	}
	if p.Redrive.URL != "" && !httpURL(p.Redrive.URL) {
		add("/redrive/url", "an http or https address without user information expected")
	}
	if !p.Redrive.Mode.Valid() {
		add("/redrive/mode", "auto, held or source expected, got %q", p.Redrive.Mode)
	}
	if p.Redrive.Rate <= 0 || p.Redrive.Rate > 10000 {
		add("/redrive/rate", "more than 0 and at most 10000 deliveries a second expected")
	}
	if p.Redrive.Concurrency < 1 || p.Redrive.Concurrency > 10000 {
		add("/redrive/concurrency", "1 to 10000 expected")
	}
	if p.Redrive.Retry.First <= 0 || p.Redrive.Retry.Max < p.Redrive.Retry.First || p.Redrive.Retry.Budget < 0 {
		add("/redrive/retry", "first above 0, max at least first, and a budget expected")
	}
	if s := p.Redrive.Secret; s != "" && !ValidSecret(s) {
		add("/redrive/secret", "whsec_ and the base64 of 24 to 64 bytes expected") // what it was is not repeated
	}
	if o := p.Redrive.SecretOverlap; o < Duration(time.Minute) || o > Days(30) {
		add("/redrive/secret_overlap", "1m to 30d expected")
	}
	faults = append(faults, p.Probe.Validate()...)
	if !p.Outcomes.Mode.Valid() {
		add("/outcomes/mode", "reported, response, check or assumed expected, got %q", p.Outcomes.Mode)
	}
	faults = append(faults, p.Outcomes.checkFaults()...)
	if p.Outcomes.Timeout <= 0 {
		add("/outcomes/timeout", "more than 0 expected")
	}
	if p.Outcomes.CanaryTimeout <= 0 {
		add("/outcomes/canary_timeout", "more than 0 expected")
	}
	if p.Retention.EntryTTL < Duration(time.Hour) {
		add("/retention/entry_ttl", "at least 1h expected")
	}
	if p.Retention.MaxTTL < p.Retention.EntryTTL {
		add("/retention/max_ttl", "at least entry_ttl expected")
	}
	if p.Retention.PayloadTTL <= 0 {
		add("/retention/payload_ttl", "more than 0 expected")
	}
	if p.PoisonThreshold < 1 || p.PoisonThreshold > 1000 {
		add("/poison_threshold", "1 to 1000 expected")
	}
	if p.ConfidenceFloor < 0 || p.ConfidenceFloor > 1 {
		add("/confidence_floor", "0 to 1 expected")
	}
	if p.Limits.Depth < 0 {
		add("/limits/depth", "0 or more expected")
	}
	if p.Alerts.URL != "" && !httpURL(p.Alerts.URL) {
		add("/alerts/url", "an http or https address without user information expected")
	}
	if len(p.Runbook) > 16<<10 {
		add("/runbook", "at most 16 KiB expected, got %d bytes", len(p.Runbook))
	}
	return faults
}

func httpURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}

// Duration is a span of time as policies write it: 90d, 24h, 30s, or their sum
// (1d12h). "forever" is Forever.
type Duration time.Duration

// Forever is a span without an end.
const Forever Duration = 0

// Days gives n days of 24 hours.
func Days(n int) Duration { return Duration(time.Duration(n) * 24 * time.Hour) }

// Std is the span as the standard library has it.
func (d Duration) Std() time.Duration { return time.Duration(d) }

func (d Duration) String() string {
	if d == Forever {
		return "forever"
	}
	t := time.Duration(d)
	days := t / (24 * time.Hour)
	rest := t % (24 * time.Hour)
	if days == 0 {
		return compactDuration(t)
	}
	if rest == 0 {
		return fmt.Sprintf("%dd", days)
	}
	return fmt.Sprintf("%dd%s", days, compactDuration(rest))
}

func compactDuration(t time.Duration) string {
	s := t.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// MarshalText writes the span as policies do.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a span as policies write it.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := ParseDuration(string(b))
	if err != nil {
		return err
	}
	*d = v
	return nil
}

// ParseDuration reads 90d, 24h, 1d12h30m, 30s or forever.
func ParseDuration(s string) (Duration, error) {
	if s == "forever" {
		return Forever, nil
	}
	rest := s
	var total time.Duration
	if i := strings.IndexByte(rest, 'd'); i > 0 {
		days, err := strconv.ParseFloat(rest[:i], 64)
		if err != nil || !(days >= 0 && days <= 36500) { // NaN is neither
			return 0, fmt.Errorf("a span such as 90d, 24h or 30s expected, got %q", shorten(s, 40))
		}
		total = time.Duration(days * 24 * float64(time.Hour))
		rest = rest[i+1:]
	}
	if rest != "" {
		t, err := time.ParseDuration(rest)
		if err != nil || t < 0 || t > 36500*24*time.Hour {
			return 0, fmt.Errorf("a span such as 90d, 24h or 30s expected, got %q", shorten(s, 40))
		}
		total += t
	}
	if s == "" {
		return 0, errors.New("a span such as 90d, 24h or 30s expected, got nothing")
	}
	return Duration(total), nil
}

// Bytes is a size as policies write it: 50GiB, 512MiB, or a plain number.
type Bytes int64

var byteUnits = []struct {
	suffix string
	size   int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}}

func (b Bytes) String() string {
	for _, u := range byteUnits[:4] {
		if int64(b) >= u.size && int64(b)%u.size == 0 {
			return fmt.Sprintf("%d%s", int64(b)/u.size, u.suffix)
		}
	}
	return strconv.FormatInt(int64(b), 10)
}

// MarshalText writes the size as policies do.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText reads a size as policies write it.
func (b *Bytes) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	unit := int64(1)
	for _, u := range byteUnits {
		if strings.HasSuffix(s, u.suffix) {
			s, unit = strings.TrimSpace(strings.TrimSuffix(s, u.suffix)), u.size
			break
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/unit {
		return fmt.Errorf("a size such as 50GiB expected, got %q", shorten(string(text), 40))
	}
	*b = Bytes(n * unit)
	return nil
}

// UnmarshalJSON reads a size from a string or a plain number.
func (b *Bytes) UnmarshalJSON(data []byte) error {
	return b.UnmarshalText(bytes.Trim(data, `"`))
}
