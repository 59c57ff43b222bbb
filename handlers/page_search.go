package handlers

import (
	"context"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
	"dlo/views/search"
	"dlo/web"
)

// choicesMost is how many choices a list has.
const choicesMost = 12

// completeSearch offers what can stand where the caret is. It answers an empty
// list to what it cannot help with: nobody asked for an error.
func (h *Handlers) completeSearch(c echo.Context) error {
	by, _ := web.ActorOf(c)
	text := c.QueryParam("q")
	caret, ok := caretOf(text, c.QueryParam("at"))
	completing, known := dlq.CompleteAt(text, caret)
	if !ok || !known {
		return web.Render(c, http.StatusOK, search.List(search.Model{}))
	}
	values, err := h.completions(c.Request().Context(), by, completing)
	if err != nil {
		return err
	}
	m := newChoices(text, completing, values)
	if len(m.Options) == 0 && completing.Key != "" && completing.Part != "" {
		unknown, err := h.unknownIn(c.Request().Context(), by, completing.Key+":"+dlq.QuoteValue(completing.Part))
		if err != nil {
			return err
		}
		m = newUnknownChoice(text, completing, unknown, by)
	}
	return web.Render(c, http.StatusOK, search.List(m))
}

// completion is a known value with what is said of it.
type completion struct{ value, hint string }

// completions are the known values that what was typed may become.
func (h *Handlers) completions(ctx context.Context, by dlq.Actor, at dlq.Completing) ([]completion, error) {
	switch at.Key {
	case "operation":
		return h.operationChoices(ctx, by, at.Part)
	case "cohort":
		return h.cohortChoices(ctx, by, at.Part)
	}
	out := fixedChoices(at, h.Now())
	values, err := h.Store.QueryValues(ctx, by, at.Key, at.Part, choicesMost)
	for _, v := range values {
		out = append(out, completion{value: v})
	}
	return out, err
}

func (h *Handlers) operationChoices(ctx context.Context, by dlq.Actor, part string) ([]completion, error) {
	list, err := h.Store.Operations(ctx, "", 50)
	if err != nil {
		return nil, err
	}
	if list, err = h.visibleOperations(ctx, by, list); err != nil {
		return nil, err
	}
	var out []completion
	for _, o := range list {
		if beginsWith(o.ID, part) {
			out = append(out, completion{o.ID, string(o.Kind) + " of " + dateOf(o.CreatedAt)})
		}
	}
	return out, nil
}

// cohortChoices offers cohorts by what they are called, or by their id.
func (h *Handlers) cohortChoices(ctx context.Context, by dlq.Actor, part string) ([]completion, error) {
	list, _, err := h.Store.Cohorts(ctx, by, dlq.CohortQuery{Words: wordsOf(part)}, "", choicesMost)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 && len(part) > 3 {
		if list, _, err = h.Store.Cohorts(ctx, by, dlq.CohortQuery{}, "", pageRows); err != nil {
			return nil, err
		}
	}
	var out []completion
	for _, c := range list {
		named := len(list) <= choicesMost || beginsWith(c.ID, part)
		for _, fingerprint := range c.Fingerprints {
			named = named || beginsWith(fingerprint, part)
		}
		if named {
			out = append(out, completion{c.ID, shownLine(c.ErrorType+" "+c.Template, 80).String()})
		}
	}
	return out, nil
}

// caretOf reads where the caret stands, which browsers count in UTF-16 units, as
// a place in the text's bytes. Without a number it stands at the end.
func caretOf(text, at string) (int, bool) {
	if len(text) > maxSearch {
		return 0, false
	}
	units, err := strconv.Atoi(at)
	if err != nil {
		return len(text), at == ""
	}
	for i, r := range text {
		if units <= 0 {
			return i, true
		}
		units -= utf16Units(r)
	}
	return len(text), true
}
