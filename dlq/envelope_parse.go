package dlq

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// aliases maps the other names under which the three common shapes of a dead
// letter send a field to the name that this program uses. A name and its alias
// in one envelope must agree.
var aliases = map[string]string{
	"document_id":       "doc_id",
	"object_key":        "payload_uri",
	"doc_hash":          "payload_sha256",
	"etag":              "source_version",
	"exception_context": "stack_trace",
	"first_seen":        "first_seen_at",
	"last_seen":         "last_seen_at",
}

// ParseEnvelope reads one envelope from JSON at the moment now. The error is
// KindMalformed for what is no single JSON object, else KindInvalid with every
// fault of every field. Null and "" are as absent; unknown fields are kept in
// Extra. What needs the source's policy or the bytes is checked by intake.
func ParseEnvelope(body []byte, now time.Time) (Envelope, error) {
	if len(body) > MaxEnvelope {
		return Envelope{}, Errorf(KindTooLarge, "the envelope has %d bytes, and at most %d are taken; send the document as the payload part, or first with PUT /payloads", len(body), MaxEnvelope)
	}
	fields, err := DecodeObject(body)
	if err != nil {
		return Envelope{}, err
	}
	r := fieldReader{fields: fields}
	r.resolveAliases()
	e := r.envelope(now)
	return e, EnvelopeFaults(r.faults)
}

// EnvelopeFaults is the error that names every fault of an envelope, or nil
// where there is none.
func EnvelopeFaults(faults []Fault) error {
	if len(faults) == 0 {
		return nil
	}
	sort.SliceStable(faults, func(i, j int) bool { return faults[i].Pointer < faults[j].Pointer })
	return Invalid(faultSentence(len(faults)), faults...)
}

func faultSentence(n int) string {
	if n == 1 {
		return "one field of the envelope is wrong; nothing was stored but a copy under the source's rejected envelopes"
	}
	return fmt.Sprintf("%d fields of the envelope are wrong; nothing was stored but a copy under the source's rejected envelopes", n)
}

// fieldReader takes fields out of a decoded object by name and type, and
// collects every fault on the way. What is left over is extra.
type fieldReader struct {
	fields map[string]any
	faults []Fault
}

// fault notes what is wrong with a field, by its name and not by the alias
// under which it may have come.
func (r *fieldReader) fault(name, format string, args ...any) {
	r.faults = append(r.faults, Fault{Pointer: pointerTo("", name), Detail: fmt.Sprintf(format, args...)})
}

// faultIn notes what is wrong with one member of an object.
func (r *fieldReader) faultIn(name, member, format string, args ...any) {
	r.faults = append(r.faults, Fault{Pointer: pointerTo(pointerTo("", name), member), Detail: fmt.Sprintf(format, args...)})
}

func (r *fieldReader) resolveAliases() {
	names := make([]string, 0, len(aliases))
	for alias := range aliases {
		names = append(names, alias)
	}
	sort.Strings(names)
	for _, alias := range names {
		value, ok := r.fields[alias]
		if !ok {
			continue
		}
		delete(r.fields, alias)
		if absent(value) {
			continue
		}
		name := aliases[alias]
		if have, both := r.fields[name]; both && !absent(have) {
			if !sameValue(have, value) {
				r.fault(alias, "%s and %s are one field, and say different things", alias, name)
			}
			continue
		}
		r.fields[name] = value
	}
}

func absent(v any) bool { return v == nil || v == "" }

func sameValue(a, b any) bool {
	if as, ok := a.(string); ok {
		if bs, ok := b.(string); ok {
			at, aerr := parseTime(as)
			bt, berr := parseTime(bs)
			if aerr == nil && berr == nil {
				return at.Equal(bt)
			}
			return as == bs
		}
	}
	return string(CanonicalJSON(a)) == string(CanonicalJSON(b))
}

