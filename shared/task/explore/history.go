package explore

import (
	"fmt"
	"slices"
	"strings"

	"triad/shared/task"
)

// note keeps the history: what an onlooker knows who sees the events, the record
// before, and which of them was accepted.
func (w *world) note(l *look) {
	if !l.d.Changed {
		return
	}
	switch l.e.Kind {
	case task.Replied:
		if i := place(l.was, l.e.Step); i >= 0 {
			w.noteReply(&w.history[i], l)
		}
	case task.Overdue:
		w.noteLate(l)
	case task.CancelRequested, task.UndoRequested:
		w.stopped = true
	case task.Resubmitted:
		for i, s := range l.was.Steps {
			forward := l.was.Goal == task.Error && (s.State == task.Error || s.State == task.Pending)
			if forward || s.State == task.Error && s.Undo {
				w.history[i].failures = 0
			}
			w.services[i].refuses = false // the operator has mended it
		}
	}
	for i, s := range l.is.Steps {
		if s.Undo && !before(l, i).Undo {
			w.history[i].failures = 0
		}
	}
	if l.was.State == task.Error && len(l.d.Moves) > 0 {
		w.reopened()
	}
	if l.is.State.Finished() && len(l.d.Moves) > 0 || l.e.Kind == task.Submitted {
		w.owe(l.s, l.d)
	}
}

func (w *world) noteReply(p *past, l *look) {
	if l.e.Outcome != task.Succeeded {
		p.failures++
	}
	switch {
	case l.e.Undo:
		p.undone = p.undone || l.e.Outcome == task.Succeeded
		return
	case l.e.Outcome == task.Succeeded:
		p.done = true
	case l.e.Outcome == task.FailedTransiently:
		p.doubt = true
	}
	p.ended = l.is.Version
}

// noteLate: attempts whose time was up have failed, with an effect or without.
func (w *world) noteLate(l *look) {
	if l.was.State.Finished() {
		return
	}
	for i, s := range l.was.Steps {
		step := l.s.Workflow.Steps[i]
		if s.LockedBy == "" || s.CompleteBy > l.now || step.Wait > 0 {
			continue
		}
		w.history[i].failures++
		if s.State == task.Processing && step.Agent != "" {
			w.history[i].doubt, w.history[i].ended = true, l.is.Version
		}
	}
}

// reopened: an operator who lets a failed task go on knows of the failure; what had
// not been told of it need not be told any more.
func (w *world) reopened() {
	for i, id := range w.owed {
		if !received(id) {
			w.untold &^= 1 << i
		}
	}
}

func received(id string) bool { return strings.Contains(id, "/"+task.Received+"/") }

// owe notes what has to be told now.
func (w *world) owe(s *Scenario, d task.Decision) {
	add := func(id string) {
		if !s.Call || !received(id) {
			w.untold |= 1 << len(w.owed)
		}
		w.owed = append(w.owed, id)
	}
	for _, n := range d.Notices {
		if !slices.Contains(w.owed, n.ID) {
			add(n.ID)
		}
	}
	for _, a := range d.Alerts {
		if !slices.Contains(w.owed, a.ID) {
			add(a.ID)
		}
	}
}

// tell notes that something was told.
func (w *world) tell(id string) {
	if i := slices.Index(w.owed, id); i >= 0 {
		w.untold &^= 1 << i
	}
}

// told: each end is told by a notice of its own, one in Error by an alert too, and
// what is said again is said under the id that it had.
func told(l *look) error {
	ended := l.is.State.Finished() && len(l.d.Moves) > 0
	ends := 0
	for _, n := range l.d.Notices {
		if n.Status == string(l.is.State) {
			ends++
		} else if n.Status != task.Received {
			return fmt.Errorf("notice of %s, the task is %s", n.Status, l.is.State)
		}
		if !slices.Contains(l.w.owed, n.ID) {
			return fmt.Errorf("notice %s is said again, and was never said; there are %v", n.ID, l.w.owed)
		}
	}
	for _, a := range l.d.Alerts {
		if !slices.Contains(l.w.owed, a.ID) || l.is.State != task.Error {
			return fmt.Errorf("alert %s, the task is %s, what was ever said is %v", a.ID, l.is.State, l.w.owed)
		}
	}
	if ended && (ends != 1 || (len(l.d.Alerts) == 1) != (l.is.State == task.Error)) {
		return fmt.Errorf("%s is told by %d notices and %d alerts", l.is.State, ends, len(l.d.Alerts))
	}
	if l.e.Unsourced && l.d.Changed && l.d.Says() && !l.is.Owing {
		return fmt.Errorf("what %s says has no source, and is not owed", l.e.Kind)
	}
	return nil
}

// undone: what starts to be undone is done or in doubt, ended last of what is
// left, and is alone.
func undone(l *look) error {
	for i, s := range l.is.Steps {
		if s.Attempt == before(l, i).Attempt || !s.Undo {
			continue
		}
		for j, other := range l.is.Steps {
			if i != j && (other.LockedBy != "" || other.State == task.Compensating) {
				return fmt.Errorf("undo of %s starts while %s is %s", s.Name, other.Name, other.State)
			}
		}
		if want := l.lastToUndo(); want != i {
			return fmt.Errorf("undo of %s starts, step %d is next", s.Name, want)
		}
	}
	return nil
}

// lastToUndo is the step that ended last of those with an effect, or that may have
// one, not undone yet.
func (l *look) lastToUndo() int {
	next := -1
	for i, p := range l.w.history {
		if l.s.Workflow.Steps[i].Undo != nil && (p.done || p.doubt) && !p.undone && (next < 0 || p.ended >= l.w.history[next].ended) {
			next = i
		}
	}
	return next
}

// effects: what the services really have is what the end says.
func effects(l *look) error {
	for i, s := range l.is.Steps {
		at, step := l.w.services[i], l.s.Workflow.Steps[i]
		there := at.effect && !at.undone
		switch l.is.State {
		case task.Processed:
			if step.Agent != "" && s.State == task.Processed && !there {
				return fmt.Errorf("step %s is Processed; its service has %+v", s.Name, at)
			}
		case task.Compensated, task.Cancelled:
			if step.Undo != nil && there {
				return fmt.Errorf("the task is %s; the service of %s has %+v", l.is.State, s.Name, at)
			}
		}
	}
	return nil
}
