package handlers

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dlo/db"
	"dlo/dlq"
)

const apiDeadLetters = "/api/v1/dead-letters"

func digestOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// leaseLetter is a dead letter as lease pipelines send it, and wikiLetter and
// legalLetter those of a document pipeline and of one that keeps records.
func leaseLetter() obj {
	return obj{"source": "leases", "document_id": "lease-77", "object_key": "s3://leases/77.pdf", "content_hash": digestOf("lease 77"), "error_class": "SchemaValidationError",
		"stack_trace": "Traceback (most recent call last):\n  File \"extract.py\", line 10, in run\n    parse(doc)\n  File \"extract.py\", line 44, in parse\n    raise SchemaValidationError(\"rent\")\nextract.SchemaValidationError: rent",
		"retry_count": 3, "redrive_count": 0, "first_seen": "2026-03-01T08:00:00Z", "last_seen": "2026-03-01T09:00:00Z"}
}

func legalLetter() obj {
	return obj{"source": "filings", "doc_hash": digestOf("a filing"), "payload": "a filing", "stage": "validate", "exception_context": "ValueError: bad docket\n  at parse (docket.py:3)",
		"validation_output": []obj{{"rule": "docket_number", "path": "/docket", "message": "does not match", "passed": false}}, "parser_version": "docket@4", "confidence": "0.41"}
}

func wikiLetter(docID string) obj {
	return obj{"source": "wiki", "doc_id": docID, "source_version": `W/"5c9f-1b3d2a7"`, "source_updated_at": "2026-02-11T09:41:07Z", "cursor_at_arrival": "2026-02-11T09:41:07Z", "ingest_seq": 88213774,
		"connector_version": "wiki-connector@3.14.2", "parser_version": "pdfminer.six@20221105", "chunker_version": "recursive-800-100@2", "embedder_version": "text-embedding-3-large@1536",
		"payload_uri": "s3://ingest-quarantine/wiki/" + docID + "/9f2a4c1e.pdf", "payload_sha256": digestOf("document " + docID), "payload_bytes": len("document " + docID),
		"error_class": "ambiguous_parse", "error_type": "PDFSyntaxError", "error_message": "No /Root object! - Is this really a PDF?", "attempts": 2,
		"first_seen_at": "2026-02-11T09:42:13Z", "last_seen_at": "2026-02-11T09:44:51Z", "dlq_id": "01JQ7X0F5C3N4K8Y2M6P9RTVAZ"}
}

func TestTheThreeShapesOfADeadLetterAreParked(t *testing.T) {
	a := newAPI(t)
	for name, c := range map[string]struct {
		letter  obj
		docID   string
		shown   obj
		payload string
	}{
		"lease":  {leaseLetter(), "lease-77", obj{"error_type": "SchemaValidationError", "error_class": "", "attempts": 4.0}, "never"},
		"filing": {legalLetter(), "sha256:" + digestOf("a filing"), obj{"error_type": "ValueError", "attempts": 1.0, "reason": "exception"}, "held"},
		"wiki":   {wikiLetter("1147829310"), "1147829310", obj{"error_type": "PDFSyntaxError", "error_class": "ambiguous_parse", "attempts": 2.0, "first_seen": "2026-02-11T09:42:13Z"}, "never"},
	} {
		t.Run(name, func(t *testing.T) {
			answer := a.post(apiDeadLetters, dlq.ScopeIngest, c.letter).want(http.StatusCreated)
			receipt := apiInto[dlq.Receipt](answer)
			if receipt.DocID != c.docID || !receipt.Created || receipt.Status != dlq.StatusParked || receipt.URL != "/entries/"+receipt.DLQID {
				t.Errorf("the receipt is %+v", receipt)
			}
			entry := a.entry(receipt.DLQID)
			for field, want := range c.shown {
				if entry[field] != want {
					t.Errorf("%s is %v, want %v", field, entry[field], want)
				}
			}
			if got := entry["payload"].(obj)["state"]; got != c.payload {
				t.Errorf("the copy is %v, want %v", got, c.payload)
			}
		})
	}
}

