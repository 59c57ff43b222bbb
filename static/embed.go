// Package static holds the files that every page asks for: two style sheets,
// four small scripts, an icon and htmx. It knows their content and the address
// that changes with it; how they are served (types, caching, headers) is left
// to whoever has the HTTP server.
package static

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"path"
	"strings"
)

// FS holds the files under the names that URL takes.
//
//go:embed app.css screens.css app.js live.js search.js theme.js icon.svg vendor/htmx-2.0.11.min.js
var FS embed.FS

// HTMX is the name of the vendored htmx. The version is pinned: 4.x reads
// attributes differently, and hx-disable no longer fences untrusted text.
const HTMX = "vendor/htmx-2.0.11.min.js"

// Prefix is the path below which every asset stands.
const Prefix = "/static/"

var urls = map[string]string{} // name → path

func init() {
	for _, name := range []string{"app.css", "screens.css", "app.js", "live.js", "search.js", "theme.js", "icon.svg", HTMX} {
		content, err := FS.ReadFile(name)
		if err != nil {
			panic(fmt.Sprintf("static: %v", err)) // cannot happen: the compiler embeds the same list
		}
		ext := path.Ext(name)
		sum := sha256.Sum256(content)
		urls[name] = Prefix + strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:6]) + ext
	}
}

// URL gives the path of a file, with the first 12 hex digits of its SHA-256 in
// it, so that it may be cached for ever. It panics on a name that is not
// embedded: that is a fault of the program which the first test of any page
// meets.
func URL(name string) string {
	p, ok := urls[name]
	if !ok {
		panic("static: no file named " + name)
	}
	return p
}
