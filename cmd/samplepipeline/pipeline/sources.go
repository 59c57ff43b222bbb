package pipeline

import (
	_ "embed"
	"strings"
	"time"

	"dlo/dlq"
)

//go:embed runbooks.md
var runbookText string

// Sources gives the policies under which the server should hold the pipeline's
// sources: where to ask what a document is now, where to send it back, who owns
// it, and what to do about its failures. baseURL is the one that Run prints;
// secret signs the redrives (whsec_…, "" for unsigned ones, which the pipeline
// refuses).
func Sources(baseURL, secret string) []dlq.SourcePolicy {
	baseURL = strings.TrimSuffix(baseURL, "/")
	owners := map[string]string{
		sourceLeases: "lease-intake@example.com", sourceChangeOrders: "cost-control@example.com",
		sourceRentRolls: "lease-intake@example.com", sourceSubmittals: "site-documents@example.com",
	}
	var out []dlq.SourcePolicy
	for _, name := range sourceNames {
		p := dlq.DefaultPolicy(name)
		p.Owner = owners[name]
		p.Redrive.URL, p.Redrive.Secret = baseURL+"/redrive", secret
		p.Redrive.Retry.Budget = dlq.Duration(time.Hour)
		p.Probe.URL = baseURL + "/docs/" + name + "/{doc_id}"
		if name == sourceSubmittals { // it sends no entity tag
			p.Probe.ETagFrom, p.Probe.Kind = "header:Last-Modified", "last-modified"
		}
		p.Runbook = runbook(name)
		out = append(out, p)
	}
	return out
}

// runbook gives the part of runbooks.md under the heading that is the source's
// name.
func runbook(source string) string {
	for _, part := range strings.Split("\n"+runbookText, "\n# ") {
		if heading, text, _ := strings.Cut(part, "\n"); heading == source {
			return strings.TrimSpace(text)
		}
	}
	return ""
}
