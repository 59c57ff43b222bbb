package handlers

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"dlo/dlq"
	"dlo/views/components"
	"dlo/views/confirm"
	"dlo/views/saved"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// viewsPage is GET /views: what somebody keeps, and what others share.
func (h *Handlers) viewsPage(c echo.Context) error {
	return h.showViews(c, http.StatusOK, refusedView{})
}

func (h *Handlers) showViews(c echo.Context, status int, saving refusedView) error {
	f, err := h.readViews(c)
	if err != nil {
		return err
	}
	frame, err := h.layout(c, "Views", "")
	if err != nil {
		return err
	}
	f.csrf, f.saving = frame.CSRF, saving
	m := newViewsPage(frame, f)
	return web.RenderPage(c, status, saved.Page(m), saved.Page(m))
}

// readViews reads the views of the viewer, and which sources they may know of.
func (h *Handlers) readViews(c echo.Context) (viewsFacts, error) {
	by, _ := web.ActorOf(c)
	f := viewsFacts{by: by}
	var err error
	if f.own, f.shared, err = h.Store.SavedViews(c.Request().Context(), by); err != nil {
		return f, err
	}
	f.known, err = h.sourceIsKnown(c.Request().Context(), by)
	return f, err
}

func (h *Handlers) sourceIsKnown(ctx context.Context, by dlq.Actor) (func(string) bool, error) {
	known, err := h.sourcesFor(ctx, by, nil)
	return func(name string) bool {
		_, is := known.byName[name]
		return is
	}, err
}

// viewsMenu is the menu beside a list, for the page that shows it.
func (h *Handlers) viewsMenu(c echo.Context, list dlq.ViewList) (components.Views, error) {
	f, err := h.readViews(c)
	if err != nil {
		return components.Views{}, err
	}
	f.csrf = h.Sessions.CSRFToken(c)
	// What is too long to be kept is still shown; saving it says why not.
	if f.search, err = dlq.NormalSearch(c.QueryParams().Encode()); err != nil {
		f.search = c.QueryParams().Encode()
	}
	if id := c.QueryParam("view"); id != "" {
		for _, v := range slices.Concat(f.own, f.shared) {
			if v.ID == id && v.List == list {
				f.open = &v
				break
			}
		}
	}
	return newViewsMenu(f, list), nil
}

// viewOpen is GET /views/{id}: it leads to the list with the view's search.
func (h *Handlers) viewOpen(c echo.Context) error {
	by, _ := web.ActorOf(c)
	v, err := h.Store.SavedView(c.Request().Context(), by, c.Param("id"))
	if err != nil {
		return err
	}
	return c.Redirect(http.StatusFound, viewTarget(v))
}

// viewSave is POST /views: it keeps the search of a list under a name. Where the
// name is taken, it asks whether that view shall be replaced.
func (h *Handlers) viewSave(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ctx, r := c.Request().Context(), c.Request()
	v := dlq.SavedView{List: dlq.ViewList(r.PostFormValue("list")), Name: r.PostFormValue("name"), Search: r.PostFormValue("search"), Shared: r.PostFormValue("shared") == "1"}
	own, _, err := h.Store.SavedViews(ctx, by)
	if err != nil {
		return err
	}
	said := "The view is saved."
	kept, taken := ownOfName(own, v.Name)
	if taken && kept.List == v.List && r.PostFormValue("replace") == kept.ID {
		v.ID, said = kept.ID, "The view is replaced."
		v, err = h.Store.ChangeView(ctx, by, v)
	} else {
		v, err = h.Store.SaveView(ctx, by, v)
	}
	switch dlq.KindOf(err) {
	case "":
	case dlq.KindInvalid, dlq.KindConflict:
		return h.showViewSave(c, v, kept, err)
	default:
		return err
	}
	if err := web.AddFlash(c, web.Flash{Tone: "good", Text: said, LinkText: "All views", Link: "/views"}); err != nil {
		return err
	}
	return web.Redirect(c, viewTarget(v))
}

