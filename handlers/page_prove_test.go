package handlers

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/dlq/redrive"
)

// defect parks documents of one defect under a parser that was replaced since.
func (s *site) defect(source string, n int) (cohort string) {
	s.t.Helper()
	s.withTarget(source)
	for i := range n {
		cohort = s.park(fmt.Sprintf(`"source":%q,"doc_id":"%d","payload":"bytes of %s %d","error_type":"ParseError%s","error_message":"no root","parser_version":"pdf@1"`, source, i, source, i, source)).Cohort
	}
	if _, _, err := s.store.Deploy(s.t.Context(), dlq.Policy("test"), source, dlq.DeploymentReport{Component: "parser", Version: "pdf@2"}); err != nil {
		s.t.Fatal(err)
	}
	return cohort
}

// pipeline takes what is due of a source and reports one result of all of it; it
// says how many there were.
func (s *site) pipeline(source, result string) int {
	s.t.Helper()
	ctx := s.t.Context()
	list, err := s.store.ClaimRedrives(ctx, source, "test", time.Minute, 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	reporter := &redrive.Reporter{Store: s.store, Clock: s.clock.now, Wake: func() {}}
	for _, r := range list {
		r.Sent, r.Bytes, r.Running = dlq.ModeHeld, dlq.Evidence{Bytes: dlq.ReadingUnchanged, Grade: dlq.GradeDigest}, dlq.Running{"parser": {"pdf@2"}}
		if ok, err := s.store.BeginDelivery(ctx, r); err != nil || !ok {
			s.t.Fatalf("begin a delivery: %v, %v", ok, err)
		}
		if err := s.store.DeliveryTaken(ctx, r, 202, "", ""); err != nil {
			s.t.Fatal(err)
		}
		if _, err := reporter.Report(ctx, dlq.Actor{Kind: dlq.ActorToken, Scopes: dlq.Scopes, Name: "pipeline"}, []byte(`{"redrive_id":"`+r.ID+`","parser_version":"pdf@2",`+result+`}`)); err != nil {
			s.t.Fatal(err)
		}
	}
	s.advance()
	return len(list)
}

// advance lets operations see that a step is settled, as the runner does.
func (s *site) advance() {
	s.t.Helper()
	open, err := s.store.OpenOperations(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, o := range open {
		if _, err := s.store.StepOperation(s.t.Context(), o.ID, 500); err != nil {
			s.t.Fatal(err)
		}
	}
}

const (
	committedNow  = `"result":"committed"`
	failedTheSame = `"result":"failed","error_type":"ParseErrorwiki","error_message":"no root"`
)

// barFields are the hidden fields of the form that the bar asks with.
func barFields(body, form string) []string {
	_, inside, _ := strings.Cut(body, `id="`+form+`"`)
	inside, _, _ = strings.Cut(inside, "</form>")
	var fields []string
	for _, m := range hiddenField.FindAllStringSubmatch(inside, -1) {
		if m[1] != "csrf" {
			fields = append(fields, m[1], strings.NewReplacer("&#34;", `"`, "&amp;", "&").Replace(m[2]))
		}
	}
	return fields
}

func (v *visitor) says(path string, words ...string) answered {
	v.site.t.Helper()
	p := v.get(path)
	for _, w := range words {
		if !strings.Contains(p.body, w) {
			v.site.t.Errorf("%s (%d) does not say %q", path, p.status, w)
		}
	}
	return p
}

func TestAFixIsProvenAndTheRestRedrivenByTheBar(t *testing.T) {
	s := newSite(t)
	cohort := s.defect("wiki", 40)
	path := cohortHref(cohort)
	v := s.signIn(dlq.RoleReviewer)
	p := v.says(path, "Does pdf@2 fix it?", "40 documents stuck", "Not tested.", "Send one", "Skip the steps")
	p = v.post(path+"/redrive", append(barFields(p.body, "redrive"), "reason", "test of pdf@2", "send", "steps")...)
	if p.status != http.StatusSeeOther || p.location != path {
		t.Fatalf("the first press: %d to %q", p.status, p.location)
	}
	p = v.says(path, "Waiting for the first outcome.", `data-live="`+path+`/live"`, "Refresh")
	o, found, err := s.store.OperationOfCohort(t.Context(), cohort)
	if err != nil || !found || fmt.Sprint(o.Sizes) != "[1 5 25 9]" || o.GoOn || o.Reason != "test of pdf@2" {
		t.Fatalf("it started %+v, %v", o, err)
	}
	if n := s.pipeline("wiki", committedNow); n != 1 {
		t.Fatalf("%d were sent first", n)
	}
	v.says(path, "1 of 1 got past this error.", "Expect 8 to 39 of the 39 left to.", "Send next 5", "Go on by itself", "at least 23 %")
	if p = v.post(operationHref(o.ID)+"/next", "back", path); p.status != http.StatusSeeOther || p.location != path {
		t.Fatalf("the next: %d to %q", p.status, p.location)
	}
	if n := s.pipeline("wiki", committedNow); n != 5 {
		t.Fatalf("%d were sent next", n)
	}
	v.says(path, "6 of 6 got past this error.", "Send next 25")
	v.says(operationHref(o.ID), "Does pdf@2 fix it?", "6 of 6 got past this error.", "Step 2", "Send next 25")
	if p := v.get(operationHref(o.ID) + "?step=2"); strings.Count(p.body, "<tr data-row") != 5 {
		t.Errorf("the second step lists %d documents", strings.Count(p.body, "<tr data-row"))
	}
	for _, bad := range []string{"0", "5", "x", "-1", "99999999999999999999"} {
		if p := v.get(operationHref(o.ID) + "?step=" + bad); p.status != http.StatusNotFound {
			t.Errorf("step %s: %d", bad, p.status)
		}
	}
	v.post(operationHref(o.ID)+"/next", "rest", "1", "back", path)
	if n := s.pipeline("wiki", committedNow); n != 34 {
		t.Fatalf("%d were the rest", n)
	}
	p = v.says(path, "40 of 40 got in.", "Nothing is stuck here now.")
	if strings.Contains(p.body, "data-live") || strings.Contains(p.body, "Send next") {
		t.Error("it is over, and still moves")
	}
}

func TestAWrongFixStopsAtTheFirst(t *testing.T) {
	s := newSite(t)
	cohort := s.defect("wiki", 40)
	path := cohortHref(cohort)
	v := s.signIn(dlq.RoleReviewer)
	p := v.get(path)
	v.post(path+"/redrive", append(barFields(p.body, "redrive"), "reason", "test of pdf@2", "send", "steps")...)
	s.pipeline("wiki", failedTheSame)
	v.says(path, "Stopped at 1. 39 were not touched.", "New code still fails: pdf@2 raised the same error.", "failed the same", "Look at what failed", "Declare another fix", "Split the cohort", "Go on anyway")
	o, _, _ := s.store.OperationOfCohort(t.Context(), cohort)
	if p := v.post(operationHref(o.ID)+"/next", "back", path); p.status != http.StatusSeeOther {
		t.Fatalf("a button that is not there: %d", p.status)
	}
	v.says(path, "Nothing was changed.", "Stopped at 1. 39 were not touched.")
	v.post(operationHref(o.ID)+"/cancel", "back", path)
	v.says(path, "Not fixed: 0 of 1 got past this error.", "39 like these", "1 under pdf@2, not tested")
	v.says(operationHref(o.ID), "Cancelled: 1 done, 0 in flight, 39 not started and free again.")
}

func TestStepsAreSkippedWithProofOrWithWordsOfOnesOwn(t *testing.T) {
	s := newSite(t)
	cohort := s.defect("wiki", 8)
	path := cohortHref(cohort)
	v := s.signIn(dlq.RoleReviewer)
	fields := append(barFields(v.get(path).body, "redrive"), "send", "all")
	for _, reason := range []string{"fix deployed", "test of pdf@2", "", "   "} {
		if p := v.post(path+"/redrive", append(fields, "reason", reason)...); p.status != http.StatusUnprocessableEntity || strings.Contains(p.body, "Redrive of") {
			t.Errorf("without proof, %q: %d", reason, p.status)
		}
	}
	for _, bad := range []string{"a\x00b", "\xff", strings.Repeat("x", reasonMost+1)} {
		if p := v.post(path+"/redrive", append(fields, "reason", bad)...); p.status != http.StatusUnprocessableEntity {
			t.Errorf("a reason of %.5q: %d", bad, p.status)
		}
	}
	for _, bad := range [][2]string{{"q", "source:wiki"}, {"q", "cohort:" + cohort + " status:\x00"}, {"expect", "x"}, {"expect", "-3"}, {"q", strings.Repeat("x", queryMost+1)}} {
		form := map[string]string{"reason": "the vendor said so"}
		for i := 0; i+1 < len(fields); i += 2 {
			form[fields[i]] = fields[i+1]
		}
		form[bad[0]] = bad[1]
		var list []string
		for k, x := range form {
			list = append(list, k, x)
		}
		if p := v.post(path+"/redrive", list...); p.status != http.StatusUnprocessableEntity {
			t.Errorf("%.20q: %d", bad, p.status)
		}
	}
	if _, found, _ := s.store.OperationOfCohort(t.Context(), cohort); found {
		t.Fatal("something was started")
	}
	late := append([]string{}, fields...)
	s.park(`"source":"wiki","doc_id":"late","payload":"late","error_type":"ParseErrorwiki","error_message":"no root","parser_version":"pdf@1"`)
	if p := v.post(path+"/redrive", append(late, "reason", "the vendor said so")...); p.status != http.StatusConflict || !strings.Contains(p.body, "8 matched when you looked, 9 match now.") {
		t.Errorf("one more came: %d", p.status)
	}
	p := v.post(path+"/redrive", append(barFields(v.get(path).body, "skip"), "reason", "the vendor said so")...)
	if p.status != http.StatusSeeOther {
		t.Fatalf("with words of ones own: %d", p.status)
	}
	if n := s.pipeline("wiki", committedNow); n != 9 {
		t.Errorf("%d were sent at once", n)
	}
}

func TestTheRestOfARedriveThatIsNotProvenAsksWhy(t *testing.T) {
	s := newSite(t)
	cohort := s.defect("wiki", 40)
	path := cohortHref(cohort)
	v := s.signIn(dlq.RoleReviewer)
	v.post(path+"/redrive", append(barFields(v.get(path).body, "redrive"), "reason", "test", "send", "steps")...)
	o, _, _ := s.store.OperationOfCohort(t.Context(), cohort)
	for _, reason := range []string{"", "fix deployed", "a\x00"} {
		p := v.post(operationHref(o.ID)+"/next", "rest", "1", "reason", reason, "back", path)
		if o, _, _ := s.store.OperationOfCohort(t.Context(), cohort); o.Step != 1 {
			t.Fatalf("%q skipped the steps: %d", reason, p.status)
		}
		if reason != "a\x00" {
			v.says(path, "say in your own words why the steps can be skipped")
		}
	}
	v.post(operationHref(o.ID)+"/next", "rest", "1", "reason", "seen on staging", "back", path)
	if o, _, _ := s.store.OperationOfCohort(t.Context(), cohort); o.Step != 4 {
		t.Errorf("it is in step %d", o.Step)
	}
	v.post(operationHref(o.ID)+"/go-on", "returns", "1", "back", path)
	if o, _, _ := s.store.OperationOfCohort(t.Context(), cohort); !o.Returns {
		t.Error("it does not return by itself")
	}
	if p := v.post(operationHref(o.ID)+"/next", "back", "//evil.example"); p.location != "/" && !strings.HasPrefix(p.location, "/") || strings.Contains(p.location, "evil") {
		t.Errorf("it leads to %q", p.location)
	}
}

// reader reads the events of a stream.
type reader struct {
	t     *testing.T
	lines *bufio.Scanner
	res   *http.Response
}

func (v *visitor) listen(server *httptest.Server, path string) *reader {
	v.site.t.Helper()
	ctx, cancel := context.WithTimeout(v.site.t.Context(), 30*time.Second)
	v.site.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+path, nil)
	if err != nil {
		v.site.t.Fatal(err)
	}
	r.Host = strings.TrimPrefix(siteAddress, "https://")
	for name, value := range v.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	res, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(r)
	if err != nil {
		v.site.t.Fatal(err)
	}
	v.site.t.Cleanup(func() { res.Body.Close() })
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 4<<20)
	return &reader{v.site.t, lines, res}
}

