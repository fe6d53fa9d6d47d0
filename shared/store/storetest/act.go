package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"triad/shared/store"
	"triad/shared/task"
	"triad/shared/task/tasktest"
)

// submit creates a task as a submission does.
func (m *machine) submit(rt *rapid.T) {
	id := task.ID(fmt.Sprintf("life-%d", len(m.lives)))
	w := &tasktest.World{Flow: tasktest.Workflow(rt), Now: created.Time().Add(time.Duration(len(m.lives)) * time.Second)}
	e := tasktest.Submission(rt, &task.Submission{
		ID: id, Workflow: w.Flow.Ref(), ResponseQueue: "app", Tenant: drawText(rt, "tenant"),
		Order: tasktest.Pick(rt, "order", json.RawMessage(`{"total":5}`), json.RawMessage(` null `), body(5_000)),
	})
	m.decided(rt, id, w, e)
	m.lives[id] = w
}

// decide lets some events happen to a task that was submitted.
func (m *machine) decide(rt *rapid.T) {
	if len(m.lives) == 0 {
		rt.Skip()
	}
	id := task.ID(fmt.Sprintf("life-%d", rapid.IntRange(0, len(m.lives)-1).Draw(rt, "life")))
	w := m.lives[id]
	for range rapid.IntRange(1, 4).Draw(rt, "events") {
		w.Pass(rt)
		e := w.Event(rt)
		if e.Kind == task.Replied && e.Output != nil && rapid.Bool().Draw(rt, "large") {
			e.Output = drawOutput(rt)
		}
		m.decided(rt, id, w, e)
	}
}

// decided writes what task.Decide makes of an event: no store may refuse that.
func (m *machine) decided(rt *rapid.T, id task.ID, w *tasktest.World, e task.Event) {
	rt.Helper()
	d, err := task.Decide(w.Flow, w.Task, e, w.Now)
	if err != nil {
		rt.Fatalf("deciding %s: %v", e.Kind, err)
	}
	if !d.Changed {
		return
	}
	w.Task = d.Task
	w.Task.Op = m.op()
	change := written{store.Change{Task: w.Task, Locks: d.Locks, Outputs: d.Outputs, Notices: d.Notices, Alerts: d.Alerts}, e.Kind == task.Submitted}
	if outcome := m.write(m.t.Context(), rt, change); outcome != "done" {
		rt.Fatalf("%s of %s: %s", e.Kind, id, outcome)
	}
}

// create creates a raw task.
func (m *machine) create(rt *rapid.T) {
	v := drawTask(rt, m.free(), m.op())
	if outcome := m.write(m.t.Context(), rt, written{store.Change{Task: v, Outputs: outputs(v)}, true}); outcome != "done" {
		rt.Fatalf("creating %s: %s", v.ID, outcome)
	}
}

// free is an id that no task has.
func (m *machine) free() task.ID { return task.ID(fmt.Sprintf("raw:%d", len(m.ids))) }

// commit replaces a raw task by any other.
func (m *machine) commit(rt *rapid.T) {
	was, raw := m.any(rt)
	if !raw {
		rt.Skip()
	}
	if outcome := m.write(m.t.Context(), rt, written{m.successor(rt, was), false}); outcome != "done" {
		rt.Fatalf("committing %s: %s", was.ID, outcome)
	}
}

// any is one of the tasks that are stored, and whether it is a raw one.
func (m *machine) any(rt *rapid.T) (v task.Task, raw bool) {
	if len(m.ids) == 0 {
		rt.Skip()
	}
	v = m.stored[m.ids[rapid.IntRange(0, len(m.ids)-1).Draw(rt, "task")]]
	return v, m.lives[v.ID] == nil
}

// successor is a valid change of a task into any other.
func (m *machine) successor(rt *rapid.T, was task.Task) store.Change {
	v := drawTask(rt, was.ID, m.op())
	v.Version, v.CreatedAt = was.Version+1, was.CreatedAt
	c := store.Change{Task: v}
	for _, s := range was.Steps {
		if rapid.Bool().Draw(rt, "locked") {
			c.Locks = append(c.Locks, task.Lock{Step: s.Name, LockedBy: s.LockedBy})
		}
	}
	for i := range v.Steps {
		old, found := was.Step(v.Steps[i].Name)
		if found && rapid.Bool().Draw(rt, "the same output") {
			v.Steps[i].Output = old.Output
		} else if v.Steps[i].Output != nil {
			c.Outputs = append(c.Outputs, task.Output{Step: v.Steps[i].Name, Body: v.Steps[i].Output})
		}
	}
	return c
}

