package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"dlo/db"
)

// version is set by the linker in a release.
var version = "dev"

type versionCommand struct{}

func (versionCommand) Run() error {
	fmt.Printf("dlo %s (commit %s, %s, SQLite %s)\n", version, commit(), runtime.Version(), db.SQLiteVersion())
	return nil
}

func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return "unknown"
}
