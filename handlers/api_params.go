package handlers

import (
	"slices"
	"strings"

	"dlo/dlq"

	"github.com/labstack/echo/v4"
)

// listParams are the calls that list something, each with the parameters that it
// takes; the description of the API has the same, and a test holds the two
// together. A misspelt parameter would list more than was asked for, and whoever
// acts on the answer would not notice.
var listParams = map[string][]string{
	"GET /api/v1/dead-letters":              {"q", "sort", "limit", "cursor"},
	"GET /api/v1/cohorts":                   {"q", "source", "class", "status", "sort", "limit", "cursor"},
	"GET /api/v1/views":                     {},
	"GET /api/v1/operations":                {"limit", "cursor"},
	"GET /api/v1/operations/:id/items":      {"state", "outcome", "limit", "cursor"},
	"GET /api/v1/sources":                   {},
	"GET /api/v1/sources/:name/deployments": {"limit", "cursor"},
	"GET /api/v1/reports/versions":          {"source", "owner", "content", "of", "running", "from", "to"},
	"GET /api/v1/reports/versions.csv":      {"source", "owner", "content", "of", "running", "from", "to"},
	"GET /api/v1/reports/redrives":          {"from", "to"},
	"GET /api/v1/reports/redrives.csv":      {"from", "to"},
	"GET /api/v1/alerts":                    {},
	"GET /api/v1/audit":                     {"limit", "cursor"},
}

const (
	paramsNamed = 10 // of those that are not known
	paramShown  = 60 // characters of a name
)

// knownParams refuses a call with a parameter that it does not take, and says which
// there are.
func knownParams(known []string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			var faults []dlq.Fault
			for _, name := range sortedKeys(c.QueryParams()) {
				if !slices.Contains(known, name) && len(faults) < paramsNamed {
					faults = append(faults, unknownParam(name, known))
				}
			}
			if len(faults) > 0 {
				return dlq.Invalid("the list was not understood", faults...)
			}
			return next(c)
		}
	}
}

func unknownParam(name string, known []string) dlq.Fault {
	detail := "no such parameter; this call takes none"
	if len(known) > 0 {
		detail = "no such parameter; this call takes " + strings.Join(known, ", ")
	}
	if near := dlq.Nearest(name, known); near != "" {
		detail += "; did you mean " + near + "?"
	}
	shownName := shownLine(name, paramShown).String()
	return dlq.Fault{Pointer: "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(shownName), Detail: detail}
}
