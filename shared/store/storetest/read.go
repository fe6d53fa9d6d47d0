package storetest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"triad/shared/store"
	"triad/shared/task"
	"triad/shared/task/tasktest"
)

// load loads a task, or one that there can't be.
func (m *machine) load(rt *rapid.T) {
	ids := append([]task.ID{"", "nobody", "/definitions", "é", task.ID(strings.Repeat("z", 3_000))}, m.ids...)
	m.loads(rt, tasktest.Pick(rt, "id", ids...))
}

// duePages is what pages of a shard have in common: all rows, those of the same time
// by id, and the times of the rows page by page.
type duePages struct {
	Rows  []store.Due
	Times [][]task.Millis
}

// due reads a shard page by page, twice.
func (m *machine) due(rt *rapid.T) {
	q := store.DueQuery{
		Shard: tasktest.Pick(rt, "shard", append([]int{99, -99}, shardsDrawn...)...),
		Before: tasktest.Pick(rt, "before", created, later, math.MaxInt64, 0, math.MinInt64, created+2_000,
			created+10_000, created+3_600_000),
		Limit: tasktest.Pick(rt, "limit", 1, 2, 3, 7, 1_000, 0, -1, math.MaxInt),
	}
	if v, _ := m.anyOrNone(rt); v.CompleteBy > 0 && rapid.Bool().Draw(rt, "of a task") {
		q.Shard, q.Before = v.Shard, v.CompleteBy
	}
	m.dueBy(rt, q)
}

// allDue reads every shard that a task is in, or was.
func (m *machine) allDue(rt *rapid.T) {
	shards := map[int]bool{}
	for _, shard := range shardsDrawn {
		shards[shard] = true
	}
	for _, v := range m.stored {
		shards[v.Shard], shards[task.HeldShard(v.Shard)] = true, true
	}
	for _, shard := range slices.Sorted(maps.Keys(shards)) {
		m.dueBy(rt, store.DueQuery{Shard: shard, Before: math.MaxInt64, Limit: 3})
	}
}

func (m *machine) dueBy(rt *rapid.T, q store.DueQuery) {
	m.each(rt, "Due", func(h Harness) (any, error) {
		first, err := m.duePages(rt, h, q)
		if err != nil {
			return nil, err
		}
		second, err := m.duePages(rt, h, q)
		if diff := gocmp.Diff(second, first); err == nil && diff != "" {
			rt.Fatalf("Due(%+v): the order is not stable (-second +first):\n%s", q, diff)
		}
		slices.SortStableFunc(first.Rows, func(a, b store.Due) int {
			return cmp.Or(cmp.Compare(a.CompleteBy, b.CompleteBy), cmp.Compare(a.ID, b.ID))
		})
		return first, err
	})
}

func (m *machine) duePages(rt *rapid.T, h Harness, q store.DueQuery) (all duePages, err error) {
	for range len(m.ids) + 2 {
		page, err := h.Store.Due(m.t.Context(), q)
		if err != nil {
			return all, err
		}
		var times []task.Millis
		for _, row := range page.Rows {
			times = append(times, row.CompleteBy)
		}
		all.Rows, all.Times = append(all.Rows, page.Rows...), append(all.Times, times)
		if page.Next == "" {
			if !slices.IsSortedFunc(all.Rows, func(a, b store.Due) int { return cmp.Compare(a.CompleteBy, b.CompleteBy) }) {
				rt.Fatalf("Due(%+v): not the earliest first: %v", q, all.Rows)
			}
			return all, nil
		}
		q.Cursor = page.Next
	}
	rt.Fatalf("Due(%+v): the pages do not end", q)
	return all, nil
}

// anyOrNone is one of the tasks that are stored, if there are any.
func (m *machine) anyOrNone(rt *rapid.T) (v task.Task, raw bool) {
	if len(m.ids) == 0 {
		return v, false
	}
	return m.any(rt)
}

// list lists tasks page by page.
func (m *machine) list(rt *rapid.T) {
	q := store.ListQuery{
		Unfinished: rapid.Bool().Draw(rt, "unfinished"),
		State:      tasktest.Pick(rt, "of state", "", task.Error, task.Pending, task.Processing, task.Compensating, task.Processed, "no such"),
		Workflow:   tasktest.Pick(rt, "of workflow", "", "", "", "order", "order@1", "ord", "any", "any@2", "@"),
		Tenant:     tasktest.Pick(rt, "of tenant", "", "", "", "one", "null"),
		Limit:      tasktest.Pick(rt, "limit", 0, 1, 2, 7, 1_000, 5_000, -1),
	}
	m.each(rt, "List", func(h Harness) (any, error) {
		all, err := m.listPages(rt, h, q)
		if errors.Is(err, store.ErrUnsupported) && q != (store.ListQuery{Unfinished: true, Limit: q.Limit}) {
			return nil, errNotTried
		}
		return all, err
	})
}