func TestTheSameEventIsOneFailureAndANewOneIsMerged(t *testing.T) {
	a := newAPI(t)
	letter := wikiLetter("1")
	first := apiInto[dlq.Receipt](a.post(apiDeadLetters, dlq.ScopeIngest, letter).want(http.StatusCreated))
	again := apiInto[dlq.Receipt](a.post(apiDeadLetters, dlq.ScopeIngest, letter).want(http.StatusOK))
	if !again.Duplicate || again.Created || again.Attempts != first.Attempts || again.Arrivals != 1 || again.DLQID != first.DLQID {
		t.Errorf("the same letter again was answered %+v", again)
	}
	letter["last_seen_at"], letter["ingest_seq"] = "2026-02-12T09:44:51Z", 88213775
	merged := apiInto[dlq.Receipt](a.post(apiDeadLetters, dlq.ScopeIngest, letter).want(http.StatusOK))
	if merged.Duplicate || merged.Created || merged.Attempts != 4 || merged.Arrivals != 2 || merged.DLQID != first.DLQID {
		t.Errorf("the next failure was answered %+v", merged)
	}
	other := wikiLetter("2")
	other["event_id"] = "m-1"
	a.post(apiDeadLetters, dlq.ScopeIngest, other).want(http.StatusCreated)
	other["last_seen_at"] = "2026-02-13T09:44:51Z" // another envelope, and the broker's same message
	if r := apiInto[dlq.Receipt](a.post(apiDeadLetters, dlq.ScopeIngest, other).want(http.StatusOK)); !r.Duplicate || r.Arrivals != 1 {
		t.Errorf("a message that came twice was answered %+v", r)
	}
}

func TestABatchIsAnsweredLineByLineInOrder(t *testing.T) {
	a := newAPI(t)
	long := `{"source":"wiki","doc_id":"long","error_message":"` + strings.Repeat("x", dlq.MaxEnvelope) + `"}`
	batch := strings.Join([]string{
		`{"source":"wiki","doc_id":"1"}`,
		`{"source":"wiki","doc_id":"2","attempts":0,"content_hash":"abc"}`,
		``,
		`{"source":"wiki","doc_id":"3"`,
		long,
		`{"source":"wiki","doc_id":"1"}`,
		`{"source":"wiki","doc_id":"4","doc_id":"5"}`,
		`{"source":"wiki","doc_id":"6"}`,
	}, "\n") // without an end of its last line
	answer := a.do(apiCall{method: http.MethodPost, path: apiDeadLetters, scope: dlq.ScopeIngest, contentType: typeNDJSON, body: batch}).want(http.StatusOK)
	want := []struct {
		line, status int
		docID        string
	}{{1, 201, "1"}, {2, 422, ""}, {4, 400, ""}, {5, 413, ""}, {6, 200, "1"}, {7, 400, ""}, {8, 201, "6"}}
	lines := answer.lines()
	if len(lines) != len(want) {
		t.Fatalf("%d lines were answered, want %d: %s", len(lines), len(want), apiHead(answer.body))
	}
	for i, w := range want {
		docID := ""
		if entry, ok := lines[i]["entry"].(obj); ok {
			docID = entry["doc_id"].(string)
		}
		if lines[i]["line"] != float64(w.line) || lines[i]["status"] != float64(w.status) || docID != w.docID {
			t.Errorf("answer %d is line %v, status %v, document %q; want %+v", i, lines[i]["line"], lines[i]["status"], docID, w)
		}
		if _, problem := lines[i]["problem"]; problem != (w.status >= 400) {
			t.Errorf("line %d of status %d has a problem: %t", w.line, w.status, problem)
		}
	}
	if n := len(lines[1]["problem"].(obj)["errors"].([]any)); n != 2 {
		t.Errorf("line 2 names %d faults, want both", n)
	}
	if rows := a.get(apiDeadLetters, dlq.ScopeRead).items(); len(rows) != 2 {
		t.Errorf("%d documents are stored, want the 2 good ones", len(rows))
	}
}