func (r *fieldReader) take(name string) (any, bool) {
	v, ok := r.fields[name]
	delete(r.fields, name)
	return v, ok && !absent(v)
}

// text takes a string of at most max characters; 0 is without a limit.
func (r *fieldReader) text(name string, max int) string {
	v, ok := r.take(name)
	if !ok {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		r.fault(name, "a string expected, got %s", jsonType(v))
		return ""
	}
	if max > 0 && len(s) > max && utf8.RuneCountInString(s) > max {
		r.fault(name, "at most %d characters expected, got %d", max, utf8.RuneCountInString(s))
		return ""
	}
	return s
}

// id takes a string that names something: as text, and without NUL, which no
// store or log can be trusted to keep.
func (r *fieldReader) id(name string, max int) string {
	s := r.text(name, max)
	if strings.ContainsRune(s, 0) {
		r.fault(name, "a NUL character cannot be part of it")
		return ""
	}
	return s
}

func (r *fieldReader) digest(name string) string {
	s := r.text(name, 0)
	if s == "" {
		return ""
	}
	if !IsSHA256(s) {
		r.fault(name, "64 lower-case hex digits expected, got %s", describeDigest(s))
		return ""
	}
	return s
}

// IsSHA256 says whether s is a SHA-256 digest as this program writes them: 64
// lower-case hexadecimal digits.
func IsSHA256(s string) bool {
	if len(s) != 64 {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func describeDigest(s string) string {
	n := utf8.RuneCountInString(s)
	if n != 64 {
		return fmt.Sprintf("%d characters", n)
	}
	if IsSHA256(strings.ToLower(s)) {
		return "upper-case digits"
	}
	return "64 characters that are not all hex digits"
}

func (r *fieldReader) integer(name string, least int64) *int64 {
	v, ok := r.take(name)
	if !ok {
		return nil
	}
	n, ok := v.(json.Number)
	if !ok {
		r.fault(name, "a whole number expected, got %s", jsonType(v))
		return nil
	}
	i, err := strconv.ParseInt(n.String(), 10, 64)
	if err != nil {
		r.fault(name, "a whole number within 64 bits expected, got %s", shorten(n.String(), 40))
		return nil
	}
	if i < least {
		r.fault(name, "at least %d expected, got %d", least, i)
		return nil
	}
	return &i
}

func (r *fieldReader) count(name string, least int64) *int {
	i := r.integer(name, least)
	if i == nil {
		return nil
	}
	if *i > math.MaxInt32 {
		r.fault(name, "at most %d expected, got %d", math.MaxInt32, *i)
		return nil
	}
	n := int(*i)
	return &n
}

// share takes a number from 0 to 1. A decimal in a string is accepted, since
// that is how exact decimals are commonly written in JSON.
func (r *fieldReader) share(name string) *float64 {
	v, ok := r.take(name)
	if !ok {
		return nil
	}
	var text string
	switch n := v.(type) {
	case json.Number:
		text = n.String()
	case string:
		text = n
	default:
		r.fault(name, "a number from 0 to 1 expected, got %s", jsonType(v))
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || !(f >= 0 && f <= 1) {
		r.fault(name, "a number from 0 to 1 expected, got %s", shorten(text, 40))
		return nil
	}
	return &f
}

func (r *fieldReader) time(name string, now time.Time) *time.Time {
	v, ok := r.take(name)
	if !ok {
		return nil
	}
	s, ok := v.(string)
	if !ok {
		r.fault(name, "an RFC 3339 time expected, got %s", jsonType(v))
		return nil
	}
	t, err := parseTime(s)
	if err != nil {
		r.fault(name, "an RFC 3339 time expected, such as 2026-02-11T09:41:07Z, got %q", shorten(s, 40))
		return nil
	}
	if t.After(now.Add(24 * time.Hour)) {
		r.fault(name, "at most 24 h in the future expected, and this is %s ahead", t.Sub(now).Round(time.Minute))
		return nil
	}
	if t.Year() < 1970 {
		r.fault(name, "a time since 1970 expected, got the year %d", t.Year())
		return nil
	}
	return &t
}

// parseTime reads RFC 3339. A time without an offset is read as UTC, because
// that is what a clock set to UTC prints in several languages.
func parseTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t, err = time.Parse("2006-01-02T15:04:05.999999999", s)
	}
	if err != nil {
		return time.Time{}, err
	}
	return t.UTC().Truncate(time.Millisecond), nil
}

func (r *fieldReader) stringMap(name string, most, longest int) map[string]string {
	v, ok := r.take(name)
	if !ok {
		return nil
	}
	object, ok := v.(map[string]any)
	if !ok {
		r.fault(name, "an object of strings expected, got %s", jsonType(v))
		return nil
	}
	if len(object) > most {
		r.fault(name, "at most %d names expected, got %d", most, len(object))
		return nil
	}
	out := map[string]string{}
	for key, value := range object {
		if absent(value) {
			continue
		}
		s, ok := value.(string)
		switch {
		case !ok:
			r.faultIn(name, key, "a string expected, got %s", jsonType(value))
		case key == "" || utf8.RuneCountInString(key) > 128:
			r.fault(name, "names of 1 to 128 characters expected, got one of %d", utf8.RuneCountInString(key))
		case utf8.RuneCountInString(s) > longest:
			r.faultIn(name, key, "at most %d characters expected, got %d", longest, utf8.RuneCountInString(s))
		default:
			out[key] = s
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func (r *fieldReader) envelope(now time.Time) Envelope {
	e := Envelope{
		Source: r.id("source", maxSource), DocID: r.id("doc_id", maxDocID),
		ContentHash:     r.digest("content_hash"),
		PayloadURI:      r.text("payload_uri", maxLong),
		Payload:         r.text("payload", 0),
		PayloadEncoding: r.text("payload_encoding", maxShort),
		PayloadSHA256:   r.digest("payload_sha256"),
		PayloadBytes:    r.integer("payload_bytes", 0),
		ContentType:     r.text("content_type", maxShort),
		Filename:        r.text("filename", maxLong),
		SourceVersion:   r.text("source_version", maxLong),
		SourceURL:       r.text("source_url", maxLong),
		SourceUpdatedAt: r.time("source_updated_at", now),
		CursorAtArrival: r.text("cursor_at_arrival", maxLong),
		IngestSeq:       r.integer("ingest_seq", math.MinInt64),

		ConnectorVersion:  r.text("connector_version", maxShort),
		ParserVersion:     r.text("parser_version", maxShort),
		ChunkerVersion:    r.text("chunker_version", maxShort),
		EmbedderVersion:   r.text("embedder_version", maxShort),
		ProcessingVersion: r.text("processing_version", maxShort),
		Versions:          r.stringMap("versions", maxComponents, maxShort),

		Stage:         r.text("stage", maxShort),
		Reason:        r.text("reason", maxShort),
		ErrorClass:    r.text("error_class", maxShort),
		ErrorType:     r.text("error_type", maxShort),
		ErrorMessage:  r.text("error_message", 0),
		StackTrace:    r.text("stack_trace", 0),
		StackTraceURI: r.text("stack_trace_uri", maxLong),
		Confidence:    r.share("confidence"),

		RedriveCount: r.count("redrive_count", 0),
		FirstSeenAt:  r.time("first_seen_at", now),
		LastSeenAt:   r.time("last_seen_at", now),

		IndexedVersion: r.text("indexed_version", maxLong),
		EventID:        r.id("event_id", maxShort),
		RedriveID:      r.id("redrive_id", maxShort),
		Labels:         r.stringMap("labels", maxLabels, maxShort),
		SenderID:       r.id("dlq_id", maxShort),
	}
	if v, ok := r.take("validation_output"); ok {
		e.ValidationOutput = v
	}
	r.attempts(&e)
	r.inline(&e)
	r.times(&e)
	r.classify(&e)
	r.components(&e)
	if len(r.fields) > 0 {
		e.Extra = r.fields
	}
	return e
}

// attempts reads attempts, and retry_count, which counts what came after the
// first delivery: one less.
func (r *fieldReader) attempts(e *Envelope) {
	e.Attempts = r.count("attempts", 1)
	retries := r.count("retry_count", 0)
	switch {
	case retries == nil:
	case e.Attempts == nil:
		n := *retries + 1
		e.Attempts = &n
	case *e.Attempts != *retries+1:
		r.fault("retry_count", "retry_count is one less than attempts; %d and %d do not agree", *retries, *e.Attempts)
	}
}

func (r *fieldReader) inline(e *Envelope) {
	switch e.PayloadEncoding {
	case "", "base64", "utf-8", "utf8":
	default:
		r.fault("payload_encoding", "base64, or nothing for UTF-8 text, expected, got %q", shorten(e.PayloadEncoding, 40))
		return
	}
	if e.PayloadEncoding == "base64" {
		if _, err := base64.StdEncoding.DecodeString(e.Payload); err != nil {
			r.fault("payload", "standard base64 expected, because payload_encoding says so")
		}
	}
}

// InlinePayload gives the bytes that stand in the envelope, and whether any do.
func (e Envelope) InlinePayload() ([]byte, bool) {
	if e.Payload == "" {
		return nil, false
	}
	if e.PayloadEncoding != "base64" {
		return []byte(e.Payload), true
	}
	b, err := base64.StdEncoding.DecodeString(e.Payload)
	return b, err == nil
}

func (r *fieldReader) times(e *Envelope) {
	if e.FirstSeenAt != nil && e.LastSeenAt != nil && e.FirstSeenAt.After(*e.LastSeenAt) {
		r.fault("first_seen_at", "first_seen_at is after last_seen_at")
	}
}

// classify settles reason and class. A class that is not of the taxonomy, with
// no type beside it, is an exception's type: that is what lease pipelines send.
func (r *fieldReader) classify(e *Envelope) {
	if e.ErrorClass != "" && e.ErrorType == "" && !FailureClass(e.ErrorClass).Known() {
		e.ErrorType, e.ErrorClass = e.ErrorClass, ""
	}
	if e.Reason == "" {
		e.Reason = string(ReasonException)
		if e.ValidationOutput != nil && e.ErrorType == "" && e.ErrorMessage == "" && e.StackTrace == "" {
			e.Reason = string(ReasonValidation)
		}
	}
	switch Reason(e.Reason) {
	case ReasonException, ReasonValidation:
	case ReasonLowConfidence:
		if e.Confidence == nil && !r.hasFault("/confidence") {
			r.fault("confidence", "a number from 0 to 1 expected, because the reason is low_confidence")
		}
	default:
		r.fault("reason", "exception, validation or low_confidence expected, got %q", shorten(e.Reason, 40))
	}
}

func (r *fieldReader) hasFault(pointer string) bool {
	return slices.ContainsFunc(r.faults, func(f Fault) bool { return f.Pointer == pointer })
}

func (r *fieldReader) components(e *Envelope) {
	named := map[string]string{"connector": e.ConnectorVersion, "parser": e.ParserVersion, "chunker": e.ChunkerVersion, "embedder": e.EmbedderVersion}
	for component, version := range named {
		if other, both := e.Versions[component]; both && version != "" && other != version {
			r.faultIn("versions", component, "versions/%s and %s_version are one field, and say different things", component, component)
		}
	}
}

func jsonType(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case json.Number, float64:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "something else"
}

func shorten(s string, max int) string {
	runes := []rune(s)
	if len(runes) <= max {
		return s
	}
	return string(runes[:max]) + "…"
}
