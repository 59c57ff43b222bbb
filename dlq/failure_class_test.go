package dlq

import (
	"math"
	"testing"
)

func TestWhichClassesAreOfTheTaxonomy(t *testing.T) {
	if len(FailureClasses) != len(secondTries) {
		t.Errorf("%d classes are offered and %d known", len(FailureClasses), len(secondTries))
	}
	for _, c := range FailureClasses {
		if !c.Known() {
			t.Errorf("%s is offered and not known", c)
		}
	}
	for _, c := range []FailureClass{"", "Transient", "poisonous"} {
		if c.Known() {
			t.Errorf("%q is known", c)
		}
	}
}

func TestOnlyATransientFailureCanComeTooEarly(t *testing.T) {
	for _, c := range []struct {
		class     FailureClass
		attempts  int
		exhausted bool
	}{
		{ClassTransient, 1, false}, {ClassTransient, 5, false}, {ClassTransient, 6, true}, {ClassTransient, 9, true}, {ClassTransient, math.MaxInt, true},
		{ClassAmbiguousParse, 1, true}, {ClassResourceFatal, 1, true}, {ClassPermanentInput, 1, true}, {ClassDownstreamContract, 1, true}, {"another word", 1, true}, {"", 1, true},
	} {
		if got := c.class.Exhausted(c.attempts); got != c.exhausted {
			t.Errorf("%q after %d deliveries: exhausted %v", c.class, c.attempts, got)
		}
		marked := FirstMarks(c.class, c.attempts).Has(MarkNotExhausted)
		if marked == c.exhausted {
			t.Errorf("%q after %d deliveries: marked %v", c.class, c.attempts, marked)
		}
	}
}
