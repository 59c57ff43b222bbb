// Command bench measures what the product promises of its speed, as ratios
// within one run: absolute figures differ from one machine to the next. Each
// subcommand builds its own data, prints its ratio last, recounts every counter
// afterwards, and ends with 1 below its bound.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"

	"github.com/alecthomas/kong"
)

type commands struct {
	Commit  commitBench  `cmd:"" help:"Group commit: against no syncing at all (P1), and against one by one (P2)."`
	Queries queriesBench `cmd:"" help:"Every question of a screen: with ten times the entries (P5), against a GROUP BY (P6), and at the 95th percentile (P7)."`
	Redrive redriveBench `cmd:"" help:"Preparing a redrive and draining it, both while arrivals saturate (P10, P11)."`
	Faults  faultsBench  `cmd:"" help:"Redrives to a target that fails in every way, while the runner is stopped again and again: nothing is lost, nothing committed twice."`
	Start   startBench   `cmd:"" help:"Time to the first answer on an empty folder, and memory when idle."`
	All     allBench     `cmd:"" help:"All of them."`

	Profile string `help:"Write a profile of the processor's time into this file."`
}

// scale is how much data is built.
type scale struct {
	Scale string `default:"small" enum:"small,full" help:"small: 58,400 and 584,000 entries; full: ten times that."`
}

// entries are the two sizes that growth is measured between.
func (s scale) entries() (small, large int) {
	if s.Scale == "full" {
		return 584_000, 5_840_000
	}
	return 58_400, 584_000
}

type allBench struct{ scale }

// Run measures everything, and says at the end whether anything was below its
// bound.
func (b allBench) Run(ctx context.Context) error {
	var failed []string
	for _, bench := range []struct {
		name string
		run  func(context.Context) error
	}{{"start", startBench{}.Run}, {"commit", commitBench(b).Run}, {"queries", queriesBench{scale: b.scale}.Run}, {"redrive", redriveBench{scale: b.scale}.Run}} {
		if err := bench.run(ctx); err != nil {
			fmt.Println(err)
			failed = append(failed, bench.name)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("below their bounds: %v", failed)
	}
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var c commands
	k := kong.Parse(&c, kong.Name("bench"), kong.BindTo(ctx, (*context.Context)(nil)))
	if err := profiled(c.Profile, k.Run); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// profiled runs a measurement under the profiler, if there is a file for it.
func profiled(file string, run func(...any) error) error {
	if file == "" {
		return run()
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return errors.Join(err, f.Close())
	}
	err = run()
	pprof.StopCPUProfile()
	return errors.Join(err, f.Close())
}
