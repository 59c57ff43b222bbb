// Package probe asks a source what its document is now: one request for its
// validators, or the whole document to take its digest. It judges the answer
// and stores nothing; which addresses may be reached is decided by the client
// that it is given, and what a reading is used for by its callers.
package probe

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"dlo/dlq"
)

// The budgets. Connecting is bounded by the client.
const (
	askTimeout   = 10 * time.Second
	fetchTimeout = 5 * time.Minute
	maxBody      = 64 << 10 // of an answer that holds the tag
	maxTag       = 1024     // bytes of a validator; longer ones are none
	perHost      = 2        // questions at one time
)

// Secrets gives the secret of a name for a host (lower case, without a port),
// or an error with a sentence where that host has none of that name. The error
// must not hold the secret.
type Secrets func(name, host string) (string, error)

// Prober asks sources. It is safe for concurrent use and asks each host at most
// two questions at a time.
type Prober struct {
	client     *http.Client
	secrets    Secrets
	now        func() time.Time
	fetchLimit int64
	hosts      hosts
}

// New makes a prober. The client decides what may be reached and how long a
// connection may take; its redirects and cookies are turned off here. Its own
// time-out should be none or at least five minutes, because a fetch takes that
// long. The limit, in bytes, is that of a fetch which the policy asks for.
func New(client *http.Client, secrets Secrets, now func() time.Time, fetchLimit int64) *Prober {
	c := *client
	c.Jar = nil
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Prober{client: &c, secrets: secrets, now: now, fetchLimit: fetchLimit}
}

// Ask asks the source what its document is now, in the way that the policy
// says: with FetchAlways by its bytes, else by its validators. It takes at most
// 10 s (a fetch 5 min), and whatever goes wrong is said in the answer.
func (p *Prober) Ask(ctx context.Context, policy dlq.ProbePolicy, source, docID string) dlq.SourceNow {
	if _, byPointer := policy.TagPointer(); policy.Fetch == dlq.FetchAlways && !byPointer {
		now, _ := p.Fetch(ctx, policy, source, docID, p.fetchLimit) // the answer says it too
		return now
	}
	q, now, ok := p.prepare(ctx, policy, source, docID, askTimeout)
	if !ok {
		return now
	}
	defer q.done()
	if pointer, ok := policy.TagPointer(); ok {
		return q.finish(q.askBody(pointer))
	}
	return q.finish(q.askHeaders())
}

// Fetch reads the whole document, keeps nothing of it but digest and length,
// and answers within 5 min. The answer is complete either way and can be
// stored; the error is there where no digest was had, the document being gone
// included, and its kind says why: KindTooLarge, KindGone, KindInvalid (the
// probe or the id cannot be used) or KindUnavailable.
func (p *Prober) Fetch(ctx context.Context, policy dlq.ProbePolicy, source, docID string, limit int64) (dlq.SourceNow, error) {
	if _, byPointer := policy.TagPointer(); byPointer {
		now := p.unasked(dlq.ProbeNotConfigured, "The probe's address answers with a description of the document, not with its bytes, so there is nothing to take a digest of.")
		return now, failed(now)
	}
	q, now, ok := p.prepare(ctx, policy, source, docID, fetchTimeout)
	if !ok {
		return now, failed(now)
	}
	defer q.done()
	now = q.finish(q.fetch(limit))
	return now, failed(now)
}

// failed is the error of an answer without a digest.
func failed(now dlq.SourceNow) error {
	switch {
	case now.Failure == "" && now.SHA256 != "":
		return nil
	case now.Gone():
		return dlq.Errorf(dlq.KindGone, "%s", now.Sentence)
	case now.Failure == dlq.ProbeTooLarge:
		return dlq.Errorf(dlq.KindTooLarge, "%s", now.Sentence)
	case now.Failure == dlq.ProbeNotConfigured:
		return dlq.Errorf(dlq.KindInvalid, "%s", now.Sentence)
	}
	return dlq.Errorf(dlq.KindUnavailable, "%s", now.Sentence)
}

// Read reads the bytes from what was recorded with the failure and what the
// source answered.
func Read(kind string, stored dlq.Validators, now dlq.SourceNow) dlq.Evidence {
	if now.Gone() {
		return dlq.GoneBytes(now.Sentence)
	}
	if now.Failure != "" {
		return dlq.UnknownBytes(now.Sentence)
	}
	e := dlq.CompareBytes(kind, stored, now.Validators())
	if e.Bytes == dlq.ReadingChanged && e.Grade == dlq.GradeDigest {
		e = e.Because("A source whose export is not deterministic gives other bytes for a document that nobody touched.")
	}
	return e.Because(now.Sentence)
}

// question is one exchange about one document.
type question struct {
	prober  *Prober
	ctx     context.Context
	policy  dlq.ProbePolicy
	address *url.URL
	headers http.Header
	asked   time.Time
	done    func()
}

