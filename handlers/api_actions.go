package handlers

import (
	"strings"
	"time"
	"unicode/utf8"

	"dlo/dlq"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

const (
	noteMost   = 16 << 10 // bytes of a note
	reasonMost = 2000
)

// act answers POST /dead-letters/{dlq_id}/{what a button does}.
func (h *Handlers) act(kind dlq.OperationKind) echo.HandlerFunc {
	return func(c echo.Context) error {
		by, _ := web.ActorOf(c)
		var body struct {
			Reason string    `json:"reason"`
			Days   int       `json:"days"`
			Until  time.Time `json:"until"`
			Grant  dlq.Grant `json:"grant"`
		}
		if err := readOptionalJSON(c, &body); err != nil {
			return err
		}
		if utf8.RuneCountInString(body.Reason) > reasonMost {
			return dlq.Invalid("the reason is too long", dlq.Fault{Pointer: "/reason", Detail: "at most 2000 characters expected"})
		}
		ctx := c.Request().Context()
		if err := h.Store.Act(ctx, by, c.Param("id"), dlq.Action{Kind: kind, Reason: body.Reason, Days: body.Days, Until: body.Until, Grant: body.Grant}); err != nil {
			return err
		}
		return h.showEntry(c)
	}
}

type assignment struct {
	Owner  string `json:"owner"`
	Ticket string `json:"ticket"`
}

func (a assignment) check() error {
	if faults := dlq.AssignmentFaults(a.Owner, a.Ticket); len(faults) > 0 {
		return dlq.Invalid("the assignment was not understood", faults...)
	}
	return nil
}

func readAssignment(c echo.Context) (assignment, error) {
	var a assignment
	if err := web.ReadJSON(c, &a); err != nil {
		return a, err
	}
	return a, a.check()
}

func (h *Handlers) assignEntry(c echo.Context) error {
	by, _ := web.ActorOf(c)
	a, err := readAssignment(c)
	if err != nil {
		return err
	}
	if err := h.Store.Assign(c.Request().Context(), by, c.Param("id"), a.Owner, a.Ticket); err != nil {
		return err
	}
	return h.showEntry(c)
}

func (h *Handlers) assignCohort(c echo.Context) error {
	by, _ := web.ActorOf(c)
	a, err := readAssignment(c)
	if err != nil {
		return err
	}
	cohort, err := h.Store.Cohort(c.Request().Context(), by, c.Param("id"))
	if err != nil {
		return err
	}
	if err := h.Store.AssignCohort(c.Request().Context(), by, cohort.ID, a.Owner, a.Ticket); err != nil {
		return err
	}
	return h.showCohort(c)
}

// readNote reads a note as JSON: {"note": "…"}.
func readNote(c echo.Context) (string, error) {
	var body struct {
		Note string `json:"note"`
	}
	if err := web.ReadJSON(c, &body); err != nil {
		return "", err
	}
	return checkNote(body.Note)
}

func checkNote(note string) (string, error) {
	note = strings.TrimSpace(strings.ReplaceAll(note, "\r\n", "\n"))
	switch {
	case !utf8.ValidString(note) || strings.ContainsRune(note, 0):
		return note, dlq.Invalid("the note was not kept", dlq.Fault{Pointer: "/note", Detail: "text in UTF-8 without NUL expected"})
	case note == "" || len(note) > noteMost:
		return note, dlq.Invalid("the note was not kept", dlq.Fault{Pointer: "/note", Detail: "1 byte to 16 KiB of Markdown expected"})
	}
	if _, err := web.Markdown(note); err != nil { // what cannot be drawn is said while it can still be mended
		faults, _ := faultsOf(err)
		if len(faults) == 0 {
			return note, err
		}
		return note, dlq.Invalid("the note was not kept", dlq.Fault{Pointer: "/note", Detail: faults[0].Detail})
	}
	return note, nil
}

func (h *Handlers) noteEntry(c echo.Context) error {
	by, _ := web.ActorOf(c)
	note, err := readNote(c)
	if err != nil {
		return err
	}
	if err := h.Store.Note(c.Request().Context(), by, c.Param("id"), "", note); err != nil {
		return err
	}
	return h.showEntry(c)
}

func (h *Handlers) noteCohort(c echo.Context) error {
	by, _ := web.ActorOf(c)
	note, err := readNote(c)
	if err != nil {
		return err
	}
	cohort, err := h.Store.Cohort(c.Request().Context(), by, c.Param("id"))
	if err != nil {
		return err
	}
	if err := h.Store.Note(c.Request().Context(), by, "", cohort.ID, note); err != nil {
		return err
	}
	return h.showCohort(c)
}
