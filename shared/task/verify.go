package task

import (
	"fmt"
	"math"
	"slices"
)

// Fault is a rule that a record breaks.
type Fault struct {
	// Step is the step that it is about; empty for the task as a whole.
	Step string
	// What says which rule, and how.
	What string
}

// String is the fault on one line.
func (f Fault) String() string {
	if f.Step == "" {
		return f.What
	}
	return "step " + f.Step + ": " + f.What
}

// Verify reads off a record whether it can be one that Decide made: each rule
// holds for every version of every task, at any time from its commit on. now is
// such a time. No faults is no proof that the record is the right one; any fault
// proves that it was damaged, or that Decide is wrong.
//
// The definition must be that of t.Workflow. Order and outputs need not be there.
func Verify(w Workflow, t Task, now Millis) []Fault {
	v := verifier{w: w, t: t, now: now}
	if t.Workflow != w.Ref() || len(t.Steps) != len(w.Steps) {
		v.fault("", "it is pinned to %s with %d steps, and %s has %d", t.Workflow, len(t.Steps), w.Ref(), len(w.Steps))
		return v.faults
	}
	v.whole()
	v.index()
	v.end()
	for i := range t.Steps {
		v.step(i)
		v.counts(i)
	}
	return v.faults
}

// verifier is one verification under way.
type verifier struct {
	w      Workflow
	t      Task
	now    Millis
	faults []Fault
}

func (v *verifier) fault(step, what string, args ...any) {
	v.faults = append(v.faults, Fault{Step: step, What: fmt.Sprintf(what, args...)})
}

// must notes a fault unless it holds.
func (v *verifier) must(holds bool, step, what string, args ...any) {
	if !holds {
		v.fault(step, what, args...)
	}
}

// whole: what the task says of its steps is so.
func (v *verifier) whole() {
	t, owner, failures := &v.t, "", 0
	for i := range t.Steps {
		failures += t.Steps[i].FailureCount
		if t.Steps[i].Live() {
			owner = t.Steps[i].LockedBy
		}
	}
	states := []State{Pending, Processing, Processed, Error, Compensating, Compensated, Cancelled}
	goals := []State{"", Error, Compensated, Cancelled}
	v.must(slices.Contains(states, t.State), "", "its state is %q", t.State)
	v.must(slices.Contains(goals, t.Goal), "", "its goal is %q", t.Goal)
	v.must(t.Version >= 1, "", "its version is %d", t.Version)
	v.must(t.Deadline > 0, "", "it has no deadline")
	v.must(t.LockedBy == owner, "", "its LockedBy is %q, and that of its last live step %q", t.LockedBy, owner)
	v.must(t.FailureCount == failures, "", "its FailureCount is %d, and the sum of its steps' %d", t.FailureCount, failures)
	v.must(t.Shard >= HeldShard(HeldShards-1), "", "its shard is %d, and held tasks have %d shards", t.Shard, HeldShards)
	v.must(t.Shard >= 0 || t.State == Pending, "", "it is %s in the held shard %d", t.State, t.Shard)
	v.must(len(t.Reason) <= MaxError, "", "its reason has %d bytes, at most %d are kept", len(t.Reason), MaxError)
}

// index: a task that is not finished, or owes something, is due at some time,
// which is not later than anything that somebody has to look at.
func (v *verifier) index() {
	t := &v.t
	if t.State.Finished() {
		v.must((t.CompleteBy > 0) == t.Owing, "", "it is %s, owing %v, and its CompleteBy is %d", t.State, t.Owing, t.CompleteBy)
		return
	}
	v.must(t.CompleteBy > 0, "", "it is %s and has no CompleteBy", t.State)
	v.must(t.Goal != "" || t.CompleteBy <= t.Deadline, "", "its CompleteBy %d is after its deadline %d", t.CompleteBy, t.Deadline)
	for i := range t.Steps {
		s := &t.Steps[i]
		v.must(!s.Live() || t.CompleteBy <= s.CompleteBy, s.Name, "the task's CompleteBy %d is after this step's, %d", t.CompleteBy, s.CompleteBy)
	}
	if due, waits := v.nextClaim(); waits {
		v.must(t.CompleteBy <= max(due, v.now)+wakeGrace, "", "its CompleteBy is %d, and something can start at %d", t.CompleteBy, due)
	}
}

// nextClaim is the time from which on the next attempt can be claimed, or the
// end of the task be told.
func (v *verifier) nextClaim() (due Millis, waits bool) {
	live := false
	due = math.MaxInt64
	for i := range v.t.Steps {
		s := &v.t.Steps[i]
		live = live || s.Live()
		open := s.State == Compensating || s.State == Pending && v.t.Goal == "" && !v.t.Paused && v.after(i) == ""
		if !s.Live() && open {
			due, waits = min(due, s.CompleteBy), true
		}
	}
	if v.t.Goal != "" && !live && !waits {
		return 0, true // the next undo, or the end
	}
	return due, waits
}

