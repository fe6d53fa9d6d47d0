package explore

import (
	"fmt"
	"reflect"
	"slices"

	"triad/shared/task"
)

// look is one decision, seen from outside. The history of w knows of it already.
type look struct {
	s       *Scenario
	w       *world
	was, is task.Task
	e       task.Event
	now     task.Millis
	d       task.Decision
	table   []task.Transition
}

// rules are the invariants, by the names of docs/guarantees.md where it has one.
var rules = [...]struct {
	name  string
	holds func(*look) error
}{
	{"only an applied event changes anything", unchanged},
	{"S1 index", indexed},
	{"S3 owner and attempt", owned},
	{"S4 S5 replies", replied},
	{"S6 versions and transitions", moved},
	{"S6 finished absorbs", absorbed},
	{"S7 failures", counted},
	{"S8 S14 starts", started},
	{"the task's own deadline", bounded},
	{"S9 undo", undone},
	{"S9 effects at the end", effects},
	{"S10 told", told},
}

func unchanged(l *look) error {
	if (l.d.Verdict == task.Applied) != l.d.Changed {
		return fmt.Errorf("verdict %s, changed %v", l.d.Verdict, l.d.Changed)
	}
	says := len(l.d.Requests) + len(l.d.Wakes) + len(l.d.Notices) + len(l.d.Alerts)
	if !l.d.Changed && (!reflect.DeepEqual(l.was, l.is) || l.d.Verdict != task.Repeated && says > 0) {
		return fmt.Errorf("verdict %s, says %d things or changes the record", l.d.Verdict, says)
	}
	return nil
}

// indexed: what has not finished, or owes, is due, by the earliest of its
// deadlines.
func indexed(l *look) error {
	if gone := l.is.State.Finished() && !l.is.Owing; gone != (l.is.CompleteBy == 0) {
		return fmt.Errorf("%s, owing %v, CompleteBy %d", l.is.State, l.is.Owing, l.is.CompleteBy)
	}
	for _, s := range l.is.Steps {
		if s.LockedBy != "" && l.is.CompleteBy > s.CompleteBy {
			return fmt.Errorf("CompleteBy %d is later than that of step %s, %d", l.is.CompleteBy, s.Name, s.CompleteBy)
		}
	}
	if !l.is.State.Finished() && l.is.Goal == "" && l.is.CompleteBy > l.is.Deadline {
		return fmt.Errorf("CompleteBy %d is later than the task's deadline %d", l.is.CompleteBy, l.is.Deadline)
	}
	return nil
}

// owned: a number rises by one with each claim, for one owner, and never lives
// again.
func owned(l *look) error {
	for i, s := range l.is.Steps {
		was := before(l, i)
		claimed := s.Attempt == was.Attempt+1
		switch {
		case s.Attempt != was.Attempt && !claimed:
			return fmt.Errorf("step %s: attempt %d follows %d", s.Name, s.Attempt, was.Attempt)
		case claimed && s.LockedBy != "" && s.LockedBy != l.e.By:
			return fmt.Errorf("step %s is claimed for %s by %s", s.Name, s.LockedBy, l.e.By)
		case claimed && was.LockedBy != "" && l.e.Kind != task.Replied && was.CompleteBy > l.now:
			return fmt.Errorf("step %s: attempt %d starts while %d lives", s.Name, s.Attempt, was.Attempt)
		case !claimed && s.LockedBy != was.LockedBy && s.LockedBy != "":
			return fmt.Errorf("step %s: attempt %d passes from %q to %q", s.Name, s.Attempt, was.LockedBy, s.LockedBy)
		}
	}
	return nil
}

// before is step i as it was.
func before(l *look, i int) task.StepState {
	if l.was.Version == 0 {
		return task.StepState{State: task.Pending}
	}
	return l.was.Steps[i]
}

// lives reports whether a reply shows the token of a live attempt.
func lives(l *look) bool {
	s, found := l.was.Step(l.e.Step)
	return found && s.LockedBy != "" && s.LockedBy == l.e.LockedBy && s.Attempt == l.e.Attempt &&
		l.e.Undo == (s.State == task.Compensating)
}

// replied: exactly the reply of the live attempt is accepted. As an attempt that
// has ended never lives again (owned), at most one is.
func replied(l *look) error {
	if l.e.Kind == task.Replied && lives(l) != l.d.Changed {
		return fmt.Errorf("the token lives: %v; verdict %s", lives(l), l.d.Verdict)
	}
	return nil
}

