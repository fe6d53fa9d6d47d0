package storetest

import (
	"errors"
	"strconv"
	"sync"
	"testing"

	"triad/shared/store"
	"triad/shared/task"
)

var createTests = map[string]func(*testing.T, Harness){
	"what was created is loaded": func(t *testing.T, h Harness) {
		h.expect(t, h.create(t, order("order-1", "op-1")))
	},

	"the same op again is a success and changes nothing": func(t *testing.T, h Harness) {
		first := h.create(t, order("order-1", "op-1"))
		repeated := first.Clone()
		repeated.Reason = "repeated"
		h.create(t, repeated)
		h.expect(t, first)
	},

	"another op gets ErrExists and changes nothing, the order included": func(t *testing.T, h Harness) {
		first := h.create(t, order("order-1", "op-1"))
		second := order("order-1", "op-2")
		second.Order = []byte(`{"item": "rake"}`)
		wantError(t, h.Store.Create(t.Context(), store.Change{Task: second}), store.ErrExists)
		h.expect(t, first)
	},

	"the op that created it gets ErrExists once the task has moved on": func(t *testing.T, h Harness) {
		first := h.create(t, order("order-1", "op-1"))
		second := h.commit(t, next(first, "op-2", nil))
		wantError(t, h.Store.Create(t.Context(), store.Change{Task: first}), store.ErrExists)
		h.expect(t, second)
	},

	"of many at once exactly one wins": func(t *testing.T, h Harness) {
		const callers = 16
		errs := make([]error, callers)
		var all sync.WaitGroup
		for i := range callers {
			all.Go(func() {
				v := order("order-1", "op-"+strconv.Itoa(i))
				v.Order = []byte(strconv.Itoa(i))
				errs[i] = h.Store.Create(t.Context(), store.Change{Task: v})
			})
		}
		all.Wait()
		winner := -1
		for i, err := range errs {
			switch {
			case err == nil && winner < 0:
				winner = i
			case err == nil:
				t.Errorf("both %d and %d were created", winner, i)
			default:
				wantError(t, err, store.ErrExists)
			}
		}
		if winner < 0 {
			t.Fatal("none was created")
		}
		want := order("order-1", "op-"+strconv.Itoa(winner))
		want.Order = []byte(strconv.Itoa(winner))
		h.expect(t, want)
	},

	"a version other than 1 is refused": func(t *testing.T, h Harness) {
		v := order("order-1", "op-1")
		v.Version = 2
		if err := h.Store.Create(t.Context(), store.Change{Task: v}); err == nil {
			t.Error("got no error")
		}
		_, err := h.Store.Load(t.Context(), "order-1")
		wantError(t, err, store.ErrNotFound)
	},

	"too large an order gets ErrTooLarge and leaves nothing": func(t *testing.T, h Harness) {
		v := order("order-1", "op-1")
		v.Order = body(task.MaxOrder + 1)
		wantError(t, h.Store.Create(t.Context(), store.Change{Task: v}), store.ErrTooLarge)
		_, err := h.Store.Load(t.Context(), "order-1")
		wantError(t, err, store.ErrNotFound)
		h.create(t, order("order-1", "op-2"))
	},

	"the largest order fits": func(t *testing.T, h Harness) {
		v := order("order-1", "op-1")
		v.Order = body(task.MaxOrder)
		h.expect(t, h.create(t, v))
	},

	"with a cancelled context it reports that, and can be repeated": func(t *testing.T, h Harness) {
		v := order("order-1", "op-1")
		err := h.Store.Create(cancelled(t), store.Change{Task: v})
		if err == nil || !errors.Is(err, cancelled(t).Err()) {
			t.Errorf("got %v, want an error that wraps the context's", err)
		}
		h.expect(t, h.create(t, v))
	},

	"it survives a restart": func(t *testing.T, h Harness) {
		v := h.create(t, order("order-1", "op-1"))
		if h.Reopen != nil {
			h = h.Reopen(t)
		}
		h.expect(t, v)
		wantError(t, h.Store.Create(t.Context(), store.Change{Task: order("order-1", "op-2")}), store.ErrExists)
		h.create(t, v)
	},
}
