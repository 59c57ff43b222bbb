package handlers

import (
	"context"
	"fmt"
	"sync"
	"time"

	"dlo/dlq"
)

// Bounds of the streams by which pages are told what moves.
const (
	liveOfPerson = 6                      // streams of one person; a browser opens no more to one server over HTTP/1.1
	liveInAll    = 200                    // streams of everybody; who comes later asks now and then instead
	liveLook     = 250 * time.Millisecond // between two looks at an operation, whoever waits for it
	liveBeat     = 15 * time.Second       // between two signs of life where nothing moves
	liveBound    = 60 * time.Second       // of one stream: the browser asks again, and is looked at anew
)

// Live tells streams when an operation moved. One watcher looks at an operation,
// however many wait for it, and none where nobody does.
type Live struct {
	store interface {
		Operation(ctx context.Context, id string) (dlq.Operation, error)
	}
	look time.Duration

	mu       sync.Mutex
	closed   chan struct{}
	watchers map[string]*watcher
	streams  map[string]int // by person
	all      int
}

// watcher looks at one operation.
type watcher struct {
	waiting map[chan struct{}]bool // each holds one sign: what is told twice before anybody looked is one
	stop    context.CancelFunc
}

// NewLive makes one that looks into a store.
func NewLive(store interface {
	Operation(ctx context.Context, id string) (dlq.Operation, error)
}) *Live {
	return &Live{store: store, look: liveLook, closed: make(chan struct{}), watchers: map[string]*watcher{}, streams: map[string]int{}}
}

// Close ends every stream: a server that stops would wait for them.
func (l *Live) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
}

// Done is closed when the streams are to end.
func (l *Live) Done() <-chan struct{} { return l.closed }

// enter counts a stream of a person in; false where there are too many.
func (l *Live) enter(person string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= liveInAll || l.streams[person] >= liveOfPerson {
		return false
	}
	l.all++
	l.streams[person]++
	return true
}

func (l *Live) leave(person string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.streams[person]--; l.streams[person] <= 0 {
		delete(l.streams, person)
	}
}

// watch gives a channel that is told whenever the operation moved, and what ends
// that.
func (l *Live) watch(id string) (<-chan struct{}, func()) {
	told := make(chan struct{}, 1)
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.watchers[id]
	if w == nil {
		ctx, stop := context.WithCancel(context.Background())
		w = &watcher{waiting: map[chan struct{}]bool{}, stop: stop}
		l.watchers[id] = w
		go l.follow(ctx, id, w)
	}
	w.waiting[told] = true
	return told, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(w.waiting, told)
		if len(w.waiting) == 0 {
			w.stop()
			if l.watchers[id] == w {
				delete(l.watchers, id)
			}
		}
	}
}

// follow looks at an operation until nobody waits for it. A look that fails is
// followed by the next one: whoever waits sees the error on the page itself.
func (l *Live) follow(ctx context.Context, id string, w *watcher) {
	tick := time.NewTicker(l.look)
	defer tick.Stop()
	last := ""
	for {
		if o, err := l.store.Operation(ctx, id); err == nil {
			if now := stands(o); now != last {
				if last != "" {
					l.tell(w)
				}
				last = now
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-l.closed:
			return
		case <-tick.C:
		}
	}
}

func (l *Live) tell(w *watcher) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for told := range w.waiting {
		select {
		case told <- struct{}{}:
		default:
		}
	}
}

// stands is all that a bar shows of the row of an operation. Its time alone would
// not do: two changes may fall into one millisecond.
func stands(o dlq.Operation) string {
	return fmt.Sprint(o.UpdatedAt.UnixMilli(), o.State, o.Asks, o.Step, o.GoOn, o.Returns, o.TryAt.UnixMilli(), o.Unsent, o.Counts)
}
