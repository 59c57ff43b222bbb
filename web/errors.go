package web

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"dlo/dlq"
)

// Problem is an error as programs read it (RFC 9457). Kind and RequestID are
// extension members: the kind is what a client should branch on.
type Problem struct {
	Type      string      `json:"type"`
	Title     string      `json:"title"`
	Status    int         `json:"status"`
	Detail    string      `json:"detail"`
	Kind      dlq.Kind    `json:"kind"`
	RequestID string      `json:"request_id,omitempty"`
	Errors    []dlq.Fault `json:"errors,omitempty"`
}

// ErrorPages is how an error looks to people. web decides the status and the
// words, the application how they are shown.
type ErrorPages struct {
	// Page renders a whole page. Nil: the sentence as plain text.
	Page func(c echo.Context, status int, title, sentence, requestID string) templ.Component
	// Toast renders what an htmx request gets instead of its fragment. Nil:
	// the sentence as plain text.
	Toast func(c echo.Context, status int, title, sentence, requestID string) templ.Component
	// ToastTarget is the CSS selector of the element that toasts are appended
	// to, sent as HX-Retarget. htmx 2 swaps answers of 4xx and 5xx only where
	// its responseHandling setting says so.
	ToastTarget string
	// Login is the path of the sign-in page, to which a person whose session
	// has ended is sent. Empty: they get the page of status 401.
	Login string
	// AfterForm is the page to which somebody comes back whose form came after
	// their session had ended, who signs in again; nothing of it is done. Nil:
	// the first page. A fragment's form leads back to the page it stands on.
	AfterForm func(c echo.Context) string
}

// errorHandler is the one place that turns an error into an answer.
type errorHandler struct {
	pages ErrorPages
	log   *slog.Logger
}

// statuses holds the status of every kind; what is missing is 500.
var statuses = map[dlq.Kind]int{
	dlq.KindInvalid:         http.StatusUnprocessableEntity,
	dlq.KindMalformed:       http.StatusBadRequest,
	dlq.KindNotFound:        http.StatusNotFound,
	dlq.KindConflict:        http.StatusConflict,
	dlq.KindUnauthenticated: http.StatusUnauthorized,
	dlq.KindForbidden:       http.StatusForbidden,
	dlq.KindTooLarge:        http.StatusRequestEntityTooLarge,
	dlq.KindUnsupported:     http.StatusUnsupportedMediaType,
	dlq.KindTooMany:         http.StatusTooManyRequests,
	dlq.KindUnavailable:     http.StatusServiceUnavailable,
	dlq.KindGone:            http.StatusGone,
	dlq.KindInternal:        http.StatusInternalServerError,
}

// kindless holds what can be said about a status that has no kind, or where
// the router or the server itself refused.
var kindless = map[int]struct {
	kind     dlq.Kind
	sentence string
}{
	http.StatusBadRequest:            {dlq.KindMalformed, "The request cannot be read."},
	http.StatusUnauthorized:          {dlq.KindUnauthenticated, "Sign in first."},
	http.StatusForbidden:             {dlq.KindForbidden, "This is not allowed."},
	http.StatusNotFound:              {dlq.KindNotFound, "There is nothing at this address."},
	http.StatusMethodNotAllowed:      {"method_not_allowed", "This address does not take requests of this method."},
	http.StatusRequestEntityTooLarge: {dlq.KindTooLarge, "The request is larger than is accepted here."},
	http.StatusUnsupportedMediaType:  {dlq.KindUnsupported, "This content type is not accepted here."},
	http.StatusMisdirectedRequest:    {"misdirected", "This server does not answer under that host name. Start it with --url to name the address that people use."},
	http.StatusTooManyRequests:       {dlq.KindTooMany, "Too many requests. Try again in a moment."},
	http.StatusServiceUnavailable:    {dlq.KindUnavailable, "The server cannot do this just now. Try again in a moment."},
}

