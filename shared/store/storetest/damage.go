package storetest

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/store"
	"triad/shared/task"
)

// damageTests are for stores in which a test can damage a record: it must hurt only
// the task whose record it is.
var damageTests = map[string]func(*testing.T, Harness){
	"it is told to who loads the task": func(t *testing.T, h Harness) {
		h, sound, damaged := h.damaged(t)
		for _, id := range damaged {
			_, err := h.Store.Load(t.Context(), id)
			wantError(t, err, store.ErrDamaged)
		}
		for _, v := range sound {
			h.expect(t, v)
		}
	},

	"a list goes on behind it, and tells which it is": func(t *testing.T, h Harness) {
		h, _, _ = h.damaged(t)
		for _, limit := range []int{0, 1, 2, 3} {
			h.expectDamaged(t, store.ListQuery{Unfinished: true, Limit: limit}, "live", "failed")
			h.expectDamaged(t, store.ListQuery{State: task.Error, Limit: limit}, "failed", "live")
		}
	},

	"what else is due is found": func(t *testing.T, h Harness) {
		h, _, damaged := h.damaged(t)
		h.settle()
		page, err := h.Store.Due(t.Context(), store.DueQuery{Shard: 3, Before: later, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		var got []task.ID
		for _, row := range page.Rows {
			if !slices.Contains(damaged, row.ID) { // which is a hint like any other
				got = append(got, row.ID)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(got, []task.ID{"live-0000", "live-0002"}); diff != "" {
			t.Errorf("due (-got +want):\n%s", diff)
		}
	},

	"a walk goes on behind it, and tells which it is": func(t *testing.T, h Harness) {
		h, _, damaged := h.damaged(t)
		if h.Walker == nil {
			t.Log("not tried: this store declares no walker")
			return
		}
		walked := h.walk(t, 2)
		for _, w := range walked {
			if errors.Is(w.Err, store.ErrDamaged) != slices.Contains(damaged, w.ID) {
				t.Errorf("task %s: got error %v; damaged are %v", w.ID, w.Err, damaged)
			}
		}
		if len(walked) != 6 {
			t.Errorf("walked by %d tasks, want 6", len(walked))
		}
	},
}

// damaged has three live tasks and three that failed; the second of each is damaged.
func (h Harness) damaged(t *testing.T) (_ Harness, sound []task.Task, damaged []task.ID) {
	t.Helper()
	for i := range 3 {
		live := h.create(t, order(ids("live", 3)[i], "op-1"))
		failed := h.commit(t, next(h.create(t, order(ids("failed", 3)[i], "op-1")), "op-2", finished(task.Error)))
		if i == 1 {
			damaged = append(damaged, live.ID, failed.ID)
		} else {
			sound = append(sound, live, failed)
		}
	}
	for _, id := range damaged {
		h = h.Damage(t, id)
	}
	return h, sound, damaged
}

// expectDamaged pages through a list and compares the ids of what can be read and of
// what is damaged with those of one kind. A store need not know that the damaged one
// of the other kind was not asked for.
func (h Harness) expectDamaged(t *testing.T, q store.ListQuery, kind, other string) {
	t.Helper()
	h.settle()
	var read, unread []task.ID
	for range 20 {
		page, err := h.Store.List(t.Context(), q)
		if err != nil {
			t.Fatalf("List(%+v): %v", q, err)
		}
		if n := len(page.Tasks) + len(page.Damaged); q.Limit > 0 && n > q.Limit {
			t.Errorf("List(%+v): got %d tasks", q, n)
		}
		for _, v := range page.Tasks {
			read = append(read, v.ID)
		}
		for _, d := range page.Damaged {
			if wantError(t, d.Err, store.ErrDamaged); d.ID != ids(other, 3)[1] {
				unread = append(unread, d.ID)
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	slices.Sort(read)
	all := ids(kind, 3)
	if diff := cmp.Diff([][]task.ID{read, unread}, [][]task.ID{{all[0], all[2]}, {all[1]}}); diff != "" {
		t.Errorf("List(%+v) (-got +want):\n%s", q, diff)
	}
}
