package main

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"dlo/connectors/outbound"
)

// dataFlags say where everything is kept. Every subcommand that touches data
// takes them.
type dataFlags struct {
	Data     string `default:"./data" help:"Folder of the database and the payloads." placeholder:"DIR"`
	Database string `help:"Database: sqlite:PATH; by default dlo.db in the data folder." placeholder:"URL"`
	Payloads string `help:"Payload store: file:DIR; by default blobs in the data folder." placeholder:"URL"`
}

func (f dataFlags) databasePath() (string, error) {
	if f.Database == "" {
		return filepath.Join(f.Data, "dlo.db"), nil
	}
	path, ok := strings.CutPrefix(f.Database, "sqlite:")
	if !ok || path == "" {
		return "", fmt.Errorf("--database %q: sqlite:PATH expected", f.Database)
	}
	return path, nil
}

func (f dataFlags) payloadURL() string {
	if f.Payloads == "" {
		return "file:" + filepath.Join(f.Data, "blobs")
	}
	return f.Payloads
}

// serveFlags say how the server is reached and what it may reach.
type serveFlags struct {
	dataFlags
	Listen        string   `default:"127.0.0.1:8080" help:"Address to listen on; port 0 picks one." placeholder:"HOST:PORT"`
	URL           string   `help:"Address that people and pipelines use, as https://dlo.example.com." placeholder:"URL"`
	TrustedProxy  []string `help:"Networks whose X-Forwarded-For is believed." placeholder:"CIDR"`
	OutboundAllow string   `help:"What outbound requests may reach beside public addresses: networks, names, addresses, each with a port or without." placeholder:"LIST"`
	Secret        []string `help:"A secret of probe headers, bound to a host: NAME@HOST=FILE." placeholder:"NAME@HOST=FILE"`
	NoMigrate     bool     `help:"Refuse an older schema in place of migrating it."`
	MaxPayload    int64    `default:"268435456" help:"Bytes of the largest payload that is taken." placeholder:"BYTES"`
	Failpoint     string   `hidden:"" help:"A step of a redrive at which the server kills itself, for tests of what that leaves." placeholder:"STEP:WHEN[:N]"`
}

// serveConfig is what the flags mean, checked before anything listens.
type serveConfig struct {
	serveFlags
	publicURL *url.URL // nil: made from the address that is listened on
	proxies   []netip.Prefix
	allow     []outbound.Allow
	secrets   secrets
	failpoint *failpoint // nil: none, as everywhere but in tests
}

func (f serveFlags) check() (serveConfig, error) {
	c := serveConfig{serveFlags: f}
	host, _, err := net.SplitHostPort(f.Listen)
	if err != nil {
		return c, fmt.Errorf("--listen %q: HOST:PORT expected", f.Listen)
	}
	if f.URL != "" {
		if c.publicURL, err = url.Parse(f.URL); err != nil || c.publicURL.Host == "" || (c.publicURL.Scheme != "http" && c.publicURL.Scheme != "https") {
			return c, fmt.Errorf("--url %q: an http or https address expected", f.URL)
		}
	}
	plain := c.publicURL == nil || c.publicURL.Scheme == "http"
	if plain && !isLoopback(host) {
		return c, fmt.Errorf("--listen %q: without --url https://… only a loopback address expected, because passwords and tokens would travel in the clear", f.Listen)
	}
	for _, p := range f.TrustedProxy {
		prefix, err := netip.ParsePrefix(p)
		if err != nil {
			return c, fmt.Errorf("--trusted-proxy %q: a network such as 10.0.0.0/8 expected", p)
		}
		c.proxies = append(c.proxies, prefix)
	}
	if c.allow, err = outbound.ParseAllow(f.OutboundAllow); err != nil {
		return c, fmt.Errorf("--outbound-allow %q: %w", f.OutboundAllow, err)
	}
	if c.secrets, err = readSecrets(f.Secret); err != nil {
		return c, err
	}
	if c.failpoint, err = parseFailpoint(f.Failpoint); err != nil {
		return c, err
	}
	if f.MaxPayload < 1 {
		return c, fmt.Errorf("--max-payload %d: at least 1 expected", f.MaxPayload)
	}
	return c, nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// secrets are the values of probe headers, each bound to the one host that it is
// ever sent to.
type secrets map[string]secret

type secret struct{ host, value string }

func readSecrets(flags []string) (secrets, error) {
	out := secrets{}
	for _, f := range flags {
		nameHost, file, ok := strings.Cut(f, "=")
		name, host, ok2 := strings.Cut(nameHost, "@")
		if !ok || !ok2 || name == "" || host == "" || file == "" {
			return nil, fmt.Errorf("--secret %q: NAME@HOST=FILE expected", nameHost)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("--secret %s@%s: %w", name, host, err)
		}
		out[name] = secret{strings.ToLower(host), strings.TrimSpace(string(b))}
	}
	return out, nil
}

// forHost gives a secret for a request to a host, if it is bound to that host.
func (s secrets) forHost(name, host string) (string, error) {
	v, ok := s[name]
	if !ok {
		return "", fmt.Errorf("there is no secret %s; it is given at start with --secret %s@%s=FILE", name, name, host)
	}
	if v.host != strings.ToLower(host) {
		return "", fmt.Errorf("the secret %s is bound to another host", name)
	}
	return v.value, nil
}
