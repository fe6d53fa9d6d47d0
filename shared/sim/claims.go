package sim

import (
	"encoding/json"
	"fmt"

	"triad/shared/operator"
	"triad/shared/task"
)

// claimed: a new attempt has one owner, the instance that writes, a number that
// rises by one, and its deadline from the clock of that instance. Forward attempts
// start when their time and those before them allow it, and never after a cancel;
// undo attempts in the reverse order of what has ended.
func (a *account) claimed(o *observation) string {
	undoing := a.undoing
	for i := range o.is.Steps {
		is, before := &o.is.Steps[i], 0
		if o.was.Version > 0 {
			before = o.was.Steps[i].Attempt
		}
		if is.Attempt == before {
			continue
		}
		if is.Attempt != before+1 {
			return fmt.Sprintf("step %s goes from attempt %d to %d", is.Name, before, is.Attempt)
		}
		if o.by.cause.kind == bySweep {
			return fmt.Sprintf("the Supervisor starts step %s", is.Name)
		}
		detail := ""
		if is.Undo {
			detail = a.undoStarts(o, i)
			undoing = true
		} else {
			detail = a.starts(o, i)
		}
		if detail != "" {
			return detail
		}
		if is.Live() {
			if is.LockedBy != o.by.proc {
				return fmt.Sprintf("%s claims step %s for %q", o.by.proc, is.Name, is.LockedBy)
			}
			a.open(o, i)
		}
	}
	a.undoing = undoing
	return a.owner(o)
}

// open notes the attempt and the request that it calls for.
func (a *account) open(o *observation, i int) {
	is, step := &o.is.Steps[i], &a.flow.Steps[i]
	t := token{a.id, is.Name, is.Attempt}
	at := &attempt{owner: is.LockedBy, undo: is.Undo, completeBy: is.CompleteBy}
	if step.Agent != "" {
		at.input = a.input(&o.is, i)
		if is.Undo {
			at.output = is.Output
		}
		a.m.claims(&o.by, t)
	}
	a.attempts[t] = at
}

func (a *account) input(t *task.Task, i int) json.RawMessage {
	input := a.flow.Steps[i].Input
	if input == nil {
		return a.sub.Order
	}
	made, err := input(*t)
	if err != nil {
		return nil // an undo goes by its key alone
	}
	return made
}

func (a *account) starts(o *observation, i int) string {
	is, step, l, v := &o.is.Steps[i], &a.flow.Steps[i], &a.steps[i], o.by.cause.ask.Verb
	var was task.StepState
	if o.was.Version > 0 {
		was = o.was.Steps[i]
	}
	resubmit := v == operator.Resubmit && o.is.Resubmits > o.was.Resubmits
	switch {
	case a.over:
		return fmt.Sprintf("S14: step %s starts after a cancel or undo was granted", is.Name)
	case a.undoing:
		return fmt.Sprintf("S9: step %s starts after the undo began", is.Name)
	case o.was.Goal != "" && !resubmit:
		return fmt.Sprintf("step %s starts while the task heads for %s", is.Name, o.was.Goal)
	case o.was.Paused && v != operator.Resume:
		return fmt.Sprintf("step %s starts while the task is paused", is.Name)
	case l.done > 0 && !was.Signalled && !is.Signalled:
		return fmt.Sprintf("step %s starts after it was done", is.Name)
	case a.ready(&o.is, i) != "":
		return fmt.Sprintf("S8: step %s starts before step %s is done", is.Name, a.ready(&o.is, i))
	case was.State == task.Pending && was.CompleteBy > o.by.now && !resubmit && v != operator.Signal:
		return fmt.Sprintf("step %s starts before its time", is.Name)
	}
	if step.When != nil && is.Attempt == 1 {
		if runs, err := step.When(o.is); !runs || err != nil {
			return fmt.Sprintf("step %s starts although its condition is false", is.Name)
		}
	}
	want := o.by.now.Add(step.Wait)
	if step.Wait == 0 {
		want = min(o.by.now.Add(step.CompleteWithin), o.is.Deadline)
	}
	if is.Live() && is.CompleteBy != want {
		return fmt.Sprintf("step %s starts with CompleteBy %v, want %v", is.Name, since(is.CompleteBy), since(want))
	}
	return ""
}

