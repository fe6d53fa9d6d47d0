package storetest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/store"
	"triad/shared/task"
)

var dueTests = map[string]func(*testing.T, Harness){
	"the earliest comes first": func(t *testing.T, h Harness) {
		for i, n := range []task.Millis{5, 1, 4, 2, 3} {
			h.create(t, with(order(ids("order", i+1)[i], "op-1"), 3, created+n))
		}
		want := []store.Due{{ID: "order-0001", CompleteBy: created + 1}, {ID: "order-0003", CompleteBy: created + 2},
			{ID: "order-0004", CompleteBy: created + 3}, {ID: "order-0002", CompleteBy: created + 4}, {ID: "order-0000", CompleteBy: created + 5}}
		for _, limit := range []int{1, 2, 5, 100} {
			h.expectDue(t, 3, later, limit, want)
		}
	},

	"only what is due by then": func(t *testing.T, h Harness) {
		for i, n := range []task.Millis{1_000, 1_001, 999} {
			h.create(t, with(order(ids("order", i+1)[i], "op-1"), 3, created+n))
		}
		h.expectDue(t, 3, created, 10, nil)
		h.expectDue(t, 3, created+1_000, 10, []store.Due{{ID: "order-0002", CompleteBy: created + 999}, {ID: "order-0000", CompleteBy: created + 1_000}})
	},

	"shards are separate": func(t *testing.T, h Harness) {
		h.create(t, with(order("zero", "op-1"), 0, created))
		h.create(t, with(order("one", "op-1"), 1, created))
		h.create(t, with(order("ten", "op-1"), 10, created))
		h.expectDue(t, 0, later, 10, []store.Due{{ID: "zero", CompleteBy: created}})
		h.expectDue(t, 1, later, 10, []store.Due{{ID: "one", CompleteBy: created}})
		h.expectDue(t, 10, later, 10, []store.Due{{ID: "ten", CompleteBy: created}})
		h.expectDue(t, 2, later, 10, nil)
	},

	"a task moves with its CompleteBy and its shard": func(t *testing.T, h Harness) {
		v := h.create(t, with(order("order-1", "op-1"), 3, created+100))
		v = h.commit(t, with(next(v, "op-2", nil), 3, created+50))
		h.expectDue(t, 3, later, 10, []store.Due{{ID: "order-1", CompleteBy: created + 50}})
		v = h.commit(t, next(v, "op-3", func(t *task.Task) { t.FailureCount++ }))
		h.expectDue(t, 3, later, 10, []store.Due{{ID: "order-1", CompleteBy: created + 50}})
		h.commit(t, with(next(v, "op-4", nil), 4, created+50))
		h.expectDue(t, 3, later, 10, nil)
		h.expectDue(t, 4, later, 10, []store.Due{{ID: "order-1", CompleteBy: created + 50}})
	},

	"CompleteBy 0 leaves the index, and comes back": func(t *testing.T, h Harness) {
		v := h.create(t, with(order("order-1", "op-1"), 3, created))
		v = h.commit(t, next(v, "op-2", finished(task.Error)))
		for shard := range 16 {
			h.expectDue(t, shard, later, 10, nil)
		}
		v = next(v, "op-3", func(t *task.Task) { t.State = task.Processing })
		h.commit(t, with(v, 3, created+7))
		h.expectDue(t, 3, later, 10, []store.Due{{ID: "order-1", CompleteBy: created + 7}})
	},

	"a finished task that owes something is due": func(t *testing.T, h Harness) {
		v := h.create(t, with(order("order-1", "op-1"), 3, created))
		v = next(v, "op-2", finished(task.Error))
		v.Owing = true
		h.commit(t, with(v, 3, created+9))
		h.expectDue(t, 3, later, 10, []store.Due{{ID: "order-1", CompleteBy: created + 9}})
	},

	"ties are neither lost nor doubled": func(t *testing.T, h Harness) {
		list := ids("order", 25)
		for _, id := range list {
			h.create(t, with(order(id, "op-1"), 3, created))
		}
		h.settle()
		for _, limit := range []int{1, 4, 25} {
			h.expectEach(t, list, h.page(t, 3, limit, nil))
		}
	},

	"rows that stay put are neither lost nor doubled while others move": func(t *testing.T, h Harness) {
		var stay []task.ID
		var moving []task.Task
		for i, id := range ids("order", 40) {
			v := h.create(t, with(order(id, "op-1"), 3, created+task.Millis(i/4)))
			if i%4 == 1 {
				moving = append(moving, v)
			} else {
				stay = append(stay, id)
			}
		}
		h.settle()
		seen := h.page(t, 3, 7, func() {
			if len(moving) > 0 {
				h.commit(t, with(next(moving[0], "op-2", nil), 3, created+1_000))
				moving = moving[1:]
			}
		})
		h.expectEach(t, stay, seen)
	},

	"the index survives a restart": func(t *testing.T, h Harness) {
		h.create(t, with(order("order-1", "op-1"), 3, created+1))
		done := h.create(t, with(order("order-2", "op-1"), 3, created+2))
		h.commit(t, next(done, "op-2", finished(task.Processed)))
		if h.Reopen != nil {
			h = h.Reopen(t)
		}
		h.expectDue(t, 3, later, 10, []store.Due{{ID: "order-1", CompleteBy: created + 1}})
	},

	"a cursor of another shard, or of nothing, is refused": func(t *testing.T, h Harness) {
		for _, id := range ids("order", 2) {
			h.create(t, order(id, "op-1"))
		}
		h.settle()
		page, err := h.Store.Due(t.Context(), store.DueQuery{Shard: 3, Before: later, Limit: 1})
		if err != nil || page.Next == "" {
			t.Fatalf("the first of two: next %q, error %v", page.Next, err)
		}
		for _, cursor := range []string{page.Next, "tomorrow"} {
			_, err = h.Store.Due(t.Context(), store.DueQuery{Shard: 4, Before: later, Limit: 1, Cursor: cursor})
			wantError(t, err, store.ErrCursor)
		}
	},

	"with a cancelled context it reports that": func(t *testing.T, h Harness) {
		_, err := h.Store.Due(cancelled(t), store.DueQuery{Shard: 3, Before: later, Limit: 1})
		wantError(t, err, cancelled(t).Err())
	},
}

