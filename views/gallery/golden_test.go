package gallery

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the snapshots anew")

// assetHash is the part of an asset's address that changes with its content.
var assetHash = regexp.MustCompile(`(/static/[a-z0-9./-]+)\.[0-9a-f]{12}\.`)

// TestMarkupIsAsItWas holds the markup still. Of a page it keeps what is
// inside main: the frame round it is the same everywhere and is kept once, by
// the page called "cohorts". After a change that is meant, look at the pages
// and run the test with -update.
func TestMarkupIsAsItWas(t *testing.T) {
	for _, item := range All() {
		t.Run(item.Name, func(t *testing.T) {
			html := assetHash.ReplaceAllString(render(t, item.Component), "$1.")
			if item.Page && item.Name != "cohorts" {
				html = html[strings.Index(html, "<main"):strings.Index(html, "</main>")]
			}
			got := strings.ReplaceAll(html, "><", ">\n<") + "\n"
			file := filepath.Join("testdata", item.Name+".html")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("markup changed (-was +is):\n%s", diff)
			}
		})
	}
}

func TestEverySnapshotHasItsItem(t *testing.T) {
	files, err := filepath.Glob("testdata/*.html")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, item := range All() {
		names[item.Name] = true
	}
	for _, f := range files {
		if name := strings.TrimSuffix(filepath.Base(f), ".html"); !names[name] {
			t.Errorf("%s is of an item that is gone", f)
		}
	}
}
