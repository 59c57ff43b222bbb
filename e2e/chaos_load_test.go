package e2e

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// TestChaosDoubleClick has fifty programs that redrive the same 200 documents at
// the same time, one by one and in bulks that overlap. Each goes once.
func TestChaosDoubleClick(t *testing.T) {
	const documents, clients = 200, 50
	c := newChaos(t)
	server := c.serve("")
	ids := c.parkLines("chaos", documents)

	var asking sync.WaitGroup
	for n := range clients {
		asking.Go(func() {
			office := newAPI(t, server.address, c.token)
			var asked [][]string
			for k := range 20 {
				asked = append(asked, []string{ids[(n*4+k)%documents]})
			}
			for k := range 3 {
				var bulk []string
				for i := range 60 {
					bulk = append(bulk, ids[(n*4+k*50+i)%documents])
				}
				asked = append(asked, bulk)
			}
			random := rand.New(rand.NewPCG(uint64(n), 11))
			random.Shuffle(len(asked), func(i, j int) { asked[i], asked[j] = asked[j], asked[i] })
			for _, entries := range asked {
				status, err := office.call(http.MethodPost, "/redrives", map[string]any{"entries": entries, "reason": "clicked by all of them"}, nil)
				if err != nil && status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
					t.Errorf("asked for %d: %v", len(entries), err)
				}
			}
		})
	}
	asking.Wait()
	c.awaitQuiet()
	if code := server.terminate(); code != 0 {
		t.Errorf("SIGTERM ended the server with %d:\n%s", code, server.stderr.String())
	}
	c.hold("fifty programs at once")
	c.settled()
	c.target.look(func() {
		if got := len(c.target.redrives); got != documents {
			t.Errorf("%d redrives reached the target, want %d", got, documents)
		}
		if got := len(c.target.effects); got != documents {
			t.Errorf("%d keys were delivered, want %d", got, documents)
		}
		for redrive, n := range c.target.receipts {
			if n != 1 {
				t.Errorf("redrive %s was delivered %d times, and nothing failed", redrive, n)
			}
		}
	})
	if rows := c.count(`select count(*) from redrive`); rows != documents {
		t.Errorf("%d redrives are recorded, want %d", rows, documents)
	}
}

// parkLines parks documents without bytes, as NDJSON, and gives their ids in
// order.
func (c *chaos) parkLines(source string, n int) []string {
	c.t.Helper()
	var ids []string
	for from := 0; from < n; from += 5000 {
		var body bytes.Buffer
		for i := from; i < min(n, from+5000); i++ {
			key := sha256.Sum256(fmt.Appendf(nil, "%s %d", source, i))
			fmt.Fprintf(&body, `{"source":%q,"doc_id":"doc-%06d","content_hash":%q,"error_type":"CutOffError","error_message":"cut off","parser_version":"1"}`+"\n", source, i, hex.EncodeToString(key[:]))
		}
		req, err := http.NewRequest(http.MethodPost, c.office.base+"/dead-letters", &body)
		if err != nil {
			c.t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+c.token)
		req.Header.Set("Content-Type", "application/x-ndjson")
		res, err := (&http.Client{Timeout: 5 * time.Minute}).Do(req)
		if err != nil {
			c.t.Fatal(err)
		}
		for d := json.NewDecoder(res.Body); d.More(); {
			var line struct {
				Status int `json:"status"`
				Entry  struct {
					DLQID string `json:"dlq_id"`
				} `json:"entry"`
			}
			if err := d.Decode(&line); err != nil || line.Status != http.StatusCreated {
				c.t.Fatalf("line %d: %d, %v", len(ids)+1, line.Status, err)
			}
			ids = append(ids, line.Entry.DLQID)
		}
		res.Body.Close()
	}
	if len(ids) != n {
		c.t.Fatalf("%d documents were parked, want %d", len(ids), n)
	}
	return ids
}

