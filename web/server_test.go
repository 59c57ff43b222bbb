package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
)

// logLines is a log that a test can read while the server writes it.
type logLines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// records parses every line, so that one that is not JSON fails the test.
func (l *logLines) records(t *testing.T) []map[string]any {
	t.Helper()
	var records []map[string]any
	for _, line := range strings.Split(strings.TrimSpace(l.String()), "\n") {
		if line == "" {
			continue
		}
		var record map[string]any
		if err := json.Unmarshal([]byte(line), &record); err != nil {
			t.Fatalf("log line is not JSON: %q", line)
		}
		records = append(records, record)
	}
	return records
}

func (l *logLines) count(t *testing.T, msg string) int {
	n := 0
	for _, record := range l.records(t) {
		if record["msg"] == msg {
			n++
		}
	}
	return n
}

// site is a server that listens on loopback.
type site struct {
	*Server
	url string
	log *logLines
	// stop ends the server and gives what Serve returned; it may be called twice.
	stop func() error
}

func startSite(t *testing.T, cfg ServerConfig, routes func(e *echo.Echo)) site {
	t.Helper()
	log := &logLines{}
	cfg.Log = slog.New(slog.NewJSONHandler(log, nil))
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	server, err := NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	routes(server.Echo)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()
	stop := sync.OnceValue(func() error { cancel(); return <-served })
	t.Cleanup(func() { _ = stop() })
	return site{Server: server, url: "http://" + listener.Addr().String(), log: log, stop: stop}
}

// direct follows no redirect and keeps no connection.
var direct = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true, DisableCompression: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Timeout:       20 * time.Second,
}

// send makes a request with the headers, given as pairs, and reads the answer.
func (s site) send(t *testing.T, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	answer, err := direct.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer, string(text)
}

func mustURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

func ok(c echo.Context) error { return c.String(http.StatusOK, "ok") }

func TestServerAnswersOnlyUnderItsOwnNames(t *testing.T) {
	s := startSite(t, ServerConfig{PublicURL: mustURL("https://dlo.example.com"), Hosts: []string{"alias.example.com"}}, func(e *echo.Echo) { e.GET("/", ok) })
	for host, want := range map[string]int{
		"dlo.example.com": 200, "DLO.example.COM": 200, "dlo.example.com.": 200, "dlo.example.com:8443": 200, "alias.example.com": 200,
		"localhost": 200, "localhost:9": 200, "127.0.0.1": 200, "127.9.9.9:80": 200, "[::1]:8080": 200, "[::1]": 200,
		"evil.example": 421, "dlo.example.com.evil.example": 421, "evil-dlo.example.com": 421, "localhost.evil.example": 421,
		"10.0.0.1": 421, "0.0.0.0": 421, "169.254.169.254": 421, "127.0.0.1.evil.example": 421, "2130706433": 421, "dlo.example.com:80:80": 421,
	} {
		if answer, _ := s.send(t, "GET", "/", "", "Host", host); answer.StatusCode != want {
			t.Errorf("Host %s: %d, want %d", host, answer.StatusCode, want)
		}
	}
}

func TestLoopbackNamesAreRefusedWhereTheServerListensElsewhere(t *testing.T) {
	for _, listen := range []string{":8080", "0.0.0.0:8080", "10.1.2.3:8080"} {
		s := startSite(t, ServerConfig{Listen: listen, PublicURL: mustURL("https://dlo.example.com")}, func(e *echo.Echo) { e.GET("/", ok) })
		if answer, _ := s.send(t, "GET", "/", "", "Host", "localhost"); answer.StatusCode != 421 {
			t.Errorf("listening on %s: %d for localhost, want 421", listen, answer.StatusCode)
		}
	}
}

func TestNewServerNamesABadListenAddress(t *testing.T) {
	if _, err := NewServer(ServerConfig{Listen: "8080"}); err == nil || !strings.Contains(err.Error(), `"8080"`) {
		t.Errorf("got %v", err)
	}
}