// after is a step before step i that is not done; empty when all are.
func (v *verifier) after(i int) string {
	for _, p := range v.w.Steps[i].After {
		if !v.t.Steps[p].State.done() {
			return v.t.Steps[p].Name
		}
	}
	return ""
}

// end: the state of the task, its goal and the states of its steps fit together.
func (v *verifier) end() {
	t := &v.t
	finished := t.State.Finished()
	v.must((t.EndedAt > 0) == finished, "", "it is %s, and its EndedAt is %d", t.State, t.EndedAt)
	switch t.State {
	case Pending, Processed:
		v.must(t.Goal == "", "", "it is %s, and its goal is %s", t.State, t.Goal)
	case Error:
		v.must(t.Goal != "", "", "it is %s without a goal", t.State)
	case Compensating:
		v.must(t.Goal == Compensated || t.Goal == Cancelled, "", "it is %s, and its goal is %q", t.State, t.Goal)
	case Compensated, Cancelled:
		v.must(t.Goal == t.State, "", "it is %s, and its goal is %q", t.State, t.Goal)
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		undoable := v.w.Steps[i].Undo != nil && (s.State == Processed || s.Doubt && (s.State == Error || s.State == Pending))
		switch {
		case t.State == Processed:
			v.must(s.State.done(), s.Name, "it is %s, and the task %s", s.State, t.State)
		case t.State == Compensated || t.State == Cancelled:
			v.must(!undoable && (!s.Undo || s.State == Compensated), s.Name, "it is %s and not undone, and the task %s", s.State, t.State)
		}
		v.must(!finished || s.State != Processing && s.State != Compensating, s.Name, "it is %s, and the task %s", s.State, t.State)
		v.must(t.Goal != "" || s.State != Error, s.Name, "it is %s, and the task goes on", s.State)
		if before := v.after(i); t.Goal == "" && s.State != Pending && before != "" {
			v.fault(s.Name, "it is %s, and step %s before it is not done", s.State, before)
		}
	}
}

// step: state, owner, attempt and undo of a step fit together.
func (v *verifier) step(i int) {
	s, step := &v.t.Steps[i], &v.w.Steps[i]
	states := []State{Pending, Processing, Processed, Error, Compensating, Compensated, Cancelled, Skipped}
	v.must(s.Name == step.Name, s.Name, "the definition calls it %s", step.Name)
	v.must(slices.Contains(states, s.State), s.Name, "its state is %q", s.State)
	undone := s.State == Compensating || s.State == Compensated
	v.must(!undone || s.Undo, s.Name, "it is %s without an undo", s.State)
	v.must(!s.Undo || undone || s.State == Error, s.Name, "it is %s, and its undo was begun", s.State)
	v.must(!s.Undo || step.Undo != nil, s.Name, "its undo was begun, and the definition has none")
	v.must(!s.Signalled || step.Signal != "", s.Name, "it was signalled, and waits for no signal")
	if !s.Live() {
		v.must(s.State != Processing, s.Name, "it is %s, and nobody owns it", s.State)
		return
	}
	v.must(s.State == Processing || s.State == Compensating, s.Name, "it is %s, and %q owns it", s.State, s.LockedBy)
	v.must(s.Attempt >= 1, s.Name, "%q owns attempt %d", s.LockedBy, s.Attempt)
	v.must(s.CompleteBy > 0, s.Name, "%q owns it without a CompleteBy", s.LockedBy)
	v.must(s.StartedAt > 0, s.Name, "%q owns it, and it never started", s.LockedBy)
}

// counts: what is counted of a step is within what its definition permits.
func (v *verifier) counts(i int) {
	s, step := &v.t.Steps[i], &v.w.Steps[i]
	most := max(1, step.Retry.Attempts)
	if step.OnExhausted == OnWait {
		most += step.ExtendedWait.Times
	}
	if s.Undo && step.Undo != nil {
		most = max(1, step.Undo.Retry.Attempts)
	}
	v.must(s.Attempt >= 0 && s.FailureCount >= 0 && s.Waits >= 0, s.Name,
		"attempt %d, FailureCount %d, waits %d", s.Attempt, s.FailureCount, s.Waits)
	v.must(s.FailureCount <= s.Attempt, s.Name, "its FailureCount is %d after %d attempts", s.FailureCount, s.Attempt)
	v.must(s.FailureCount <= most, s.Name, "its FailureCount is %d, and it may fail %d times", s.FailureCount, most)
	v.must(s.Waits <= step.ExtendedWait.Times, s.Name, "it was parked %d times, and may be %d times", s.Waits, step.ExtendedWait.Times)
	v.must(s.Rank <= v.t.Version, s.Name, "its rank %d is above the task's version %d", s.Rank, v.t.Version)
	v.must((s.Rank > 0) == (s.EndedAt > 0), s.Name, "its rank is %d, and its EndedAt %d", s.Rank, s.EndedAt)
	v.must(len(s.Error) <= MaxError, s.Name, "its error has %d bytes, at most %d are kept", len(s.Error), MaxError)
	v.must(len(s.Output) <= MaxOutput, s.Name, "its output has %d bytes, at most %d are kept", len(s.Output), MaxOutput)
}
