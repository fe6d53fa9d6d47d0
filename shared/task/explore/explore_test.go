package explore_test

import (
	"flag"
	"testing"
	"time"

	"triad/shared/task/explore"
)

var all = flag.Bool("all", false, "go through all worlds, which takes minutes")

// TestNoWorldBreaksARuleOrHasNoEnd also asks for a least number of worlds, so that
// it can't pass by going nowhere.
func TestNoWorldBreaksARuleOrHasNoEnd(t *testing.T) {
	t.Parallel()
	least := 100_000
	if *all {
		least = 3_000_000
	}
	var sum explore.Report
	began := time.Now()
	for _, s := range explore.Scenarios(*all) {
		start := time.Now()
		r := explore.Search(s)
		t.Logf("%-42s %9d worlds %10d ways %9d decisions %4d deep %6d ends %3d violations %8v", r.Scenario, r.States, r.Ways,
			r.Decisions, r.Depth, r.Ends, len(r.Found), time.Since(start).Round(10*time.Millisecond))
		sum.States, sum.Ways, sum.Decisions = sum.States+r.States, sum.Ways+r.Ways, sum.Decisions+r.Decisions
		for _, f := range r.Shortest {
			t.Errorf("%s: %d times %s", s.Name, r.Found[f.Rule], f)
		}
		if r.Ends < 2 || r.Depth < 8 {
			t.Errorf("%s: %d ends, %d deep: that is no search", s.Name, r.Ends, r.Depth)
		}
	}
	t.Logf("%-42s %9d worlds %10d ways %9d decisions in %v", "all of them", sum.States, sum.Ways, sum.Decisions, time.Since(began).Round(time.Second))
	if sum.States < least {
		t.Errorf("%d worlds: at least %d are expected", sum.States, least)
	}
}
