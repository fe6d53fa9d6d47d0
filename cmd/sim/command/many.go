package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"triad/cmd/sim/runs"
	"triad/shared/sim"
)

// summary is the result of many seeds.
type summary struct {
	Commit    string      `json:"commit"`
	From      uint64      `json:"from"`
	Seconds   float64     `json:"seconds"`
	PerSecond float64     `json:"seedsPerSecond"`
	Hash      runs.Hash   `json:"hash"` // the sum of those of the seeds
	Violated  []violation `json:"violations"`
	Tally     sim.Tally   `json:"tally"`
	Missing   []string    `json:"missing"`
}

type violation struct {
	Options   sim.Options    `json:"options"`
	Violation *sim.Violation `json:"violation"`
}

// corpus is a number of seeds, one after the other, on some processors.
type corpus struct {
	options     sim.Options // of each, but for the seed
	from, seeds uint64
	parallel    int
	keep        bool               // go on after a violation
	done        func(seeds uint64) // is told after each, of one at a time
	next        atomic.Uint64
	stop        atomic.Bool

	mu       sync.Mutex // guards what follows
	finished uint64
	summary
}

// run runs them, until ctx ends.
func (c *corpus) run(ctx context.Context, samples []sim.Sample) *summary {
	c.Commit, c.From = commit(), c.from
	began := time.Now()
	var all sync.WaitGroup
	for range c.parallel {
		all.Go(func() { c.work(ctx, samples) })
	}
	all.Wait()
	c.Seconds = time.Since(began).Seconds()
	c.PerSecond = float64(c.Tally.Seeds) / c.Seconds
	c.Missing = c.Tally.Missing()
	slices.SortFunc(c.Violated, func(a, b violation) int { return cmp.Compare(a.Options.Seed, b.Options.Seed) })
	return &c.summary
}

// work takes seed after seed.
func (c *corpus) work(ctx context.Context, samples []sim.Sample) {
	var tally sim.Tally
	var hash runs.Hash
	for !c.stop.Load() && ctx.Err() == nil {
		n := c.next.Add(1) - 1
		if n >= c.seeds {
			break
		}
		o := c.options
		o.Seed = c.from + n
		r := sim.Run(o, samples)
		tally.Add(&r.Tally)
		hash += runs.Hash(r.Hash)
		c.finish(r)
	}
	c.mu.Lock()
	c.Tally.Add(&tally)
	c.Hash += hash
	c.mu.Unlock()
}

// finish takes down that a seed is done.
func (c *corpus) finish(r sim.Result) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finished++
	c.done(c.finished)
	if r.Violation != nil {
		c.Violated = append(c.Violated, violation{r.Options, r.Violation})
		c.stop.Store(!c.keep)
	}
}

// many runs seeds and tells what they came to.
func (a *asked) many(ctx context.Context, samples []sim.Sample) error {
	c := corpus{options: a.options, from: a.from, seeds: a.seeds, parallel: a.parallel, keep: a.keep, done: a.progress(0)}
	s := c.run(ctx, samples)
	tell := s.print
	if a.json {
		tell = s.encode
	}
	if err := tell(a.stdout); err != nil {
		return err
	}
	for _, v := range s.Violated {
		fmt.Fprintf(a.stderr, "%s: %s\n", v.Options, v.Violation.Rule)
	}
	switch {
	case len(s.Violated) > 0 && a.json:
		return s.Violated[0].Violation
	case len(s.Violated) > 0:
		return a.show(sim.Shrink(s.Violated[0].Options, samples))
	}
	return ctx.Err()
}

// progress tells how far a run is that has begun with so many seeds, 20 times.
func (a *asked) progress(already uint64) func(uint64) {
	began, every := time.Now(), max(a.seeds/20, 1)
	return func(seeds uint64) {
		if done := already + seeds; done%every == 0 {
			fmt.Fprintf(a.stderr, "%d of %d seeds, %.0f/s\n", done, a.seeds, float64(seeds)/time.Since(began).Seconds())
		}
	}
}

func (s *summary) encode(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(s)
}

func (s *summary) print(w io.Writer) error {
	if err := s.Tally.Print(w); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%d seeds from %d in %.1f s (%.0f/s), hash %016x, commit %s, %d violations\n",
		s.Tally.Seeds, s.From, s.Seconds, s.PerSecond, uint64(s.Hash), s.Commit, len(s.Violated))
	for _, m := range s.Missing {
		fmt.Fprintln(w, "not reached:", m)
	}
	return nil
}
