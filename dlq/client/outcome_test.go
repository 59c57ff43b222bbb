package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dlo/dlq"
)

// recorded answers every call with the same body and keeps what was asked.
func recorded(t *testing.T, answer string) (*Client, *[]string) {
	t.Helper()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		asked = append(asked, r.Method+" "+r.URL.RequestURI()+" "+r.Header.Get("Authorization")+" "+string(b))
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return testClient(t, server.URL, ""), &asked
}

func TestLookupSaysWhatWouldBeTried(t *testing.T) {
	c, asked := recorded(t, `{"items":[{"source":"wiki","doc_id":"7","dlq_id":"01J","status":"parked","advice":"skip","why":"nothing changed"}]}`)
	advice, err := c.Lookup(context.Background(), Document{Source: "wiki", DocID: "7", SourceVersion: `W/"a"`,
		Versions: map[string]string{"parser": "p@1", "ocr": "o@2"}})
	if err != nil || !advice.Skip() || advice.Absent() {
		t.Fatalf("got %+v, %v", advice, err)
	}
	want := `POST /api/v1/dead-letters/lookup Bearer secret-token [{"doc_id":"7","parser_version":"p@1","source":"wiki","source_version":"W/\"a\"","versions":{"ocr":"o@2"}}]`
	if (*asked)[0] != want {
		t.Errorf("asked %s\nwant  %s", (*asked)[0], want)
	}
}

func TestLookupBatchAsksAThousandAtATime(t *testing.T) {
	var sizes []int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var docs []map[string]any
		if err := json.NewDecoder(r.Body).Decode(&docs); err != nil {
			t.Error(err)
		}
		sizes = append(sizes, len(docs))
		items := make([]Advice, len(docs))
		for i, d := range docs {
			items[i] = Advice{DocID: d["doc_id"].(string), Status: "absent"}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"items": items})
	}))
	defer server.Close()
	docs := make([]Document, 2001)
	for i := range docs {
		docs[i] = Document{Source: "wiki", DocID: strings.Repeat("x", i%7+1)}
	}
	got, err := testClient(t, server.URL, "").LookupBatch(context.Background(), docs)
	if err != nil || len(got) != 2001 || got[2000].DocID != docs[2000].DocID {
		t.Fatalf("%d answers, %v", len(got), err)
	}
	if len(sizes) != 3 || sizes[0] != 1000 || sizes[2] != 1 {
		t.Errorf("calls of %v documents", sizes)
	}
}

func TestOutcomesAnswerForEachLine(t *testing.T) {
	c, _ := recorded(t, `{"line":1,"applied":true,"dlq_id":"01J","status":"resolved"}
{"line":2,"status":422,"problem":{"title":"Unprocessable","errors":[{"pointer":"/result","detail":"committed, skipped, superseded or failed expected"}]}}
`)
	lines, err := c.Outcomes(context.Background(), []Outcome{{RedriveID: "a", Result: dlq.OutcomeCommitted}, {RedriveID: "b", Result: "maybe"}})
	if err != nil || !lines[0].Applied.Applied || lines[0].Applied.Status != "resolved" || lines[0].Err != nil {
		t.Fatalf("got %+v, %v", lines, err)
	}
	if lines[1].Err == nil || lines[1].Err.Status != 422 || len(lines[1].Err.Faults) != 1 {
		t.Errorf("got %+v", lines[1])
	}
}

func TestDeployedNamesWhatStopped(t *testing.T) {
	c, asked := recorded(t, `{}`)
	if err := c.Deployed(context.Background(), "leases", "parser", "p@2", "p@1"); err != nil {
		t.Fatal(err)
	}
	want := `POST /api/v1/deployments Bearer secret-token {"source":"leases","component":"parser","version":"p@2","stopped":["p@1"]}`
	if (*asked)[0] != want {
		t.Errorf("asked %s\nwant  %s", (*asked)[0], want)
	}
}
