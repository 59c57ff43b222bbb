package web

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net"
	"strings"
	"testing"
	"testing/fstest"

	"bufio"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"
)

var assetFiles = fstest.MapFS{
	"app.css":        {Data: []byte(strings.Repeat("body { color: black }\n", 200))},
	"app.js":         {Data: []byte("x")},
	"vendor/lib.js":  {Data: []byte("lib")},
	"icons/logo.svg": {Data: []byte("<svg/>")},
}

func assetURL(name string) string {
	sum := sha256.Sum256(assetFiles[name].Data)
	return "/static/" + hex.EncodeToString(sum[:6]) + "/" + name
}

func TestAssetsAreServedUnderTheirHashAlone(t *testing.T) {
	assets, err := NewAssets(assetFiles, assetURL)
	if err != nil {
		t.Fatal(err)
	}
	s := startSite(t, ServerConfig{Pages: testPages}, func(e *echo.Echo) { e.GET("/static/*", assets.Serve) })
	for name, contentType := range map[string]string{"app.css": "text/css; charset=utf-8", "app.js": "text/javascript; charset=utf-8", "vendor/lib.js": "text/javascript; charset=utf-8", "icons/logo.svg": "image/svg+xml"} {
		answer, body := s.send(t, "GET", assetURL(name), "")
		h := answer.Header
		if answer.StatusCode != 200 || body != string(assetFiles[name].Data) || h.Get("Content-Type") != contentType || h.Get("Cache-Control") != "public, max-age=31536000, immutable" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %d %v", name, answer.StatusCode, h)
		}
	}
	answer, body := s.send(t, "GET", assetURL("app.css"), "", "Accept-Encoding", "gzip")
	z, err := gzip.NewReader(strings.NewReader(body))
	if err != nil || answer.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("not compressed: %v", err)
	}
	if plain, err := io.ReadAll(z); err != nil || string(plain) != string(assetFiles["app.css"].Data) {
		t.Errorf("unpacks to %d bytes (%v)", len(plain), err)
	}
	if answer, _ := s.send(t, "GET", assetURL("app.js"), "", "Accept-Encoding", "gzip"); answer.Header.Get("Content-Encoding") != "" {
		t.Error("a file of one byte was compressed into more")
	}

	app := assetURL("app.css")
	for _, path := range []string{
		"/static/", "/static", "/static/app.css", "/static/000000000000/app.css", "/static/%2e%2e%2fgo.mod", "/static/../go.mod", "/static/..%2fgo.mod", "/static%2f..", "/static/%2e%2e/%2e%2e/etc/passwd", `/static/..\go.mod`, "/static/..%5cgo.mod",
		app + "/", app + "%00", app + "%20", "/static/." + strings.TrimPrefix(app, "/static"), strings.Replace(app, "app.css", "app%2ecss", 1), strings.Replace(app, "/app", "%2Fapp", 1), strings.Replace(app, "/app", "//app", 1), strings.ToUpper(app), "/STATIC" + strings.TrimPrefix(app, "/static"), "/static//etc/passwd", "/static/vendor/", "/static/icons",
	} {
		// Sent by hand: a client would tidy the path up.
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != 404 && answer.StatusCode != 400 {
			t.Errorf("%s: %d, want 404", path, answer.StatusCode)
		}
		if cache := answer.Header.Get("Cache-Control"); answer.StatusCode == 404 && cache != "no-store" {
			t.Errorf("%s: a missing file may be cached: %s", path, cache)
		}
		conn.Close()
	}
}

func TestAFileOfAnUnknownKindIsNotServed(t *testing.T) {
	if _, err := NewAssets(fstest.MapFS{"notes.txt": {}}, assetURL); err == nil {
		t.Error("notes.txt was taken")
	}
}