// prepare makes the question, and waits for its turn at the host. Where there
// is nothing to ask, ok is false and the answer says why.
func (p *Prober) prepare(ctx context.Context, policy dlq.ProbePolicy, source, docID string, budget time.Duration) (q *question, now dlq.SourceNow, ok bool) {
	if !policy.Configured() {
		return nil, p.unasked(dlq.ProbeNotConfigured, fmt.Sprintf("The source %s has no probe, so nobody can be asked what the document is now.", source)), false
	}
	address, err := policy.Address(docID)
	if err != nil {
		return nil, p.unasked(dlq.ProbeNotConfigured, "The probe's address and the document's id do not make an address that can be asked."), false
	}
	headers, err := p.headers(policy, strings.ToLower(address.Hostname()))
	if err != nil {
		return nil, p.unasked(dlq.ProbeNotConfigured, "A header of the probe needs a secret that was not given at start for this host."), false
	}
	asked := p.now()
	free, err := p.hosts.enter(ctx, strings.ToLower(address.Host))
	if err != nil {
		return nil, p.unasked(dlq.ProbeAborted, "The question was given up before it was sent."), false
	}
	ctx, cancel := context.WithTimeout(ctx, budget)
	return &question{
		prober: p, ctx: ctx, policy: policy, address: address, headers: headers, asked: asked,
		done: func() { cancel(); free() },
	}, dlq.SourceNow{}, true
}

func (p *Prober) unasked(failure dlq.ProbeFailure, sentence string) dlq.SourceNow {
	return dlq.SourceNow{Length: -1, AskedAt: p.now().UTC(), Failure: failure, Sentence: sentence}
}

func (p *Prober) headers(policy dlq.ProbePolicy, host string) (http.Header, error) {
	h := http.Header{
		"User-Agent": {"dlo-probe"},
		// Another encoding is another representation, with a tag of its own.
		"Accept-Encoding": {"identity"},
		// What the document is now, not what a cache was told of it.
		"Cache-Control": {"no-cache"},
	}
	for name, value := range policy.Headers {
		if secret, ok := dlq.SecretName(value); ok {
			if p.secrets == nil {
				return nil, fmt.Errorf("header %s: no secrets were given", name)
			}
			var err error
			if value, err = p.secrets(secret, host); err != nil {
				return nil, fmt.Errorf("header %s: %w", name, err)
			}
		}
		h.Set(name, value)
	}
	return h, nil
}

