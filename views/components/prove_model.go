package components

// StepState is where one step of a redrive stands.
type StepState int

// The states of a step.
const (
	StepPlanned StepState = iota
	StepNext              // the one that is asked for
	StepRunning
	StepPassed
	StepFailed    // the operation stopped here
	StepMixed     // settled, some failed for themselves
	StepCancelled // its documents are free again
)

// Step is one dot of the bar: "5", "2 passed, 3 in flight".
type Step struct {
	Label  string // the number of documents, or "rest"
	State  StepState
	Passed int    // share of its documents, 0 to 100
	Failed int    // likewise; with Passed at most 100
	Note   string // may be empty
	Href   string // the items of this step; may be empty
}

// Band is the forecast as shares of all documents in percent, 0 to 100: Done got
// past the error, Lost did not, and of the others those up to Low are expected to
// and those up to High may. 0 ≤ Done ≤ Low ≤ High ≤ 100 - Lost.
type Band struct {
	Done, Low, High, Lost float64
	Least                 string // "at least 44 %", at the place of Low; empty: nothing is known
	Label                 string // said to screen readers; empty: no band
}

// Submit is one of several buttons of a form.
type Submit struct {
	Label string
	Name  string
	Value string
	Tone  Tone
	Key   string
	Why   string // on hover; may be empty
}

// Skip is what lies behind a fold of the bar: to send everything that is left
// without the steps between, with a reason that is typed.
type Skip struct {
	Summary string
	Form    Form
}

// Prove is the bar: plan, proof, progress and brake of a redrive in one. It is
// drawn before anything is sent, while it goes, and when it is over.
type Prove struct {
	ID       string // unique on the page
	CSRF     string
	Question string // "Does parser 20251230 fix it?"
	Covered  string // "393 like these"
	Others   Link   // "16 under 20240706, not tested"; may be empty
	Steps    []Step
	Band     Band
	Headline string // "3 of 3 got past this error."
	Detail   string // "Expect 171 to 390 of the 390 left to."; may be empty
	Terms    string // "At most 8 in flight · stops at the first same failure"; may be empty
	Tone     Tone   // Bad when it stopped, Good when done, Held when its target is down
	Next     []Link // what helps: "Look at the failed document"
	Cannot   string // why there is no button; may be empty
	CannotDo Link   // what can be done about that; may be empty
	Ask      *Form  // sends the first step; nil once it is under way
	Submits  []Submit
	Actions  []Action // posted at once, the one to take last
	Skip     *Skip
	Refresh  string // the page's address, for who has no script; empty: nothing moves
	Large    bool   // on the operation's own page
}

// SmallProve is the bar on a row of a list: its dots and a word.
type SmallProve struct {
	Steps []Step // Label and State alone; empty: the word alone
	Word  string // "Fix works · 3 of 3"
	Tone  Tone
	Href  string // where the word leads; may be empty
	Title string // on hover; may be empty
}

// Live is what a region that moves by itself says of itself.
type Live struct {
	URL     string // of its stream of events; empty: it does not move
	Regions string // ids of the regions that an answer or an event draws anew, with blanks between
}