func TestClientAddressIsBelievedFromTrustedProxiesOnly(t *testing.T) {
	realIP := func(e *echo.Echo) {
		e.GET("/ip", func(c echo.Context) error { return c.String(200, c.RealIP()) })
	}
	for name, c := range map[string]struct {
		trusted []netip.Prefix
		headers []string
		want    string
	}{
		"no proxy":                  {nil, []string{"X-Forwarded-For", "6.6.6.6"}, "127.0.0.1"},
		"no proxy, real ip header":  {nil, []string{"X-Real-Ip", "6.6.6.6"}, "127.0.0.1"},
		"another network":           {[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, []string{"X-Forwarded-For", "6.6.6.6"}, "127.0.0.1"},
		"the proxy":                 {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, []string{"X-Forwarded-For", "6.6.6.6"}, "6.6.6.6"},
		"a client that prepends":    {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, []string{"X-Forwarded-For", "1.1.1.1, 6.6.6.6"}, "6.6.6.6"},
		"private hop is no proxy":   {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, []string{"X-Forwarded-For", "1.1.1.1, 192.168.0.9"}, "192.168.0.9"},
		"real ip header from proxy": {[]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, []string{"X-Real-Ip", "6.6.6.6"}, "127.0.0.1"},
	} {
		s := startSite(t, ServerConfig{TrustedProxies: c.trusted}, realIP)
		if _, got := s.send(t, "GET", "/ip", "", c.headers...); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestHalfAHeaderDoesNotHoldAConnection(t *testing.T) {
	server, err := NewServer(ServerConfig{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]time.Duration{
		"ReadHeaderTimeout": 5 * time.Second, "ReadTimeout": 60 * time.Second, "WriteTimeout": 60 * time.Second, "IdleTimeout": 60 * time.Second,
	}
	got := map[string]time.Duration{
		"ReadHeaderTimeout": server.http.ReadHeaderTimeout, "ReadTimeout": server.http.ReadTimeout,
		"WriteTimeout": server.http.WriteTimeout, "IdleTimeout": server.http.IdleTimeout,
	}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s is %s, want %s", name, got[name], want[name])
		}
	}
	server.http.ReadHeaderTimeout = 50 * time.Millisecond // the mechanism, without the wait
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, listener) }()
	defer func() { cancel(); <-served }()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(4 * time.Second))
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: localhost\r\nX-Half")
	if _, err := io.ReadAll(conn); err != nil {
		t.Errorf("the connection stayed open: %v", err)
	}
}

func TestLongHeadersAreRefused(t *testing.T) {
	s := startSite(t, ServerConfig{}, func(e *echo.Echo) { e.GET("/", ok) })
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: localhost\r\nX-Long: %s\r\n\r\n", strings.Repeat("x", 24<<10))
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.Contains(line, " 431 ") {
		t.Errorf("%q (%v), want 431", line, err)
	}
}

func TestBodiesPastTheLimitAre413AndCloseTheConnection(t *testing.T) {
	read := func(c echo.Context) error {
		n, err := io.Copy(io.Discard, c.Request().Body)
		if err != nil {
			return bodyError(err)
		}
		return c.String(200, fmt.Sprint(n))
	}
	s := startSite(t, ServerConfig{BodyLimit: 1000}, func(e *echo.Echo) {
		e.POST("/api/small", read)
		e.POST("/api/large", read, AllowBody(5000))
		e.POST("/api/tiny", read, AllowBody(10))
	})
	for _, c := range []struct {
		path    string
		size    int
		chunked bool
		want    int
	}{
		{"/api/small", 1000, false, 200}, {"/api/small", 1000, true, 200},
		{"/api/small", 1001, false, 413}, {"/api/small", 1001, true, 413}, {"/api/small", 300_000, true, 413},
		{"/api/large", 5000, false, 200}, {"/api/large", 5001, true, 413}, {"/api/large", 5001, false, 413},
		{"/api/tiny", 11, true, 413}, {"/api/tiny", 11, false, 413},
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		conn.SetDeadline(time.Now().Add(10 * time.Second))
		r, _ := http.NewRequest("POST", s.url+c.path, bytes.NewReader(make([]byte, c.size)))
		if c.chunked {
			r.ContentLength = -1
			r.TransferEncoding = []string{"chunked"}
		}
		go func() { _ = r.Write(conn) }() // the server may stop reading
		answer, err := http.ReadResponse(bufio.NewReader(conn), r)
		if err != nil {
			t.Fatalf("%s, %d bytes: %v", c.path, c.size, err)
		}
		if answer.StatusCode != c.want {
			t.Errorf("%s, %d bytes, chunked %v: %d, want %d", c.path, c.size, c.chunked, answer.StatusCode, c.want)
		}
		if closes := answer.Close; c.want == 413 && !closes {
			t.Errorf("%s, %d bytes, chunked %v: the connection stays open", c.path, c.size, c.chunked)
		}
		conn.Close()
	}
}

