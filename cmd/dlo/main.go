// Command dlo is the Dead Letter Office: one static binary that serves it, and
// the subcommands that work beside a running server.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// commands is the whole command line. Every flag can also be set in the
// environment, as DLO_ and its name.
type commands struct {
	Serve   serveCommand   `cmd:"" help:"Run the server."`
	Demo    demoCommand    `cmd:"" help:"Run the server with a real sample pipeline, its documents and three users."`
	Migrate migrateCommand `cmd:"" help:"Bring the database to the current schema."`
	User    userCommand    `cmd:"" help:"Add and change people."`
	Token   tokenCommand   `cmd:"" help:"Create, list and revoke tokens of programs."`
	Source  sourceCommand  `cmd:"" help:"Apply and show the policies of sources."`
	List    listCommand    `cmd:"" help:"List documents, and say how many match."`
	Show    showCommand    `cmd:"" help:"Show a document, a cohort or an operation."`
	Redrive redriveCommand `cmd:"" help:"Send documents back to their pipelines; the server carries it on."`
	Pause   pauseCommand   `cmd:"" help:"Pause all redrives, those of a source, or one operation."`
	Resume  resumeCommand  `cmd:"" help:"Resume all redrives, those of a source, or one operation."`
	Export  exportCommand  `cmd:"" help:"Write every document of a query to standard output, as NDJSON or CSV."`
	Import  importCommand  `cmd:"" help:"Park the envelopes of files of NDJSON, as a pipeline would."`
	Target  targetCommand  `cmd:"" help:"Check that a redrive target keeps its promises."`
	Sweep   sweepCommand   `cmd:"" help:"Do one sweep now, and print what each step did."`
	Check   checkCommand   `cmd:"" help:"Check database, payloads, counters and audit trail."`
	Audit   auditCommand   `cmd:"" help:"Print the head of the audit trail, or verify it."`
	Version versionCommand `cmd:"" help:"Print the version."`

	SamplePipeline samplePipelineCommand `cmd:"" hidden:"" help:"The sample pipeline of the demo, as a process of its own."`

	SamplePipelineWorker samplePipelineWorkerCommand `cmd:"" hidden:"" help:"A worker of the sample pipeline, as a process of its own."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c commands
	parser, err := kong.New(&c, kong.Name("dlo"), kong.Description("Dead Letter Office: where documents wait that a pipeline could not process."),
		kong.DefaultEnvars("DLO"), kong.UsageOnError(), kong.Exit(exit), kong.BindTo(ctx, (*context.Context)(nil)))
	if err != nil {
		fail(err)
	}
	k, err := parser.Parse(os.Args[1:])
	parser.FatalIfErrorf(err)
	if err := k.Run(); err != nil {
		fail(err)
	}
}

// errFaults ends the program with 1 after its output has said why.
var errFaults = errors.New("faults were found")

func fail(err error) {
	if !errors.Is(err, errFaults) {
		fmt.Fprintln(os.Stderr, "dlo:", err)
	}
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		os.Exit(coded.ExitCode())
	}
	os.Exit(1)
}

// exitUsage says that what was typed makes no sense; 1 is for what was refused.
const exitUsage = 2

// exit ends the program as kong wants, with the code that others use where the
// command line could not be read.
func exit(code int) {
	if code > 1 {
		code = exitUsage
	}
	os.Exit(code)
}
