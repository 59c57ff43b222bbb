// Package outbound makes the HTTP clients by which the program reaches out: it
// decides which addresses may be dialled, follows no redirect, and bounds time
// and headers. What is asked, with which credentials, and how much of an answer
// is read, it leaves to whoever holds the client.
package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// The budgets where Options names none.
const (
	DefaultConnectTimeout = 3 * time.Second
	DefaultTimeout        = 5 * time.Minute // the longest exchange there is; a caller's context shortens it
	maxHeaderBytes        = 16 << 10
)

// Refused is the guard's refusal to reach an address. Nothing was sent.
type Refused struct {
	Host   string // as it was asked for
	Reason string // the rest of a sentence that begins with the host
}

func (r *Refused) Error() string {
	return fmt.Sprintf("%s may not be reached: %s", r.Host, r.Reason)
}

// Refused marks the error for those who must not import this package: an
// interface with this method finds it.
func (r *Refused) Refused() bool { return true }

// IsRefused says whether the error is, or wraps, a refusal of the guard.
func IsRefused(err error) bool {
	var r *Refused
	return errors.As(err, &r)
}

// Resolver finds the addresses of a name. *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Guard decides which addresses may be reached. It is safe for concurrent use.
type Guard struct {
	mu      sync.RWMutex
	allowed []Allow
}

// NewGuard makes a guard that opens public addresses on ports 80 and 443 and
// what is allowed beyond them.
func NewGuard(allow ...Allow) *Guard {
	return &Guard{allowed: append([]Allow(nil), allow...)}
}

