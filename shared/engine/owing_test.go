package engine_test

import (
	"context"
	"fmt"
	"testing"

	"triad/shared/engine/enginetest"
	"triad/shared/operator"
	"triad/shared/task"
)

// What the Supervisor and operators decide has no message that would bring it
// back. Each of these ends a task in such a way, and names what must be told.
var unsourced = []struct {
	name string
	act  act
	told []string
}{
	{
		"the Supervisor fails an order whose own deadline has passed",
		func(rig *enginetest.Rig, p *enginetest.Process) {
			rig.Clock.Advance(rig.Task("o-1").Deadline.Time().Sub(rig.Clock.Now()))
			_, _ = p.Supervisor.Sweep(context.Background()) // what fails is found again
		},
		[]string{"o-1/Error/0", "o-1/alert/0"},
	},
	{
		"an operator cancels an order that has done nothing",
		func(_ *enginetest.Rig, p *enginetest.Process) {
			_, _ = p.Operator.Do(context.Background(), "o-1", operator.Ask{Verb: operator.Cancel})
		},
		[]string{"o-1/Cancelled/0"},
	},
}

// slow is a workflow whose only step waits for a signal.
const slow = `
workflow: order
version: 1
completeWithin: 1h
steps:
  approve: {signal: approved, completeWithin: 1h}
`

func TestACrashBetweenCommitAndSendStillTells(t *testing.T) {
	t.Parallel()
	for _, u := range unsourced {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			rig := enginetest.New(t, slow)
			dying := rig.Start("dying")
			rig.Submit(dying, "o-1")
			// The process dies before its first send: nothing leaves it.
			rig.Outlet.Fail = func(int) enginetest.Fault { return enginetest.Lost }
			u.act(rig, dying)
			if got := rig.Task("o-1"); !got.State.Finished() || !got.Owing || got.CompleteBy == 0 {
				t.Fatalf("task is %s, owing %v, CompleteBy %d: want it finished, owing and in the index", got.State, got.Owing, got.CompleteBy)
			}
			rig.Outlet.Fail = nil
			rig.Settle(rig.Start("next"))
			tells(t, rig, u.told)
		})
	}
}

type (
	// act has a process end the task.
	act func(*enginetest.Rig, *enginetest.Process)
	// failing says what becomes of a call, by its number and try.
	failing func(number, try int) enginetest.Fault
)

// eachFault runs a test for each unsourced end, each fault, and its place.
func eachFault(t *testing.T, test func(*testing.T, act, failing) *enginetest.Rig) {
	t.Helper()
	for _, u := range unsourced {
		for _, f := range faults {
			for n := 1; n <= 4; n++ {
				t.Run(fmt.Sprintf("%s, number %d is %s", u.name, n, f.name), func(t *testing.T) {
					t.Parallel()
					rig := test(t, u.act, func(number, try int) enginetest.Fault {
						if number == n && try <= f.tries {
							return f.fault
						}
						return enginetest.None
					})
					rig.Settle(rig.Start("next"))
					tells(t, rig, u.told)
				})
			}
		}
	}
}

// TestEveryWriteMayFailAndStillTells loses the end of the task, its release and
// whatever follows.
func TestEveryWriteMayFailAndStillTells(t *testing.T) {
	t.Parallel()
	eachFault(t, func(t *testing.T, end act, at failing) *enginetest.Rig {
		rig := enginetest.New(t, slow)
		p := rig.Start("one")
		rig.Submit(p, "o-1")
		before := rig.Table.Writes()
		rig.Table.Write = func(write, try int) enginetest.Fault { return at(write-before, try) }
		end(rig, p)
		if !rig.Task("o-1").State.Finished() {
			end(rig, p) // asked again, as the error told the caller to
		}
		return rig
	})
}

// TestEveryCallOfTheOutletMayFailAndStillTells loses notices and alerts.
func TestEveryCallOfTheOutletMayFailAndStillTells(t *testing.T) {
	t.Parallel()
	eachFault(t, func(t *testing.T, end act, at failing) *enginetest.Rig {
		rig := enginetest.New(t, slow)
		p := rig.Start("one")
		rig.Submit(p, "o-1") // the first call: "received"
		rig.Outlet.Fail = func(call int) enginetest.Fault { return at(call-1, 1) }
		end(rig, p)
		return rig
	})
}

// TestWithoutAnOutletTheTableKeepsWhatIsTold is the embedded way.
func TestWithoutAnOutletTheTableKeepsWhatIsTold(t *testing.T) {
	t.Parallel()
	for _, u := range unsourced {
		rig := enginetest.New(t, slow)
		rig.Outlet = nil
		p := rig.Start("one")
		rig.Submit(p, "o-1")
		u.act(rig, p)
		rig.Settle(p)
		rig.Check("o-1")
		told := map[string]bool{}
		notices, err := rig.Memory.Notices(context.Background(), "shop", 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range notices {
			told[n.ID] = true
		}
		alerts, err := rig.Memory.Alerts(context.Background(), 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range alerts {
			told[a.ID] = true
		}
		for _, id := range append([]string{"o-1/Received/0"}, u.told...) {
			if !told[id] {
				t.Errorf("%s: %s is not kept; there are %v", u.name, id, told)
			}
		}
	}
}

// tells checks that everything was told at least once, each under its one id,
// and that the task has left the index.
func tells(t *testing.T, rig *enginetest.Rig, ids []string) {
	t.Helper()
	known := map[string]bool{"o-1/Received/0": true}
	for _, id := range ids {
		known[id] = true
		if rig.Outlet.Told[id] < 1 {
			t.Errorf("%s was never told; told: %v", id, rig.Outlet.Told)
		}
	}
	for id := range rig.Outlet.Told {
		if !known[id] {
			t.Errorf("%s was told, under an id that nobody can know", id)
		}
	}
	if got := rig.Task("o-1"); got.Owing || got.CompleteBy != 0 || got.State == task.Pending {
		t.Errorf("task is %s, owing %v, CompleteBy %d: want it out of the index", got.State, got.Owing, got.CompleteBy)
	}
	rig.Check("o-1")
}