func TestABatchHasItsOwnLimitWhateverAPayloadMayHave(t *testing.T) {
	small, large := newAPI(t), newAPIWith(t, db.Options{}, 2*dlq.MaxBatch)
	line := `{"source":"wiki","doc_id":"1","error_message":"` + strings.Repeat("x", 1<<19) + "\"}\n"
	batch := func(a *apiServer, size int) apiAnswer {
		return a.do(apiCall{method: http.MethodPost, path: apiDeadLetters, scope: dlq.ScopeIngest, contentType: typeNDJSON, body: strings.Repeat(line, size/len(line)+1)})
	}
	if got := len(batch(small, 8*apiPayloadLimit).want(http.StatusOK).lines()); got != 16 {
		t.Errorf("%d lines were answered, want 16", got)
	}
	batch(large, dlq.MaxBatch).problem(http.StatusRequestEntityTooLarge, dlq.KindTooLarge)
	blank := io.LimitReader(endless('\n'), dlq.MaxBatch+1) // no lines at all, and no length either
	large.do(apiCall{method: http.MethodPost, path: apiDeadLetters, scope: dlq.ScopeIngest, contentType: typeNDJSON, body: blank}).problem(http.StatusRequestEntityTooLarge, dlq.KindTooLarge)
}

// endless is a body of one byte, for ever.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}

func TestPartsComeInEitherOrder(t *testing.T) {
	a := newAPI(t)
	for i, document := range []string{"envelope first", "payload first"} {
		envelope := part{name: "envelope", contentType: typeJSON, body: fmt.Sprintf(`{"source":"wiki","doc_id":"%d","payload_sha256":%q}`, i, digestOf(document))}
		bytes := part{name: "payload", filename: "scan.pdf", contentType: "application/pdf", body: document}
		parts := []part{envelope, bytes}
		if i == 1 {
			slices.Reverse(parts)
		}
		body, contentType := multipartBody(t, parts...)
		answer := a.do(apiCall{method: http.MethodPost, path: apiDeadLetters, scope: dlq.ScopeIngest, contentType: contentType, body: body}).want(http.StatusCreated)
		id := apiInto[dlq.Receipt](answer).DLQID
		if got := a.get(apiDeadLetters+"/"+id+"/payload", dlq.ScopeRead).want(http.StatusOK); string(got.body) != document {
			t.Errorf("%s: the stored copy is %q", document, got.body)
		}
		evidence := a.entry(id)["evidence"].(obj)
		if evidence["filename"] != "scan.pdf" || evidence["content_type"] != "application/pdf" {
			t.Errorf("%s: the part's name and type are %v and %v", document, evidence["filename"], evidence["content_type"])
		}
	}
}

func TestPartsThatDoNotMakeALetterAreRefused(t *testing.T) {
	a := newAPI(t)
	envelope := part{name: "envelope", body: `{"source":"wiki","doc_id":"1"}`}
	for name, c := range map[string]struct {
		parts  []part
		status int
		kind   dlq.Kind
	}{
		"no envelope":      {[]part{{name: "payload", body: "x"}}, 422, dlq.KindInvalid},
		"two envelopes":    {[]part{envelope, envelope}, 400, dlq.KindMalformed},
		"two payloads":     {[]part{envelope, {name: "payload", body: "x"}, {name: "payload", body: "x"}}, 400, dlq.KindMalformed},
		"a third part":     {[]part{envelope, {name: "more", body: "x"}}, 400, dlq.KindMalformed},
		"bytes twice":      {[]part{{name: "envelope", body: `{"source":"wiki","doc_id":"1","payload":"x"}`}, {name: "payload", body: "x"}}, 422, dlq.KindInvalid},
		"another digest":   {[]part{{name: "envelope", body: `{"source":"wiki","doc_id":"1","payload_sha256":"` + digestOf("y") + `"}`}, {name: "payload", body: "x"}}, 422, dlq.KindInvalid},
		"another length":   {[]part{{name: "envelope", body: `{"source":"wiki","doc_id":"1","payload_bytes":2}`}, {name: "payload", body: "x"}}, 422, dlq.KindInvalid},
		"a long envelope":  {[]part{{name: "envelope", body: `{"source":"` + strings.Repeat("x", dlq.MaxEnvelope) + `"}`}}, 413, dlq.KindTooLarge},
		"a long payload":   {[]part{envelope, {name: "payload", body: strings.Repeat("x", apiPayloadLimit+1)}}, 413, dlq.KindTooLarge},
		"a part of a part": {nil, 400, dlq.KindMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			body, contentType := multipartBody(t, c.parts...)
			if c.parts == nil {
				body, contentType = []byte("--b\r\nContent-Disposition: form-data; name=\"payload\"\r\n\r\nhalf"), "multipart/form-data; boundary=b"
			}
			a.do(apiCall{method: http.MethodPost, path: apiDeadLetters, scope: dlq.ScopeIngest, contentType: contentType, body: body}).problem(c.status, c.kind)
		})
	}
	if rows := a.get(apiDeadLetters, dlq.ScopeRead).items(); len(rows) != 0 {
		t.Errorf("%d documents were stored", len(rows))
	}
	for _, digest := range []string{digestOf(strings.Repeat("x", apiPayloadLimit+1)), digestOf("half")} {
		if _, held, err := a.payloads.Stat(t.Context(), digest); held || err != nil {
			t.Errorf("bytes that were refused are held: %t, %v", held, err)
		}
	}
}

