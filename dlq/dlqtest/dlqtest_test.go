package dlqtest

import (
	"encoding/json"
	"testing"

	"dlo/dlq"
)

func TestABuiltEnvelopeIsOneThatIsAccepted(t *testing.T) {
	for name, a := range map[string]dlq.Arrival{
		"as it is":       Arrival(),
		"with bytes":     Arrival(Held("%PDF-1.4")),
		"low confidence": Arrival(LowConfidence(0.5)),
		"of a redrive":   Arrival(Replay("01JQ7X0F5C3N4K8Y2M6P9RTVAZ"), Seq(7), Key("bytes and version")),
	} {
		t.Run(name, func(t *testing.T) {
			body, err := json.Marshal(a.Envelope)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := dlq.ParseEnvelope(body, Now); err != nil {
				t.Errorf("%s: %v", body, err)
			}
		})
	}
}

func TestABuiltPolicyIsSound(t *testing.T) {
	if faults := Policy("wiki").Validate(); len(faults) > 0 {
		t.Error(faults)
	}
}

func TestBuiltArrivalsShareNothing(t *testing.T) {
	one, other := Arrival(), Arrival()
	*one.Envelope.LastSeenAt = one.Envelope.LastSeenAt.AddDate(1, 0, 0)
	if !other.Envelope.LastSeenAt.Equal(Now) {
		t.Error("changing one arrival's time changed another's")
	}
}
