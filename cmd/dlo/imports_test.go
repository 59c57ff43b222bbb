package main

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// mayImport is who may import whom: for each package, by the longest prefix that
// matches it, the packages of ours that it may name. "dlo/x/..." is a package
// and everything below it.
var mayImport = map[string][]string{
	"dlo/cmd/dlo":                        {"dlo/..."},
	"dlo/cmd/bench":                      {"dlo/..."},
	"dlo/cmd/samplepipeline":             {"dlo/cmd/samplepipeline/pipeline"},
	"dlo/cmd/samplepipeline/pipeline":    {"dlo/dlq", "dlo/dlq/client"},
	"dlo/handlers":                       {"dlo/web", "dlo/views/...", "dlo/dlq", "dlo/dlq/..."},
	"dlo/web":                            {"dlo/dlq"},
	"dlo/views":                          {"dlo/static", "dlo/views/..."},
	"dlo/static":                         {},
	"dlo/docs":                           {},
	"dlo/dlq":                            {},
	"dlo/dlq/fingerprint":                {"dlo/dlq"},
	"dlo/dlq/client":                     {"dlo/dlq"},
	"dlo/dlq/dlqtest":                    {"dlo/dlq"},
	"dlo/dlq/intake":                     {"dlo/dlq", "dlo/dlq/fingerprint"},
	"dlo/dlq/redrive":                    {"dlo/dlq", "dlo/dlq/fingerprint"},
	"dlo/dlq/regroup":                    {"dlo/dlq", "dlo/dlq/fingerprint"},
	"dlo/dlq/probe":                      {"dlo/dlq"},
	"dlo/dlq/sweep":                      {"dlo/dlq"},
	"dlo/db":                             {"dlo/dlq"},
	"dlo/db/dbtest":                      {"dlo/db", "dlo/dlq", "dlo/dlq/dlqtest"},
	"dlo/connectors":                     {"dlo/dlq"},
	"dlo/connectors/payload/payloadtest": {"dlo/dlq", "dlo/connectors/payload"},
	"dlo/e2e":                            {"dlo/dlq", "dlo/dlq/client"},
}

// onlyFrom says which packages may import a package at all.
var onlyFrom = map[string][]string{
	"dlo/cmd/samplepipeline/pipeline": {"dlo/cmd/dlo", "dlo/cmd/samplepipeline", "dlo/cmd/bench"},
}

// standardLibraryOnly may import nothing from outside but the standard library.
var standardLibraryOnly = []string{"dlo/dlq", "dlo/dlq/client", "dlo/dlq/fingerprint"}

type listedPackage struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

func listPackages(t *testing.T, args ...string) []listedPackage {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Standard"}, args...)...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []listedPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p listedPackage
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	return packages
}

func rulesFor(path string) ([]string, bool) {
	for p := path; strings.Contains(p, "/"); p = p[:strings.LastIndexByte(p, '/')] {
		if rules, ok := mayImport[p]; ok {
			return rules, true
		}
	}
	return nil, false
}

func matches(pattern, path string) bool {
	base, tree := strings.CutSuffix(pattern, "/...")
	return path == base || (tree && strings.HasPrefix(path, base+"/"))
}

func TestPackagesImportOnlyWhatTheTableAllows(t *testing.T) {
	packages := listPackages(t, "dlo/...")
	if len(packages) < 20 {
		t.Fatalf("go list found %d packages of ours, and there are more", len(packages))
	}
	for _, p := range packages {
		rules, ok := rulesFor(p.ImportPath)
		if !ok {
			t.Errorf("%s is in no row of the table", p.ImportPath)
			continue
		}
		for _, imported := range p.Imports {
			if !strings.HasPrefix(imported, "dlo/") {
				continue
			}
			if !slices.ContainsFunc(rules, func(rule string) bool { return matches(rule, imported) }) {
				t.Errorf("%s imports %s, and the table does not allow it", p.ImportPath, imported)
			}
			if from, limited := onlyFrom[imported]; limited && !slices.Contains(from, p.ImportPath) {
				t.Errorf("%s imports %s, and only %s may", p.ImportPath, imported, strings.Join(from, ", "))
			}
		}
	}
}

func TestTheDomainNeedsTheStandardLibraryAlone(t *testing.T) {
	for _, path := range standardLibraryOnly {
		for _, p := range listPackages(t, "-deps", path) {
			if !p.Standard && !strings.HasPrefix(p.ImportPath, "dlo/") {
				t.Errorf("%s needs %s, which is not of the standard library", path, p.ImportPath)
			}
		}
	}
}

func TestVerbsDoNotImportVerbs(t *testing.T) {
	verbs := []string{"dlo/dlq/intake", "dlo/dlq/redrive", "dlo/dlq/probe", "dlo/dlq/sweep", "dlo/dlq/triage"}
	for _, p := range listPackages(t, "dlo/dlq/...") {
		if !slices.Contains(verbs, p.ImportPath) {
			continue
		}
		for _, imported := range p.Imports {
			if slices.Contains(verbs, imported) {
				t.Errorf("%s imports %s: verbs do not know each other", p.ImportPath, imported)
			}
		}
	}
}
