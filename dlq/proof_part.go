package dlq

// For is what is known of a part of a cohort's parked documents, by source and
// version set: those that a list is narrowed to. What the replays prove stays what
// they prove of the whole; what a proof covers is counted in the part alone, and
// that which covers most of the part comes first.
func (c CohortProof) For(part []VersionCount) CohortProof {
	parked := map[string]int64{}
	var out CohortProof
	for _, g := range part {
		parked[g.key()] += g.Parked
		out.Parked += g.Parked
	}
	for _, p := range c.Proofs {
		groups := p.Groups
		p.Groups, p.Covers = nil, 0
		for _, g := range groups {
			if n, in := parked[g.key()]; in {
				g.Parked = n
				p.Groups, p.Covers = append(p.Groups, g), p.Covers+n
			}
		}
		p.forecast()
		out.Proofs = append(out.Proofs, p)
	}
	out.order()
	return out
}

// States gives the state of the proof of each group that was asked about.
func (c CohortProof) States() func(source string, v Versions) ProofState {
	states := map[string]ProofState{}
	for _, p := range c.Proofs {
		for _, g := range p.Groups {
			states[g.key()] = p.State
		}
	}
	return func(source string, v Versions) ProofState {
		if state, known := states[VersionCount{Source: source, Versions: v}.key()]; known {
			return state
		}
		return ProofNone
	}
}

func (g VersionCount) key() string { return g.Source + "\x00" + g.Versions.Canonical() }
