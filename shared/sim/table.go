package sim

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"triad/shared/store"
	"triad/shared/store/record"
	"triad/shared/task"
)

var _ store.Store = (*table)(nil)

// table is the simulated table: linearizable for each record, with an index that
// lags if it is told to. It is a store of its own, and not memstore under a layer
// of faults, because a run makes thousands of calls: memstore decodes every
// record for every query. It passes the same conformance suite.
//
// Records are values that nobody changes: what goes in and out is copied as far as
// the engine could change it.
type table struct {
	rows  map[task.ID]*row
	order []*row
	now   func() task.Millis
	// lag says how much later the index sees a commit; nil for at once.
	lag func() task.Millis
	// seen is told of each write that is applied, with the record before it.
	seen func(was task.Task, c store.Change)
	size []byte
}

// row is a task, and what the index shows of it.
type row struct {
	seq     int64
	task    task.Task
	shown   entry
	pending []entry
}

// entry is a task's place in the index, from a time on.
type entry struct {
	from    task.Millis
	version int64
	shard   int
	by      task.Millis
}

func newTable(now func() task.Millis) *table {
	return &table{rows: map[task.ID]*row{}, now: now, seen: func(task.Task, store.Change) {}}
}

// Create writes a new task. See store.Store.
func (t *table) Create(ctx context.Context, c store.Change) error {
	if err := t.create(ctx, c); err != nil {
		return fmt.Errorf("creating task %s: %w", c.Task.ID, err)
	}
	return nil
}

func (t *table) create(ctx context.Context, c store.Change) error {
	if err := t.check(ctx, c); err != nil {
		return err
	}
	if c.Task.Version != 1 {
		return fmt.Errorf("its version is %d and must be 1", c.Task.Version)
	}
	if r := t.rows[c.Task.ID]; r != nil {
		if r.task.Version == 1 && r.task.Op == c.Task.Op {
			return nil
		}
		return store.ErrExists
	}
	r := &row{seq: int64(len(t.order) + 1)}
	t.rows[c.Task.ID] = r
	t.order = append(t.order, r)
	t.put(r, c)
	return nil
}

// Commit replaces a record. See store.Store.
func (t *table) Commit(ctx context.Context, c store.Change) error {
	if err := t.commit(ctx, c); err != nil {
		return fmt.Errorf("committing task %s: %w", c.Task.ID, err)
	}
	return nil
}

func (t *table) commit(ctx context.Context, c store.Change) error {
	if err := t.check(ctx, c); err != nil {
		return err
	}
	r := t.rows[c.Task.ID]
	switch {
	case r == nil:
		return store.ErrNotFound
	case r.task.Version == c.Task.Version && r.task.Op == c.Task.Op:
		return nil
	case r.task.Version != c.Task.Version-1 || !held(r.task, c.Locks):
		return store.ErrConflict
	}
	t.put(r, c)
	return nil
}

func held(t task.Task, locks []task.Lock) bool {
	return !slices.ContainsFunc(locks, func(l task.Lock) bool {
		s, found := t.Step(l.Step)
		return !found || s.LockedBy != l.LockedBy
	})
}

// check refuses what no store holds.
func (t *table) check(ctx context.Context, c store.Change) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := record.Check(c.Task); err != nil {
		return err
	}
	t.size = record.Append(t.size[:0], c.Task)
	if len(t.size) > record.MaxSize {
		return fmt.Errorf("%w: the record has %d bytes", store.ErrTooLarge, len(t.size))
	}
	return nil
}

// put writes a record and its entry in the index.
func (t *table) put(r *row, c store.Change) {
	was := r.task
	is := record.Normal(c.Task.Clone())
	if was.Version > 0 {
		is.Order = was.Order // it never changes
	} else {
		is.Order = bytes.Clone(is.Order)
	}
	r.task = is
	e := entry{version: is.Version, shard: is.Shard, by: is.CompleteBy}
	if t.lag != nil {
		e.from = t.now() + t.lag()
	}
	r.pending = append(r.pending, e)
	c.Task = is
	t.seen(was, c)
}

