package task_test

import (
	"fmt"
	"reflect"
	"time"

	"triad/shared/task"
)

// undo: what is claimed to be undone is done or in doubt, ended last of what is
// left, and is alone: no forward attempt and no other undo is live.
func (m *monitor) undo(o observation) error {
	for _, r := range claimedNow(o) {
		if !r.Undo {
			continue
		}
		i := m.place(r.Step)
		for _, s := range o.is.Steps {
			if s.Name != r.Step && (s.LockedBy != "" || s.State == task.Compensating) {
				return fmt.Errorf("undo of step %s starts while step %s is %s", r.Step, s.Name, s.State)
			}
		}
		if o.is.Goal != task.Compensated && o.is.Goal != task.Cancelled {
			return fmt.Errorf("undo of step %s starts while the goal is %q", r.Step, o.is.Goal)
		}
		if want := m.nextUndo(); want != i {
			return fmt.Errorf("undo of step %s starts, step %d is next (%d)", r.Step, want, i)
		}
		if want := o.now + task.Millis(m.w.Steps[i].Undo.CompleteWithin/time.Millisecond); r.CompleteBy != want {
			return fmt.Errorf("undo of step %s has CompleteBy %d, want %d", r.Step, r.CompleteBy, want)
		}
	}
	return nil
}

// toUndo reports whether step i has, or may have, an effect that can be undone.
func (m *monitor) toUndo(i int) bool {
	name := m.w.Steps[i].Name
	return m.w.Steps[i].Undo != nil && (m.done[name] || m.doubt[name])
}

// nextUndo is the step that ended last of those still to be undone, or -1.
func (m *monitor) nextUndo() int {
	next := -1
	for i := range m.w.Steps {
		if !m.toUndo(i) || m.undone[m.w.Steps[i].Name] {
			continue
		}
		if next < 0 || m.endedIn[m.w.Steps[i].Name] >= m.endedIn[m.w.Steps[next].Name] {
			next = i
		}
	}
	return next
}

// undoComplete: a task that ends undone has undone all that can be, and nothing
// that had no effect.
func (m *monitor) undoComplete(o observation) error {
	if o.is.State != task.Compensated && o.is.State != task.Cancelled {
		return nil
	}
	for i, s := range o.is.Steps {
		undone := s.State == task.Compensated
		if m.toUndo(i) != undone || m.undone[s.Name] != undone {
			return fmt.Errorf("step %s is %s: to be undone %v, undo accepted %v", s.Name, s.State, m.toUndo(i), m.undone[s.Name])
		}
	}
	return nil
}

// alerts: exactly one when the task ends in Error, none otherwise, and one id
// says one thing.
func (m *monitor) alerts(o observation) error {
	entered := o.is.State == task.Error && o.d.Changed && len(o.d.Moves) > 0
	switch {
	case entered && len(o.d.Alerts) != 1:
		return fmt.Errorf("ended in Error with %d alerts", len(o.d.Alerts))
	case o.is.State != task.Error && len(o.d.Alerts) > 0:
		return fmt.Errorf("%s, with an alert", o.is.State)
	}
	for _, a := range o.d.Alerts {
		if _, before := m.said[a.ID]; before == entered {
			return fmt.Errorf("alert %s: said before %v, new end %v", a.ID, before, entered)
		}
		if err := m.say(a.ID, a); err != nil {
			return err
		}
	}
	if o.e.Unsourced && o.d.Changed && len(o.d.Alerts)+len(o.d.Notices) > 0 && !o.is.Owing {
		return fmt.Errorf("says %v without a source and owes nothing", sentBy(o.d))
	}
	return nil
}

