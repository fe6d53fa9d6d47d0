package sqlitestore

import (
	"context"
	"fmt"

	"triad/shared/store"
	"triad/shared/task"
)

const (
	selectDue = `SELECT id, due, seq FROM tasks
		WHERE due > 0 AND shard = ? AND due <= ? AND (due, seq) > (?, ?) ORDER BY due, seq LIMIT ?`
	countUnfinished = `SELECT count(*) FROM tasks WHERE due > 0`
)

// Due returns a page of a shard of the CompleteBy index. See store.Store. It
// sees every commit that had returned.
func (s *Store) Due(ctx context.Context, q store.DueQuery) (store.DuePage, error) {
	page, err := s.due(ctx, q)
	if err != nil {
		return store.DuePage{}, fmt.Errorf("reading what is due in shard %d: %w", q.Shard, translate(s.path, err))
	}
	return page, nil
}

func (s *Store) due(ctx context.Context, q store.DueQuery) (page store.DuePage, err error) {
	var after place
	if q.Cursor != "" {
		if after, err = parsePlace(q.Cursor); err != nil {
			return page, err
		}
		if after[0] != int64(q.Shard) {
			return page, fmt.Errorf("%w: %q is one of another shard", store.ErrCursor, q.Cursor)
		}
	}
	limit := max(1, q.Limit)
	rows, err := s.reads.due.QueryContext(ctx, q.Shard, int64(q.Before), after[1], after[2], limit+1)
	if err != nil {
		return page, err
	}
	defer rows.Close()
	last := place{int64(q.Shard)}
	for rows.Next() {
		if len(page.Rows) == limit {
			page.Next = last.String()
			break
		}
		var d store.Due
		if err := rows.Scan(&d.ID, &last[1], &last[2]); err != nil {
			return page, err
		}
		d.CompleteBy = task.Millis(last[1])
		page.Rows = append(page.Rows, d)
	}
	return page, rows.Err()
}

// Count returns how many tasks have a CompleteBy: those that have not finished,
// or owe something. It takes about a tenth of a second for a million.
func (s *Store) Count(ctx context.Context) (unfinished int, err error) {
	if err := s.reads.count.QueryRowContext(ctx).Scan(&unfinished); err != nil {
		return 0, fmt.Errorf("counting unfinished tasks: %w", translate(s.path, err))
	}
	return unfinished, nil
}
