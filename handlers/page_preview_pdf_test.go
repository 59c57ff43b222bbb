package handlers

import (
	"context"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"dlo/dlq"
	"dlo/views/entry"
)

var pdfBytes = []byte("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<< /Type /Catalog >>\nendobj\n")

var frameSource = regexp.MustCompile(`<iframe src="([^"]+)"`)

// pdfFrame opens the page of a document as a PDF and gives its frame's address.
func (v *visitor) pdfFrame(id string) string {
	v.site.t.Helper()
	p := v.get("/entries/" + id + "?view=pdf")
	m := frameSource.FindStringSubmatch(p.body)
	if p.status != http.StatusOK || m == nil {
		v.site.t.Fatalf("%d, and no frame", p.status)
	}
	if policy := p.header.Get("Content-Security-Policy"); !strings.Contains(policy, "frame-src 'self'") || !strings.Contains(policy, "object-src 'none'") {
		v.site.t.Errorf("the page's own policy: %s", policy)
	}
	address, _, _ := strings.Cut(html.UnescapeString(m[1]), "#")
	return address
}

// viewsAs are the people in the trail who looked at a stored copy as that.
func (s *site) viewsAs(as string) (who []string) {
	s.t.Helper()
	for _, row := range s.trail() {
		var detail struct{ As string }
		if row.Action == "payload.viewed" && json.Unmarshal([]byte(row.Detail), &detail) == nil && detail.As == as {
			who = append(who, row.ActorName)
		}
	}
	return who
}

func TestAPDFIsShownOnlyWhenSomebodyChoosesTo(t *testing.T) {
	s := newSite(t)
	id := s.parkBytes("pdf", pdfBytes)
	v := s.signIn(dlq.RoleAnalyst)
	p := v.get("/entries/" + id)
	if strings.Contains(p.body, "<iframe") || !strings.Contains(p.body, "25 50 44 46") || !strings.Contains(p.body, "only when you choose to") {
		t.Error("without being asked: not the bytes and why")
	}
	if !strings.Contains(p.body, "Show as PDF") {
		t.Error("nothing offers it")
	}
	for _, view := range []string{"table", "text", "image", "page", ""} {
		if p := v.get("/entries/" + id + "?view=" + view); strings.Contains(p.body, "<iframe") {
			t.Errorf("?view=%s opens it", view)
		}
	}
	if p := v.get("/entries/" + id + "?view=pdf"); !strings.Contains(p.body, "leaves this page") {
		t.Error("it does not say what a link in it does")
	}
}

func TestThePDFOfAFrameNeedsNoCookieAndIsServedAsAPDFAlone(t *testing.T) {
	s := newSite(t)
	id := s.parkBytes("pdf", pdfBytes)
	address := s.signIn(dlq.RoleAnalyst).pdfFrame(id)
	if who := s.viewsAs("pdf"); len(who) != 0 {
		t.Errorf("a page around a PDF is a view of it: %v", who)
	}
	p := s.visitor().download(address)
	if p.status != http.StatusOK || p.body != string(pdfBytes) {
		t.Fatalf("got %d, %d bytes", p.status, len(p.body))
	}
	for header, want := range map[string]string{"Content-Type": "application/pdf", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "SAMEORIGIN", "Cache-Control": "no-store", "Set-Cookie": ""} {
		if got := p.header.Get(header); got != want {
			t.Errorf("%s is %q, want %q", header, got, want)
		}
	}
	policy, disposition := p.header.Get("Content-Security-Policy"), p.header.Get("Content-Disposition")
	if !strings.HasPrefix(policy, "sandbox; default-src 'none'") || !strings.HasPrefix(disposition, "inline;") || !strings.HasSuffix(disposition, `.pdf"`) {
		t.Errorf("%s, %s", policy, disposition)
	}
	if who := s.viewsAs("pdf"); len(who) != 1 || who[0] != "analyst@example.com" {
		t.Errorf("the trail says that it was seen by %v", who)
	}
}

