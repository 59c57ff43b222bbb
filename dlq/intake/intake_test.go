package intake_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"dlo/connectors/payload"
	"dlo/db/dbtest"
	"dlo/dlq"
	"dlo/dlq/dlqtest"
	"dlo/dlq/intake"
)

func TestAWikiRecordIsParked(t *testing.T) {
	s := newStand(t)
	r, e, a := s.receive(t, `{"dlq_id":"01JQ7X0F5C3N4K8Y2M6P9RTVAZ","source":"wiki","doc_id":"1147829310","source_version":"W/\"5c9f-1b3d2a7\"","source_updated_at":"2026-02-11T09:41:07Z",
		"cursor_at_arrival":"2026-02-11T09:41:07Z","ingest_seq":88213774,"connector_version":"wiki-connector@3.14.2","parser_version":"pdfminer.six@20221105","chunker_version":"recursive-800-100@2",
		"embedder_version":"text-embedding-3-large@1536","payload_uri":"s3://ingest-quarantine/wiki/1147829310/9f2a4c1e.pdf","payload_sha256":"`+dlqtest.Digest("pdf")+`","payload_bytes":4718592,
		"error_class":"ambiguous_parse","error_type":"PDFSyntaxError","error_message":"No /Root object! - Is this really a PDF?","stack_trace_uri":"s3://traces/1.txt","attempts":2,
		"first_seen_at":"2026-02-11T09:42:13Z","last_seen_at":"2026-02-11T09:44:51Z"}`)
	if !r.Created || r.Attempts != 2 || !strings.HasPrefix(r.Fingerprint, "f1:") || e.SenderID != "01JQ7X0F5C3N4K8Y2M6P9RTVAZ" || e.Copy != dlq.CopyNever || e.ContentHash != dlqtest.Digest("pdf") {
		t.Errorf("%+v\n%+v", r, e)
	}
	if a.SourceVersion != `W/"5c9f-1b3d2a7"` || *a.IngestSeq != 88213774 || a.PayloadURI != "s3://ingest-quarantine/wiki/1147829310/9f2a4c1e.pdf" || a.PayloadBytes != 4718592 || a.Detail.TraceURI != "s3://traces/1.txt" || len(a.Versions) != 4 {
		t.Errorf("%+v", a)
	}
}

func TestAParsersRecordIsKnownByItsBytes(t *testing.T) {
	s := newStand(t)
	bound := dlqtest.Only(dlqtest.Pipeline, "invoices")
	body := `{"doc_hash":"` + dlqtest.Digest("a,b\n1,2\n") + `","reason":"validation","payload":"a,b\n1,2\n","validation_output":"total: expected 3, got 2","exception_context":"","attempts":1,"first_seen":"2026-02-11T09:42:13+00:00","confidence":null}`
	r, err := s.Receive(background, bound, intake.Parcel{Body: []byte(body)})
	if err != nil {
		t.Fatal(err, faults(err))
	}
	e := s.db.Entry(t, r.DLQID)
	if r.Source != "invoices" || r.DocID != "sha256:"+dlqtest.Digest("a,b\n1,2\n") || e.Reason != dlq.ReasonValidation || !e.CopyIsCurrent() || e.KeyCheck != dlq.KeyFromPayload {
		t.Errorf("%+v\n%+v", r, e)
	}
	if got := s.holds(t, e.HeldSHA256); got != "a,b\n1,2\n" {
		t.Errorf("%q is held", got)
	}
	// It says when it failed first and not last: the same again is another failure.
	s.db.Clock.Advance(time.Minute)
	if again, err := s.Receive(background, bound, intake.Parcel{Body: []byte(body)}); err != nil || again.Duplicate || again.Arrivals != 2 {
		t.Errorf("%+v, %v", again, err)
	}
	s.db.MustHold(t)
}