// AllowOwn opens one loopback address and port of this program itself, which
// is known only once it listens. Anything but loopback is an error: networks
// are opened at start, by whoever starts the program.
func (g *Guard) AllowOwn(addr netip.AddrPort) error {
	ip := addr.Addr().Unmap().WithZone("")
	if !ip.IsLoopback() || addr.Port() == 0 {
		return fmt.Errorf("allow own address %s: a loopback address with a port expected", addr)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.allowed = append(g.allowed, Allow{network: single(ip), port: addr.Port()})
	return nil
}

// check is the rule: what was allowed, else public addresses on the ports of
// the web. The host is what was asked for, the address what would be dialled.
func (g *Guard) check(host string, ip netip.Addr, port uint16) error {
	name, ip := normalName(host), ip.Unmap().WithZone("")
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, a := range g.allowed {
		if a.opens(name, ip, port) {
			return nil
		}
	}
	if what := notPublic(ip); what != "" {
		return &Refused{Host: host, Reason: "it is " + what + ", and was not allowed at start"}
	}
	if port != 80 && port != 443 {
		return &Refused{Host: host, Reason: fmt.Sprintf("port %d of a public address is open only where it was allowed at start", port)}
	}
	return nil
}

// CheckURL says what can be said of an address before any name is resolved, so
// that a policy can be refused when it is written. Nil does not promise that
// the address will be reached: the addresses behind a name are judged when they
// are dialled.
func (g *Guard) CheckURL(u *url.URL) error {
	if u.Scheme != "http" && u.Scheme != "https" {
		return &Refused{Host: "the address", Reason: "http or https expected"}
	}
	host := u.Hostname()
	if host == "" {
		return &Refused{Host: "the address", Reason: "it names no host"}
	}
	if u.User != nil {
		return &Refused{Host: host, Reason: "an address must not carry user information"}
	}
	port, err := portOf(u)
	if err != nil {
		return &Refused{Host: host, Reason: "its port is not one"}
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return g.check(host, ip, port)
	}
	name := normalName(host)
	if !isName(name) || endsInNumber(name) {
		return &Refused{Host: "the address", Reason: "its host is neither a name nor an address in the usual notation; a name with other letters is written in its xn-- form"}
	}
	if name == "localhost" {
		if err := g.check(host, netip.AddrFrom4([4]byte{127, 0, 0, 1}), port); err != nil {
			return g.check(host, netip.IPv6Loopback(), port)
		}
		return nil
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, a := range g.allowed {
		// A network may hold whatever the name resolves to.
		if a.opensName(name, port) || a.network.IsValid() && (a.port == 0 || a.port == port) {
			return nil
		}
	}
	if port != 80 && port != 443 {
		return &Refused{Host: host, Reason: fmt.Sprintf("port %d of a public address is open only where it was allowed at start", port)}
	}
	return nil
}

func portOf(u *url.URL) (uint16, error) {
	switch p := u.Port(); {
	case p != "":
		n, err := strconv.ParseUint(p, 10, 16)
		if err == nil && n == 0 {
			err = errors.New("port 0")
		}
		return uint16(n), err
	case u.Scheme == "https":
		return 443, nil
	}
	return 80, nil
}

// Options are the budgets of one client. Zero values are the defaults.
type Options struct {
	Allow           []Allow        // for New alone; a Guard brings its own
	ConnectTimeout  time.Duration  // name, connection; and again as long for TLS
	Timeout         time.Duration  // the whole exchange, the answer's body included
	MaxConnsPerHost int            // 0: no limit
	IdlePerHost     int            // connections kept open to a host that is asked again; 8 by default
	RootCAs         *x509.CertPool // nil: the system's
	Resolver        Resolver       // nil: the system's
}

// New makes a client with a guard of its own.
func New(o Options) *http.Client { return NewGuard(o.Allow...).Client(o) }

// Client makes a client behind this guard. Its connections are its own: one
// that was opened under another guard is never reused. It speaks HTTP/1.1
// alone, so that the budget for headers is one of bytes read.
func (g *Guard) Client(o Options) *http.Client {
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = DefaultConnectTimeout
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.IdlePerHost <= 0 {
		o.IdlePerHost = 8
	}
	if o.Resolver == nil {
		o.Resolver = net.DefaultResolver
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	transport := &http.Transport{
		Proxy:                  nil, // a proxy from the environment would dial for us, unguarded
		DialContext:            (&dialer{guard: g, resolver: o.Resolver, timeout: o.ConnectTimeout}).dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.RootCAs},
		TLSHandshakeTimeout:    o.ConnectTimeout,
		ResponseHeaderTimeout:  o.Timeout,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: maxHeaderBytes,
		DisableCompression:     true, // what arrives is what was sent; nothing small becomes large here
		MaxIdleConnsPerHost:    o.IdlePerHost,
		MaxIdleConns:           max(64, o.IdlePerHost),
		MaxConnsPerHost:        o.MaxConnsPerHost,
		IdleConnTimeout:        time.Minute,
		Protocols:              protocols,
	}
	return &http.Client{
		Transport: &guarded{guard: g, next: transport},
		Timeout:   o.Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

// guarded refuses what an address itself gives away, before anything is looked
// up or dialled.
type guarded struct {
	guard *Guard
	next  *http.Transport
}

func (t *guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := t.guard.CheckURL(r.URL); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	return t.next.RoundTrip(r)
}

// CloseIdleConnections lets http.Client close what is kept open.
func (t *guarded) CloseIdleConnections() { t.next.CloseIdleConnections() }

// dialer resolves a name and dials its addresses one after another. It dials
// addresses, never names, each under control for the name that was asked for.
type dialer struct {
	guard    *Guard
	resolver Resolver
	timeout  time.Duration
}

func (d *dialer) dial(ctx context.Context, _, hostPort string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	host, portText, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, err
	}
	port := uint16(n)
	ips, err := d.addresses(ctx, host)
	if err != nil {
		return nil, err
	}

	var firstErr, refused error
	for i, ip := range ips {
		conn, err := d.dialOne(ctx, host, netip.AddrPortFrom(ip, port), len(ips)-i)
		switch {
		case err == nil:
			return conn, nil
		case IsRefused(err):
			refused = err
		case firstErr == nil:
			firstErr = err
		}
	}
	switch {
	case firstErr != nil:
		return nil, firstErr
	case refused != nil:
		return nil, refused
	}
	return nil, &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
}

func (d *dialer) addresses(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip.Unmap()}, nil
	}
	ips, err := d.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	for i := range ips {
		ips[i] = ips[i].Unmap()
	}
	return ips, nil
}

// dialOne dials one address, with its share of the time that is left for so
// many: an address that swallows packets must not use it up alone.
func (d *dialer) dialOne(ctx context.Context, host string, addr netip.AddrPort, left int) (net.Conn, error) {
	if deadline, ok := ctx.Deadline(); ok && left > 1 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(deadline)/time.Duration(left))
		defer cancel()
	}
	nd := net.Dialer{Control: d.guard.control(host), KeepAlive: 30 * time.Second}
	return nd.DialContext(ctx, "tcp", addr.String())
}

// control applies the rule where nothing can come after it: it sees the address
// that the socket is about to connect to, so what is checked is what is
// reached, whatever the name says a moment later.
func (g *Guard) control(host string) func(network, address string, _ syscall.RawConn) error {
	return func(network, address string, _ syscall.RawConn) error {
		if network != "tcp4" && network != "tcp6" {
			return &Refused{Host: host, Reason: "only TCP is spoken"}
		}
		addr, err := netip.ParseAddrPort(address)
		if err != nil {
			return &Refused{Host: host, Reason: "the address to dial cannot be read"}
		}
		return g.check(host, addr.Addr(), addr.Port())
	}
}
