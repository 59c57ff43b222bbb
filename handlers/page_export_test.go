package handlers

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/dlqtest"
	"dlo/dlq/redrive"
)

// ndjsonIDs are the documents of an export, in its order.
func ndjsonIDs(t *testing.T, body string) []string {
	t.Helper()
	var ids []string
	for line := range strings.Lines(body) {
		var row struct {
			ID string `json:"dlq_id"`
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		ids = append(ids, row.ID)
	}
	return ids
}

func csvIDs(t *testing.T, body string) []string {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	if err != nil || len(records) == 0 || records[0][0] != "dlq_id" {
		t.Fatalf("%d records, %v", len(records), err)
	}
	var ids []string
	for _, r := range records[1:] {
		ids = append(ids, r[0])
	}
	return ids
}

func TestAnExportIsWhatTheListShows(t *testing.T) {
	s := newSite(t)
	for i := range 450 { // more than two pages of an export
		source := []string{"wiki", "leases"}[i%2]
		s.park(fmt.Sprintf(`"source":%q,"doc_id":"doc-%d","error_type":"E%d","error_message":"=HYPERLINK(1) <b> %d","event_id":"%d","labels":{"region":"eu"},"stack_trace":"a trace"`, source, i, i%3, i, i))
	}
	for _, c := range []struct {
		who     *visitor
		query   string
		want    int
		sort    string
		limited bool
	}{
		{s.signIn(dlq.RoleReviewer), "status:parked", 450, "", false}, {s.signIn(dlq.RoleManager), `type:E1 hyperlink`, 150, "oldest", false},
		{s.signIn(dlq.RoleAuditor, "wiki"), "status:open", 225, "attempts", true}, {s.signIn(dlq.RoleAdmin, "none"), "", 0, "", true},
	} {
		address := url.Values{"q": {c.query}, "sort": {c.sort}}.Encode()
		lines, cells := c.who.get("/entries/export.ndjson?"+address), c.who.get("/entries/export.csv?"+address)
		if lines.status != http.StatusOK || cells.status != http.StatusOK {
			t.Fatalf("%s: %d and %d", c.query, lines.status, cells.status)
		}
		ids := ndjsonIDs(t, lines.body)
		if len(ids) != c.want || !slices.Equal(ids, csvIDs(t, cells.body)) {
			t.Errorf("%q: %d lines, %d cells, want %d in one order", c.query, len(ids), len(csvIDs(t, cells.body)), c.want)
		}
		if c.limited && strings.Contains(lines.body+cells.body, "leases") {
			t.Errorf("%q hands out another source's documents", c.query)
		}
		if got := cells.header.Get("Content-Type"); !strings.HasPrefix(got, "text/csv") || !strings.Contains(cells.header.Get("Content-Disposition"), "attachment") {
			t.Errorf("the CSV is a %s", got)
		}
		newest := s.trail()[0]
		if newest.Action != "export" || !strings.Contains(newest.Detail, fmt.Sprintf(`"rows":%d`, c.want)) || strings.Contains(newest.Detail, "hyperlink") || !strings.Contains(newest.Detail, "query_sha256") {
			t.Errorf("the trail says %s: %s", newest.Action, newest.Detail)
		}
	}
}

func TestWhoMayNotExportIsNotOfferedIt(t *testing.T) {
	s := newSite(t)
	s.park(`"source":"wiki","doc_id":"1","error_type":"E"`)
	analyst, reviewer := s.signIn(dlq.RoleAnalyst), s.signIn(dlq.RoleReviewer)
	for _, format := range []string{"csv", "ndjson"} {
		if got := analyst.get("/entries/export." + format).status; got != http.StatusForbidden {
			t.Errorf("an analyst's export.%s was answered %d", format, got)
		}
		if got := reviewer.get("/entries/export." + format + "?q=age:soon").status; got != http.StatusUnprocessableEntity {
			t.Errorf("a query that cannot be read was answered %d", got)
		}
	}
	if strings.Contains(analyst.get("/entries?q=").body, "/entries/export") || !strings.Contains(reviewer.get("/entries?q=status:parked&sort=oldest").body, "/entries/export.csv?q=status%3Aparked&amp;sort=oldest") {
		t.Error("the links of the page are not those of the role")
	}
}

func TestAnExportParkedElsewhereIsTheSameFailureThere(t *testing.T) {
	here, there := newSite(t), newSite(t)
	here.park(`"source":"wiki","doc_id":"1","error_type":"ValueError","error_message":"no root","stack_trace":"Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    x\nValueError: no root","validation_output":[{"rule":"r","path":"/a","passed":false}],"parser_version":"p1","labels":{"region":"eu"},"payload":"the bytes","tenant":"t1","attempts":4`)
	body := here.signIn(dlq.RoleReviewer).get("/entries/export.ndjson?q=").body
	there.park(strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(body), "{"), "}"))
	again := there.signIn(dlq.RoleReviewer).get("/entries/export.ndjson?q=").body
	var was, is map[string]any
	if json.Unmarshal([]byte(body), &was) != nil || json.Unmarshal([]byte(again), &is) != nil {
		t.Fatalf("%s\n%s", body, again)
	}
	for _, name := range []string{"source", "doc_id", "error_type", "error_message", "stack_trace", "parser_version", "fingerprint", "payload_sha256", "content_hash", "attempts", "first_seen", "last_seen", "tenant", "labels", "validation_output"} {
		if fmt.Sprint(was[name]) != fmt.Sprint(is[name]) || was[name] == nil {
			t.Errorf("%s: %v became %v", name, was[name], is[name])
		}
	}
	if is["sender_id"] != was["dlq_id"] || is["dlq_id"] == was["dlq_id"] {
		t.Errorf("it is known there as %v by %v, was %v", is["dlq_id"], is["sender_id"], was["dlq_id"])
	}
}

