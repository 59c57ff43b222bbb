package web

import (
	"strings"
	"testing"
	"time"
)

func TestNothingChangesWithoutATokenFromOurPage(t *testing.T) {
	o := newOffice(t, "")
	mine, theirs := o.signIn(t, "1"), o.signIn(t, "2")
	_, token := o.send(t, "GET", "/token", "", "Cookie", mine)
	_, otherToken := o.send(t, "GET", "/token", "", "Cookie", theirs)
	answer, visitorToken := o.send(t, "GET", "/login", "")
	visitor := o.cookie(answer, "form")
	good := []string{"X-CSRF-Token", token}
	for name, headers := range map[string][]string{
		"no token":                  {},
		"an empty token":            {"X-CSRF-Token", ""},
		"a token of zeros":          {"X-CSRF-Token", strings.Repeat("A", 86)},
		"half a token":              {"X-CSRF-Token", token[:43]},
		"no base64":                 {"X-CSRF-Token", "!" + token[1:]},
		"another session's token":   {"X-CSRF-Token", otherToken},
		"a visitor's token":         {"X-CSRF-Token", visitorToken},
		"a visitor's tossed pair":   {"X-CSRF-Token", visitorToken, "Cookie", visitor},
		"a tossed double submit":    {"X-CSRF-Token", "abc", "Cookie", "_csrf=abc; csrf=abc"},
		"token in a cookie":         {"Cookie", "csrf=" + token + "; X-CSRF-Token=" + token},
		"same-site":                 append([]string{"Sec-Fetch-Site", "same-site"}, good...),
		"cross-site":                append([]string{"Sec-Fetch-Site", "cross-site"}, good...),
		"an odd fetch site":         append([]string{"Sec-Fetch-Site", "banana"}, good...),
		"Origin null":               append([]string{"Origin", "null"}, good...),
		"another origin":            append([]string{"Origin", "https://evil.example"}, good...),
		"another port":              append([]string{"Origin", "http://127.0.0.1:1"}, good...),
		"method override":           append([]string{"X-HTTP-Method-Override", "GET", "Sec-Fetch-Site", "cross-site"}, good...),
		"method override, no token": {"X-HTTP-Method-Override", "GET"},
	} {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
			answer, _ := o.send(t, method, "/act", "", append([]string{"Cookie", mine}, headers...)...)
			if answer.StatusCode != 403 {
				t.Errorf("%s with %s: %d, want 403", method, name, answer.StatusCode)
			}
		}
	}
	for name, c := range map[string]struct{ path, contentType, body string }{
		"token in the address":      {"/act?csrf=" + token, form, ""},
		"token in a text body":      {"/act", "text/plain", "csrf=" + token},
		"token in JSON":             {"/act", "application/json", `{"csrf":"` + token + `"}`},
		"token in a multipart form": {"/act", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"csrf\"\r\n\r\n" + token + "\r\n--x--\r\n"},
		"method in the form":        {"/act", form, "_method=GET"},
		"no content type":           {"/act", "", "csrf=" + token},
	} {
		if answer, _ := o.send(t, "POST", c.path, c.body, "Cookie", mine, "Content-Type", c.contentType); answer.StatusCode != 403 {
			t.Errorf("%s: %d, want 403", name, answer.StatusCode)
		}
	}
	if o.acts != 0 {
		t.Fatalf("%d of them changed something", o.acts)
	}
	for name, headers := range map[string][]string{
		"header":                      good,
		"header, same-origin":         append([]string{"Sec-Fetch-Site", "same-origin"}, good...),
		"header, typed by the person": append([]string{"Sec-Fetch-Site", "none"}, good...),
		"header, own origin":          append([]string{"Origin", o.url}, good...),
	} {
		if answer, _ := o.send(t, "POST", "/act", "", append([]string{"Cookie", mine}, headers...)...); answer.StatusCode != 200 {
			t.Errorf("%s: %d, want 200", name, answer.StatusCode)
		}
	}
	if answer, _ := o.send(t, "POST", "/act", "csrf="+token, "Cookie", mine, "Content-Type", form+"; charset=utf-8"); answer.StatusCode != 200 {
		t.Errorf("a form: %d, want 200", answer.StatusCode)
	}
	if o.acts != 5 {
		t.Errorf("%d acts, want 5", o.acts)
	}
}

