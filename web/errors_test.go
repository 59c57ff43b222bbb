package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"dlo/dlq"
)

// text is the smallest templ.Component.
func text(format string, args ...any) templ.Component {
	return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
		_, err := fmt.Fprintf(w, format, args...)
		return err
	})
}

var testPages = ErrorPages{
	Page: func(_ echo.Context, status int, title, sentence, id string) templ.Component {
		return text("<page>%d|%s|%s|%s</page>", status, title, templ.EscapeString(sentence), id)
	},
	Toast: func(_ echo.Context, status int, title, sentence, id string) templ.Component {
		return text("<toast>%d|%s|%s</toast>", status, title, templ.EscapeString(sentence))
	},
	ToastTarget: "#toasts",
	Login:       "/login",
}

// failing has a route for every kind of error, below / and below /api/.
func failing(e *echo.Echo) {
	kinds := map[string]error{
		"invalid":     dlq.Invalid("Two fields are wrong.", dlq.Fault{Pointer: "/a", Detail: "text expected"}, dlq.Fault{Pointer: "/b", Detail: "too long"}),
		"malformed":   dlq.Errorf(dlq.KindMalformed, "No JSON."),
		"notfound":    dlq.Errorf(dlq.KindNotFound, "No such entry."),
		"conflict":    dlq.Errorf(dlq.KindConflict, "It is archived."),
		"login":       dlq.Errorf(dlq.KindUnauthenticated, "Sign in."),
		"forbidden":   dlq.Errorf(dlq.KindForbidden, "Not yours."),
		"toolarge":    dlq.Errorf(dlq.KindTooLarge, "Too large."),
		"unsupported": dlq.Errorf(dlq.KindUnsupported, "JSON expected."),
		"toomany":     &dlq.Error{Kind: dlq.KindTooMany, Message: "Slow down.", RetryAfter: 1500 * time.Millisecond},
		"unavailable": &dlq.Error{Kind: dlq.KindUnavailable, Message: "The disk is full.", Cause: errors.New("canary ENOSPC")},
		"gone":        dlq.Errorf(dlq.KindGone, "Used up."),
		"internal":    dlq.Errorf(dlq.KindInternal, "canary sentence").Because(errors.New("canary")),
		"foreign":     fmt.Errorf("load entry: %w", errors.New("SQLITE_CORRUPT canary /root/data")),
		"unknown":     &dlq.Error{Kind: "canary kind", Message: "canary"},
		"wrapped":     fmt.Errorf("canary context: %w", dlq.Errorf(dlq.KindConflict, "It is archived.").Because(errors.New("canary cause"))),
		"echo":        echo.NewHTTPError(400, "canary from a binder"),
		"echo500":     echo.NewHTTPError(502, "canary upstream"),
		"maxbytes":    fmt.Errorf("canary: %w", &http.MaxBytesError{Limit: 5}),
		"deadline":    fmt.Errorf("canary query: %w", context.DeadlineExceeded),
		"rate":        echo.ErrTooManyRequests,
		"teapot":      echo.NewHTTPError(418, "canary"),
	}
	for name, err := range kinds {
		fail := func(c echo.Context) error { return err }
		e.GET("/"+name, fail)
		e.POST("/"+name, fail)
		e.GET("/api/"+name, fail)
	}
}

var statusOfKind = map[string]int{
	"invalid": 422, "malformed": 400, "notfound": 404, "conflict": 409, "login": 401, "forbidden": 403, "toolarge": 413, "unsupported": 415,
	"toomany": 429, "unavailable": 503, "gone": 410, "internal": 500, "foreign": 500, "unknown": 500, "wrapped": 409, "echo": 400, "echo500": 500,
	"maxbytes": 413, "deadline": 503, "rate": 429, "teapot": 418, "nothing-here": 404,
}