// again repeats a write of before, as it was or by the other method.
func (m *machine) again(rt *rapid.T) {
	if len(m.past) == 0 {
		rt.Skip()
	}
	w := m.past[len(m.past)-1-rapid.IntRange(0, min(9, len(m.past)-1)).Draw(rt, "back")]
	if rapid.IntRange(0, 4).Draw(rt, "by the other method") == 4 {
		w.create = !w.create
	}
	if rapid.Bool().Draw(rt, "with other content") {
		w.Task = w.Task.Clone()
		w.Task.Reason, w.Task.Order, w.Locks = "another", body(100), []task.Lock{{Step: "nobody", LockedBy: "knows"}}
	}
	m.write(m.t.Context(), rt, w)
}

// refused tries a write with one thing wrong in it.
func (m *machine) refused(rt *rapid.T) {
	was, _ := m.any(rt)
	w := written{Change: m.successor(rt, was)}
	v := &w.Task
	large := strings.Repeat("x", 300<<10)
	switch n := rapid.IntRange(0, 14).Draw(rt, "fault"); n {
	case 0, 1, 2:
		v.Version += tasktest.Pick(rt, "version", int64(-1), -2, 1, 7, -v.Version)
	case 3, 4, 5:
		w.Locks = append(w.Locks, m.wrongLock(rt, was))
	case 6:
		v.ID = m.free()
	case 7:
		v.Op = ""
	case 8:
		v.ID = ""
	case 9:
		v.Reason = large
	case 10:
		v.Steps = []task.StepState{{Name: "s0", State: task.Processed, Output: body(task.MaxOutput + 1)}}
		w.Outputs = outputs(*v)
	case 11:
		v.Order = body(task.MaxOrder + 1)
	case 12:
		name := tasktest.Pick(rt, "name", "", "s0")
		v.Steps = []task.StepState{{Name: name, State: task.Pending}, {Name: name, State: task.Pending}}
		w.Outputs = nil
	case 13, 14:
		w.create = true
		v.Version = tasktest.Pick(rt, "created as", int64(1), 1, 0, 2, -1)
	}
	if outcome := m.write(m.t.Context(), rt, w); outcome == "done" {
		rt.Fatalf("it was not refused: %+v", w)
	}
}

// wrongLock is one that does not read as the task does.
func (m *machine) wrongLock(rt *rapid.T, was task.Task) task.Lock {
	if len(was.Steps) == 0 || rapid.IntRange(0, 3).Draw(rt, "no such step") == 0 {
		return task.Lock{Step: tasktest.Pick(rt, "step", "nobody", ""), LockedBy: tasktest.Pick(rt, "by", "", "one")}
	}
	s := was.Steps[rapid.IntRange(0, len(was.Steps)-1).Draw(rt, "step")]
	if s.LockedBy != "" && rapid.Bool().Draw(rt, "nobody's") {
		return task.Lock{Step: s.Name}
	}
	return task.Lock{Step: s.Name, LockedBy: s.LockedBy + "'"}
}

// cancelled does a valid operation under a context that has ended.
func (m *machine) cancelled(rt *rapid.T) {
	ctx, cancel := context.WithCancel(m.t.Context())
	cancel()
	var outcome string
	switch rapid.IntRange(0, 4).Draw(rt, "operation") {
	case 0:
		v := drawTask(rt, m.free(), m.op())
		outcome = m.write(ctx, rt, written{store.Change{Task: v, Outputs: outputs(v)}, true})
	case 1:
		was, _ := m.any(rt)
		outcome = m.write(ctx, rt, written{m.successor(rt, was), false})
	case 2:
		was, _ := m.any(rt)
		outcome = m.each(rt, "Load", func(h Harness) (any, error) { return h.Store.Load(ctx, was.ID) })
	case 3:
		outcome = m.each(rt, "Due", func(h Harness) (any, error) {
			return h.Store.Due(ctx, store.DueQuery{Shard: 1, Before: later, Limit: 10})
		})
	default:
		outcome = m.each(rt, "List", func(h Harness) (any, error) { return h.Store.List(ctx, store.ListQuery{Unfinished: true}) })
	}
	if outcome != context.Canceled.Error() {
		rt.Fatalf("under a cancelled context: %s", outcome)
	}
}

// reopen restarts the stores that can be.
func (m *machine) reopen(rt *rapid.T) {
	if rapid.IntRange(0, 4).Draw(rt, "now") > 0 {
		rt.Skip()
	}
	for i, s := range m.stores {
		if s.Reopen != nil {
			m.stores[i].Harness = s.Reopen(m.t)
		}
	}
	for _, id := range m.ids {
		m.loads(rt, id)
	}
}
