package db_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"testing"
)

// A libc of another version than the one that the generated engine was made
// with has corrupted databases.
func TestTheLibcIsTheOneThatTheEngineNames(t *testing.T) {
	module := func(path string) (m struct{ Version, GoMod string }) {
		t.Helper()
		out, err := exec.Command("go", "list", "-m", "-json", path).Output()
		if err != nil {
			t.Skipf("go list does not answer: %v", err)
		}
		if err := json.NewDecoder(bytes.NewReader(out)).Decode(&m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	engine, libc := module("modernc.org/sqlite"), module("modernc.org/libc")
	mod, err := os.ReadFile(engine.GoMod)
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`(?m)^\s*(?:require )?modernc\.org/libc (\S+)`).FindSubmatch(mod)
	if named == nil {
		t.Fatalf("sqlite %s names no libc", engine.Version)
	}
	if string(named[1]) != libc.Version {
		t.Errorf("libc is %s, and sqlite %s was made with %s", libc.Version, engine.Version, named[1])
	}
}
