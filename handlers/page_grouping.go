package handlers

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"dlo/dlq"
	"dlo/dlq/regroup"
	"dlo/views/cohort"
	"dlo/views/components"
	view "dlo/views/regroup"
	"dlo/web"
)

const (
	suggestionsMost = 5
	candidatesMost  = 20 // cohorts that a search for others to merge lists
)

// cohortGrouping is the part of a cohort's page that says how it came to be. It
// is asked for again while documents move.
func (h *Handlers) cohortGrouping(c echo.Context) error {
	by, _ := web.ActorOf(c)
	ctx := c.Request().Context()
	found, err := h.Store.Cohort(ctx, by, c.Param("id"))
	if err != nil {
		return err
	}
	frame, err := h.layout(c, "", "")
	if err != nil {
		return err
	}
	f := cohortFacts{cohort: found, by: by, csrf: frame.CSRF}
	if err := h.fillGrouping(ctx, &f); err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, cohort.GroupingRegion(newGrouping(f)))
}

func (h *Handlers) fillGrouping(ctx context.Context, f *cohortFacts) error {
	var err error
	if f.grouping, err = h.Store.Grouping(ctx, f.by, f.cohort.ID); err != nil {
		return err
	}
	if f.alike, err = h.Store.Alike(ctx, f.by, f.cohort.ID, suggestionsMost); err != nil {
		return err
	}
	f.others = map[string]dlq.Cohort{}
	for _, id := range groupingNames(f.grouping) {
		other, err := h.Store.Cohort(ctx, f.by, id)
		if dlq.KindOf(err) == dlq.KindNotFound {
			continue
		}
		if err != nil {
			return err
		}
		f.others[id] = other
	}
	return nil
}

// cohortSplitPage shows by what a cohort could be split, and which values its
// documents have.
func (h *Handlers) cohortSplitPage(c echo.Context) error {
	return h.renderSplit(c, http.StatusOK, splitTyped{by: c.QueryParam("by"), out: outOf(c.QueryParams()), together: len(c.QueryParams()["out"]) > 1}, nil)
}

// splitTyped is what a person chose on the page of a split.
type splitTyped struct {
	by       string
	values   []string
	out      []string // hashes of values that the address ticks
	together bool
	grouping int64
	reason   string
}

func (h *Handlers) renderSplit(c echo.Context, status int, typed splitTyped, faults []dlq.Fault) error {
	by, _ := web.ActorOf(c)
	ctx := c.Request().Context()
	f := splitFacts{typed: typed, faults: faults}
	var err error
	if f.cohort, err = h.Store.Cohort(ctx, by, c.Param("id")); err != nil {
		return err
	}
	if f.grouping, err = h.Store.Grouping(ctx, by, f.cohort.ID); err != nil {
		return err
	}
	if f.attributes, f.looked, f.more, err = regroup.Values(ctx, h.Store, by, f.cohort.ID); err != nil {
		return err
	}
	if f.frame, err = h.layout(c, "Split", "", components.Link{Text: "Cohorts", Href: "/cohorts"}, components.Link{Text: titleOf(cohortTitle(f.cohort)), Href: cohortHref(f.cohort.ID)}); err != nil {
		return err
	}
	return web.Render(c, status, view.Page(newSplitPage(f)))
}

// cohortSplitForm splits a cohort.
func (h *Handlers) cohortSplitForm(c echo.Context) error {
	by, _ := web.ActorOf(c)
	r := c.Request()
	if err := r.ParseForm(); err != nil {
		return dlq.Errorf(dlq.KindMalformed, "the form could not be read").Because(err)
	}
	typed := splitTyped{by: r.PostFormValue("by"), values: r.PostForm["value"], together: r.PostFormValue("together") == "1", reason: strings.TrimSpace(r.PostFormValue("reason"))}
	typed.grouping, _ = strconv.ParseInt(r.PostFormValue("grouping"), 10, 64) // 0: they do not say
	splitBy, err := dlq.ParseSplitBy(typed.by)
	if err != nil {
		return h.renderSplit(c, http.StatusUnprocessableEntity, typed, []dlq.Fault{{Pointer: "/by", Detail: err.Error()}})
	}

	rule, err := h.Store.SplitCohort(r.Context(), by, dlq.SplitRequest{CohortID: c.Param("id"), By: splitBy, Values: typed.values, Together: typed.together, Grouping: typed.grouping, Reason: typed.reason})
	if faults, _ := faultsOf(err); len(faults) > 0 {
		return h.renderSplit(c, http.StatusUnprocessableEntity, typed, faults)
	}
	if err != nil {
		return err
	}
	h.wakeRegroup()
	text := "The cohort is split. New failures follow at once; documents that are here move now."
	if err := web.AddFlash(c, web.Flash{Tone: "good", Text: text}); err != nil {
		return err
	}
	return web.Redirect(c, cohortHref(rule.CohortID)+"#"+cohort.GroupingID)
}