func TestTheAddressOfAPDFIsVoidAfterAMinute(t *testing.T) {
	s := newSite(t)
	address := s.signIn(dlq.RoleAnalyst).pdfFrame(s.parkBytes("pdf", pdfBytes))
	s.clock.move(pdfLinkTime)
	if p := s.visitor().download(address); p.status != http.StatusGone || strings.Contains(p.body, "%PDF") {
		t.Errorf("got %d", p.status)
	}
	if who := s.viewsAs("pdf"); len(who) != 0 {
		t.Errorf("seen by %v", who)
	}
}

func TestTheAddressOfAPDFOpensThatPDFForThatPersonAlone(t *testing.T) {
	s := newSite(t)
	id, other := s.parkBytes("pdf", pdfBytes), s.parkBytes("other", []byte(string(pdfBytes)+"% other"))
	reviewer := s.signIn(dlq.RoleReviewer)
	address, elsewhere := s.signIn(dlq.RoleAnalyst).pdfFrame(id), reviewer.pdfFrame(other)
	query := func(address string) url.Values {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		return u.Query()
	}
	for name, change := range map[string]func(path *string, q url.Values){
		"another document": func(path *string, _ url.Values) { *path = strings.Replace(*path, id, other, 1) },
		"another document and its bytes": func(path *string, q url.Values) {
			*path = strings.Replace(*path, id, other, 1)
			q.Set("sha256", query(elsewhere).Get("sha256"))
		},
		"other bytes":        func(_ *string, q url.Values) { q.Set("sha256", query(elsewhere).Get("sha256")) },
		"another person":     func(_ *string, q url.Values) { q.Set("person", query(elsewhere).Get("person")) },
		"nobody":             func(_ *string, q url.Values) { q.Del("person") },
		"a longer time":      func(_ *string, q url.Values) { q.Set("expires", "99999999999") },
		"another signature":  func(_ *string, q url.Values) { q.Set("signature", query(elsewhere).Get("signature")) },
		"no signature":       func(_ *string, q url.Values) { q.Del("signature") },
		"nothing but a path": func(_ *string, q url.Values) { clear(q) },
	} {
		path, _, _ := strings.Cut(address, "?")
		q := query(address)
		change(&path, q)
		for who, v := range map[string]*visitor{"nobody": s.visitor(), "a reviewer": reviewer} { // a session opens nothing here
			if p := v.download(path + "?" + q.Encode()); p.status != http.StatusForbidden || strings.Contains(p.body, "%PDF") {
				t.Errorf("%s, asked by %s: %d", name, who, p.status)
			}
		}
	}
	if p := s.visitor().download(address); p.status != http.StatusOK {
		t.Errorf("as it was made: %d", p.status)
	}
}

func TestWhoMayNoLongerSeeADocumentIsNotShownItsPDF(t *testing.T) {
	for name, change := range map[string]struct {
		person func(*dlq.Person)
		want   int
	}{
		"disabled":                 {func(p *dlq.Person) { p.Disabled = true }, http.StatusForbidden},
		"limited to other sources": {func(p *dlq.Person) { p.Sources = []string{"leases"} }, http.StatusNotFound},
	} {
		s := newSite(t)
		v := s.signIn(dlq.RoleAnalyst)
		address := v.pdfFrame(s.parkBytes("pdf", pdfBytes))
		p, _, found, err := s.store.PersonByEmail(t.Context(), "analyst@example.com")
		if err != nil || !found {
			t.Fatal(err)
		}
		change.person(&p)
		if err := s.store.ChangePerson(t.Context(), dlq.Policy("test"), p); err != nil {
			t.Fatal(err)
		}
		if a := s.visitor().download(address); a.status != change.want || strings.Contains(a.body, "%PDF") {
			t.Errorf("%s: %d, want %d", name, a.status, change.want)
		}
	}
}

