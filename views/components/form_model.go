package components

// InputKind says how an input is drawn.
type InputKind int

// The kinds of input.
const (
	InputText     InputKind = iota
	InputEmail              // with the browser's address checks off: the server judges
	InputPassword           // never filled with a value
	InputNumber
	InputDate
	InputArea   // several lines
	InputSelect // one of Options
	InputRadio  // one of Options, all in sight
	InputChecks // any of Options, all in sight
	InputCheck  // one box; Value is what it sends
)

// Option is one choice of a select or a set of radio buttons.
type Option struct {
	Value    string
	Label    string
	Text     Text   // of a check box, text from outside before the label; may be empty
	Hint     string // under the label of a radio button or a check box; may be empty
	On       bool
	Disabled bool // cannot be chosen in this state; Hint says why
}

// Input is one labelled field. Its id on the page is the form's id and its
// name, so a form's id must be unique and a name may recur.
type Input struct {
	Name         string
	Label        string
	Kind         InputKind
	Value        string
	Hint         string // under the field; may be empty
	Error        string // what is wrong with what was sent, and what was expected; may be empty
	Options      []Option
	Suggestions  []string // buttons that fill the field ("fix deployed"); need a script, the field does not
	Known        []Option // values that the browser offers while somebody types; others may be typed
	Placeholder  string
	Autocomplete string // the HTML token: "username", "current-password", "off"
	Unit         string // after the field: "days"
	Rows         int    // of InputArea; 0: three
	Min, Max     string // of numbers and dates
	Required     bool
	Autofocus    bool
	On           bool // of InputCheck
	HideLabel    bool // the label is for screen readers alone
}

// Form posts its inputs. Small forms are drawn by themselves; the page that
// confirms an action has its own drawing.
type Form struct {
	ID     string // unique on the page
	CSRF   string
	Action string // where it posts
	Fields []Field
	Inputs []Input
	Submit string // the button's word
	Tone   Tone   // of the button
	Key    string // the key that presses it
	Error  string // about the whole form; may be empty
}

// Check is one box of a list's selection.
type Check struct {
	Name  string // of the field: "id"
	Value string
	Label string // "Select wiki / 1147801144"
	On    bool
}

// Bulk is the bar under a list that acts on what is selected. It submits the
// list's form by GET to the page that confirms: the boxes as "id", or, if
// "all" is set, Query with Expect, the number that the person saw.
type Bulk struct {
	FormID   string // the id of the form that the boxes belong to
	Noun     string // what is selected: "documents"
	Shown    string // "50": how many rows are on this page
	Total    string // "2,842": how many match
	Expect   string // the same as plain digits, sent as "expect"
	Query    string // sent as "q"
	Back     string // sent as "back": where to go afterwards; may be empty
	AllLabel string // "all 2,842 that match"; empty: no such choice (everything is on this page)
	Actions  []Action
	Why      string // why there are no actions: "Analysts cannot redrive. Ask a reviewer."
}