// Load returns the latest record. See store.Store.
func (t *table) Load(ctx context.Context, id task.ID) (task.Task, error) {
	if err := ctx.Err(); err != nil {
		return task.Task{}, fmt.Errorf("loading task %s: %w", id, err)
	}
	r := t.rows[id]
	if r == nil {
		return task.Task{}, fmt.Errorf("loading task %s: %w", id, store.ErrNotFound)
	}
	return r.task.Clone(), nil
}

// settle brings the index up to now. Of two entries the one with the later version
// stays, in whatever order they come.
func (t *table) settle(r *row) {
	if len(r.pending) == 0 {
		return
	}
	left := r.pending[:0]
	for _, e := range r.pending {
		switch {
		case e.from > 0 && e.from > t.now():
			left = append(left, e)
		case e.version > r.shown.version:
			r.shown = e
		}
	}
	r.pending = left
}

// nextDue is the earliest time at which the index has something to act on, but for
// one task.
func (t *table) nextDue(but task.ID) (next task.Millis, found bool) {
	for _, r := range t.order {
		if by := r.task.CompleteBy; by > 0 && r.task.ID != but && (!found || by < next) {
			next, found = by, true
		}
	}
	return next, found
}

// Due returns a page of a shard of the index, as it shows. See store.Store.
func (t *table) Due(ctx context.Context, q store.DueQuery) (page store.DuePage, err error) {
	if err := ctx.Err(); err != nil {
		return page, fmt.Errorf("reading what is due: %w", err)
	}
	var after [2]int64
	if q.Cursor != "" {
		var shard int
		if _, err := fmt.Sscanf(q.Cursor, "%d.%d.%d", &shard, &after[0], &after[1]); err != nil || shard != q.Shard {
			return page, fmt.Errorf("reading what is due: %w: %q is not one of this store", store.ErrCursor, q.Cursor)
		}
	}
	var due []*row
	for _, r := range t.order {
		t.settle(r)
		at := [2]int64{int64(r.shown.by), r.seq}
		if r.shown.by > 0 && r.shown.shard == q.Shard && r.shown.by <= q.Before && slices.Compare(at[:], after[:]) > 0 {
			due = append(due, r)
		}
	}
	slices.SortFunc(due, func(a, b *row) int {
		return cmp.Or(cmp.Compare(a.shown.by, b.shown.by), cmp.Compare(a.seq, b.seq))
	})
	if limit := max(1, q.Limit); len(due) > limit {
		due = due[:limit]
		last := due[limit-1]
		page.Next = fmt.Sprintf("%d.%d.%d", q.Shard, last.shown.by, last.seq)
	}
	for _, r := range due {
		page.Rows = append(page.Rows, store.Due{ID: r.task.ID, CompleteBy: r.shown.by})
	}
	return page, nil
}

// List returns tasks in the order of creation. See store.Store.
func (t *table) List(ctx context.Context, q store.ListQuery) (page store.ListPage, err error) {
	if err := ctx.Err(); err != nil {
		return page, fmt.Errorf("listing tasks: %w", err)
	}
	var after int64
	if q.Cursor != "" {
		if after, err = strconv.ParseInt(q.Cursor, 10, 64); err != nil {
			return page, fmt.Errorf("listing tasks: %w: %q is not one of this store", store.ErrCursor, q.Cursor)
		}
	}
	limit := min(q.Limit, 1000)
	if limit <= 0 {
		limit = 100
	}
	for _, r := range t.order {
		if r.seq <= after || !matches(&r.task, q) {
			continue
		}
		if len(page.Tasks) == limit {
			page.Next = strconv.FormatInt(after, 10)
			break
		}
		page.Tasks = append(page.Tasks, brief(r.task))
		after = r.seq
	}
	return page, nil
}

// brief is a task without its order and large outputs.
func brief(t task.Task) task.Task {
	t = t.Clone()
	t.Order = nil
	for i := range t.Steps {
		if record.Aside(t.Steps[i]) {
			t.Steps[i].Output = nil
		}
	}
	return t
}

func matches(t *task.Task, q store.ListQuery) bool {
	name, _, _ := strings.Cut(t.Workflow, "@")
	return (q.State == "" || t.State == q.State) &&
		(q.Workflow == "" || t.Workflow == q.Workflow || name == q.Workflow) &&
		(q.Tenant == "" || t.Tenant == q.Tenant) &&
		(!q.Unfinished || !t.State.Finished())
}
