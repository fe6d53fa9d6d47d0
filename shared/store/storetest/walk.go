package storetest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/store"
	"triad/shared/task"
)

// walkTests are for implementations with a Walker; the others have nothing to
// promise.
var walkTests = map[string]func(*testing.T, Harness){
	"a walk sees every task, whatever its state": func(t *testing.T, h Harness) {
		live := h.create(t, order("live", "op-1"))
		done := h.create(t, order("done", "op-1"))
		done = h.commit(t, next(done, "op-2", finished(task.Processed)))
		failed := h.create(t, order("failed", "op-1"))
		failed = h.commit(t, next(failed, "op-2", finished(task.Error)))
		held := order("held", "op-1")
		held.Shard = task.HeldShard(3)
		want := map[task.ID]task.Task{"live": live, "done": done, "failed": failed, "held": h.create(t, held)}
		for _, w := range h.walk(t, 100) {
			v := want[w.ID]
			delete(want, w.ID)
			v.Order = nil
			if diff := cmp.Diff(v, w.Task, alike()); diff != "" || w.Err != nil {
				t.Errorf("task %s (-want +got), %v:\n%s", w.ID, w.Err, diff)
			}
			if w.CompleteBy != v.CompleteBy || w.Shard != v.Shard && v.CompleteBy > 0 {
				t.Errorf("the index has %s in shard %d at %d, want %d at %d", w.ID, w.Shard, w.CompleteBy, v.Shard, v.CompleteBy)
			}
		}
		if len(want) > 0 {
			t.Errorf("not walked by: %v", want)
		}
	},

	"pages lose nothing and double nothing": func(t *testing.T, h Harness) {
		for _, limit := range []int{1, 7, 40, 1_000} {
			for _, id := range ids(fmt.Sprintf("with-%d", limit), 20) {
				v := order(id, "op-1")
				v.Steps[0].Output = body(1_000)
				h.create(t, v)
			}
			seen := map[task.ID]int{}
			for _, w := range h.walk(t, limit) {
				seen[w.ID]++
			}
			for _, id := range ids(fmt.Sprintf("with-%d", limit), 20) {
				if seen[id] != 1 {
					t.Errorf("limit %d: task %s came %d times", limit, id, seen[id])
				}
			}
		}
	},

	"a cursor of another kind is refused": func(t *testing.T, h Harness) {
		_, err := h.Walker.Walk(t.Context(), "tomorrow", 10)
		wantError(t, err, store.ErrCursor)
	},

	"an ended context ends it": func(t *testing.T, h Harness) {
		if _, err := h.Walker.Walk(cancelled(t), "", 10); err == nil {
			t.Error("a walk in a context that had ended succeeded")
		}
	},
}

// walk goes through everything.
func (h Harness) walk(t *testing.T, limit int) (all []store.Walked) {
	t.Helper()
	for cursor := ""; ; {
		page, err := h.Walker.Walk(t.Context(), cursor, limit)
		if err != nil {
			t.Fatalf("Walk(%q): %v", cursor, err)
		}
		if len(page.Tasks) > limit {
			t.Errorf("a page of %d tasks, the limit is %d", len(page.Tasks), limit)
		}
		all = append(all, page.Tasks...)
		if cursor = page.Next; cursor == "" {
			return all
		}
	}
}
