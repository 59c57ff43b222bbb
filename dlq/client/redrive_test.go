package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// The first is the example of the Standard Webhooks 1.0 text; the second was
// signed with `openssl dgst -sha256 -mac HMAC`.
var vectors = []struct {
	secret, id, stamp, body, signature string
}{
	{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330",
		`{"test": 2432232314}`, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
	{"whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", "rd_01K8Z0000000000000000000AA", "1796040000",
		`{"type":"dead_letter.redrive","redrive_id":"01K8Z0000000000000000000AA","dlq_id":"01K8Z0000000000000000000BB","source":"leases","doc_id":"LS-2104","content_hash":"aa","mode":"held","ingest_seq":42}`,
		"v1,M02hcPPEOgii+qhEMX8inPxOtZZ4k8C90BIz4F5qtfI="},
}

func delivery(id, stamp, signature string) http.Header {
	h := http.Header{}
	h.Set("webhook-id", id)
	h.Set("webhook-timestamp", stamp)
	h.Set("webhook-signature", signature)
	return h
}

func at(unix int64) func() time.Time { return func() time.Time { return time.Unix(unix, 0) } }

func TestVectors(t *testing.T) {
	for _, v := range vectors {
		stamp, err := time.ParseDuration(v.stamp + "s")
		if err != nil {
			t.Fatal(err)
		}
		verifier := Verifier{Secrets: []string{v.secret}, Now: at(int64(stamp.Seconds()))}
		if _, err := verifier.Event(delivery(v.id, v.stamp, v.signature), []byte(v.body)); err != nil {
			t.Errorf("%s: %v", v.id, err)
		}
	}
}

func TestADeliveryIsRefusedUnlessAllOfItWasSigned(t *testing.T) {
	v := vectors[1]
	const sent = 1796040000
	other := vectors[0].secret
	for name, c := range map[string]struct {
		header  http.Header
		body    string
		secrets []string
		now     int64
		valid   bool
	}{
		"as sent":                     {delivery(v.id, v.stamp, v.signature), v.body, []string{v.secret}, sent, true},
		"five minutes late":           {delivery(v.id, v.stamp, v.signature), v.body, []string{v.secret}, sent + 300, true},
		"a clock five minutes behind": {delivery(v.id, v.stamp, v.signature), v.body, []string{v.secret}, sent - 300, true},
		"one of several signatures":   {delivery(v.id, v.stamp, "v1,AAAA v2,"+v.signature[3:]+" "+v.signature), v.body, []string{v.secret}, sent, true},
		"the second of two secrets":   {delivery(v.id, v.stamp, v.signature), v.body, []string{other, v.secret}, sent, true},
		"too late":                    {delivery(v.id, v.stamp, v.signature), v.body, []string{v.secret}, sent + 301, false},
		"too early":                   {delivery(v.id, v.stamp, v.signature), v.body, []string{v.secret}, sent - 301, false},
		"another id":                  {delivery(v.id+"x", v.stamp, v.signature), v.body, []string{v.secret}, sent, false},
		"another timestamp":           {delivery(v.id, "1796040001", v.signature), v.body, []string{v.secret}, sent, false},
		"another body":                {delivery(v.id, v.stamp, v.signature), v.body + " ", []string{v.secret}, sent, false},
		"another secret":              {delivery(v.id, v.stamp, v.signature), v.body, []string{other}, sent, false},
		"another scheme":              {delivery(v.id, v.stamp, "v1a,"+v.signature[3:]), v.body, []string{v.secret}, sent, false},
		"no signature":                {delivery(v.id, v.stamp, ""), v.body, []string{v.secret}, sent, false},
		"no headers":                  {http.Header{}, v.body, []string{v.secret}, sent, false},
	} {
		r, err := Verifier{Secrets: c.secrets, Now: at(c.now)}.Redrive(c.header, []byte(c.body))
		if c.valid && (err != nil || r.DocID != "LS-2104" || r.IngestSeq == nil || *r.IngestSeq != 42) {
			t.Errorf("%s: want the redrive, got %+v, %v", name, r, err)
		}
		if !c.valid && !errors.Is(err, ErrSignature) {
			t.Errorf("%s: want ErrSignature, got %v", name, err)
		}
	}
}

func TestASecretOfTheWrongShapeIsNoSignatureError(t *testing.T) {
	v := vectors[1]
	for _, secrets := range [][]string{nil, {"whsec_dG9vIHNob3J0"}, {"whsec_***"}} {
		_, err := Verifier{Secrets: secrets, Now: at(1796040000)}.Event(delivery(v.id, v.stamp, v.signature), []byte(v.body))
		if err == nil || errors.Is(err, ErrSignature) {
			t.Errorf("secrets %q: want an error about the secret, got %v", secrets, err)
		}
	}
}

func TestPayloadIsVerifiedWhileItIsRead(t *testing.T) {
	const content = "the bytes that failed"
	sum := sha256.Sum256([]byte(content))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the token was sent to the payload's address")
		}
		_, _ = io.WriteString(w, content)
	}))
	defer server.Close()
	c := testClient(t, server.URL, "")
	r := Redrive{RedriveID: "rd", PayloadURL: server.URL + "/p", PayloadSHA256: hex.EncodeToString(sum[:])}

	got, err := c.ReadPayload(context.Background(), r, 100)
	if err != nil || string(got) != content {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := c.ReadPayload(context.Background(), r, int64(len(content)-1)); err == nil {
		t.Error("a payload over the limit was given out")
	}
	r.PayloadSHA256 = hex.EncodeToString(make([]byte, sha256.Size))
	if got, err := c.ReadPayload(context.Background(), r, int64(len(content))); !errors.Is(err, ErrDigest) || got != nil {
		t.Errorf("other bytes: want ErrDigest and nothing, got %q, %v", got, err)
	}
}
