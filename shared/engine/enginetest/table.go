package enginetest

import (
	"context"
	"fmt"
	"sync"

	"triad/shared/store"
	"triad/shared/task"
)

// Table is a store whose calls can be made to fail, and that remembers every
// version of every task. It is safe for concurrent use; its functions must be,
// and must be set before it is used so.
type Table struct {
	store.Store
	// Write says what becomes of a write: of the write-th one, from 1, at the
	// try-th try to make it. Nil lets all succeed.
	Write func(write, try int) Fault
	// Read says how loading a task fails. Nil lets all succeed.
	Read func(id task.ID) error

	mu       sync.Mutex
	tries    map[string]int
	versions []task.Task
	known    map[version]bool
}

// version names a version of a task.
type version struct {
	id     task.ID
	number int64
}

// newTable returns the way to a store.
func newTable(s store.Store) *Table {
	return &Table{Store: s, tries: map[string]int{}, known: map[version]bool{}}
}

// Create is store.Store's, with faults.
func (s *Table) Create(ctx context.Context, c store.Change) error {
	return s.write(ctx, c, s.Store.Create)
}

// Commit is store.Store's, with faults.
func (s *Table) Commit(ctx context.Context, c store.Change) error {
	return s.write(ctx, c, s.Store.Commit)
}

// Load is store.Store's, with faults.
func (s *Table) Load(ctx context.Context, id task.ID) (task.Task, error) {
	if s.Read != nil {
		if err := s.Read(id); err != nil {
			return task.Task{}, err
		}
	}
	return s.Store.Load(ctx, id)
}

func (s *Table) write(ctx context.Context, c store.Change, write func(context.Context, store.Change) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries[c.Task.Op]++
	fault := None
	if s.Write != nil {
		fault = s.Write(len(s.tries), s.tries[c.Task.Op])
	}
	if fault == Lost {
		return fmt.Errorf("writing %s: %w", c.Task.ID, ErrInjected)
	}
	err := write(ctx, c)
	if made := (version{c.Task.ID, c.Task.Version}); err == nil && !s.known[made] {
		s.known[made] = true
		s.versions = append(s.versions, c.Task)
	}
	if err == nil && fault == Applied {
		return fmt.Errorf("writing %s, which was done: %w", c.Task.ID, ErrInjected)
	}
	return err
}

// Versions returns every version of a task that was committed, in order.
func (s *Table) Versions(id task.ID) []task.Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []task.Task
	for _, v := range s.versions {
		if v.ID == id {
			all = append(all, v)
		}
	}
	return all
}

// Writes is how many different writes were asked for.
func (s *Table) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tries)
}