// leftovers lists what lies in the payload folder that is no whole payload.
func (a *apiServer) leftovers() []string {
	a.t.Helper()
	var found []string
	err := filepath.WalkDir(filepath.Join(a.folder, "blobs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !dlq.IsSHA256(d.Name()) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return found
}

func TestABodyThatBreaksOffStoresNothing(t *testing.T) {
	a := newAPI(t)
	authorization := "Authorization: Bearer " + a.token(dlq.ScopeIngest, "") + "\r\n"
	whole := `{"source":"wiki","doc_id":"1"}`
	parts, contentType := multipartBody(t, part{name: "envelope", body: whole}, part{name: "payload", body: strings.Repeat("x", 100_000)})
	for name, c := range map[string]struct{ request, contentType, body string }{
		"an envelope":     {"POST " + apiDeadLetters, typeJSON, whole},
		"parts":           {"POST " + apiDeadLetters, contentType, string(parts[:len(parts)-1000])},
		"a named payload": {"PUT /api/v1/payloads/" + digestOf("x"), "application/octet-stream", "x"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", a.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: %s\r\n%sContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", c.request, a.addr, authorization, c.contentType, len(c.body)+5000, c.body)
			if err := conn.(*net.TCPConn).CloseWrite(); err != nil { // no more will come
				t.Fatal(err)
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.StatusCode != http.StatusBadRequest {
				t.Errorf("half a body was answered %d", res.StatusCode)
			}
		})
	}
	if rows := a.get(apiDeadLetters, dlq.ScopeRead).items(); len(rows) != 0 {
		t.Errorf("%d documents were stored", len(rows))
	}
	if left := a.leftovers(); len(left) != 0 {
		t.Errorf("in the payload folder stayed %q", left)
	}
	if _, held, err := a.payloads.Stat(t.Context(), digestOf("x")); held || err != nil {
		t.Errorf("half a payload is held: %t, %v", held, err)
	}
}

func TestTheWholeLinesOfABatchThatBreaksOffAreStored(t *testing.T) {
	a := newAPI(t)
	body := `{"source":"wiki","doc_id":"whole"}` + "\n" + `{"source":"wiki","doc_id":"ha`
	conn, err := net.Dial("tcp", a.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
		apiDeadLetters, a.addr, a.token(dlq.ScopeIngest, ""), typeNDJSON, len(body)+5000, body)
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("half a batch was answered %d", res.StatusCode)
	}
	if rows := a.get(apiDeadLetters, dlq.ScopeRead).items(); len(rows) != 1 || rows[0]["doc_id"] != "whole" {
		t.Errorf("stored are %v", rows)
	}
}

