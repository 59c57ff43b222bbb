package handlers

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/client"
)

// signedReport posts a report without a token, signed at a time.
func (a *apiServer) signedReport(secret, body string, at time.Time) apiAnswer {
	a.t.Helper()
	h := http.Header{}
	if err := client.Sign(h, secret, "msg-1", at, []byte(body)); err != nil {
		a.t.Fatal(err)
	}
	return a.do(apiCall{method: post, path: apiOutcomes, body: body, header: h})
}

func (a *apiServer) signing() (redriveID string) {
	a.t.Helper()
	a.putSource("wiki", obj{"redrive": obj{"url": "https://pipeline.example.com/redrive", "secret": apiSecret}})
	_, redriveID = a.redriven("1")
	return redriveID
}

func TestASignedReportNeedsNoToken(t *testing.T) {
	a := newAPI(t)
	redriveID := a.signing()
	body := `{"redrive_id":"` + redriveID + `","result":"committed"}`
	now := a.clock.Now()
	for range 2 { // the second is a replay, or the first sent again: nothing tells them apart, and nothing has to
		if got := a.signedReport(apiSecret, body, now).want(http.StatusOK).object(); got["applied"] != true || got["status"] != "resolved" {
			t.Errorf("it was answered %v", got)
		}
		a.clock.forward(4 * time.Minute)
	}
	src, err := a.store.Source(t.Context(), "wiki")
	if err != nil || src.Reported != 1 {
		t.Errorf("one report sent twice counts as %d, %v", src.Reported, err)
	}
	a.clock.forward(2 * time.Minute)
	a.signedReport(apiSecret, body, now).problem(http.StatusUnauthorized, dlq.KindUnauthenticated)
	if strings.Contains(a.log.String(), "whsec_") || strings.Contains(a.log.String(), "v1,") {
		t.Error("the log holds a secret or a signature")
	}
}

func TestAReportThatIsNotProvenChangesNothingAndTellsNothing(t *testing.T) {
	a := newAPI(t)
	redriveID := a.signing()
	now := a.clock.Now()
	body := `{"redrive_id":"` + redriveID + `","result":"committed"}`
	signed := http.Header{}
	if err := client.Sign(signed, apiSecret, "msg-1", now, []byte(body)); err != nil {
		t.Fatal(err)
	}
	with := func(name, value string) http.Header {
		h := signed.Clone()
		h.Set(name, value)
		return h
	}
	var details []string
	for name, c := range map[string]apiCall{
		"another body":                    {body: strings.Replace(body, "committed", "failed", 1), header: signed},
		"another id":                      {body: body, header: with("webhook-id", "msg-2")},
		"another timestamp":               {body: body, header: with("webhook-timestamp", strconv.FormatInt(now.Unix()+1, 10))},
		"no timestamp":                    {body: body, header: with("webhook-timestamp", "")},
		"another version of the scheme":   {body: body, header: with("webhook-signature", strings.Replace(signed.Get("webhook-signature"), "v1,", "v2,", 1))},
		"a redrive that is not there":     {body: strings.Replace(body, redriveID, "01NOSUCHREDRIVE", 1), header: signed},
		"no redrive":                      {body: `{"source":"wiki","doc_id":"1","result":"committed"}`, header: signed},
		"a redrive that is not even text": {body: `{"redrive_id":{"a":1},"result":"committed"}`, header: signed},
	} {
		c.method, c.path = post, apiOutcomes
		p := a.do(c).problem(http.StatusUnauthorized, dlq.KindUnauthenticated)
		details = append(details, p.Detail)
		if p.Detail != details[0] {
			t.Errorf("%s is told from the others: %q", name, p.Detail)
		}
	}
	for _, c := range []struct {
		at     time.Time
		secret string
	}{{now.Add(-301 * time.Second), apiSecret}, {now.Add(301 * time.Second), apiSecret}, {now, apiNextSecret}} {
		a.signedReport(c.secret, body, c.at).problem(http.StatusUnauthorized, dlq.KindUnauthenticated)
	}
	a.do(apiCall{method: post, path: apiOutcomes, body: "{", header: signed}).problem(http.StatusBadRequest, dlq.KindMalformed)
	a.do(apiCall{method: post, path: apiOutcomes, body: body + "\n", contentType: typeNDJSON, header: signed}).problem(http.StatusUnsupportedMediaType, dlq.KindUnsupported)
	a.do(apiCall{method: post, path: apiOutcomes, body: body, header: signed, token: "dlo_wrong"}).problem(http.StatusUnauthorized, dlq.KindUnauthenticated)
	if src, err := a.store.Source(t.Context(), "wiki"); err != nil || src.Reported != 0 {
		t.Errorf("%d reports were taken, %v", src.Reported, err)
	}
}

