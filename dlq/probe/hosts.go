package probe

import (
	"context"
	"sync"
)

// hosts lets at most perHost questions at a time through to each host. A host
// nobody asks takes no memory.
type hosts struct {
	mu    sync.Mutex
	turns map[string]*turn
}

type turn struct {
	places  chan struct{}
	holders int // those inside and those who wait
}

// enter waits for a place. The returned function gives it back.
func (h *hosts) enter(ctx context.Context, host string) (leave func(), err error) {
	h.mu.Lock()
	if h.turns == nil {
		h.turns = map[string]*turn{}
	}
	t := h.turns[host]
	if t == nil {
		t = &turn{places: make(chan struct{}, perHost)}
		h.turns[host] = t
	}
	t.holders++
	h.mu.Unlock()

	release := func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if t.holders--; t.holders == 0 {
			delete(h.turns, host)
		}
	}
	if err := ctx.Err(); err != nil {
		release()
		return nil, err
	}
	select {
	case t.places <- struct{}{}:
		return func() { <-t.places; release() }, nil
	case <-ctx.Done():
		release()
		return nil, ctx.Err()
	}
}