func TestBytesMayComeBeforeTheirEnvelope(t *testing.T) {
	a := newAPI(t)
	put := func(digest, body string) apiAnswer {
		return a.do(apiCall{method: http.MethodPut, path: "/api/v1/payloads/" + digest, scope: dlq.ScopeIngest, contentType: "application/octet-stream", body: body})
	}
	digest := digestOf("document 1")
	put(digest, "document 1").want(http.StatusCreated)
	if got := put(digest, "document 1").want(http.StatusOK).object(); got["payload_sha256"] != digest || got["payload_bytes"] != 10.0 {
		t.Errorf("bytes that are held already were answered %v", got)
	}
	receipt := a.park(wikiLetter("1"))
	if p := a.entry(receipt.DLQID)["payload"].(obj); p["state"] != "held" || p["held_sha256"] != digest || p["of_current_evidence"] != true {
		t.Errorf("the copy is %v", p)
	}

	if p := put(digest, "something else").problem(http.StatusUnprocessableEntity, dlq.KindInvalid); !slices.Equal(pointersOf(p), []string{"/payload_sha256"}) {
		t.Errorf("other bytes were refused at %v", pointersOf(p))
	}
	if _, held, err := a.payloads.Stat(t.Context(), digestOf("something else")); held || err != nil {
		t.Errorf("bytes of another digest are held: %t, %v", held, err)
	}
	put(strings.ToUpper(digest), "document 1").problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
	put("..%2f..%2fdlo.db", "x").problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
	large := strings.Repeat("x", apiPayloadLimit+1)
	put(digestOf(large), large).problem(http.StatusRequestEntityTooLarge, dlq.KindTooLarge)
	if left := a.leftovers(); len(left) != 0 {
		t.Errorf("in the payload folder stayed %q", left)
	}
}

func TestEveryFaultOfAnEnvelopeIsNamedAndACopyKept(t *testing.T) {
	a := newAPI(t)
	letter := obj{"source": "wiki", "doc_id": 7, "content_hash": "9f2a", "payload_sha256": strings.Repeat("A", 64), "attempts": 0, "redrive_count": -1, "reason": "bad luck",
		"first_seen_at": "2026-03-01T10:00:00Z", "last_seen_at": "2026-02-01T10:00:00Z", "confidence": 1.5, "ingest_seq": "five", "versions": []any{}, "labels": obj{"a": 1},
		"etag": `"1"`, "source_version": `"2"`, "parser_version": strings.Repeat("v", 513)}
	p := a.post(apiDeadLetters, dlq.ScopeIngest, letter).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
	want := []string{"/attempts", "/confidence", "/content_hash", "/doc_id", "/etag", "/first_seen_at", "/ingest_seq", "/labels/a", "/parser_version", "/payload_sha256", "/reason", "/redrive_count", "/versions"}
	got := pointersOf(p)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("faults are named at %q, want %q", got, want)
	}
	if rows := a.get(apiDeadLetters, dlq.ScopeRead).items(); len(rows) != 0 {
		t.Errorf("%d documents were stored", len(rows))
	}
	kept, err := a.store.Rejected(t.Context(), "wiki", 10)
	if err != nil || len(kept) != 1 {
		t.Fatalf("%d rejected envelopes are kept: %v", len(kept), err)
	}
	sent, err := json.Marshal(letter)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(kept[0].Body, sent) || !strings.Contains(kept[0].Problem, "/content_hash") {
		t.Errorf("kept is %q with the problem %s", kept[0].Body, kept[0].Problem)
	}
	a.park(wikiLetter("1"))
	if source := a.get("/api/v1/sources/wiki", dlq.ScopeRead).want(http.StatusOK).object(); source["rejected"] != 1.0 {
		t.Errorf("the source says that %v were rejected", source["rejected"])
	}
}

