package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/net/netutil"
)

// The limits of every connection. A route that moves many bytes or streams
// lengthens its own deadlines with ExtendDeadlines.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 60 * time.Second
	writeTimeout      = 60 * time.Second
	idleTimeout       = 60 * time.Second
	maxHeaderBytes    = 16 << 10
)

// ServerConfig is what a Server is made from. The zero value of a field means
// its default.
type ServerConfig struct {
	// Listen is the host and port that will be listened on. When it is
	// loopback, the loopback names are accepted as Host.
	Listen string
	// PublicURL is the address that people use. Its host is accepted as Host,
	// and its scheme alone decides whether the site is https: what a request
	// claims about that is never believed.
	PublicURL *url.URL
	// Hosts are further host names to answer under, without port.
	Hosts []string
	// TrustedProxies may say in X-Forwarded-For whom they speak for. Empty:
	// the peer's address is the client's.
	TrustedProxies []netip.Prefix
	// BodyLimit is the most bytes that a request body may have (1 MiB) where
	// its route does not say otherwise with AllowBody.
	BodyLimit int64
	// MaxConnections bounds the connections open at a time (1,000).
	MaxConnections int
	// ShutdownGrace is how long requests may take to finish (25 s).
	ShutdownGrace time.Duration
	// ReportTo is where browsers report policy violations. Empty: nowhere.
	ReportTo string
	// Pages is how errors look to people.
	Pages ErrorPages
	// Log takes the access log and internal errors (slog.Default).
	Log *slog.Logger
}

// Server answers HTTP. Routes are added to Echo before Serve.
type Server struct {
	Echo *echo.Echo
	cfg  ServerConfig
	http *http.Server
}

// NewServer makes a server with every protection that does not depend on the
// route: request ids, access log, recovery, headers, host names, body limits,
// HEAD for every GET, and one place for errors.
func NewServer(cfg ServerConfig) (*Server, error) {
	if cfg.BodyLimit == 0 {
		cfg.BodyLimit = 1 << 20
	}
	if cfg.MaxConnections == 0 {
		cfg.MaxConnections = 1000
	}
	if cfg.ShutdownGrace == 0 {
		cfg.ShutdownGrace = 25 * time.Second
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	hosts, err := newHostList(cfg)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg}

	e := echo.New()
	e.HideBanner, e.HidePort, e.Debug = true, true, false
	e.Logger.SetOutput(io.Discard) // echo's own logger knows no request id
	e.IPExtractor = ipExtractor(cfg.TrustedProxies)
	e.HTTPErrorHandler = errorHandler{pages: cfg.Pages, log: cfg.Log}.handle
	e.Pre(
		requestID,
		accessLog(cfg.Log),
		Headers(cfg.PublicURL != nil && cfg.PublicURL.Scheme == "https", cfg.ReportTo),
		recoverPanics,
		hosts.middleware,
		limitBody(cfg.BodyLimit),
	)
	s.Echo = e
	s.http = &http.Server{
		Handler:           headAsGet(e),
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// Handler is the whole of the server as net/http sees it.
func (s *Server) Handler() http.Handler { return s.http.Handler }

// Serve answers requests on the listener until ctx ends, then lets those that
// run finish within the grace, and closes the rest. The listener is closed
// when it returns. A shutdown that ctx asked for is no error.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	done := make(chan error, 1)
	go func() { done <- s.http.Serve(netutil.LimitListener(listener, s.cfg.MaxConnections)) }()
	select {
	case err := <-done:
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.ShutdownGrace)
	defer cancel()
	err := s.http.Shutdown(grace)
	if err != nil {
		err = fmt.Errorf("requests still ran after %s and were cut: %w", s.cfg.ShutdownGrace, errors.Join(err, s.http.Close()))
	}
	<-done
	return err
}

// ExtendDeadlines gives this request until now+read to send its body and until
// now+write to take the answer, instead of the server's 60 s. Zero leaves that
// deadline as it is.
func ExtendDeadlines(c echo.Context, read, write time.Duration) error {
	control := http.NewResponseController(c.Response())
	if read != 0 {
		if err := control.SetReadDeadline(time.Now().Add(read)); err != nil {
			return fmt.Errorf("extend the read deadline: %w", err)
		}
	}
	if write != 0 {
		if err := control.SetWriteDeadline(time.Now().Add(write)); err != nil {
			return fmt.Errorf("extend the write deadline: %w", err)
		}
	}
	return nil
}

// ipExtractor believes X-Forwarded-For from the named networks only. echo's
// own extractor trusts loopback, link-local and private peers unless told not
// to, and without any extractor all clients behind a proxy would be one.
func ipExtractor(proxies []netip.Prefix) echo.IPExtractor {
	if len(proxies) == 0 {
		return echo.ExtractIPDirect()
	}
	trust := []echo.TrustOption{echo.TrustLoopback(false), echo.TrustLinkLocal(false), echo.TrustPrivateNet(false)}
	for _, p := range proxies {
		p = p.Masked()
		trust = append(trust, echo.TrustIPRange(&net.IPNet{
			IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen()),
		}))
	}
	return echo.ExtractIPFromXFFHeader(trust...)
}
