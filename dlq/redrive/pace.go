package redrive

import (
	"sync"
	"time"
)

// bucket lets a number of sends a second through. It holds a tenth of a second's
// worth, and at least one, so that a pause is not followed by a burst.
type bucket struct {
	tokens float64
	at     time.Time
}

func (b *bucket) fill(rate float64, now time.Time) {
	most := max(1, rate/10)
	if b.at.IsZero() {
		b.tokens, b.at = most, now
		return
	}
	if passed := now.Sub(b.at).Seconds(); passed > 0 {
		b.tokens = min(most, b.tokens+passed*rate)
	}
	b.at = now
}

// pace bounds sends by source and by operation. It is kept in memory: after a
// restart each begins with a full bucket.
type pace struct {
	mu      sync.Mutex
	buckets map[string]*bucket
}

// maxBuckets is when those that were not used for a while are forgotten.
const maxBuckets = 1000

// take takes at most n sends of a name at the rate, and answers how many it got
// and, if fewer, how long until the next.
func (p *pace) take(name string, rate float64, n int, now time.Time) (got int, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.bucket(name, now)
	b.fill(rate, now)
	got = min(n, int(b.tokens+1e-9)) // a thousandth of a second's worth is lost in floats otherwise
	b.tokens -= float64(got)
	if got == n {
		return got, 0
	}
	return got, time.Duration((1 - b.tokens) / rate * float64(time.Second))
}

// giveBack returns sends that were taken and not used.
func (p *pace) giveBack(name string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b, ok := p.buckets[name]; ok {
		b.tokens += float64(n)
	}
}

func (p *pace) bucket(name string, now time.Time) *bucket {
	if p.buckets == nil {
		p.buckets = map[string]*bucket{}
	}
	if b, ok := p.buckets[name]; ok {
		return b
	}
	if len(p.buckets) >= maxBuckets {
		for old, b := range p.buckets {
			if now.Sub(b.at) > time.Hour {
				delete(p.buckets, old)
			}
		}
	}
	b := &bucket{}
	p.buckets[name] = b
	return b
}

// places counts the deliveries that are under way, altogether and by target
// host, so that neither this program nor one target is overrun by many sources
// and operations at once.
type places struct {
	mu             sync.Mutex
	most, mostHost int
	taken          int
	byHost         map[string]int
}

// take takes at most n places for a host, and answers how many it got.
func (p *places) take(host string, n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byHost == nil {
		p.byHost = map[string]int{}
	}
	n = max(0, min(n, p.most-p.taken, p.mostHost-p.byHost[host]))
	p.taken += n
	p.byHost[host] += n
	return n
}

func (p *places) giveBack(host string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken -= n
	if p.byHost[host] -= n; p.byHost[host] <= 0 {
		delete(p.byHost, host)
	}
}