func TestASecretSignsForItsOwnSourceAlone(t *testing.T) {
	a := newAPI(t)
	wiki := a.signing()
	a.putSource("leases", obj{"redrive": obj{"url": "https://pipeline.example.com/redrive", "secret": apiNextSecret}})
	body := `{"redrive_id":"` + wiki + `","result":"committed","source":"leases","doc_id":"7"}`
	a.signedReport(apiNextSecret, body, a.clock.Now()).problem(http.StatusUnauthorized, dlq.KindUnauthenticated)

	// An unsigned source has no secret, so nothing can be proven by one.
	a.putSource("mail", obj{"redrive": obj{"url": "https://pipeline.example.com/redrive"}})
	id := a.park(obj{"source": "mail", "doc_id": "1", "payload": "x", "error_type": "E"}).DLQID
	a.post(apiRedrives, dlq.ScopeAct, obj{"entries": []string{id}, "reason": "x"}).want(http.StatusAccepted)
	redriveID := a.entry(id)["redrives"].([]any)[0].(obj)["redrive_id"].(string)
	a.signedReport("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", `{"redrive_id":"`+redriveID+`","result":"committed"}`, a.clock.Now()).problem(http.StatusUnauthorized, dlq.KindUnauthenticated)
}

func TestWhileASecretIsReplacedReportsAreTakenUnderEither(t *testing.T) {
	a := newAPI(t)
	first := a.signing()
	_, second := a.redriven("2")
	_, third := a.redriven("3")
	a.putSource("wiki", obj{"redrive": obj{"url": "https://pipeline.example.com/redrive", "secret": apiNextSecret, "secret_overlap": "1h"}})
	report := func(secret, id string) apiAnswer {
		return a.signedReport(secret, `{"redrive_id":"`+id+`","result":"committed"}`, a.clock.Now())
	}
	report(apiSecret, first).want(http.StatusOK)
	report(apiNextSecret, second).want(http.StatusOK)
	a.clock.forward(time.Hour)
	report(apiSecret, third).problem(http.StatusUnauthorized, dlq.KindUnauthenticated)
	report(apiNextSecret, third).want(http.StatusOK)
}

func TestADeliverySentBackIsNoReport(t *testing.T) {
	a := newAPI(t)
	redriveID := a.signing()
	body, err := json.Marshal(obj{"type": "dead_letter.redrive", "redrive_id": redriveID, "source": "wiki", "doc_id": "1", "mode": "held"})
	if err != nil {
		t.Fatal(err)
	}
	if got := pointersOf(a.signedReport(apiSecret, string(body), a.clock.Now()).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)); len(got) != 1 || got[0] != "/result" {
		t.Errorf("it is refused at %q", got)
	}
}

func TestALongSignedReportIsTakenUpToTheLimit(t *testing.T) {
	a := newAPI(t)
	redriveID := a.signing()
	long := func(n int) string {
		return `{"redrive_id":"` + redriveID + `","result":"failed","error_type":"E","stack_trace":"` + strings.Repeat("x", n) + `"}`
	}
	a.signedReport(apiSecret, long(dlq.MaxEnvelope), a.clock.Now()).problem(http.StatusRequestEntityTooLarge, dlq.KindTooLarge)
	a.signedReport(apiSecret, long(dlq.MaxEnvelope-1000), a.clock.Now()).want(http.StatusOK)
}
