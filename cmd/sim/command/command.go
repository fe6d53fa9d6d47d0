// Package command is the command line of the simulator: what it is asked, and what
// it tells.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"triad/shared/sim"
	"triad/workflows"
)

// The codes that Run returns.
const (
	held     = 0
	violated = 1 // or could not be run
	misused  = 2
)

const usage = `Run the engine in simulated worlds: one seed with what happened, or many with a table.

Examples:

  sim -seed 326                        one seed, and what happened
  sim -seeds 10000 -from 1             many, on all processors
  sim -seeds 10000 -json               the same for programs
  sim -seeds 1000000 -from 1 -record   many, recorded in docs/runs.json and docs/proof.md

Flags:
`

// asked is what the arguments say.
type asked struct {
	seed, seeds, from       uint64
	tasks, lines, parallel  int
	without                 string
	calm, json, keep, write bool

	options sim.Options // of a single seed
	stdout  io.Writer
	stderr  io.Writer
}

// Run runs the seeds that args ask for, and returns the exit code: 0 when every
// invariant held, 1 when one did not, 2 for wrong arguments.
func Run(ctx context.Context, stdout, stderr io.Writer, args []string) (code int) {
	a := asked{stdout: stdout, stderr: stderr}
	flags := flag.NewFlagSet("sim", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, usage)
		flags.PrintDefaults()
	}
	flags.Uint64Var(&a.seed, "seed", 0, "run this seed alone, and show what happened")
	flags.Uint64Var(&a.seeds, "seeds", 0, "run so many seeds")
	flags.Uint64Var(&a.from, "from", 1, "the first of the seeds")
	flags.IntVar(&a.tasks, "tasks", 0, "so many tasks, and not those that the seed draws")
	flags.StringVar(&a.without, "without", "", "leave out these faults, a list with commas")
	flags.BoolVar(&a.calm, "calm", false, "leave out all faults")
	flags.BoolVar(&a.json, "json", false, "write the result as JSON")
	flags.BoolVar(&a.keep, "keep-going", false, "go on after a violation")
	flags.BoolVar(&a.write, "record", false, "record the run in "+records+" and show it in "+proof)
	flags.IntVar(&a.lines, "lines", 60, "how many lines of a trace are shown")
	flags.IntVar(&a.parallel, "parallel", runtime.GOMAXPROCS(0), "how many seeds run at once")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return held
	} else if err != nil {
		return misused
	}
	if err := a.check(flags.NArg()); err != nil {
		fmt.Fprintln(stderr, "sim:", err)
		return misused
	}
	if err := a.run(ctx); err != nil {
		fmt.Fprintln(stderr, "sim:", err)
		return violated
	}
	return held
}

// check says what is wrong with the arguments.
func (a *asked) check(left int) error {
	a.options = sim.Options{Seed: a.seed, Tasks: a.tasks, Calm: a.calm}
	for _, name := range strings.Split(a.without, ",") {
		var f sim.Fault
		if name == "" {
			continue
		}
		if err := f.UnmarshalText([]byte(name)); err != nil {
			return fmt.Errorf("-without: %w", err)
		}
		a.options.Without = append(a.options.Without, f)
	}
	switch {
	case left > 0:
		return errors.New("only flags are taken")
	case a.seeds > 0 && a.seed > 0:
		return errors.New("-seed and -seeds: give one of them")
	case a.parallel < 1:
		return fmt.Errorf("-parallel is %d: at least 1", a.parallel)
	case a.write && (a.seeds == 0 || a.tasks > 0 || a.calm || a.without != ""):
		return errors.New("-record goes with -seeds, and with everything that they draw")
	}
	return nil
}

func (a *asked) run(ctx context.Context) error {
	samples, err := sim.Samples(workflows.FS)
	switch {
	case err != nil:
		return err
	case a.write:
		return a.record(ctx, samples)
	case a.seeds > 0:
		return a.many(ctx, samples)
	}
	return a.one(samples)
}

// one runs a single seed and prints its trace.
func (a *asked) one(samples []sim.Sample) error {
	o := a.options
	o.Trace = true
	r := sim.Run(o, samples)
	if r.Violation == nil {
		fmt.Fprintf(a.stdout, "%s: no violation; hash %016x, commit %s, faults %v\n", o, r.Hash, commit(), r.Faults)
		return r.Tally.Print(a.stdout)
	}
	return a.show(r)
}

// show prints a violation with what leads to it, and returns it.
func (a *asked) show(r sim.Result) error {
	for _, l := range r.Violation.About(a.lines) {
		fmt.Fprintln(a.stdout, l)
	}
	fmt.Fprintf(a.stdout, "\nmake sim %s   (commit %s, faults %v, %d tasks)\n", r.Options, commit(), r.Faults, r.Tally.Tasks)
	return r.Violation
}

// changed follows a commit from which the program that was built differs.
const changed = ", changed"

// commit is the commit that the program was built from.
func commit() string {
	revision, also := "unknown", ""
	if info, known := debug.ReadBuildInfo(); known {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				revision = s.Value[:min(len(s.Value), 12)]
			case s.Key == "vcs.modified" && s.Value == "true":
				also = changed
			}
		}
	}
	return revision + also
}
