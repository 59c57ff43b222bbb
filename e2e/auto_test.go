package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

// TestAutoRedriveOfACorrectedAndADeletedDocument redrives a cohort of 50 by what
// its source says: one document was corrected there and goes with its new bytes,
// one was deleted and stays, and both are said. The others go as they failed.
func TestAutoRedriveOfACorrectedAndADeletedDocument(t *testing.T) {
	d := startDemo(t)
	office := d.api(t)
	broken := d.documents(t, "trailer without root")
	// The cohort has 46. Four more come of the same export, under names of their own.
	leases := filepath.Join(d.data, "pipeline", "documents", "leases")
	for n := range 4 {
		bytes, err := os.ReadFile(filepath.Join(leases, broken[n].DocID+".pdf"))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(leases, fmt.Sprintf("LS-99%02d.pdf", n)), fmt.Appendf(bytes, "%% copy %d\n", n), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d.control(t, "sync", map[string]string{"source": "leases"})
	cohort := entryOf(office, broken[0]).Cohort
	query := "cohort:" + cohort + " status:parked"
	var all struct {
		Items []struct {
			DLQID string `json:"dlq_id"`
		} `json:"items"`
	}
	office.must(http.MethodGet, "/dead-letters?limit=500&q="+url.QueryEscape(query), nil, &all)
	if len(all.Items) != 50 {
		t.Fatalf("the cohort has %d documents, want 50", len(all.Items))
	}

	corrected, deleted := broken[10], broken[20]
	failed := entryOf(office, corrected)
	d.control(t, "parser", map[string]string{"version": "new"})
	d.control(t, "edit", map[string]string{"source": corrected.Source, "doc_id": corrected.DocID})
	d.control(t, "delete", map[string]string{"source": deleted.Source, "doc_id": deleted.DocID})
	newBytes, err := os.ReadFile(filepath.Join(leases, corrected.DocID+".pdf"))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(newBytes)
	newDigest := hex.EncodeToString(sum[:])

	var o operationStand
	office.must(http.MethodPost, "/redrives", map[string]any{"query": query, "expect": 50, "mode": "auto", "reason": "the newer parser repairs the trailer"}, &o)
	c := &chaos{t: t, office: office}
	eventually(t, "the operation is done", func() bool {
		o = c.operation(o.ID)
		if o.State == "stopped" || o.State == "paused" {
			t.Fatalf("the operation is %s: %s", o.State, o.Why)
		}
		return o.State == "done"
	})
	if o.LeftOut["gone_at_source"] != 1 || o.Counts["left_out"] != 1 || o.Counts["settled"] != 49 || o.sum() != 50 {
		t.Errorf("it says %v, left out %v", o.Counts, o.LeftOut)
	}
	said := map[string]operationItem{}
	for _, i := range c.items(o.ID) {
		said[i.DocID] = i
	}
	if i := said[deleted.DocID]; i.State != "left_out" || i.Why != "gone_at_source" || i.Outcome != "" {
		t.Errorf("of the deleted document it says %+v", i)
	}
	if i := said[corrected.DocID]; i.State != "settled" || i.Outcome != "committed" || i.Verdict != "undetermined" {
		t.Errorf("of the corrected document it says %+v", i)
	}

	// The corrected document went with its new bytes, and those are what was committed.
	e := entryOf(office, corrected)
	// If it was to be a canary first, it gave its place to another, unsent.
	if e.Status != "resolved" || len(e.Redrives) == 0 || e.Redrives[0].Mode != "source" || e.Redrives[0].Verdict.Bytes != "changed" {
		t.Errorf("the corrected document: %+v", e)
	}
	commits := d.commitsOf(t, corrected)
	if len(commits) != 1 || commits[0].ContentHash != newDigest || commits[0].Count != 1 {
		t.Errorf("the pipeline committed %+v of it, and its bytes are %s", commits, newDigest)
	}
	if failed.Status != "parked" {
		t.Errorf("before, it was %s", failed.Status)
	}
	// The deleted document was sent to nobody, and waits for a decision.
	e = entryOf(office, deleted)
	if e.Status != "parked" || len(d.commitsOf(t, deleted)) != 0 {
		t.Errorf("the deleted document: %+v", e)
	}
	// All others went as they failed.
	for docID, i := range said {
		if docID == corrected.DocID || docID == deleted.DocID {
			continue
		}
		if i.State != "settled" || (i.Verdict != "fixed_by_code" && i.Verdict != "next_defect") {
			t.Errorf("of %s it says %+v", docID, i)
		}
	}

	b := d.signIn(t, "reviewer")
	b.open(d.address + "/operations/" + o.ID)
	b.says("gone at its source")
	b.open(d.address + "/operations/" + o.ID + "?state=left_out")
	b.says(deleted.DocID)
	b.open(d.address + "/entries/" + entryOf(office, corrected).DLQID)
	b.says("Both changed, cannot tell")
	b.open(d.address + "/entries/" + entryOf(office, deleted).DLQID)
	b.says("gone")
	b.quiet(d.address)
}