// listPages are the tasks of all pages by id; of failed ones those that owe nothing.
func (m *machine) listPages(rt *rapid.T, h Harness, q store.ListQuery) (all []task.Task, err error) {
	for range 2*len(m.ids) + 2 {
		page, err := h.Store.List(m.t.Context(), q)
		if err != nil {
			return nil, err
		}
		if limit := min(q.Limit, 1_000); limit > 0 && len(page.Tasks) > limit {
			rt.Fatalf("List(%+v): %d tasks in a page", q, len(page.Tasks))
		}
		all = append(all, page.Tasks...)
		if page.Next == "" {
			if q.State == task.Error {
				all = slices.DeleteFunc(all, func(t task.Task) bool { return t.CompleteBy > 0 })
			}
			slices.SortFunc(all, func(a, b task.Task) int { return cmp.Compare(a.ID, b.ID) })
			return all, nil
		}
		q.Cursor = page.Next
	}
	rt.Fatalf("List(%+v): the pages do not end", q)
	return nil, nil
}

// wrongCursor goes on with a cursor that the store did not give for this.
func (m *machine) wrongCursor(rt *rapid.T) {
	cursor := tasktest.Pick(rt, "cursor", "tomorrow", "?", "{}", ".", "..")
	if rapid.Bool().Draw(rt, "of a list") {
		m.each(rt, "List", func(h Harness) (any, error) {
			return h.Store.List(m.t.Context(), store.ListQuery{Unfinished: true, Cursor: cursor})
		})
		return
	}
	v, _ := m.anyOrNone(rt)
	m.each(rt, "Due", func(h Harness) (any, error) {
		page, err := h.Store.Due(m.t.Context(), store.DueQuery{Shard: v.Shard, Before: later, Limit: 1})
		if err != nil {
			return nil, err
		}
		if page.Next != "" {
			cursor = page.Next
		}
		return h.Store.Due(m.t.Context(), store.DueQuery{Shard: v.Shard + 1, Before: later, Limit: 10, Cursor: cursor})
	})
}

// walk walks through the stores that can be.
func (m *machine) walk(rt *rapid.T) {
	limit := tasktest.Pick(rt, "limit", 1, 3, 100)
	m.each(rt, "Walk", func(h Harness) (any, error) {
		if h.Walker == nil {
			return nil, errNotTried
		}
		var all []store.Walked
		for cursor := ""; ; {
			page, err := h.Walker.Walk(m.t.Context(), cursor, limit)
			if err != nil {
				return nil, err
			}
			for _, w := range page.Tasks {
				if w.Err != nil {
					rt.Fatalf("walking found task %s: %v", w.ID, w.Err)
				}
				if w.CompleteBy == 0 {
					w.Shard = 0 // it is in none
				}
				all = append(all, w)
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		slices.SortFunc(all, func(a, b store.Walked) int { return cmp.Compare(a.ID, b.ID) })
		return all, nil
	})
}

// told reads the notices and alerts of the stores that keep them.
func (m *machine) told(rt *rapid.T) {
	m.each(rt, "Mail", func(h Harness) (any, error) {
		if !h.KeepsTold {
			return nil, errNotTried
		}
		kept, err := h.Ledger.Mail().Notices(m.t.Context(), "app", 0, 1_000)
		if err != nil {
			return nil, err
		}
		var notices []task.Notice
		for _, n := range kept {
			notices = append(notices, compacted(n.Notice))
		}
		alerts, err := h.Ledger.Mail().Alerts(m.t.Context(), 0, 1_000)
		var raised []task.Alert
		for _, a := range alerts {
			raised = append(raised, a.Alert)
		}
		return []any{notices, raised}, err
	})
}

// compacted is a notice with outputs that have no space between their tokens.
func compacted(n task.Notice) task.Notice {
	n.Outputs = maps.Clone(n.Outputs)
	for step, output := range n.Outputs {
		var b bytes.Buffer
		if json.Compact(&b, output) == nil {
			n.Outputs[step] = b.Bytes()
		}
	}
	return n
}
