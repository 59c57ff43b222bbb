package handlers

import (
	"net/http"
	"net/url"

	"dlo/dlq"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// door says how a request to a route shows who makes it.
type door string

// The doors.
const (
	open    door = "open"    // nobody needs to be known
	session door = "session" // a person who is signed in, with a cookie
	token   door = "token"   // a program, with a bearer token
	signed  door = "signed"  // a program, with a bearer token or the signature of a redrive's source
)

// route is one line of the tables below: who may call what. A route that is in
// no table does not exist.
type route struct {
	door   door
	method string
	path   string
	may    dlq.Permission // "" only where the door is open
	handle echo.HandlerFunc
	more   []echo.MiddlewareFunc
}

// Register puts every route behind its door.
func (h *Handlers) Register(e *echo.Echo, tokens web.TokenLookup) {
	bearer := web.Bearer(tokens, h.Now)
	if h.Live == nil {
		h.Live = NewLive(h.Store)
	}
	for _, r := range h.routes() {
		chain := []echo.MiddlewareFunc{plainParams}
		switch r.door {
		case session:
			chain = append(chain, h.Sessions.Middleware)
		case token:
			chain = append(chain, bearer)
		case signed:
			chain = append(chain, h.tokenOrSignature(bearer))
		}
		if r.may != "" {
			chain = append(chain, web.Require(r.may))
		}
		if known, list := listParams[r.method+" "+r.path]; list {
			chain = append(chain, knownParams(known)) // after Require: who may not ask is told that first
		}
		if r.door == session {
			// After Require: a form without any session is told to sign in, and
			// not that its page is out of date.
			chain = append(chain, h.Sessions.CSRF)
		}
		e.Add(r.method, r.path, r.handle, append(chain, r.more...)...)
	}
}

// plainParams takes the percent-encoding out of the path's parameters. echo
// routes by the path as it was written and hands out its parts like that, so
// that whoever writes the colon of a fingerprint as %3A would find nothing.
func plainParams(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().URL.RawPath == "" {
			return next(c) // there is nothing that could be written in two ways
		}
		values := c.ParamValues()
		for i, v := range values {
			plain, err := url.PathUnescape(v)
			if err != nil {
				return dlq.Errorf(dlq.KindNotFound, "there is nothing at this address").Because(err)
			}
			values[i] = plain
		}
		c.SetParamValues(values...)
		return next(c)
	}
}

func (h *Handlers) routes() []route {
	return append(h.apiRoutes(), h.pageRoutes()...)
}

const (
	get  = http.MethodGet
	post = http.MethodPost
	put  = http.MethodPut
)

