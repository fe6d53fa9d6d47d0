package sim_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"triad/shared/sim"
	"triad/shared/task"
	"triad/workflows"
)

// long makes the tests of this package do all that they can: minutes.
var long = flag.Bool("long", false, "every call, pairs of the first 60 calls, 1,000 seeds twice")

func TestMain(m *testing.M) {
	debug.SetGCPercent(800) // a run lives for milliseconds
	goleak.VerifyTestMain(m)
}

func samples(t testing.TB) []sim.Sample {
	t.Helper()
	s, err := sim.Samples(workflows.FS)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// seeds runs n seeds on all processors and hands each result to look, one at a
// time.
func seeds(t *testing.T, from, n uint64, look func(sim.Result)) {
	t.Helper()
	all := samples(t)
	var next atomic.Uint64
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < n; i = next.Add(1) - 1 {
				r := sim.Run(sim.Options{Seed: from + i}, all)
				mu.Lock()
				look(r)
				mu.Unlock()
			}
		})
	}
	workers.Wait()
}

// TestCorpus is the simulation that every run of the tests makes: no invariant is
// broken, and what there is to reach is reached.
func TestCorpus(t *testing.T) {
	t.Parallel()
	var all sim.Tally
	seeds(t, 1, 300, func(r sim.Result) {
		all.Add(&r.Tally)
		if r.Violation != nil {
			t.Errorf("%v\n%s", r.Violation, r.Options)
		}
	})
	for _, missing := range all.Missing() {
		t.Errorf("300 seeds did not reach %s", missing)
	}
	if share := float64(all.Ends[task.Processed]) / float64(all.Tasks); share < 0.3 {
		t.Errorf("%.2f of all tasks succeed: want 0.3 at least, or the faults leave nothing to check", share)
	}
}

// TestTheSameSeedGivesTheSameRun: twice in this process, side by side with others.
func TestTheSameSeedGivesTheSameRun(t *testing.T) {
	t.Parallel()
	n := uint64(100)
	if *long {
		n = 1000
	}
	first := map[uint64]uint64{}
	seeds(t, 5000, n, func(r sim.Result) { first[r.Options.Seed] = r.Hash })
	distinct := map[uint64]bool{}
	seeds(t, 5000, n, func(r sim.Result) {
		if distinct[r.Hash] = true; r.Hash != first[r.Options.Seed] {
			t.Errorf("seed %d: hash %016x, and then %016x", r.Options.Seed, first[r.Options.Seed], r.Hash)
		}
	})
	if len(distinct) != int(n) {
		t.Errorf("%d seeds have %d different hashes", n, len(distinct))
	}
}

// TestTheSameSeedGivesTheSameRunInAnotherProcess runs this test again, as another
// process, which says its hashes.
func TestTheSameSeedGivesTheSameRunInAnotherProcess(t *testing.T) {
	t.Parallel()
	const from, n, ask = 7000, 40, "TRIAD_SIM_SAYS_HASHES"
	hashes := make([]uint64, n)
	seeds(t, from, n, func(r sim.Result) { hashes[r.Options.Seed-from] = r.Hash })
	said := ""
	for _, h := range hashes {
		said += strconv.FormatUint(h, 16) + "\n"
	}
	if os.Getenv(ask) != "" {
		fmt.Print("hashes\n" + said + "end\n")
		return
	}
	other := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTheSameSeedGivesTheSameRunInAnotherProcess$", "-test.v")
	other.Env = append(os.Environ(), ask+"=1")
	out, err := other.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := between(string(out), "hashes\n", "end\n"); got != said {
		t.Errorf("the other process got\n%s\nwant\n%s", got, said)
	}
}

// TestWithoutFaultsOrdersAreProcessed: nothing goes wrong when nothing is wrong. What
// is not processed has an order that its workflow makes no sense of, or waits for a
// signal that nobody sends.
func TestWithoutFaultsOrdersAreProcessed(t *testing.T) {
	t.Parallel()
	samples := samples(t)
	var all sim.Tally
	for seed := range uint64(50) {
		r := sim.Run(sim.Options{Seed: seed, Calm: true}, samples)
		if r.Violation != nil {
			t.Errorf("%v\n%s", r.Violation, r.Options)
		}
		if n := r.Tally.Faults.Total(); n > 0 {
			t.Errorf("seed %d: %d faults", seed, n)
		}
		all.Add(&r.Tally)
	}
	for _, verdict := range []task.Verdict{task.Stale, task.Duplicate, task.Repeated} {
		if n := all.Verdicts[fmt.Sprintf("%s: %s", task.Replied, verdict)]; n > 0 {
			t.Errorf("%d replies are %s", n, verdict)
		}
	}
	if all.Failed+all.Rejected > 0 {
		t.Errorf("%d messages are not handled, %d are captured", all.Failed, all.Rejected)
	}
	if share := float64(all.Ends[task.Processed]) / float64(all.Tasks); share < 0.7 {
		t.Errorf("%.2f of all tasks succeed: want 0.7 at least", share)
	}
}

// TestFaultsHaveNames: each has one of its own, which reads back.
func TestFaultsHaveNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, f := range sim.Faults() {
		var back sim.Fault
		if err := back.UnmarshalText([]byte(f.String())); err != nil || back != f || f.String() == "" || seen[f.String()] {
			t.Errorf("fault %d is named %q, which reads back as %d, %v", f, f, back, err)
		}
		seen[f.String()] = true
	}
	var f sim.Fault
	if err := f.UnmarshalText([]byte("no such fault")); err == nil {
		t.Error("a fault that does not exist was read")
	}
}

// between is what stands between two texts.
func between(s, begin, end string) string {
	_, s, _ = strings.Cut(s, begin)
	s, _, _ = strings.Cut(s, end)
	return s
}