func TestProgramsGetProblemsWithoutTheCause(t *testing.T) {
	s := startSite(t, ServerConfig{Pages: testPages}, failing)
	for name, want := range statusOfKind {
		answer, body := s.send(t, "GET", "/api/"+name, "", "HX-Request", "true")
		if answer.StatusCode != want {
			t.Errorf("%s: %d, want %d", name, answer.StatusCode, want)
		}
		if strings.Contains(body, "canary") {
			t.Errorf("%s: leaks: %s", name, body)
		}
		var problem Problem
		if err := json.Unmarshal([]byte(body), &problem); err != nil || answer.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %s %q", name, answer.Header.Get("Content-Type"), body)
			continue
		}
		if problem.Type != "about:blank" || problem.Status != want || problem.Title != http.StatusText(want) || problem.Detail == "" || problem.RequestID != answer.Header.Get("X-Request-Id") {
			t.Errorf("%s: %+v", name, problem)
		}
		if retry := answer.Header.Get("Retry-After"); (want == 429 || want == 503) != (retry != "") {
			t.Errorf("%s: Retry-After %q", name, retry)
		}
		if (want == 401) != (answer.Header.Get("WWW-Authenticate") != "") {
			t.Errorf("%s: WWW-Authenticate %q", name, answer.Header.Get("WWW-Authenticate"))
		}
	}
	_, body := s.send(t, "GET", "/api/invalid", "")
	if !strings.Contains(body, `"errors":[{"pointer":"/a","detail":"text expected"},{"pointer":"/b","detail":"too long"}]`) {
		t.Errorf("not every fault is named: %s", body)
	}
	if answer, _ := s.send(t, "GET", "/api/toomany", ""); answer.Header.Get("Retry-After") != "2" {
		t.Errorf("1.5 s to wait is Retry-After %q, want it rounded up to 2", answer.Header.Get("Retry-After"))
	}
}

func TestPeopleGetAPageAndFragmentsAToast(t *testing.T) {
	s := startSite(t, ServerConfig{Pages: testPages}, failing)
	for name, want := range statusOfKind {
		if name == "login" {
			continue
		}
		answer, body := s.send(t, "GET", "/"+name, "")
		if answer.StatusCode != want || !strings.HasPrefix(body, fmt.Sprintf("<page>%d|", want)) || strings.Contains(body, "canary") {
			t.Errorf("page of %s: %d %s", name, answer.StatusCode, body)
		}
		answer, body = s.send(t, "GET", "/"+name, "", "HX-Request", "true")
		if answer.StatusCode != want || !strings.HasPrefix(body, fmt.Sprintf("<toast>%d|", want)) || strings.Contains(body, "canary") {
			t.Errorf("fragment of %s: %d %s", name, answer.StatusCode, body)
		}
		if answer.Header.Get("HX-Retarget") != "#toasts" || answer.Header.Get("HX-Reswap") != "beforeend" {
			t.Errorf("fragment of %s does not go to the toasts", name)
		}
		if _, body = s.send(t, "GET", "/"+name, "", "HX-Request", "true", "HX-Boosted", "true"); !strings.HasPrefix(body, "<page>") {
			t.Errorf("boosted link to %s gets %s, want a page", name, body)
		}
	}
}

func TestInternalErrorsAreLoggedOnceWithTheRequestID(t *testing.T) {
	s := startSite(t, ServerConfig{Pages: testPages}, failing)
	answer, _ := s.send(t, "GET", "/foreign", "")
	s.send(t, "GET", "/conflict", "")
	s.send(t, "GET", "/unavailable", "")
	var failed []map[string]any
	for _, record := range s.log.records(t) {
		if record["msg"] == "request failed" {
			failed = append(failed, record)
		}
	}
	if len(failed) != 2 {
		t.Fatalf("%d lines, want one for the internal error and one for the full disk: %v", len(failed), failed)
	}
	if failed[0]["request_id"] != answer.Header.Get("X-Request-Id") || !strings.Contains(fmt.Sprint(failed[0]["error"]), "SQLITE_CORRUPT") || failed[0]["level"] != "ERROR" {
		t.Errorf("got %v", failed[0])
	}
	if failed[1]["level"] != "WARN" || !strings.Contains(fmt.Sprint(failed[1]["error"]), "ENOSPC") {
		t.Errorf("got %v", failed[1])
	}
}