func TestTheSameEnvelopeWithItsTimeIsOneEvent(t *testing.T) {
	s := newStand(t)
	first := `{"source":"wiki","doc_id":"1","error_type":"E","last_seen_at":"2026-02-11T09:44:51Z","tenant":{"b":1,"a":[1.0]}}`
	r, _, _ := s.receive(t, first)
	s.db.Clock.Advance(time.Minute)
	for name, body := range map[string]string{
		"as it was":         first,
		"in another order":  `{"tenant": {"a":[1.0],"b":1}, "last_seen_at":"2026-02-11T10:44:51+01:00", "error_type":"E", "doc_id":"1", "source":"wiki"}`,
		"under the aliases": `{"source":"wiki","document_id":"1","error_type":"E","last_seen":"2026-02-11T09:44:51Z","etag":null,"tenant":{"b":1,"a":[1.0]}}`,
	} {
		again, err := s.Receive(background, dlqtest.Pipeline, intake.Parcel{Body: []byte(body)})
		if err != nil || !again.Duplicate || again.DLQID != r.DLQID || again.Attempts != 1 || again.Arrivals != 1 {
			t.Errorf("%s: %+v, %v", name, again, err)
		}
	}
	for name, body := range map[string]string{
		"another time":    strings.Replace(first, "51Z", "52Z", 1),
		"another tenant":  strings.Replace(first, `"b":1`, `"b":2`, 1),
		"another message": strings.Replace(first, `"error_type":"E"`, `"error_type":"E","error_message":"m"`, 1),
		"with bytes":      strings.Replace(first, `"doc_id":"1"`, `"doc_id":"1","payload":"x"`, 1),
		"no time":         `{"source":"wiki","doc_id":"1","error_type":"E"}`,
	} {
		again, err := s.Receive(background, dlqtest.Pipeline, intake.Parcel{Body: []byte(body)})
		if err != nil || again.Duplicate {
			t.Errorf("%s: %+v, %v", name, again, err)
		}
	}
	s.db.MustHold(t)
}

