package handlers

import (
	"context"

	"dlo/dlq"
)

// knownSources is what a page needs of sources while it lists documents or
// cohorts: their policies, and what runs in each now. It is read once a page,
// and what runs only for those that are on it.
type knownSources struct {
	list    []dlq.Source // those that the viewer may know of, by name
	byName  map[string]dlq.Source
	running map[string]dlq.Running
}

// sourcesFor reads the sources that somebody may know of, and what runs now in
// those that are named.
func (h *Handlers) sourcesFor(ctx context.Context, by dlq.Actor, named []string) (knownSources, error) {
	all, err := h.Store.Sources(ctx)
	if err != nil {
		return knownSources{}, err
	}
	k := knownSources{byName: map[string]dlq.Source{}, running: map[string]dlq.Running{}}
	for _, s := range all {
		if by.SeesSource(s.Name()) {
			k.list = append(k.list, s)
			k.byName[s.Name()] = s
		}
	}
	for _, name := range named {
		s, ok := k.byName[name]
		if _, done := k.running[name]; done || !ok {
			continue
		}
		if k.running[name], err = h.Store.Running(ctx, s.ID); err != nil {
			return k, err
		}
	}
	return k, nil
}

// hasTarget says whether a redrive of the source has somewhere to go.
func (k knownSources) hasTarget(name string) bool { return k.byName[name].Policy.Redrive.URL != "" }

// owner is who owns a source.
func (k knownSources) owner(name string) string { return k.byName[name].Policy.Owner }
