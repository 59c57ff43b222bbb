// Command samplepipeline runs the sample pipeline beside a dead letter office.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"dlo/cmd/samplepipeline/pipeline"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == pipeline.WorkerArgument {
		if err := pipeline.RunWorker(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "samplepipeline:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	options, err := pipeline.OptionsFrom(os.Args[1:], os.Getenv, os.Stderr)
	if err == nil {
		err = pipeline.Run(ctx, options, os.Stdout)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "samplepipeline:", err)
		os.Exit(1)
	}
}
