package sim_test

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"triad/shared/sim"
	"triad/shared/task"
)

// scenarios are seeds whose single task, without drawn faults, ends in a way.
var scenarios = []struct {
	seed uint64
	ends task.State
}{
	{8, task.Processed},
	{23, task.Compensated},
	{15, task.Error},
}

// single is the scenario of a seed: one task, and only the faults given.
func single(seed uint64, strikes ...sim.Strike) sim.Options {
	return sim.Options{Seed: seed, Tasks: 1, Calm: true, Strikes: strikes}
}

// TestEveryCallFailsInEveryWay fails each single call of each scenario (each third
// one, without -long) in each way that a call can fail.
func TestEveryCallFailsInEveryWay(t *testing.T) {
	t.Parallel()
	step := 3
	if *long {
		step = 1
	}
	struck := runAll(t, func(yield func(sim.Options)) {
		for _, s := range scenarios {
			calm := sim.Run(single(s.seed), samples(t))
			if calm.Tally.Ends[s.ends] != 1 || calm.Calls < 50 {
				t.Errorf("seed %d ends as %v after %d calls: choose another that ends as %s", s.seed, calm.Tally.Ends, calm.Calls, s.ends)
			}
			for n := 1; n <= calm.Calls; n += step {
				for _, f := range atCalls() {
					yield(single(s.seed, sim.Strike{Call: n, Fault: f}))
				}
			}
		}
	})
	if struck < 300 {
		t.Errorf("%d faults struck: too few", struck)
	}
}

// TestEveryPairOfCallsFails fails each pair of the first calls (12, or 60 with
// -long), in five combinations of a death, a commit or send whose answer is lost,
// and a message that is lost or comes twice.
func TestEveryPairOfCallsFails(t *testing.T) {
	t.Parallel()
	most := 12
	if *long {
		most = 60
	}
	ways := []sim.Fault{sim.ComputeKilled, sim.StoreApplied, sim.QueueVanish, sim.QueueDuplicate, sim.QueueSendLost}
	runAll(t, func(yield func(sim.Options)) {
		for _, s := range scenarios {
			calls := min(sim.Run(single(s.seed), samples(t)).Calls, most)
			for n := 1; n <= calls; n++ {
				for m := n + 1; m <= calls; m++ {
					for i, f := range ways {
						yield(single(s.seed, sim.Strike{Call: n, Fault: f}, sim.Strike{Call: m, Fault: ways[(i+m)%len(ways)]}))
					}
				}
			}
		}
	})
}

// runAll runs everything that is yielded, on all processors, and returns how many
// faults struck.
func runAll(t *testing.T, each func(func(sim.Options))) (struck int) {
	t.Helper()
	all := samples(t)
	work := make(chan sim.Options, 64)
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for o := range work {
				r := sim.Run(o, all)
				mu.Lock()
				struck += r.Tally.Faults.Total()
				mu.Unlock()
				if r.Violation != nil {
					t.Errorf("%v\n%+v", r.Violation, o)
				}
			}
		})
	}
	each(func(o sim.Options) { work <- o })
	close(work)
	workers.Wait()
	return struck
}

// atCalls are the faults that strike at a call, and not from outside.
func atCalls() (all []sim.Fault) {
	for _, f := range sim.Faults() {
		group, _, _ := strings.Cut(f.String(), ".")
		if !slices.Contains([]string{"forged", "verb", "clock", "input", "tick", "supervisor", "version"}, group) {
			all = append(all, f)
		}
	}
	return all
}
