package handlers

import (
	"bytes"
	"encoding/base64"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
)

const hostileMarkup = `<script>alert(1)</script><b hx-get=/logout hx-trigger=load>`

// hostileEntry parks a document of which everything that a stranger can choose
// is markup.
func (s *site) hostileEntry() string {
	s.t.Helper()
	j := strings.ReplaceAll(hostileMarkup, `"`, `\"`)
	return s.park(`"source":"wiki","doc_id":"` + j + `","filename":"` + j + `\u202efdp.exe","payload":"` + j + `","error_type":"` + j + `","error_message":"` + j + `","stack_trace":"` + j +
		`","validation_output":"` + j + `","parser_version":"` + j + `","stage":"` + j + `","error_class":"` + j + `","labels":{"` + j + `":"` + j + `"},"` + j + `":"extra"`).DLQID
}

func TestNothingThatAStrangerWroteBecomesMarkup(t *testing.T) {
	s := newSite(t)
	s.withTarget("wiki")
	id := s.hostileEntry()
	v := s.signIn(dlq.RoleAdmin)
	v.post("/confirm/do", "action", "quarantine", "id", id, "reason", hostileMarkup)
	v.post("/entries/"+id+"/notes", "note", hostileMarkup)
	for _, path := range []string{"/entries/" + id, "/entries/" + id + "?view=hex", "/quarantine", "/sources", "/sources/wiki", "/alerts", "/audit", "/operations", "/confirm?action=release&grant=one&id=" + id,
		"/confirm?action=release&q=" + url.QueryEscape(`"`+hostileMarkup+`"`)} {
		p := v.get(path)
		if p.status != http.StatusOK {
			t.Errorf("%s: %d", path, p.status)
		}
		if strings.Contains(p.body, "<script>alert") || strings.Contains(p.body, "<b hx-get") {
			t.Errorf("%s: markup of a stranger", path)
		}
	}
	if p := v.get("/entries/" + id); !strings.Contains(p.body, "U+202E") {
		t.Error("a character that turns text round is not made visible")
	}
}

func TestTheRawTextsAreSandboxedPlainText(t *testing.T) {
	s := newSite(t)
	id := s.hostileEntry()
	v := s.signIn(dlq.RoleAnalyst)
	for _, name := range []string{"trace.txt", "validation.txt"} {
		p := v.get("/entries/" + id + "/" + name)
		if p.status != http.StatusOK || p.body != hostileMarkup {
			t.Errorf("%s: %d %q", name, p.status, p.body)
		}
		if p.header.Get("Content-Type") != "text/plain; charset=utf-8" || !strings.HasPrefix(p.header.Get("Content-Security-Policy"), "sandbox;") || p.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", name, p.header)
		}
	}
	if p := v.get("/entries/" + id + "/trace.txt?attempt=9"); p.status != http.StatusNotFound {
		t.Errorf("an attempt that is not there: %d", p.status)
	}
}

// parkBytes parks a document that claims to be a web page, whatever its bytes
// are.
func (s *site) parkBytes(doc string, content []byte) string {
	s.t.Helper()
	return s.park(`"source":"wiki","doc_id":"` + doc + `","content_type":"text/html","filename":"` + doc + `.html","error_message":"x","payload_encoding":"base64","payload":"` + base64.StdEncoding.EncodeToString(content) + `"`).DLQID
}

// patientRecorder has the deadlines that a connection has and a recorder lacks.
type patientRecorder struct{ *httptest.ResponseRecorder }

func (patientRecorder) SetReadDeadline(time.Time) error  { return nil }
func (patientRecorder) SetWriteDeadline(time.Time) error { return nil }

// download is get for what may take its time.
func (v *visitor) download(path string) answered {
	v.site.t.Helper()
	r := httptest.NewRequest(http.MethodGet, siteAddress+path, nil)
	for name, value := range v.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	w := patientRecorder{httptest.NewRecorder()}
	v.site.handler.ServeHTTP(w, r)
	return answered{status: w.Code, body: w.Body.String(), header: w.Header()}
}

