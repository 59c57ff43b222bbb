// Package components holds the parts that screens are made of: tags, tables,
// buttons, forms, small charts. Each takes one model made of strings, numbers,
// bools and links; it knows no domain, no HTTP and no database. What the words
// say and where the links lead is decided by whoever fills the model.
package components

// Tone says what a thing means, never what it looks like. The style sheet
// turns it into colour and shape.
type Tone int

// The tones. Red is for failures and for erasing alone, amber for a deadline;
// document and code keep their hue everywhere, outlined while unchanged and
// filled once changed.
const (
	Plain       Tone = iota // says nothing about good or bad
	Quiet                   // less than plain: an outline, a footnote
	Info                    // running, current, selected
	Good                    // passed, works, done
	Deadline                // something ends soon
	Bad                     // failed, erases
	Held                    // on hold, quarantined: waits for a person
	DocSame                 // the document is unchanged
	DocChanged              // the document changed
	CodeSame                // the code is the same
	CodeChanged             // the code changed
	Primary                 // of an action: the one to take
)

// toneClasses are the class names of app.css, by Tone.
var toneClasses = [...]string{"plain", "quiet", "info", "good", "deadline", "bad", "held", "doc", "doc changed", "code", "code changed", "primary"}

// Class gives the class names that app.css knows the tone by.
func (t Tone) Class() string {
	if t < 0 || int(t) >= len(toneClasses) {
		return toneClasses[Plain]
	}
	return toneClasses[t]
}

// Segment is a stretch of text that came from outside. A chip stands for a
// character that cannot be seen or that turns its neighbours round, by its
// code point ("U+202E").
type Segment struct {
	Text string
	Chip bool
}

// Text is text from outside, in segments. Whatever a pipeline, a document or
// a person typed is a Text; what the program itself says is a string.
type Text []Segment

// PlainText makes a Text without chips of what is known to be harmless, such
// as an id that the program made itself.
func PlainText(s string) Text { return Text{{Text: s}} }

// String gives the text with its chips' code points, for a title or a label.
func (t Text) String() string {
	var s string
	for _, seg := range t {
		s += seg.Text
	}
	return s
}

// Link is text that leads somewhere. An empty Href makes it plain text.
type Link struct {
	Text string
	Href string
}

// Time is one moment in the three forms that a page needs.
type Time struct {
	ISO   string // RFC 3339 in UTC, for the datetime attribute: 2026-11-29T09:44:00Z
	UTC   string // for people, with the zone: 29 Nov 2026 09:44 UTC; shown on hover
	Short string // what stands on the page until a script puts it into the viewer's zone: 29 Nov 09:44
	Keep  bool   // the short form is relative ("3 d ago") or a date alone, and stays as it is
}

// Zero says that there is no such moment; nothing is shown.
func (t Time) Zero() bool { return t.ISO == "" }

// Tag is a short word with a tone.
type Tag struct {
	Text  string
	Tone  Tone
	Title string // more about it, on hover and to screen readers; may be empty
	Href  string // makes the tag a link; may be empty
}

// Fact is one part of a line of facts, set apart by dots: "214 attempts".
type Fact struct {
	Text  string
	Value Text   // of text from outside, after Text; may be empty
	Time  Time   // after Text and Value; may be empty
	Tone  Tone   // Plain is running text, everything else a tag
	Title string // on hover; may be empty
	Href  string // may be empty
}

// Field is one hidden field of a form.
type Field struct {
	Name  string
	Value string
}

// Action is something that a person can do here. The page decides how it is
// drawn: as a link to the page that confirms it (ActionLink), as a button that
// submits the selection of a list there (in BulkBar), or as a form that posts
// at once (ActionForm).
type Action struct {
	Label    string
	Href     string  // of the confirming page, or where the form posts
	Key      string  // the key that presses it: "r"; empty: none
	Tone     Tone    // Primary, Bad (erases), Quiet or Plain
	Disabled bool    // it cannot be done in this state; Why says why
	Why      string  // beside a disabled button, on hover over any other
	Fields   []Field // hidden fields of the posted form
	Current  bool    // of a set of choices: this one holds now
}

// Notice is a sentence about the whole of a page or panel, with what can be
// done about it.
type Notice struct {
	Tone  Tone
	Title string // the sentence
	Text  string // the second sentence; may be empty
	Links []Link
	Do    []Action // posted at once
}

// Flash is what happened on the page before, shown once.
type Flash struct {
	Tone Tone
	Text string
	Link Link // may be empty
}

// Stat is one number of the line of totals.
type Stat struct {
	Value string // formatted, with its unit: "94 d"
	Label string
	Href  string // opens the rows behind the number; empty where there are none
	Tone  Tone
}

// Chip is a filter or a choice that is a link, so that it works and can be
// shared without a script.
type Chip struct {
	Text  string
	Href  string // what the page shows once it is pressed
	Count string // may be empty
	On    bool   // holds now; pressing leads to the page without it
	Drop  bool   // drawn with a cross: pressing removes it
}

// Sort is a column heading that sorts.
type Sort struct {
	Text  string
	Href  string // empty: the column does not sort
	Dir   string // "ascending", "descending" or empty: aria-sort
	Num   bool   // numbers: set to the right
	Roomy bool   // stands only where there is room
}

// KV is one row of a list of names and values.
type KV struct {
	Key   string
	Value Text
	Mono  bool
	Copy  bool // with a button that copies the value
	Href  string
	Tag   Tag    // after the value; may be empty
	Note  string // after the value; may be empty
}

// Pager leads through a list by keyset: there is no number of pages, because
// rows come and go.
type Pager struct {
	Summary string // "1 to 50 of 2,842"
	Prev    Link   // empty at the beginning
	Next    Link   // empty at the end
}

// Empty is what stands where a list has nothing to show.
type Empty struct {
	Title string
	Text  string
	Links []Link
}

// Fresh is the pill that says what came since the list was drawn. It is asked
// for again every 20 s and never moves the list itself.
type Fresh struct {
	Poll string // the URL to ask; the answer's element of the same id replaces this one
	Text string // "3 new"; empty: nothing new
	Href string // the list, drawn anew
}

// Event is one line of an activity list.
type Event struct {
	Who  string   // the person, token or policy; may be empty
	Text string   // what was done: "redrove it: fix deployed"
	Note Text     // text from outside: a reason, a note as it was typed; may be empty
	Body Markdown // a note, in place of Note; may be empty
	When Time
	Link Link // may be empty
	Tone Tone
}

// Activity is what happened to a thing, newest first, and the form for a note.
type Activity struct {
	Events []Event
	More   Link      // to the rest; may be empty
	Note   *NoteForm // nil: the viewer may not write one
}

// NoteForm posts a note: field "note".
type NoteForm struct {
	CSRF   string
	Action string
	Hint   string // what a note may hold; may be empty
}

// Code is a block of text to copy, such as a command. It comes from the
// program itself.
type Code struct {
	ID    string // unique on the page
	Text  string
	Label string // what a screen reader calls it
}

// Markdown is a note or runbook that was rendered by goldmark and cleaned by
// bluemonday. It is the only HTML that is ever written as it stands.
type Markdown struct {
	SanitisedHTML string
}
