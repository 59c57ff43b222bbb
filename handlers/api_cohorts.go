package handlers

import (
	"context"
	"mime"
	"net/http"

	"dlo/dlq"
	"dlo/web"

	"github.com/labstack/echo/v4"
)

type apiCohort struct {
	ID           string               `json:"id"`
	Fingerprints []string             `json:"fingerprints"`
	Source       string               `json:"source"`
	Sources      []string             `json:"sources"`
	ErrorType    string               `json:"error_type"`
	Template     string               `json:"message_template"`
	Frame        string               `json:"frame"`
	Confidence   string               `json:"confidence"`
	Review       bool                 `json:"low_confidence"`
	Parked       int64                `json:"parked"`
	Counts       map[dlq.Status]int64 `json:"counts"`
	Arrivals     int64                `json:"arrivals"`
	Oldest       apiTime              `json:"oldest"`
	Expiring     int64                `json:"expiring"`
	FirstSeen    apiTime              `json:"first_seen"`
	LastSeen     apiTime              `json:"last_seen"`
	Owner        string               `json:"owner"`
	Ticket       string               `json:"ticket"`
	Disposition  string               `json:"disposition"`
	Decided      *apiDecided          `json:"decided,omitempty"`
	Runbook      string               `json:"runbook,omitempty"` // of a cohort by itself
	Versions     []apiVersionCount    `json:"versions"`
	Proof        dlq.ProofState       `json:"proof"`
	ProofDetail  apiProof             `json:"proof_detail"`
	Proofs       []apiProof           `json:"proofs,omitempty"` // of a cohort by itself: step by step
	Daily        []int64              `json:"arrivals_by_day"`
	Members      []apiFingerprint     `json:"members,omitempty"`
	Redrives     []apiRedrive         `json:"redrives,omitempty"`
	Notes        []apiNote            `json:"notes,omitempty"`
	Fixes        []apiFix             `json:"fixes,omitempty"`
	Grouping     int64                `json:"grouping,omitempty"`
	SplitFrom    string               `json:"split_from,omitempty"`
	Part         string               `json:"part,omitempty"`
	Rules        []apiRule            `json:"rules,omitempty"`
	Alike        []string             `json:"alike,omitempty"`
}

type apiVersionCount struct {
	Source   string       `json:"source"`
	Versions dlq.Versions `json:"versions"`
	Parked   int64        `json:"parked"`
}

type apiFingerprint struct {
	Fingerprint string      `json:"fingerprint"`
	Mode        string      `json:"mode"`
	Confidence  string      `json:"confidence"`
	Type        string      `json:"type"`
	RootType    string      `json:"root_type,omitempty"`
	Frames      []dlq.Frame `json:"frames"`
	Template    string      `json:"message_template"`
	Canonical   string      `json:"canonical"`
}

type apiNote struct {
	Author    string  `json:"author"`
	WrittenAt apiTime `json:"written_at"`
	Note      string  `json:"note"`
}

// newAPICohort shows a cohort to an actor.
func newAPICohort(c dlq.Cohort, by dlq.Actor) apiCohort {
	a := apiCohort{ID: c.ID, Fingerprints: c.Fingerprints, Sources: []string{}, ErrorType: c.ErrorType, Template: c.Template, Frame: c.Frame, Confidence: c.Confidence, Review: c.Review, Parked: c.Parked(), Counts: c.Counts,
		Arrivals: c.Arrivals, Oldest: apiTime(c.Oldest), Expiring: c.Expiring, FirstSeen: apiTime(c.FirstSeen), LastSeen: apiTime(c.LastSeen), Owner: c.Owner, Ticket: c.Ticket, Disposition: string(c.Disposition), Versions: []apiVersionCount{}, Proof: c.Standing.Proof.Shown().State, ProofDetail: newAPIProof(c.Standing.Proof.Shown()), Daily: c.Daily}
	for _, s := range c.Sources {
		if by.SeesSource(s) {
			a.Sources = append(a.Sources, s)
		}
	}
	if len(a.Sources) > 0 {
		a.Source = a.Sources[0]
	}
	for _, v := range c.FailedUnder {
		if by.SeesSource(v.Source) {
			a.Versions = append(a.Versions, apiVersionCount{v.Source, v.Versions, v.Parked})
		}
	}
	return a
}

