package sim_test

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"triad/shared/sim"
	"triad/shared/store"
	"triad/shared/task"
)

// record is what a linearizable record is: a version, and the write that made it.
type record struct {
	version int64
	op      string
}

// outcome is how a call of the table ended.
type outcome int

const (
	done outcome = iota
	refused
	open // it may have been applied, also later
)

func ended(err error) outcome {
	switch {
	case err == nil:
		return done
	case errors.Is(err, store.ErrOvertaken):
		return open
	case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrExists), errors.Is(err, store.ErrNotFound),
		errors.Is(err, store.ErrTooLarge), errors.Is(err, store.ErrFull):
		return refused
	}
	return open
}

// table is one record as package store promises it: a write of version n succeeds
// exactly when the record has version n-1, or is the very write that made it.
var table = porcupine.Model{
	Init: func() any { return record{} },
	Step: func(state, input, output any) (bool, any) {
		r, c := state.(record), input.(sim.Call)
		if !c.Write {
			return c.Err != nil || r == record{c.Version, c.Op}, r
		}
		next := record{c.Version, c.Op}
		switch output.(outcome) {
		case done:
			return r == next || r.version == c.Version-1, next
		case refused:
			return true, r // a conflict may be said without a cause
		}
		if r.version == c.Version-1 {
			return true, next // and it may not be applied: see both
		}
		return true, r
	},
	DescribeOperation: func(input, output any) string {
		c := input.(sim.Call)
		return fmt.Sprintf("write %v version %d op %s: %v", c.Write, c.Version, c.Op, output)
	},
}

// TestEachRecordIsLinearizable holds the calls of the table, as the engines saw
// them, against a model of a single record, task by task.
func TestEachRecordIsLinearizable(t *testing.T) {
	t.Parallel()
	all := samples(t)
	calls := 0
	for seed := range uint64(60) {
		r := sim.Run(sim.Options{Seed: seed, History: true}, all)
		for id, ops := range operations(r.History) {
			calls += len(ops)
			if got := porcupine.CheckOperationsTimeout(table, ops, 20*time.Second); got != porcupine.Ok {
				t.Errorf("seed %d: the %d calls of task %s are %s", seed, len(ops), id, got)
			}
		}
	}
	if calls < 5000 {
		t.Errorf("there were %d calls: too few to say anything", calls)
	}
}

// operations sorts the calls by task. One whose outcome is open may take effect at
// any time after it began, or never; if no one has seen its write, it is left out.
func operations(history []sim.Call) map[task.ID][]porcupine.Operation {
	seen := map[string]bool{}
	for _, c := range history {
		if c.Err == nil {
			seen[c.Op] = true
		}
	}
	all := map[task.ID][]porcupine.Operation{}
	for _, c := range history {
		how, end := ended(c.Err), int64(c.Ended)
		switch {
		case how == open && (!c.Write || !seen[c.Op]):
			continue
		case how == open:
			end = math.MaxInt64
		case !c.Write && c.Err != nil:
			continue
		}
		all[c.Task] = append(all[c.Task], porcupine.Operation{
			ClientId: int(c.Client), Input: c, Output: how, Call: int64(c.Began), Return: end,
		})
	}
	return all
}

// TestAHistoryThatIsNotLinearizableIsFound: the check above has teeth.
func TestAHistoryThatIsNotLinearizableIsFound(t *testing.T) {
	t.Parallel()
	history := []sim.Call{
		{Client: 1, Began: 1, Ended: 2, Task: "t", Write: true, Version: 1, Op: "a"},
		{Client: 2, Began: 3, Ended: 4, Task: "t", Write: true, Version: 2, Op: "b"},
		{Client: 3, Began: 5, Ended: 6, Task: "t", Write: true, Version: 2, Op: "c"},
	}
	if porcupine.CheckOperations(table, operations(history)["t"]) {
		t.Error("two writes of one version are found to be linearizable")
	}
	stale := append(history[:2:2], sim.Call{Client: 3, Began: 5, Ended: 6, Task: "t", Version: 1, Op: "a"})
	if porcupine.CheckOperations(table, operations(stale)["t"]) {
		t.Error("a load of a version before the last is found to be linearizable")
	}
}
