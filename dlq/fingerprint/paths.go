package fingerprint

import "strings"

// Traces come from every platform: a path is taken apart at either separator.

func baseName(path string) string {
	return path[strings.LastIndexAny(path, `/\`)+1:]
}

func withSlashes(path string) string { return strings.ReplaceAll(path, `\`, "/") }
