package sqlitestore

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"modernc.org/sqlite"

	"triad/shared/task"
)

// maxGroup bounds the operations of one transaction.
const maxGroup = 512

// operation is one caller's write.
type operation struct {
	// apply runs inside the group's transaction. answer is for the caller
	// alone, and must mean that nothing was written; fault fails the group.
	apply  func(w *writer) (answer, fault error)
	answer error
	done   chan error
}

// writer owns the only connection that writes.
type writer struct {
	store *Store
	conn  driver.Conn
	do    *statements

	// gate lets callers in (read side) until the queue is closed (write side).
	gate   sync.RWMutex
	closed bool
	queue  chan *operation
	done   chan struct{}

	// What follows belongs to the writer's goroutine.

	// staged has the tasks that the open transaction changed.
	staged map[task.ID]*entry
	// changed counts operations that wrote in the open transaction.
	changed int64
	// next has the numbers to give; before, what they were when the open
	// transaction began.
	next, before numbers
	checkpoints  *checkpoints
}

// numbers are places in the orders of writing.
type numbers struct{ task, notice, alert int64 }

func startWriter(ctx context.Context, s *Store) (_ *writer, err error) {
	w := &writer{
		store: s, queue: make(chan *operation, 2*maxGroup), done: make(chan struct{}),
		staged: map[task.ID]*entry{},
	}
	if err := w.number(ctx); err != nil {
		return nil, err
	}
	if w.conn, err = openWriter(ctx, s.path, s.config); err != nil {
		return nil, err
	}
	if w.do, err = newStatements(w.conn); err != nil {
		return nil, errors.Join(err, w.conn.Close())
	}
	if w.checkpoints, err = startCheckpoints(s, w); err != nil {
		return nil, errors.Join(err, w.close())
	}
	go w.run()
	return w, nil
}

func openWriter(ctx context.Context, path string, config Config) (driver.Conn, error) {
	pragmas := []string{
		"synchronous(full)", "wal_autocheckpoint(0)", "temp_store(memory)",
		fmt.Sprintf("cache_size(-%d)", config.PageCacheBytes>>10),
	}
	if config.MaxBytes > 0 {
		pragmas = append(pragmas, fmt.Sprintf("max_page_count(%d)", max(1, config.MaxBytes/pageSize)))
	}
	return (&sqlite.Driver{}).Open(dsn(path, "rw", pragmas...))
}

// number finds the numbers to go on with.
func (w *writer) number(ctx context.Context) error {
	return w.store.reads.db.QueryRowContext(ctx, `SELECT
		1 + (SELECT coalesce(max(seq), 0) FROM tasks),
		1 + max((SELECT coalesce(max(seq), 0) FROM notices), (SELECT coalesce(max(seq), 0) FROM marks WHERE name = 'notices')),
		1 + (SELECT coalesce(max(seq), 0) FROM alerts)`).Scan(&w.next.task, &w.next.notice, &w.next.alert)
}

// submit hands an operation over and waits for its answer. When ctx ends first
// the operation goes on, with nobody to answer to.
func (w *writer) submit(ctx context.Context, apply func(*writer) (answer, fault error)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	op := &operation{apply: apply, done: make(chan error, 1)}
	if err := w.enqueue(ctx, op); err != nil {
		return err
	}
	select {
	case err := <-op.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("waiting for the write: %w", ctx.Err())
	}
}

func (w *writer) enqueue(ctx context.Context, op *operation) error {
	w.gate.RLock()
	defer w.gate.RUnlock()
	if w.closed {
		return errClosed
	}
	select {
	case w.queue <- op: // nearly always: there is room
		return nil
	default:
	}
	select {
	case w.queue <- op:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *writer) run() {
	defer close(w.done)
	group := make([]*operation, 0, maxGroup)
	for op := range w.queue {
		group = w.gather(append(group[:0], op))
		w.write(group)
		clear(group)
		w.checkpoints.consider()
	}
}

// gather adds what is queued. Callers that were just answered get one chance to
// come back first; nobody is waited for.
func (w *writer) gather(group []*operation) []*operation {
	runtime.Gosched()
	for len(group) < maxGroup {
		select {
		case op, ok := <-w.queue:
			if !ok {
				return group
			}
			group = append(group, op)
		default:
			return group
		}
	}
	return group
}

// write runs a group in one transaction and answers its callers.
func (w *writer) write(group []*operation) {
	err := w.transact(group)
	if err != nil {
		err = translate(w.store.path, err)
	} else {
		// Durable now, and unknown to everybody. If we stop here, callers are
		// left uncertain and repeat their operation, which finds itself.
		for _, e := range w.staged {
			w.store.cache.put(e)
		}
		w.store.count.commits.Add(w.changed)
		if w.changed > 0 {
			w.store.count.groups.Add(1)
		}
	}
	clear(w.staged)
	w.changed = 0
	for _, op := range group {
		if err != nil {
			// Also for an operation that was refused: what refused it may have
			// been a neighbour that is now undone.
			op.answer = err
		}
		op.done <- op.answer
	}
}

func (w *writer) transact(group []*operation) error {
	w.before = w.next
	if _, err := w.do.begin.exec(); err != nil {
		return err
	}
	for _, op := range group {
		var fault error
		if op.answer, fault = op.apply(w); fault != nil {
			return w.undo(fault)
		}
	}
	// If we stop before this returns, the group is lost as a whole, or durable
	// as a whole.
	if _, err := w.do.commit.exec(); err != nil {
		return w.undo(err)
	}
	return nil
}

// undo rolls the open transaction back. SQLite may have done so already, which
// makes the rollback itself fail; so its error says nothing.
func (w *writer) undo(fault error) error {
	_, _ = w.do.rollback.exec()
	w.next = w.before
	return fault
}

// stop lets no operation in and waits for those that were.
func (w *writer) stop() {
	w.gate.Lock()
	w.closed = true
	close(w.queue)
	w.gate.Unlock()
	<-w.done
	w.checkpoints.stop()
}

// close ends the connection, of whose statements none may be left open.
func (w *writer) close() error { return errors.Join(w.do.close(), w.conn.Close()) }