// next is the next event: its name and its data. Empty at the end of the stream.
func (r *reader) next() (name, data string) {
	r.t.Helper()
	for r.lines.Scan() {
		switch line := r.lines.Text(); {
		case strings.HasPrefix(line, "event: "):
			name = strings.TrimPrefix(line, "event: ")
		case strings.HasPrefix(line, "data: "):
			if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &data); err != nil {
				r.t.Fatal(err)
			}
		case line == "" && name != "":
			return name, data
		}
	}
	return "", ""
}

// until reads events until one says the words.
func (r *reader) until(words string) string {
	r.t.Helper()
	for {
		name, data := r.next()
		if name == "" {
			r.t.Fatalf("the stream ended before it said %q", words)
		}
		if strings.Contains(data, words) {
			return data
		}
	}
}

func TestThePageIsToldWhatMovesUntilItIsOver(t *testing.T) {
	s := newSite(t)
	cohort := s.defect("wiki", 8)
	path := cohortHref(cohort)
	server := httptest.NewServer(s.handler)
	t.Cleanup(server.Close)
	t.Cleanup(s.handlers.Live.Close)
	v := s.signIn(dlq.RoleReviewer)
	if r := v.listen(server, path+"/live"); r.res.StatusCode != http.StatusNotFound {
		t.Errorf("nothing is under way: %d", r.res.StatusCode)
	}
	v.post(path+"/redrive", append(barFields(v.get(path).body, "redrive"), "reason", "test", "send", "steps")...)
	o, _, _ := s.store.OperationOfCohort(t.Context(), cohort)
	page, own := v.listen(server, path+"/live"), v.listen(server, operationHref(o.ID)+"/live")
	if h := page.res.Header; page.res.StatusCode != http.StatusOK || h.Get("Content-Type") != "text/event-stream" || h.Get("Cache-Control") != "no-store, no-transform" || h.Get("Content-Encoding") != "" {
		t.Fatalf("%d %v", page.res.StatusCode, page.res.Header)
	}
	if first := page.until("Waiting for the first outcome."); !strings.Contains(first, `id="facts"`) || !strings.Contains(first, `id="replays"`) || !strings.Contains(first, `name="csrf"`) {
		t.Error("the first drawing lacks a region, or the token of its forms")
	}
	own.until("Waiting for the first outcome.")
	s.clock.move(time.Second)
	s.pipeline("wiki", committedNow)
	if data := page.until("1 of 1 got past this error."); !strings.Contains(data, "7 stuck") {
		t.Error("the number of stuck documents does not fall with it")
	}
	own.until("Send next 5")
	s.clock.move(time.Second)
	v.post(operationHref(o.ID)+"/next", "rest", "1", "back", path)
	s.pipeline("wiki", committedNow)
	page.until("8 of 8 got in.")
	if name, _ := page.next(); name != "end" {
		t.Errorf("it is over, and the next event is %q", name)
	}
	if name, _ := page.next(); name != "" {
		t.Errorf("after the end: %q", name)
	}
}

