package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/intake"

	"github.com/klauspost/compress/zstd"
)

// importStand is a data folder, and a run that imports into it.
type importStand struct {
	t      *testing.T
	stores *stores
	folder string
	run    importRun
	said   *bytes.Buffer
}

func newImport(t *testing.T) *importStand {
	t.Helper()
	s := &importStand{t: t, folder: t.TempDir(), said: &bytes.Buffer{}}
	var err error
	if s.stores, err = (dataFlags{Data: filepath.Join(t.TempDir(), "data")}).open(t.Context(), false, false); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.stores.Close() })
	s.run = importRun{in: intake.New(importStore{s.stores.db}, s.stores.payloads, time.Now, 1<<20), out: s.said}
	return s
}

func (s *importStand) dry() {
	s.run.in, s.run.dry = intake.New(dryStore{importStore{s.stores.db}}, dryPayloads{s.stores.payloads}, time.Now, 1<<20), true
}

// write makes a file of the folder.
func (s *importStand) write(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// files imports, and gives what was said and whether anything was refused.
func (s *importStand) files(names ...string) (said string, refused bool) {
	s.t.Helper()
	s.said.Reset()
	err := s.run.files(s.t.Context(), names)
	if err != nil && !errors.Is(err, errFaults) {
		s.t.Fatal(err)
	}
	return s.said.String(), err != nil
}

func (s *importStand) stuck() int64 {
	s.t.Helper()
	totals, err := s.stores.db.Totals(s.t.Context(), console())
	if err != nil {
		s.t.Fatal(err)
	}
	return totals.Stuck
}

func envelopes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"source":"wiki","doc_id":"d%d","error_type":"ParseError","error_message":"m"}`+"\n", i)
	}
	return b.String()
}

func TestAnImportParksEachLineAndDoesNotDouble(t *testing.T) {
	s := newImport(t)
	path := s.write("a.ndjson", envelopes(600)+`{"source":"wiki","doc_id":"d1","error_type":"Other","last_seen_at":"2026-01-01T00:00:00Z"}`)
	said, refused := s.files(path)
	if refused || !strings.Contains(said, "601 lines read: 600 parked, 1 merged, 0 duplicate, 0 rejected") || s.stuck() != 600 {
		t.Fatalf("%v, %d stuck: %s", refused, s.stuck(), said)
	}
	if said, _ := s.files(path); !strings.Contains(said, "0 parked, 0 merged, 601 duplicate, 0 rejected") || s.stuck() != 600 {
		t.Errorf("again, %d stuck: %s", s.stuck(), said)
	}
	if _, err := os.Stat(path + ".rejected.ndjson"); !os.IsNotExist(err) {
		t.Error("rejects of what was not rejected")
	}
}

func TestRejectsStandBesideTheFileWithTheirLineAndReason(t *testing.T) {
	s := newImport(t)
	long := `{"source":"wiki","doc_id":"l","error_message":"` + strings.Repeat("x", dlq.MaxEnvelope) + `"}`
	path := s.write("a.ndjson", "\ufeff"+`{"source":"wiki","doc_id":"1"}`+"\r\n\r\n"+`{"source":"wiki","doc_id":2}`+"\n"+long+"\n"+`not json`+"\n"+"{\"source\":\"wiki\",\"doc_id\":\"\xff\"}\n"+`{"doc_id":"no source"}`+"\n"+`{"source":"wiki","doc_id":"last"}`)
	said, refused := s.files(path)
	if !refused || s.stuck() != 2 || !strings.Contains(said, "2 parked, 0 merged, 0 duplicate, 5 rejected") || !strings.Contains(said, path+".rejected.ndjson") {
		t.Fatalf("%v, %d stuck: %s", refused, s.stuck(), said)
	}
	body, err := os.ReadFile(path + ".rejected.ndjson")
	if err != nil {
		t.Fatal(err)
	}
	var rows []rejectedLine
	for line := range strings.Lines(string(body)) {
		var r rejectedLine
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, r)
	}
	if len(rows) != 5 || rows[0].Line != 3 || rows[0].Problem.Errors[0].Pointer != "/doc_id" || rows[0].Original != `{"source":"wiki","doc_id":2}` || rows[1].Line != 4 || rows[2].Original != "not json" || rows[3].Encoding != "base64" || rows[4].Problem.Errors[0].Pointer != "/source" {
		t.Errorf("the rejects are %.2000s", body)
	}
	if info, err := os.Stat(path + ".rejected.ndjson"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if list, err := s.stores.db.Rejected(t.Context(), "wiki", 10); err == nil && len(list) > 0 {
		t.Error("they were kept twice")
	}
	s.run.source = "leases"
	if said, _ := s.files(path); !strings.Contains(said, "1 parked, 0 merged, 2 duplicate, 4 rejected") {
		t.Errorf("with a source for those that name none: %s", said)
	}
}

func TestRejectsOfAnEarlierRunDoNotOutliveTheirCause(t *testing.T) {
	s := newImport(t)
	path := s.write("a.ndjson", `{"source":"wiki","doc_id":2}`)
	rejects := path + ".rejected.ndjson"
	there := func() bool {
		_, err := os.Stat(rejects)
		return err == nil
	}
	s.files(path)
	if !there() {
		t.Fatal("nothing was kept")
	}
	wet := s.run
	s.write("a.ndjson", envelopes(1))
	s.dry()
	if s.files(path); !there() {
		t.Error("a dry run took away what an earlier run kept")
	}
	s.run = wet
	if said, refused := s.files(path); refused || there() {
		t.Errorf("the rejects of the mended file still stand: %s", said)
	}
	s.write("a.ndjson", `{"source":"wiki","doc_id":2}`)
	s.files(path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, refused := s.files(path); !refused || !there() {
		t.Error("a file that cannot be read took its rejects along")
	}
}

func TestPackedFilesAreUnpacked(t *testing.T) {
	s := newImport(t)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, envelopes(3))
	z.Close()
	gz := packed.Bytes()
	zw, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		body, want string
		refused    bool
	}{
		"a.ndjson.gz":  {string(gz), "3 lines read", false},
		"a.zst":        {string(zw.EncodeAll([]byte(envelopes(3)), nil)), "3 lines read", false},
		"broken.gz":    {string(gz[:len(gz)-9]), "the packed data is damaged or not complete", true},
		"nonsense.gz":  {"\x1f\x8bxxxxxxxxxxxxxxxxxxx", "gzip", true},
		"nonsense.zst": {"\x28\xb5\x2f\xfdxxxxxxxxxxxxxxxxx", "", true},
		"pdf.gz": {func() string {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			io.WriteString(z, "%PDF-1.7")
			z.Close()
			return b.String()
		}(), "this is a PDF document", true},
	} {
		said, refused := s.files(s.write(name, c.body))
		if refused != c.refused || !strings.Contains(said, c.want) {
			t.Errorf("%s: %v, %s", name, refused, said)
		}
	}
}

func TestWhatIsNoNDJSONIsSaidToBeWhatItIs(t *testing.T) {
	s := newImport(t)
	for want, body := range map[string]string{
		"this is one JSON array":                    `[{"source":"wiki"}]`,
		"this is one JSON value over several lines": "{\n  \"source\": \"wiki\"\n}",
		"this is a table (CSV or the like)":         "id,source,error\n1,wiki,x\n",
		"this is text in UTF-16":                    "\xff\xfe{\x00\"\x00",
		"text in UTF-16; UTF-8 expected":            "{\x00\"\x00s\x00o\x00u\x00r\x00c\x00e\x00",
		"this is a PDF document":                    "%PDF-1.7\n%\xe2\xe3",
		"this is a binary file":                     "abc\x00\x01\x02",
		"this is XML or HTML":                       "<?xml version=\"1.0\"?>",
		"this is a tar archive":                     strings.Repeat("a", 257) + "ustar" + strings.Repeat("\x00", 300),
		"it begins with \"hello\"":                  "hello\nworld",
		"0 lines read":                              "",
	} {
		said, refused := s.files(s.write("x", body))
		if !strings.Contains(said, want) || refused != (body != "") {
			t.Errorf("%.20q: %v, %s", body, refused, said)
		}
	}
	if said, refused := s.files(filepath.Join(s.folder, "nowhere"), s.folder, s.write("good", envelopes(1))); !refused || !strings.Contains(said, "no such file") || !strings.Contains(said, "this is a folder") || !strings.Contains(said, "3 files: 1 line read: 1 parked") {
		t.Errorf("%v, %s", refused, said)
	}
}

func TestADryRunStoresNothing(t *testing.T) {
	s := newImport(t)
	s.dry()
	said, refused := s.files(s.write("a.ndjson", envelopes(2)+`{"source":"new","doc_id":"p","payload":"bytes"}`+"\n"+`{"source":"wiki","confidence":"\u001b[31m"}`+"\n"))
	if !refused || !strings.Contains(said, "4 lines read: 3 would be taken, 1 rejected; nothing was stored") || !strings.Contains(said, "line 4: ") || strings.Contains(said, "\x1b") {
		t.Errorf("%v, %s", refused, said)
	}
	if s.stuck() != 0 {
		t.Error("something was parked")
	}
	if sources, err := s.stores.db.Sources(t.Context()); err != nil || len(sources) != 0 {
		t.Errorf("%v, %v", sources, err)
	}
	if _, err := os.Stat(filepath.Join(s.folder, "a.ndjson.rejected.ndjson")); !os.IsNotExist(err) {
		t.Error("rejects were written")
	}
	held := 0
	if err := s.stores.payloads.Each(t.Context(), func(string, int64, time.Time) error { held++; return nil }); err != nil || held != 0 {
		t.Errorf("%d payloads, %v", held, err)
	}
}

// A row of an export is an envelope with what we know beside it.
func TestAnExportIsImported(t *testing.T) {
	s := newImport(t)
	if said, refused := s.files(s.write("export.ndjson", `{"dlq_id":"01K0000000000000000000000A","status":"quarantined","cohort":"01K0000000000000000000000B","fingerprint":"f1:7f3a19c2d0e14b55aa01be9c33d2f470","source":"wiki","doc_id":"1","error_type":"ParseError","first_seen_at":"2026-01-01T00:00:00Z","last_seen_at":"2026-01-02T00:00:00Z","attempts":3,"stack_trace":null}`)); refused {
		t.Fatal(said)
	}
	e, err := s.stores.db.EntryByDoc(t.Context(), console(), "wiki", "1")
	if err != nil || e.Status != dlq.StatusParked || e.SenderID != "01K0000000000000000000000A" || e.Attempts != 3 || e.DLQID == e.SenderID {
		t.Fatalf("%+v, %v", e, err)
	}
	a, err := s.stores.db.Attempt(t.Context(), e.EvidenceID)
	if err != nil || a.Detail.Extra["status"] != "quarantined" || a.Detail.Extra["cohort"] == nil || a.Detail.Extra["fingerprint"] == nil {
		t.Errorf("%+v, %v", a.Detail.Extra, err)
	}
}

// stopping ends its context while it is read.
type stopping struct {
	io.Reader
	stop context.CancelFunc
	left int
}

func (s *stopping) Read(b []byte) (int, error) {
	if s.left--; s.left < 0 {
		s.stop()
	}
	return s.Reader.Read(b[:min(len(b), 1000)])
}

func TestWhoStopsAnImportIsToldHowToGoOn(t *testing.T) {
	s := newImport(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	path := s.write("a.ndjson", envelopes(2000))
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	in := &importInput{Reader: &stopping{file, stop, 60}}
	one := importFile{run: &s.run, input: in, lines: linesOf(in), rejects: rejectsFile{path: path + ".rejected.ndjson"}, progress: newProgress(s.said, false, "a", in)}
	err = one.read(ctx)
	if err == nil || !strings.Contains(err.Error(), "stopped after line") || !strings.Contains(err.Error(), "Give the same command again") {
		t.Fatalf("%v", err)
	}
	if n := s.stuck(); n == 0 || n >= 2000 || n != one.counts.parked || !strings.Contains(err.Error(), "line "+digits(n)+";") {
		t.Errorf("%d are stuck, %d counted, %v", n, one.counts.parked, err)
	}
	if said, _ := s.files(path); !strings.Contains(said, digits(one.counts.parked)+" duplicate") || s.stuck() != 2000 {
		t.Errorf("%d are stuck: %s", s.stuck(), said)
	}
}

func TestTheBarSaysHowFarItIs(t *testing.T) {
	for want, got := range map[string]string{
		"[==============              ]  50 %  1,234 lines, 617/s": barOf(50, 100, 1234, 2*time.Second),
		"[============================] 100 %  1 line":             barOf(120, 100, 1, 0),
		"12 lines": barOf(50, 0, 12, time.Millisecond),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if digits(1234567) != "1,234,567" || digits(12) != "12" {
		t.Error("numbers have no separators")
	}
}
