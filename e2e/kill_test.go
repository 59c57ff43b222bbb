package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/client"
)

// kills is how often the server is killed.
const kills = 50

// acked is a document that the server acknowledged.
type acked struct {
	docID  string
	sha256 string
}

// TestNothingAcknowledgedIsLostToKill kills the server with SIGKILL again and
// again while four clients park documents with their bytes and redrives run to
// the sample pipeline. Afterwards every acknowledged record and payload is
// there, digests are right, counters equal a recount, and the pipeline has
// committed no document twice.
func TestNothingAcknowledgedIsLostToKill(t *testing.T) {
	data, address := t.TempDir(), freePort(t)
	restart := func() *process {
		return start(t, listening, nil, dloBinary, "serve", "--data", data, "--listen", address, "--outbound-allow", "127.0.0.1")
	}
	server := restart()
	token := newToken(t, data, "kill", "ingest,outcome,read,act,admin")
	office := newAPI(t, server.address, token)
	secret := "whsec_" + strings.Repeat("QUJD", 8)
	pipeline := startPipeline(t, server.address, token, secret)
	applyPipelineSources(t, office, pipeline.address, secret)
	waitForFirstSync(t, pipeline.address)
	postJSON(t, pipeline.address+"/control/parser", map[string]string{"version": "new"}, nil)

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var clients sync.WaitGroup
	ledgers := make([][]acked, 4)
	for n := range ledgers {
		clients.Go(func() { ledgers[n] = parkUntil(ctx, server.address, token, n) })
	}
	clients.Go(func() { redriveUntil(ctx, newAPI(t, server.address, token)) })

	for range kills {
		awaitSomeWork(t, newAPI(t, server.address, token))
		server.kill()
		server = restart()
	}
	stop()
	clients.Wait()

	awaitQuiet(t, office)
	total := 0
	for _, ledger := range ledgers {
		total += len(ledger)
		for _, a := range ledger {
			checkHeld(t, office, a)
		}
	}
	if total < kills {
		t.Fatalf("only %d documents were acknowledged in %d lives of the server: the clients hardly worked", total, kills+1)
	}
	if code := server.terminate(); code != 0 {
		t.Errorf("SIGTERM ended the server with %d:\n%s", code, server.stderr.String())
	}
	if out, code := dloCode(t, "", "check", "--data", data); code != 0 {
		t.Errorf("dlo check found faults:\n%s", out)
	}
	var committed struct {
		Items []struct {
			Source      string `json:"source"`
			DocID       string `json:"doc_id"`
			ContentHash string `json:"content_hash"`
			Count       int    `json:"count"`
		} `json:"items"`
	}
	getJSON(t, pipeline.address+"/control/committed", &committed)
	seen := map[string]bool{}
	for _, c := range committed.Items {
		if seen[c.ContentHash] || c.Count > 1 {
			t.Errorf("%s/%s was committed more than once", c.Source, c.DocID)
		}
		seen[c.ContentHash] = true
	}
	t.Logf("%d kills, %d acknowledged documents, %d commits of the pipeline", kills, total, len(committed.Items))
}

// parkUntil parks documents with their bytes until the context ends, and keeps
// the ledger of what was acknowledged.
func parkUntil(ctx context.Context, address, token string, n int) []acked {
	random := rand.New(rand.NewPCG(uint64(n), 7))
	c, err := client.New(client.Config{URL: address, Token: token, Retry: client.Retry{Budget: -1}})
	if err != nil {
		return nil
	}
	var ledger []acked
	for i := 0; ctx.Err() == nil; i++ {
		payload := make([]byte, 200+random.IntN(20_000))
		for j := range payload {
			payload[j] = byte(random.Uint32())
		}
		sum := sha256.Sum256(payload)
		a := acked{fmt.Sprintf("client-%d-%d", n, i), hex.EncodeToString(sum[:])}
		_, err := c.Park(ctx, dlq.Envelope{Source: "kill", DocID: a.docID, ErrorType: fmt.Sprintf("Error%d", i%5), ErrorMessage: "cut off"}, bytes.NewReader(payload))
		if err == nil {
			ledger = append(ledger, a)
		}
	}
	return ledger
}

