package handlers

import (
	"context"
	"net/url"
	"time"

	"dlo/dlq"
)

// arrivalsAxis is what the chart of arrivals is drawn along.
type arrivalsAxis string

// The axes.
const (
	axisDay    arrivalsAxis = ""
	axisSeq    arrivalsAxis = "seq"
	axisCursor arrivalsAxis = "cursor"
)

func readAxis(params url.Values) arrivalsAxis {
	switch a := arrivalsAxis(params.Get("arrivals")); a {
	case axisSeq, axisCursor:
		return a
	}
	return axisDay
}

// How much the chart of arrivals reads.
const (
	deploymentsRead = 50  // of each source
	nearRead        = 30  // of each source, round one moment
	sourcesRead     = 20  // those of most documents
	placesRead      = 500 // documents at each end of the cohort
)

// fillArrivals reads what was deployed in the cohort's sources, lately and round
// its first and its last failure, and where its documents stood in their stream:
// for the chart of days two of them, which say whether there is one.
func (h *Handlers) fillArrivals(ctx context.Context, f *cohortFacts) error {
	from := f.now.AddDate(0, 0, -arrivalDays)
	read := 0
	for _, name := range f.cohort.Sources {
		source, visible := f.known.byName[name]
		if !visible {
			continue
		}
		if read++; read > sourcesRead {
			f.unread++
			continue
		}
		add := func(into *[]deployed, list []dlq.Deployment, err error) error {
			for _, d := range list {
				*into = append(*into, deployed{Deployment: d, Source: name})
			}
			return err
		}
		list, err := h.Store.Deployments(ctx, source.ID, from.UnixMilli(), deploymentsRead)
		if err := add(&f.deployments, list, err); err != nil {
			return err
		}
		day := 24 * time.Hour
		list, err = h.Store.DeploymentsBetween(ctx, source.ID, f.cohort.FirstSeen.Add(-dlq.NearDeployment-day), f.cohort.FirstSeen.Add(day), nearRead)
		if err := add(&f.near, list, err); err != nil {
			return err
		}
		list, err = h.Store.DeploymentsBetween(ctx, source.ID, f.cohort.LastSeen.Add(-day), f.cohort.LastSeen.Add(dlq.NearDeployment+day), nearRead)
		if err := add(&f.near, list, err); err != nil {
			return err
		}
		since, err := h.Store.RegisteredSince(ctx, source.ID)
		if err != nil {
			return err
		}
		if !since.IsZero() && (f.registered.IsZero() || since.Before(f.registered)) {
			f.registered = since
		}
	}
	ends := 1
	if f.axis != axisDay {
		ends = placesRead
	}
	var err error
	f.placed, err = h.Store.Places(ctx, f.by, f.cohort.ID, ends)
	return err
}
