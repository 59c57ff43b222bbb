package outbound

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// canary is a listener that counts who connects.
type canary struct {
	net.Listener
	connections atomic.Int64
}

func (c *canary) port() uint16 { return c.Addr().(*net.TCPAddr).AddrPort().Port() }

func newCanary(t *testing.T) *canary {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &canary{Listener: l}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.connections.Add(1)
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return c
}

// answers is a resolver that gives its lists one after another, and the last
// one for ever.
type answers struct {
	mu    sync.Mutex
	lists [][]netip.Addr
	asked int
}

func (a *answers) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.lists[min(a.asked, len(a.lists)-1)]
	a.asked++
	return append([]netip.Addr(nil), list...), nil
}

func addresses(list ...string) []netip.Addr {
	var ips []netip.Addr
	for _, s := range list {
		ips = append(ips, netip.MustParseAddr(s))
	}
	return ips
}

func get(t *testing.T, c *http.Client, address string) error {
	t.Helper()
	res, err := c.Get(address)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return err
}

func TestSSRF(t *testing.T) {
	c := newCanary(t)
	resolver := &answers{lists: [][]netip.Addr{addresses("127.0.0.1", "::1")}}
	client := New(Options{Resolver: resolver, ConnectTimeout: time.Second})
	hosts := []string{
		"127.0.0.1", "localhost", "[::1]", "169.254.169.254", "[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]", "0.0.0.0", "[::]",
		"10.0.0.1", "100.64.0.1", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1%25lo]", "[fd00:ec2::254]", "user:pw@127.0.0.1",
		"2130706433", "0x7f.1", "0x7f000001", "0177.0.0.1", "127.1", "127.0.0.1.", "localhost.", "LOCALHOST",
		"172.16.0.1", "172.31.255.255", "192.168.1.1", "192.0.0.192", "192.0.2.1", "192.88.99.1", "198.18.0.1", "198.51.100.1",
		"203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "0.1.2.3", "168.63.129.16", "[::127.0.0.1]", "[::ffff:0:127.0.0.1]",
		"[64:ff9b:1::1]", "[100::1]", "[2001::1]", "[2001:db8::1]", "[3fff::1]", "[5f00::1]", "[fec0::1]", "[ff02::1]", "[4000::1]",
		"resolves-to-loopback.example", "user@public.example",
	}
	for _, host := range hosts {
		for _, address := range []string{
			"http://" + host + "/", "https://" + host + "/",
			fmt.Sprintf("http://%s:%d/", host, c.port()), "http://" + host + ":22/",
		} {
			if err := get(t, client, address); !IsRefused(err) {
				t.Errorf("%s: %v, want a refusal", address, err)
			}
		}
	}
	for _, address := range []string{
		"file:///etc/passwd", "gopher://127.0.0.1/", "ftp://127.0.0.1/", "unix:///run/x", "http:///x", "//127.0.0.1/",
		"http://1.1.1.1:22/", "http://public.example:8080/", "http://1.1.1.1:0/",
	} {
		if err := get(t, client, address); !IsRefused(err) {
			t.Errorf("%s: %v, want a refusal", address, err)
		}
	}
	if n := c.connections.Load(); n != 0 {
		t.Errorf("%d connections reached this machine", n)
	}
}

// A proxy would dial for us, by rules of its own.
func TestNoProxyDialsForUs(t *testing.T) {
	if New(Options{}).Transport.(*guarded).next.Proxy != nil {
		t.Error("a proxy may be asked")
	}
}

// A resolver that gives an allowed address first and loopback later reaches
// nothing: what is dialled is what was checked.
func TestRebind(t *testing.T) {
	c := newCanary(t)
	resolver := &answers{lists: [][]netip.Addr{addresses("192.0.2.1"), addresses("127.0.0.1")}}
	client := New(Options{
		Allow:          mustParse(t, "192.0.2.0/24"),
		Resolver:       resolver,
		ConnectTimeout: 20 * time.Millisecond,
	})
	address := fmt.Sprintf("http://rebinding.example:%d/", c.port())
	if err := get(t, client, address); err == nil {
		t.Error("an address for documentation answered")
	}
	if resolver.asked != 1 {
		t.Errorf("the name was asked for %d times for one dial", resolver.asked)
	}
	if err := get(t, client, address); !IsRefused(err) {
		t.Errorf("after the rebinding: %v, want a refusal", err)
	}
	if n := c.connections.Load(); n != 0 {
		t.Errorf("%d connections reached this machine", n)
	}
}