// listCohorts is GET /cohorts. q is the query language: a cohort is listed if it
// has an entry that matches; a bare word is looked for in what the cohort says of
// itself, its type, template and frame. The counts are of the entries that match
// what the query says of source, class, type, reason, stage, content and versions.
func (h *Handlers) listCohorts(c echo.Context) error {
	by, _ := web.ActorOf(c)
	limit, cursor, err := page(c)
	if err != nil {
		return err
	}
	// The first is what nobody asked for otherwise.
	sort, err := sortBy(c, append([]dlq.CohortSort{dlq.CohortsByDepth}, dlq.CohortSorts...)...)
	if err != nil {
		return err
	}
	q := dlq.CohortQuery{Source: c.QueryParam("source"), Class: c.QueryParam("class"), Status: dlq.Status(c.QueryParam("status")), Sort: sort}
	terms, bad := dlq.ParseQuery(c.QueryParam("q"))
	if len(bad) > 0 {
		return dlq.QueryError(bad)
	}
	q = q.WithQuery(terms)
	if q.Status != "" && !q.Status.Valid() {
		return dlq.Invalid("the list was not understood", dlq.Fault{Pointer: "/status", Detail: "a status expected"})
	}
	list, next, err := h.Store.Cohorts(c.Request().Context(), by, q, cursor, limit)
	if err != nil {
		return err
	}
	rows := make([]apiCohort, len(list))
	for i, cohort := range list {
		rows[i] = newAPICohort(cohort, by)
	}
	unknown, err := h.Store.UnknownValues(c.Request().Context(), by, cohortTerms(q, terms))
	if err != nil {
		return err
	}
	return web.JSON(c, http.StatusOK, hintedList{listAnswer{rows, next}, newQueryHints(unknown, by)})
}

// showCohort is GET /cohorts/{id or fingerprint}.
func (h *Handlers) showCohort(c echo.Context) error {
	by, _ := web.ActorOf(c)
	a, err := h.cohortDetail(c.Request().Context(), by, c.Param("id"))
	if err != nil {
		return err
	}
	return web.JSON(c, http.StatusOK, a)
}

func (h *Handlers) cohortDetail(ctx context.Context, by dlq.Actor, id string) (a apiCohort, err error) {
	cohort, err := h.Store.Cohort(ctx, by, id)
	if err != nil {
		return a, err
	}
	a = newAPICohort(cohort, by)
	for _, p := range cohort.Standing.Proof.Proofs {
		a.Proofs = append(a.Proofs, newAPIProof(p))
	}
	members, err := h.Store.Fingerprints(ctx, cohort.ID)
	if err != nil {
		return a, err
	}
	for _, f := range members {
		a.Members = append(a.Members, apiFingerprint{f.String(), f.Mode, f.Confidence, f.Type, f.RootType, append([]dlq.Frame{}, f.Frames...), f.Template, f.Canonical})
	}
	grouping, err := h.Store.Grouping(ctx, by, cohort.ID)
	if err != nil {
		return a, err
	}
	a.groupingFor(grouping)
	alike, err := h.Store.Alike(ctx, by, cohort.ID, suggestionsMost)
	if err != nil {
		return a, err
	}
	for _, other := range alike {
		a.Alike = append(a.Alike, other.ID)
	}
	redrives, err := h.Store.CohortRedrives(ctx, by, cohort.ID, historyMost)
	if err != nil {
		return a, err
	}
	for _, r := range redrives {
		a.Redrives = append(a.Redrives, newAPIRedrive(r))
	}
	notes, err := h.Store.Notes(ctx, 0, cohort.ID, historyMost)
	if err != nil {
		return a, err
	}
	a.Notes = newAPINotes(notes)
	decided, err := h.Store.Disposed(ctx, 0, cohort.ID)
	if err != nil {
		return a, err
	}
	if a.Fixes, err = h.fixesOf(ctx, by, cohort.ID); err != nil {
		return a, err
	}
	a.Decided, a.Runbook = newAPIDecided(decided), cohort.Runbook
	return a, nil
}

func newAPINotes(notes []dlq.Note) []apiNote {
	out := []apiNote{}
	for _, n := range notes {
		out = append(out, apiNote{n.Author, apiTime(n.WrittenAt), n.Body})
	}
	return out
}

func isType(c echo.Context, want string) bool {
	media, _, err := mime.ParseMediaType(c.Request().Header.Get("Content-Type"))
	return err == nil && media == want
}