func TestNothingButAPDFIsServedAsOne(t *testing.T) {
	s := newSite(t)
	v := s.signIn(dlq.RoleAnalyst)
	who, _, _, err := s.store.PersonByEmail(t.Context(), "analyst@example.com")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"a page":               "<!DOCTYPE html><script>alert(1)</script>",
		"a page that says PDF": "<!DOCTYPE html><script>alert(1)</script>\n%PDF-1.7\n",
		"a mark too far in":    strings.Repeat("\x00\x01", pdfMarkIn/2) + "%PDF-1.7",
		"an image":             string(pngBytes),
		"nothing":              "\x00",
	} {
		id := s.parkBytes(strings.ReplaceAll(name, " ", "-"), []byte(content))
		if p := v.get("/entries/" + id + "?view=pdf"); strings.Contains(p.body, "<iframe") || strings.Contains(p.body, "Show as PDF") {
			t.Errorf("%s: its page offers a PDF", name)
		}
		e, err := s.store.Entry(t.Context(), who.Actor(), id)
		if err != nil {
			t.Fatal(err)
		}
		if p := s.visitor().download(newPDFLink(e, who.Actor(), noon).href()); p.status != http.StatusNotFound || strings.Contains(p.body, "alert(1)") {
			t.Errorf("%s: %d", name, p.status)
		}
	}
}

func TestAPDFThatIsTooLargeIsBytesAndADownload(t *testing.T) {
	v := documentView{entry: heldEntry(), copy: storedCopy{head: pdfBytes, size: pdfMost}, view: "pdf", mayPreview: true, mayDownload: true, pdf: "/frame"}
	if d, _ := newDocument(v); d.Kind != entry.PreviewPDF || d.Src != "/frame#navpanes=0" || d.Download == nil {
		t.Errorf("the largest: kind %d, %q", d.Kind, d.Src)
	}
	v.copy.size++
	if d, _ := newDocument(v); d.Kind != entry.PreviewHex || len(d.Views) != 0 || d.Download == nil || !strings.Contains(d.Cut, "more than 33.6 MB") {
		t.Errorf("a byte more: kind %d, %v, %q", d.Kind, d.Views, d.Cut)
	}
}

// swollen says that every stored copy is larger than a PDF may be.
type swollen struct{ Payloads }

func (p swollen) Open(ctx context.Context, sha256 string) (io.ReadSeekCloser, int64, error) {
	r, size, err := p.Payloads.Open(ctx, sha256)
	return r, size + pdfMost, err
}

func TestTheAddressOfAPDFThatIsTooLargeSendsNothing(t *testing.T) {
	s := newSite(t)
	address := s.signIn(dlq.RoleAnalyst).pdfFrame(s.parkBytes("pdf", pdfBytes))
	s.handlers.Payloads = swollen{s.handlers.Payloads}
	if p := s.visitor().download(address); p.status != http.StatusRequestEntityTooLarge || strings.Contains(p.body, "%PDF") {
		t.Errorf("got %d", p.status)
	}
	if who := s.viewsAs("pdf"); len(who) != 0 {
		t.Errorf("seen by %v", who)
	}
}

func TestTheAddressOfAPDFDoesNotOpenACopyThatCameLater(t *testing.T) {
	s := newSite(t)
	address := s.signIn(dlq.RoleAnalyst).pdfFrame(s.parkBytes("pdf", pdfBytes))
	s.clock.move(time.Second)
	s.parkBytes("pdf", []byte(string(pdfBytes)+"% newer"))
	if p := s.visitor().download(address); p.status != http.StatusGone || strings.Contains(p.body, "%PDF") {
		t.Errorf("got %d", p.status)
	}
}

func TestWhoMayNotDownloadIsOfferedNoToolsOfTheViewer(t *testing.T) {
	v := documentView{entry: heldEntry(), copy: storedCopy{head: pdfBytes, size: 60}, view: "pdf", mayPreview: true, pdf: "/frame"}
	if d, viewed := newDocument(v); d.Src != "/frame#navpanes=0&toolbar=0" || d.Download != nil || viewed || strings.Contains(d.Cut, "download") {
		t.Errorf("%q, %q", d.Src, d.Cut)
	}
	v.mayPreview = false
	if d, _ := newDocument(v); d.Kind != entry.PreviewNone || d.Src != "" {
		t.Errorf("without seeing contents: %+v", d)
	}
}
