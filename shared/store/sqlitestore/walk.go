package sqlitestore

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"triad/shared/store"
	"triad/shared/store/record"
	"triad/shared/task"
)

const walkTasks = `SELECT seq, id, version, shard, due, workflow, tenant, state, record FROM tasks
	WHERE seq < ? ORDER BY seq DESC LIMIT ?`

// Walk returns all tasks, the newest first. See store.Walker. It reads the file,
// never memory; a million tasks take a quarter of a minute or so.
func (s *Store) Walk(ctx context.Context, cursor string, limit int) (store.WalkPage, error) {
	page, err := s.walk(ctx, cursor, max(limit, 1))
	if err != nil {
		return store.WalkPage{}, fmt.Errorf("walking through the tasks: %w", translate(s.path, err))
	}
	return page, nil
}

func (s *Store) walk(ctx context.Context, cursor string, limit int) (page store.WalkPage, err error) {
	before := int64(math.MaxInt64)
	if cursor != "" {
		if before, err = strconv.ParseInt(cursor, 10, 64); err != nil {
			return page, fmt.Errorf("%w: %q is not one of this store", store.ErrCursor, cursor)
		}
	}
	rows, err := s.reads.db.QueryContext(ctx, walkTasks, before, limit+1)
	if err != nil {
		return page, err
	}
	defer rows.Close()
	for rows.Next() {
		if len(page.Tasks) == limit {
			page.Next = strconv.FormatInt(before, 10)
			break
		}
		var c columns
		if err := rows.Scan(&before, &c.id, &c.version, &c.shard, &c.due, &c.workflow, &c.tenant, &c.state, &c.record); err != nil {
			return page, err
		}
		page.Tasks = append(page.Tasks, c.walked())
	}
	return page, rows.Err()
}

// columns are a row of tasks: the record, and the copies of parts of it.
type columns struct {
	id, workflow, tenant, state string
	version, shard, due         int64
	record                      string
}

// walked is the task of the record. Copies that differ from it are damage, but
// for those that make the index: these are handed on.
func (c columns) walked() store.Walked {
	w := store.Walked{ID: task.ID(c.id), Shard: int(c.shard), CompleteBy: task.Millis(c.due)}
	t, _, err := record.Decode([]byte(c.record))
	if err != nil {
		w.Err = err
		return w
	}
	for _, part := range []struct{ name, column, record string }{
		{"id", c.id, string(t.ID)},
		{"version", fmt.Sprint(c.version), fmt.Sprint(t.Version)},
		{"workflow", c.workflow, t.Workflow},
		{"tenant", c.tenant, t.Tenant},
		{"state", c.state, string(t.State)},
	} {
		if part.column != part.record {
			w.Err = fmt.Errorf("%w: the column %s is %q, and the record has %q", store.ErrDamaged, part.name, part.column, part.record)
			return w
		}
	}
	w.Task = t
	return w
}
