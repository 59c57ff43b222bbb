package handlers

import (
	"github.com/labstack/echo/v4"

	"dlo/dlq"
	"dlo/web"
)

// pageRoutesA are the ways in, the cohorts and the list of documents.
func (h *Handlers) pageRoutesA() []route {
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
		{session, get, "/cohorts/selected/:action", dlq.MaySee, h.cohortsSelected, nil},
		{session, get, "/cohorts/:id", dlq.MaySee, h.cohortPage, nil},
		{session, get, "/cohorts/:id/assign", dlq.MayNote, h.cohortAssignPage, nil},
		{session, post, "/cohorts/:id/assign", dlq.MayNote, h.assignCohortForm, nil},
		{session, post, "/cohorts/:id/notes", dlq.MayNote, h.noteCohortForm, nil},

		{session, get, "/entries", dlq.MaySee, h.entriesPage, nil},
		// The browser's viewer asks for a PDF without a cookie: the link itself
		// says for whom it was made, and who may not see documents is refused.
		{open, get, "/entries/:id/preview/pdf", "", h.entryPDF, nil},
	}
}