// cohortMergePage finds other cohorts that are the same defect.
func (h *Handlers) cohortMergePage(c echo.Context) error {
	return h.renderMerge(c, http.StatusOK, mergeTyped{text: strings.TrimSpace(c.QueryParam("find")), others: c.QueryParams()["cohort"]}, nil)
}

// mergeTyped is what a person chose on the page of a merge.
type mergeTyped struct {
	text     string
	others   []string
	grouping int64
	reason   string
}

func (h *Handlers) renderMerge(c echo.Context, status int, typed mergeTyped, faults []dlq.Fault) error {
	by, _ := web.ActorOf(c)
	ctx := c.Request().Context()
	f := mergeFacts{typed: typed, faults: faults}
	var err error
	if f.cohort, err = h.Store.Cohort(ctx, by, c.Param("id")); err != nil {
		return err
	}
	if f.grouping, err = h.Store.Grouping(ctx, by, f.cohort.ID); err != nil {
		return err
	}
	if f.alike, err = h.Store.Alike(ctx, by, f.cohort.ID, suggestionsMost); err != nil {
		return err
	}
	if f.found, f.more, err = h.mergeCandidates(ctx, by, f.cohort, typed.text); err != nil {
		return err
	}
	if f.frame, err = h.layout(c, "Merge", "", components.Link{Text: "Cohorts", Href: "/cohorts"}, components.Link{Text: titleOf(cohortTitle(f.cohort)), Href: cohortHref(f.cohort.ID)}); err != nil {
		return err
	}
	return web.Render(c, status, view.Page(newMergePage(f)))
}

// mergeCandidates lists the cohorts that a text finds, the largest first; without
// a text, those of the same exception type.
func (h *Handlers) mergeCandidates(ctx context.Context, by dlq.Actor, c dlq.Cohort, text string) (list []dlq.Cohort, more bool, err error) {
	review := c.Review
	q := dlq.CohortQuery{Review: &review, Words: []string{text}}
	if text == "" {
		q.Words = []string{c.ErrorType}
	}
	if found, err := h.Store.Cohort(ctx, by, text); text != "" && err == nil {
		return []dlq.Cohort{found}, false, nil // an id or a fingerprint
	}
	list, next, err := h.Store.Cohorts(ctx, by, q, "", candidatesMost)
	return list, next != "", err
}

// cohortMergeForm makes one cohort of several.
func (h *Handlers) cohortMergeForm(c echo.Context) error {
	by, _ := web.ActorOf(c)
	r := c.Request()
	if err := r.ParseForm(); err != nil {
		return dlq.Errorf(dlq.KindMalformed, "the form could not be read").Because(err)
	}
	typed := mergeTyped{text: r.PostFormValue("find"), others: r.PostForm["cohort"], reason: strings.TrimSpace(r.PostFormValue("reason"))}
	typed.grouping, _ = strconv.ParseInt(r.PostFormValue("grouping"), 10, 64) // 0: they do not say

	rule, err := h.Store.MergeCohorts(r.Context(), by, dlq.MergeRequest{CohortID: c.Param("id"), Others: typed.others, Grouping: typed.grouping, Reason: typed.reason})
	if faults, _ := faultsOf(err); len(faults) > 0 {
		return h.renderMerge(c, http.StatusUnprocessableEntity, typed, faults)
	}
	if err != nil {
		return err
	}
	if err := web.AddFlash(c, web.Flash{Tone: "good", Text: counted(len(rule.Others), "cohort is", "cohorts are") + " part of this one now. New failures follow."}); err != nil {
		return err
	}
	return web.Redirect(c, cohortHref(rule.CohortID)+"#"+cohort.GroupingID)
}

// cohortUndoForm takes a merge or a split back.
func (h *Handlers) cohortUndoForm(c echo.Context) error {
	by, _ := web.ActorOf(c)
	rule, err := h.Store.UndoGrouping(c.Request().Context(), by, c.Param("id"), c.Request().PostFormValue("rule"), "")
	if err != nil {
		return err
	}
	if err := web.AddFlash(c, web.Flash{Tone: "good", Text: "The " + string(rule.Kind) + " is undone."}); err != nil {
		return err
	}
	return web.Redirect(c, cohortHref(rule.CohortID)+"#"+cohort.GroupingID)
}

// wordsOf asks for a text as one word; empty: for nothing.
func wordsOf(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}