// titles are the headings of error pages; a status without one has its
// standard text.
var titles = map[int]string{
	http.StatusBadRequest:            "The request cannot be read",
	http.StatusUnauthorized:          "Sign in first",
	http.StatusForbidden:             "Not allowed",
	http.StatusNotFound:              "Not found",
	http.StatusMethodNotAllowed:      "Not possible here",
	http.StatusConflict:              "This has changed meanwhile",
	http.StatusGone:                  "No longer here",
	http.StatusRequestEntityTooLarge: "Too large",
	http.StatusUnsupportedMediaType:  "Not accepted",
	http.StatusMisdirectedRequest:    "Wrong address",
	http.StatusUnprocessableEntity:   "Something is missing or wrong",
	http.StatusTooManyRequests:       "Slow down",
	http.StatusInternalServerError:   "Something went wrong",
	http.StatusServiceUnavailable:    "Not possible just now",
}

const internalSentence = "The server could not do this, and nothing says that it was done. The reason is in the server's log under the request id."

// failure is an error seen from outside: all that may be said about it.
type failure struct {
	status     int
	kind       dlq.Kind
	sentence   string
	faults     []dlq.Fault
	retryAfter time.Duration
}

// look decides what may be said about an error. Only the sentence of a
// *dlq.Error is meant for people; causes and foreign errors are not.
func look(err error) failure {
	var known *dlq.Error
	if errors.As(err, &known) && statuses[known.Kind] != 0 && known.Kind != dlq.KindInternal {
		f := failure{status: statuses[known.Kind], kind: known.Kind, sentence: known.Message, faults: known.Faults, retryAfter: known.RetryAfter}
		if f.retryAfter <= 0 && (f.kind == dlq.KindTooMany || f.kind == dlq.KindUnavailable) {
			f.retryAfter = time.Second
		}
		return f
	}
	status := http.StatusInternalServerError
	var tooLarge *http.MaxBytesError
	var refused *echo.HTTPError
	switch {
	case known != nil:
	case errors.As(err, &tooLarge):
		status = http.StatusRequestEntityTooLarge
	case errors.As(err, &refused):
		status = refused.Code
	case errors.Is(err, context.DeadlineExceeded):
		status = http.StatusServiceUnavailable
	}
	if status < 500 || status == http.StatusServiceUnavailable {
		f := failure{status: status, kind: kindless[status].kind, sentence: kindless[status].sentence}
		if f.sentence == "" {
			f.kind, f.sentence = dlq.KindMalformed, http.StatusText(status)+"."
		}
		if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
			f.retryAfter = time.Second
		}
		return f
	}
	return failure{status: http.StatusInternalServerError, kind: dlq.KindInternal, sentence: internalSentence}
}

// StatusOf gives the HTTP status of an error.
func StatusOf(err error) int { return look(err).status }

// ProblemOf gives an error as it may be shown to a program; also for one line
// of an answer that has a line for each of many inputs. An internal error's
// text is not in it: log that separately.
func ProblemOf(err error, requestID string) Problem {
	f := look(err)
	return Problem{
		Type: "about:blank", Title: http.StatusText(f.status), Status: f.status, Detail: f.sentence,
		Kind: f.kind, RequestID: requestID, Errors: f.faults,
	}
}

// handle is echo's HTTPErrorHandler.
func (h errorHandler) handle(err error, c echo.Context) {
	if clientGone(err, c) {
		return
	}
	f := look(err)
	h.record(err, f, c)
	if c.Response().Committed {
		// Half an answer must not look like a whole one: the access log
		// middleware cuts the connection once it has written its line.
		c.Set(abortKey, true)
		return
	}
	id := RequestID(c)
	header := c.Response().Header()
	for _, name := range []string{"Content-Disposition", "Content-Encoding", "Content-Length", "ETag", "Last-Modified"} {
		header.Del(name)
	}
	setBaseHeaders(c)
	if f.retryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(int(math.Ceil(f.retryAfter.Seconds()))))
	}
	if allow := header.Get("Allow"); f.status == http.StatusMethodNotAllowed && strings.Contains(allow, http.MethodGet) {
		header.Set("Allow", allow+", "+http.MethodHead)
	}
	if isAPI(c.Request()) {
		h.problem(err, f, c, id)
		return
	}
	header.Add("Vary", "HX-Request")
	if f.kind == dlq.KindUnauthenticated && h.pages.Login != "" && c.Request().URL.Path != h.pages.Login {
		h.toLogin(c)
		return
	}
	h.show(f, c, id)
}