func (q *question) send(method, byteRange string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(q.ctx, method, q.address.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header = q.headers.Clone()
	if byteRange != "" {
		r.Header.Set("Range", byteRange)
	}
	return q.prober.client.Do(r)
}

func (q *question) finish(now dlq.SourceNow) dlq.SourceNow {
	now.AskedAt = q.asked.UTC()
	now.Took = q.prober.now().Sub(q.asked)
	return now
}

// askHeaders asks with HEAD, and where HEAD is not to be trusted with a GET for
// the first byte: 405 and 501 say so themselves; 403 comes from firewalls and
// signed addresses that know GET alone; and a 404 has the document left out of
// redrives as gone, so a server that merely does not route HEAD must not be
// able to cause it. The price is a second request for each of those.
func (q *question) askHeaders() dlq.SourceNow {
	res, err := q.send(http.MethodHead, "")
	if err != nil {
		return q.failure(err)
	}
	res.Body.Close()
	switch res.StatusCode {
	case http.StatusMethodNotAllowed, http.StatusNotImplemented, http.StatusForbidden, http.StatusNotFound:
	default:
		return q.judge(res, res.ContentLength)
	}
	res, err = q.send(http.MethodGet, "bytes=0-0")
	if err != nil {
		return q.failure(err)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusPartialContent || res.StatusCode == http.StatusRequestedRangeNotSatisfiable {
		io.CopyN(io.Discard, res.Body, 4<<10) // so that the connection can be used again
		length := totalLength(res.Header.Get("Content-Range"))
		if res.StatusCode == http.StatusRequestedRangeNotSatisfiable && length == 0 {
			res.StatusCode = http.StatusOK // an empty document has no first byte (RFC 9110 §14.1.2)
		}
		return q.judge(res, length)
	}
	return q.judge(res, res.ContentLength)
}

// askBody asks with GET and takes the tag from the JSON that comes.
func (q *question) askBody(pointer string) dlq.SourceNow {
	res, err := q.send(http.MethodGet, "")
	if err != nil {
		return q.failure(err)
	}
	defer res.Body.Close()
	// Length, modification time and tag of the answer are not the document's.
	now := dlq.SourceNow{Status: res.StatusCode, Length: -1}
	if now = byStatus(now); now.Failure != "" || now.Gone() {
		return now
	}
	if encoded(res) {
		return unread(now)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	if err != nil {
		return withStatus(q.failure(err), now.Status)
	}
	if len(body) > maxBody {
		return with(now, dlq.ProbeTooLarge, "The source's answer is longer than 64 KiB.")
	}
	value, err := dlq.DecodeValue(body, dlq.MaxJSONDepth)
	if err != nil {
		return with(now, dlq.ProbeMalformed, "The source's answer is not sound JSON.")
	}
	tag, ok := at(value, pointer)
	if !ok {
		return with(now, dlq.ProbeNoValidator, "The source's answer has no text and no number where the policy looks for the version.")
	}
	return withTag(now, tag)
}

// fetch reads the document to its end, up to the limit.
func (q *question) fetch(limit int64) dlq.SourceNow {
	res, err := q.send(http.MethodGet, "")
	if err != nil {
		return q.failure(err)
	}
	defer res.Body.Close()
	now := byStatus(dlq.SourceNow{Status: res.StatusCode, Length: res.ContentLength})
	if now.Failure != "" || now.Gone() {
		return now
	}
	if res.StatusCode != http.StatusOK {
		return with(now, dlq.ProbeUnexpected, fmt.Sprintf("The source answers %d, which need not be the whole document.", res.StatusCode))
	}
	if encoded(res) {
		return unread(now)
	}
	tooLarge := fmt.Sprintf("The document is longer than the %d bytes that may be fetched.", limit)
	if res.ContentLength > limit {
		return with(now, dlq.ProbeTooLarge, tooLarge)
	}
	digest, n, err := digestOf(io.LimitReader(res.Body, min(limit, math.MaxInt64-1)+1), sha256.New())
	if err != nil {
		return withStatus(q.failure(err), now.Status)
	}
	if n > limit {
		return with(now, dlq.ProbeTooLarge, tooLarge)
	}
	now = q.validators(now, res.Header)
	now.SHA256, now.Length = digest, n
	now.Failure, now.Sentence = "", "" // the digest needs no tag beside it
	return now
}

func digestOf(r io.Reader, h hash.Hash) (string, int64, error) {
	n, err := io.Copy(h, r)
	if err != nil {
		return "", n, err
	}
	return hex.EncodeToString(h.Sum(nil)), n, nil
}

// judge turns an answer's status and headers into what is known.
func (q *question) judge(res *http.Response, length int64) dlq.SourceNow {
	now := byStatus(dlq.SourceNow{Status: res.StatusCode, Length: length})
	if now.Failure != "" || now.Gone() {
		now.Length = -1 // of an error page
		return now
	}
	if encoded(res) {
		now.Length = -1 // of the encoded form
	}
	return q.validators(now, res.Header)
}

// validators takes tag and modification time from the headers.
func (q *question) validators(now dlq.SourceNow, h http.Header) dlq.SourceNow {
	// A header that stands twice is kept as a list, which no comparison takes
	// for a tag: choosing one would be a guess.
	now.LastModified = strings.Join(h.Values("Last-Modified"), ", ")
	if len(now.LastModified) > maxTag || !utf8.ValidString(now.LastModified) {
		now.LastModified = ""
	}
	name, _ := q.policy.TagHeader()
	tag := ""
	if !strings.EqualFold(name, "Last-Modified") {
		tag = strings.Join(h.Values(name), ", ")
	}
	switch {
	case tag != "":
		return withTag(now, tag)
	case now.LastModified != "":
		if !strings.EqualFold(name, "Last-Modified") {
			now.Sentence = fmt.Sprintf("The source sends no %s, only a modification time.", name)
		}
		return now
	}
	return with(now, dlq.ProbeNoValidator, fmt.Sprintf("The source answers, but sends neither %s nor a modification time.", name))
}

// withTag keeps a tag raw. What is too long, or not UTF-8, is no tag: stored
// as JSON, bytes that differ would become equal.
func withTag(now dlq.SourceNow, tag string) dlq.SourceNow {
	if len(tag) > maxTag || !utf8.ValidString(tag) {
		return with(now, dlq.ProbeMalformed, "The source's version is longer than 1024 bytes or not UTF-8, and was not kept.")
	}
	now.ETag = tag
	return now
}

// encoded says whether the answer came in an encoding though none was asked
// for; its bytes are not the document's.
func encoded(res *http.Response) bool {
	e := strings.TrimSpace(res.Header.Get("Content-Encoding"))
	return e != "" && !strings.EqualFold(e, "identity")
}

func unread(now dlq.SourceNow) dlq.SourceNow {
	return with(now, dlq.ProbeMalformed, "The source sends the answer compressed although it was asked not to.")
}

func with(now dlq.SourceNow, failure dlq.ProbeFailure, sentence string) dlq.SourceNow {
	now.Failure, now.Sentence = failure, sentence
	return now
}

func withStatus(now dlq.SourceNow, status int) dlq.SourceNow {
	now.Status = status
	return now
}

// totalLength reads the length of the whole from Content-Range (RFC 9110
// §14.4), -1 where it does not say.
func totalLength(contentRange string) int64 {
	_, total, ok := strings.Cut(contentRange, "/")
	if !ok || total == "" || len(total) > 18 || strings.Trim(total, "0123456789") != "" {
		return -1
	}
	var n int64
	for i := range len(total) {
		n = n*10 + int64(total[i]-'0')
	}
	return n
}