// redriveUntil asks for redrives of the pipeline's documents until the context
// ends. Whatever a dying server answers is fine; what counts is the end.
func redriveUntil(ctx context.Context, office *api) {
	for ctx.Err() == nil {
		for _, source := range []string{"leases", "change-orders", "rent-rolls", "submittals"} {
			var list struct {
				Items []struct {
					DLQID string `json:"dlq_id"`
				} `json:"items"`
			}
			if _, err := office.call(http.MethodGet, "/dead-letters?limit=5&q=status:parked+source:"+source, nil, &list); err != nil {
				continue
			}
			var ids []string
			for _, e := range list.Items {
				ids = append(ids, e.DLQID)
			}
			if len(ids) > 0 {
				_, _ = office.call(http.MethodPost, "/redrives", map[string]any{"entries": ids, "reason": "the newer parser runs"}, nil)
			}
		}
	}
}

// awaitSomeWork waits until the server has accepted something since it came up,
// so that each kill falls into work.
func awaitSomeWork(t *testing.T, office *api) {
	t.Helper()
	count := func() int64 {
		var source struct {
			LastArrivalAt string `json:"last_arrival_at"`
		}
		if _, err := office.call(http.MethodGet, "/sources/kill", nil, &source); err != nil {
			return 0
		}
		at, err := time.Parse(time.RFC3339Nano, source.LastArrivalAt)
		if err != nil {
			return 0
		}
		return at.UnixNano()
	}
	before := count()
	eventually(t, "a document was parked in this life of the server", func() bool { return count() > before })
}

// awaitQuiet waits until no redrive is in flight any more.
func awaitQuiet(t *testing.T, office *api) {
	t.Helper()
	eventually(t, "no redrive is in flight", func() bool {
		var list struct {
			Items []any `json:"items"`
		}
		_, err := office.call(http.MethodGet, "/dead-letters?limit=1&q=status:redriving", nil, &list)
		return err == nil && len(list.Items) == 0
	})
}

func checkHeld(t *testing.T, office *api, a acked) {
	t.Helper()
	var found struct {
		DLQID string `json:"dlq_id"`
	}
	if _, err := office.call(http.MethodGet, "/dead-letters/lookup?source=kill&doc_id="+a.docID, nil, &found); err != nil {
		t.Errorf("acknowledged and lost: %s: %v", a.docID, err)
		return
	}
	req, err := http.NewRequest(http.MethodGet, office.base+"/dead-letters/"+found.DLQID+"/payload", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+office.token)
	res, err := office.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	h := sha256.New()
	if _, err := io.Copy(h, res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("the payload of %s: %d, %v", a.docID, res.StatusCode, err)
		return
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != a.sha256 {
		t.Errorf("the payload of %s has the digest %s, and %s was acknowledged", a.docID, got, a.sha256)
	}
}

// startPipeline starts the real sample pipeline with a folder of its own.
func startPipeline(t *testing.T, server, token, secret string) *process {
	t.Helper()
	return start(t, "pipeline listening on ", []string{"DLO_PIPELINE_SERVER=" + server, "DLO_PIPELINE_TOKEN=" + token, "DLO_PIPELINE_SECRET=" + secret,
		"DLO_PIPELINE_DATA=" + filepath.Join(t.TempDir(), "pipeline"), "DLO_PIPELINE_LISTEN=127.0.0.1:0"}, pipelineBinary)
}

// applyPipelineSources gives each source of the pipeline its target and probe.
func applyPipelineSources(t *testing.T, office *api, pipeline, secret string) {
	t.Helper()
	for _, name := range []string{"leases", "change-orders", "rent-rolls", "submittals"} {
		office.must(http.MethodPut, "/sources/"+name, map[string]any{"name": name,
			"redrive": map[string]any{"url": pipeline + "/redrive", "secret": secret, "rate": 200, "concurrency": 16, "retry": map[string]any{"budget": "1h", "first": "100ms", "max": "2s"}},
			"probe":   map[string]any{"url": pipeline + "/docs/" + name + "/{doc_id}"}}, nil)
	}
}

func waitForFirstSync(t *testing.T, pipeline string) {
	t.Helper()
	eventually(t, "the pipeline has tried every document", func() bool {
		var status struct {
			Syncing   bool           `json:"syncing"`
			Documents map[string]int `json:"documents"`
		}
		getJSON(t, pipeline+"/control/status", &status)
		return !status.Syncing && status.Documents["failed"] > 100
	})
}