// problem answers a program.
func (h errorHandler) problem(err error, f failure, c echo.Context, id string) {
	if f.status == http.StatusUnauthorized {
		c.Response().Header().Set("WWW-Authenticate", `Bearer realm="api"`)
	}
	h.written(c, writeJSON(c, f.status, "application/problem+json", ProblemOf(err, id)))
}

// toLogin sends a person whose session has ended to the sign-in page and,
// after it, back to where they were. An htmx request gets 401 with
// HX-Redirect, because a redirect would be followed unseen and the sign-in
// page swapped into a corner of the page. After a form the address says
// ended=1, so that the page can say that nothing was done.
func (h errorHandler) toLogin(c echo.Context) {
	r := c.Request()
	form := r.Method != http.MethodGet && r.Method != http.MethodHead
	next := r.URL.RequestURI()
	switch {
	case r.Header.Get("HX-Request") == "true":
		next = pathOf(r.Header.Get("HX-Current-URL"))
	case form && h.pages.AfterForm != nil:
		next = h.pages.AfterForm(c)
	case form:
		next = "/"
	}
	say := url.Values{}
	if form {
		say.Set("ended", "1")
	}
	if next = SafeNext(next); next != "/" {
		say.Set("next", next)
	}
	target := h.pages.Login
	if len(say) > 0 {
		target += "?" + say.Encode()
	}
	if r.Header.Get("HX-Request") == "true" {
		c.Response().Header().Set("HX-Redirect", target)
		h.written(c, c.NoContent(http.StatusUnauthorized))
		return
	}
	h.written(c, c.Redirect(http.StatusSeeOther, target))
}

// show answers a person.
func (h errorHandler) show(f failure, c echo.Context, id string) {
	title := titles[f.status]
	if title == "" {
		title = http.StatusText(f.status)
	}
	looks := h.pages.Page
	if IsFragment(c.Request()) {
		looks = h.pages.Toast
		if looks != nil && h.pages.ToastTarget != "" {
			c.Response().Header().Set("HX-Retarget", h.pages.ToastTarget)
			c.Response().Header().Set("HX-Reswap", "beforeend")
		}
	}
	if looks != nil {
		err := renderSafely(c, f.status, func() templ.Component { return looks(c, f.status, title, f.sentence, id) })
		if err == nil || c.Response().Committed {
			h.written(c, err)
			return
		}
		h.log.ErrorContext(c.Request().Context(), "error page failed", "request_id", id, "error", err.Error())
	}
	text := f.sentence
	if f.status >= 500 {
		text += "\nRequest id: " + id
	}
	h.written(c, c.String(f.status, text+"\n"))
}

// renderSafely keeps an error page that fails from hiding the error: there is
// no other page to fall back on.
func renderSafely(c echo.Context, status int, page func() templ.Component) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &panicError{value: value}
		}
	}()
	return Render(c, status, page())
}

// record logs what the person does not see: internal errors, and the causes
// of others where there is one worth an operator's time.
func (h errorHandler) record(err error, f failure, c echo.Context) {
	level := slog.LevelError
	switch {
	case f.status < 500 && !c.Response().Committed:
		return
	case f.status == http.StatusServiceUnavailable:
		level = slog.LevelWarn
	}
	attrs := []slog.Attr{
		slog.String("request_id", RequestID(c)), slog.String("method", methodOf(c)),
		slog.String("route", c.Path()), slog.String("error", err.Error()),
	}
	var p *panicError
	if errors.As(err, &p) {
		attrs = append(attrs, slog.String("stack", string(p.stack)))
	}
	h.log.LogAttrs(c.Request().Context(), level, "request failed", attrs...)
}

// written notes that even the error answer could not be sent.
func (h errorHandler) written(c echo.Context, err error) {
	if err != nil && !clientGone(err, c) {
		h.log.WarnContext(c.Request().Context(), "answer not sent", "request_id", RequestID(c), "error", err.Error())
	}
}

// clientGone says that nobody waits for the answer any more, which is no fault
// of the server.
func clientGone(err error, c echo.Context) bool {
	return errors.Is(err, context.Canceled) && c.Request().Context().Err() != nil
}

func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "/"
	}
	return u.RequestURI()
}
