// Package client is what a Go pipeline imports to work with a dead letter
// office: park what failed, look up before trying again, report outcomes and
// deployments, and verify the redrives that come in. It retries, holds back when
// told to, and keeps on disk what a server that is away could not take.
//
// It depends on the standard library and on package dlq for the envelope; it
// leaves to the pipeline what to retry, what to commit and where its own queue
// stands. The wire format is that of docs/api.md.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Config says where the server is and how patient the client is with it. Only
// URL is required.
type Config struct {
	URL        string       // of the server, as https://dlo.example.com; without /api/v1
	Token      string       // of a scope that fits the calls made
	HTTPClient *http.Client // default: one that waits 60 s for an answer to begin; redirects are never followed
	Spool      string       // folder for what could not be sent; "" keeps nothing. One process a folder
	Retry      Retry

	Now func() time.Time // default time.Now
}

// Retry says how a call is tried again when the server answers 429 or 5xx, or
// does not answer. A zero field is its default.
type Retry struct {
	Budget time.Duration // from the first try to the last, default 20 s; negative: one try
	First  time.Duration // before the second try, default 200 ms; doubled for each more
	Max    time.Duration // between two tries, default 5 s, and of a Retry-After that is waited for
}

// Client talks to one server. It is safe for concurrent use. Its zero value is
// not usable; New makes one.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
	retry Retry
	spool *spool
	now   func() time.Time
	wait  func(ctx context.Context, d time.Duration) error
	away  atomic.Int64 // until when what can be spooled is not tried, in Unix milliseconds
}

// New makes a client. It opens no connection; it makes the spool's folder.
func New(c Config) (*Client, error) {
	base, err := url.Parse(strings.TrimSuffix(c.URL, "/"))
	if err != nil || (base.Scheme != "http" && base.Scheme != "https") || base.Host == "" || base.User != nil {
		return nil, fmt.Errorf("client: the URL must be http or https, with a host and without user information")
	}
	cl := &Client{base: base, token: c.Token, http: httpClient(c.HTTPClient), retry: c.Retry.withDefaults(), now: c.Now, wait: waitFor}
	if cl.now == nil {
		cl.now = time.Now
	}
	cl.spool = &spool{dir: c.Spool, now: cl.now}
	if err := cl.spool.open(); err != nil {
		return nil, err
	}
	return cl, nil
}

// httpClient gives the caller's client, or one whose time-out does not depend on
// the length of a payload. A redirect would carry the token or drop the body;
// neither is wanted, so none is followed.
func httpClient(given *http.Client) *http.Client {
	client := &http.Client{}
	if given != nil {
		*client = *given
	} else if standard, ok := http.DefaultTransport.(*http.Transport); ok {
		transport := standard.Clone()
		transport.ResponseHeaderTimeout = time.Minute
		client.Transport = transport
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client
}

func (r Retry) withDefaults() Retry {
	if r.Budget == 0 {
		r.Budget = 20 * time.Second
	}
	if r.First <= 0 {
		r.First = 200 * time.Millisecond
	}
	if r.Max <= 0 {
		r.Max = 5 * time.Second
	}
	return r
}

func waitFor(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// request is one call, with a body that can be read again for each try.
type request struct {
	method, path string
	contentType  string
	body         func() (io.Reader, int64, error) // the body and its length, -1 if not known
	limit        int64                            // bytes of answer that are read, default 1 MiB
}

// jsonRequest makes a request whose body is v as JSON.
func jsonRequest(method, path string, v any) (request, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return request{}, fmt.Errorf("client: write the request for %s: %w", path, err)
	}
	return request{method: method, path: path, contentType: "application/json", body: bytesBody(b)}, nil
}

func bytesBody(b []byte) func() (io.Reader, int64, error) {
	return func() (io.Reader, int64, error) { return bytes.NewReader(b), int64(len(b)), nil }
}

// call makes a request until it is answered or the budget is spent, and decodes
// a 2xx answer into out (nil: not read). It gives the status.
func (c *Client) call(ctx context.Context, r request, out any) (int, error) {
	status, body, err := c.exchange(ctx, r)
	if err != nil {
		return status, err
	}
	if out == nil {
		return status, nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return status, fmt.Errorf("client: the answer to %s %s is not understood: %w", r.method, r.path, err)
	}
	return status, nil
}

// exchange is call without the decoding.
func (c *Client) exchange(ctx context.Context, r request) (int, []byte, error) {
	deadline := c.now().Add(c.retry.Budget)
	delay := c.retry.First
	for {
		status, body, err := c.once(ctx, r)
		if err == nil || !retryable(err) || ctx.Err() != nil {
			return status, body, err
		}
		pause := min(delay, c.retry.Max)
		pause = pause/2 + rand.N(pause/2+1) // jitter, so that a fleet does not come back as one
		var answered *Error
		if errors.As(err, &answered) && answered.RetryAfter > 0 {
			pause = max(pause, answered.RetryAfter)
		}
		// The server may ask for more patience than there is; then the caller, or
		// the spool, takes over at once.
		if pause > c.retry.Max || c.now().Add(pause).After(deadline) {
			return status, body, err
		}
		if waitErr := c.wait(ctx, pause); waitErr != nil {
			return status, body, err
		}
		delay = min(delay*2, c.retry.Max)
	}
}

// once makes a request one time.
func (c *Client) once(ctx context.Context, r request) (int, []byte, error) {
	var body io.Reader = http.NoBody
	length := int64(0)
	if r.body != nil {
		b, n, err := r.body()
		if err != nil {
			return 0, nil, fmt.Errorf("client: read the body for %s: %w", r.path, err)
		}
		body, length = b, n
	}
	req, err := http.NewRequestWithContext(ctx, r.method, c.base.String()+"/api/v1"+r.path, body)
	if err != nil {
		return 0, nil, fmt.Errorf("client: make the request for %s: %w", r.path, err)
	}
	req.ContentLength = length
	if r.contentType != "" {
		req.Header.Set("Content-Type", r.contentType)
	}
	req.Header.Set("Accept", "application/json, application/problem+json")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return 0, nil, unreachable(r, err)
	}
	defer res.Body.Close()
	limit := r.limit
	if limit == 0 {
		limit = 1 << 20
	}
	answer, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		return res.StatusCode, nil, unreachable(r, err)
	}
	if int64(len(answer)) > limit {
		return res.StatusCode, nil, fmt.Errorf("client: the answer to %s %s is longer than %d bytes", r.method, r.path, limit)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return res.StatusCode, answer, problemOf(r, res, answer, c.now())
	}
	return res.StatusCode, answer, nil
}
