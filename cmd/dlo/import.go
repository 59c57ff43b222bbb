package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"dlo/dlq"
	"dlo/dlq/intake"
	"dlo/web"

	"golang.org/x/term"
)

const (
	importLines = 256     // envelopes that share a commit
	importBytes = 8 << 20 // of a batch; it is committed once it is as large
)

type importCommand struct {
	dataFlags
	Files      []string `arg:"" name:"file" help:"NDJSON, an envelope a line, plain or compressed with gzip or zstd; - is standard input." placeholder:"FILE"`
	Source     string   `help:"The source of envelopes that name none." placeholder:"NAME"`
	DryRun     bool     `help:"Say what would be refused, and store nothing."`
	MaxPayload int64    `default:"268435456" help:"Bytes of the largest payload that is taken." placeholder:"BYTES"`
}

// Run imports file after file. A file that is no NDJSON is said to be what it
// is, and the others are imported all the same.
func (c importCommand) Run(ctx context.Context) error {
	if c.Source != "" && !dlq.ValidSourceName(c.Source) {
		return fmt.Errorf("--source %q: 1 to 128 characters without control characters expected", c.Source)
	}
	return c.withStore(ctx, func(s *stores) error {
		in := intake.New(importStore{s.db}, s.payloads, time.Now, c.MaxPayload)
		if c.DryRun {
			in = intake.New(dryStore{importStore{s.db}}, dryPayloads{s.payloads}, time.Now, c.MaxPayload)
		}
		run := importRun{in: in, source: c.Source, dry: c.DryRun, out: os.Stderr, terminal: term.IsTerminal(int(os.Stderr.Fd()))}
		err := run.files(ctx, c.Files)
		if !c.DryRun && run.total.lines() > 0 {
			// What was taken is on the disk, whatever came after it.
			err = errors.Join(err, s.db.Audit(context.WithoutCancel(ctx), console(), "import", nil, "", run.total.detail()))
		}
		return err
	})
}

// importRun is one run of the command.
type importRun struct {
	in       *intake.Intake
	source   string
	dry      bool
	out      io.Writer // for people
	terminal bool      // out is one
	total    importCounts
}

// importCounts is what became of lines.
type importCounts struct{ parked, merged, duplicate, rejected int64 }

func (n importCounts) lines() int64 { return n.parked + n.merged + n.duplicate + n.rejected }

func (n *importCounts) add(o importCounts) {
	n.parked += o.parked
	n.merged += o.merged
	n.duplicate += o.duplicate
	n.rejected += o.rejected
}

func (n importCounts) detail() map[string]any {
	return map[string]any{"parked": n.parked, "merged": n.merged, "duplicate": n.duplicate, "rejected": n.rejected}
}

// sentence is the summary of a file, or of all.
func (n importCounts) sentence(dry bool) string {
	if dry {
		return fmt.Sprintf("%s read: %s would be taken, %s rejected; nothing was stored", lineCount(n.lines()), digits(n.parked), digits(n.rejected))
	}
	return fmt.Sprintf("%s read: %s parked, %s merged, %s duplicate, %s rejected", lineCount(n.lines()), digits(n.parked), digits(n.merged), digits(n.duplicate), digits(n.rejected))
}

func lineCount(n int64) string {
	if n == 1 {
		return "1 line"
	}
	return digits(n) + " lines"
}

