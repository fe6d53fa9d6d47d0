package embedded_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/embedded"
	"triad/shared/task"
)

// TestAGracefulStopAndARestartCarryOn stops an engine with half of the tasks in
// their last step, which ends during the stop, and submits some when it has
// stopped: they are accepted, and nothing of them is sent.
func TestAGracefulStopAndARestartCarryOn(t *testing.T) {
	t.Parallel()
	const n, late = 40, 10
	path, w := file(t), newWorld()
	first := open(t, path, w, nil)
	stop := first.run()
	w.gate = func(r task.Request) <-chan struct{} {
		if odd(r.Task) && r.Step == "ship" {
			return first.stopping
		}
		return nil
	}
	first.flood(0, n)
	w.await(t, n/2, func(r task.Request) bool { return w.gate(r) != nil })
	first.await(n / 2)
	stop()
	first.flood(n, n+late)
	left := first.Unfinished()
	if left < late {
		t.Errorf("%d tasks are unfinished after the stop, want the %d late ones among them", left, late)
	}
	first.close()

	w.gate = nil
	second := open(t, path, w, nil)
	if got := second.Unfinished(); got != left {
		t.Errorf("%d tasks are unfinished after the restart, want %d", got, left)
	}
	second.run()
	second.await(left)
	second.processed(n + late)
	if got := second.Unfinished(); got != 0 {
		t.Errorf("%d tasks are unfinished at the end", got)
	}
	if got := len(attempts(t, w)); got != 3*(n+late) {
		t.Errorf("there were %d attempts, want %d: one for each step", got, 3*(n+late))
	}
}

// odd tells the tasks with an odd number.
func odd(id task.ID) bool { return id[len(id)-1]%2 == 1 }

// TestACrashLosesNothingThatWasAcknowledged kills an engine with tasks that are
// done, in flight at different steps, and held; the deadlines are an hour away.
func TestACrashLosesNothingThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	const done, hanging, held = 6, 12, 6
	w, free := newWorld(), make(chan struct{})
	w.gate = func(r task.Request) <-chan struct{} {
		if r.Task >= id(done) && (odd(r.Task) && r.Step == "charge" || !odd(r.Task) && r.Step == "ship") {
			return free
		}
		return nil
	}
	first := open(t, file(t), w, func(c *embedded.Config) { c.InFlight = hanging })
	stop := first.run()
	first.flood(0, done)
	first.await(done)
	first.flood(done, done+hanging)
	w.await(t, hanging, func(r task.Request) bool { return w.gate(r) != nil })
	first.flood(done+hanging, done+hanging+held) // there is no room

	cases := []struct {
		name string
		room int
	}{{"with room for all", 4096}, {"with room for a few", 4}, {"with room for one", 1}}
	var copies []string
	for range cases {
		copies = append(copies, crash(t, first.path))
	}
	before := attempts(t, w)
	close(free)
	stop()

	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			after := newWorld()
			second := open(t, copies[i], after, func(e *embedded.Config) { e.InFlight = c.room })
			if got := second.Unfinished(); got != hanging+held {
				t.Errorf("%d tasks are unfinished after the crash, want %d", got, hanging+held)
			}
			second.run()
			second.await(hanging + held)
			second.processed(done + hanging + held)
			repeated := 0
			for attempt, r := range attempts(t, after) {
				if was, known := before[attempt]; known {
					repeated++
					if diff := cmp.Diff(was, r); diff != "" {
						t.Errorf("request %s was said again otherwise (-before +after):\n%s", attempt, diff)
					}
				}
			}
			if repeated != hanging {
				t.Errorf("%d requests were said again, want those %d that were in flight", repeated, hanging)
			}
		})
	}
}

// attempts returns the requests by key and attempt. Those that came twice must
// have been the same.
func attempts(t *testing.T, w *world) map[string]task.Request {
	t.Helper()
	all := map[string]task.Request{}
	for _, r := range w.seen() {
		attempt := fmt.Sprintf("%s#%d", r.IdempotencyKey(), r.Attempt)
		if was, known := all[attempt]; known {
			if diff := cmp.Diff(was, r); diff != "" {
				t.Errorf("request %s came again otherwise (-first +again):\n%s", attempt, diff)
			}
		}
		all[attempt] = r
	}
	return all
}