var pngBytes = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde")

func TestAnImageIsServedAsWhatItsBytesAreAndNothingElseIs(t *testing.T) {
	s := newSite(t)
	image, page := s.parkBytes("image", pngBytes), s.parkBytes("page", []byte("<html><script>1</script></html>"))
	v := s.signIn(dlq.RoleAnalyst)
	p := v.get("/entries/" + image + "/preview/image")
	if p.status != http.StatusOK || p.header.Get("Content-Type") != "image/png" || !strings.HasPrefix(p.header.Get("Content-Security-Policy"), "sandbox;") || p.body != string(pngBytes) {
		t.Errorf("image: %d %v", p.status, p.header)
	}
	if p := v.get("/entries/" + page + "/preview/image"); p.status != http.StatusNotFound || strings.Contains(p.body, "<script>1") {
		t.Errorf("a page as an image: %d", p.status)
	}
}

func TestEachViewAndDownloadIsInTheTrail(t *testing.T) {
	s := newSite(t)
	image, text := s.parkBytes("image", pngBytes), s.parkBytes("text", []byte("plain words"))
	count := func(action string) (n int) {
		for _, r := range s.trail() {
			if r.Action == action {
				n++
			}
		}
		return n
	}
	v := s.signIn(dlq.RoleReviewer)
	v.get("/entries/" + text)
	if n := count("payload.viewed"); n != 1 {
		t.Errorf("a text that was shown: %d rows", n)
	}
	v.get("/entries/" + image)
	if n := count("payload.viewed"); n != 1 {
		t.Errorf("a page around an image: %d rows", n)
	}
	v.get("/entries/" + image + "/preview/image")
	if n := count("payload.viewed"); n != 2 {
		t.Errorf("the image itself: %d rows", n)
	}
	p := v.download("/entries/" + text + "/payload")
	if p.status != http.StatusOK || p.body != "plain words" || p.header.Get("Content-Disposition") != `attachment; filename="text.html"` || p.header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("download: %d %v", p.status, p.header)
	}
	if n := count("payload.downloaded"); n != 1 {
		t.Errorf("download: %d rows", n)
	}
}

func TestWhoSeesOneSourceLearnsNothingOfAnother(t *testing.T) {
	s := newSite(t)
	ids := s.three()
	v := s.signIn(dlq.RoleReviewer, "leases")
	reviewer := s.visitor()
	s.person("other@example.com", dlq.RoleReviewer)
	reviewer.get("/login")
	reviewer.post("/login", "email", "other@example.com", "password", sitePassword)
	reviewer.get("/cohorts")
	started := reviewer.post("/confirm/do", "action", "redrive", "q", "source:wiki", "expect", "3", "mode", "held", "reason", "secret plan")
	if started.status != http.StatusSeeOther {
		t.Fatalf("start: %d", started.status)
	}
	for _, path := range []string{"/entries/" + ids[0], "/entries/" + ids[0] + "/trace.txt", "/entries/" + ids[0] + "/payload", "/entries/" + ids[0] + "/preview/image", "/sources/wiki", "/sources/wiki/runbook", started.location,
		"/confirm?action=redrive&id=" + ids[0]} {
		if p := v.get(path); p.status != http.StatusNotFound {
			t.Errorf("GET %s: %d", path, p.status)
		}
	}
	for path, fields := range map[string][]string{
		"/entries/" + ids[0] + "/notes": {"note", "x"}, "/confirm/do": {"action", "quarantine", "id", ids[0], "reason", "x"}, "/sources/wiki/pause": nil, started.location + "/pause": nil, started.location + "/cancel": nil,
	} {
		if p := v.post(path, fields...); p.status != http.StatusNotFound {
			t.Errorf("POST %s: %d", path, p.status)
		}
	}
	mine := s.park(`"source":"leases","doc_id":"10","error_message":"x"`).DLQID
	if p := v.post("/confirm/do", "action", "archive", "id", ids[1], "id", mine, "reason", "x"); p.status != http.StatusSeeOther || s.entry(mine).Status != dlq.StatusArchived || s.entry(ids[1]).Status == dlq.StatusArchived {
		t.Errorf("among one's own: %d, %s, %s", p.status, s.entry(mine).Status, s.entry(ids[1]).Status)
	}
	for _, path := range []string{"/sources", "/operations", "/quarantine", "/alerts", "/audit"} {
		if p := v.get(path); p.status != http.StatusOK || strings.Contains(p.body, "/sources/wiki") || strings.Contains(p.body, "secret plan") || strings.Contains(p.body, ids[0]) {
			t.Errorf("%s: %d, or it names another source", path, p.status)
		}
	}
}

