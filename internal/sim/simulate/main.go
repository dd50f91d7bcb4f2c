// Command simulate plays episodes of nod until a guarantee breaks: see package
// nod/internal/sim.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"time"

	"nod/internal/sim"
)

func main() { os.Exit(run()) }

func run() int {
	turns := flag.Int("turns", 10_000, "how many turns")
	seed := flag.Uint64("seed", 1, "where to begin")
	trace := flag.Bool("trace", false, "tell what happens in the episode of the seed")
	small := flag.Bool("small", true, "shrink the script of a failure")
	without := flag.String("without", "", "a rule that is not looked at")
	profile := flag.String("profile", "", "write a profile of the processor here")
	flag.Parse()
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(800) // a world is small, and soon gone
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		defer func() { _ = f.Close() }()
		_ = pprof.StartCPUProfile(f)
		defer pprof.StopCPUProfile()
	}
	if *trace {
		if rule, what := sim.Trace(*seed, os.Stdout, *small); rule != "" {
			fmt.Printf("%s: %s\n", rule, what)
			return 1
		}
		return 0
	}
	begun := time.Now()
	r, err := sim.Run(sim.Options{Seed: *seed, Turns: *turns, Small: *small, Without: *without})
	took := time.Since(begun)
	fmt.Printf("%d turns in %d episodes, %d events, %.0f turns/s\n", r.Turns, r.Episodes, r.Steps, float64(r.Turns)/took.Seconds())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if r.Rule == "" {
		return 0
	}
	fmt.Printf("seed %d\n%s: %s\n%s\n", r.Seed, r.Rule, r.What, r.Path)
	return 1
}