func TestNumbersThatDifferPastAFloatAreTwoEvents(t *testing.T) {
	s := newStand(t)
	body := `{"source":"wiki","doc_id":"1","ingest_seq":9007199254740992,"last_seen_at":"2026-02-11T09:44:51Z","tenant":"a"}`
	s.receive(t, body)
	r, err := s.Receive(background, dlqtest.Pipeline, intake.Parcel{Body: []byte(strings.Replace(body, "0992", "0993", 1))})
	if err != nil || r.Duplicate {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAnEventIDIsOneEventWhateverElseDiffers(t *testing.T) {
	s := newStand(t)
	s.receive(t, `{"source":"wiki","doc_id":"1","event_id":"m-7"}`)
	for body, want := range map[string]bool{`{"source":"wiki","doc_id":"2","event_id":"m-7","error_type":"X"}`: true, `{"source":"leases","doc_id":"1","event_id":"m-7"}`: false, `{"source":"wiki","doc_id":"1","event_id":"m-8"}`: false} {
		if r, err := s.Receive(background, dlqtest.Pipeline, intake.Parcel{Body: []byte(body)}); err != nil || r.Duplicate != want {
			t.Errorf("%s: %+v, %v", body, r, err)
		}
	}
}

func TestBytesBesideTheEnvelope(t *testing.T) {
	s := newStand(t)
	stored, err := s.StorePayload(background, strings.NewReader("%PDF-1.4"))
	if err != nil || stored.SHA256 != dlqtest.Digest("%PDF-1.4") {
		t.Fatal(stored, err)
	}
	_, e, a := s.receiveParcel(t, intake.Parcel{Body: []byte(`{"source":"wiki","doc_id":"1"}`), Payload: &stored, Filename: "a.pdf", ContentType: "application/pdf"})
	if !e.CopyIsCurrent() || e.PayloadBytes != 8 || e.Filename != "a.pdf" || e.ContentType != "application/pdf" || a.PayloadSHA256 != stored.SHA256 {
		t.Errorf("%+v", e)
	}
	_, e, _ = s.receiveParcel(t, intake.Parcel{Body: []byte(`{"source":"wiki","doc_id":"2","filename":"mine.pdf","content_type":"text/html","payload_sha256":"` + stored.SHA256 + `","payload_bytes":8}`), Payload: &stored, Filename: "a.pdf", ContentType: "application/pdf"})
	if e.Filename != "mine.pdf" || e.ContentType != "text/html" {
		t.Errorf("what the envelope says goes before: %+v", e)
	}
}

func TestBytesBeforeTheEnvelope(t *testing.T) {
	s := newStand(t)
	digest := dlqtest.Digest("early")
	if _, err := s.StoreNamedPayload(background, strings.NewReader("other"), digest); dlq.KindOf(err) != dlq.KindInvalid || pointers(err) != "/payload_sha256" {
		t.Errorf("bytes of another digest: %v", err)
	}
	if held, err := s.db.HoldsPayload(background, digest); err != nil || held {
		t.Error("the refused bytes are held")
	}
	if _, err := s.StoreNamedPayload(background, strings.NewReader("early"), digest); err != nil {
		t.Fatal(err)
	}
	if held, err := s.db.HoldsPayload(background, digest); err != nil || !held {
		t.Error("the database does not know of the bytes, and a sweep would not either")
	}
	_, e, _ := s.receive(t, `{"source":"wiki","doc_id":"1","payload_sha256":"`+digest+`"}`)
	if !e.CopyIsCurrent() || e.PayloadBytes != 5 {
		t.Errorf("%+v", e)
	}
	_, e, _ = s.receive(t, `{"source":"wiki","doc_id":"2","payload_sha256":"`+dlqtest.Digest("never came")+`","payload_bytes":7}`)
	if e.Copy != dlq.CopyNever || e.PayloadBytes != 7 {
		t.Errorf("%+v", e)
	}
	if _, err := s.StorePayload(background, strings.NewReader(strings.Repeat("x", limit+1))); dlq.KindOf(err) != dlq.KindTooLarge {
		t.Errorf("more bytes than are taken: %v", err)
	}
	s.db.MustHold(t)
}

func TestBytesThatAreNotAsTheEnvelopeSaysAreRefusedAndTheEnvelopeKept(t *testing.T) {
	s := newStand(t)
	stored, err := s.StorePayload(background, strings.NewReader("%PDF-1.4"))
	if err != nil {
		t.Fatal(err)
	}
	digest, other := stored.SHA256, dlqtest.Digest("other")
	for name, c := range map[string]struct {
		body   string
		beside *dlq.StoredPayload
		want   string
	}{
		"beside it, of another digest": {`"payload_sha256":"` + other + `"`, &stored, "/payload_sha256"},
		"beside it, of another size":   {`"payload_bytes":9`, &stored, "/payload_bytes"},
		"in it, of another digest":     {`"payload":"x","payload_sha256":"` + other + `"`, nil, "/payload_sha256"},
		"in it, of another size":       {`"payload":"ü","payload_bytes":1`, nil, "/payload_bytes"},
		"in it and beside it":          {`"payload":"%PDF-1.4"`, &stored, "/payload"},
		"before it, of another size":   {`"payload_sha256":"` + digest + `","payload_bytes":9`, nil, "/payload_bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			err := s.refused(t, dlqtest.Pipeline, intake.Parcel{Body: []byte(`{"source":"wiki","doc_id":"1",` + c.body + `}`), Payload: c.beside}, "wiki")
			if dlq.KindOf(err) != dlq.KindInvalid || pointers(err) != c.want {
				t.Errorf("%v at %s", err, pointers(err))
			}
		})
	}
	if n := s.db.Int(t, `select count(*) from entry`); n != 0 {
		t.Errorf("%d entries", n)
	}
}

func TestBytesInTheEnvelopeAreNotKeptInItsTexts(t *testing.T) {
	s := newStand(t)
	raw := string([]byte{0xff, 0x00, 0x0a})
	_, e, a := s.receive(t, `{"source":"wiki","doc_id":"1","payload":"`+base64.StdEncoding.EncodeToString([]byte(raw))+`","payload_encoding":"base64"}`)
	if got := s.holds(t, e.HeldSHA256); got != raw {
		t.Errorf("%q is held", got)
	}
	if len(a.Detail.Extra) > 0 || e.PayloadBytes != 3 {
		t.Errorf("%+v", a.Detail)
	}
}

func TestWhatAKeyIsFoundToBe(t *testing.T) {
	s := newStand(t)
	bytesAlone, versioned, neither := dlqtest.Digest("bytes"), dlqtest.Digest("bytesv7"), dlqtest.Digest("another")
	named := `,"payload_sha256":"` + bytesAlone + `"`
	held := `,"payload":"bytes"`
	for name, c := range map[string]struct {
		fields string
		check  dlq.KeyCheck
		key    string
	}{
		"none given, no bytes":            {``, dlq.KeyUnchecked, ""},
		"none given, bytes named":         {named, dlq.KeyFromPayload, bytesAlone},
		"none given, bytes held":          {held, dlq.KeyFromPayload, bytesAlone},
		"the digest of the bytes":         {held + `,"content_hash":"` + bytesAlone + `","processing_version":"v7"`, dlq.KeyBytes, bytesAlone},
		"the digest of bytes and version": {held + `,"content_hash":"` + versioned + `","processing_version":"v7"`, dlq.KeyVersioned, versioned},
		"of bytes and another version":    {held + `,"content_hash":"` + versioned + `","processing_version":"v8"`, dlq.KeyUnexplained, versioned},
		"of nothing that is known":        {held + `,"content_hash":"` + neither + `","processing_version":"v7"`, dlq.KeyUnexplained, neither},
		"no version":                      {held + `,"content_hash":"` + versioned + `"`, dlq.KeyUnchecked, versioned},
		"no bytes":                        {`,"content_hash":"` + versioned + `","processing_version":"v7"`, dlq.KeyUnchecked, versioned},
	} {
		s.db.Clock.Advance(time.Second)
		_, e, _ := s.receive(t, `{"source":"wiki","doc_id":"`+name+`"`+c.fields+`}`)
		if e.KeyCheck != c.check || e.ContentHash != c.key {
			t.Errorf("%s: %q %s", name, e.KeyCheck, e.ContentHash)
		}
	}
}

func TestLongTextsAreCutWithAMark(t *testing.T) {
	s := newStand(t)
	head, tail := "head of it ", " tail of it"
	text := head + strings.Repeat("ü", 150<<10) + tail // 300 KiB
	for _, field := range []string{"stack_trace", "error_message", "validation_output"} {
		t.Run(field, func(t *testing.T) {
			_, _, a := s.receive(t, `{"source":"wiki","doc_id":"`+field+`","`+field+`":"`+text+`"}`)
			got := map[string]string{"stack_trace": a.Detail.Trace, "error_message": a.Detail.Message, "validation_output": a.Detail.Validation}[field]
			if len(got) > dlq.MaxText || len(got) < dlq.MaxText-100 || !utf8.ValidString(got) || strings.ContainsRune(got, utf8.RuneError) {
				t.Errorf("%d bytes are kept, valid %v", len(got), utf8.ValidString(got))
			}
			if !strings.HasPrefix(got, head) || !strings.HasSuffix(got, tail) || !strings.Contains(got, fmt.Sprint(len(text))) {
				t.Errorf("kept as %.60q … %q", got, got[len(got)-60:])
			}
			if a.Detail.Cut[field] != len(text) || len(a.Detail.Cut) != 1 {
				t.Errorf("the original length is %v, want %d", a.Detail.Cut, len(text))
			}
		})
	}
	_, _, a := s.receive(t, `{"source":"wiki","doc_id":"whole","stack_trace":"`+strings.Repeat("x", dlq.MaxText)+`"}`)
	if len(a.Detail.Trace) != dlq.MaxText || a.Detail.Cut != nil {
		t.Errorf("a text at the limit is kept with %d bytes, cut %v", len(a.Detail.Trace), a.Detail.Cut)
	}
}

func TestALongTraceIsGroupedAsAWhole(t *testing.T) {
	s := newStand(t)
	trace := func(pad int) string {
		return "Traceback (most recent call last):\n" + strings.Repeat("  File \"/srv/app/loop.py\", line 7, in visit\n    visit(node)\n", pad) +
			"  File \"/srv/app/parse.py\", line 10, in parse\n    raise ValueError(x)\nValueError: bad\n"
	}
	short, _, _ := s.receive(t, `{"source":"wiki","doc_id":"1","stack_trace":`+quote(trace(3000))+`}`)
	long, _, _ := s.receive(t, `{"source":"wiki","doc_id":"2","stack_trace":`+quote(trace(6000))+`}`)
	if short.Fingerprint != long.Fingerprint {
		t.Errorf("%s and %s", short.Fingerprint, long.Fingerprint)
	}
}

func quote(s string) string { return string(dlq.CanonicalJSON(s)) }

func TestTheConfidenceFloorIsTheSources(t *testing.T) {
	s := newStand(t)
	if _, _, err := s.db.PutSource(background, dlqtest.Admin, dlqtest.Policy("strict", func(p *dlq.SourcePolicy) { p.ConfidenceFloor = 0.9 })); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		source, confidence string
		taken              bool
	}{{"wiki", "0.74", true}, {"wiki", "0.75", false}, {"wiki", "1", false}, {"strict", "0.89", true}, {"strict", `"0.9"`, false}} {
		body := `{"source":"` + c.source + `","doc_id":"1","reason":"low_confidence","confidence":` + c.confidence + `}`
		if c.taken {
			s.receive(t, body)
		} else if err := s.refused(t, dlqtest.Pipeline, intake.Parcel{Body: []byte(body)}, c.source); pointers(err) != "/confidence" {
			t.Errorf("%s: %v", body, err)
		}
	}
	s.receive(t, `{"source":"wiki","doc_id":"2","reason":"exception","confidence":0.99}`)
}