// showViewSave asks again for what could not be saved.
func (h *Handlers) showViewSave(c echo.Context, v, kept dlq.SavedView, refusal error) error {
	frame, err := h.layout(c, "Save a view", "", components.Link{Text: "Views", Href: "/views"})
	if err != nil {
		return err
	}
	faults, said := faultsOf(refusal)
	switch {
	case faultAt(faults, "/name") != "":
		said = ""
	case len(faults) > 0:
		said = sentence("%s", faults[0].Detail)
	}
	back := "/cohorts"
	if v.List.Valid() {
		search, err := dlq.NormalSearch(v.Search)
		if err != nil {
			search = ""
		}
		back = viewListPaths[v.List] + "?" + search
	}
	form := components.Form{ID: "save-view", CSRF: frame.CSRF, Action: "/views", Submit: "Save", Tone: components.Primary, Error: said,
		Fields: []components.Field{{Name: "list", Value: string(v.List)}, {Name: "search", Value: v.Search}},
		Inputs: []components.Input{
			{Name: "name", Label: "Name", Value: web.VisibleText(v.Name), Required: true, Autofocus: true, Autocomplete: "off", Error: faultAt(faults, "/name")},
			{Name: "shared", Label: "Share it", Kind: components.InputCheck, Value: "1", On: v.Shared, Hint: "Everybody who signs in is told its name and its search."},
		}}
	if kept.ID != "" && kept.List == v.List && dlq.KindOf(refusal) == dlq.KindConflict {
		form.Inputs = append(form.Inputs, components.Input{Name: "replace", Label: "Replace the view of this name", Kind: components.InputCheck, Value: kept.ID, Hint: "Its search becomes the one that you saw."})
	}
	m := confirm.Model{Layout: frame, Title: "Save a view", Lead: "Nothing was saved yet.", Cancel: components.Link{Text: "Back to the list", Href: back}, Form: &form}
	return web.RenderPage(c, web.StatusOf(refusal), confirm.Page(m), confirm.Region(m))
}

// viewChange is POST /views/{id}: a new name, shared or not, and of documents
// another search.
func (h *Handlers) viewChange(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ctx, r := c.Request().Context(), c.Request()
	v, err := h.Store.SavedView(ctx, by, c.Param("id"))
	if err != nil {
		return err
	}
	sent := refusedView{id: v.ID, name: r.PostFormValue("name"), query: r.PostFormValue("q"), shared: r.PostFormValue("shared") == "1"}
	v.Name, v.Shared = sent.name, sent.shared
	if v.List == dlq.ViewOfDocuments && r.PostForm.Has("q") {
		values, err := url.ParseQuery(v.Search)
		if err != nil {
			values = url.Values{}
		}
		values.Set("q", sent.query)
		v.Search = values.Encode()
		if _, bad := dlq.ParseQuery(sent.query); len(bad) > 0 {
			sent.err = dlq.Invalid("the view was not saved", dlq.Fault{Pointer: "/query", Detail: "“" + web.VisibleText(bad[0].Term) + "” was not understood: " + bad[0].Expected + " expected"})
			return h.showViews(c, http.StatusUnprocessableEntity, sent)
		}
	}
	_, err = h.Store.ChangeView(ctx, by, v)
	switch dlq.KindOf(err) {
	case "":
		return leadBack(c, "/views", web.Flash{Tone: "good", Text: "The view is saved."})
	case dlq.KindInvalid, dlq.KindConflict:
		sent.err = err
		return h.showViews(c, web.StatusOf(err), sent)
	}
	return err
}

// viewDelete is POST /views/{id}/delete.
func (h *Handlers) viewDelete(c echo.Context) error {
	by, _ := web.ActorOf(c)
	if err := h.Store.DeleteView(c.Request().Context(), by, c.Param("id")); err != nil {
		return err
	}
	return leadBack(c, "/views", web.Flash{Tone: "good", Text: "The view is deleted."})
}
