package sim

import (
	"slices"
	"strings"
	"testing"
)

// TestShrinkFindsWhatMatters breaks a rule of its own whenever two tasks are there
// and two faults have struck, and expects nothing else to be left.
func TestShrinkFindsWhatMatters(t *testing.T) {
	t.Parallel()
	matter := []Fault{StoreConflict, QueueDuplicate}
	o := Options{suspect: func(w *world) {
		if len(w.table.order) >= 2 && w.tally.Faults[matter[0]] > 0 && w.tally.Faults[matter[1]] > 0 {
			w.fail("X1 test", w.table.order[0].task.ID, "on purpose")
		}
	}}
	shrunk := 0
	for o.Seed = 1; shrunk < 3; o.Seed++ {
		if r := Run(o, nil); r.Violation == nil || len(r.Faults) < 10 || r.Tally.Tasks < 5 {
			continue
		}
		shrunk++
		r := Shrink(o, nil)
		slices.Sort(r.Faults)
		want := slices.Clone(matter)
		slices.Sort(want)
		if !slices.Equal(r.Faults, want) || r.Tally.Tasks > 6 {
			t.Errorf("seed %d shrinks to %d tasks with %v, want few with %v", o.Seed, r.Tally.Tasks, r.Faults, want)
		}
		if r.Violation == nil || number(r.Violation.Rule) != "X1" || len(r.Violation.About(20)) == 0 {
			t.Errorf("seed %d: the smaller run has the violation %v", o.Seed, r.Violation)
		}
		if arguments := r.Options.String(); !strings.Contains(arguments, "WITHOUT=") {
			t.Errorf("it is repeated by %q, which says nothing of what was left out", arguments)
		}
		again := Run(r.Options, nil)
		if again.Hash != r.Hash || again.Violation == nil || again.Violation.Error() != r.Violation.Error() {
			t.Errorf("seed %d: what was shrunk is not repeated: %v, and then %v", o.Seed, r.Violation, again.Violation)
		}
	}
}