// notices: the submission and each end are told, under ids of their own.
func (m *monitor) notices(o observation) error {
	ends := 0
	for _, n := range o.d.Notices {
		if n.Status == string(o.is.State) {
			ends++
		} else if n.Status != task.Received {
			return fmt.Errorf("notice of %s while the task is %s", n.Status, o.is.State)
		}
		if err := m.say(n.ID, n); err != nil {
			return err
		}
	}
	entered := isFinal(o.is.State) && len(o.d.Moves) > 0
	if entered && o.is.ResponseQueue != "" && ends != 1 {
		return fmt.Errorf("the end %s is told %d times", o.is.State, ends)
	}
	return nil
}

func (m *monitor) say(id string, message any) error {
	if before, again := m.said[id]; again && !reflect.DeepEqual(before, message) {
		return fmt.Errorf("%s says %+v, said %+v", id, message, before)
	}
	m.said[id] = message
	return nil
}

// graceMs is the longest that the index may wait for a message that was sent.
const graceMs = 30_000

// index: whatever is not finished is due at some time, which is not later than
// what is live, or the deadline of a task that goes forward, or what is to start.
func (m *monitor) index(o observation) error {
	t := o.is
	if isFinal(t.State) {
		if (t.CompleteBy > 0) != t.Owing {
			return fmt.Errorf("finished, owing %v, CompleteBy %d", t.Owing, t.CompleteBy)
		}
		return nil
	}
	if t.CompleteBy <= 0 {
		return fmt.Errorf("%s without a CompleteBy", t.State)
	}
	if t.Goal == "" && t.CompleteBy > t.Deadline {
		return fmt.Errorf("CompleteBy %d is after the deadline %d", t.CompleteBy, t.Deadline)
	}
	for _, s := range t.Steps {
		if s.LockedBy != "" && t.CompleteBy > s.CompleteBy {
			return fmt.Errorf("CompleteBy %d is after that of step %s, %d", t.CompleteBy, s.Name, s.CompleteBy)
		}
	}
	if due, waits := m.nextClaim(t); waits && o.d.Changed && t.CompleteBy > max(due, o.now)+graceMs {
		return fmt.Errorf("CompleteBy %d, although something can start at %d (now %d)", t.CompleteBy, due, o.now)
	}
	return nil
}

// nextClaim is the time at which the next attempt can be claimed.
func (m *monitor) nextClaim(t task.Task) (due task.Millis, waits bool) {
	for i, s := range t.Steps {
		can := s.LockedBy == "" && (s.State == task.Compensating || s.State == task.Pending && m.open(t, i))
		if can && (!waits || s.CompleteBy < due) {
			due, waits = s.CompleteBy, true
		}
	}
	if live := anyLive(t); t.Goal != "" && !live && !waits {
		return 0, true // the next undo, or the end
	}
	return due, waits
}

// open reports whether nothing but its time keeps step i from starting.
func (m *monitor) open(t task.Task, i int) bool {
	if t.Goal != "" || t.Paused {
		return false
	}
	for _, p := range m.w.Steps[i].After {
		if s := t.Steps[p].State; s != task.Processed && s != task.Skipped {
			return false
		}
	}
	return true
}

func anyLive(t task.Task) bool {
	for _, s := range t.Steps {
		if s.LockedBy != "" {
			return true
		}
	}
	return false
}

// wakes: what could start now, and was not started, is asked for.
func (m *monitor) wakes(o observation) error {
	for _, w := range o.d.Wakes {
		if w.Task != o.is.ID || w.Delay < 0 || w.Delay > 15*time.Minute {
			return fmt.Errorf("wake-up %+v can't be sent", w)
		}
	}
	held := o.e.Kind == task.Submitted && o.e.Hold
	quiet := o.e.Kind == task.PauseRequested || o.e.Kind == task.Extended || o.e.Kind == task.Released || o.e.Kind == task.Signalled
	if !o.d.Changed || isFinal(o.is.State) || held || quiet {
		return nil
	}
	due, waits := m.nextClaim(o.is)
	if waits && due <= o.now && len(o.d.Wakes) == 0 {
		return fmt.Errorf("something can start now, and nobody is asked to")
	}
	return nil
}