func TestHEADIsAnsweredByGETRoutesWithoutABody(t *testing.T) {
	s := startSite(t, ServerConfig{}, func(e *echo.Echo) {
		e.GET("/page", func(c echo.Context) error { return c.String(200, "seven!!") })
		e.POST("/form", ok)
		e.GET("/stream", func(c echo.Context) error {
			c.Response().WriteHeader(200)
			c.Response().Flush()
			<-c.Request().Context().Done() // for as long as the client likes
			return nil
		})
	})
	answer, body := s.send(t, "HEAD", "/page", "")
	if answer.StatusCode != 200 || body != "" || answer.ContentLength != 7 {
		t.Errorf("HEAD of a page: %d, %q, length %d; want 200, nothing, 7", answer.StatusCode, body, answer.ContentLength)
	}
	// On a connection that stays open, so that only the end of the handler can
	// make room for the second request.
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	fmt.Fprint(conn, "HEAD /stream HTTP/1.1\r\nHost: localhost\r\n\r\nHEAD /page HTTP/1.1\r\nHost: localhost\r\n\r\n")
	reader := bufio.NewReader(conn)
	for _, path := range []string{"/stream", "/page"} {
		answer, err := http.ReadResponse(reader, &http.Request{Method: "HEAD"})
		if err != nil || answer.StatusCode != 200 {
			t.Fatalf("HEAD of %s after a stream: %v", path, err)
		}
	}
	answer, _ = s.send(t, "HEAD", "/form", "")
	if answer.StatusCode != 405 || answer.Header.Get("Allow") == "" {
		t.Errorf("HEAD of a POST route: %d, Allow %q; want 405", answer.StatusCode, answer.Header.Get("Allow"))
	}
	if answer, _ := s.send(t, "DELETE", "/page", ""); answer.StatusCode != 405 || !strings.Contains(answer.Header.Get("Allow"), "HEAD") {
		t.Errorf("Allow of a page is %q, want HEAD in it", answer.Header.Get("Allow"))
	}
	if !strings.Contains(s.log.String(), `"method":"HEAD"`) {
		t.Error("the log does not say HEAD")
	}
}

func TestAccessLogTellsNoSecrets(t *testing.T) {
	s := startSite(t, ServerConfig{}, func(e *echo.Echo) {
		e.POST("/search", ok)
		e.GET("/signed/:secret", ok, HidePath)
	})
	s.send(t, "POST", "/search?q=canary-query&token=canary-token", "password=canary-body",
		"Cookie", "sid=canary-cookie", "Authorization", "Bearer canary-bearer", "User-Agent", "canary-agent", "Referer", "http://x/canary-referer",
		"X-Request-Id", "canary-id", "Content-Type", "application/x-www-form-urlencoded")
	s.send(t, "GET", "/signed/canary-link", "")
	s.send(t, "GET", "/missing%0A%7B%22level%22:%22x%22%7D%1b[31m", "")
	log := s.log.String()
	if strings.Contains(log, "canary") {
		t.Errorf("the log has a secret: %s", log)
	}
	records := s.log.records(t)
	if len(records) != 3 {
		t.Fatalf("%d lines, want 3:\n%s", len(records), log)
	}
	if records[0]["route"] != "/search" || records[0]["path"] != "/search" || records[0]["status"] != 200.0 || records[1]["route"] != "/signed/:secret" {
		t.Errorf("the log says %v", records)
	}
	if strings.Contains(log, "\x1b") {
		t.Error("an escape sequence reached the log")
	}
}

func TestPanicIsA500LoggedOnceAndTheServerLives(t *testing.T) {
	s := startSite(t, ServerConfig{}, func(e *echo.Echo) {
		e.GET("/panic", func(echo.Context) error { panic("canary-panic") })
		e.GET("/api/panic", func(echo.Context) error { panic(fmt.Errorf("canary-panic")) })
		e.GET("/", ok)
	})
	for i, path := range []string{"/panic", "/api/panic"} {
		answer, body := s.send(t, "GET", path, "")
		id := answer.Header.Get("X-Request-Id")
		if answer.StatusCode != 500 || strings.Contains(body, "canary") || strings.Contains(body, "goroutine") || !strings.Contains(body, id) || id == "" {
			t.Errorf("%s: %d %q", path, answer.StatusCode, body)
		}
		if n := s.log.count(t, "request failed"); n != i+1 {
			t.Errorf("%d lines about %d panics", n, i+1)
		}
		if !strings.Contains(s.log.String(), id) || !strings.Contains(s.log.String(), "server_test.go") {
			t.Errorf("the log lacks the request id or the stack: %s", s.log)
		}
	}
	if answer, _ := s.send(t, "GET", "/", ""); answer.StatusCode != 200 {
		t.Errorf("after a panic: %d", answer.StatusCode)
	}
}

