package handlers

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"

	"dlo/dlq"
)

const apiLookup = apiDeadLetters + "/lookup"

func TestSkipIsAdvisedOnlyIfNeitherDocumentNorCodeDiffers(t *testing.T) {
	a := newAPI(t)
	a.park(obj{"source": "wiki", "doc_id": "1", "source_version": `"v1"`, "payload_sha256": digestOf("1"), "parser_version": "pdf@1", "chunker_version": "c@1", "versions": obj{"ocr": "5.3"}})
	same := url.Values{"source": {"wiki"}, "doc_id": {"1"}, "source_version": {`"v1"`}, "payload_sha256": {digestOf("1")}, "parser_version": {"pdf@1"}, "chunker_version": {"c@1"}, "versions.ocr": {"5.3"}}
	for name, c := range map[string]struct {
		change url.Values
		want   string
	}{
		"the same":            {nil, "skip"},
		"another digest":      {url.Values{"payload_sha256": {digestOf("2")}}, "try"},
		"another tag":         {url.Values{"payload_sha256": nil, "source_version": {`"v2"`}}, "try"},
		"the tag alone":       {url.Values{"payload_sha256": nil}, "skip"},
		"nothing of the file": {url.Values{"payload_sha256": nil, "source_version": nil}, "try"},
		"another parser":      {url.Values{"parser_version": {"pdf@2"}}, "try"},
		"another component":   {url.Values{"versions.ocr": {"5.4"}}, "try"},
		"nothing of the code": {url.Values{"parser_version": nil, "chunker_version": nil, "versions.ocr": nil}, "try"},
	} {
		t.Run(name, func(t *testing.T) {
			q := url.Values{}
			for key, values := range same {
				q[key] = values
			}
			for key, values := range c.change {
				q[key] = values
			}
			got := a.get(apiLookup+"?"+q.Encode(), dlq.ScopeIngest).want(http.StatusOK).object()
			if got["advice"] != c.want || got["status"] != "parked" || got["why"] == "" {
				t.Errorf("advised is %v, want %s", got, c.want)
			}
		})
	}
}

func TestAThousandQuestionsAreAnsweredInTheirOrder(t *testing.T) {
	a := newAPI(t)
	for i := range 5 {
		a.park(obj{"source": "wiki", "doc_id": fmt.Sprint(i * 200)})
	}
	questions := make([]obj, 1000)
	for i := range questions {
		questions[i] = obj{"source": "wiki", "doc_id": fmt.Sprint(i)}
	}
	items := a.post(apiLookup, dlq.ScopeIngest, questions).want(http.StatusOK).items()
	if len(items) != 1000 {
		t.Fatalf("%d answers, want 1000", len(items))
	}
	for i, item := range items {
		want := "absent"
		if i%200 == 0 {
			want = "parked"
		}
		if item["doc_id"] != fmt.Sprint(i) || item["status"] != want {
			t.Errorf("answer %d is %v, want %s", i, item, want)
		}
	}
	a.post(apiLookup, dlq.ScopeIngest, append(questions, questions[0])).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
	if got := a.post(apiLookup, dlq.ScopeIngest, []obj{}).want(http.StatusOK).items(); len(got) != 0 {
		t.Errorf("no questions were answered %v", got)
	}
}

func TestALookupOfWhatIsNotHereOrNotAskedRight(t *testing.T) {
	a := newAPI(t)
	a.get(apiLookup+"?source=wiki&doc_id=1", dlq.ScopeIngest).problem(http.StatusNotFound, dlq.KindNotFound)
	p := a.get(apiLookup+"?payload_sha256=abc", dlq.ScopeIngest).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
	if got := pointersOf(p); !slices.Equal(got, []string{"/source", "/doc_id", "/payload_sha256"}) {
		t.Errorf("the faults are named at %q", got)
	}
	p = a.post(apiLookup, dlq.ScopeIngest, []obj{{"source": "wiki", "doc_id": "1"}, {"source": "wiki"}}).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
	if got := pointersOf(p); !slices.Equal(got, []string{"/1/doc_id"}) {
		t.Errorf("the fault of the second question is named at %q", got)
	}
	p = a.post(apiLookup, dlq.ScopeIngest, []obj{{"source": "wiki", "doc_id": "1", "Doc_ID": "2"}}).problem(http.StatusUnprocessableEntity, dlq.KindInvalid)
	if got := pointersOf(p); !slices.Equal(got, []string{"/0/Doc_ID"}) {
		t.Errorf("the unknown field is named at %q", got)
	}
	bound := apiCall{method: http.MethodGet, path: apiLookup + "?doc_id=1", scope: dlq.ScopeIngest, source: "wiki"}
	a.do(bound).problem(http.StatusNotFound, dlq.KindNotFound)
	a.park(obj{"source": "wiki", "doc_id": "1"})
	if got := a.do(bound).want(http.StatusOK).object(); got["source"] != "wiki" {
		t.Errorf("a token of one source was answered %v", got)
	}
}
