package dlq

import "testing"

// What is proved of a step is said once, also where the step lapsed.
func TestAStepHasOneProof(t *testing.T) {
	step := moved("parser", "1", "2")
	proof := ProveCohort([]VersionCount{{"wiki", Versions{"parser": "1"}, 409}}, map[string]Running{"wiki": {"parser": {"3"}}}, []ReplayTally{replays(step, VerdictFixedByCode, false, 3)})
	if len(proof.Proofs) != 1 || proof.Shown().State != ProofLapsed {
		t.Errorf("%+v", proof.Proofs)
	}
}

// During a rolling deploy, and where nobody reports what runs, several steps cover
// a document. A batch of outcomes settles them at one moment.
func TestOfStepsThatWereSettledTogetherTheOneAgainstTheFixCounts(t *testing.T) {
	under := []VersionCount{{"wiki", Versions{"parser": "1"}, 9}}
	tallies := []ReplayTally{replays(moved("parser", "1", "2"), VerdictFixedByCode, false, 3), replays(moved("parser", "1", "3"), VerdictStillBroken, false, 2)}
	for _, c := range []struct {
		running Running
		want    ProofState
	}{{Running{"parser": {"2", "3"}}, ProofRefuted}, {nil, ProofRefuted}, {Running{"parser": {"4"}}, ProofLapsed}} {
		for range 50 { // a map's order would show
			p := ProveCohort(under, map[string]Running{"wiki": c.running}, tallies).Of("wiki", Versions{"parser": "1"})
			if p.State != c.want || p.Step.To() != "parser 3" {
				t.Fatalf("where %v runs: %s by %s, want %s by parser 3", c.running, p.State, p.Step.To(), c.want)
			}
		}
	}
}