func TestAnOperationIsPausedResumedAndCancelled(t *testing.T) {
	s := newSite(t)
	s.three()
	v := s.signIn(dlq.RoleReviewer)
	o := v.post("/confirm/do", "action", "redrive", "q", "source:wiki", "expect", "3", "mode", "held", "reason", "fix deployed").location
	for _, step := range []struct{ move, says string }{{"pause", "Paused."}, {"pause", "Nothing was changed."}, {"resume", "It goes on."}, {"cancel", "Cancelled."}, {"cancel", "Nothing was changed."}} {
		if p := v.post(o + "/" + step.move); p.status != http.StatusSeeOther || p.location != o {
			t.Fatalf("%s: %d %q", step.move, p.status, p.location)
		}
		if p := v.get(o); !strings.Contains(p.body, step.says) {
			t.Errorf("%s: the page does not say %q", step.move, step.says)
		}
	}
	p := v.get(o, "HX-Request", "true")
	if p.status != http.StatusOK || !strings.HasPrefix(strings.TrimSpace(p.body), `<section id="progress"`) || strings.Contains(p.body, "hx-get") {
		t.Errorf("the progress of an ended operation: %d, or it asks again", p.status)
	}
	if p := v.get(o + "?state=nonsense"); p.status != http.StatusNotFound {
		t.Errorf("a state that items do not have: %d", p.status)
	}
}

func TestPausingEverythingIsOneSwitch(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleManager)
	v.post("/pause", "reason", "the index is down")
	if by, _ := s.store.Paused(t.Context()); by != "manager@example.com" {
		t.Errorf("paused by %q", by)
	}
	if p := v.get("/sources"); !strings.Contains(p.body, "All redrives are paused by manager@example.com.") {
		t.Error("not every page says so")
	}
	v.post("/resume")
	if by, _ := s.store.Paused(t.Context()); by != "" {
		t.Errorf("still paused by %q", by)
	}
}

func TestAPolicyIsSavedOrEveryFaultIsNamedInPlace(t *testing.T) {
	s := newSite(t)
	s.three()
	v := s.signIn(dlq.RoleManager)
	page := v.get("/sources/wiki/policy")
	if page.status != http.StatusOK || !strings.Contains(page.body, "https://pipeline.example.com/redrive") {
		t.Fatalf("got %d", page.status)
	}
	seen := fieldNamed(page.body, "seen")
	p := v.post("/sources/wiki/policy", "seen", seen, "policy", `{"name":"wiki","poison_threshold":0,"redrive":{"url":"ftp://x"},"owner":"kept as typed"}`)
	if p.status != http.StatusUnprocessableEntity || !strings.Contains(p.body, "/poison_threshold") || !strings.Contains(p.body, "/redrive/url") || !strings.Contains(p.body, "kept as typed") {
		t.Errorf("faults: %d", p.status)
	}
	p = v.post("/sources/wiki/policy", "seen", seen, "policy", `{"name":"wiki","owner":"search@example.com"}`)
	if p.status != http.StatusSeeOther || p.location != "/sources/wiki" {
		t.Fatalf("got %d", p.status)
	}
	if src, _ := s.store.Source(t.Context(), "wiki"); src.Policy.Owner != "search@example.com" {
		t.Errorf("owner %q", src.Policy.Owner)
	}
	s.clock.move(time.Second)
	if p := v.post("/sources/wiki/policy", "seen", "1", "policy", `{"name":"wiki"}`); p.status != http.StatusConflict || !strings.Contains(p.body, "while you wrote") {
		t.Errorf("somebody else saved meanwhile: %d", p.status)
	}
}