// apiRoutes are the calls of programs.
func (h *Handlers) apiRoutes() []route {
	// A letter's body is an envelope, a batch, or an envelope and its payload
	// with what multipart puts round them; the handler knows which.
	parts := h.MaxFetch + dlq.MaxEnvelope + 1<<20
	letter := []echo.MiddlewareFunc{web.AllowBody(max(parts, dlq.MaxBatch))}
	bytes := []echo.MiddlewareFunc{web.AllowBody(parts)}
	batch := []echo.MiddlewareFunc{web.AllowBody(dlq.MaxBatch)}
	return []route{
		{open, get, "/healthz", "", h.healthz, nil},
		{open, get, "/readyz", "", h.readyz, nil},
		{open, get, "/api/v1/openapi.yaml", "", h.openAPI, nil},

		{token, post, "/api/v1/dead-letters", dlq.MayPark, h.park, letter},
		{token, put, "/api/v1/payloads/:sha256", dlq.MayPark, h.putPayload, bytes},
		{open, get, "/api/v1/payloads/:sha256", "", h.linkedPayload, []echo.MiddlewareFunc{web.HidePath}},
		{token, get, "/api/v1/dead-letters/lookup", dlq.MayPark, h.lookup, nil},
		{token, post, "/api/v1/dead-letters/lookup", dlq.MayPark, h.lookupBatch, nil},
		{signed, post, "/api/v1/outcomes", dlq.MayReport, h.outcomes, batch},
		{token, post, "/api/v1/deployments", dlq.MayReport, h.deployment, nil},

		{token, get, "/api/v1/dead-letters", dlq.MaySee, h.listEntries, nil},
		{token, get, "/api/v1/dead-letters/:id", dlq.MaySee, h.showEntry, nil},
		{token, get, "/api/v1/dead-letters/:id/payload", dlq.MayDownload, h.entryPayload, nil},
		{token, post, "/api/v1/dead-letters/:id/probe", dlq.MayNote, h.probeEntry, nil},
		{token, post, "/api/v1/dead-letters/:id/quarantine", dlq.MayDecide, h.act(dlq.OperationQuarantine), nil},
		{token, post, "/api/v1/dead-letters/:id/release", dlq.MayDecide, h.act(dlq.OperationRelease), nil},
		{token, post, "/api/v1/dead-letters/:id/extend", dlq.MayDecide, h.act(dlq.OperationExtend), nil},
		{token, post, "/api/v1/dead-letters/:id/archive", dlq.MayDecide, h.act(dlq.OperationArchive), nil},
		{token, post, "/api/v1/dead-letters/:id/restore", dlq.MayDecide, h.act(dlq.OperationRestore), nil},
		{token, post, "/api/v1/dead-letters/:id/assign", dlq.MayNote, h.assignEntry, nil},
		{token, post, "/api/v1/dead-letters/:id/notes", dlq.MayNote, h.noteEntry, nil},
		{token, post, "/api/v1/dead-letters/:id/dispose", dlq.MayNote, h.disposeEntry, nil},

		{token, get, "/api/v1/cohorts", dlq.MaySee, h.listCohorts, nil},
		{token, get, "/api/v1/cohorts/:id", dlq.MaySee, h.showCohort, nil},
		{token, post, "/api/v1/cohorts/:id/assign", dlq.MayNote, h.assignCohort, nil},
		{token, post, "/api/v1/cohorts/:id/notes", dlq.MayNote, h.noteCohort, nil},
		{token, get, "/api/v1/cohorts/:id/fix", dlq.MaySee, h.listFixes, nil},
		{token, post, "/api/v1/cohorts/:id/fix", dlq.MayDecide, h.declareFix, nil},
		{token, post, "/api/v1/cohorts/:id/fix/:fix/withdraw", dlq.MayDecide, h.withdrawFix, nil},
		{token, post, "/api/v1/cohorts/:id/dispose", dlq.MayNote, h.disposeCohort, nil},
		{token, post, "/api/v1/cohorts/:id/merge", dlq.MayDecide, h.mergeCohorts, nil},
		{token, post, "/api/v1/cohorts/:id/split", dlq.MayDecide, h.splitCohort, nil},
		{token, post, "/api/v1/cohorts/:id/undo", dlq.MayDecide, h.undoGrouping, nil},
		{token, post, "/api/v1/fingerprints", dlq.MayExplain, h.explainFingerprint, nil},
		{token, post, "/api/v1/evidence", dlq.MayExplain, h.explainEvidence, nil},

		{token, get, "/api/v1/views", dlq.MaySee, h.listViews, nil},
		{token, post, "/api/v1/views", dlq.MayNote, h.createView, nil},
		{token, http.MethodDelete, "/api/v1/views/:id", dlq.MayNote, h.deleteView, nil},

		{token, post, "/api/v1/redrives", dlq.MayDecide, h.redrive, nil},
		{token, post, "/api/v1/operations", dlq.MayNote, h.startOperation, nil},
		{token, get, "/api/v1/operations", dlq.MaySee, h.listOperations, nil},
		{token, get, "/api/v1/operations/:id", dlq.MaySee, h.showOperation, nil},
		{token, get, "/api/v1/operations/:id/items", dlq.MaySee, h.listItems, nil},
		{token, post, "/api/v1/operations/:id/pause", dlq.MayNote, h.moveOperation(dlq.OperationPaused), nil},
		{token, post, "/api/v1/operations/:id/resume", dlq.MayNote, h.moveOperation(dlq.OperationRunning), nil},
		{token, post, "/api/v1/operations/:id/next", dlq.MayDecide, h.nextStep, nil},
		{token, post, "/api/v1/operations/:id/go-on", dlq.MayDecide, h.goOn, nil},
		{token, post, "/api/v1/operations/:id/cancel", dlq.MayNote, h.moveOperation(dlq.OperationCancelled), nil},
		{token, post, "/api/v1/pause", dlq.MayPause, h.pauseAll, nil},
		{token, post, "/api/v1/resume", dlq.MayPause, h.resumeAll, nil},

		{token, get, "/api/v1/sources", dlq.MaySee, h.listSources, nil},
		{token, get, "/api/v1/sources/:name", dlq.MaySee, h.showSource, nil},
		{token, get, "/api/v1/sources/:name/deployments", dlq.MaySee, h.listDeployments, nil},
		{token, put, "/api/v1/sources/:name", dlq.MaySetPolicy, h.putSource, nil},
		{token, post, "/api/v1/sources/:name/secret/end", dlq.MaySetPolicy, h.endOverlap, nil},
		{token, post, "/api/v1/sources/:name/pause", dlq.MayPause, h.pauseSource(true), nil},
		{token, post, "/api/v1/sources/:name/resume", dlq.MayPause, h.pauseSource(false), nil},
		{token, get, "/api/v1/reports/versions", dlq.MaySee, h.versionReport, nil},
		{token, get, "/api/v1/reports/versions.csv", dlq.MaySee, h.versionReportCSV, nil},
		{token, get, "/api/v1/reports/redrives", dlq.MaySee, h.redriveReport, nil},
		{token, get, "/api/v1/reports/redrives.csv", dlq.MaySee, h.redriveReportCSV, nil},
		{token, get, "/api/v1/alerts", dlq.MaySee, h.listAlerts, nil},
		{token, get, "/api/v1/audit", dlq.MayAudit, h.listAudit, nil},
	}
}
