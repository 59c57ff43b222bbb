package dlq

// FailureClass is the taxonomy of why a document failed, by what a further
// delivery could change. Other words are accepted and shown as they are.
type FailureClass string

// The five classes.
const (
	ClassTransient          FailureClass = "transient"           // the environment; waiting helps
	ClassAmbiguousParse     FailureClass = "ambiguous_parse"     // a parser raised; a fix helps
	ClassResourceFatal      FailureClass = "resource_fatal"      // nothing survived to say what happened
	ClassPermanentInput     FailureClass = "permanent_input"     // only other bytes help
	ClassDownstreamContract FailureClass = "downstream_contract" // configuration; needs an alert at once
)

// FailureClasses lists the taxonomy in the order in which screens offer it.
var FailureClasses = []FailureClass{ClassTransient, ClassAmbiguousParse, ClassResourceFatal, ClassPermanentInput, ClassDownstreamContract}

// secondTries are deliveries after the first that can help, least and most.
var secondTries = map[FailureClass][2]int{
	ClassTransient:          {5, 8},
	ClassAmbiguousParse:     {1, 1},
	ClassResourceFatal:      {1, 1},
	ClassPermanentInput:     {0, 0},
	ClassDownstreamContract: {0, 0},
}

// Known says whether the class is of the taxonomy.
func (c FailureClass) Known() bool { _, ok := secondTries[c]; return ok }

// Exhausted says whether an entry of this class has spent the deliveries that
// could have helped: n second tries are n+1 deliveries. Only transient failures
// can come too early; of any other class the answer is yes.
func (c FailureClass) Exhausted(attempts int) bool {
	tries, ok := secondTries[c]
	return !ok || c != ClassTransient || attempts >= tries[0]+1
}
