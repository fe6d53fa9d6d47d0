package sim_test

import (
	"testing"

	"triad/shared/sim"
)

// regressions are seeds that broke an invariant before a fault of the engine was
// mended. The commit of the mending tells the story; the rule is the one that was
// broken. A change of what seeds draw takes their meaning away: find others then, by
// taking the mending back.
var regressions = []struct {
	name string
	seed uint64
}{
	{"the receipt of a queued submission whose send failed is told (S10)", 109},
	{"the receipt of a submission whose handler died is told (S10)", 25},
	{"the end of a task is told by a dead letter that was brought back (S10)", 659},
	{"a receipt that is told after a resubmission keeps its id (S12)", 63},
	{"the alert of a task that ends as it is submitted is told (S10)", 326},
	{"a resume that is done again asks for what it claimed when it was overtaken (S12)", 4904565},
	{"a late write is nothing to the message that its writer has turned to (the checker was wrong)", 30124496},
	{"a task that a dead letter makes in the calm has a bound of its own (the checker was wrong)", 10108047},
	{"an instance that learns a definition in the midst of a call may refuse it (the checker was wrong)", 100112618},
	// Since a repeated write may be overtaken, this one no longer shows it; another was
	// looked for among millions, and has not been found.
	{"an operator drops nothing but what is about the damaged record (the checker was wrong)", 70583829},
	{"a submission is not refused while it can't be read whether it was accepted (S2)", 288},
}

func TestWhatSeedsHaveFoundStaysMended(t *testing.T) {
	t.Parallel()
	all := samples(t)
	for _, r := range regressions {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			if got := sim.Run(sim.Options{Seed: r.seed}, all); got.Violation != nil {
				t.Errorf("%v\n%s", got.Violation, got.Options)
			}
		})
	}
}
