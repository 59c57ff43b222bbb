package handlers

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"dlo/dlq"
	"dlo/dlq/redrive"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// choice is what somebody is about to do, and to what: documents by id, or all
// that match a query.
type choice struct {
	action dlq.OperationKind
	ids    []string
	query  string
	expect int64 // how many the person saw; redrive.NotSaid where they saw no number
	back   string

	mode          dlq.Mode
	acceptUnknown bool
	grant         dlq.Grant
	days          int
	owner, ticket string
	reason        string
	decided       decidedForm // of a disposition
}

// single says that the choice is one document.
func (c choice) single() bool { return len(c.ids) == 1 }

// readChoice reads a choice from an address or a form. A list's bar sends its
// boxes as id, and beside them always the list's query: the query counts where
// it was asked for, with all=1, or where a link names it alone. A bar of which
// no box is ticked means nothing, and never everything.
func readChoice(c echo.Context) (choice, error) {
	form, err := c.FormParams() // of the address too; see http.Request.Form
	if err != nil {
		return choice{}, dlq.Errorf(dlq.KindMalformed, "the form could not be read; nothing was done").Because(err)
	}
	out := choice{action: dlq.OperationKind(c.Param("action")), back: web.SafeNext(form.Get("back")), expect: redrive.NotSaid,
		mode: dlq.Mode(form.Get("mode")), acceptUnknown: form.Get("accept_unknown") == "1", grant: dlq.Grant(form.Get("grant")),
		owner: strings.TrimSpace(form.Get("owner")), ticket: strings.TrimSpace(form.Get("ticket")), reason: strings.TrimSpace(form.Get("reason"))}
	out.decided = readDecided(form)
	fromBar := out.action != ""
	if out.action == "" {
		out.action = dlq.OperationKind(form.Get("action"))
	}
	if !out.action.Valid() {
		return out, dlq.Errorf(dlq.KindNotFound, "there is no such action")
	}
	if out.mode != "" && !out.mode.Valid() {
		return out, dlq.Invalid("the choice was not understood", dlq.Fault{Pointer: "/mode", Detail: "auto, held or source expected"})
	}
	ids := slices.DeleteFunc(slices.Clone(form["id"]), func(id string) bool { return id == "" })
	slices.Sort(ids)
	ids = slices.Compact(ids)
	query := strings.TrimSpace(form.Get("q"))
	everything := form.Get("all") == "1"
	switch {
	case len(ids) > 0 && !everything:
		out.ids = ids
	case query != "" && (everything || !fromBar || form.Get("expect") == ""):
		out.query = query
	case query != "" || fromBar:
		return out, dlq.Errorf(dlq.KindInvalid, "nothing is selected: tick the documents, or choose all that match; nothing was done")
	default:
		return out, dlq.Errorf(dlq.KindInvalid, "nothing was chosen; nothing was done")
	}
	if s := form.Get("expect"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 0 {
			return out, dlq.Invalid("the choice was not understood", dlq.Fault{Pointer: "/expect", Detail: "a number of documents expected"})
		}
		out.expect = n
	}
	if len(out.ids) > 0 {
		out.expect = int64(len(out.ids))
	}
	if s := form.Get("days"); s != "" {
		// What is no number of days stays 0, and is refused where it is needed.
		out.days, _ = strconv.Atoi(s)
	}
	return out, nil
}

// values are the choice as fields of a form, or as the query of an address that
// can be handed over.
func (c choice) values() url.Values {
	v := url.Values{"action": {string(c.action)}, "back": {c.back}}
	for _, id := range c.ids {
		v.Add("id", id)
	}
	if c.query != "" {
		v.Set("q", c.query)
	}
	if c.mode != "" {
		v.Set("mode", string(c.mode))
	}
	if c.grant != "" {
		v.Set("grant", string(c.grant))
	}
	maps.Copy(v, c.markFields())
	return v
}

// href is the page that confirms the choice.
func (c choice) href() string { return "/confirm?" + c.values().Encode() }

// list is the documents behind the number; empty where they were named one by
// one.
func (c choice) list() string {
	if c.query == "" {
		return ""
	}
	return entriesHref(c.query)
}

// request is the choice as an operation's request.
func (c choice) request() redrive.Request {
	r := redrive.Request{Kind: c.action, Entries: c.ids, Query: c.query, Expect: c.expect, Reason: c.reason, Days: c.days, Grant: c.grant, GoOn: true}
	if c.action == dlq.OperationRedrive {
		r.Mode, r.AcceptUnknown = c.mode, c.acceptUnknown
	}
	c.mark(&r)
	return r
}

// permission is what doing it needs.
func (c choice) permission() dlq.Permission { return c.action.Needs() }
