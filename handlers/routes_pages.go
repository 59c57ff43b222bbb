package handlers

import (
	"github.com/labstack/echo/v4"

	"dlo/dlq"
	"dlo/web"
)

// pageRoutes are the screens of people, and what their forms post to, a group
// for each screen.
func (h *Handlers) pageRoutes() []route {
	// Somebody who is about to sign in has no session to stand behind, and
	// their form is protected all the same.
	visitor := []echo.MiddlewareFunc{h.Sessions.Middleware, h.Sessions.CSRF}
	secretPath := []echo.MiddlewareFunc{web.HidePath, h.Sessions.Middleware, h.Sessions.CSRF}
	return []route{
		{open, get, "/static/*", "", h.Assets.Serve, nil},
		{open, get, "/favicon.ico", "", h.favicon, nil},
		{open, get, "/", "", h.home, nil},

		{open, get, "/login", "", h.loginPage, visitor},
		{open, post, "/login", "", h.signIn, visitor},
		{session, post, "/logout", dlq.MayNothingButLogin, h.signOut, nil},
		{open, get, "/setup/:token", "", h.setupPage, secretPath},
		{open, post, "/setup/:token", "", h.setUp, secretPath},

		{session, get, "/cohorts", dlq.MaySee, h.cohortsPage, nil},
		{session, get, "/cohorts/fresh", dlq.MaySee, h.cohortsFresh, nil},
		{session, post, "/cohorts/seen", dlq.MaySee, h.cohortsSeen, nil},
		{session, get, "/cohorts/selected/:action", dlq.MaySee, h.cohortsSelected, nil},
		{session, get, "/cohorts/:id", dlq.MaySee, h.cohortPage, nil},
		{session, get, "/cohorts/:id/assign", dlq.MayNote, h.cohortAssignPage, nil},
		{session, post, "/cohorts/:id/assign", dlq.MayNote, h.assignCohortForm, nil},
		{session, post, "/cohorts/:id/notes", dlq.MayNote, h.noteCohortForm, nil},
		{session, get, "/cohorts/:id/fix", dlq.MayDecide, h.cohortFixPage, nil},
		{session, post, "/cohorts/:id/fix", dlq.MayDecide, h.declareFixForm, nil},
		{session, get, "/cohorts/:id/fix/:fix/withdraw", dlq.MayDecide, h.withdrawFixPage, nil},
		{session, post, "/cohorts/:id/fix/:fix/withdraw", dlq.MayDecide, h.withdrawFixForm, nil},
		{session, get, "/cohorts/:id/runbook", dlq.MayEditRunbook, h.cohortRunbook, nil},
		{session, post, "/cohorts/:id/runbook", dlq.MayEditRunbook, h.cohortPutRunbook, nil},
		{session, get, "/cohorts/:id/dispose", dlq.MayNote, h.cohortDisposePage, nil},
		{session, post, "/cohorts/:id/dispose", dlq.MayNote, h.cohortDispose, nil},

		{session, get, "/cohorts/:id/live", dlq.MaySee, h.cohortLive, nil},
		{session, post, "/cohorts/:id/redrive", dlq.MayDecide, h.cohortRedrive, nil},
		{session, get, "/cohorts/:id/grouping", dlq.MaySee, h.cohortGrouping, nil},
		{session, get, "/cohorts/:id/split", dlq.MayDecide, h.cohortSplitPage, nil},
		{session, post, "/cohorts/:id/split", dlq.MayDecide, h.cohortSplitForm, nil},
		{session, get, "/cohorts/:id/merge", dlq.MayDecide, h.cohortMergePage, nil},
		{session, post, "/cohorts/:id/merge", dlq.MayDecide, h.cohortMergeForm, nil},
		{session, post, "/cohorts/:id/undo", dlq.MayDecide, h.cohortUndoForm, nil},

		{session, get, "/entries", dlq.MaySee, h.entriesPage, nil},
		{session, get, "/entries/export.ndjson", dlq.MayExport, h.exportEntries(dlq.ExportNDJSON), nil},
		{session, get, "/entries/export.csv", dlq.MayExport, h.exportEntries(dlq.ExportCSV), nil},
		{session, get, "/search/complete", dlq.MaySee, h.completeSearch, nil},
		{session, get, "/entries/:id", dlq.MaySee, h.entryPage, nil},
		{session, get, "/entries/:id/trace.txt", dlq.MaySee, h.entryTrace, nil},
		{session, get, "/entries/:id/validation.txt", dlq.MaySee, h.entryValidation, nil},
		{session, get, "/entries/:id/preview/image", dlq.MayPreview, h.entryImage, nil},
		// The browser's viewer asks for a PDF without a cookie: the link itself
		// says for whom it was made, and who may not see documents is refused.
		{open, get, "/entries/:id/preview/pdf", "", h.entryPDF, nil},
		{session, get, "/entries/:id/payload", dlq.MayDownload, h.entryPayload, nil},
		{session, post, "/entries/:id/probe", dlq.MayNote, h.entryProbe, nil},
		{session, post, "/entries/:id/notes", dlq.MayNote, h.entryNote, nil},
		{session, get, "/entries/:id/dispose", dlq.MayNote, h.entryDisposePage, nil},
		{session, post, "/entries/:id/dispose", dlq.MayNote, h.entryDispose, nil},

		{session, get, "/views", dlq.MaySee, h.viewsPage, nil},
		{session, post, "/views", dlq.MayNote, h.viewSave, nil},
		{session, get, "/views/:id", dlq.MaySee, h.viewOpen, nil},
		{session, post, "/views/:id", dlq.MayNote, h.viewChange, nil},
		{session, post, "/views/:id/delete", dlq.MayNote, h.viewDelete, nil},

		// Who may only look sees the confirmation, to hand its address over.
		{session, get, "/confirm", dlq.MaySee, h.confirmPage, nil},
		{session, post, "/confirm", dlq.MaySee, h.confirmPage, nil},
		{session, get, "/confirm/:action", dlq.MaySee, h.confirmPage, nil},
		{session, post, "/confirm/do", dlq.MayNote, h.confirmDo, nil},
		{session, post, "/confirm/ask", dlq.MayNote, h.confirmAsk, nil},

		{session, get, "/operations", dlq.MaySee, h.operationsPage, nil},
		{session, get, "/operations/:id", dlq.MaySee, h.operationPage, nil},
		{session, get, "/operations/:id/live", dlq.MaySee, h.operationLive, nil},
		{session, post, "/operations/:id/next", dlq.MayDecide, h.operationNext, nil},
		{session, post, "/operations/:id/go-on", dlq.MayDecide, h.operationGoOn, nil},
		{session, post, "/operations/:id/pause", dlq.MayNote, h.operationMove(dlq.OperationPaused), nil},
		{session, post, "/operations/:id/resume", dlq.MayNote, h.operationMove(dlq.OperationRunning), nil},
		{session, post, "/operations/:id/cancel", dlq.MayNote, h.operationMove(dlq.OperationCancelled), nil},
		{session, post, "/pause", dlq.MayPause, h.everythingPause(true), nil},
		{session, post, "/resume", dlq.MayPause, h.everythingPause(false), nil},

		{session, get, "/quarantine", dlq.MaySee, h.quarantinePage, nil},

		{session, get, "/sources", dlq.MaySee, h.sourcesPage, nil},
		{session, get, "/sources/:name", dlq.MaySee, h.sourcePage, nil},
		{session, get, "/sources/:name/policy", dlq.MaySetPolicy, h.sourcePolicy, nil},
		{session, post, "/sources/:name/policy", dlq.MaySetPolicy, h.sourcePutPolicy, nil},
		{session, get, "/sources/:name/outcomes", dlq.MaySetPolicy, h.sourceOutcomesPage, nil},
		{session, post, "/sources/:name/outcomes", dlq.MaySetPolicy, h.sourceOutcomes, nil},
		{session, post, "/sources/:name/deployments", dlq.MaySetPolicy, h.sourceDeployment, nil},
		{session, get, "/sources/:name/runbook", dlq.MayEditRunbook, h.sourceRunbook, nil},
		{session, post, "/sources/:name/runbook", dlq.MayEditRunbook, h.sourcePutRunbook, nil},
		{session, post, "/sources/:name/secret/end", dlq.MaySetPolicy, h.sourceEndOverlap, nil},
		{session, post, "/sources/:name/pause", dlq.MayPause, h.sourcePause(true), nil},
		{session, post, "/sources/:name/resume", dlq.MayPause, h.sourcePause(false), nil},

		{session, get, "/reports", dlq.MaySee, h.reportsPage, nil},
		{session, get, "/reports/versions", dlq.MaySee, h.versionReportPage, nil},
		{session, get, "/reports/versions.csv", dlq.MaySee, h.versionReportCSV, nil},
		{session, get, "/reports/redrives", dlq.MaySee, h.redriveReportPage, nil},
		{session, get, "/reports/redrives.csv", dlq.MaySee, h.redriveReportCSV, nil},

		{session, get, "/alerts", dlq.MaySee, h.alertsPage, nil},
		{session, post, "/alerts/:id/acknowledge", dlq.MayPause, h.alertAcknowledge, nil},
		{session, get, "/audit", dlq.MayAudit, h.auditPage, nil},

		{session, get, "/settings/users", dlq.MayManageAccess, h.usersPage, nil},
		{session, post, "/settings/users", dlq.MayManageAccess, h.userAdd, nil},
		{session, post, "/settings/users/:id", dlq.MayManageAccess, h.userChange, nil},
		{session, post, "/settings/users/:id/password", dlq.MayManageAccess, h.userPassword, nil},
		{session, post, "/settings/users/:id/disable", dlq.MayManageAccess, h.userDisable, nil},
		{session, post, "/settings/users/:id/enable", dlq.MayManageAccess, h.userEnable, nil},
		{session, post, "/settings/users/:id/signout", dlq.MayManageAccess, h.userSignOut, nil},
		{session, get, "/settings/tokens", dlq.MayManageAccess, h.tokensPage, nil},
		{session, post, "/settings/tokens", dlq.MayManageAccess, h.tokenAdd, nil},
		{session, post, "/settings/tokens/:id/revoke", dlq.MayManageAccess, h.tokenRevoke, nil},
	}
}
