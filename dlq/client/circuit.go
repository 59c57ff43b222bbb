package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"
)

// Circuit is whether a source should be worked on. An open one stays open until
// a person closes it.
type Circuit struct {
	State string     `json:"state"` // closed or open
	Since *time.Time `json:"since"`
	Why   string     `json:"why"`
}

// Open says that the source should not be worked on now.
func (c Circuit) Open() bool { return c.State == "open" }

// Circuit asks whether a source's circuit is open. A server that knows no
// circuits, or not the source, has nothing against it: closed.
func (c *Client) Circuit(ctx context.Context, source string) (Circuit, error) {
	var circuit Circuit
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/circuits/" + url.PathEscape(source)}, &circuit)
	var answered *Error
	if errors.As(err, &answered) && answered.Status == http.StatusNotFound {
		return Circuit{State: "closed"}, nil
	}
	return circuit, err
}

// circuitSeen is what the server last said of a circuit.
type circuitSeen struct {
	open  bool
	until time.Time // when it is asked for again
}

const (
	circuitPatience = time.Second // of one question; without an answer the work goes on
	maxCircuits     = 10_000      // sources that answers are kept of
)

// circuitWait is how long a delivery is given back for because of an open
// circuit, 0 if it is not. Without an answer the circuit is as it was last, and
// closed at first: a guard must not stop a pipeline because the office is away.
// A redrive passes: somebody asked for it, and it is how a fix is proven.
func (g *Guard) circuitWait(ctx context.Context, d Delivery) time.Duration {
	if g.Client == nil || d.Source == "" || d.RedriveID != "" {
		return 0
	}
	seen, fresh := g.circuitOf(d.Source)
	if !fresh {
		asked, done := context.WithTimeout(ctx, circuitPatience)
		circuit, err := g.Client.Circuit(asked, d.Source)
		done()
		if err == nil && seen.open != circuit.Open() {
			seen.open = circuit.Open()
			g.keepCircuit(d.Source, seen)
		}
	}
	if !seen.open {
		return 0
	}
	wait := g.CircuitWait
	if wait <= 0 {
		wait = time.Minute
	}
	return wait/2 + rand.N(wait/2+1)
}

// circuitOf gives what was last seen. Where that is too old, this caller asks,
// and the others go on with it meanwhile.
func (g *Guard) circuitOf(source string) (circuitSeen, bool) {
	holds := g.CircuitFor
	if holds <= 0 {
		holds = 10 * time.Second
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	seen, now := g.circuits[source], g.now()
	if now.Before(seen.until) {
		return seen, true
	}
	if g.circuits == nil || len(g.circuits) >= maxCircuits {
		g.circuits = map[string]circuitSeen{}
	}
	seen.until = now.Add(holds)
	g.circuits[source] = seen
	return seen, false
}

func (g *Guard) keepCircuit(source string, seen circuitSeen) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.circuits[source] = seen
}
