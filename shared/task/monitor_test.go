package task_test

import (
	"fmt"
	"reflect"

	"triad/shared/task"
)

// observation is one decision as seen from outside.
type observation struct {
	was, is task.Task
	e       task.Event
	now     task.Millis
	d       task.Decision
}

// token names an attempt.
type token struct {
	step    string
	attempt int
}

// monitor is a second, deliberately simple account of one task. It knows only
// events, their times and the decisions made, and holds every decision against
// the invariants. It uses nothing of Decide's but the table of transitions.
type monitor struct {
	w     task.Workflow
	table map[task.Transition]bool

	commits  int64
	owner    map[token]string
	asked    map[token]task.Request
	accepted map[token]bool
	said     map[string]any
	failures map[string]int
	forward  map[string]int  // times a step was Processed
	done     map[string]bool // the effect is there
	doubt    map[string]bool // the effect may be there
	endedIn  map[string]int64
	undone   map[string]bool
	ended    bool // by an operator: no forward claim ever again
}

func newMonitor(w task.Workflow) *monitor {
	m := &monitor{
		w: w, table: map[task.Transition]bool{},
		owner: map[token]string{}, asked: map[token]task.Request{}, accepted: map[token]bool{},
		said: map[string]any{}, failures: map[string]int{}, forward: map[string]int{},
		done: map[string]bool{}, doubt: map[string]bool{}, endedIn: map[string]int64{}, undone: map[string]bool{},
	}
	for _, t := range task.Transitions() {
		m.table[t] = true
	}
	return m
}

// check holds one decision against every invariant.
func (m *monitor) check(o observation) error {
	rules := []struct {
		name  string
		holds func(observation) error
	}{
		{"only an applied event changes anything", m.unchanged},
		{"S6 version", m.version},
		{"S6 transitions", m.moves},
		{"S6 finished absorbs", m.absorbs},
		{"second fence", m.locks},
		{"S3 owner and attempt", m.attempts},
		{"S4 S5 replies", m.replies},
		{"S7 failures", m.counts},
		{"S8 forward requests", m.starts},
		{"S9 undo", m.undo},
		{"S9 undo is complete", m.undoComplete},
		{"requests", m.requests},
		{"S10 alerts", m.alerts},
		{"notices", m.notices},
		{"S1 index", m.index},
		{"what a record shows by itself", m.verified},
		{"wake-ups", m.wakes},
	}
	if o.d.Changed {
		m.commits++
	}
	for _, r := range rules {
		if err := r.holds(o); err != nil {
			return fmt.Errorf("%s: %w\nbefore %+v\nafter  %+v", r.name, err, o.was, o.is)
		}
	}
	return nil
}

func (m *monitor) unchanged(o observation) error {
	if (o.d.Verdict == task.Applied) != o.d.Changed {
		return fmt.Errorf("verdict %s, changed %v", o.d.Verdict, o.d.Changed)
	}
	if o.d.Changed {
		return nil
	}
	if !reflect.DeepEqual(o.was, o.is) {
		return fmt.Errorf("the record differs after verdict %s", o.d.Verdict)
	}
	if len(o.d.Moves)+len(o.d.Locks)+len(o.d.Outputs) > 0 {
		return fmt.Errorf("verdict %s has moves %v, locks %v, outputs %v", o.d.Verdict, o.d.Moves, o.d.Locks, o.d.Outputs)
	}
	if o.d.Verdict != task.Repeated && len(sentBy(o.d)) > 0 {
		return fmt.Errorf("verdict %s sends %v", o.d.Verdict, sentBy(o.d))
	}
	return nil
}

func (m *monitor) version(o observation) error {
	if o.d.Changed && o.is.Version != o.was.Version+1 || o.is.Version != m.commits {
		return fmt.Errorf("version %d after %d, in commit %d", o.is.Version, o.was.Version, m.commits)
	}
	return nil
}

// verified: no record that Decide makes looks damaged to Verify.
func (m *monitor) verified(o observation) error {
	if faults := task.Verify(m.w, o.is, o.now); o.d.Changed && len(faults) > 0 {
		return fmt.Errorf("%v", faults)
	}
	return nil
}

// moves replays the moves from the record before: they must all be in the table
// and lead exactly to the record after.
func (m *monitor) moves(o observation) error {
	state, of := o.was.State, map[string]task.State{}
	for _, s := range o.was.Steps {
		of[s.Name] = s.State
	}
	if o.e.Kind == task.Submitted {
		for _, s := range m.w.Steps {
			of[s.Name] = task.Pending
		}
	}
	for _, mv := range o.d.Moves {
		from, subject := state, task.OfTask
		if mv.Step != "" {
			from, subject = of[mv.Step], task.OfStep
		}
		if mv.From != from || !m.table[task.Transition{Of: subject, From: mv.From, To: mv.To, Cause: mv.Cause}] {
			return fmt.Errorf("move %+v is not permitted from %q", mv, from)
		}
		if mv.Step == "" {
			state = mv.To
		} else {
			of[mv.Step] = mv.To
		}
	}
	if state != o.is.State {
		return fmt.Errorf("the task is %s, its moves lead to %s", o.is.State, state)
	}
	for _, s := range o.is.Steps {
		if of[s.Name] != s.State {
			return fmt.Errorf("step %s is %s, its moves lead to %s", s.Name, s.State, of[s.Name])
		}
	}
	return nil
}

