package enginetest

import (
	"context"
	"errors"

	"triad/shared/store"
	"triad/shared/task"
)

// Overtaken is a store whose first commit is applied, and overtaken by another
// writer's, which makes Change if there is one, before its outcome is known: Err is
// returned of it. It is for one goroutine.
type Overtaken struct {
	store.Store
	Err    error
	Change func(*task.Task)

	done bool
}

// Commit implements store.Store.
func (s *Overtaken) Commit(ctx context.Context, c store.Change) error {
	err := s.Store.Commit(ctx, c)
	if err != nil || s.done {
		return err
	}
	s.done = true
	next := c.Task.Clone()
	next.Version, next.Op = next.Version+1, "rival.1"
	if s.Change != nil {
		s.Change(&next)
	}
	return errors.Join(s.Err, s.Store.Commit(ctx, store.Change{Task: next}))
}