func TestWhatIsNoSingleJSONObjectIsMalformed(t *testing.T) {
	a := newAPI(t)
	for name, body := range map[string]string{
		"nothing":               ``,
		"half an object":        `{"source":"wiki"`,
		"two values":            `{"source":"wiki","doc_id":"1"} {}`,
		"a list":                `[{"source":"wiki","doc_id":"1"}]`,
		"a name twice":          `{"source":"wiki","doc_id":"1","doc_id":"2"}`,
		"a name in two cases":   `{"source":"wiki","doc_id":"1","DOC_ID":"2"}`,
		"33 levels":             `{"source":"wiki","doc_id":"1","deep":` + strings.Repeat("[", 33) + strings.Repeat("]", 33) + `}`,
		"bytes that are no UTF": "{\"source\":\"wiki\",\"doc_id\":\"\xff\"}",
	} {
		t.Run(name, func(t *testing.T) {
			a.post(apiDeadLetters, dlq.ScopeIngest, body).problem(http.StatusBadRequest, dlq.KindMalformed)
		})
	}
	if rows := a.get(apiDeadLetters, dlq.ScopeRead).items(); len(rows) != 0 {
		t.Errorf("%d documents were stored", len(rows))
	}
}

func TestAnEnvelopeMayBeAMebibyteAndNoByteMore(t *testing.T) {
	a := newAPI(t)
	envelope := func(size int) string {
		head, tail := `{"source":"wiki","doc_id":"1","error_message":"`, `"}`
		return head + strings.Repeat("x", size-len(head)-len(tail)) + tail
	}
	a.post(apiDeadLetters, dlq.ScopeIngest, envelope(dlq.MaxEnvelope)).want(http.StatusCreated)
	a.post(apiDeadLetters, dlq.ScopeIngest, envelope(dlq.MaxEnvelope+1)).problem(http.StatusRequestEntityTooLarge, dlq.KindTooLarge)
}

func TestOnlyTheThreeContentTypesAreTaken(t *testing.T) {
	a := newAPI(t)
	letter := `{"source":"wiki","doc_id":"1"}`
	for _, contentType := range []string{"text/plain", "application/xml", "application/x-www-form-urlencoded", "application/json; charset=latin1", "nonsense;;", "multipart/mixed; boundary=x"} {
		a.do(apiCall{method: http.MethodPost, path: apiDeadLetters, scope: dlq.ScopeIngest, contentType: contentType, body: letter}).problem(http.StatusUnsupportedMediaType, dlq.KindUnsupported)
	}
	for _, path := range []string{apiDeadLetters, apiDeadLetters + "/lookup", "/api/v1/evidence"} {
		a.do(apiCall{method: http.MethodPost, path: path, scope: dlq.ScopeIngest, body: letter, header: http.Header{"Content-Encoding": {"gzip"}}}).problem(http.StatusUnsupportedMediaType, dlq.KindUnsupported)
	}
	a.do(apiCall{method: http.MethodPut, path: "/api/v1/payloads/" + digestOf("x"), scope: dlq.ScopeIngest, body: "x", header: http.Header{"Content-Encoding": {"gzip"}}}).problem(http.StatusUnsupportedMediaType, dlq.KindUnsupported)
	a.do(apiCall{method: http.MethodPost, path: apiDeadLetters, scope: dlq.ScopeIngest, contentType: "application/json; charset=UTF-8", body: letter}).want(http.StatusCreated)
}

func TestALongTraceIsCutAndSaysSo(t *testing.T) {
	a := newAPI(t)
	trace := "ValueError: first line\n" + strings.Repeat("    at frame (file.py:1)\n", 12_800) + "the last line"
	letter := obj{"source": "wiki", "doc_id": "1", "error_type": "ValueError", "stack_trace": trace}
	evidence := a.entry(a.park(letter).DLQID)["evidence"].(obj)
	kept := evidence["stack_trace"].(string)
	if len(trace) <= 300<<10 || len(kept) > dlq.MaxText {
		t.Errorf("of %d bytes %d are kept, want at most %d", len(trace), len(kept), dlq.MaxText)
	}
	if got := evidence["cut"].(obj)["stack_trace"]; got != float64(len(trace)) {
		t.Errorf("the original length is said to be %v, want %d", got, len(trace))
	}
	if !strings.HasPrefix(kept, "ValueError: first line\n") || !strings.HasSuffix(kept, "the last line") || !strings.Contains(kept, "cut here") {
		t.Error("head, tail or the mark of the cut is missing")
	}
}

