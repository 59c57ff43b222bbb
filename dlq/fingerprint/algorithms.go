package fingerprint

import "dlo/dlq"

// Algorithm is one version of the fingerprint. It is frozen once digests of it
// were stored.
type Algorithm struct {
	Name string // as it prefixes a digest
	Of   func(Input) Result
}

// Algorithms are the versions that are in use, oldest first. New failures are
// grouped by the newest; what an older one makes of them says which cohort a new
// digest goes on for.
type Algorithms []Algorithm

// Shipped are those of this program.
var Shipped = Algorithms{{Version, Of}}

// Newest is the one by which failures are grouped.
func (a Algorithms) Newest() Algorithm { return a[len(a)-1] }

// OfEnvelope groups the failure that an envelope tells of, from the whole of its
// texts: it comes before they are cut.
func (a Algorithms) OfEnvelope(e dlq.Envelope) dlq.Fingerprint { return a.OfInput(InputOf(e)) }

// OfInput groups one failure, with what the older algorithms make of it.
func (a Algorithms) OfInput(in Input) dlq.Fingerprint {
	f := a.Newest().Of(in).Noun()
	for i := len(a) - 2; i >= 0; i-- {
		f.Former = append(f.Former, a[i].Of(in).Noun())
	}
	return f
}

// OfEnvelope groups a failure by the algorithms of this program.
func OfEnvelope(e dlq.Envelope) dlq.Fingerprint { return Shipped.OfEnvelope(e) }
