package memstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"triad/shared/store"
	"triad/shared/task"
)

// Walk returns all tasks in the order of creation. See store.Walker. The index
// has no place of its own here: it is read off the records.
func (s *Store) Walk(ctx context.Context, cursor string, limit int) (page store.WalkPage, err error) {
	if err := ctx.Err(); err != nil {
		return page, fmt.Errorf("walking through the tasks: %w", err)
	}
	var after int64
	if cursor != "" {
		if after, err = strconv.ParseInt(cursor, 10, 64); err != nil {
			return page, fmt.Errorf("walking through the tasks: %w: %q is not one of this store", store.ErrCursor, cursor)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := slices.SortedFunc(maps.Keys(s.tasks), func(a, b task.ID) int { return cmp.Compare(s.tasks[a].seq, s.tasks[b].seq) })
	for _, id := range ids {
		k := s.tasks[id]
		if k.seq <= after {
			continue
		}
		if len(page.Tasks) == max(limit, 1) {
			page.Next = strconv.FormatInt(after, 10)
			break
		}
		t, err := k.task()
		page.Tasks = append(page.Tasks, store.Walked{ID: id, Task: t, Err: err, Shard: t.Shard, CompleteBy: t.CompleteBy})
		after = k.seq
	}
	return page, nil
}
