package handlers

import (
	"net/http"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"dlo/views/components"
	"dlo/views/problem"
	"dlo/web"
)

// ErrorPages is how an error looks to people. The pages ask the store nothing,
// because the store may be what is at fault; so they stand without the rail.
func ErrorPages() web.ErrorPages {
	return web.ErrorPages{
		Page: func(c echo.Context, status int, title, sentence, requestID string) templ.Component {
			return problem.Page(newProblem(c.Request().Method, status, title, sentence, requestID))
		},
		Toast: func(c echo.Context, status int, title, sentence, requestID string) templ.Component {
			return problem.Toast(newProblem(c.Request().Method, status, title, sentence, requestID))
		},
		ToastTarget: "#toast",
		Login:       "/login",
		AfterForm:   afterForm,
	}
}

// newProblem is an error as a page: what happened, what was kept, what to do.
func newProblem(method string, status int, title, text, requestID string) problem.Model {
	m := problem.Model{Status: status, Title: title, Sentence: sentence("%s", text), RequestID: requestID}
	if method != http.MethodGet && method != http.MethodHead && status < 500 {
		m.Kept = "Nothing was changed."
	}
	switch status {
	case http.StatusUnauthorized:
		m.Links = []components.Link{{Text: "Sign in", Href: "/login"}}
	case http.StatusNotFound:
		m.Links = []components.Link{{Text: "Search the documents", Href: "/entries"}, {Text: "To the cohorts", Href: "/cohorts"}}
	}
	return m
}
