package memstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"triad/shared/store"
	"triad/shared/task"
)

// row is a task with its place in the order of creation. It has an id only when
// its record is damaged, as err says.
type row struct {
	seq  int64
	task task.Task
	err  error
}

// rows decodes all tasks that are wanted, in the order of creation. It can't be
// asked of damaged ones, so these are among them.
func (s *Store) rows(wanted func(task.Task) bool) []row {
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []row
	for id, k := range s.tasks {
		t, err := k.task()
		if err != nil {
			t.ID = id
		}
		if err != nil || wanted(t) {
			rows = append(rows, row{k.seq, t, err})
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.seq, b.seq) })
	return rows
}

// Due returns a page of a shard of the CompleteBy index. See store.Store. It
// sees every commit that had returned. The index is read off the records: a
// damaged one is in no shard.
func (s *Store) Due(ctx context.Context, q store.DueQuery) (page store.DuePage, err error) {
	if err := ctx.Err(); err != nil {
		return page, fmt.Errorf("reading what is due: %w", err)
	}
	rows := s.rows(func(t task.Task) bool {
		return t.CompleteBy > 0 && t.Shard == q.Shard && t.CompleteBy <= q.Before
	})
	rows = slices.DeleteFunc(rows, func(r row) bool { return r.err != nil })
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.task.CompleteBy, b.task.CompleteBy) })
	var after [2]int64
	if q.Cursor != "" {
		var shard int
		if _, err := fmt.Sscanf(q.Cursor, "%d.%d.%d", &shard, &after[0], &after[1]); err != nil || shard != q.Shard {
			return page, fmt.Errorf("reading what is due: %w: %q is not one of this store", store.ErrCursor, q.Cursor)
		}
	}
	for _, r := range rows {
		at := [2]int64{int64(r.task.CompleteBy), r.seq}
		if slices.Compare(at[:], after[:]) <= 0 {
			continue
		}
		if len(page.Rows) == max(1, q.Limit) {
			page.Next = fmt.Sprintf("%d.%d.%d", q.Shard, after[0], after[1])
			break
		}
		page.Rows = append(page.Rows, store.Due{ID: r.task.ID, CompleteBy: r.task.CompleteBy})
		after = at
	}
	return page, nil
}

// List returns tasks in the order of creation. It supports every filter.
func (s *Store) List(ctx context.Context, q store.ListQuery) (page store.ListPage, err error) {
	if err := ctx.Err(); err != nil {
		return page, fmt.Errorf("listing tasks: %w", err)
	}
	var after int64
	if q.Cursor != "" {
		if after, err = strconv.ParseInt(q.Cursor, 10, 64); err != nil {
			return page, fmt.Errorf("listing tasks: %w: %q is not one of this store", store.ErrCursor, q.Cursor)
		}
	}
	limit := min(q.Limit, 1_000)
	if limit <= 0 {
		limit = 100
	}
	for _, r := range s.rows(func(t task.Task) bool { return matches(t, q) }) {
		if r.seq <= after {
			continue
		}
		if len(page.Tasks)+len(page.Damaged) == limit {
			page.Next = strconv.FormatInt(after, 10)
			break
		}
		if after = r.seq; r.err != nil {
			page.Damaged = append(page.Damaged, store.Damaged{ID: r.task.ID, Err: r.err})
		} else {
			page.Tasks = append(page.Tasks, r.task)
		}
	}
	return page, nil
}

func matches(t task.Task, q store.ListQuery) bool {
	name, _, _ := strings.Cut(t.Workflow, "@")
	return (q.State == "" || t.State == q.State) &&
		(q.Workflow == "" || t.Workflow == q.Workflow || name == q.Workflow) &&
		(q.Tenant == "" || t.Tenant == q.Tenant) &&
		(!q.Unfinished || !t.State.Finished())
}
