package sim

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"triad/shared/task"
)

// Result is what a run came to.
type Result struct {
	Options Options
	// Violation is nil when every invariant held.
	Violation *Violation
	// Hash is the same for the same Options, and tells runs apart.
	Hash  uint64
	Tally Tally
	// Faults are those that the seed enabled.
	Faults []Fault
	// Calls is how many calls of ports there were, for Strikes.
	Calls int
	// History has every call of the table, if Options.History is set.
	History []Call
}

// Violation is an invariant that did not hold.
type Violation struct {
	// Rule begins with the number of the invariant in docs/proof.md.
	Rule string `json:"rule"`
	// Task is the task it is about, empty if about none.
	Task   task.ID `json:"task,omitempty"`
	Detail string  `json:"detail"`
	// At is when, from the begin of the run.
	At time.Duration `json:"atNs"`
	// Trace is what happened, if Options.Trace is set.
	Trace []string `json:"-"`
}

// Error tells rule, task and detail.
func (v *Violation) Error() string {
	return fmt.Sprintf("%s: task %q at %v: %s", v.Rule, v.Task, v.At, v.Detail)
}

// About are the lines of the trace that have to do with the violation's task, at
// most the last n.
func (v *Violation) About(n int) []string {
	var lines []string
	for _, l := range v.Trace {
		if v.Task == "" || strings.Contains(l, string(v.Task)+" ") || strings.Contains(l, `"`+string(v.Task)+`"`) || strings.Contains(l, string(v.Task)+"/") {
			lines = append(lines, l)
		}
	}
	return lines[max(0, len(lines)-n):]
}

// Run runs one seed. It is for any number of goroutines at once: runs share
// nothing but the samples, which are read-only.
func Run(o Options, samples []Sample) Result {
	w := newWorld(o, samples)
	w.run()
	w.tally.Seeds = 1
	w.tally.Tasks = len(w.model.order)
	w.tally.Calls = w.ports
	w.tally.Simulated = time.Duration(w.now-noon) * time.Millisecond
	w.tally.Ends = map[task.State]int{}
	for _, r := range w.table.order {
		w.tally.Ends[r.task.State]++
	}
	for _, e := range w.effects {
		w.tally.Effects += e.count
	}
	w.tally.publish()
	if w.failed != nil {
		w.failed.Trace = w.lines2
	}
	r := Result{Options: o, Violation: w.failed, Hash: w.hash, Tally: *w.tally, Calls: w.ports, History: w.history}
	for f, rate := range w.plan.rates {
		if rate > 0 {
			r.Faults = append(r.Faults, Fault(f))
		}
	}
	return r
}

// Shrink removes faults and tasks from a run that violates a rule, as long as the
// run still violates a rule of the same number. It returns the smallest that it
// found.
func Shrink(o Options, samples []Sample) Result {
	best := Run(o, samples)
	if best.Violation == nil {
		return best
	}
	try := func(o Options) bool {
		r := Run(o, samples)
		if r.Violation == nil || number(r.Violation.Rule) != number(best.Violation.Rule) {
			return false
		}
		best = r
		return true
	}
	for changed := true; changed; {
		changed = false
		for _, f := range best.Faults {
			smaller := best.Options
			smaller.Without = append(slices.Clone(smaller.Without), f)
			changed = try(smaller) || changed
		}
		tasks := cmp.Or(best.Options.Tasks, best.Tally.Tasks)
		for n := 1; n < tasks; n++ {
			smaller := best.Options
			if smaller.Tasks = n; try(smaller) {
				changed = true
				break
			}
		}
	}
	traced := best.Options
	traced.Trace = true
	return Run(traced, samples)
}

// number is the invariant that a rule belongs to.
func number(rule string) string {
	n, _, _ := strings.Cut(rule, " ")
	return n
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