func TestControlJudgesTheAddressBeingDialled(t *testing.T) {
	control := NewGuard().control("public.example")
	for _, c := range []struct {
		network, address string
		refused          bool
	}{
		{"tcp4", "127.0.0.1:80", true},
		{"tcp6", "[::1]:443", true},
		{"tcp6", "[fe80::1%lo]:80", true},
		{"tcp6", "[::ffff:10.0.0.1]:80", true},
		{"tcp4", "1.1.1.1:22", true},
		{"udp4", "1.1.1.1:443", true},
		{"unix", "/run/socket", true},
		{"tcp4", "nonsense", true},
		{"tcp4", "1.1.1.1:443", false},
		{"tcp6", "[2606:4700:4700::1111]:80", false},
	} {
		if err := control(c.network, c.address, nil); IsRefused(err) != c.refused {
			t.Errorf("%s %s: %v, want refused %t", c.network, c.address, err, c.refused)
		}
	}
}

// Of a name with several addresses those that are not allowed are left out,
// and an address that fails does not keep the next from being tried.
func TestOnlyAllowedAddressesOfANameAreDialled(t *testing.T) {
	blocked := newCanary(t)
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	port := netip.MustParseAddrPort(server.Listener.Addr().String()).Port()
	client := New(Options{
		Allow:    mustParse(t, fmt.Sprintf("127.0.0.1:%d,127.0.0.2:%d", port, port)),
		Resolver: &answers{lists: [][]netip.Addr{addresses("10.0.0.1", "127.0.0.2", "127.0.0.1")}},
	})
	if err := get(t, client, fmt.Sprintf("http://several.example:%d/", port)); err != nil {
		t.Error(err)
	}
	if err := get(t, client, fmt.Sprintf("http://several.example:%d/", blocked.port())); !IsRefused(err) {
		t.Errorf("%v, want a refusal", err)
	}
	if n := blocked.connections.Load(); n != 0 {
		t.Errorf("%d connections to a port that is not allowed", n)
	}
}

func TestANameIsAllowedWhateverItResolvesTo(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	port := netip.MustParseAddrPort(server.Listener.Addr().String()).Port()
	client := New(Options{
		Allow:    mustParse(t, fmt.Sprintf("Pipeline.internal:%d", port)),
		Resolver: &answers{lists: [][]netip.Addr{addresses("127.0.0.1")}},
	})
	if err := get(t, client, fmt.Sprintf("http://pipeline.INTERNAL:%d/", port)); err != nil {
		t.Error(err)
	}
	for _, other := range []string{"other.internal", "xpipeline.internal", "pipeline.internal.example", "127.0.0.1"} {
		if err := get(t, client, fmt.Sprintf("http://%s:%d/", other, port)); !IsRefused(err) {
			t.Errorf("%s: %v, want a refusal", other, err)
		}
	}
	if err := get(t, client, "http://pipeline.internal/"); !IsRefused(err) {
		t.Errorf("another port of the name: %v, want a refusal", err)
	}
}

func TestRedirectPrivate(t *testing.T) {
	c := newCanary(t)
	var hits atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		w.Header().Set("Location", fmt.Sprintf("http://127.0.0.1:%d/", c.port()))
		w.WriteHeader(http.StatusFound)
	}))
	defer server.Close()
	client := New(Options{Allow: mustParse(t, "127.0.0.0/8")})
	res, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusFound || hits.Load() != 1 {
		t.Errorf("status %d after %d requests, want the redirect itself after one", res.StatusCode, hits.Load())
	}
	if n := c.connections.Load(); n != 0 {
		t.Errorf("the redirect was followed %d times, though its host is allowed", n)
	}
}

// rawServer answers every connection by a function of its own.
func rawServer(t *testing.T, answer func(net.Conn)) *net.TCPAddr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			open.Go(func() {
				defer conn.Close()
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					answer(conn)
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		open.Wait()
	})
	return l.Addr().(*net.TCPAddr)
}

func TestSlowHead(t *testing.T) {
	// Headers that never end: a byte at a time for as long as somebody reads.
	slow := rawServer(t, func(conn net.Conn) {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nX: ")
		for range tick.C {
			if _, err := io.WriteString(conn, "x"); err != nil {
				return
			}
		}
	})
	client := New(Options{Allow: mustParse(t, "127.0.0.1"), Timeout: 100 * time.Millisecond})
	err := get(t, client, "http://"+slow.String()+"/")
	var netErr net.Error
	if !errors.As(err, &netErr) || !netErr.Timeout() {
		t.Errorf("%v, want a timeout", err)
	}
}

