package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/client"
	"dlo/dlq/redrive"
)

const targetSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// checkTarget runs the command, and gives what it prints and its exit code.
func checkTarget(t *testing.T, c targetCheckCommand) (string, int) {
	t.Helper()
	check, closeAll, err := c.prepare()
	if err != nil {
		return err.Error(), 2
	}
	defer func() {
		if err := closeAll(); err != nil {
			t.Error(err)
		}
	}()
	report := check.Run(context.Background())
	var out bytes.Buffer
	if c.JSON {
		err = c.printJSON(&out, report)
	} else {
		err = c.printText(&out, report)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), codeOf(report)
}

// reporting is a target that takes everything with 202 and reports to reply_to.
func reporting(t *testing.T) string {
	known, newest := map[string]bool{}, map[string]int64{}
	work := make(chan client.Redrive, 100)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case d := <-work:
				result := dlq.OutcomeCommitted
				switch {
				case known[d.ContentHash]:
					result = dlq.OutcomeSkipped
				case *d.IngestSeq < newest[d.DocID]:
					result = dlq.OutcomeSuperseded
				}
				known[d.ContentHash], newest[d.DocID] = true, max(newest[d.DocID], *d.IngestSeq)
				if d.ReplyTo == "" {
					continue
				}
				body, _ := json.Marshal(client.Outcome{RedriveID: d.RedriveID, Result: result})
				if res, err := http.Post(d.ReplyTo, "application/json", bytes.NewReader(body)); err == nil {
					res.Body.Close()
				}
			}
		}
	}()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		d, err := client.VerifyRedrive(r.Header, body.Bytes(), targetSecret)
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		work <- d
	}))
	t.Cleanup(func() { server.Close(); stop(); <-done })
	return server.URL
}

func secretFile(t *testing.T, secret string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestTargetCheckEndsWithWhatItFound(t *testing.T) {
	file := secretFile(t, targetSecret)
	deaf := reporting(t)
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }))
	defer refusing.Close()
	for name, c := range map[string]struct {
		command targetCheckCommand
		code    int
		says    string
	}{
		"it reports":             {targetCheckCommand{URL: reporting(t) + "/redrive?token=hidden", SecretFile: file, OutboundAllow: "127.0.0.1/32", ReplyListen: "127.0.0.1:0", Wait: 5 * time.Second}, 0, "4 of 4 promises are kept"},
		"nobody listens":         {targetCheckCommand{URL: deaf, SecretFile: file, OutboundAllow: "127.0.0.1/32"}, 3, "--reply-listen"},
		"it refuses":             {targetCheckCommand{URL: refusing.URL, OutboundAllow: "127.0.0.1/32"}, 1, "broken"},
		"the guard refuses":      {targetCheckCommand{URL: refusing.URL}, 2, "--outbound-allow"},
		"no address":             {targetCheckCommand{URL: "pipeline/redrive"}, 2, "http or https"},
		"user information":       {targetCheckCommand{URL: "https://u:p@pipeline.example.com/"}, 2, "without user information"},
		"no file":                {targetCheckCommand{URL: deaf, SecretFile: "/nowhere/secret"}, 2, "--secret-file"},
		"a secret of no use":     {targetCheckCommand{URL: deaf, SecretFile: secretFile(t, "whsec_c2hvcnQ=")}, 2, "24 to 64 bytes"},
		"a list of no use":       {targetCheckCommand{URL: deaf, OutboundAllow: "http://x"}, 2, "--outbound-allow"},
		"an address of our host": {targetCheckCommand{URL: deaf, OutboundAllow: "127.0.0.1/32", ReplyListen: "nowhere"}, 2, "--reply-listen"},
	} {
		out, code := checkTarget(t, c.command)
		if code != c.code || !strings.Contains(out, c.says) {
			t.Errorf("%s: it ends with %d, want %d, and says\n%s", name, code, c.code, out)
		}
		if strings.Contains(out, "hidden") || strings.Contains(out, "whsec_c2") || strings.Contains(out, targetSecret) {
			t.Errorf("%s: a secret is printed:\n%s", name, out)
		}
	}
}

func TestTargetCheckPrintsJSON(t *testing.T) {
	out, _ := checkTarget(t, targetCheckCommand{URL: reporting(t), SecretFile: secretFile(t, targetSecret), OutboundAllow: "127.0.0.1/32", ReplyListen: "127.0.0.1:0", Wait: 5 * time.Second, JSON: true})
	var got struct {
		Target     string
		Kept       bool
		Promises   []redrive.Promise
		Deliveries []map[string]any
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if !got.Kept || len(got.Promises) != 4 || len(got.Deliveries) != 13 || got.Deliveries[0]["result"] != "committed" {
		t.Errorf("it prints %s", out)
	}
}