func TestATokenParksForItsOwnSource(t *testing.T) {
	s := newStand(t)
	wiki, two := dlqtest.Only(dlqtest.Pipeline, "wiki"), dlqtest.Only(dlqtest.Pipeline, "wiki", "leases")
	take := func(by dlq.Actor, body string) string {
		t.Helper()
		r, err := s.Receive(background, by, intake.Parcel{Body: []byte(body)})
		if err != nil {
			t.Fatal(err)
		}
		return r.Source
	}
	if got := take(wiki, `{"doc_id":"1"}`); got != "wiki" {
		t.Error(got)
	}
	if got := take(wiki, `{"doc_id":"1","source":"wiki"}`); got != "wiki" {
		t.Error(got)
	}
	if got := take(two, `{"doc_id":"1","source":"leases"}`); got != "leases" {
		t.Error(got)
	}
	for _, c := range []struct {
		by           dlq.Actor
		body, keptIn string
	}{
		{wiki, `{"doc_id":"1","source":"leases"}`, "leases"},
		{two, `{"doc_id":"1"}`, ""},
		{dlqtest.Pipeline, `{"doc_id":"1"}`, ""},
		{dlqtest.Pipeline, `{"doc_id":"1","source":"a\nb"}`, "a\nb"},
	} {
		if err := s.refused(t, c.by, intake.Parcel{Body: []byte(c.body)}, c.keptIn); pointers(err) != "/source" {
			t.Errorf("%s: %v at %s", c.body, err, pointers(err))
		}
	}
}

