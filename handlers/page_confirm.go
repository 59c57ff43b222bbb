package handlers

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"dlo/dlq"
	"dlo/dlq/redrive"
	"dlo/views/components"
	"dlo/views/confirm"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

// confirmPage is GET and POST /confirm: what is chosen, how many exactly, what
// is left out and why, before anything is done.
func (h *Handlers) confirmPage(c echo.Context) error {
	chosen, err := readChoice(c)
	if err != nil {
		return err
	}
	return h.showConfirm(c, http.StatusOK, chosen, nil)
}

// showConfirm renders the confirmation, with what was wrong with what was sent.
func (h *Handlers) showConfirm(c echo.Context, status int, chosen choice, wrong error) error {
	by, _ := web.ActorOf(c)
	f, err := h.confirmFacts(c.Request().Context(), by, chosen)
	if err != nil {
		return err
	}
	f.faults, f.problem = faultsOf(wrong)
	return h.renderConfirm(c, status, f, newConfirmPage)
}

func (h *Handlers) renderConfirm(c echo.Context, status int, f confirmFacts, model func(confirmFacts) confirm.Model) error {
	frame, err := h.layout(c, confirmTitle(f), "", components.Link{Text: "Back", Href: f.choice.back}, components.Link{Text: actionLabel(f.choice.action)})
	if err != nil {
		return err
	}
	f.csrf, f.address = frame.CSRF, strings.TrimSuffix(h.PublicURL.String(), "/")+f.choice.href()
	m := model(f)
	m.Layout = frame
	return web.RenderPage(c, status, confirm.Page(m), confirm.Region(m))
}

// faultsOf takes an error apart for a form: the faults that stand at their
// fields, and the sentence about the whole.
func faultsOf(err error) ([]dlq.Fault, string) {
	var e *dlq.Error
	if !errors.As(err, &e) {
		return nil, ""
	}
	return e.Faults, sentence("%s", e.Message)
}

// confirmSourcesMost bounds how many sources a confirmation names.
const confirmSourcesMost = 12

// confirmFacts reads what the confirmation says, counted now.
func (h *Handlers) confirmFacts(ctx context.Context, by dlq.Actor, chosen choice) (confirmFacts, error) {
	f := confirmFacts{choice: chosen, by: by, now: h.Now(), states: map[dlq.Status]int64{}}
	var err error
	if f.paused, err = h.Store.Paused(ctx); err != nil {
		return f, err
	}
	perSource := map[string]int64{}
	if chosen.query != "" {
		if f.unknown, err = h.unknownIn(ctx, by, chosen.query); err != nil {
			return f, err
		}
		err = h.countChosen(ctx, &f, perSource)
	} else {
		err = h.readChosen(ctx, &f, perSource)
	}
	if err != nil {
		return f, err
	}
	if err := h.readChosenSources(ctx, &f, perSource); err != nil {
		return f, err
	}
	if chosen.action == dlq.OperationRedrive {
		f.preview, err = redrive.PreviewOf(ctx, h.Store, by, chosen.request())
	}
	return f, err
}

// unknownIn finds the values of a query that nothing ever had. What cannot be read
// is said by whoever counts.
func (h *Handlers) unknownIn(ctx context.Context, by dlq.Actor, query string) ([]dlq.UnknownValue, error) {
	q, bad := dlq.ParseQuery(query)
	if len(bad) > 0 {
		return nil, nil
	}
	return h.Store.UnknownValues(ctx, by, q)
}

// countChosen counts what a query matches, by state and by source.
func (h *Handlers) countChosen(ctx context.Context, f *confirmFacts, perSource map[string]int64) error {
	count := func(q string) (int64, error) {
		parsed, bad := dlq.ParseQuery(q)
		if len(bad) > 0 {
			return 0, dlq.QueryError(bad)
		}
		return h.Store.CountEntries(ctx, f.by, parsed)
	}
	var err error
	if f.count, err = count(f.choice.query); err != nil {
		return err
	}
	if f.choice.action != dlq.OperationRedrive {
		for _, status := range dlq.Statuses {
			if f.states[status], err = count(f.choice.query + " status:" + string(status)); err != nil {
				return err
			}
		}
	}
	sources, err := h.Store.Sources(ctx)
	if err != nil {
		return err
	}
	for _, s := range sources {
		if !f.by.SeesSource(s.Name()) {
			continue
		}
		n, err := count(f.choice.query + " source:" + dlq.QuoteValue(s.Name()))
		if err != nil {
			return err
		}
		if n > 0 {
			perSource[s.Name()] = n
		}
	}
	return nil
}

// readChosen reads documents that were named one by one. One that is not found
// counts as well: it is left out, and said to be.
func (h *Handlers) readChosen(ctx context.Context, f *confirmFacts, perSource map[string]int64) error {
	if len(f.choice.ids) > redrive.MaxEntries {
		return dlq.Errorf(dlq.KindInvalid, "at most %s documents can be named one by one; choose them by a query", grouped(redrive.MaxEntries))
	}
	f.count = int64(len(f.choice.ids))
	for _, id := range f.choice.ids {
		e, err := h.Store.Entry(ctx, f.by, id)
		if dlq.KindOf(err) == dlq.KindNotFound && !f.choice.single() {
			continue
		}
		if err != nil {
			return err
		}
		f.entries = append(f.entries, e)
		f.states[e.Status]++
		perSource[e.Source]++
	}
	return nil
}

func (h *Handlers) readChosenSources(ctx context.Context, f *confirmFacts, perSource map[string]int64) error {
	for _, name := range sortedKeys(perSource) {
		if len(f.sources) == confirmSourcesMost {
			f.more++
			continue
		}
		s, err := h.Store.Source(ctx, name)
		if err != nil {
			return err
		}
		running, err := h.Store.Running(ctx, s.ID)
		if err != nil {
			return err
		}
		f.sources = append(f.sources, chosenSource{source: s, running: running, count: perSource[name]})
	}
	return nil
}
