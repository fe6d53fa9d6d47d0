// Package memstore keeps tasks in memory: the store of tests, and the plainest
// reading of the contract in package store.
//
// It implements store.Store, store.Ledger and store.Mail and keeps every
// promise but durability: what it holds is gone with the process. It keeps
// encoded records, so that nothing it returns aliases what it holds. Due and
// List sort all tasks on every call; use it for thousands, not for millions.
package memstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"triad/shared/store"
	"triad/shared/store/record"
	"triad/shared/task"
)

// Store is a store in memory. All methods are safe for concurrent use.
type Store struct {
	mu    sync.Mutex
	tasks map[task.ID]*kept
	seq   int64

	definitions []store.Definition
	rejected    []store.Rejected
	notices     []store.KeptNotice
	alerts      []store.KeptAlert
}

var (
	_ store.Store  = (*Store)(nil)
	_ store.Walker = (*Store)(nil)
	_ store.Ledger = (*Store)(nil)
	_ store.Mail   = (*Store)(nil)
)

// kept is a task as it would lie on a disk.
type kept struct {
	seq    int64
	record []byte
	order  []byte
	// aside has the large outputs, by step.
	aside map[string][]byte
}

// New returns an empty store.
func New() *Store { return &Store{tasks: map[task.ID]*kept{}} }

// Create writes a new task and its order. See store.Store.
func (s *Store) Create(ctx context.Context, c store.Change) error {
	if err := s.create(ctx, c); err != nil {
		return fmt.Errorf("creating task %s: %w", c.Task.ID, err)
	}
	return nil
}

func (s *Store) create(ctx context.Context, c store.Change) error {
	b, err := encode(ctx, c)
	if err != nil {
		return err
	}
	if c.Task.Version != 1 {
		return fmt.Errorf("its version is %d and must be 1", c.Task.Version)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.tasks[c.Task.ID]; k != nil {
		old, err := k.task()
		if err == nil && (old.Version != 1 || old.Op != c.Task.Op) {
			err = store.ErrExists
		}
		return err
	}
	k := &kept{seq: s.next(), record: b, order: bytes.Clone(c.Task.Order), aside: map[string][]byte{}}
	k.setAside(c.Task)
	s.tasks[c.Task.ID] = k
	s.tell(c)
	return nil
}

// Commit replaces a task's record. See store.Store.
func (s *Store) Commit(ctx context.Context, c store.Change) error {
	if err := s.commit(ctx, c); err != nil {
		return fmt.Errorf("committing task %s: %w", c.Task.ID, err)
	}
	return nil
}

func (s *Store) commit(ctx context.Context, c store.Change) error {
	b, err := encode(ctx, c)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.tasks[c.Task.ID]
	if k == nil {
		return store.ErrNotFound
	}
	old, err := k.task()
	switch {
	case err != nil:
		return err
	case old.Version == c.Task.Version && old.Op == c.Task.Op:
		return nil
	case old.Version != c.Task.Version-1 || !held(old, c.Locks):
		return store.ErrConflict
	}
	k.record = b
	k.setAside(c.Task)
	s.tell(c)
	return nil
}

// Load returns the latest committed task. See store.Store.
func (s *Store) Load(ctx context.Context, id task.ID) (task.Task, error) {
	if err := ctx.Err(); err != nil {
		return task.Task{}, fmt.Errorf("loading task %s: %w", id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.tasks[id]
	if k == nil {
		return task.Task{}, fmt.Errorf("loading task %s: %w", id, store.ErrNotFound)
	}
	t, err := k.task()
	if err != nil {
		return task.Task{}, fmt.Errorf("loading task %s: %w", id, err)
	}
	t.Order = json.RawMessage(bytes.Clone(k.order))
	for i := range t.Steps {
		if body := k.aside[t.Steps[i].Name]; t.Steps[i].Output == nil && body != nil {
			t.Steps[i].Output = bytes.Clone(body)
		}
	}
	return t, nil
}

// encode checks the bounds and makes the record.
func encode(ctx context.Context, c store.Change) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := record.Check(c.Task); err != nil {
		return nil, err
	}
	b := record.Append(nil, c.Task)
	if len(b) > record.MaxSize {
		return nil, fmt.Errorf("%w: the record has %d bytes", store.ErrTooLarge, len(b))
	}
	return b, nil
}

// task decodes the record.
func (k *kept) task() (task.Task, error) {
	t, _, err := record.Decode(k.record)
	return t, err
}

// setAside keeps the large outputs of t, and only those.
func (k *kept) setAside(t task.Task) {
	clear(k.aside)
	for _, step := range record.Normal(t).Steps {
		if record.Aside(step) {
			k.aside[step.Name] = bytes.Clone(step.Output)
		}
	}
}

// held reports whether every lock reads as given.
func held(t task.Task, locks []task.Lock) bool {
	return !slices.ContainsFunc(locks, func(l task.Lock) bool {
		step, ok := t.Step(l.Step)
		return !ok || step.LockedBy != l.LockedBy
	})
}

// next gives the next number; one order of writing for everything.
func (s *Store) next() int64 {
	s.seq++
	return s.seq
}
