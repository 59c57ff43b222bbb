package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"dlo/dlq"
	"dlo/dlq/sweep"
	"dlo/handlers"
	"dlo/web"
)

// The commands of whoever is on call and has a terminal in place of a browser.
// They work on the data folder beside a running server, which carries on what they
// start.

// errUsage ends the program with 2: what was typed makes no sense.
type errUsage struct{ error }

// ExitCode is what the program ends with.
func (errUsage) ExitCode() int { return exitUsage }

func usage(format string, args ...any) error { return errUsage{fmt.Errorf(format, args...)} }

// onCall is who acts: whoever is signed in to the machine, by their name there.
func onCall() dlq.Actor {
	name := "command line"
	if u, err := user.Current(); err == nil && u.Username != "" {
		name += " (" + web.VisibleText(u.Username) + ")"
	}
	return dlq.Policy(name)
}

// serverRuns says whether a server carries on what is started here. It takes the
// folder's lock for a moment where it is free.
func (f dataFlags) serverRuns() (bool, error) {
	unlock, err := lockFolder(filepath.Join(f.Data, "LOCK"))
	if errors.Is(err, errLocked) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, unlock()
}

const noServer = "No server runs on this data folder; it goes on when one does."

// readQuery reads a query as it was typed.
func readQuery(text string) (dlq.Query, error) {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return dlq.Query{}, usage("--query: text in UTF-8 without NUL expected")
	}
	q, bad := dlq.ParseQuery(text)
	if len(bad) > 0 {
		return q, errUsage{fmt.Errorf("--query %q: %w", text, faultSentence(dlq.QueryError(bad)))}
	}
	return q, nil
}

// caughtUp brings the text index to where a query needs it, where no server does.
func caughtUp(ctx context.Context, s *stores, q dlq.Query) error {
	if s.db.TextIsBehind(ctx, q) == nil {
		return nil
	}
	_, err := (&sweep.TextIndexer{Store: s.db}).RunOnce(ctx)
	return err
}

// answers gives what the API answers, for --json.
func answers(s *stores) *handlers.Handlers { return &handlers.Handlers{Store: s.db, Now: time.Now} }

func writeJSON(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	return out.Encode(v)
}

// screenWidth is what every line for people fits in.
const screenWidth = 80

// cell makes a text of others safe for a terminal, and so many characters wide.
func cell(text string, width int) string {
	text = oneLine(text)
	if n := utf8.RuneCountInString(text); n <= width {
		return text + strings.Repeat(" ", width-n)
	}
	return string([]rune(text)[:width-1]) + "…"
}

// oneLine makes what cannot be seen visible, so that a document's name moves no
// cursor and colours no screen.
func oneLine(text string) string {
	return web.VisibleText(strings.Join(strings.Fields(text), " "))
}

// field writes a line of a name and a value, and what does not fit in lines below.
func field(w io.Writer, name, value string) {
	if value == "" {
		return
	}
	const indent = 14
	for rest := []rune(oneLine(value)); len(rest) > 0; name = "" {
		n := min(len(rest), screenWidth-indent)
		if n < len(rest) {
			if space := strings.LastIndexByte(string(rest[:n+1]), ' '); space > 0 {
				n = utf8.RuneCountInString(string(rest[:n+1])[:space]) + 1
			}
		}
		fmt.Fprintf(w, "%-*s%s\n", indent, name, strings.TrimRight(string(rest[:n]), " "))
		rest = rest[n:]
	}
}

// utc writes a moment to the minute; the zero time is a dash.
func utc(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04") + " UTC"
}

// thousands writes a number with separators.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func documentsOf(n int64) string {
	if n == 1 {
		return "1 document"
	}
	return thousands(n) + " documents"
}

// print writes what was gathered to standard output at once.
func print(b *strings.Builder) error {
	_, err := os.Stdout.WriteString(b.String())
	return err
}
