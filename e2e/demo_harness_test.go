package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// demo is a running `dlo demo`: the server, the sample pipeline, the users.
type demo struct {
	*process
	data      string
	pipeline  string // address of the sample pipeline
	passwords map[string]string
}

// startDemo starts a demo of its own for a test.
func startDemo(t *testing.T) *demo {
	t.Helper()
	chromium(t) // before a demo is started for nobody
	d, err := tryDemo(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.terminate() })
	d.awaitFirstSync(t)
	return d
}

// shared is what lives as long as all tests: the demo of those that do not
// disturb each other, and the browser.
var shared struct {
	ends []func()
}

func endShared() {
	for _, end := range shared.ends {
		end()
	}
}

var startShared = sync.OnceValues(newShared)

// newShared starts a demo that ends with the tests of the package.
func newShared() (*demo, error) {
	data, err := os.MkdirTemp("", "dlo-e2e-demo-")
	if err != nil {
		return nil, err
	}
	d, err := tryDemo(data)
	if err != nil {
		return nil, err
	}
	shared.ends = append(shared.ends, func() { d.terminate(); _ = os.RemoveAll(data) })
	return d, nil
}

// sharedDemo is the demo that most tests look at. Its parser stays the older
// one, and each test takes documents of a defect that no other test takes.
func sharedDemo(t *testing.T) *demo {
	t.Helper()
	chromium(t)
	d, err := startShared()
	if err != nil {
		t.Fatal(err)
	}
	d.awaitFirstSync(t)
	return d
}

func tryDemo(data string) (*demo, error) {
	p, err := tryStart(listening, nil, dloBinary, "demo", "--listen", "127.0.0.1:0", "--data", data)
	if err != nil {
		return nil, err
	}
	d := &demo{process: p, data: data, passwords: map[string]string{}}
	const pipelineLine = "The sample pipeline: "
	line, ok := p.output.waitFor(pipelineLine, startTime)
	if !ok {
		p.kill()
		return nil, fmt.Errorf("dlo demo printed no address of the sample pipeline:\n%s", p.output.text())
	}
	d.pipeline = strings.TrimPrefix(line, pipelineLine)
	for line := range strings.Lines(p.output.text()) {
		if f := strings.Fields(line); len(f) == 3 && strings.Contains(f[1], "@") {
			d.passwords[f[0]] = f[2]
		}
	}
	return d, nil
}

func (d *demo) awaitFirstSync(t *testing.T) {
	t.Helper()
	eventually(t, "the sample pipeline has tried every document", func() bool {
		var status struct {
			Syncing   bool           `json:"syncing"`
			Documents map[string]int `json:"documents"`
		}
		getJSON(t, d.pipeline+"/control/status", &status)
		return !status.Syncing && status.Documents["new"] == 0
	})
}

// signIn opens a browser in which somebody of a role is signed in.
func (d *demo) signIn(t *testing.T, role string) *browser {
	t.Helper()
	b := newBrowser(t)
	b.signIn(d.address, role+"@example.com", d.passwords[role])
	return b
}

// addUser makes a user that the demo does not have.
func (d *demo) addUser(t *testing.T, role string) {
	t.Helper()
	password := "a long password of the " + role
	dlo(t, password+"\n", "user", "add", role+"@example.com", "--role", role, "--data", d.data)
	d.passwords[role] = password
}

// api is a program that may do everything.
func (d *demo) api(t *testing.T) *api {
	t.Helper()
	return newAPI(t, d.address, newToken(t, d.data, t.Name(), "ingest,outcome,read,act,admin"))
}

// control tells the sample pipeline to do something.
func (d *demo) control(t *testing.T, what string, body map[string]string) {
	t.Helper()
	postJSON(t, d.pipeline+"/control/"+what, body, nil)
}

// pipelineDocument is a document as the sample pipeline knows it.
type pipelineDocument struct {
	Source    string `json:"source"`
	DocID     string `json:"doc_id"`
	Defect    string `json:"defect"`
	State     string `json:"state"`
	ErrorType string `json:"error_type"`
}

// documents are the pipeline's documents that have a defect and failed.
func (d *demo) documents(t *testing.T, defect string) []pipelineDocument {
	t.Helper()
	var all struct {
		Items []pipelineDocument `json:"items"`
	}
	getJSON(t, d.pipeline+"/control/documents", &all)
	var found []pipelineDocument
	for _, doc := range all.Items {
		if doc.Defect == defect && doc.State == "failed" {
			found = append(found, doc)
		}
	}
	if len(found) == 0 {
		t.Fatalf("the pipeline has no failed document with the defect %q", defect)
	}
	return found
}

// commit is a row of the pipeline's own table.
type commit struct {
	ContentHash   string `json:"content_hash"`
	Source        string `json:"source"`
	DocID         string `json:"doc_id"`
	ParserVersion string `json:"parser_version"`
	Count         int    `json:"count"`
}

// commitsOf are the pipeline's commits of one document.
func (d *demo) commitsOf(t *testing.T, doc pipelineDocument) []commit {
	t.Helper()
	var all struct {
		Items []commit `json:"items"`
	}
	getJSON(t, d.pipeline+"/control/committed", &all)
	var found []commit
	for _, c := range all.Items {
		if c.Source == doc.Source && c.DocID == doc.DocID {
			found = append(found, c)
		}
	}
	return found
}

// entry is what the API says of a document.
type entry struct {
	DLQID        string    `json:"dlq_id"`
	Status       string    `json:"status"`
	Cohort       string    `json:"cohort"`
	SameFailures int       `json:"same_failures"`
	OpenedAt     time.Time `json:"opened_at"`
	ExpiresAt    time.Time `json:"expires_at"`
	Redrives     []struct {
		RedriveID string `json:"redrive_id"`
		Mode      string `json:"mode"`
		Outcome   string `json:"outcome"`
		Verdict   struct {
			Name     string `json:"name"`
			Bytes    string `json:"bytes"`
			Code     string `json:"code"`
			Presumed bool   `json:"presumed"`
		} `json:"verdict"`
	} `json:"redrives"`
}

// entryOf looks a document up as a program does.
func entryOf(office *api, doc pipelineDocument) entry {
	office.t.Helper()
	var found struct {
		DLQID string `json:"dlq_id"`
	}
	office.must(http.MethodGet, "/dead-letters/lookup?"+url.Values{"source": {doc.Source}, "doc_id": {doc.DocID}}.Encode(), nil, &found)
	var e entry
	office.must(http.MethodGet, "/dead-letters/"+found.DLQID, nil, &e)
	return e
}
