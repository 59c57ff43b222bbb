package pipeline

import (
	"dlo/dlq/fingerprint"
	"encoding/json"
	"testing"
)

func TestScratch(t *testing.T) {
	type k struct {
		d  Defect
		fp string
	}
	n := map[k]int{}
	canon := map[string]string{}
	for _, ver := range []*parser{oldParser(), newParser()} {
		for _, d := range planDocuments(1, fixedNow) {
			if d.Defect == "" {
				continue
			}
			b, _ := d.content()
			err := attempt(ver, d.Source, b)
			if err == nil {
				continue
			}
			f := describe(err)
			v := ""
			if len(f.Rules) > 0 {
				j, _ := json.Marshal(f.Rules)
				v = string(j)
			}
			c := 0.0
			if f.Confidence != nil {
				c = *f.Confidence
			}
			r := fingerprint.Of(fingerprint.Input{ErrorType: f.Type, ErrorMessage: f.Message, Trace: f.Trace, Validation: v, Source: d.Source, Reason: string(f.Reason), Stage: f.Stage, Confidence: c})
			n[k{d.Defect, r.Digest + " " + ver.name}]++
			canon[r.Digest] = r.Canonical + " conf=" + r.Confidence
		}
	}
	for k, v := range n {
		t.Log(k.d, k.fp, v)
	}
	for d, c := range canon {
		t.Logf("%s\n%s", d, c)
	}
}