func TestTheLoginFormIsProtectedToo(t *testing.T) {
	o := newOffice(t, "")
	answer, token := o.send(t, "GET", "/login", "")
	visitor := o.cookie(answer, "form")
	answer, otherToken := o.send(t, "GET", "/login", "")
	other := o.cookie(answer, "form")
	if visitor == other {
		t.Fatal("two visitors have the same id")
	}
	try := func(cookie, token string, headers ...string) int {
		answer, _ := o.send(t, "POST", "/login", "id=1&csrf="+token, append(headers, "Cookie", cookie, "Content-Type", form)...)
		return answer.StatusCode
	}
	for name, got := range map[string]int{
		"no cookie":        try("", token),
		"no token":         try(visitor, ""),
		"another's token":  try(visitor, otherToken),
		"a cookie made up": try("form="+newID(), token),
		"the id as token":  try(visitor, strings.TrimPrefix(visitor, "form=")),
		"a form of another day": func() int {
			o.clock.pass(25 * time.Hour)
			defer o.clock.pass(-25 * time.Hour)
			return try(visitor, token)
		}(),
		"another site": try(visitor, token, "Sec-Fetch-Site", "cross-site"),
	} {
		if got != 403 {
			t.Errorf("%s: %d, want 403", name, got)
		}
	}
	o.clock.pass(59 * time.Minute)
	if got := try(visitor, token); got != 303 {
		t.Errorf("a form of an hour ago: %d, want 303", got)
	}
}

func TestAFormSentAfterTheSessionEndedLeadsToTheLoginPage(t *testing.T) {
	o := newOffice(t, "")
	cookie := o.signIn(t, "1")
	_, token := o.send(t, "GET", "/token", "", "Cookie", cookie)
	o.clock.pass(SessionIdle + time.Minute)
	answer, _ := o.send(t, "POST", "/act", "csrf="+token, "Cookie", cookie, "Content-Type", form)
	if answer.StatusCode != 303 || answer.Header.Get("Location") != "/login?ended=1" || o.acts != 0 {
		t.Errorf("%d to %q", answer.StatusCode, answer.Header.Get("Location"))
	}
	answer, _ = o.send(t, "POST", "/act", "csrf="+token, "Cookie", cookie, "Content-Type", form, "HX-Request", "true", "HX-Current-URL", o.url+"/entries?q=x")
	if answer.StatusCode != 401 || answer.Header.Get("HX-Redirect") != "/login?ended=1&next=%2Fentries%3Fq%3Dx" {
		t.Errorf("fragment: %d to %q", answer.StatusCode, answer.Header.Get("HX-Redirect"))
	}
}

func TestATokenLooksDifferentInEveryAnswer(t *testing.T) {
	o := newOffice(t, "")
	cookie := o.signIn(t, "1")
	seen := map[string]bool{}
	for range 5 {
		_, token := o.send(t, "GET", "/token", "", "Cookie", cookie)
		if seen[token] || seen[token[:43]] {
			t.Errorf("the token came twice")
		}
		seen[token], seen[token[:43]] = true, true
		if strings.Contains(token, strings.TrimPrefix(cookie, "sid=")) {
			t.Error("the token has the session's id in it")
		}
	}
}

func TestAProxyThatRewritesHostDoesNotMakeTheSiteAStranger(t *testing.T) {
	o := newOffice(t, "https://dlo.example.com")
	cookie := o.signIn(t, "1", "Origin", "https://dlo.example.com")
	if !strings.HasPrefix(cookie, "__Host-sid=") {
		t.Errorf("the cookie is %s", cookie)
	}
}
