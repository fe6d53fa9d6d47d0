package storetest

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/store"
	"triad/shared/task"
)

var listTests = map[string]func(*testing.T, Harness){
	"filters select": func(t *testing.T, h Harness) {
		h.mixture(t)
		tests := map[string]struct {
			query store.ListQuery
			want  []task.ID
		}{
			"everything":            {store.ListQuery{}, []task.ID{"error", "held", "live", "new", "other", "processed", "undone"}},
			"unfinished":            {store.ListQuery{Unfinished: true}, []task.ID{"held", "live", "new", "other"}},
			"failed":                {store.ListQuery{State: task.Error}, []task.ID{"error"}},
			"failed and unfinished": {store.ListQuery{State: task.Error, Unfinished: true}, nil},
			"processed":             {store.ListQuery{State: task.Processed}, []task.ID{"processed"}},
			"pending":               {store.ListQuery{State: task.Pending}, []task.ID{"held"}},
			"a workflow":            {store.ListQuery{Workflow: "order"}, []task.ID{"error", "held", "live", "new", "processed", "undone"}},
			"a workflow's version":  {store.ListQuery{Workflow: "order@2"}, []task.ID{"new"}},
			"part of a name":        {store.ListQuery{Workflow: "ord"}, nil},
			"a tenant":              {store.ListQuery{Tenant: "acme"}, []task.ID{"live"}},
			"a tenant, unfinished":  {store.ListQuery{Tenant: "shop", Unfinished: true}, []task.ID{"held", "new", "other"}},
			"a tenant's failed":     {store.ListQuery{Tenant: "acme", State: task.Error}, nil},
			"of no tenant":          {store.ListQuery{Tenant: "nobody"}, nil},
		}
		for name, test := range tests {
			for _, limit := range []int{0, 1, 2, 1_000} {
				test.query.Limit = limit
				h.expectList(t, name, test.query, test.want)
			}
		}
	},

	"tasks come without order and large outputs": func(t *testing.T, h Harness) {
		v := order("order-1", "op-1")
		v.Steps[0].Output, v.Steps[1].Output = body(1_000), []byte(`{"id": 1}`)
		h.create(t, v)
		h.settle()
		page, err := h.Store.List(t.Context(), store.ListQuery{Unfinished: true})
		if err != nil {
			t.Fatal(err)
		}
		want := v.Clone()
		want.Order, want.Steps[0].Output = nil, nil
		if diff := cmp.Diff(page.Tasks, []task.Task{want}, alike()); diff != "" {
			t.Errorf("List (-got +want):\n%s", diff)
		}
	},

	"pages lose nothing and double nothing": func(t *testing.T, h Harness) {
		want := ids("order", 60)
		for i, id := range want {
			h.create(t, with(order(id, "op-1"), i%5, created+task.Millis(i%7)))
		}
		for _, limit := range []int{1, 7, 59, 60, 0} {
			h.expectList(t, "all", store.ListQuery{Limit: limit}, want)
			h.expectList(t, "unfinished", store.ListQuery{Unfinished: true, Limit: limit}, want)
		}
	},

	"pages lose nothing and double nothing while tasks are created": func(t *testing.T, h Harness) {
		old := ids("old", 20)
		for _, id := range old {
			h.create(t, order(id, "op-1"))
		}
		h.settle()
		more := ids("new", 20)
		seen := map[task.ID]int{}
		q := store.ListQuery{Limit: 3}
		for range 100 {
			page, err := h.Store.List(t.Context(), q)
			if errors.Is(err, store.ErrUnsupported) {
				t.Logf("not tried: this store does not list %+v", q)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range page.Tasks {
				seen[v.ID]++
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
			if len(more) > 0 {
				h.create(t, order(more[0], "op-1"))
				more = more[1:]
			}
		}
		h.expectEach(t, old, seen)
	},

	"with a cancelled context it reports that": func(t *testing.T, h Harness) {
		_, err := h.Store.List(cancelled(t), store.ListQuery{Unfinished: true})
		wantError(t, err, cancelled(t).Err())
	},
}

// mixture creates a task of each kind.
func (h Harness) mixture(t *testing.T) {
	t.Helper()
	live := order("live", "op-1")
	live.Tenant = "acme"
	h.create(t, live)
	held := order("held", "op-1")
	held.State = task.Pending
	h.create(t, held)
	other := order("other", "op-1")
	other.Workflow = "orders@1"
	h.create(t, other)
	newer := order("new", "op-1")
	newer.Workflow = "order@2"
	h.create(t, newer)
	for id, state := range map[task.ID]task.State{"error": task.Error, "processed": task.Processed, "undone": task.Compensated} {
		h.commit(t, next(h.create(t, order(id, "op-1")), "op-2", finished(state)))
	}
}

// expectList pages through a list and compares the ids, in any order. A store
// may answer store.ErrUnsupported unless only unfinished tasks are asked for.
func (h Harness) expectList(t *testing.T, name string, q store.ListQuery, want []task.ID) {
	t.Helper()
	h.settle()
	var got []task.ID
	for range len(want) + 10 {
		page, err := h.Store.List(t.Context(), q)
		if errors.Is(err, store.ErrUnsupported) && q.Cursor == "" && q != (store.ListQuery{Unfinished: true, Limit: q.Limit}) {
			t.Logf("%s: not tried: this store does not list %+v", name, q)
			return
		}
		if err != nil {
			t.Fatalf("%s: List(%+v): %v", name, q, err)
		}
		if q.Limit > 0 && len(page.Tasks) > q.Limit {
			t.Errorf("%s: List(%+v): got %d tasks", name, q, len(page.Tasks))
		}
		for _, v := range page.Tasks {
			got = append(got, v.ID)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(got, want, alike()); diff != "" {
		t.Errorf("%s, %d a page (-got +want):\n%s", name, q.Limit, diff)
	}
}