func TestAnAnswerThatBreaksOffDoesNotLookWhole(t *testing.T) {
	s := startSite(t, ServerConfig{}, func(e *echo.Echo) {
		e.GET("/half", func(c echo.Context) error {
			c.Response().WriteHeader(200)
			fmt.Fprint(c.Response(), "half")
			c.Response().Flush()
			return fmt.Errorf("the store is gone")
		})
	})
	answer, err := direct.Get(s.url + "/half")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err == nil {
		t.Errorf("read %q as a whole answer", body)
	}
	_ = s.stop()
	if s.log.count(t, "request failed") != 1 || s.log.count(t, "request") != 1 {
		t.Errorf("log: %s", s.log)
	}
}

func TestShutdownWaitsForRequests(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	s := startSite(t, ServerConfig{ShutdownGrace: 10 * time.Second}, func(e *echo.Echo) {
		e.GET("/slow", func(c echo.Context) error {
			close(started)
			<-release
			return ok(c)
		})
	})
	s.http.RegisterOnShutdown(func() { close(release) }) // it ends after the stop began
	answers := make(chan int, 1)
	go func() {
		answer, err := direct.Get(s.url + "/slow")
		if err != nil {
			answers <- 0
			return
		}
		answer.Body.Close()
		answers <- answer.StatusCode
	}()
	<-started
	if err := s.stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	if status := <-answers; status != 200 {
		t.Errorf("answered %d, want 200", status)
	}
}

func TestShutdownCutsWhatDoesNotEnd(t *testing.T) {
	started := make(chan struct{})
	s := startSite(t, ServerConfig{ShutdownGrace: 20 * time.Millisecond}, func(e *echo.Echo) {
		e.GET("/stuck", func(c echo.Context) error {
			close(started)
			<-c.Request().Context().Done()
			return nil
		})
	})
	go func() {
		if answer, err := direct.Get(s.url + "/stuck"); err == nil {
			answer.Body.Close()
		}
	}()
	<-started
	if err := s.stop(); err == nil {
		t.Error("nothing said that a request was cut")
	}
}

func TestDeadlinesCanBeExtendedByARoute(t *testing.T) {
	s := startSite(t, ServerConfig{}, func(e *echo.Echo) {
		e.GET("/x", func(c echo.Context) error {
			if err := ExtendDeadlines(c, time.Minute, time.Hour); err != nil {
				return err
			}
			return ok(c)
		})
	})
	for _, method := range []string{"GET", "HEAD"} {
		if answer, _ := s.send(t, method, "/x", ""); answer.StatusCode != 200 {
			t.Errorf("%s: %d", method, answer.StatusCode)
		}
	}
}

func TestRequireDeniesWhoeverIsNotListed(t *testing.T) {
	s := startSite(t, ServerConfig{}, func(e *echo.Echo) {
		as := func(actor *dlq.Actor) echo.MiddlewareFunc {
			return func(next echo.HandlerFunc) echo.HandlerFunc {
				return func(c echo.Context) error {
					if actor != nil {
						SetActor(c, *actor)
					}
					return next(c)
				}
			}
		}
		e.GET("/api/nobody", ok, as(nil), Require(dlq.MayNothingButLogin))
		e.GET("/api/analyst", ok, as(&dlq.Actor{Kind: dlq.ActorPerson, Role: dlq.RoleAnalyst}), Require(dlq.MayDecide))
		e.GET("/api/reviewer", ok, as(&dlq.Actor{Kind: dlq.ActorPerson, Role: dlq.RoleReviewer}), Require(dlq.MayDecide))
	})
	for path, want := range map[string]int{"/api/nobody": 401, "/api/analyst": 403, "/api/reviewer": 200} {
		if answer, _ := s.send(t, "GET", path, ""); answer.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, answer.StatusCode, want)
		}
	}
}