func TestAnswersWithLargeHeadersAreRefused(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Large", strings.Repeat("x", 17<<10))
	}))
	defer server.Close()
	if err := get(t, New(Options{Allow: mustParse(t, "127.0.0.1")}), server.URL); err == nil {
		t.Error("headers of 17 KiB were read")
	}
}

func TestNothingIsDecompressed(t *testing.T) {
	var bomb bytes.Buffer
	zip := gzip.NewWriter(&bomb)
	zip.Write(make([]byte, 1<<20))
	zip.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "" {
			t.Error("an encoding was asked for")
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(bomb.Bytes())
	}))
	defer server.Close()
	res, err := New(Options{Allow: mustParse(t, "127.0.0.1")}).Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(body, bomb.Bytes()) {
		t.Errorf("%d bytes, want the %d that were sent", len(body), bomb.Len())
	}
}

func TestConnectionsAreReused(t *testing.T) {
	var opened atomic.Int64
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	client := New(Options{Allow: mustParse(t, "127.0.0.1")})
	defer client.CloseIdleConnections()
	for range 5 {
		if err := get(t, client, server.URL); err != nil {
			t.Fatal(err)
		}
	}
	if opened.Load() != 1 {
		t.Errorf("%d connections for five requests", opened.Load())
	}
}

func TestOwnAddressIsLoopbackWithAPort(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	guard := NewGuard()
	client := guard.Client(Options{})
	if err := get(t, client, server.URL); !IsRefused(err) {
		t.Errorf("before: %v, want a refusal", err)
	}
	if err := guard.AllowOwn(netip.MustParseAddrPort(server.Listener.Addr().String())); err != nil {
		t.Fatal(err)
	}
	if err := get(t, client, server.URL); err != nil {
		t.Errorf("after: %v", err)
	}
	for _, other := range []string{"10.0.0.1:80", "127.0.0.1:0", "169.254.169.254:80", "[::]:80"} {
		if guard.AllowOwn(netip.MustParseAddrPort(other)) == nil {
			t.Errorf("%s was taken for our own", other)
		}
	}
}

func TestPolicyAddressesAreCheckedWhenWritten(t *testing.T) {
	guard := NewGuard(mustParse(t, "10.1.0.0/16,pipeline.internal:9000")...)
	for address, refused := range map[string]bool{
		"https://wiki.example.com/doc": false, "http://10.1.2.3:8080/": false, "http://pipeline.internal:9000/": false,
		"http://some.internal:8080/": false, // may lie in 10.1.0.0/16: judged when it is dialled
		"http://10.0.0.5/":           true, "http://127.0.0.1/": true, "http://localhost/": true, "ftp://wiki.example.com/": true,
		"http://u:p@wiki.example.com/": true, "http://wiki.example.com:99999/": true, "http://127.1/": true,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if err := guard.CheckURL(u); IsRefused(err) != refused {
			t.Errorf("%s: %v, want refused %t", address, err, refused)
		}
	}
}

func TestRefusalsRepeatNoCredentials(t *testing.T) {
	err := NewGuard().CheckURL(&url.URL{Scheme: "http", Host: "wiki.example.com", User: url.UserPassword("u", "hunter2"), Path: "/private-id"})
	if err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "private-id") {
		t.Errorf("%v", err)
	}
}

func mustParse(t *testing.T, list string) []Allow {
	t.Helper()
	allowed, err := ParseAllow(list)
	if err != nil {
		t.Fatal(err)
	}
	return allowed
}

func TestAllowedListIsReadWholeOrRefused(t *testing.T) {
	got := mustParse(t, " 10.0.0.0/8, Pipeline.internal., 127.0.0.1:9000,[::1]:9000,::1,fd00::/8,wiki:443,,192.168.1.1 ")
	var texts []string
	for _, a := range got {
		texts = append(texts, a.String())
	}
	want := "10.0.0.0/8 pipeline.internal 127.0.0.1:9000 [::1]:9000 ::1 fd00::/8 wiki:443 192.168.1.1"
	if strings.Join(texts, " ") != want {
		t.Errorf("%s\nwant\n%s", strings.Join(texts, " "), want)
	}
	for _, wrong := range []string{
		"10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/8:80", "host:0", "host:65536", "host:http", "*.internal", "http://host", "host/path",
		"127.1", "2130706433", "a b", ":80", "host:", "user@host",
	} {
		if _, err := ParseAllow("pipeline.internal," + wrong); err == nil {
			t.Errorf("%q was taken", wrong)
		} else if !strings.Contains(err.Error(), wrong) {
			t.Errorf("%q is not named by %q", wrong, err)
		}
	}
}