// fieldNamed is the value of the first hidden field of a name.
func fieldNamed(body, name string) string {
	for _, m := range hiddenField.FindAllStringSubmatch(body, -1) {
		if m[1] == name {
			return m[2]
		}
	}
	return ""
}

func TestAPolicyPageNeverShowsASecret(t *testing.T) {
	s := newSite(t)
	p := dlq.DefaultPolicy("wiki")
	p.Redrive.URL, p.Redrive.Secret = "https://pipeline.example.com/redrive", "whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"
	if _, _, err := s.store.PutSource(t.Context(), dlq.Policy("test"), p); err != nil {
		t.Fatal(err)
	}
	v := s.signIn(dlq.RoleManager)
	for _, path := range []string{"/sources/wiki", "/sources/wiki/policy", "/audit"} {
		if page := v.get(path); strings.Contains(page.body, "c2VjcmV0") {
			t.Errorf("%s shows the secret", path)
		}
	}
}

func TestARunbookIsWrittenByAReviewerAndTheRestOfThePolicyStays(t *testing.T) {
	s := newSite(t)
	s.three()
	v := s.signIn(dlq.RoleReviewer)
	page := v.get("/sources/wiki/runbook")
	p := v.post("/sources/wiki/runbook", "seen", fieldNamed(page.body, "seen"), "runbook", "Ask **search**.\r\n<script>alert(1)</script>")
	if p.status != http.StatusSeeOther {
		t.Fatalf("got %d", p.status)
	}
	if page := v.get("/sources/wiki"); !strings.Contains(page.body, "<strong>search</strong>") || strings.Contains(page.body, "<script>alert") {
		t.Error("the runbook is not rendered, or not cleaned")
	}
	if src, _ := s.store.Source(t.Context(), "wiki"); src.Policy.Redrive.URL != "https://pipeline.example.com/redrive" {
		t.Error("the rest of the policy is gone")
	}
	if p := v.get("/sources/wiki/policy"); p.status != http.StatusForbidden {
		t.Errorf("a reviewer edits the policy: %d", p.status)
	}
}

func TestAPasswordAndATokenAreShownOnce(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleAdmin)
	p := v.post("/settings/users", "email", "New@Example.com", "role", "analyst", "sources", "wiki, leases")
	if p.status != http.StatusOK || !strings.Contains(p.body, "new@example.com can sign in with this password.") {
		t.Fatalf("got %d", p.status)
	}
	if page := v.get("/settings/users"); strings.Contains(page.body, "can sign in with this password") || !strings.Contains(page.body, "new@example.com") {
		t.Error("the password is shown again, or the account is not there")
	}
	p = v.post("/settings/tokens", "name", "worker", "scope_ingest", "1", "days", "90")
	if p.status != http.StatusOK || !strings.Contains(p.body, "dlo_") || !strings.Contains(p.body, "worker works now.") {
		t.Fatalf("got %d", p.status)
	}
	if page := v.get("/settings/tokens"); strings.Contains(page.body, "works now") || !strings.Contains(page.body, "worker") {
		t.Error("the token is shown again, or is not listed")
	}
	tokens, _ := s.store.Tokens(t.Context())
	for range 2 { // the second time it is revoked already
		if p := v.post("/settings/tokens/" + tokens[0].ID + "/revoke"); p.status != http.StatusSeeOther {
			t.Errorf("revoke: %d", p.status)
		}
	}
}

