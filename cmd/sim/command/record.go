package command

import (
	"context"
	"fmt"
	"os"
	"strings"

	"triad/cmd/sim/runs"
	"triad/shared/sim"
)

// The files of the repository that a record goes to.
const (
	records = "docs/runs.json"
	proof   = "docs/proof.md"
)

// chunk is how many seeds are recorded together: what an interruption loses.
const chunk = 20_000

// record runs seeds and writes down what they came to, chunk by chunk, violations
// included.
func (a *asked) record(ctx context.Context, samples []sim.Sample) error {
	if at := commit(); len(at) != 12 {
		return fmt.Errorf("-record: the commit is %s, so nobody could repeat the run: commit first, and build with -buildvcs=true", at)
	}
	if _, err := os.Stat(proof); err != nil {
		return fmt.Errorf("-record: %w: run it at the root of the repository", err)
	}
	var found []string
	for already := uint64(0); already < a.seeds; already += chunk {
		c := corpus{
			options: a.options, from: a.from + already, seeds: min(chunk, a.seeds-already), parallel: a.parallel, keep: true,
			done: a.progress(already),
		}
		s := c.run(ctx, samples)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("seeds from %d on are not recorded: %w", c.from, err)
		}
		r := s.run()
		found = append(found, r.Violations...)
		if err := keep(r); err != nil {
			return err
		}
	}
	if len(found) > 0 {
		return fmt.Errorf("%d violations, recorded too:\n%s", len(found), strings.Join(found, "\n"))
	}
	return nil
}

// run is a summary as it is recorded.
func (s *summary) run() runs.Run {
	r := runs.Run{Commit: s.Commit, From: s.From, Seconds: s.Seconds, Hash: s.Hash}
	r.Count(&s.Tally)
	for _, v := range s.Violated {
		r.Violations = append(r.Violations, fmt.Sprintf("%s: %s", v.Options, v.Violation.Rule))
	}
	return r
}

// keep adds a run to the file and the page.
func keep(r runs.Run) error {
	all, err := runs.Load(records)
	if err != nil {
		return err
	}
	if all, err = runs.Add(all, r); err != nil {
		return err
	}
	if err := runs.Save(records, all); err != nil {
		return err
	}
	return runs.Part.Write(proof, runs.Table(all))
}
