package e2e

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/client"

	_ "modernc.org/sqlite"
)

// timesEach is how often the server is killed at each step: twice, or as often as
// DLO_CHAOS says.
func timesEach(t *testing.T) int {
	t.Helper()
	asked := os.Getenv("DLO_CHAOS")
	if asked == "" {
		return 2
	}
	n, err := strconv.Atoi(asked)
	if err != nil || n < 1 {
		t.Fatalf("DLO_CHAOS=%q: how often to kill the server at each step expected", asked)
	}
	return n
}

// killPoints are the steps of a redrive and the moments of each. That of within
// send is the target's: the delivery was received, and is not answered.
var killPoints = []string{
	"prepare:before", "prepare:within", "prepare:after",
	"claim:before", "claim:within", "claim:after",
	"send:before", "send:within", "send:after",
	"record:before", "record:within", "record:after",
	"settle:before", "settle:within", "settle:after",
}

// chaos is an office whose server dies again and again, with what it has promised.
type chaos struct {
	t       *testing.T
	data    string
	address string
	token   string
	office  *api
	target  *ledgerTarget

	acked   []acked
	totals  map[string]int64 // redrives_total of each document, as last seen
	sent    int              // redrives that were asked for and answered
	checked int              // documents of acked whose bytes were read
}

// TestChaosKillAtEachStep kills the server with SIGKILL at each step of a redrive,
// before it, within its transaction and after it. What it leaves on the disk is
// looked at before anybody mends it, and again when a server has finished what was
// under way.
func TestChaosKillAtEachStep(t *testing.T) {
	began := time.Now()
	c := newChaos(t)
	times := timesEach(t)
	for round := range times {
		for _, point := range killPoints {
			c.dieAt(point, round)
		}
		c.finish(round == times-1)
	}
	var commits int
	c.target.look(func() { commits = len(c.target.commits) })
	t.Logf("%d kills at %d points in %s: %d documents acknowledged, %d commits, every invariant after each", times*len(killPoints), len(killPoints), time.Since(began).Round(time.Second), len(c.acked), commits)
}

func newChaos(t *testing.T) *chaos {
	c := &chaos{t: t, data: t.TempDir(), totals: map[string]int64{}}
	c.address = freePort(t)
	server := c.serve("")
	c.token = newToken(t, c.data, "chaos", "ingest,outcome,read,act,admin")
	c.office = newAPI(t, server.address, c.token)
	c.target = newLedgerTarget(t, c.office, chaosSecret)
	c.target.answers = func(d client.Redrive) bool { return strings.HasSuffix(d.DocID, "-answered") }
	c.target.fails = func(d client.Redrive) bool { return strings.HasSuffix(d.DocID, "-bad") }
	applyLedgerSource(c.office, "chaos", c.target)
	if code := server.terminate(); code != 0 {
		t.Fatalf("SIGTERM ended the server with %d:\n%s", code, server.stderr.String())
	}
	return c
}

func (c *chaos) serve(point string) *process {
	c.t.Helper()
	args := []string{"serve", "--data", c.data, "--listen", c.address, "--outbound-allow", "127.0.0.1"}
	if point != "" {
		args = append(args, "--failpoint", point)
	}
	return start(c.t, listening, nil, dloBinary, args...)
}

// dieAt lets a server live until it is killed at a point: documents are parked,
// and sent back.
func (c *chaos) dieAt(point string, round int) {
	c.t.Helper()
	var server *process
	life := fmt.Sprintf("%d-%s", round, strings.ReplaceAll(point, ":", "-"))
	if point == "send:within" {
		c.target.look(func() {
			c.target.received = func(d client.Redrive) {
				if !strings.HasPrefix(d.DocID, life) {
					return // what was under way before
				}
				c.target.look(func() { c.target.received = nil })
				server.kill()
			}
		})
		server = c.serve("")
	} else {
		server = c.serve(point)
	}
	var ids []string
	for n, kind := range []string{"good", "answered", "bad"} {
		if id := c.park(fmt.Sprintf("%s-%d-%s", life, n, kind)); id != "" {
			ids = append(ids, id)
		}
	}
	if len(ids) > 0 {
		// Whatever a dying server answers is fine. That it was asked is what counts.
		if _, err := c.office.call(http.MethodPost, "/redrives", map[string]any{"entries": ids, "reason": "tried under " + point}, nil); err == nil {
			c.sent += len(ids)
		}
	}
	select {
	case <-server.exited:
	case <-time.After(60 * time.Second):
		server.kill()
		c.t.Fatalf("the server never came to %s:\n%s", point, server.stderr.String())
	}
	c.hold(point)
}

