package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A typo in --data must not be answered from a new, empty database.
func TestSubcommandsDoNotMakeADatabaseWhereNoneIs(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "nowhere")
	data := dataFlags{Data: folder}
	for name, run := range map[string]func(context.Context) error{
		"check":        checkCommand{dataFlags: data}.Run,
		"sweep":        sweepCommand{data}.Run,
		"token create": tokenCreate{dataFlags: data, Name: "t", Scope: nil}.Run,
		"user list":    userList{data}.Run,
		"source list":  sourceList{data}.Run,
		"audit head":   auditHead{data}.Run,
	} {
		if err := run(t.Context()); err == nil || !strings.Contains(err.Error(), "there is no database") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(folder); !os.IsNotExist(err) {
			t.Fatalf("%s made %s", name, folder)
		}
	}
}

func TestOneProcessServesFromAFolder(t *testing.T) {
	data := dataFlags{Data: t.TempDir()}
	first, err := data.open(t.Context(), true, false)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := data.open(t.Context(), true, false); err == nil {
		t.Error("a second one took the lock", second.Close())
	}
	beside, err := data.open(t.Context(), false, true)
	if err != nil {
		t.Fatalf("a subcommand beside it: %v", err)
	}
	if err := beside.Close(); err != nil {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	again, err := data.open(t.Context(), true, false)
	if err != nil {
		t.Fatalf("after the first ended: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}
