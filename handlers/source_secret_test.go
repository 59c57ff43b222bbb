package handlers

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
)

const apiNextSecret = "whsec_bmV4dCBzZWNyZXQgb2YgdGhlIHNvdXJjZSB3"

func TestASecretIsReplacedWithAnOverlapThatCanBeEnded(t *testing.T) {
	a := newAPI(t)
	a.putSource("wiki", obj{"redrive": obj{"url": "https://pipeline.example.com/redrive", "secret": apiSecret}})
	if got := a.get("/api/v1/sources/wiki", dlq.ScopeRead).want(http.StatusOK).object(); got["signed"] != true || got["secret_overlap_until"] != nil {
		t.Errorf("with its first secret it is %v, %v", got["signed"], got["secret_overlap_until"])
	}
	a.putSource("wiki", obj{"redrive": obj{"url": "https://pipeline.example.com/redrive", "secret": apiNextSecret, "secret_overlap": "2h"}})
	answer := a.get("/api/v1/sources/wiki", dlq.ScopeRead).want(http.StatusOK)
	if got := answer.object(); got["secret_overlap_until"] != apiStart.Add(2*time.Hour).Format(time.RFC3339) {
		t.Errorf("both stand until %v", got["secret_overlap_until"])
	}
	if strings.Contains(string(answer.body), "whsec_") {
		t.Error("the answer holds a secret")
	}
	end := "/api/v1/sources/wiki/secret/end"
	a.post(end, dlq.ScopeAct, nil).problem(http.StatusForbidden, dlq.KindForbidden)
	for range 2 {
		if got := a.post(end, dlq.ScopeAdmin, obj{"reason": "it leaked"}).want(http.StatusOK).object(); got["secret_overlap_until"] != nil {
			t.Errorf("after the end both stand until %v", got["secret_overlap_until"])
		}
	}
	if left, err := a.store.RedriveSecrets(t.Context(), "wiki"); err != nil || len(left) != 1 || left[0] != apiNextSecret {
		t.Errorf("%d secrets are left, %v", len(left), err)
	}
	a.post("/api/v1/sources/nowhere/secret/end", dlq.ScopeAdmin, nil).problem(http.StatusNotFound, dlq.KindNotFound)
}

func TestASecretThatCannotSignIsRefusedAndNotRepeated(t *testing.T) {
	a := newAPI(t)
	for _, c := range []struct{ secret, overlap, want string }{
		{"whsec_c2hvcnQ", "1d", "/redrive/secret"},
		{"whsec_not base64", "1d", "/redrive/secret"},
		{apiSecret, "forever", "/redrive/secret_overlap"},
		{apiSecret, "31d", "/redrive/secret_overlap"},
	} {
		answer := a.do(apiCall{method: put, path: "/api/v1/sources/wiki", scope: dlq.ScopeAdmin, body: obj{"redrive": obj{"secret": c.secret, "secret_overlap": c.overlap}}})
		if got := pointersOf(answer.problem(http.StatusUnprocessableEntity, dlq.KindInvalid)); len(got) != 1 || got[0] != c.want {
			t.Errorf("%q, %q is refused at %q, want %q", c.secret, c.overlap, got, c.want)
		}
		if strings.Contains(string(answer.body), c.secret) {
			t.Error("the refusal repeats the secret")
		}
	}
}

func TestThePageSaysThatASecretIsBeingReplaced(t *testing.T) {
	f := bareSource()
	f.source.HasSecret, f.source.Policy.Redrive.URL = true, "https://pipeline.example.com/redrive"
	if n := secretNotice(f); n != nil {
		t.Errorf("one secret: %+v", n)
	}
	f.source.OverlapUntil = noon.Add(time.Hour)
	n := secretNotice(f)
	if len(n) != 1 || len(n[0].Do) != 1 || n[0].Do[0].Href != "/sources/wiki/secret/end" {
		t.Fatalf("two secrets: %+v", n)
	}
	if kv := secretWords(f.source, noon); kv.Tag.Text != "being replaced" || kv.Note == "" {
		t.Errorf("in the policy: %+v", kv)
	}
	f.by.Role = dlq.RoleReviewer
	if n := secretNotice(f); len(n) != 1 || len(n[0].Do) != 0 {
		t.Errorf("a reviewer: %+v", n)
	}
	f.now = f.source.OverlapUntil // over, and not swept yet
	if n := secretNotice(f); n != nil {
		t.Errorf("when it is over: %+v", n)
	}
}
