// Command sim runs the engine under the simulator: one seed with its trace, or
// many with a table. Package shared/sim explains the method.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"triad/shared/sim"
	"triad/workflows"
)

func main() {
	var c config
	flag.Uint64Var(&c.seed, "seed", 0, "run this seed alone, and show what happened")
	flag.Uint64Var(&c.seeds, "seeds", 0, "run so many seeds")
	flag.Uint64Var(&c.from, "from", 1, "the first of the seeds")
	flag.IntVar(&c.tasks, "tasks", 0, "so many tasks, and not those that the seed draws")
	flag.StringVar(&c.without, "without", "", "leave out these faults, a list with commas")
	flag.BoolVar(&c.calm, "calm", false, "leave out all faults")
	flag.BoolVar(&c.json, "json", false, "write the result as JSON")
	flag.BoolVar(&c.keepGoing, "keep-going", false, "go on after a violation")
	flag.IntVar(&c.lines, "lines", 60, "how many lines of a trace are shown")
	flag.IntVar(&c.parallel, "parallel", runtime.GOMAXPROCS(0), "how many seeds run at once")
	flag.Parse()
	debug.SetGCPercent(800) // a run lives for milliseconds, and memory is not short
	if err := c.run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type config struct {
	seed, seeds, from      uint64
	tasks, lines, parallel int
	without                string
	calm, json, keepGoing  bool
}

// summary is the result of many seeds.
type summary struct {
	Commit    string     `json:"commit"`
	From      uint64     `json:"from"`
	Seconds   float64    `json:"seconds"`
	PerSecond float64    `json:"seedsPerSecond"`
	Violated  []violated `json:"violations"`
	Tally     sim.Tally  `json:"tally"`
	Missing   []string   `json:"missing"`
}

type violated struct {
	Options   sim.Options    `json:"options"`
	Violation *sim.Violation `json:"violation"`
}

func (c *config) options() (sim.Options, error) {
	o := sim.Options{Seed: c.seed, Tasks: c.tasks, Calm: c.calm}
	for _, name := range strings.Split(c.without, ",") {
		var f sim.Fault
		if name == "" {
			continue
		}
		if err := f.UnmarshalText([]byte(name)); err != nil {
			return o, err
		}
		o.Without = append(o.Without, f)
	}
	return o, nil
}

func (c *config) run() error {
	samples, err := sim.Samples(workflows.FS)
	if err != nil {
		return err
	}
	o, err := c.options()
	if err != nil {
		return err
	}
	if c.seeds == 0 {
		return c.one(o, samples)
	}
	return c.many(o, samples)
}

// one runs a single seed and prints its trace.
func (c *config) one(o sim.Options, samples []sim.Sample) error {
	o.Trace = true
	r := sim.Run(o, samples)
	if r.Violation == nil {
		fmt.Printf("%s: no violation; hash %016x, commit %s, faults %v\n", o, r.Hash, commit(), r.Faults)
		return r.Tally.Print(os.Stdout)
	}
	return c.report(r)
}

// report prints a violation with what leads to it.
func (c *config) report(r sim.Result) error {
	for _, l := range r.Violation.About(c.lines) {
		fmt.Println(l)
	}
	fmt.Printf("\nmake sim %s   (commit %s, faults %v, %d tasks)\n", r.Options, commit(), r.Faults, r.Tally.Tasks)
	return r.Violation
}

// many runs seeds on all processors.
func (c *config) many(o sim.Options, samples []sim.Sample) error {
	s := summary{Commit: commit(), From: c.from}
	began := time.Now()
	var mu sync.Mutex // guards s
	var next, done atomic.Uint64
	var stop atomic.Bool
	var all sync.WaitGroup
	for range c.parallel {
		all.Go(func() {
			var mine sim.Tally
			for !stop.Load() {
				n := next.Add(1) - 1
				if n >= c.seeds {
					break
				}
				o := o
				o.Seed = c.from + n
				r := sim.Run(o, samples)
				mine.Add(&r.Tally)
				c.progress(done.Add(1), began)
				if r.Violation != nil {
					mu.Lock()
					s.Violated = append(s.Violated, violated{r.Options, r.Violation})
					mu.Unlock()
					stop.Store(!c.keepGoing)
				}
			}
			mu.Lock()
			s.Tally.Add(&mine)
			mu.Unlock()
		})
	}
	all.Wait()
	s.Seconds = time.Since(began).Seconds()
	s.PerSecond = float64(s.Tally.Seeds) / s.Seconds
	s.Missing = s.Tally.Missing()
	return c.finish(&s, samples)
}

func (c *config) progress(done uint64, began time.Time) {
	if every := max(c.seeds/20, 1); done%every == 0 && !c.json {
		fmt.Fprintf(os.Stderr, "%d of %d seeds, %.0f/s\n", done, c.seeds, float64(done)/time.Since(began).Seconds())
	}
}

func (c *config) finish(s *summary, samples []sim.Sample) error {
	if c.json {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		if err := enc.Encode(s); err != nil {
			return err
		}
	} else {
		if err := s.Tally.Print(os.Stdout); err != nil {
			return err
		}
		fmt.Printf("\n%d seeds from %d in %.1f s (%.0f/s), commit %s, %d violations\n",
			s.Tally.Seeds, s.From, s.Seconds, s.PerSecond, s.Commit, len(s.Violated))
		for _, m := range s.Missing {
			fmt.Println("not reached:", m)
		}
	}
	if len(s.Violated) == 0 {
		return nil
	}
	for _, v := range s.Violated {
		fmt.Fprintf(os.Stderr, "%s: %s\n", v.Options, v.Violation.Rule)
	}
	if c.json {
		return s.Violated[0].Violation
	}
	return c.report(sim.Shrink(s.Violated[0].Options, samples))
}

// commit is the commit that the program was built from.
func commit() string {
	revision, changed := "unknown", ""
	if info, known := debug.ReadBuildInfo(); known {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				revision = s.Value[:min(len(s.Value), 12)]
			case s.Key == "vcs.modified" && s.Value == "true":
				changed = ", changed"
			}
		}
	}
	return revision + changed
}
