package storetest

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"

	"triad/shared/store"
	"triad/shared/task"
)

// claim is the commit that ends the first step and claims the second.
func claim(t task.Task, op string) task.Task {
	return next(t, op, func(t *task.Task) {
		t.Steps[0] = task.StepState{Name: "reserve", State: task.Processed, Attempt: 1,
			StartedAt: created, EndedAt: created + 500, Rank: 2, Output: []byte(`{"id": "r-1"}`)}
		t.Steps[1].State, t.Steps[1].Attempt, t.Steps[1].LockedBy = task.Processing, 1, op
		t.Steps[1].StartedAt, t.Steps[1].CompleteBy = created+500, created+10_500
		t.LockedBy = op
	})
}

// claimed are the locks as order has them.
var claimed = []task.Lock{{Step: "reserve", LockedBy: "scheduler-1"}, {Step: "charge"}}

var commitTests = map[string]func(*testing.T, Harness){
	"it replaces the record and keeps the order": func(t *testing.T, h Harness) {
		first := h.create(t, order("order-1", "op-1"))
		second := h.commit(t, claim(first, "op-2"), claimed...)
		h.expect(t, second)
		h.expect(t, h.commit(t, next(second, "op-3", finished(task.Processed))))
	},

	"no such task": func(t *testing.T, h Harness) {
		v := next(order("order-1", "op-1"), "op-2", nil)
		wantError(t, h.Store.Commit(t.Context(), store.Change{Task: v}), store.ErrNotFound)
		_, err := h.Store.Load(t.Context(), "order-1")
		wantError(t, err, store.ErrNotFound)
	},

	"another version, older, same or newer, is a conflict and changes nothing": func(t *testing.T, h Harness) {
		first := h.create(t, order("order-1", "op-1"))
		second := h.commit(t, next(first, "op-2", nil))
		for _, version := range []int64{1, 2, 4, 100} {
			v := next(second, "op-other", nil)
			v.Version = version
			wantError(t, h.Store.Commit(t.Context(), store.Change{Task: v}), store.ErrConflict)
		}
		h.expect(t, second)
	},

	"a lock that reads otherwise is a conflict and changes nothing": func(t *testing.T, h Harness) {
		first := h.create(t, order("order-1", "op-1"))
		for _, locks := range [][]task.Lock{
			{{Step: "reserve", LockedBy: "scheduler-2"}},
			{{Step: "reserve"}},
			{{Step: "charge", LockedBy: "scheduler-1"}},
			{claimed[0], {Step: "ship", LockedBy: "x"}},
			{claimed[0], {Step: "nobody"}},
			{claimed[0], {}},
		} {
			err := h.Store.Commit(t.Context(), store.Change{Task: claim(first, "op-2"), Locks: locks})
			wantError(t, err, store.ErrConflict)
		}
		h.expect(t, first)
		h.expect(t, h.commit(t, claim(first, "op-2"), claimed...))
	},

	"of many at once exactly one wins, version after version": func(t *testing.T, h Harness) {
		current := h.create(t, order("order-1", "op-1"))
		for round := range 5 {
			current = h.race(t, current, round)
			h.expect(t, current)
		}
	},

	"many tasks at once do not disturb each other": func(t *testing.T, h Harness) {
		var all sync.WaitGroup
		for _, id := range ids("order", 32) {
			all.Go(func() {
				v := order(id, "op-1")
				errs := []error{h.Store.Create(t.Context(), store.Change{Task: v})}
				for range 4 {
					stale := next(v, "stale", nil)
					v = next(v, "op-next", nil)
					errs = append(errs, h.Store.Commit(t.Context(), store.Change{Task: v}))
					if err := h.Store.Commit(t.Context(), store.Change{Task: stale}); !errors.Is(err, store.ErrConflict) {
						t.Errorf("stale commit of %s: got %v, want %v", id, err, store.ErrConflict)
					}
				}
				if err := errors.Join(errs...); err != nil {
					t.Errorf("%s: %v", id, err)
				}
			})
		}
		all.Wait()
		for _, id := range ids("order", 32) {
			want := order(id, "op-next")
			want.Version = 5
			h.expect(t, want)
		}
	},

	"applied but reported as failed: the repeat succeeds and changes nothing": func(t *testing.T, h Harness) {
		first := h.create(t, order("order-1", "op-1"))
		second := h.commit(t, claim(first, "op-2"), claimed...)
		h.commit(t, claim(first, "op-2"), claimed...)
		h.expect(t, second)
	},

	"applied but reported as failed, then overtaken: the repeat is a conflict": func(t *testing.T, h Harness) {
		first := h.create(t, order("order-1", "op-1"))
		second := h.commit(t, claim(first, "op-2"), claimed...)
		third := h.commit(t, next(second, "op-3", nil))
		wantError(t, h.Store.Commit(t.Context(), store.Change{Task: claim(first, "op-2"), Locks: claimed}), store.ErrConflict)
		h.expect(t, third)
	},

	"overtaken by the same version of another op: the repeat is a conflict": func(t *testing.T, h Harness) {
		first := h.create(t, order("order-1", "op-1"))
		theirs := h.commit(t, claim(first, "op-theirs"), claimed...)
		wantError(t, h.Store.Commit(t.Context(), store.Change{Task: claim(first, "op-ours"), Locks: claimed}), store.ErrConflict)
		h.expect(t, theirs)
	},

	"lost: the repeat applies": func(t *testing.T, h Harness) {
		first := h.create(t, order("order-1", "op-1"))
		second := claim(first, "op-2")
		if err := h.Store.Commit(cancelled(t), store.Change{Task: second, Locks: claimed}); err == nil {
			t.Error("got no error with a cancelled context")
		}
		h.expect(t, h.commit(t, second, claimed...))
	},

	"too large a record gets ErrTooLarge and changes nothing": func(t *testing.T, h Harness) {
		first := h.create(t, order("order-1", "op-1"))
		huge := next(first, "op-2", func(t *task.Task) { t.Reason = strings.Repeat("x", 300<<10) })
		wantError(t, h.Store.Commit(t.Context(), store.Change{Task: huge}), store.ErrTooLarge)
		h.expect(t, first)
	},

	"too large an output gets ErrTooLarge and changes nothing": func(t *testing.T, h Harness) {
		first := h.create(t, order("order-1", "op-1"))
		huge := next(first, "op-2", func(v *task.Task) { v.Steps[0].Output = body(task.MaxOutput + 1) })
		wantError(t, h.Store.Commit(t.Context(), store.Change{Task: huge, Outputs: outputs(huge)}), store.ErrTooLarge)
		h.expect(t, first)
	},

	"steps that can't be told apart by name are refused": func(t *testing.T, h Harness) {
		first := h.create(t, order("order-1", "op-1"))
		for _, name := range []string{"", "reserve", "charge"} {
			v := next(first, "op-2", func(v *task.Task) { v.Steps[2].Name = name })
			if err := h.Store.Commit(t.Context(), store.Change{Task: v}); err == nil {
				t.Errorf("a third step of the name %q: got no error", name)
			}
		}
		h.expect(t, first)
	},

	"a task of the most steps: one write may touch all of them, under any mix of locks": func(t *testing.T, h Harness) {
		first := h.create(t, wide("op-1"))
		all := next(first, "op-2", lockSteps(func(int) bool { return true }))
		h.expect(t, h.commit(t, all, locksOf(first)...))
		half := next(all, "op-3", lockSteps(func(i int) bool { return i%2 == 0 }))
		h.expect(t, h.commit(t, half, locksOf(all)...))
		for i := range half.Steps {
			other := locksOf(half)
			other[i].LockedBy += "'"
			wantError(t, h.Store.Commit(t.Context(), store.Change{Task: next(half, "op-4", nil), Locks: other}), store.ErrConflict)
		}
		none := next(half, "op-4", lockSteps(func(int) bool { return false }))
		h.expect(t, h.commit(t, none, locksOf(half)...))
		h.expect(t, h.commit(t, next(none, "op-5", finished(task.Cancelled)), locksOf(none)...))
	},

	"it survives a restart, with its condition": func(t *testing.T, h Harness) {
		first := h.create(t, order("order-1", "op-1"))
		second := h.commit(t, claim(first, "op-2"), claimed...)
		if h.Reopen != nil {
			h = h.Reopen(t)
		}
		h.expect(t, second)
		h.commit(t, second)
		wantError(t, h.Store.Commit(t.Context(), store.Change{Task: claim(first, "op-3")}), store.ErrConflict)
		h.expect(t, h.commit(t, next(second, "op-3", nil), task.Lock{Step: "charge", LockedBy: "op-2"}))
	},
}