// What programs list, what a bulk action takes and what is handed out are one
// set: the store's own test holds it against what is true.
func TestTheAPITheBulkActionAndTheExportAreOneSet(t *testing.T) {
	a := newAPI(t)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 2))
	for i := range 40 {
		a.park(obj{"source": []string{"wiki", "leases"}[i%2], "doc_id": fmt.Sprint("doc-", i), "error_type": fmt.Sprint("E", i%3), "error_message": fmt.Sprint("message ", random.IntN(20)), "event_id": fmt.Sprint(i),
			"parser_version": fmt.Sprint("p", i%2), "labels": obj{"region": []string{"eu", "us"}[random.IntN(2)]}, "stack_trace": fmt.Sprint("trace ", i%4), "attempts": 1 + random.IntN(4)})
	}
	a.post("/api/v1/deployments", dlq.ScopeOutcome, obj{"source": "wiki", "component": "parser", "version": "p1"}).want(http.StatusOK)
	terms := []string{"source:wiki", "type:E1,E2", "-type:E0", "parser:!current", "label:region=eu", "-label:region=us", "message", `"message 1"`, "doc-1", "trace", "attempts:>2", "status:open", "-status:archived", "owner:nobody", "fix:none", "disposition:none", "outcome:none"}
	for range 25 {
		var chosen []string
		for range 1 + random.IntN(3) {
			chosen = append(chosen, terms[random.IntN(len(terms))])
		}
		text := strings.Join(chosen, " ")
		for _, source := range []string{"", "wiki"} {
			var listed []string
			for cursor := ""; ; {
				answer := a.do(apiCall{method: http.MethodGet, path: "/api/v1/dead-letters?limit=7&q=" + url.QueryEscape(text) + "&cursor=" + cursor, scope: dlq.ScopeRead, source: source}).want(http.StatusOK)
				for _, item := range answer.items() {
					listed = append(listed, item["dlq_id"].(string))
				}
				if cursor, _ = answer.object()["next"].(string); cursor == "" {
					break
				}
			}
			by := dlqtest.Reviewer
			if source != "" {
				by = dlqtest.Only(by, source)
			}
			q, _ := dlq.ParseQuery(text)
			var exported []string
			if _, err := a.store.Export(t.Context(), by, q, "", func(rows []dlq.ExportedRow) error {
				for _, r := range rows {
					exported = append(exported, r.DLQID)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			o, err := a.handlers.Redrives.Start(t.Context(), by, redrive.Request{Kind: dlq.OperationExtend, Days: 1, Query: text, Expect: int64(len(listed)), Reason: "x"})
			if err != nil {
				t.Fatalf("seed %d, %q: %v", seed, text, err)
			}
			items, err := a.store.Items(t.Context(), o.ID, "", "", 0, 1000)
			if err != nil {
				t.Fatal(err)
			}
			var acted []string
			for _, i := range items {
				acted = append(acted, i.DLQID)
			}
			if !slices.Equal(listed, exported) {
				t.Errorf("seed %d, %q for %q: %d listed, %d exported", seed, text, source, len(listed), len(exported))
			}
			slices.Sort(listed)
			if slices.Sort(acted); !slices.Equal(listed, acted) {
				t.Errorf("seed %d, %q for %q: %d listed, %d acted on", seed, text, source, len(listed), len(acted))
			}
		}
	}
}
