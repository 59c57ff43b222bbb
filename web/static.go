package web

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
)

// assetTypes are the kinds of file that are served. The machine's own table of
// types is not asked: it differs from one to the next.
var assetTypes = map[string]string{
	".css":   "text/css; charset=utf-8",
	".js":    "text/javascript; charset=utf-8",
	".svg":   "image/svg+xml",
	".png":   "image/png",
	".ico":   "image/x-icon",
	".woff2": "font/woff2",
}

type asset struct {
	contentType   string
	plain, zipped []byte // zipped is nil where it saves nothing
}

// Assets serves files that are built into the program, each under an address
// that changes with its content, so that browsers may keep it for ever. It is
// a map from address to bytes and knows no folders: there is no path to climb
// out of and nothing to list.
type Assets struct{ byPath map[string]asset }

// NewAssets reads every file. url gives the address of a file by its name and
// must contain a hash of the content. A file of a kind that is not served is
// an error.
func NewAssets(files fs.FS, url func(name string) string) (*Assets, error) {
	a := &Assets{byPath: map[string]asset{}}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		contentType, ok := assetTypes[path.Ext(name)]
		if !ok {
			return fmt.Errorf("asset %s: files of this kind are not served", name)
		}
		plain, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		zipped, err := zip(plain)
		if err != nil {
			return fmt.Errorf("asset %s: %w", name, err)
		}
		if len(zipped) >= len(plain) {
			zipped = nil
		}
		a.byPath[url(name)] = asset{contentType: contentType, plain: plain, zipped: zipped}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the assets: %w", err)
	}
	return a, nil
}

// Serve answers GET of an asset; for a route that ends in a wildcard. The
// address is compared as it was sent, so no encoding of it is another name.
func (a *Assets) Serve(c echo.Context) error {
	r := c.Request()
	file, ok := a.byPath[r.URL.EscapedPath()]
	if !ok {
		return dlq.Errorf(dlq.KindNotFound, "There is no such file.")
	}
	h := c.Response().Header()
	h.Set("Content-Type", file.contentType)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	body := file.plain
	if file.zipped != nil {
		h.Add("Vary", "Accept-Encoding")
		if acceptsGzip(r.Header.Get("Accept-Encoding")) {
			h.Set("Content-Encoding", "gzip")
			body = file.zipped
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	c.Response().WriteHeader(http.StatusOK)
	_, err := c.Response().Write(body)
	return err
}

func zip(plain []byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(plain); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
