package client

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestTriesCountAndForget(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	file, err := NewFileTries(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, tries := range map[string]Tries{"memory": &MemoryTries{}, "file": file} {
		for i, tried := range []bool{true, false, true} {
			if err := tries.Return(ctx, "a\x00/../b", tried); err != nil {
				t.Fatalf("%s: return %d: %v", name, i, err)
			}
		}
		if got, err := tries.Load(ctx, "a\x00/../b"); err != nil || got != (Returned{3, 1}) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
		if got, err := tries.Load(ctx, "another"); err != nil || got != (Returned{}) {
			t.Errorf("%s: of another message: got %+v, %v", name, got, err)
		}
	}
	// Another process, after this one died.
	again, err := NewFileTries(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := again.Load(ctx, "a\x00/../b"); err != nil || got != (Returned{3, 1}) {
		t.Errorf("after a restart: got %+v, %v", got, err)
	}
	for name, tries := range map[string]Tries{"file": again} {
		for range 2 {
			if err := tries.Forget(ctx, "a\x00/../b"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got, err := tries.Load(ctx, "a\x00/../b"); err != nil || got != (Returned{}) {
			t.Errorf("%s: forgotten: got %+v, %v", name, got, err)
		}
	}
}

func TestTriesAreBounded(t *testing.T) {
	ctx, now := context.Background(), time.Now()
	memory := &MemoryTries{Now: func() time.Time { return now }}
	for i := range maxTries + 1 {
		now = now.Add(time.Millisecond)
		if err := memory.Return(ctx, fmt.Sprint(i), true); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(memory.kept); n > maxTries {
		t.Errorf("%d messages are remembered", n)
	}
	if got, _ := memory.Load(ctx, fmt.Sprint(maxTries)); got.Deliveries != 1 {
		t.Error("the newest was forgotten, and not the oldest")
	}

	dir := t.TempDir()
	file, err := NewFileTries(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if err := file.Return(ctx, fmt.Sprint(i), true); err != nil {
			t.Fatal(err)
		}
		at := now.Add(time.Duration(i-20) * time.Minute)
		if err := os.Chtimes(file.path(fmt.Sprint(i)), at, at); err != nil {
			t.Fatal(err)
		}
	}
	old := now.Add(-triesKept - time.Hour)
	if err := os.Chtimes(file.path("19"), old, old); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x.json-1.tmp"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(dir, "x.json-1.tmp"), old, old); err != nil {
		t.Fatal(err)
	}
	if err := file.prune(10); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(left) != 9 {
		t.Errorf("%d files are left, want the 9 newest", len(left))
	}
	if got, _ := file.Load(ctx, "18"); got.Deliveries != 1 {
		t.Error("the newest was forgotten")
	}
	if got, _ := file.Load(ctx, "19"); got.Deliveries != 0 {
		t.Error("one of last month is still there")
	}
}

func TestADamagedFileOfTriesIsNothing(t *testing.T) {
	file, err := NewFileTries(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file.path("a"), []byte(`{"deliv`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := file.Load(context.Background(), "a"); err != nil || got != (Returned{}) {
		t.Errorf("got %+v, %v", got, err)
	}
}