// digits writes a number with separators.
func digits(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// files imports each, and ends with errFaults where anything was refused: each
// sentence was said by then.
func (r *importRun) files(ctx context.Context, names []string) error {
	faults := false
	for _, name := range names {
		counts, err := r.file(ctx, name)
		r.total.add(counts)
		if err != nil {
			fmt.Fprintf(r.out, "dlo: %s: %v\n", shownName(name), err)
			faults = true
		}
		faults = faults || counts.rejected > 0
		if ctx.Err() != nil {
			break
		}
	}
	if len(names) > 1 {
		fmt.Fprintf(r.out, "%d files: %s\n", len(names), r.total.sentence(r.dry))
	}
	if faults {
		return errFaults
	}
	return nil
}

func shownName(name string) string {
	if name == "-" {
		return "standard input"
	}
	return name
}

// file imports one, and says what became of it.
func (r *importRun) file(ctx context.Context, name string) (importCounts, error) {
	input, err := openImport(ctx, name)
	if err != nil {
		return importCounts{}, err
	}
	defer input.Close()
	rejects := rejectsFile{path: rejectsPath(name)}
	if !r.dry {
		if err := rejects.removeOld(); err != nil {
			return importCounts{}, err
		}
	}
	one := importFile{run: r, input: input, lines: linesOf(input), rejects: rejects, progress: newProgress(r.out, r.terminal, shownName(name), input)}
	err = one.read(ctx)
	one.progress.end()
	err = errors.Join(err, one.rejects.close())
	if one.counts.lines() > 0 || err == nil {
		fmt.Fprintf(r.out, "%s: %s\n", shownName(name), one.counts.sentence(r.dry))
	}
	if one.counts.rejected > 0 && one.rejects.file != nil {
		fmt.Fprintf(r.out, "%s: what was rejected, and why, stands in %s\n", shownName(name), one.rejects.path)
	}
	return one.counts, err
}

// linesOf are the lines of a file, each as long as an envelope may be.
func linesOf(r io.Reader) *web.Lines { return web.NewLines(r, dlq.MaxEnvelope) }

// importFile is one file on its way in.
type importFile struct {
	run      *importRun
	input    *importInput
	lines    *web.Lines
	batch    []web.Line
	size     int
	last     int // the last line of which is known what became
	counts   importCounts
	rejects  rejectsFile
	progress *progress
}

// read takes the file batch by batch. Whoever stops it, has the batch that was
// begun finished, and is told how to go on.
func (f *importFile) read(ctx context.Context) error {
	for ctx.Err() == nil && f.lines.Next() {
		line := f.lines.Line()
		f.batch, f.size = append(f.batch, line), f.size+len(line.Bytes)
		if len(f.batch) < importLines && f.size < importBytes {
			continue
		}
		if err := f.flush(); err != nil {
			return err
		}
	}
	if err := f.flush(); err != nil {
		return err
	}
	if ctx.Err() != nil && f.last == 0 {
		return errors.New("stopped before its first line was stored")
	}
	if ctx.Err() != nil {
		return fmt.Errorf("stopped after line %s; what was read until there is kept. Give the same command again to go on: what is here already counts as duplicate", digits(int64(f.last)))
	}
	if err := f.lines.Err(); err != nil {
		return fmt.Errorf("it breaks off after line %s: %w. What was read until there is kept", digits(int64(f.last)), f.input.broken(err))
	}
	return nil
}

// flush stores what was gathered, in one commit that a signal does not cut off.
func (f *importFile) flush() error {
	if len(f.batch) == 0 {
		return nil
	}
	parcels := make([]intake.Parcel, 0, len(f.batch))
	for _, line := range f.batch {
		if line.Err == nil {
			parcels = append(parcels, intake.Parcel{Body: line.Bytes, Source: f.run.source, Repeatable: true})
		}
	}
	results := f.run.in.ReceiveBatch(context.Background(), console(), parcels)
	next := 0
	for _, line := range f.batch {
		refusal := line.Err
		if refusal == nil {
			r := results[next]
			next++
			f.count(r)
			refusal = r.Err
		}
		if refusal != nil {
			if !ofTheLine(refusal) {
				return fmt.Errorf("line %s could not be stored: %w. What came before it is kept; give the same command again to go on", digits(int64(line.Number)), refusal)
			}
			f.counts.rejected++
			if err := f.reject(line, refusal); err != nil {
				return err
			}
		}
		f.last = line.Number
	}
	f.batch, f.size = f.batch[:0], 0
	f.progress.moved(f.counts.lines())
	return nil
}

func (f *importFile) count(r intake.Result) {
	switch {
	case r.Err != nil:
	case r.Receipt.Duplicate:
		f.counts.duplicate++
	case r.Receipt.Created:
		f.counts.parked++
	default:
		f.counts.merged++
	}
}

// dryRejects is how many refusals a run that stores nothing spells out.
const dryRejects = 20

// reject keeps a line that was refused, or says why where nothing is kept.
func (f *importFile) reject(line web.Line, refusal error) error {
	if !f.run.dry {
		return f.rejects.write(line, refusal)
	}
	switch {
	case f.counts.rejected <= dryRejects:
		// What stood in the line may steer a terminal.
		f.progress.say("line " + digits(int64(line.Number)) + ": " + web.VisibleText(refusalText(refusal)))
	case f.counts.rejected == dryRejects+1:
		f.progress.say("further lines are rejected, and only counted here")
	}
	return nil
}

// refusalText is a refusal in one line, with each of its faults once.
func refusalText(refusal error) string {
	var e *dlq.Error
	if errors.As(refusal, &e) && len(e.Faults) == 1 && e.Faults[0].Pointer == "" {
		return e.Message
	}
	return faultSentence(refusal).Error()
}

// ofTheLine says that a refusal is the line's own, and not ours.
func ofTheLine(err error) bool {
	switch dlq.KindOf(err) {
	case dlq.KindMalformed, dlq.KindInvalid, dlq.KindTooLarge:
		return true
	}
	return false
}

// rejectsPath is where the rejects of a file stand: beside it.
func rejectsPath(name string) string {
	if name == "-" {
		return "stdin.rejected.ndjson"
	}
	return name + ".rejected.ndjson"
}

// rejectsFile is written once there is something to write. That of an earlier
// run is gone by then: the same lines are refused again.
type rejectsFile struct {
	path string
	file *os.File
}

// rejectedLine is a row of it.
type rejectedLine struct {
	Line     int             `json:"line"`
	Problem  rejectedProblem `json:"problem"`
	Original string          `json:"original"`
	// Encoding is base64 where the line is no UTF-8; else it is not there.
	Encoding string `json:"original_encoding,omitempty"`
}

type rejectedProblem struct {
	Detail string      `json:"detail"`
	Errors []dlq.Fault `json:"errors,omitempty"`
}

// removeOld takes away what an earlier run kept: were nothing refused this time,
// it would say of lines that are taken that they were not.
func (r *rejectsFile) removeOld() error {
	if err := os.Remove(r.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the rejects of an earlier run cannot be removed: %w. Nothing was read", err)
	}
	return nil
}

func (r *rejectsFile) write(line web.Line, refusal error) error {
	if r.file == nil {
		// A document's failure may be private: for its owner alone.
		file, err := os.OpenFile(r.path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
		if err != nil {
			return fmt.Errorf("rejects cannot be kept beside it: %w. What came before line %s is kept", err, digits(int64(line.Number)))
		}
		r.file = file
	}
	row := rejectedLine{Line: line.Number, Problem: rejectedProblem{Detail: refusal.Error()}, Original: string(line.Bytes)}
	var e *dlq.Error
	if errors.As(refusal, &e) {
		row.Problem = rejectedProblem{importWords(e.Message), importFaults(e.Faults)}
	}
	if !utf8.Valid(line.Bytes) {
		row.Original, row.Encoding = base64.StdEncoding.EncodeToString(line.Bytes), "base64"
	}
	b, err := json.Marshal(row)
	if err != nil {
		return fmt.Errorf("write the rejects: %w", err)
	}
	if _, err := r.file.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("write the rejects: %w", err)
	}
	return nil
}

func (r *rejectsFile) close() error {
	if r.file == nil {
		return nil
	}
	if err := r.file.Close(); err != nil {
		return fmt.Errorf("write the rejects: %w", err)
	}
	return nil
}

// importWords are a refusal's words for somebody who imports a file: nothing of
// it is kept with the source, and there is no token.
func importWords(message string) string {
	return strings.Replace(message, "nothing was stored but a copy under the source's rejected envelopes", "nothing of the line was stored", 1)
}

func importFaults(faults []dlq.Fault) []dlq.Fault {
	out := slices.Clone(faults)
	for i := range out {
		if out[i].Pointer == "/source" {
			out[i].Detail = strings.Replace(out[i].Detail, "because this token is not bound to one", "in the line or by --source", 1)
		}
	}
	return out
}
