package static

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
)

// The digest is that of dist/htmx.min.js in the npm package htmx.org 2.0.11.
func TestVendoredHTMXIsThePublishedFile(t *testing.T) {
	const published = "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"
	b, err := FS.ReadFile(HTMX)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b)
	if got := hex.EncodeToString(sum[:]); got != published {
		t.Errorf("sha256 of %s = %s, want %s", HTMX, got, published)
	}
	licence, err := os.ReadFile("vendor/htmx-LICENSE")
	if err != nil || !strings.Contains(string(licence), "Zero-Clause BSD") {
		t.Errorf("the licence of htmx is not beside it (%v)", err)
	}
}

func TestURLChangesWithTheContent(t *testing.T) {
	for _, name := range []string{"app.css", "screens.css", "app.js", "search.js", "theme.js", "icon.svg", HTMX} {
		content, err := FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(content)
		ext := path.Ext(name)
		want := Prefix + strings.TrimSuffix(name, ext) + "." + hex.EncodeToString(sum[:])[:12] + ext
		if got := URL(name); got != want {
			t.Errorf("URL(%q) = %s, want %s", name, got, want)
		}
	}
}

func TestEveryEmbeddedFileHasAURL(t *testing.T) {
	err := fs.WalkDir(FS, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && urls[name] == "" {
			t.Errorf("%s is embedded but has no URL", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The policy of the pages forbids inline styles, eval and other hosts, so what
// needs them would fail in the browser only.
func TestOwnFilesNeedNothingThatThePolicyForbids(t *testing.T) {
	for name, forbidden := range map[string][]string{
		"app.js":      {"eval(", "new Function", "innerHTML", ".style.", "style=", "document.write", "http://", "https://"},
		"theme.js":    {"eval(", "innerHTML", ".style."},
		"app.css":     {"http:", "https:", "data:", "@import", "url("},
		"screens.css": {"http:", "https:", "data:", "@import", "url("},
	} {
		b, err := FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range forbidden {
			if strings.Contains(string(b), f) {
				t.Errorf("%s contains %q", name, f)
			}
		}
	}
}