func TestWhatIsRefusedIsKeptAndNamesEveryFault(t *testing.T) {
	s := newStand(t)
	wiki := dlqtest.Only(dlqtest.Pipeline, "wiki")
	for name, c := range map[string]struct {
		body string
		kind dlq.Kind
		want string
	}{
		"not JSON":                     {`{"doc_id":`, dlq.KindMalformed, "/doc_id"},
		"not UTF-8":                    {"{\"doc_id\":\"\xff\"}", dlq.KindMalformed, ""},
		"a list":                       {`[]`, dlq.KindMalformed, ""},
		"too much":                     {`{"doc_id":"` + strings.Repeat("x", dlq.MaxEnvelope) + `"}`, dlq.KindTooLarge, ""},
		"nothing says which":           {`{}`, dlq.KindInvalid, "/doc_id"},
		"faults of all kinds together": {`{"source":"leases","attempts":0,"reason":"low_confidence","confidence":0.8}`, dlq.KindInvalid, "/attempts /confidence /doc_id /source"},
	} {
		t.Run(name, func(t *testing.T) {
			source := "wiki"
			if strings.Contains(c.body, "leases") {
				source = "leases"
			}
			err := s.refused(t, wiki, intake.Parcel{Body: []byte(c.body)}, source)
			if dlq.KindOf(err) != c.kind || (c.want != "" && pointers(err) != c.want) {
				t.Errorf("%s %v at %s", dlq.KindOf(err), err, pointers(err))
			}
		})
	}
	if n := s.db.Int(t, `select count(*) from entry`); n != 0 {
		t.Errorf("%d entries", n)
	}
}