// park parks a document with its bytes; empty: it was not acknowledged.
func (c *chaos) park(docID string) string {
	office, err := client.New(client.Config{URL: "http://" + c.address, Token: c.token, Retry: client.Retry{Budget: -1}})
	if err != nil {
		c.t.Fatal(err)
	}
	payload := []byte(strings.Repeat(docID+"\n", 40))
	sum := sha256.Sum256(payload)
	a := acked{docID, hex.EncodeToString(sum[:])}
	receipt, err := office.Park(context.Background(), dlq.Envelope{Source: "chaos", DocID: docID, ErrorType: "CutOffError", ErrorMessage: "cut off", ParserVersion: "1"}, bytes.NewReader(payload))
	if err != nil {
		return ""
	}
	c.acked = append(c.acked, a)
	return receipt.DLQID
}

// finish lets a server without a failpoint do what is left, and holds it to what
// must then be so.
func (c *chaos) finish(last bool) {
	c.t.Helper()
	server := c.serve("")
	c.awaitQuiet()
	if last {
		if code := server.terminate(); code != 0 {
			c.t.Errorf("SIGTERM ended the server with %d:\n%s", code, server.stderr.String())
		}
	} else {
		server.kill()
	}
	c.hold("the end of a round")
	c.settled()
}

// awaitQuiet waits until every operation has come to its end, and nothing is on
// its way.
func (c *chaos) awaitQuiet() {
	c.t.Helper()
	eventually(c.t, "nothing is in flight any more", func() bool {
		var redriving struct {
			Items []any `json:"items"`
		}
		if _, err := c.office.call(http.MethodGet, "/dead-letters?limit=1&q=status:redriving", nil, &redriving); err != nil || len(redriving.Items) > 0 {
			return false
		}
		var operations struct {
			Items []struct {
				State string `json:"state"`
			} `json:"items"`
		}
		if _, err := c.office.call(http.MethodGet, "/operations?limit=100", nil, &operations); err != nil {
			return false
		}
		for _, o := range operations.Items {
			if o.State != "done" && o.State != "cancelled" {
				return false
			}
		}
		return true
	})
}

// copyDatabase copies what a dead server left, its write-ahead log included, so
// that looking at it mends nothing.
func (c *chaos) copyDatabase() string {
	c.t.Helper()
	dir, err := os.MkdirTemp(c.t.TempDir(), "copy")
	if err != nil {
		c.t.Fatal(err)
	}
	for _, name := range []string{"dlo.db", "dlo.db-wal"} {
		from, err := os.Open(filepath.Join(c.data, name))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			c.t.Fatal(err)
		}
		to, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			c.t.Fatal(err)
		}
		if _, err := io.Copy(to, from); err != nil {
			c.t.Fatal(err)
		}
		from.Close()
		to.Close()
	}
	return filepath.Join(dir, "dlo.db")
}

// hold checks what must be so at every moment.
func (c *chaos) hold(when string) {
	c.t.Helper()
	path := c.copyDatabase()
	defer os.RemoveAll(filepath.Dir(path))
	db, err := sql.Open("sqlite", path)
	if err != nil {
		c.t.Fatal(err)
	}
	defer db.Close()

	c.holdAcknowledged(db, when)
	for invariant, query := range map[string]string{
		"I3, one redrive in flight an entry": `select e.doc_id from redrive r join entry e on e.id = r.entry_id where r.state in ('pending', 'claimed', 'delivered') group by r.entry_id having count(*) > 1`,
		"I3, one redrive in flight a key":    `select content_hash from redrive where state in ('pending', 'claimed', 'delivered') group by source_id, content_hash having count(*) > 1`,
		"I4, every redrive that was sent is counted": `select e.doc_id from entry e
			where e.redrives_total <> (select count(*) from redrive r where r.entry_id = e.id and r.sent_at is not null)`,
		"I5, every operation is in the trail": `select o.id from operation o where not exists (select 1 from audit a where a.operation_id = o.id and a.action = 'operation.redrive')`,
		"I5, every redrive is in the trail": `select r.id from redrive r
			where not exists (select 1 from audit a where a.entry_id = r.entry_id and a.operation_id = r.operation_id and a.action in ('entry.redrive', 'entry.skipped'))`,
		"I5, the trail has no redrive that is not": `select a.seq from audit a where a.action = 'entry.redrive' and not exists (select 1 from redrive r where r.entry_id = a.entry_id and r.operation_id = a.operation_id)`,
		"I5, the trail has no gap":                 `select max(seq) from audit having max(seq) <> count(*)`,
		"a document on its way has a redrive":      `select e.doc_id from entry e where e.status = 'redriving' and not exists (select 1 from redrive r where r.entry_id = e.id and r.state <> 'settled')`,
	} {
		for _, found := range texts(c.t, db, query) {
			c.t.Errorf("after %s, %s does not hold: %s", when, invariant, found)
		}
	}
	c.holdLedger(db, when)
	db.Close()
	if out, code := dloCode(c.t, "", "check", "--data", c.data, "--database", "sqlite:"+path); code != 0 {
		c.t.Errorf("after %s, dlo check found faults:\n%s", when, out)
	}
	if c.t.Failed() {
		c.t.FailNow()
	}
}