func TestChangingWhoMayDoWhatAsksForThePasswordAgain(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleAdmin)
	s.clock.move(6 * time.Minute)
	p := v.post("/settings/users", "email", "new@example.com", "role", "analyst")
	if p.status != http.StatusOK || !strings.Contains(p.body, `name="own_password"`) || !strings.Contains(p.body, `name="email" value="new@example.com"`) {
		t.Fatalf("it does not ask, or forgets what was typed: %d", p.status)
	}
	if p := v.post("/settings/users", "email", "new@example.com", "role", "analyst", "own_password", "wrong"); !strings.Contains(p.body, "That is not your password; nothing was done.") {
		t.Error("a wrong password passes")
	}
	if people, _ := s.store.People(t.Context()); len(people) != 1 {
		t.Fatalf("%d people", len(people))
	}
	if p := v.post("/settings/users", "email", "new@example.com", "role", "analyst", "own_password", sitePassword); !strings.Contains(p.body, "can sign in with this password") {
		t.Errorf("the right one does not: %d", p.status)
	}
	if p := v.post("/settings/tokens", "name", "t", "scope_read", "1"); !strings.Contains(p.body, "t works now.") {
		t.Error("it asks again at once")
	}
}

func TestTheLastAdminAndOneselfCannotBeTakenAway(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleAdmin)
	people, _ := s.store.People(t.Context())
	for path, fields := range map[string][]string{"/disable": nil, "": {"role", "analyst"}} {
		if p := v.post("/settings/users/"+people[0].ID+path, fields...); p.status != http.StatusSeeOther {
			t.Fatalf("%q: %d", path, p.status)
		}
		if page := v.get("/settings/users"); page.status != http.StatusOK || !strings.Contains(page.body, "Nothing was changed.") {
			t.Errorf("%q: %d, or it does not say why", path, page.status)
		}
	}
}

// openToAnybody stands here by itself, so that a route that was put before the
// door by mistake is found. The PDF's address is its own key.
var openToAnybody = map[string]bool{"/static/*": true, "/favicon.ico": true, "/": true, "/login": true, "/setup/:token": true, "/entries/:id/preview/pdf": true}

func TestEachRouteOfThePagesIsBehindItsDoor(t *testing.T) {
	s := newSite(t)
	visitors := map[dlq.Role]*visitor{}
	for _, role := range dlq.Roles {
		visitors[role] = s.signIn(role)
	}
	nobody := s.visitor()
	for _, r := range s.handlers.pageRoutes() {
		if r.door == open && openToAnybody[r.path] {
			continue
		}
		if r.door != session || r.may == "" {
			t.Errorf("%s %s is not behind the session's door", r.method, r.path)
		}
		path := strings.NewReplacer(":id", "01J", ":name", "wiki", ":action", "redrive").Replace(r.path)
		if p := nobody.do(httptest.NewRequest(r.method, siteAddress+path, nil)); p.status != http.StatusSeeOther && p.status != http.StatusFound && p.status != http.StatusUnauthorized && p.status != http.StatusForbidden {
			t.Errorf("nobody: %s %s: %d", r.method, path, p.status)
		}
		for role, v := range visitors {
			allowed := dlq.Actor{Kind: dlq.ActorPerson, Role: role}.May(r.may)
			if allowed {
				continue
			}
			p := v.get(path)
			if r.method == post {
				p = v.post(path)
			}
			if p.status != http.StatusForbidden {
				t.Errorf("%s: %s %s: %d", role, r.method, path, p.status)
			}
		}
		if r.method == post {
			if p := visitors[dlq.RoleAdmin].post(path, "csrf", "made up"); p.status != http.StatusForbidden {
				t.Errorf("%s without a token: %d", path, p.status)
			}
		}
	}
}

func TestAFormOfSeveralPartsIsReadLikeAnyOther(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleReviewer)
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	w.WriteField("action", "redrive")
	w.Close()
	r := httptest.NewRequest(http.MethodPost, siteAddress+"/confirm", &body)
	r.Header.Set("Content-Type", w.FormDataContentType())
	r.Header.Set("X-CSRF-Token", v.token)
	if p := v.do(r); p.status >= 500 {
		t.Errorf("got %d", p.status)
	}
}
