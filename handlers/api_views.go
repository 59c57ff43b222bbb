package handlers

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"dlo/dlq"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// apiView is a saved view.
type apiView struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	List    string            `json:"list"`
	Query   string            `json:"query"`
	Sort    string            `json:"sort"`
	Filters map[string]string `json:"filters"`
	Shared  bool              `json:"shared"`
	Mine    bool              `json:"mine"`
	Owner   string            `json:"owner"`
	Fault   string            `json:"fault,omitempty"` // what of it cannot be answered any more
	URL     string            `json:"url"`
}

func (h *Handlers) newAPIView(v dlq.SavedView, by dlq.Actor, known func(string) bool) apiView {
	a := apiView{ID: v.ID, Name: v.Name, List: string(v.List), Filters: map[string]string{}, Shared: v.Shared, Mine: v.Mine(by), Owner: v.OwnerName, Fault: v.ViewFault(known),
		URL: strings.TrimSuffix(h.PublicURL.String(), "/") + viewHref(v.ID)}
	values, err := url.ParseQuery(v.Search)
	if err != nil {
		return a
	}
	for name := range values {
		switch name {
		case "q":
			a.Query = values.Get(name)
		case "sort":
			a.Sort = values.Get(name)
		default:
			a.Filters[name] = values.Get(name)
		}
	}
	return a
}

// listViews is GET /views: own ones first, then those that others share.
func (h *Handlers) listViews(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ctx := c.Request().Context()
	own, shared, err := h.Store.SavedViews(ctx, by)
	if err != nil {
		return err
	}
	known, err := h.sourceIsKnown(ctx, by)
	if err != nil {
		return err
	}
	rows := []apiView{}
	for _, v := range slices.Concat(own, shared) {
		rows = append(rows, h.newAPIView(v, by, known))
	}
	return web.JSON(c, http.StatusOK, listAnswer{rows, ""})
}

// createView is POST /views.
func (h *Handlers) createView(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ctx := c.Request().Context()
	var body struct {
		Name    string            `json:"name"`
		List    string            `json:"list"`
		Query   string            `json:"query"`
		Sort    string            `json:"sort"`
		Filters map[string]string `json:"filters"`
		Shared  bool              `json:"shared"`
	}
	if err := web.ReadJSON(c, &body); err != nil {
		return err
	}
	if body.List == "" {
		body.List = string(dlq.ViewOfDocuments)
	}
	values := url.Values{}
	for name, value := range body.Filters {
		values.Set(name, value)
	}
	if body.Query != "" || body.List == string(dlq.ViewOfDocuments) {
		if _, bad := dlq.ParseQuery(body.Query); len(bad) > 0 {
			return dlq.QueryError(bad)
		}
		values.Set("q", body.Query)
	}
	if body.Sort != "" {
		values.Set("sort", body.Sort)
	}
	v, err := h.Store.SaveView(ctx, by, dlq.SavedView{List: dlq.ViewList(body.List), Name: body.Name, Search: values.Encode(), Shared: body.Shared})
	if err != nil {
		return err
	}
	known, err := h.sourceIsKnown(ctx, by)
	if err != nil {
		return err
	}
	return web.JSON(c, http.StatusCreated, h.newAPIView(v, by, known))
}

// deleteView is DELETE /views/{id}.
func (h *Handlers) deleteView(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ctx := c.Request().Context()
	v, err := h.Store.SavedView(ctx, by, c.Param("id"))
	if err != nil {
		return err
	}
	known, err := h.sourceIsKnown(ctx, by)
	if err != nil {
		return err
	}
	if err := h.Store.DeleteView(ctx, by, v.ID); err != nil {
		return err
	}
	return web.JSON(c, http.StatusOK, h.newAPIView(v, by, known))
}