func TestAnEndedSessionLeadsToTheLoginPageAndBack(t *testing.T) {
	site := startSite(t, ServerConfig{Pages: testPages}, func(e *echo.Echo) {
		e.Any("/home", func(echo.Context) error { return dlq.Errorf(dlq.KindUnauthenticated, "Sign in first.") })
	})
	for name, c := range map[string]struct {
		method, path  string
		headers       []string
		status        int
		header, value string
	}{
		"a page":            {"GET", "/home?x=1", nil, 303, "Location", "/login?next=%2Fhome%3Fx%3D1"},
		"a form":            {"POST", "/home", nil, 303, "Location", "/login?ended=1"},
		"a fragment":        {"GET", "/home", []string{"HX-Request", "true", "HX-Current-URL", "http://localhost/cohorts?q=a"}, 401, "HX-Redirect", "/login?next=%2Fcohorts%3Fq%3Da"},
		"a fragment's POST": {"POST", "/home", []string{"HX-Request", "true", "HX-Current-URL", "http://localhost/cohorts"}, 401, "HX-Redirect", "/login?ended=1&next=%2Fcohorts"},
		"a lying fragment":  {"GET", "/home", []string{"HX-Request", "true", "HX-Current-URL", "http://localhost//evil.example/"}, 401, "HX-Redirect", "/login"},
		"no current URL":    {"GET", "/home", []string{"HX-Request", "true"}, 401, "HX-Redirect", "/login"},
	} {
		answer, body := site.send(t, c.method, c.path, "", c.headers...)
		if answer.StatusCode != c.status || answer.Header.Get(c.header) != c.value {
			t.Errorf("%s: %d, %s %q; want %d, %q", name, answer.StatusCode, c.header, answer.Header.Get(c.header), c.status, c.value)
		}
		if c.status == 401 && body != "" {
			t.Errorf("%s: %q would be swapped into the page", name, body)
		}
		if !strings.Contains(answer.Header.Get("Vary"), "HX-Request") {
			t.Errorf("%s: Vary is %q", name, answer.Header.Get("Vary"))
		}
	}
}

func TestAnErrorDropsWhatTheHandlerHadSetUp(t *testing.T) {
	s := startSite(t, ServerConfig{Pages: testPages}, func(e *echo.Echo) {
		e.GET("/download", func(c echo.Context) error {
			RawDownload(c, "x.bin")
			c.Response().Header().Set("Cache-Control", "public, immutable")
			c.Response().Header().Set("Content-Length", "99")
			c.Response().Header().Set("Content-Encoding", "gzip")
			return dlq.Errorf(dlq.KindNotFound, "Gone.")
		})
	})
	answer, body := s.send(t, "GET", "/download", "")
	h := answer.Header
	if h.Get("Content-Disposition") != "" || h.Get("Content-Encoding") != "" || h.Get("Cache-Control") != "no-store" || h.Get("Content-Security-Policy") != pagePolicy || !strings.HasPrefix(body, "<page>404") {
		t.Errorf("%v %s", h, body)
	}
}

func TestAFailingErrorPageFallsBackToText(t *testing.T) {
	for name, page := range map[string]func(echo.Context, int, string, string, string) templ.Component{
		"error": func(echo.Context, int, string, string, string) templ.Component {
			return templ.ComponentFunc(func(_ context.Context, w io.Writer) error {
				fmt.Fprint(w, "<half")
				return errors.New("canary")
			})
		},
		"panic": func(echo.Context, int, string, string, string) templ.Component { panic("canary") },
	} {
		s := startSite(t, ServerConfig{Pages: ErrorPages{Page: page}}, failing)
		answer, body := s.send(t, "GET", "/conflict", "")
		if answer.StatusCode != 409 || body != "It is archived.\n" || !strings.HasPrefix(answer.Header.Get("Content-Type"), "text/plain") {
			t.Errorf("%s: %d %q", name, answer.StatusCode, body)
		}
	}
}