func TestGoodEnvelopesAreStoredThoughOthersOfTheBatchFail(t *testing.T) {
	s := newStand(t)
	results := s.ReceiveBatch(background, dlqtest.Pipeline, []intake.Parcel{
		{Body: []byte(`{"source":"wiki","doc_id":"1"}`)}, {Body: []byte(`{`)}, {Body: []byte(`{"source":"wiki","doc_id":"1"}`)}, {Body: []byte(`{"source":"wiki"}`)}, {Body: []byte(`{"source":"leases","doc_id":"2"}`)},
	})
	if len(results) != 5 || !results[0].Receipt.Created || results[1].Err == nil || results[2].Receipt.Created || results[2].Receipt.Arrivals != 2 || results[3].Err == nil || results[4].Receipt.Source != "leases" {
		t.Errorf("%+v", results)
	}
	if results := s.ReceiveBatch(background, dlqtest.Pipeline, []intake.Parcel{{Body: []byte(`{`)}}); results[0].Err == nil {
		t.Error("a batch without a good envelope")
	}
	if got := s.ReceiveBatch(background, dlqtest.Pipeline, nil); len(got) != 0 {
		t.Error(got)
	}
	s.db.MustHold(t)
}

// down is a payload store that cannot do its work.
type down struct{ payload.Store }

var errDown = dlq.Errorf(dlq.KindUnavailable, "the payload store is down")

func (down) Put(context.Context, io.Reader, int64) (dlq.StoredPayload, error) {
	return dlq.StoredPayload{}, errDown
}
func (down) Renew(context.Context, string) (int64, bool, error) { return 0, false, errDown }

func TestWhatCannotBeStoredNowIsNoRejectedEnvelope(t *testing.T) {
	s := newStand(t)
	in := intake.New(s.db, down{s.payloads}, s.db.Clock.Now, limit)
	for _, body := range []string{`{"source":"wiki","doc_id":"1","payload":"x"}`, `{"source":"wiki","doc_id":"1","payload_sha256":"` + dlqtest.Digest("x") + `"}`} {
		if _, err := in.Receive(background, dlqtest.Pipeline, intake.Parcel{Body: []byte(body)}); !errors.Is(err, errDown) {
			t.Errorf("%s: %v", body, err)
		}
	}
	if _, err := in.Receive(background, dlqtest.Pipeline, intake.Parcel{Body: []byte(`{"source":"wiki","doc_id":"1"}`)}); err != nil {
		t.Errorf("an envelope without bytes needs no payload store: %v", err)
	}
	if n := s.db.Int(t, `select count(*) from rejected`); n != 0 {
		t.Errorf("%d are kept as rejected", n)
	}
	closed := dbtest.Open(t)
	store := closed.Store
	closed.Close()
	in = intake.New(store, s.payloads, s.db.Clock.Now, limit)
	for _, body := range []string{`{"source":"wiki","doc_id":"1"}`, `{`} {
		if _, err := in.Receive(background, dlqtest.Pipeline, intake.Parcel{Body: []byte(body)}); err == nil || dlq.KindOf(err) == dlq.KindMalformed || dlq.KindOf(err) == dlq.KindInvalid {
			t.Errorf("%s, without a database: %v", body, err)
		}
	}
}

