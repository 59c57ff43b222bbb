package handlers

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"dlo/dlq"
	"dlo/dlq/redrive"
	"dlo/views/cohort"
	"dlo/views/components"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// queryMost bounds the query that the form of the bar carries, in characters.
const queryMost = 20_000

// cohortRegions are those of a cohort's page that a redrive moves.
const cohortRegions = cohort.ProveID + " " + cohort.FactsID + " " + cohort.ReplaysID + " " + cohort.SeparatesID

// cohortProve reads what the bar of a cohort is made from.
func (h *Handlers) cohortProve(ctx context.Context, by dlq.Actor, c dlq.Cohort, known knownSources, paused string) (proveFacts, error) {
	f := proveFacts{cohort: c, known: known, paused: paused, by: by, now: h.Now(), here: cohortHref(c.ID)}
	proofs, err := h.Store.CohortProofs(ctx, by, []dlq.Cohort{c})
	if err != nil {
		return f, err
	}
	f.proofs = proofs[c.ID]
	if f.op, f.hasOp, err = h.Store.OperationOfCohort(ctx, c.ID); err != nil || !f.hasOp {
		return f, err
	}
	// One that others started on more than the viewer may see is not theirs.
	if f.hasOp, err = h.Store.SeesOperation(ctx, by, f.op); err != nil || !f.hasOp {
		return f, err
	}
	return f, h.fillSteps(ctx, &f)
}

// fillSteps reads where the steps of the operation stand and what its replays say.
func (h *Handlers) fillSteps(ctx context.Context, f *proveFacts) error {
	var err error
	if f.steps, err = h.Store.OperationSteps(ctx, f.op.ID); err != nil || f.op.Proof == nil || f.cohort.ID == "" {
		return err
	}
	tallies, err := h.Store.ReplayTallies(ctx, f.by, []string{f.cohort.ID})
	if err != nil {
		return err
	}
	f.proof = dlq.ProofOfStep(f.op.Proof.Step, tallies[f.cohort.ID])
	return nil
}

// fillProve reads what the bar of a redrive in steps says on its own page.
func (h *Handlers) fillProve(ctx context.Context, by dlq.Actor, f *operationFacts) error {
	o := f.operation
	if o.Kind != dlq.OperationRedrive || len(o.Sizes) < 2 {
		return nil
	}
	p := proveFacts{op: o, hasOp: true, paused: f.paused, by: by, now: f.now, here: operationHref(o.ID), large: true}
	if o.CohortID != "" {
		c, err := h.Store.Cohort(ctx, by, o.CohortID)
		switch {
		case dlq.KindOf(err) == dlq.KindNotFound: // of sources that the viewer may not know of, or gone
		case err != nil:
			return err
		default:
			p.cohort = c
			if p.known, err = h.sourcesFor(ctx, by, sourcesOfCohorts([]dlq.Cohort{c})); err != nil {
				return err
			}
			proofs, err := h.Store.CohortProofs(ctx, by, []dlq.Cohort{c})
			if err != nil {
				return err
			}
			p.proofs = proofs[c.ID]
		}
	}
	f.prove = &p
	return h.fillSteps(ctx, &p)
}

// stepFilters are the steps of a redrive as filters of its items.
func stepFilters(f operationFacts) []components.Chip {
	o := f.operation
	if len(o.Sizes) < 2 {
		return nil
	}
	var chips []components.Chip
	for i := range o.Sizes {
		choice := itemChoice{step: i + 1}
		chip := components.Chip{Text: "Step " + strconv.Itoa(i+1), Href: itemsHref(o.ID, choice, 0), On: f.choice.step == i+1}
		if f.prove != nil {
			if at := slices.IndexFunc(f.prove.steps, func(s dlq.OperationStep) bool { return s.Step == i+1 }); at >= 0 {
				chip.Count = grouped(f.prove.steps[at].Items())
			}
		}
		chips = append(chips, chip)
	}
	return chips
}

// cohortRedrive is POST /cohorts/{id}/redrive: the first press of the bar. The
// form says which documents and how many, so that what was seen is what goes.
func (h *Handlers) cohortRedrive(c echo.Context) error {
	ctx := c.Request().Context()
	by, _ := web.ActorOf(c)
	found, err := h.Store.Cohort(ctx, by, c.Param("id"))
	if err != nil {
		return err
	}
	chosen, all, err := readFirstPress(c, found.ID)
	if err != nil {
		return err
	}
	proofs, err := h.Store.CohortProofs(ctx, by, []dlq.Cohort{found})
	if err != nil {
		return err
	}
	faults := checkChoice(chosen)
	proven := proofs[found.ID].Shown().State == dlq.ProofProven
	if all && chosen.expect > 1 && !proven && isChip(chosen.reason) {
		faults = []dlq.Fault{{Pointer: "/reason", Detail: "Nothing is proven yet, so say in your own words why the steps can be skipped; nothing was sent"}}
	}
	if len(faults) > 0 {
		return h.showConfirm(c, http.StatusUnprocessableEntity, chosen, dlq.Invalid("something is missing; nothing was sent", faults...))
	}
	request := chosen.request()
	request.GoOn = false
	if all {
		request.Canary = []int{}
	}
	o, err := h.Redrives.Start(ctx, by, request)
	switch dlq.KindOf(err) {
	case "":
	case dlq.KindConflict:
		return h.showConflict(c, by, chosen, err)
	case dlq.KindInvalid:
		return h.showConfirm(c, http.StatusUnprocessableEntity, chosen, err)
	default:
		return err
	}
	h.wake()
	if n := o.Counts[dlq.ItemLeftOut]; n > 0 {
		if err := web.AddFlash(c, web.Flash{Tone: "info", Text: sentence("%s left out; the operation says why", documents(n)), LinkText: "See them", Link: itemsHref(o.ID, itemChoice{state: dlq.ItemLeftOut}, 0)}); err != nil {
			return err
		}
	}
	return web.Redirect(c, chosen.back)
}

