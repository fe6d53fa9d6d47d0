package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"triad/shared/store"
	"triad/shared/store/record"
	"triad/shared/task"
	"triad/shared/task/tasktest"
)

// Compared is an implementation that Compare holds against others.
type Compared struct {
	// Name tells it from the others.
	Name string
	// Open returns an empty store, and what ends it. It is called once for each
	// world. The harness must need no Settle.
	Open func(t *testing.T) (h Harness, end func())
}

// Compare makes random worlds, and in each does the same operations to a store of
// each kind: valid ones and invalid ones, with tasks as task.Decide makes them and
// with raw ones. Whatever the contract leaves no choice about must be the same for
// all: the sentinel of each error, each field of each task that is loaded after each
// write, what is due in its order, what is listed. The seed of a difference is
// printed by rapid, with the operations that are left once it has been shrunk.
//
// What may differ, and is not compared: the texts of errors; the order of what is
// due at the same time; the order of lists; store.ErrUnsupported; whether a failed
// task that owes something is among the failed ones; spaces in the outputs of kept
// notices.
func Compare(t *testing.T, worlds int, all ...Compared) {
	t.Helper()
	c := &comparison{tally: map[string]int{}}
	for c.worlds < worlds && !t.Failed() {
		rapid.Check(t, func(rt *rapid.T) {
			// Once there are enough, what rapid goes on to ask for is empty; but not
			// while it shrinks a world that failed.
			if c.worlds >= worlds && !c.failed {
				return
			}
			c.failed = true
			c.world(t, rt, all)
			c.failed = false
			c.worlds++
		})
	}
	var operations int
	var said string
	for _, name := range slices.Sorted(maps.Keys(c.tally)) {
		operations += c.tally[name]
		said += fmt.Sprintf("\n%8d %s", c.tally[name], name)
	}
	for _, name := range []string{"Create: done", "Commit: done", "Load: done", "Due: done", "List: done"} {
		if c.tally[name] == 0 && !t.Failed() {
			t.Errorf("no world reached %s", name)
		}
	}
	t.Logf("%d operations to each of %d stores, in %d worlds:%s", operations, len(all), c.worlds, said)
}

// comparison counts what was compared.
type comparison struct {
	worlds int
	failed bool
	// tally counts operations by name and outcome.
	tally map[string]int
}

// subject is one of the stores of a world.
type subject struct {
	Harness
	name string
}

// written is a write that was tried.
type written struct {
	store.Change
	create bool
}

// machine is a world: one store of each kind, and what they must hold.
type machine struct {
	t      *testing.T
	tally  map[string]int
	stores []subject
	// lives are the tasks that come about by task.Decide.
	lives map[task.ID]*tasktest.World
	// stored are all tasks as they must be loaded.
	stored map[task.ID]task.Task
	ids    []task.ID
	past   []written
	ops    int
}

// world compares the stores in a world of its own.
func (c *comparison) world(t *testing.T, rt *rapid.T, all []Compared) {
	m := &machine{t: t, tally: c.tally, lives: map[task.ID]*tasktest.World{}, stored: map[task.ID]task.Task{}}
	for _, s := range all {
		h, end := s.Open(t)
		defer end()
		m.stores = append(m.stores, subject{h, s.Name})
	}
	rt.Repeat(map[string]func(*rapid.T){
		"submit": m.submit, "decide": m.decide, "decide more": m.decide,
		"create": m.create, "commit": m.commit, "again": m.again, "refused": m.refused, "cancelled": m.cancelled,
		"load": m.load, "due": m.due, "list": m.list, "wrong cursor": m.wrongCursor, "walk": m.walk, "told": m.told, "reopen": m.reopen,
	})
	m.allDue(rt)
	m.list(rt)
	m.told(rt)
}

// errNotTried says that a store does not do this.
var errNotTried = errors.New("not tried")

// each does an operation to each store and compares outcome and result. It returns
// the outcome.
func (m *machine) each(rt *rapid.T, what string, do func(h Harness) (any, error)) (outcome string) {
	rt.Helper()
	var by string
	var want any
	var first error
	for _, s := range m.stores {
		got, err := do(s.Harness)
		switch {
		case errors.Is(err, errNotTried):
		case by == "":
			by, outcome, want, first = s.name, outcomeOf(err), got, err
		case outcomeOf(err) != outcome:
			rt.Fatalf("%s: %s says %v, %s says %v", what, by, first, s.name, err)
		default:
			if diff := cmp.Diff(got, want, alike()); diff != "" {
				rt.Fatalf("%s (-%s +%s):\n%s", what, s.name, by, diff)
			}
		}
	}
	if by != "" {
		m.tally[what+": "+outcome]++
	}
	return outcome
}

// outcomeOf is what a caller can act on in an error.
func outcomeOf(err error) string {
	if err == nil {
		return "done"
	}
	for _, sentinel := range []error{store.ErrExists, store.ErrNotFound, store.ErrConflict, store.ErrTooLarge, store.ErrUnsupported,
		store.ErrCursor, store.ErrFull, store.ErrDamaged, store.ErrInUse, store.ErrReadOnly, context.Canceled} {
		if errors.Is(err, sentinel) {
			return sentinel.Error()
		}
	}
	return "another error"
}

// write tries a change on each store, and then loads the task from each.
func (m *machine) write(ctx context.Context, rt *rapid.T, w written) (outcome string) {
	rt.Helper()
	what := "Commit"
	if w.create {
		what = "Create"
	}
	outcome = m.each(rt, what, func(h Harness) (any, error) {
		if w.create {
			return nil, h.Store.Create(ctx, w.Change)
		}
		return nil, h.Store.Commit(ctx, w.Change)
	})
	was, found := m.stored[w.Task.ID]
	if repeated := found && was.Version == w.Task.Version && was.Op == w.Task.Op; outcome == "done" && !repeated {
		is := record.Normal(w.Task.Clone())
		if found {
			is.Order = was.Order // it never changes
		} else {
			m.ids = append(m.ids, is.ID)
		}
		m.stored[is.ID] = is
		m.past = append(m.past, w)
	}
	m.loads(rt, w.Task.ID)
	return outcome
}

// loads compares what each store has of a task with what it must have.
func (m *machine) loads(rt *rapid.T, id task.ID) {
	rt.Helper()
	want, found := m.stored[id]
	outcome := m.each(rt, "Load", func(h Harness) (any, error) {
		got, err := h.Store.Load(m.t.Context(), id)
		if diff := cmp.Diff(got, want, alike()); err == nil && diff != "" {
			rt.Fatalf("Load(%s) (-got +want):\n%s", id, diff)
		}
		return nil, err
	})
	if expected := outcomeOf(store.ErrNotFound); found && outcome != "done" || !found && outcome != expected {
		rt.Fatalf("Load(%s): %s; the task exists: %v", id, outcome, found)
	}
}

// op names the next write.
func (m *machine) op() string {
	m.ops++
	return fmt.Sprintf("op-%d", m.ops)
}