func TestHostileTextsComeBackAsTheyWereSent(t *testing.T) {
	a := newAPI(t)
	text := "\u202Efdp.exe <script>alert(1)</script> \x1b[31m \u0000 '; drop table entry; -- \r\n{\"level\":\"x\"} \U0001F4A9 e\u0301 \u2028"
	letter := obj{"source": "wiki <b>", "doc_id": "doc/<i>&amp;\u202E?#%2f", "filename": text, "error_message": text, "stack_trace": text, "stage": "<img src=x>", "labels": obj{"<b>": text}, "unknown_field": obj{"deep": []any{text, 1.5}}}
	entry := a.entry(a.park(letter).DLQID)
	evidence := entry["evidence"].(obj)
	for name, got := range map[string]any{"error_message": evidence["error_message"], "stack_trace": evidence["stack_trace"], "label": evidence["labels"].(obj)["<b>"], "extra": evidence["extra"].(obj)["unknown_field"].(obj)["deep"].([]any)[0]} {
		if got != text {
			t.Errorf("%s came back as %q", name, got)
		}
	}
	if entry["doc_id"] != letter["doc_id"] || entry["source"] != letter["source"] {
		t.Errorf("identity came back as %q / %q", entry["source"], entry["doc_id"])
	}
	for _, canary := range []string{"drop table", "<script>", `"level":"x"`} {
		if strings.Contains(a.log.String(), canary) {
			t.Errorf("the log holds %q of the envelope", canary)
		}
	}
}

func TestLowConfidenceIsUnderTheSourcesFloor(t *testing.T) {
	a := newAPI(t)
	letter := func(c any) obj {
		return obj{"source": "wiki", "doc_id": "1", "reason": "low_confidence", "confidence": c}
	}
	if p := a.post(apiDeadLetters, dlq.ScopeIngest, letter(0.8)).problem(422, dlq.KindInvalid); !slices.Equal(pointersOf(p), []string{"/confidence"}) {
		t.Errorf("refused at %v", pointersOf(p))
	}
	if p := a.post(apiDeadLetters, dlq.ScopeIngest, letter(nil)).problem(422, dlq.KindInvalid); !slices.Equal(pointersOf(p), []string{"/confidence"}) {
		t.Errorf("refused at %v", pointersOf(p))
	}
	a.post(apiDeadLetters, dlq.ScopeIngest, letter(0.4)).want(http.StatusCreated)
}

func TestAnEnvelopeOfTheFutureIsRefused(t *testing.T) {
	a := newAPI(t)
	ahead := func(d time.Duration) obj {
		return obj{"source": "wiki", "doc_id": "1", "last_seen_at": apiStart.Add(d).Format(time.RFC3339)}
	}
	a.post(apiDeadLetters, dlq.ScopeIngest, ahead(25*time.Hour)).problem(422, dlq.KindInvalid)
	a.post(apiDeadLetters, dlq.ScopeIngest, ahead(23*time.Hour)).want(http.StatusCreated)
}

func TestInlineBytesAreTextOrBase64(t *testing.T) {
	a := newAPI(t)
	raw := string([]byte{0, 1, 0xff, 0xfe})
	for i, c := range []struct{ payload, encoding, want string }{{"plain text", "", "plain text"}, {base64.StdEncoding.EncodeToString([]byte(raw)), "base64", raw}} {
		receipt := a.park(obj{"source": "wiki", "doc_id": fmt.Sprint(i), "payload": c.payload, "payload_encoding": c.encoding})
		if got := a.get(apiDeadLetters+"/"+receipt.DLQID+"/payload", dlq.ScopeRead).want(200); string(got.body) != c.want {
			t.Errorf("the stored copy is %q, want %q", got.body, c.want)
		}
	}
	if p := a.post(apiDeadLetters, dlq.ScopeIngest, obj{"source": "wiki", "doc_id": "3", "payload": "not base64!", "payload_encoding": "base64"}).problem(422, dlq.KindInvalid); !slices.Equal(pointersOf(p), []string{"/payload"}) {
		t.Errorf("refused at %v", pointersOf(p))
	}
}