// wide is a task of the most steps, none of them claimed, that op creates.
func wide(op string) task.Task {
	t := order("order-1", op)
	t.Steps = nil
	for i := range task.MaxSteps {
		t.Steps = append(t.Steps, task.StepState{Name: "step-" + strconv.Itoa(i), State: task.Pending})
	}
	return t
}

// lockSteps claims the steps that it is to, and ends the others.
func lockSteps(claimed func(i int) bool) func(*task.Task) {
	return func(t *task.Task) {
		for i := range t.Steps {
			s := &t.Steps[i]
			if s.State, s.LockedBy = task.Processed, ""; claimed(i) {
				s.State, s.LockedBy = task.Processing, t.Op
			}
		}
	}
}

// locksOf locks every step as it reads.
func locksOf(t task.Task) (locks []task.Lock) {
	for _, s := range t.Steps {
		locks = append(locks, task.Lock{Step: s.Name, LockedBy: s.LockedBy})
	}
	return locks
}

// race commits the next version of current from many callers at once and
// returns the one that won.
func (h Harness) race(t *testing.T, current task.Task, round int) task.Task {
	t.Helper()
	const callers = 16
	errs := make([]error, callers)
	var all sync.WaitGroup
	attempt := func(i int) task.Task {
		return next(current, strconv.Itoa(round)+"/"+strconv.Itoa(i), func(t *task.Task) { t.FailureCount = i })
	}
	for i := range callers {
		all.Go(func() { errs[i] = h.Store.Commit(t.Context(), store.Change{Task: attempt(i)}) })
	}
	all.Wait()
	winner := -1
	for i, err := range errs {
		switch {
		case err == nil && winner < 0:
			winner = i
		case err == nil:
			t.Errorf("round %d: both %d and %d were committed", round, winner, i)
		default:
			wantError(t, err, store.ErrConflict)
		}
	}
	if winner < 0 {
		t.Fatalf("round %d: none was committed", round)
	}
	return attempt(winner)
}
