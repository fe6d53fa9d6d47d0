package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"triad/shared/engine"
	"triad/shared/engine/enginetest"
	"triad/shared/store"
	"triad/shared/supervisor"
	"triad/shared/task"
)

// The ways in which a row of the index can be bad: its task can't be acted on.
var bad = map[string]func(*enginetest.Rig, *enginetest.Process) *engine.Engine{
	"the record is damaged": func(rig *enginetest.Rig, p *enginetest.Process) *engine.Engine {
		rig.Table.Read = func(id task.ID) error {
			if isBad(id) {
				return store.ErrDamaged
			}
			return nil
		}
		return p.Engine
	},
	"there is no such task": func(rig *enginetest.Rig, p *enginetest.Process) *engine.Engine {
		rig.Table.Read = func(id task.ID) error {
			if isBad(id) {
				return store.ErrNotFound
			}
			return nil
		}
		return p.Engine
	},
	"the definition is missing": func(rig *enginetest.Rig, _ *enginetest.Process) *engine.Engine {
		return engine.New(engine.Config{Instance: "two", Store: forgetful{rig.Table}, Workflows: rig.Catalog,
			Queues: rig.Queues, Clock: rig.Clock.Now})
	},
}

// isBad tells the bad tasks: they were submitted first, so they are due first.
func isBad(id task.ID) bool { return id < "o-20" }

// forgetful is a store whose bad tasks are pinned to a definition that is gone.
type forgetful struct{ store.Store }

func (s forgetful) Load(ctx context.Context, id task.ID) (task.Task, error) {
	t, err := s.Store.Load(ctx, id)
	if isBad(id) {
		t.Workflow = "gone@3"
	}
	return t, err
}

func TestBadRowsHoldUpNoneOfTheOthers(t *testing.T) {
	t.Parallel()
	for name, spoil := range bad {
		for _, limit := range []int{1, 5, 19, 1000} { // most of them below the number of bad rows
			t.Run(fmt.Sprintf("%s, cap %d", name, limit), func(t *testing.T) {
				t.Parallel()
				rig := enginetest.New(t)
				p := rig.Start("one")
				lost(t, rig, p, 30)
				c := supervisor.Config{Engine: spoil(rig, p), Cap: limit}
				for sweeps := 0; ; sweeps++ {
					report := sweep(t, c)
					if report.Acted > limit {
						t.Fatalf("acted on %d, over the cap of %d", report.Acted, limit)
					}
					if report.Acted == 0 || sweeps > 10 {
						break
					}
				}
				for _, row := range rig.Due(0) {
					recovered := rig.Task(row.ID).FailureCount == 1
					if recovered == isBad(row.ID) {
						t.Errorf("task %s is recovered: %v", row.ID, recovered)
					}
				}
			})
		}
	}
}

func TestARecoveryThatFailsLeavesTheTaskInTheIndexForTheNextSweep(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*enginetest.Rig, bool){
		"the record can't be written": func(rig *enginetest.Rig, fail bool) {
			if rig.Table.Write = nil; fail {
				rig.Table.Write = func(int, int) enginetest.Fault { return enginetest.Lost }
			}
		},
		"the record can't be read": func(rig *enginetest.Rig, fail bool) {
			if rig.Table.Read = nil; fail {
				rig.Table.Read = func(task.ID) error { return enginetest.ErrInjected }
			}
		},
		"the wake-up can't be sent": func(rig *enginetest.Rig, fail bool) {
			if rig.Queues.FailSends(nil); fail {
				rig.Queues.FailSends(func(int) enginetest.Fault { return enginetest.Lost })
			}
		},
		"the outcome of the write is not known": func(rig *enginetest.Rig, fail bool) {
			if rig.Table.Write = nil; fail {
				rig.Table.Write = func(int, int) enginetest.Fault { return enginetest.Applied }
			}
		},
	}
	for name, set := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig := enginetest.New(t)
			p := rig.Start("one")
			lost(t, rig, p, 3)
			set(rig, true)
			if report := sweep(t, supervisor.Config{Engine: p.Engine}); report.Failed != 3 {
				t.Errorf("%+v, want 3 failed", report)
			}
			if n := len(rig.Due(0)); n != 3 {
				t.Fatalf("%d tasks are in the index, want 3", n)
			}
			set(rig, false)
			rig.Settle(p)
			for _, id := range []task.ID{"o-00", "o-01", "o-02"} {
				if got := rig.Task(id); got.State != task.Processed {
					t.Errorf("task %s ended as %s", id, enginetest.Line(got))
				}
				rig.Check(id)
			}
		})
	}
}

func TestASweepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	p := rig.Start("one")
	lost(t, rig, p, 3)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Supervisor.Sweep(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v, want context.Canceled", err)
	}
	if n := len(rig.Due(0)); n != 3 {
		t.Errorf("%d tasks are in the index, want 3", n)
	}
}
