package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"triad/shared/store"
	"triad/shared/store/record"
	"triad/shared/task"
)

// selectTask is one statement, and so reads one version: first the record with
// its order, then the outputs kept aside.
const selectTask = `
SELECT t.seq, NULL, t.record, o.body FROM tasks t LEFT JOIN orders o ON o.seq = t.seq WHERE t.id = ?1
UNION ALL
SELECT x.seq, x.step, NULL, x.body FROM outputs x WHERE x.seq = (SELECT seq FROM tasks WHERE id = ?1)`

// Load returns the latest committed task. See store.Store. It reads memory, or
// else the file: never what is being written.
func (s *Store) Load(ctx context.Context, id task.ID) (task.Task, error) {
	if err := ctx.Err(); err != nil {
		return task.Task{}, fmt.Errorf("loading task %s: %w", id, err)
	}
	e, err := s.load(ctx, id)
	if err != nil {
		return task.Task{}, fmt.Errorf("loading task %s: %w", id, translate(s.path, err))
	}
	return e.task, nil
}

func (s *Store) load(ctx context.Context, id task.ID) (*entry, error) {
	e, ok := s.cache.startReading(id)
	if ok {
		return e, nil
	}
	e, err := s.fetch(ctx, id)
	s.cache.stopReading(id, e)
	return e, err
}

// fetch reads the task from the file.
func (s *Store) fetch(ctx context.Context, id task.ID) (*entry, error) {
	rows, err := s.reads.task.QueryContext(ctx, string(id))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	e := &entry{}
	var aside []int
	found := false
	for rows.Next() {
		var step, rec, body sql.NullString
		if err := rows.Scan(&e.seq, &step, &rec, &body); err != nil {
			return nil, err
		}
		if step.Valid {
			aside = attach(e.task, aside, step.String, body.String)
			continue
		}
		if e.task, aside, err = record.Decode([]byte(rec.String)); err != nil {
			return nil, err
		}
		if !body.Valid || e.task.ID != id {
			return nil, fmt.Errorf("%w: its order is missing, or its record is that of task %s", store.ErrDamaged, e.task.ID)
		}
		if body.String != "" {
			e.task.Order = json.RawMessage(body.String)
		}
		found = true
	}
	switch {
	case rows.Err() != nil:
		return nil, rows.Err()
	case !found:
		return nil, store.ErrNotFound
	case len(aside) > 0:
		return nil, fmt.Errorf("%w: the output of step %s is missing", store.ErrDamaged, e.task.Steps[aside[0]].Name)
	}
	return e, nil
}

// attach sets the output of the step of this name among those that have one
// aside, and returns the others. An output that no step refers to any more is
// left out.
func attach(t task.Task, aside []int, step, body string) []int {
	for i, at := range aside {
		if t.Steps[at].Name == step {
			t.Steps[at].Output = json.RawMessage(body)
			return append(aside[:i:i], aside[i+1:]...)
		}
	}
	return aside
}
