// Package storetest is the conformance suite of package store: every promise
// made there, as a test that each implementation runs.
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) storetest.Harness { ... })
//	}
//
// Where implementations may differ, the Harness says how this one does.
package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"triad/shared/store"
	"triad/shared/task"
)

// Harness is an empty store under test, and what it is able to do.
type Harness struct {
	Store store.Store
	// Ledger is nil when the implementation has none.
	Ledger store.Ledger
	// Definitions is the part of a ledger that keeps definitions. Defaults to
	// Ledger; nil when the implementation has neither.
	Definitions Definitions
	// Walker is nil when the implementation has none.
	Walker store.Walker
	// KeepsTold is true when Ledger.Mail returns the notices and alerts of a
	// Change.
	KeepsTold bool
	// Reopen closes the store and opens it again; the result has what was
	// there. It is nil when the store isn't durable.
	Reopen func(t *testing.T) Harness
	// Damage makes the record of a task unreadable, but not its place in the index;
	// the result has what was there. It is nil when no test can do that.
	Damage func(t *testing.T, id task.ID) Harness
	// Settle waits, within a bound, until Due and List have caught up with the
	// commits that returned; nil when they always have.
	Settle func()
}

// Definitions is the part of store.Ledger that stores on AWS have too.
type Definitions interface {
	Define(ctx context.Context, d store.Definition) error
	Definitions(ctx context.Context) ([]store.Definition, error)
}

// Run runs the suite. open is called once for each test, from parallel tests,
// and registers its own cleanup.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	groups := map[string]map[string]func(*testing.T, Harness){
		"create": createTests, "commit": commitTests, "content": contentTests,
		"due": dueTests, "list": listTests,
		"definitions": definitionTests, "ledger": ledgerTests, "told": toldTests,
	}
	able := open(t)
	if able.Walker != nil {
		groups["walk"] = walkTests
	} else {
		t.Log("not tried: this store declares no walker")
	}
	if able.Damage != nil {
		groups["damage"] = damageTests
	} else {
		t.Log("not tried: nothing in this store can be damaged")
	}
	for group, tests := range groups {
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			for name, test := range tests {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					test(t, open(t))
				})
			}
		})
	}
}

const (
	created = task.Millis(1_700_000_000_000)
	// later is after every CompleteBy the suite uses.
	later = created + 1_000_000_000
)

// order is a task of three steps as a submission makes it: the first is
// claimed, due is its CompleteBy and op the write that creates it.
func order(id task.ID, op string) task.Task {
	const by = "scheduler-1"
	due := created + 10_000
	return task.Task{
		ID: id, Workflow: "order@1", State: task.Processing, Version: 1, Op: op, LockedBy: by,
		CompleteBy: due, Deadline: created + 86_400_000, Shard: 3, ResponseQueue: "notices",
		Tenant: "shop", OrderHash: "hash", CreatedAt: created,
		Steps: []task.StepState{
			{Name: "reserve", State: task.Processing, LockedBy: by, CompleteBy: due, Attempt: 1, StartedAt: created},
			{Name: "charge", State: task.Pending},
			{Name: "ship", State: task.Pending},
		},
		Order: json.RawMessage(`{"item": "spade", "n": 1}`),
	}
}

// next is the task with one more version, written by op, and changed.
func next(t task.Task, op string, change func(*task.Task)) task.Task {
	t = t.Clone()
	t.Version++
	t.Op = op
	if change != nil {
		change(&t)
	}
	return t
}

// finished ends the task: it leaves the index.
func finished(state task.State) func(*task.Task) {
	return func(t *task.Task) {
		t.State, t.CompleteBy, t.EndedAt, t.LockedBy = state, 0, created+20_000, ""
		for i := range t.Steps {
			t.Steps[i].State, t.Steps[i].LockedBy, t.Steps[i].CompleteBy = task.Processed, "", 0
		}
	}
}

// with gives a task other index fields.
func with(t task.Task, shard int, due task.Millis) task.Task {
	t.Shard, t.CompleteBy = shard, due
	return t
}

// ids makes n task ids.
func ids(prefix string, n int) []task.ID {
	list := make([]task.ID, n)
	for i := range list {
		list[i] = task.ID(fmt.Sprintf("%s-%04d", prefix, i))
	}
	return list
}

func (h Harness) create(t *testing.T, v task.Task) task.Task {
	t.Helper()
	if err := h.Store.Create(t.Context(), store.Change{Task: v, Outputs: outputs(v)}); err != nil {
		t.Fatalf("Create(%s): %v", v.ID, err)
	}
	return v
}

func (h Harness) commit(t *testing.T, v task.Task, locks ...task.Lock) task.Task {
	t.Helper()
	if err := h.Store.Commit(t.Context(), store.Change{Task: v, Locks: locks}); err != nil {
		t.Fatalf("Commit(%s, version %d): %v", v.ID, v.Version, err)
	}
	return v
}

// expect loads the task and compares it with want.
func (h Harness) expect(t *testing.T, want task.Task) {
	t.Helper()
	got, err := h.Store.Load(t.Context(), want.ID)
	if err != nil {
		t.Fatalf("Load(%s): %v", want.ID, err)
	}
	if diff := cmp.Diff(got, want, alike()); diff != "" {
		t.Errorf("Load(%s) (-got +want):\n%s", want.ID, diff)
	}
}

// alike makes empty and absent equal, and compares bytes at once: one by one
// takes seconds for large ones.
func alike() cmp.Options {
	return cmp.Options{
		cmpopts.EquateEmpty(),
		cmp.FilterValues(func(a, b []byte) bool { return len(a)+len(b) > 0 }, cmp.Comparer(bytes.Equal)),
	}
}

func (h Harness) settle() {
	if h.Settle != nil {
		h.Settle()
	}
}

// outputs lists the outputs of a task as if all were new.
func outputs(v task.Task) []task.Output {
	var list []task.Output
	for _, s := range v.Steps {
		if s.Output != nil {
			list = append(list, task.Output{Step: s.Name, Body: s.Output})
		}
	}
	return list
}

// wantError checks that err is the sentinel, and that it says something.
func wantError(t *testing.T, err, sentinel error) {
	t.Helper()
	if !errors.Is(err, sentinel) {
		t.Errorf("got error %v, want %v", err, sentinel)
	}
}

// cancelled is a context that has ended.
func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// body is a JSON string of n bytes.
func body(n int) json.RawMessage {
	return json.RawMessage(`"` + strings.Repeat("x", n-2) + `"`)
}