func moved(l *look) error {
	if l.d.Changed && l.is.Version != l.was.Version+1 {
		return fmt.Errorf("version %d follows %d", l.is.Version, l.was.Version)
	}
	now := map[string]task.State{"": l.was.State}
	for i, s := range l.is.Steps {
		now[s.Name] = before(l, i).State
	}
	for _, m := range l.d.Moves {
		t := task.Transition{Of: task.OfStep, From: now[m.Step], To: m.To, Cause: m.Cause}
		if m.Step == "" {
			t.Of = task.OfTask
		}
		if m.From != t.From || !slices.Contains(l.table, t) {
			return fmt.Errorf("move %+v from %s", m, t.From)
		}
		now[m.Step] = m.To
	}
	if now[""] != l.is.State {
		return fmt.Errorf("the moves lead to %s, the task is %s", now[""], l.is.State)
	}
	for _, s := range l.is.Steps {
		if now[s.Name] != s.State {
			return fmt.Errorf("the moves lead step %s to %s, it is %s", s.Name, now[s.Name], s.State)
		}
	}
	return nil
}

// absorbed: nothing leaves a finished state but Error, and that for an operator.
func absorbed(l *look) error {
	byOperator := l.was.State == task.Error && (l.e.Kind == task.Resubmitted || l.e.Kind == task.UndoRequested)
	if !l.was.State.Finished() || !l.d.Changed || byOperator {
		return nil
	}
	was := l.was
	was.Version, was.Owing, was.CompleteBy = l.is.Version, l.is.Owing, l.is.CompleteBy
	if !reflect.DeepEqual(was, l.is) {
		return fmt.Errorf("%s changes a task that was %s", l.e.Kind, l.was.State)
	}
	return nil
}

// counted: a failure count is what an onlooker counted, and is bounded.
func counted(l *look) error {
	sum := 0
	for i, s := range l.is.Steps {
		sum += s.FailureCount
		if s.FailureCount != int(l.w.history[i].failures) {
			return fmt.Errorf("step %s counts %d failures, %d were seen", s.Name, s.FailureCount, l.w.history[i].failures)
		}
		step := l.s.Workflow.Steps[i]
		most := step.Retry.Attempts
		if step.OnExhausted == task.OnWait {
			most += step.ExtendedWait.Times
		}
		if s.Undo {
			most = step.Undo.Retry.Attempts
		}
		if s.FailureCount > most {
			return fmt.Errorf("step %s has failed %d times, at most %d are defined", s.Name, s.FailureCount, most)
		}
	}
	if sum != l.is.FailureCount {
		return fmt.Errorf("the task counts %d failures, its steps %d", l.is.FailureCount, sum)
	}
	return nil
}

// started: a forward attempt begins after the steps before it are done, while the
// task heads for Processed, at its time, and never again once it was done; not by
// the Supervisor, not while paused, and not after an operator's end.
func started(l *look) error {
	for i, s := range l.is.Steps {
		if s.Attempt == before(l, i).Attempt || s.Undo {
			continue
		}
		for _, p := range l.s.Workflow.Steps[i].After {
			if of := l.is.Steps[p].State; of != task.Processed && of != task.Skipped {
				return fmt.Errorf("step %s starts after %s, which is %s", s.Name, l.is.Steps[p].Name, of)
			}
		}
		early := before(l, i).LockedBy == "" && before(l, i).CompleteBy > l.now && l.e.Kind != task.Resubmitted && l.e.Kind != task.Signalled
		switch {
		case l.w.stopped, l.was.Goal != "" && l.e.Kind != task.Resubmitted, l.was.Paused && l.e.Kind != task.ResumeRequested,
			l.e.Kind == task.Overdue, early, before(l, i).State == task.Processed:
			return fmt.Errorf("step %s starts by %s; operator's end %v, goal %q, paused %v, early %v", s.Name, l.e.Kind,
				l.w.stopped, l.was.Goal, l.was.Paused, early)
		}
	}
	return nil
}

// bounded: a Supervisor that finds a task past its own deadline turns it round.
func bounded(l *look) error {
	if l.e.Kind == task.Overdue && l.d.Changed && !l.was.State.Finished() && l.was.Deadline <= l.now && !l.is.State.Finished() && l.is.Goal == "" {
		return fmt.Errorf("it goes on after its deadline %d, at %d", l.was.Deadline, l.now)
	}
	return nil
}