func isFinal(s task.State) bool {
	return s == task.Processed || s == task.Error || s == task.Compensated || s == task.Cancelled
}

// absorbs: a finished record changes in nothing but what it still owes and the
// index, but for an operator's resubmission or undo of a task in Error.
func (m *monitor) absorbs(o observation) error {
	if !isFinal(o.was.State) || !o.d.Changed {
		return nil
	}
	if o.was.State == task.Error && (o.e.Kind == task.Resubmitted || o.e.Kind == task.UndoRequested) {
		if len(o.d.Moves) == 0 || o.d.Moves[0].Step != "" || o.d.Moves[0].From != task.Error {
			return fmt.Errorf("%s does not begin by moving the task out of Error: %v", o.e.Kind, o.d.Moves)
		}
		return nil
	}
	was := o.was
	was.Version, was.Owing, was.CompleteBy = o.is.Version, o.is.Owing, o.is.CompleteBy
	if !reflect.DeepEqual(was, o.is) {
		return fmt.Errorf("%s changed a task that was %s", o.e.Kind, o.was.State)
	}
	return nil
}

// locks: each step that differs is listed once with the LockedBy that was read.
func (m *monitor) locks(o observation) error {
	listed := map[string]string{}
	for _, l := range o.d.Locks {
		if _, twice := listed[l.Step]; twice {
			return fmt.Errorf("step %s is listed twice", l.Step)
		}
		listed[l.Step] = l.LockedBy
	}
	for i, s := range o.is.Steps {
		if o.e.Kind == task.Submitted {
			break // there was nothing to read
		}
		lock, found := listed[s.Name]
		if !found && !reflect.DeepEqual(s, o.was.Steps[i]) {
			return fmt.Errorf("step %s changed and is not listed", s.Name)
		}
		if found && lock != o.was.Steps[i].LockedBy {
			return fmt.Errorf("step %s is listed with %q, was read with %q", s.Name, lock, o.was.Steps[i].LockedBy)
		}
	}
	return nil
}

// attempts: a number rises by one with each claim, is never used again, and has
// one owner from its claim to its end.
func (m *monitor) attempts(o observation) error {
	anyLive := false
	for i, s := range o.is.Steps {
		var was task.StepState
		if len(o.was.Steps) > 0 {
			was = o.was.Steps[i]
		}
		anyLive = anyLive || s.LockedBy != ""
		switch {
		case s.Attempt != was.Attempt && s.Attempt != was.Attempt+1:
			return fmt.Errorf("step %s goes from attempt %d to %d", s.Name, was.Attempt, s.Attempt)
		case s.Attempt == was.Attempt && s.LockedBy != "" && s.LockedBy != was.LockedBy:
			return fmt.Errorf("attempt %d of step %s passes from %q to %q", s.Attempt, s.Name, was.LockedBy, s.LockedBy)
		case s.Attempt > was.Attempt && s.LockedBy != "" && s.LockedBy != o.e.By:
			return fmt.Errorf("attempt %d of step %s is claimed for %q by %q", s.Attempt, s.Name, s.LockedBy, o.e.By)
		}
		if s.LockedBy == "" {
			continue
		}
		key := token{s.Name, s.Attempt}
		if first, known := m.owner[key]; known && first != s.LockedBy {
			return fmt.Errorf("attempt %d of step %s had owner %q, has %q", s.Attempt, s.Name, first, s.LockedBy)
		}
		m.owner[key] = s.LockedBy
		if s.State != task.Processing && s.State != task.Compensating || s.CompleteBy == 0 {
			return fmt.Errorf("step %s is live, %s, with CompleteBy %d", s.Name, s.State, s.CompleteBy)
		}
	}
	return m.wholeOwner(o, anyLive)
}

// wholeOwner: the task's LockedBy is that of a live step, empty without one.
func (m *monitor) wholeOwner(o observation, anyLive bool) error {
	if !anyLive && o.is.LockedBy == "" {
		return nil
	}
	for _, s := range o.is.Steps {
		if s.LockedBy != "" && s.LockedBy == o.is.LockedBy {
			return nil
		}
	}
	return fmt.Errorf("the task's LockedBy is %q, which owns no live step (any live: %v)", o.is.LockedBy, anyLive)
}