// expectDue pages through a shard and compares all rows.
func (h Harness) expectDue(t *testing.T, shard int, before task.Millis, limit int, want []store.Due) {
	t.Helper()
	h.settle()
	var got []store.Due
	q := store.DueQuery{Shard: shard, Before: before, Limit: limit}
	for range len(want) + 3 {
		page, err := h.Store.Due(t.Context(), q)
		if err != nil {
			t.Fatalf("Due(%+v): %v", q, err)
		}
		if len(page.Rows) > limit {
			t.Errorf("Due(%+v): got %d rows", q, len(page.Rows))
		}
		got = append(got, page.Rows...)
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	if diff := cmp.Diff(got, want, alike()); diff != "" {
		t.Errorf("due in shard %d by %d, %d a page (-got +want):\n%s", shard, before, limit, diff)
	}
}

// page reads a whole shard and counts how often each row came; between the
// pages it calls meanwhile.
func (h Harness) page(t *testing.T, shard, limit int, meanwhile func()) map[task.ID]int {
	t.Helper()
	seen := map[task.ID]int{}
	q := store.DueQuery{Shard: shard, Before: later, Limit: limit}
	for range 1_000 {
		page, err := h.Store.Due(t.Context(), q)
		if err != nil {
			t.Fatalf("Due(%+v): %v", q, err)
		}
		for _, row := range page.Rows {
			seen[row.ID]++
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return seen
		}
		if meanwhile != nil {
			meanwhile()
		}
	}
	t.Fatal("the pages do not end")
	return nil
}

// expectEach checks that every id came exactly once.
func (h Harness) expectEach(t *testing.T, want []task.ID, seen map[task.ID]int) {
	t.Helper()
	var wrong []string
	for _, id := range want {
		if seen[id] != 1 {
			wrong = append(wrong, fmt.Sprintf("%s came %d times", id, seen[id]))
		}
	}
	if len(wrong) > 0 {
		t.Errorf("want each once: %v", wrong)
	}
}
