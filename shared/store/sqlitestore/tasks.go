package sqlitestore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"triad/shared/store"
	"triad/shared/store/record"
	"triad/shared/task"
)

// write is a Change made ready in the caller's goroutine, so that the writer,
// which is one for all, only has to write.
type write struct {
	// entry is what the file will have. The writer completes it.
	*entry
	record  string
	locks   []task.Lock
	notices []message
	alerts  []message
}

// message is a notice or an alert.
type message struct{ queue, id, body string }

// Create writes a new task, its order, its notices and its alerts, in one
// transaction. See store.Store.
func (s *Store) Create(ctx context.Context, c store.Change) error {
	if c.Task.Version != 1 {
		return fmt.Errorf("creating task %s: its version is %d and must be 1", c.Task.ID, c.Task.Version)
	}
	return s.change(ctx, "creating", c, (*writer).create)
}

// Commit replaces a task's record. See store.Store. One transaction, shared
// with the group: read nothing (the task is in memory) or the task; write the
// record, new large outputs, notices and alerts. Condition: the version is one
// less and every lock is as given; else store.ErrConflict.
func (s *Store) Commit(ctx context.Context, c store.Change) error {
	return s.change(ctx, "committing", c, (*writer).commit)
}

func (s *Store) change(ctx context.Context, verb string, c store.Change, apply func(*writer, *write) (answer, fault error)) error {
	next, err := s.newWrite(c)
	if err == nil {
		err = s.writes.submit(ctx, func(w *writer) (answer, fault error) { return apply(w, next) })
	}
	if err != nil {
		return fmt.Errorf("%s task %s: %w", verb, c.Task.ID, err)
	}
	return nil
}

func (s *Store) newWrite(c store.Change) (*write, error) {
	if err := record.Check(c.Task); err != nil {
		return nil, err
	}
	next := &write{entry: &entry{task: record.Normal(c.Task)}, locks: c.Locks}
	b, _ := s.buffers.Get().(*[]byte)
	if b == nil {
		b = new([]byte)
	}
	defer s.buffers.Put(b)
	*b = record.Append((*b)[:0], next.task)
	if len(*b) > record.MaxSize {
		return nil, fmt.Errorf("%w: the record has %d bytes, at most %d are allowed", store.ErrTooLarge, len(*b), record.MaxSize)
	}
	next.record = string(*b)
	return next, next.encode(c)
}

// encode makes the notices and alerts ready.
func (n *write) encode(c store.Change) error {
	for _, notice := range c.Notices {
		body, err := encode(notice)
		if err != nil {
			return fmt.Errorf("encoding notice %s: %w", notice.ID, err)
		}
		n.notices = append(n.notices, message{queue: notice.Queue, id: notice.ID, body: body})
	}
	for _, alert := range c.Alerts {
		body, err := encode(alert)
		if err != nil {
			return fmt.Errorf("encoding alert %s: %w", alert.ID, err)
		}
		n.alerts = append(n.alerts, message{id: alert.ID, body: body})
	}
	return nil
}

// encode keeps <, > and & as they are, for whoever reads the file.
func encode(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// create inserts the task unless there is one of this id.
func (w *writer) create(next *write) (answer, fault error) {
	t := &next.task
	if e, known := w.known(t.ID); known {
		return created(e, next), nil
	}
	n, err := w.do.insertTask.exec(w.next.task, string(t.ID), t.Version, int64(t.Shard), int64(t.CompleteBy),
		t.Workflow, t.Tenant, string(t.State), next.record)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		e, err := w.lookup(t.ID)
		if err != nil {
			return refused(err)
		}
		return created(e, next), nil
	}
	next.seq = w.next.task
	w.next.task++
	if _, err := w.do.insertOrder.exec(next.seq, string(t.Order)); err != nil {
		return nil, err
	}
	return nil, w.finish(nil, next)
}

// created answers a Create that found a task.
func created(e *entry, next *write) error {
	if e.task.Version == 1 && e.task.Op == next.task.Op {
		return nil
	}
	return store.ErrExists
}

// commit replaces the record if the condition holds.
func (w *writer) commit(next *write) (answer, fault error) {
	prev, err := w.lookup(next.task.ID)
	if err != nil {
		return refused(err)
	}
	t := &next.task
	if prev.task.Version == t.Version && prev.task.Op == t.Op {
		return nil, nil
	}
	if prev.task.Version != t.Version-1 || !held(&prev.task, next.locks) {
		return store.ErrConflict, nil
	}
	n, err := w.update(prev, next)
	if err != nil {
		return nil, err
	}
	if n != 1 {
		// Somebody else wrote to the file. Read it again next time.
		w.store.cache.forget(t.ID)
		return store.ErrConflict, nil
	}
	next.seq, t.Order = prev.seq, prev.task.Order
	return nil, w.finish(prev, next)
}

// update writes the record, and the indexed columns only if one changed.
func (w *writer) update(prev *entry, next *write) (changed int64, err error) {
	p, t := &prev.task, &next.task
	if p.Shard == t.Shard && p.CompleteBy == t.CompleteBy && p.State == t.State &&
		p.Workflow == t.Workflow && p.Tenant == t.Tenant {
		return w.do.updateRecord.exec(t.Version, next.record, prev.seq, p.Version)
	}
	return w.do.updateTask.exec(t.Version, next.record, int64(t.Shard), int64(t.CompleteBy),
		t.Workflow, t.Tenant, string(t.State), prev.seq, p.Version)
}

// finish writes what goes with the record and stages the task.
func (w *writer) finish(prev *entry, next *write) error {
	for i := range next.task.Steps {
		s := &next.task.Steps[i]
		if !record.Aside(*s) {
			continue
		}
		if kept, ok := prev.side(s.Name); ok && bytes.Equal(kept, s.Output) {
			continue
		}
		if _, err := w.do.insertOutput.exec(next.seq, s.Name, string(s.Output)); err != nil {
			return err
		}
	}
	if err := w.tell(next); err != nil {
		return err
	}
	w.staged[next.task.ID] = next.entry
	w.changed++
	return nil
}

// tell keeps notices and alerts. One whose id is there already is dropped.
func (w *writer) tell(next *write) error {
	for _, m := range next.notices {
		n, err := w.do.insertNotice.exec(m.queue, w.next.notice, m.id, m.body)
		if err != nil {
			return err
		}
		w.next.notice += n
	}
	for _, m := range next.alerts {
		n, err := w.do.insertAlert.exec(w.next.alert, m.id, m.body)
		if err != nil {
			return err
		}
		w.next.alert += n
	}
	return nil
}

// known returns the task as the open transaction sees it, if it is in memory.
func (w *writer) known(id task.ID) (*entry, bool) {
	if e, ok := w.staged[id]; ok {
		return e, true
	}
	return w.store.cache.peek(id)
}

// lookup returns the task as the open transaction sees it. What it changed is
// staged, so anything else can be read on another connection.
func (w *writer) lookup(id task.ID) (*entry, error) {
	if e, ok := w.staged[id]; ok {
		return e, nil
	}
	return w.store.load(context.Background(), id)
}

// refused sorts an error of lookup: one that is about this task alone is its
// caller's answer, any other one fails the group.
func refused(err error) (answer, fault error) {
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrDamaged) {
		return err, nil
	}
	return nil, err
}

// held reports whether every lock reads as given.
func held(t *task.Task, locks []task.Lock) bool {
	for _, l := range locks {
		if s, ok := t.Step(l.Step); !ok || s.LockedBy != l.LockedBy {
			return false
		}
	}
	return true
}