// readFirstPress reads the form of the bar. The documents must be of the cohort:
// its page would show nothing of a redrive of others.
func readFirstPress(c echo.Context, cohortID string) (chosen choice, all bool, err error) {
	chosen = choice{action: dlq.OperationRedrive, back: cohortHref(cohortID), expect: redrive.NotSaid}
	if chosen.reason, err = formText(c, "reason", reasonMost); err != nil {
		return chosen, false, err
	}
	if chosen.query, err = formText(c, "q", queryMost); err != nil {
		return chosen, false, err
	}
	if !strings.HasPrefix(chosen.query, cohortQuery(cohortID)+" ") {
		return chosen, false, dlq.Invalid("the form was not understood; nothing was sent", dlq.Fault{Pointer: "/q", Detail: "documents of this cohort expected"})
	}
	if chosen.expect, err = strconv.ParseInt(c.FormValue("expect"), 10, 64); err != nil || chosen.expect < 0 {
		return chosen, false, dlq.Invalid("the form was not understood; nothing was sent", dlq.Fault{Pointer: "/expect", Detail: "a number of documents expected"})
	}
	return chosen, c.FormValue("send") == sendAll, nil
}

// isChip says whether a reason is one that a button or the program wrote.
func isChip(reason string) bool {
	return slices.Contains(confirmReasons, reason) || strings.HasPrefix(reason, "test of ")
}

// operationNext is POST /operations/{id}/next.
func (h *Handlers) operationNext(c echo.Context) error {
	return h.operationPress(c, func(ctx context.Context, by dlq.Actor, id string) (string, error) {
		reason, err := formText(c, "reason", reasonMost)
		if err != nil {
			return "", err
		}
		rest := c.FormValue("rest") == "1"
		if rest && isChip(reason) {
			reason = ""
		}
		o, err := h.Redrives.Next(ctx, by, id, rest, reason)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("Step %d of %d is under way.", o.Step, o.Rest()), nil
	})
}

// operationGoOn is POST /operations/{id}/go-on: whether it takes the next step, or
// returns from a target that was down, by itself.
func (h *Handlers) operationGoOn(c echo.Context) error {
	return h.operationPress(c, func(ctx context.Context, by dlq.Actor, id string) (string, error) {
		said := func(name string) *bool {
			v := c.FormValue(name)
			if v == "" {
				return nil
			}
			yes := v == "1"
			return &yes
		}
		steps, target := said("go_on"), said("returns")
		if steps == nil && target == nil {
			return "", dlq.Errorf(dlq.KindInvalid, "the form was not understood; nothing was changed")
		}
		_, err := h.Redrives.GoOn(ctx, by, id, steps, target)
		switch {
		case steps != nil && *steps:
			return "It takes the next steps by itself, and stops at the first same failure.", err
		case steps != nil:
			return "It waits for you after each step.", err
		case *target:
			return "It goes on by itself when the target answers.", err
		}
		return "It waits for you, also when the target answers.", err
	})
}

// operationPress does what a button of the bar says and leads back to where it
// was pressed. Who was too late is told calmly: another tab was quicker, or the
// operation itself.
func (h *Handlers) operationPress(c echo.Context, press func(ctx context.Context, by dlq.Actor, id string) (string, error)) error {
	by, _ := web.ActorOf(c)
	done, err := press(c.Request().Context(), by, c.Param("id"))
	flash := web.Flash{Tone: "good", Text: done}
	switch dlq.KindOf(err) {
	case "":
	case dlq.KindConflict, dlq.KindInvalid:
		faults, sentenceOf := faultsOf(err)
		for _, f := range faults {
			if f.Pointer == "/reason" && strings.Contains(f.Detail, "proven") {
				sentenceOf = "Nothing is proven yet, so say in your own words why the steps can be skipped."
			}
		}
		flash = web.Flash{Tone: "warn", Text: strings.TrimSpace(sentenceOf + " Nothing was changed.")}
	default:
		return err
	}
	h.wake()
	return backTo(c, c.Param("id"), flash)
}

// backTo leads back to the page on which a button of an operation was pressed. A
// bar says by itself what came of it, so that only what it cannot say is said.
func backTo(c echo.Context, operationID string, flash web.Flash) error {
	back := operationHref(operationID)
	if s := c.FormValue("back"); s != "" {
		back = web.SafeNext(s)
	}
	if flash.Tone != "good" || c.FormValue("back") == "" {
		if err := web.AddFlash(c, flash); err != nil {
			return err
		}
	}
	return web.Redirect(c, back)
}