// holdAcknowledged is I1, I2 and the second half of I4.
func (c *chaos) holdAcknowledged(db *sql.DB, when string) {
	c.t.Helper()
	type row struct {
		held  string
		total int64
	}
	there := map[string]row{}
	rows, err := db.Query(`select e.doc_id, coalesce(case when e.payload_state = 'held' then e.held_sha256 end, ''), e.redrives_total from entry e`)
	if err != nil {
		c.t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var r row
		if err := rows.Scan(&id, &r.held, &r.total); err != nil {
			c.t.Fatal(err)
		}
		there[id] = r
	}
	if err := rows.Err(); err != nil {
		c.t.Fatal(err)
	}
	for n, a := range c.acked {
		r, ok := there[a.docID]
		if !ok {
			c.t.Errorf("after %s, I1 does not hold: %s was acknowledged and is not there", when, a.docID)
			continue
		}
		if r.held != a.sha256 {
			c.t.Errorf("after %s, I2 does not hold: of %s %q is held, and %s was acknowledged", when, a.docID, r.held, a.sha256)
		}
		if r.total < c.totals[a.docID] {
			c.t.Errorf("after %s, I4 does not hold: the redrives of %s fell from %d to %d", when, a.docID, c.totals[a.docID], r.total)
		}
		c.totals[a.docID] = r.total
		if n < c.checked {
			continue // dlo check reads all of them
		}
		bytes, err := os.ReadFile(filepath.Join(c.data, "blobs", a.sha256[:2], a.sha256))
		if sum := sha256.Sum256(bytes); err != nil || hex.EncodeToString(sum[:]) != a.sha256 {
			c.t.Errorf("after %s, I2 does not hold: the bytes of %s: %v", when, a.docID, err)
		}
	}
	c.checked = len(c.acked)
}

// holdLedger is I6: what the server says was taken was received, and what it says
// was committed was committed once.
func (c *chaos) holdLedger(db *sql.DB, when string) {
	c.t.Helper()
	taken := texts(c.t, db, `select id from redrive where accepted_at is not null`)
	committed := texts(c.t, db, `select content_hash from redrive where outcome = 'committed'`)
	c.target.look(func() {
		for _, id := range taken {
			if c.target.receipts[id] < 1 {
				c.t.Errorf("after %s, I6 does not hold: redrive %s was taken, and the target never had it", when, id)
			}
		}
		for _, key := range committed {
			if c.target.effects[key] != 1 {
				c.t.Errorf("after %s, I6 does not hold: key %s had %d effects", when, key, c.target.effects[key])
			}
		}
		for id, n := range c.target.commits {
			if n != 1 {
				c.t.Errorf("after %s, I6 does not hold: %s was committed %d times", when, id, n)
			}
		}
		for _, why := range c.target.refused {
			c.t.Errorf("after %s: refused: %s", when, why)
		}
	})
}

// settled checks what must be so once everything has come to its end: whatever the
// target was sent has its outcome, and nothing was sent twice as another redrive.
func (c *chaos) settled() {
	c.t.Helper()
	path := c.copyDatabase()
	defer os.RemoveAll(filepath.Dir(path))
	db, err := sql.Open("sqlite", path)
	if err != nil {
		c.t.Fatal(err)
	}
	defer db.Close()
	status := map[string]string{}
	for _, line := range texts(c.t, db, `select doc_id || ' ' || status from entry`) {
		id, is, _ := strings.Cut(line, " ")
		status[id] = is
	}
	of := map[string]map[string]bool{}
	c.target.look(func() {
		for redrive, doc := range c.target.redrives {
			if of[doc] == nil {
				of[doc] = map[string]bool{}
			}
			of[doc][redrive] = true
		}
	})
	for doc, redrives := range of {
		want := "resolved"
		if strings.HasSuffix(doc, "-bad") {
			want = "parked"
		}
		if status[doc] != want {
			c.t.Errorf("the target had %s, and the server says that it is %s", doc, status[doc])
		}
		if len(redrives) != 1 {
			c.t.Errorf("%s was asked for once, and the target had it as %d redrives", doc, len(redrives))
		}
	}
	for _, found := range texts(c.t, db, `select e.doc_id || ' ' || r.state || ' ' || r.outcome from redrive r join entry e on e.id = r.entry_id where r.state <> 'settled'`) {
		c.t.Errorf("never came to its end: %s", found)
	}
	if len(of) == 0 {
		c.t.Error("the target was sent nothing: the test tests nothing")
	}
}

// texts reads the first column of a query.
func texts(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatalf("%v: %s", err, query)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}