func TestBytesThatCameAgainAreSoundAgain(t *testing.T) {
	s := newStand(t)
	r, e, _ := s.receive(t, `{"source":"wiki","doc_id":"1","payload":"bytes"}`)
	if err := s.db.MarkPayloadCorrupt(background, e.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := s.StorePayload(background, strings.NewReader("bytes")); err != nil {
		t.Fatal(err)
	}
	if got := s.db.Entry(t, r.DLQID).Copy; got != dlq.CopyHeld {
		t.Errorf("the copy is %s", got)
	}
}

func TestTimesThatTheSenderLeavesOut(t *testing.T) {
	s := newStand(t)
	at := func(v string) time.Time {
		got, err := time.Parse(time.RFC3339, v)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for name, c := range map[string]struct {
		fields      string
		first, last time.Time
	}{
		"both":                       {``, dlqtest.Now, dlqtest.Now},
		"the last":                   {`,"first_seen_at":"2026-02-11T09:00:00Z"`, at("2026-02-11T09:00:00Z"), dlqtest.Now},
		"the last, by a clock ahead": {`,"first_seen_at":"2026-03-01T13:00:00Z"`, at("2026-03-01T13:00:00Z"), at("2026-03-01T13:00:00Z")},
		"the first":                  {`,"last_seen_at":"2026-02-11T09:00:00Z"`, at("2026-02-11T09:00:00Z"), at("2026-02-11T09:00:00Z")},
	} {
		_, e, _ := s.receive(t, `{"source":"wiki","doc_id":"`+name+`"`+c.fields+`}`)
		if !e.FirstSeen.Equal(c.first) || !e.LastSeen.Equal(c.last) {
			t.Errorf("%s: %v to %v", name, e.FirstSeen, e.LastSeen)
		}
	}
}

func TestTheTypeIsReadFromTheTraceWhereNobodyNamesIt(t *testing.T) {
	s := newStand(t)
	trace := quote("Traceback (most recent call last):\n  File \"/srv/app/parse.py\", line 10, in parse\n    raise LeaseTermParseError(x)\nLeaseTermParseError: no term\n")
	if _, e, _ := s.receive(t, `{"source":"leases","document_id":"1","stack_trace":`+trace+`}`); e.ErrorType != "LeaseTermParseError" {
		t.Errorf("the type is %q", e.ErrorType)
	}
	if _, e, _ := s.receive(t, `{"source":"leases","document_id":"2","error_class":"Given","stack_trace":`+trace+`}`); e.ErrorType != "Given" || e.ErrorClass != "" {
		t.Errorf("the type is %q, the class %q", e.ErrorType, e.ErrorClass)
	}
}

func TestRealTracesAreParked(t *testing.T) {
	folder := "../../../shared/cases/traces"
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Skip("the folder of real cases is not here")
	}
	s := newStand(t)
	var parcels []intake.Parcel
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".txt") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if body := `{"source":"wiki","doc_id":"` + f.Name() + `","stack_trace":` + quote(strings.ToValidUTF8(string(b), "\ufffd")) + `}`; len(body) <= dlq.MaxEnvelope {
			parcels = append(parcels, intake.Parcel{Body: []byte(body)})
		}
	}
	for i, r := range s.ReceiveBatch(background, dlqtest.Pipeline, parcels) {
		if r.Err != nil || !strings.HasPrefix(r.Receipt.Fingerprint, "f1:") {
			t.Errorf("%.60s: %v", parcels[i].Body, r.Err)
		}
	}
	if len(parcels) == 0 {
		t.Error("no trace was read")
	}
	s.db.MustHold(t)
}

func TestAnEnvelopeSentAgainAfterItsBytesIsOneEvent(t *testing.T) {
	s := newStand(t)
	digest := dlqtest.Digest("the bytes")
	body := `{"source":"wiki","doc_id":"7","payload_sha256":"` + digest + `","last_seen_at":"2026-02-11T09:44:51Z","error_type":"E"}`
	s.receive(t, body)
	if _, err := s.StoreNamedPayload(background, strings.NewReader("the bytes"), digest); err != nil {
		t.Fatal(err)
	}
	if r, _, _ := s.receive(t, body); !r.Duplicate || r.Arrivals != 1 {
		t.Errorf("the second sending is %+v", r)
	}
}

func TestAFailureWhoseStoredCopyIsDamagedIsParkedAllTheSame(t *testing.T) {
	s := newStand(t)
	stored, err := s.StorePayload(background, strings.NewReader("the bytes"))
	if err != nil {
		t.Fatal(err)
	}
	s.damage(t, stored.SHA256)
	r, e, _ := s.receive(t, `{"source":"wiki","doc_id":"7","payload_sha256":"`+stored.SHA256+`","content_hash":"`+dlqtest.Digest("key")+`","processing_version":"3","error_type":"E"}`)
	if !r.Created || e.KeyCheck != dlq.KeyUnchecked {
		t.Errorf("%+v, key %q", r, e.KeyCheck)
	}
}
