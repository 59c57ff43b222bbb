package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	progressWidth = 28
	progressEvery = 200 * time.Millisecond // on a terminal
	progressPlain = 30 * time.Second       // elsewhere, such as in a log
)

// progress shows how far a file is: a bar on a terminal that is drawn over, else
// a line now and then.
type progress struct {
	out      io.Writer
	terminal bool
	name     string
	input    *importInput
	began    time.Time
	drawn    time.Time
	shown    bool // a bar stands on the terminal's line
}

func newProgress(out io.Writer, terminal bool, name string, input *importInput) *progress {
	now := time.Now()
	return &progress{out: out, terminal: terminal, name: name, input: input, began: now, drawn: now}
}

// moved tells how many lines were read.
func (p *progress) moved(lines int64) {
	every := progressPlain
	if p.terminal {
		every = progressEvery
	}
	if time.Since(p.drawn) < every {
		return
	}
	p.drawn = time.Now()
	text := barOf(p.input.read.Load(), p.input.size, lines, time.Since(p.began))
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%s", text)
		p.shown = true
		return
	}
	fmt.Fprintf(p.out, "%s: %s\n", p.name, text)
}

// say writes a line that stays.
func (p *progress) say(text string) {
	p.end()
	fmt.Fprintf(p.out, "%s: %s\n", p.name, text)
}

// end takes the bar off.
func (p *progress) end() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = false
	}
}

// barOf is the bar with its numbers; without a size, the numbers alone.
func barOf(read, size, lines int64, took time.Duration) string {
	rate := int64(0)
	if seconds := took.Seconds(); seconds >= 1 {
		rate = int64(float64(lines) / seconds)
	}
	text := lineCount(lines)
	if rate > 0 {
		text += ", " + digits(rate) + "/s"
	}
	if size <= 0 {
		return text
	}
	full := int(min(read, size) * progressWidth / size)
	return fmt.Sprintf("[%s%s] %3d %%  %s", strings.Repeat("=", full), strings.Repeat(" ", progressWidth-full), min(read, size)*100/size, text)
}
