package fingerprint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCanonicalTextsOfThisVersionAreFrozen pins f1. Digests are stored: if a
// change moves one of these texts it is not a fix of f1 but a new version, which
// gets files of its own. There is deliberately no switch that rewrites them.
func TestCanonicalTextsOfThisVersionAreFrozen(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(names) < 12 {
		t.Fatalf("%d traces, %v", len(names), err)
	}
	for _, name := range names {
		trace, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(strings.TrimSuffix(name, ".txt") + ".canonical")
		if err != nil {
			t.Fatal(err)
		}
		if got := ofTrace(string(trace)).Canonical; got != string(want) {
			t.Errorf("%s\n got\n%s want\n%s", name, got, want)
		}
	}
}

// TestCanonicalTextsOfTheCorpusAreFrozen pins f1 on every trace of the corpus,
// where that is here.
func TestCanonicalTextsOfTheCorpusAreFrozen(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(corpusFolder, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		t.Skip("the corpus of real traces is not here")
	}
	frozen, err := os.ReadFile("testdata/f1-corpus.canonical")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, text := range strings.Split("\n"+string(frozen), "\n== ")[1:] {
		name, canonical, _ := strings.Cut(text, "\n")
		want[name] = strings.TrimSuffix(canonical, "\n")
	}
	for _, path := range names {
		name := filepath.Base(path)
		if want[name] == "" {
			continue // it came after the freeze
		}
		got := strings.TrimSuffix(ofTrace(corpusTrace(t, name)).Canonical, "\n")
		if got != want[name] {
			t.Errorf("%s: the canonical text moved. That is a new version of the algorithm, not a fix of %s.\n got\n%s\n want\n%s", name, Version, got, want[name])
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("%s is frozen and not in the corpus", name)
	}
}

// TestDigestIsFrozen pins the hash itself, and that nothing but the canonical
// text goes into it.
func TestDigestIsFrozen(t *testing.T) {
	// printf 'f1\nmode=none\n' | sha256sum | cut -c1-32
	const want = "f1:75fa495c7c2be71808ba508f5e2517bc"
	if got := Of(Input{}).String(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
