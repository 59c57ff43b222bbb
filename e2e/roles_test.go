package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

func TestAnalystLooksAndCannotDecide(t *testing.T) {
	d := sharedDemo(t)
	b := d.signIn(t, "analyst")
	doc := d.documents(t, "Windows-1252")[0]
	e := entryOf(d.api(t), doc)
	document := d.address + "/entries/" + e.DLQID
	b.open(document)
	for _, label := range []string{"Redrive", "Quarantine", "Keep longer"} {
		if b.offers(label) {
			t.Errorf("an analyst is offered %s", label)
		}
	}
	b.says("Analysts cannot redrive, quarantine or extend. Ask a reviewer and give them this page's address.")

	// The form that the page does not have, sent all the same, with its token.
	evaluate[bool](b, `(() => {
		const form = document.createElement("form");
		form.method = "post"; form.action = "/confirm/do"; form.id = "forged";
		for (const [name, value] of [["csrf", document.querySelector("meta[name=csrf]").content], ["action", "redrive"], ["id", `+quoted(e.DLQID)+`], ["reason", "because"]]) {
			const field = document.createElement("input");
			field.name = name; field.value = value; form.append(field);
		}
		document.body.append(form);
		return true;
	})()`)
	if status := b.loadBy(chromedp.Submit(chromedp.CSS(`#forged input`))); status != http.StatusForbidden {
		t.Errorf("a redrive by an analyst answers %d", status)
	}
	if e := entryOf(d.api(t), doc); e.Status != "parked" || len(e.Redrives) != 0 {
		t.Errorf("the document is %s with %d redrives", e.Status, len(e.Redrives))
	}
}

func TestManagerPausesEverythingAndEveryPageSaysSo(t *testing.T) {
	d := sharedDemo(t)
	b := d.signIn(t, "manager")
	t.Cleanup(func() {
		_, _ = d.api(t).call(http.MethodPost, "/resume", map[string]string{"reason": "the test is over"}, nil)
	})
	b.open(d.address + "/operations")
	b.load("Pause all redrives")
	const banner = "All redrives are paused by manager@example.com."
	other := d.signIn(t, "analyst")
	entry := "/entries/" + entryOf(d.api(t), d.documents(t, "Windows-1252")[0]).DLQID
	for _, path := range []string{"/cohorts", "/entries", entry, "/operations", "/quarantine", "/sources", "/alerts"} {
		for _, who := range []*browser{b, other} {
			who.open(d.address + path)
			who.says(banner)
		}
	}
	const resume = `form[action="/resume"]`
	if !b.has(resume) || other.has(resume) {
		t.Errorf("resuming is offered to a manager: %v, to an analyst: %v", b.has(resume), other.has(resume))
	}
	b.load("Resume all redrives")
	b.open(d.address + "/cohorts")
	if strings.Contains(b.text(), banner) {
		t.Error("the banner stays")
	}
	b.quiet(d.address)
}

func TestAuditorReadsTheTrail(t *testing.T) {
	d := sharedDemo(t)
	d.addUser(t, "auditor")
	b := d.signIn(t, "auditor")
	if status := b.open(d.address + "/audit"); status != http.StatusOK {
		t.Fatalf("/audit answers %d", status)
	}
	b.says("Each row's hash covers the row before it.")
	b.says("person.signed_in")
	b.says("auditor@example.com")
	b.quiet(d.address)

	analyst := d.signIn(t, "analyst")
	if status := analyst.open(d.address + "/audit"); status != http.StatusForbidden {
		t.Errorf("an analyst's /audit answers %d", status)
	}
}

func TestEndedSessionLeadsThroughTheLoginBackToThePage(t *testing.T) {
	d := sharedDemo(t)
	b := d.signIn(t, "analyst")
	page := "/entries?q=" + url.QueryEscape("source:leases age:>30d")
	b.open(d.address + page)
	b.do(command(network.ClearBrowserCookies, struct{}{}))
	b.do(chromedp.Reload())
	b.until("the login asks", func() bool { return strings.HasPrefix(b.at(), "/login?next=") })
	b.fillLogin("analyst@example.com", d.passwords["analyst"])
	if b.at() != page {
		t.Errorf("the login leads to %s, and not back to %s", b.at(), page)
	}
	b.says("stuck for more than 30 days")
}

func TestLoginNeverLeadsToAnotherSite(t *testing.T) {
	d := sharedDemo(t)
	for _, next := range []string{"//evil.example", "https://evil.example/", `/\evil.example`, "javascript:alert(1)"} {
		b := newBrowser(t)
		b.open(d.address + "/login?next=" + url.QueryEscape(next))
		b.fillLogin("analyst@example.com", d.passwords["analyst"])
		if b.at() != "/cohorts" {
			t.Errorf("next=%s leads to %s", next, b.at())
		}
		b.quiet(d.address)
	}
}

func TestAfterSigningOutBackShowsTheLogin(t *testing.T) {
	d := sharedDemo(t)
	b := d.signIn(t, "analyst")
	b.open(d.address + "/entries")
	b.says("LS-")
	b.load("Sign out")
	if !strings.HasPrefix(b.at(), "/login") {
		t.Fatalf("signing out leads to %s", b.at())
	}
	b.do(chromedp.NavigateBack())
	b.until("Back shows the login", func() bool { return strings.HasPrefix(b.at(), "/login") && b.has(`input[name="password"]`) })
	if strings.Contains(b.text(), "LS-") {
		t.Error("Back shows what was signed out of")
	}
}