func TestStreamsAreForWhoMaySeeAndNotMoreThanFit(t *testing.T) {
	s := newSite(t)
	cohort := s.defect("wiki", 8)
	s.defect("leases", 2)
	path := cohortHref(cohort)
	server := httptest.NewServer(s.handler)
	t.Cleanup(server.Close)
	t.Cleanup(s.handlers.Live.Close)
	v := s.signIn(dlq.RoleReviewer)
	v.post(path+"/redrive", append(barFields(v.get(path).body, "redrive"), "reason", "test", "send", "steps")...)
	o, _, _ := s.store.OperationOfCohort(t.Context(), cohort)
	stranger := s.visitor()
	if r := stranger.listen(server, path+"/live"); r.res.StatusCode == http.StatusOK {
		t.Error("a stranger is told what moves")
	}
	other := s.signIn(dlq.RoleAnalyst, "leases")
	for _, p := range []string{path + "/live", operationHref(o.ID) + "/live"} {
		if r := other.listen(server, p); r.res.StatusCode != http.StatusNotFound {
			t.Errorf("%s for who sees another source: %d", p, r.res.StatusCode)
		}
	}
	var open []*reader
	for range liveOfPerson {
		open = append(open, v.listen(server, path+"/live"))
	}
	for i, r := range open {
		if r.res.StatusCode != http.StatusOK {
			t.Fatalf("stream %d: %d", i, r.res.StatusCode)
		}
	}
	if r := v.listen(server, path+"/live"); r.res.StatusCode != http.StatusTooManyRequests || r.res.Header.Get("Retry-After") == "" {
		t.Errorf("one too many: %d", r.res.StatusCode)
	}
	// A server that stops ends them all, and its watcher.
	s.handlers.Live.Close()
	for _, r := range open {
		for name := "x"; name != ""; {
			name, _ = r.next()
		}
	}
}

