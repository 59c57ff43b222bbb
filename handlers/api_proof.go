package handlers

import "dlo/dlq"

// apiProof is what the replays of one step of versions prove.
type apiProof struct {
	State  dlq.ProofState `json:"state"`
	Words  string         `json:"words"` // as the screens say it
	Passed int64          `json:"passed"`
	Of     int64          `json:"of"`
	Past   int64          `json:"past"`
	Covers int64          `json:"covers"`
	Low    int64          `json:"low"`
	High   int64          `json:"high"`
	Step   []apiMove      `json:"step"`
	LastAt apiTime        `json:"last_at"`
}

// apiMove is one component of a step. To is empty where nobody reported what it was
// replayed under.
type apiMove struct {
	Component string   `json:"component"`
	From      string   `json:"from"`
	To        []string `json:"to"`
}

func newAPIProof(p dlq.Proof) apiProof {
	a := apiProof{State: p.State, Words: proofWords(p), Passed: p.Passed, Of: p.Of, Past: p.Past, Covers: p.Covers, Low: p.Low, High: p.High, Step: []apiMove{}, LastAt: apiTime(p.Last)}
	for _, m := range p.Step.Moved {
		a.Step = append(a.Step, apiMove{m.Component, m.From, append([]string{}, m.To...)})
	}
	for _, component := range p.Step.Unreported.Components() {
		a.Step = append(a.Step, apiMove{component, p.Step.Unreported[component], []string{}})
	}
	return a
}
