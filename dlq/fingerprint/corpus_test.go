package fingerprint

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const corpusFolder = "../../../shared/cases/traces"

// covered are the languages this version parses.
var covered = set("python", "java", "kotlin", "scala", "go", "node", "dotnet", "ruby", "php", "rust", "powershell", "native")

type corpusFrame struct{ Function, File string }

type corpusCase struct {
	File      string        `json:"file"`
	Lang      string        `json:"lang"`
	Type      string        `json:"expected_type"`
	Frames    []corpusFrame `json:"expected_top_frames"`
	RootType  string        `json:"root_type"`
	RootFrame []corpusFrame `json:"root_frames"`
}

type corpusPair struct {
	A, B, Expect string
	Hard         bool
}

func openCorpus(t *testing.T) (cases map[string]corpusCase, pairs []corpusPair) {
	t.Helper()
	if _, err := os.Stat(corpusFolder); err != nil {
		t.Skip("the corpus of real traces is not here")
	}
	cases = map[string]corpusCase{}
	eachLine(t, "index.jsonl", func(b []byte) error {
		var c corpusCase
		err := json.Unmarshal(b, &c)
		cases[c.File] = c
		return err
	})
	eachLine(t, "pairs.jsonl", func(b []byte) error {
		var p corpusPair
		err := json.Unmarshal(b, &p)
		pairs = append(pairs, p)
		return err
	})
	return cases, pairs
}

func eachLine(t *testing.T, name string, do func([]byte) error) {
	t.Helper()
	f, err := os.Open(filepath.Join(corpusFolder, name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		if err := do(s.Bytes()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
}

func corpusTrace(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(corpusFolder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestCorpusPairsAreSameOrApartAsLabelled(t *testing.T) {
	cases, pairs := openCorpus(t)
	right, all := map[string]int{}, map[string]int{}
	for _, p := range pairs {
		if !covered[cases[p.A].Lang] || !covered[cases[p.B].Lang] {
			continue
		}
		a, b := Of(Input{Trace: corpusTrace(t, p.A)}), Of(Input{Trace: corpusTrace(t, p.B)})
		all[p.Expect]++
		if (a.Digest == b.Digest) == (p.Expect == "same") {
			right[p.Expect]++
			continue
		}
		t.Logf("%s expected of %s and %s (hard: %v)\n%s\n%s", p.Expect, p.A, p.B, p.Hard, a.Canonical, b.Canonical)
	}
	for _, expect := range []string{"same", "apart"} {
		t.Logf("%s: %d of %d right", expect, right[expect], all[expect])
		if right[expect]*100 < all[expect]*95 {
			t.Errorf("%s: fewer than 95 in 100 right", expect)
		}
	}
}

func TestCorpusTypesAndFramesAreReadAsRecorded(t *testing.T) {
	cases, _ := openCorpus(t)
	right, all := 0, 0
	for _, c := range cases {
		if !covered[c.Lang] {
			continue
		}
		all++
		a := analyse(Input{Trace: corpusTrace(t, c.File)})
		outer := a.parsed.outer
		if outer == nil {
			t.Logf("%s: nothing read", c.File)
			continue
		}
		frames := outer.frames
		if len(frames) == 0 && len(outer.leaves) > 0 {
			frames = outer.leaves[0].frames // a group that was never thrown has no stack
		}
		got, want := describe(outer.typ, ours(a.lang, frames)), describe(c.Type, theirs(a.lang, c.Frames))
		ok := agree(got, want)
		if c.RootType != "" {
			root := outer.root()
			rootGot, rootWant := describe(root.typ, ours(a.lang, root.frames)), describe(c.RootType, theirs(a.lang, c.RootFrame))
			if !agree(rootGot, rootWant) {
				ok = false
				got, want = got+"\n  root "+rootGot, want+"\n  root "+rootWant
			}
		}
		if ok {
			right++
			continue
		}
		t.Logf("%s\n  got  %s\n  want %s", c.File, got, want)
	}
	t.Logf("%d of %d right", right, all)
	if right*100 < all*95 {
		t.Error("fewer than 95 in 100 right")
	}
}

// agree compares after the recorded frames: records hold at most three, with
// recursion kept, so the shorter of the two decides.
func agree(got, want string) bool { return got == want || strings.HasPrefix(got, want+" ") }

func describe(typ string, frames []string) string {
	return strings.Join(append([]string{lastSegment(typ)}, frames...), " ")
}

var (
	classNumbers = regexp.MustCompile(`\$\d+`)
	alias        = regexp.MustCompile(` \[as \w+\]`)
)

// ours and theirs bring frames to a common form. The records name a file where
// this package names a class or a package, and keep what it drops: numbers of
// anonymous classes, receivers of JavaScript functions.
func ours(lang *language, frames []frame) []string {
	var out []string
	for _, f := range frames {
		switch lang {
		case &jvm:
			out = append(out, lastSegment(f.Unit)+"."+f.Function)
		case &golang:
			out = append(out, f.Function+"@"+baseName(f.path))
		case &javascript:
			out = append(out, strings.TrimPrefix(f.Function, "new ")+"@"+baseName(strings.TrimPrefix(f.Unit, "node:")))
		case &dotnet:
			out = append(out, f.Function)
		default:
			out = append(out, f.String())
		}
	}
	return slices.Compact(out)
}

func theirs(lang *language, frames []corpusFrame) []string {
	var out []string
	for _, f := range frames {
		switch lang {
		case &jvm:
			out = append(out, classNumbers.ReplaceAllString(f.Function, ""))
		case &javascript:
			name := strings.TrimPrefix(alias.ReplaceAllString(f.Function, ""), "new ")
			out = append(out, name[strings.LastIndexByte(name, '.')+1:]+"@"+f.File)
		case &dotnet:
			if read := dotnetFrame("   at " + f.Function + "()"); read != nil {
				out = append(out, read.Function)
			}
		case &ruby:
			out = append(out, rubyFunction(f.Function)+"@"+f.File)
		default:
			out = append(out, f.Function+"@"+strings.Replace(f.File, "<frozen codecs>", "codecs.py", 1))
		}
	}
	return slices.Compact(out)
}

func TestCorpusNeverPanicsAndIsBounded(t *testing.T) {
	cases, _ := openCorpus(t)
	for _, c := range cases {
		in := Input{Trace: corpusTrace(t, c.File)}
		r := Of(in)
		if len(r.Digest) != 32 || len(r.Frames) > 3 || r.Canonical == "" {
			t.Errorf("%s: malformed result %+v", c.File, r)
		}
		if n := len(Annotate(in, r)); n > maxLines {
			t.Errorf("%s: %d lines", c.File, n)
		}
	}
}