func TestAnOperationOfMoreThanOnesSourcesIsNotInTheBar(t *testing.T) {
	s := newSite(t)
	s.withTarget("wiki")
	s.withTarget("leases")
	var cohort string
	for _, source := range []string{"wiki", "leases"} {
		for i := range 3 {
			cohort = s.park(fmt.Sprintf(`"source":%q,"doc_id":"%d","payload":"%s %d","error_type":"Shared","error_message":"x","parser_version":"pdf@1"`, source, i, source, i)).Cohort
		}
	}
	if _, err := s.handlers.Redrives.Start(t.Context(), dlq.Actor{Kind: dlq.ActorPerson, ID: "p", Name: "a", Role: dlq.RoleReviewer}, redrive.Request{Kind: dlq.OperationRedrive, Query: "cohort:" + cohort + " status:parked", Expect: 6, Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	v := s.signIn(dlq.RoleReviewer, "leases")
	p := v.says(cohortHref(cohort), "Does the code that runs now fix it?", "Not tested.")
	if strings.Contains(p.body, "Waiting for the first outcome") || strings.Contains(p.body, "data-live") {
		t.Error("who sees one source is shown a redrive of two")
	}
	if p := v.get(cohortHref(cohort) + "/live"); p.status != http.StatusNotFound {
		t.Errorf("its stream: %d", p.status)
	}
}