func (a *account) undoStarts(o *observation, i int) string {
	is := &o.is.Steps[i]
	if o.is.Goal != task.Compensated && o.is.Goal != task.Cancelled || a.flow.Steps[i].Undo == nil {
		return fmt.Sprintf("step %s is undone while the task heads for %q", is.Name, o.is.Goal)
	}
	for j := range o.is.Steps {
		if s := &o.is.Steps[j]; j != i && (s.Live() || s.State == task.Compensating) {
			return fmt.Sprintf("step %s is undone while step %s is %s", is.Name, s.Name, s.State)
		}
	}
	if next := a.nextUndo(); next != i {
		return fmt.Sprintf("step %s is undone, step number %d ended last of those to be undone", is.Name, next)
	}
	if want := o.by.now.Add(a.flow.Steps[i].Undo.CompleteWithin); is.Live() && is.CompleteBy != want {
		return fmt.Sprintf("the undo of step %s has CompleteBy %v, want %v", is.Name, since(is.CompleteBy), since(want))
	}
	return ""
}

// toUndo reports that step i has, or may have, an effect that can be undone.
func (a *account) toUndo(i int) bool {
	return a.flow.Steps[i].Undo != nil && (a.steps[i].done > 0 || a.steps[i].doubt)
}

// nextUndo is the step that ended last of those still to be undone, or -1.
func (a *account) nextUndo() int {
	next := -1
	for i := range a.steps {
		if a.toUndo(i) && !a.steps[i].undone && (next < 0 || a.steps[i].endedIn >= a.steps[next].endedIn) {
			next = i
		}
	}
	return next
}

// owner: the LockedBy of the whole is that of a live step, and empty without one.
func (a *account) owner(o *observation) string {
	live := false
	for i := range o.is.Steps {
		s := &o.is.Steps[i]
		live = live || s.Live()
		if s.Live() && (s.LockedBy == o.is.LockedBy || o.is.LockedBy == "") {
			if s.CompleteBy == 0 || s.State != task.Processing && s.State != task.Compensating {
				return fmt.Sprintf("step %s is live and %s", s.Name, s.State)
			}
		}
	}
	if live != (o.is.LockedBy != "") {
		return fmt.Sprintf("the owner of the whole is %q, and steps are live: %v", o.is.LockedBy, live)
	}
	return ""
}

// counted: the books of failures agree with the record, and the verbs of operators
// begin new ones.
func (a *account) counted(o *observation) string {
	c := &o.by.cause
	resubmitted := o.is.Resubmits > o.was.Resubmits
	granted := c.kind == byVerb && (c.ask.Verb == operator.Cancel || c.ask.Verb == operator.Undo) && o.is.Goal != o.was.Goal
	if granted {
		a.over = true
	}
	sum := 0
	for i := range o.is.Steps {
		is, l := &o.is.Steps[i], &a.steps[i]
		var was task.StepState
		if o.was.Version > 0 {
			was = o.was.Steps[i]
		}
		if resubmitted && (o.was.Goal == task.Error && (was.State == task.Error || was.State == task.Pending) || was.State == task.Error && was.Undo) {
			l.failures = 0
			if o.was.Goal == task.Error {
				l.waits = 0
			}
		}
		if is.Undo && !was.Undo {
			l.failures = 0
		}
		if is.State == task.Error && was.State != task.Error && !is.Undo && is.Attempt == was.Attempt && !was.Live() {
			l.endedIn = o.is.Version // its expression failed
		}
		sum += is.FailureCount
		if is.FailureCount != l.failures {
			return fmt.Sprintf("step %s counts %d failures, %d were seen", is.Name, is.FailureCount, l.failures)
		}
		if is.Waits != l.waits {
			return fmt.Sprintf("step %s counts %d waits, %d were seen", is.Name, is.Waits, l.waits)
		}
		if most := a.most(i, is.Undo); is.FailureCount > most {
			return fmt.Sprintf("step %s has %d failures, at most %d are defined", is.Name, is.FailureCount, most)
		}
		if is.Doubt != l.doubt {
			return fmt.Sprintf("step %s: doubt is %v, what was seen says %v", is.Name, is.Doubt, l.doubt)
		}
	}
	if sum != o.is.FailureCount {
		return fmt.Sprintf("the task counts %d failures, its steps %d", o.is.FailureCount, sum)
	}
	return ""
}

func (a *account) most(i int, undo bool) int {
	s := &a.flow.Steps[i]
	if undo {
		return max(s.Undo.Retry.Attempts, 1)
	}
	most := s.Retry.Attempts
	if s.Signal != "" {
		most = 1
	}
	if s.OnExhausted == task.OnWait {
		most += s.ExtendedWait.Times
	}
	return max(most, 1)
}