// count reads one number from a copy of the database.
func (c *chaos) count(query string) (n int) {
	c.t.Helper()
	path := c.copyDatabase()
	defer os.RemoveAll(filepath.Dir(path))
	db, err := sql.Open("sqlite", path)
	if err != nil {
		c.t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(query).Scan(&n); err != nil {
		c.t.Fatal(err)
	}
	return n
}

// operationStand is what the API says of an operation.
type operationStand struct {
	ID      string           `json:"id"`
	State   string           `json:"state"`
	Why     string           `json:"why"`
	Total   int64            `json:"total"`
	Counts  map[string]int64 `json:"counts"`
	LeftOut map[string]int64 `json:"left_out"`
}

func (o operationStand) sum() (n int64) {
	for _, k := range []string{"waiting", "in_flight", "settled", "left_out", "cancelled"} {
		n += o.Counts[k]
	}
	return n
}

func (c *chaos) operation(id string) (o operationStand) {
	c.t.Helper()
	c.office.must(http.MethodGet, "/operations/"+id, nil, &o)
	return o
}

// operationItem is one document of an operation, as the API says it.
type operationItem struct {
	DLQID   string `json:"dlq_id"`
	DocID   string `json:"doc_id"`
	State   string `json:"state"`
	Outcome string `json:"outcome"`
	Verdict string `json:"verdict"`
	Why     string `json:"why"`
}

// items reads all items of an operation, page by page.
func (c *chaos) items(id string) (all []operationItem) {
	c.t.Helper()
	for cursor := ""; ; {
		var page struct {
			Items []operationItem `json:"items"`
			Next  string          `json:"next"`
		}
		c.office.must(http.MethodGet, "/operations/"+id+"/items?limit=500&cursor="+cursor, nil, &page)
		all = append(all, page.Items...)
		if cursor = page.Next; cursor == "" {
			return all
		}
	}
}

// TestAnOperationOf100000PausedKilledResumedCancelled pauses a large operation,
// kills the server, starts it, resumes and cancels. At each moment its items add up,
// and in the end each says where it stands and why. It has 5,000 documents unless
// DLO_CHAOS asks for more than a look.
func TestAnOperationOf100000PausedKilledResumedCancelled(t *testing.T) {
	documents := 5000
	if os.Getenv("DLO_CHAOS") != "" {
		documents = 100_000
	}
	began := time.Now()
	c := newChaos(t)
	server := c.serve("")
	ids := c.parkLines("chaos", documents)
	for n, id := range ids { // some that are left out, and one that was never here
		switch {
		case n%1000 == 7:
			c.office.must(http.MethodPost, "/dead-letters/"+id+"/archive", map[string]string{"reason": "not this one"}, nil)
		case n%1000 == 8:
			c.office.must(http.MethodPost, "/dead-letters/"+id+"/quarantine", map[string]string{"reason": "nor this one"}, nil)
		}
	}
	t.Logf("%d documents parked after %s", documents, time.Since(began).Round(time.Millisecond))

	var o operationStand
	c.office.http.Timeout = 5 * time.Minute // its membership is frozen before the answer comes
	c.office.must(http.MethodPost, "/redrives", map[string]any{"query": "source:chaos", "expect": documents, "reason": "the parser was fixed", "canary": []int{}, "rate": 200}, &o)
	t.Logf("started after %s", time.Since(began).Round(time.Millisecond))
	if o.Total != int64(documents) || o.sum() != o.Total {
		t.Fatalf("it started with %d items of %d: %v", o.sum(), documents, o.Counts)
	}
	moves := func(least int64) {
		t.Helper()
		eventually(t, "some of its documents are settled", func() bool {
			now := c.operation(o.ID)
			if now.sum() != int64(documents) {
				t.Fatalf("its items add up to %d: %v", now.sum(), now.Counts)
			}
			return now.Counts["settled"] >= least
		})
	}
	moves(100)
	c.office.must(http.MethodPost, "/operations/"+o.ID+"/pause", map[string]string{"reason": "to look at it"}, nil)
	server.kill()
	c.hold("a pause and a kill")

	server = c.serve("")
	paused := c.operation(o.ID)
	if paused.State != "paused" || paused.Why != "to look at it" || paused.sum() != int64(documents) {
		t.Fatalf("after the start it is %s (%s), with %d items: %v", paused.State, paused.Why, paused.sum(), paused.Counts)
	}
	c.office.must(http.MethodPost, "/operations/"+o.ID+"/resume", map[string]string{"reason": "looks fine"}, nil)
	moves(paused.Counts["settled"] + 100)
	server.kill() // and in the middle of its work
	c.hold("a kill of a running operation")
	server = c.serve("")
	c.office.must(http.MethodPost, "/operations/"+o.ID+"/cancel", map[string]string{"reason": "enough"}, nil)
	cancelling := time.Now()
	eventuallyWithin(t, 5*time.Minute, "nothing of it waits or is on its way", func() bool {
		now := c.operation(o.ID)
		if now.sum() != int64(documents) {
			t.Fatalf("its items add up to %d: %v", now.sum(), now.Counts)
		}
		return now.Counts["waiting"] == 0 && now.Counts["in_flight"] == 0
	})
	t.Logf("cancelled to the end in %s", time.Since(cancelling).Round(time.Millisecond))

	end := c.operation(o.ID)
	if end.State != "cancelled" || end.Why != "enough" {
		t.Errorf("it is %s (%s)", end.State, end.Why)
	}
	items := c.items(o.ID)
	counts, why, seen := map[string]int64{}, map[string]int64{}, map[string]bool{}
	for _, i := range items {
		seen[i.DLQID] = true
		counts[i.State]++
		switch i.State {
		case "settled":
			if i.Outcome != "committed" || i.Verdict == "" {
				t.Errorf("%s is settled as %q, and says %q", i.DocID, i.Outcome, i.Verdict)
			}
		case "left_out":
			why[i.Why]++
		case "cancelled":
			if i.Outcome != "" && i.Outcome != "cancelled" {
				t.Errorf("%s is cancelled as %q", i.DocID, i.Outcome)
			}
		default:
			t.Errorf("%s is %s for ever", i.DocID, i.State)
		}
	}
	if len(items) != documents || len(seen) != documents {
		t.Errorf("%d items of %d documents, want %d", len(items), len(seen), documents)
	}
	for _, state := range []string{"settled", "left_out", "cancelled"} {
		if counts[state] != end.Counts[state] {
			t.Errorf("%d items are %s, and it counts %d", counts[state], state, end.Counts[state])
		}
	}
	few := int64(documents / 1000)
	if why["archived"] != few || why["quarantined"] != few || why[""] != 0 || end.LeftOut["archived"] != few || end.LeftOut["quarantined"] != few {
		t.Errorf("left out %v, counted %v", why, end.LeftOut)
	}
	var parked struct {
		Items []any `json:"items"`
	}
	c.office.must(http.MethodGet, "/dead-letters?limit=1&q=status:redriving", nil, &parked)
	if len(parked.Items) != 0 {
		t.Error("a document of a cancelled operation is on its way for ever")
	}
	if code := server.terminate(); code != 0 {
		t.Errorf("SIGTERM ended the server with %d:\n%s", code, server.stderr.String())
	}
	c.hold("the cancel")
	c.settled()
	t.Logf("%d items: %v, left out %v, in %s", len(items), counts, why, time.Since(began).Round(time.Millisecond))
}
