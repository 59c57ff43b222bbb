package handlers

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
)

func TestADownloadCannotActAndIsInTheAuditTrail(t *testing.T) {
	a := newAPI(t)
	document := "<script>alert(1)</script>"
	hostile := "\"\r\nX-Evil: 1.html"
	id := a.park(obj{"source": "wiki", "doc_id": "1", "payload": document, "filename": hostile, "content_type": "text/html"}).DLQID
	answer := a.get(apiDeadLetters+"/"+id+"/payload", dlq.ScopeRead).want(http.StatusOK)
	if string(answer.body) != document {
		t.Errorf("the bytes are %q", answer.body)
	}
	for name, want := range map[string]string{"Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'", "Cross-Origin-Resource-Policy": "same-origin", "X-Evil": ""} {
		if got := answer.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := answer.header.Get("Content-Disposition"); !strings.HasPrefix(got, "attachment; filename=") || strings.ContainsAny(got, "\r\n") {
		t.Errorf("the disposition is %q", got)
	}
	row := a.get("/api/v1/audit?limit=1", dlq.ScopeAdmin).want(http.StatusOK).items()[0]
	// The token that reads the trail was made after the download.
	if row["action"] == "token.created" {
		row = a.get("/api/v1/audit?limit=2", dlq.ScopeAdmin).items()[1]
	}
	if row["action"] != "payload.downloaded" || row["dlq_id"] != id || row["actor"] != "read@" || row["detail"].(obj)["sha256"] != digestOf(document) {
		t.Errorf("the audit trail says %v", row)
	}
}

func TestWhatIsNotHeldIsNotHandedOut(t *testing.T) {
	a := newAPI(t)
	never := a.park(obj{"source": "wiki", "doc_id": "1"}).DLQID
	a.get(apiDeadLetters+"/"+never+"/payload", dlq.ScopeRead).problem(http.StatusNotFound, dlq.KindNotFound)

	id := a.park(obj{"source": "wiki", "doc_id": "2", "payload": "document"}).DLQID
	digest := digestOf("document")
	if err := os.WriteFile(filepath.Join(a.folder, "blobs", digest[:2], digest), []byte("documenx"), 0o600); err != nil {
		t.Fatal(err)
	}
	a.get(apiDeadLetters+"/"+id+"/payload", dlq.ScopeRead).problem(http.StatusConflict, dlq.KindConflict)
	if got := a.entry(id)["payload"].(obj)["state"]; got != "corrupt" {
		t.Errorf("the damaged copy is %v", got)
	}
	if alerts := a.get("/api/v1/alerts", dlq.ScopeRead).items(); len(alerts) != 1 || alerts[0]["rule"] != "payload_corrupt" {
		t.Errorf("the alerts are %v", alerts)
	}
	a.get(strings.TrimPrefix(a.links.Link(digest, apiStart.Add(time.Minute)), a.url), "").problem(http.StatusConflict, dlq.KindConflict)

	a.do(apiCall{method: put, path: "/api/v1/payloads/" + digest, scope: dlq.ScopeIngest, body: "document", contentType: "application/octet-stream"}).want(http.StatusCreated)
	if got := a.get(apiDeadLetters+"/"+id+"/payload", dlq.ScopeRead).want(http.StatusOK); string(got.body) != "document" {
		t.Errorf("stored anew the bytes are %q", got.body)
	}
}

func TestOneOpenerSaysWhyThereAreNoBytes(t *testing.T) {
	a := newAPI(t)
	held := dlq.Entry{Copy: dlq.CopyHeld, HeldSHA256: digestOf("document")}
	a.park(obj{"source": "wiki", "doc_id": "1", "payload": "document"})
	erased, never, expired, mended := held, held, held, held
	erased.Status = dlq.StatusErased
	never.Copy, expired.Copy, mended.Copy = dlq.CopyNever, dlq.CopyExpired, dlq.CopyCorrupt
	for name, c := range map[string]struct {
		entry dlq.Entry
		want  dlq.Kind
	}{"held": {held, ""}, "never": {never, dlq.KindNotFound}, "expired": {expired, dlq.KindGone}, "erased, its bytes still shared": {erased, dlq.KindGone}, "damaged once, and sent again": {mended, ""}} {
		r, size, err := a.handlers.openStoredCopy(t.Context(), c.entry)
		if dlq.KindOf(err) != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err == nil {
			if size != int64(len("document")) {
				t.Errorf("%s: %d bytes", name, size)
			}
			r.Close()
		}
	}
}

func TestALinkOpensOnePayloadForAShortTime(t *testing.T) {
	a := newAPI(t)
	a.park(obj{"source": "wiki", "doc_id": "1", "payload": "document"})
	a.park(obj{"source": "wiki", "doc_id": "2", "payload": "another"})
	link := strings.TrimPrefix(a.links.Link(digestOf("document"), apiStart.Add(time.Minute)), a.url)
	get := func(path string) apiAnswer { return a.do(apiCall{method: http.MethodGet, path: path}) }
	if got := get(link).want(http.StatusOK); string(got.body) != "document" || got.header.Get("Content-Type") != "application/octet-stream" || !strings.HasPrefix(got.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("the link gave %q with %v", got.body, got.header)
	}
	u, err := url.Parse(link)
	if err != nil {
		t.Fatal(err)
	}
	with := func(key, value string) string {
		q := u.Query()
		q.Set(key, value)
		return u.Path + "?" + q.Encode()
	}
	for name, path := range map[string]string{
		"another payload":  strings.Replace(link, digestOf("document"), digestOf("another"), 1),
		"a longer time":    with("expires", "9999999999"),
		"no signature":     u.Path,
		"another's":        with("signature", strings.Repeat("A", 43)),
		"an odd signature": with("signature", "%00"),
	} {
		t.Run(name, func(t *testing.T) { get(path).problem(http.StatusForbidden, dlq.KindForbidden) })
	}
	get("/api/v1/payloads/..%2f..%2fdlo.db").problem(http.StatusNotFound, dlq.KindNotFound)
	a.clock.forward(time.Minute)
	get(link).problem(http.StatusGone, dlq.KindGone)
	if strings.Contains(a.log.String(), "signature=") || strings.Contains(a.log.String(), u.Query().Get("signature")) {
		t.Error("the log holds a link")
	}
}

func TestTheAuditTrailIsPagedFromItsNewestRow(t *testing.T) {
	a := newAPI(t)
	id := a.park(obj{"source": "wiki", "doc_id": "1"}).DLQID
	for range 3 {
		a.post(apiDeadLetters+"/"+id+"/archive", dlq.ScopeAct, obj{"reason": "cold"}).want(http.StatusOK)
		a.post(apiDeadLetters+"/"+id+"/restore", dlq.ScopeAct, nil).want(http.StatusOK)
	}
	a.token(dlq.ScopeAdmin, "") // so that reading the trail adds nothing to it
	whole := a.get("/api/v1/audit?limit=500", dlq.ScopeAdmin).want(http.StatusOK).items()
	for i, row := range whole {
		if row["seq"] != float64(len(whole)-i) {
			t.Errorf("row %d has the number %v of %d", i, row["seq"], len(whole))
		}
	}
	cursor, paged := "", 0
	for range 20 {
		answer := a.get("/api/v1/audit?limit=4&cursor="+cursor, dlq.ScopeAdmin).want(http.StatusOK)
		paged += len(answer.items())
		if cursor = answer.object()["next"].(string); cursor == "" {
			break
		}
	}
	if paged != len(whole) || len(whole) < 9 {
		t.Errorf("on pages there are %d rows, in one answer %d", paged, len(whole))
	}
	if row := whole[2]; row["action"] != "entry.archive" || row["reason"] != "cold" || row["dlq_id"] != id || row["source"] != "wiki" {
		t.Errorf("the archiving is told as %v", row)
	}
	a.get("/api/v1/audit?cursor=x", dlq.ScopeAdmin).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
}
