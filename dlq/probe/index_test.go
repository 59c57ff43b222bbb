package probe

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
)

func TestTheIndexIsAskedWhatItHolds(t *testing.T) {
	seq := int64(88213774)
	answers := map[string]http.HandlerFunc{
		"there":   func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("ETag", `"7"`) },
		"in json": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"doc":{"rev":7,"seq":88213774}}`) },
		"twice":   func(w http.ResponseWriter, _ *http.Request) { w.Header()["Etag"] = []string{`"7"`, `"8"`} },
		"unnamed": func(http.ResponseWriter, *http.Request) {},
		"missing": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) },
		"busy":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) },
		"denied":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) },
		"elsewhere": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/there")
			w.WriteHeader(302)
		},
		"no json": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") },
		"too long": func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"doc":{"rev":"7"},"x":"`+strings.Repeat("x", 70_000)+`"}`)
		},
	}
	s := newSource(t, func(w http.ResponseWriter, r *http.Request) { answers[strings.TrimPrefix(r.URL.Path, "/doc/")](w, r) })
	byHeader := dlq.OutcomePolicy{Mode: dlq.OutcomesCheck, CheckURL: s.URL + "/doc/{doc_id}", CheckFrom: "header:ETag"}
	byJSON := byHeader
	byJSON.CheckFrom, byJSON.CheckSeqFrom = "json:/doc/rev", "json:/doc/seq"
	for _, c := range []struct {
		doc    string
		policy dlq.OutcomePolicy
		want   dlq.IndexNow
		said   string
	}{
		{"there", byHeader, dlq.IndexNow{Status: 200, Found: true, Holds: `"7"`}, ""},
		{"twice", byHeader, dlq.IndexNow{Status: 200, Found: true, Holds: `"7", "8"`}, ""},
		{"unnamed", byHeader, dlq.IndexNow{Status: 200, Found: true}, "names no version"},
		{"in json", byJSON, dlq.IndexNow{Status: 200, Found: true, Holds: "7", Seq: &seq}, ""},
		{"no json", byJSON, dlq.IndexNow{Status: 200, Found: true}, "names no version"},
		{"too long", byJSON, dlq.IndexNow{Status: 200, Found: true}, "names no version"},
		{"missing", byHeader, dlq.IndexNow{Status: 404}, "not there yet"},
		{"busy", byHeader, dlq.IndexNow{Status: 503}, "The index answers 503"},
		{"denied", byHeader, dlq.IndexNow{Status: 401}, "does not let us see"},
		{"elsewhere", byHeader, dlq.IndexNow{Status: 302}, "never followed"},
		{"../there", byHeader, dlq.IndexNow{}, "cannot be asked"},
	} {
		got := prober().AskIndex(context.Background(), c.policy, "wiki", c.doc)
		if got.Status != c.want.Status || got.Found != c.want.Found || got.Holds != c.want.Holds || (got.Seq == nil) != (c.want.Seq == nil) || got.Seq != nil && *got.Seq != *c.want.Seq {
			t.Errorf("%s: got %+v, want %+v", c.doc, got, c.want)
		}
		if !strings.Contains(got.Sentence, c.said) || c.said == "" && got.Sentence != "" {
			t.Errorf("%s: said %q, want %q", c.doc, got.Sentence, c.said)
		}
		if strings.Contains(strings.ToLower(got.Sentence), "source") || strings.Contains(got.Sentence, "127.0.0.1") {
			t.Errorf("%s: said %q", c.doc, got.Sentence)
		}
	}
}

func TestASilentIndexIsLeftWhenTheContextEnds(t *testing.T) {
	s := newSource(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	got := prober().AskIndex(ctx, dlq.OutcomePolicy{CheckURL: s.URL + "/doc/{doc_id}", CheckFrom: "header:ETag"}, "wiki", "1")
	if got.Found || got.Sentence != "The index did not answer in time." {
		t.Errorf("got %+v", got)
	}
}
