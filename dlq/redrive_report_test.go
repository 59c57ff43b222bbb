package dlq

import "testing"

func TestAForecastIsHeldAgainstWhatCameOfIt(t *testing.T) {
	three := &Forecast{State: ProofProven, Passed: 3, Of: 3, Covers: 409} // 44 % at least
	half := &Forecast{State: ProofMixed, Passed: 50, Of: 100, Covers: 409}
	for name, c := range map[string]struct {
		forecast *Forecast
		past, of int64
		want     ForecastEnd
	}{
		"nobody forecast anything":       {nil, 400, 409, ForecastNone},
		"nothing had been replayed":      {&Forecast{State: ProofNone, Covers: 409}, 400, 409, ForecastNone},
		"what was known had lapsed":      {&Forecast{State: ProofLapsed, Passed: 3, Of: 3}, 400, 409, ForecastNone},
		"what passed unchanged says no":  {&Forecast{State: ProofLooksTransient, Passed: 5, Of: 5}, 400, 409, ForecastNone},
		"nothing came of it yet":         {three, 0, 0, ForecastOpen},
		"all of them":                    {three, 409, 409, ForecastHeld},
		"as many as the least":           {three, 179, 409, ForecastHeld},
		"one fewer":                      {three, 178, 409, ForecastFewer},
		"of a part of them":              {three, 5, 10, ForecastHeld},
		"more than was expected":         {half, 409, 409, ForecastMore},
		"a refuted one, and all fail":    {&Forecast{State: ProofRefuted, Of: 2}, 0, 20, ForecastHeld},
		"a refuted one, and they got in": {&Forecast{State: ProofRefuted, Of: 2}, 20, 20, ForecastMore},
	} {
		if got := c.forecast.Against(c.past, c.of); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestWhatFailedOnAnotherErrorGotPastThisOne(t *testing.T) {
	r := RedriveReportRow{Outcomes: map[OutcomeResult]int64{OutcomeCommitted: 5, OutcomeFailed: 4, OutcomeSkipped: 7}, Past: 2, Again: 1}
	if past, of := r.Tested(); past != 7 || of != 8 {
		t.Errorf("%d of %d, want 7 of 8: one failed for another reason, and what was committed before tells nothing", past, of)
	}
}
