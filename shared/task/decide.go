package task

import (
	"fmt"
	"math"
	"time"
)

// wakeGrace is how long the index waits for a message that was sent to do its
// work, before the Supervisor sends another. Milliseconds.
const wakeGrace Millis = 30_000

// maxDelay is the longest delay that a wake-up can carry (the queue's limit).
// A longer wait is in the index alone.
const maxDelay Millis = 15 * 60 * 1000

// Decide moves a task: given its definition, its record as loaded and an event,
// it returns the next record and everything to be sent once that is committed.
// It is pure and total: late, repeated and foreign events are Decisions that
// change nothing.
//
// For Submitted, t is the zero Task. The error is for programmer errors only: a
// definition that is not the one the task is pinned to, an unknown kind of
// event, a move that the transition table does not have.
func Decide(w Workflow, t Task, e Event, now time.Time) (Decision, error) {
	c := &change{w: w, was: t, e: e, now: At(now), claims: true}
	if len(w.Steps) == 0 || len(w.Steps) > MaxSteps {
		return Decision{}, fmt.Errorf("deciding with %s: it has %d steps: 1 to %d are allowed", w.Ref(), len(w.Steps), MaxSteps)
	}
	if e.Kind == Submitted && e.Submission == nil {
		return Decision{}, fmt.Errorf("deciding on a submission: there is none in the event")
	}
	if e.Kind != Submitted {
		if t.Workflow != w.Ref() || len(t.Steps) != len(w.Steps) {
			return Decision{}, fmt.Errorf("deciding on task %s: it is pinned to %s, and was given %s", t.ID, t.Workflow, w.Ref())
		}
		c.d.Task = t.Clone()
	}
	if err := c.apply(); err != nil {
		return Decision{}, fmt.Errorf("deciding on task %s: %w", t.ID, err)
	}
	return c.decision()
}

// change is one decision in the making.
type change struct {
	w       Workflow
	was     Task
	e       Event
	now     Millis
	d       Decision
	touched uint64 // steps touched, by bit: MaxSteps is 64
	// claims is false when the event may not start anything (the Supervisor
	// only requests recovery); wanted is then set when something could start.
	claims, wanted bool
	err            error
}

func (c *change) apply() error {
	switch c.e.Kind {
	case Submitted:
		c.submitted()
	case Woken:
		c.woken()
	case Redelivered:
		c.redelivered()
	case Replied:
		c.replied()
	case Extended:
		c.extended()
	case Overdue:
		c.overdue()
	case CancelRequested:
		c.endRequested(Cancelled)
	case UndoRequested:
		c.endRequested(Compensated)
	case Resubmitted:
		c.resubmitted()
	case PauseRequested:
		c.pause(true)
	case ResumeRequested:
		c.pause(false)
	case Signalled:
		c.signalled()
	case Released:
		c.released()
	default:
		return fmt.Errorf("event of unknown kind %q", c.e.Kind)
	}
	return c.err
}

// decision completes the record: version, index, owner of the whole.
func (c *change) decision() (Decision, error) {
	t := &c.d.Task
	if c.d.Verdict != Applied {
		c.d.Task = c.was
		return c.d, c.err
	}
	c.d.Changed = true
	t.Version = c.was.Version + 1
	t.LockedBy, t.FailureCount = "", 0
	for i := range t.Steps {
		t.FailureCount += t.Steps[i].FailureCount
		if t.Steps[i].Live() {
			t.LockedBy = t.Steps[i].LockedBy
		}
	}
	c.owe()
	c.index()
	return c.d, c.err
}

// owe marks a task that has ended when no message would bring back what that has to
// tell: only a reply does. A wake-up that ended the task does not: when it comes again,
// as a stale one often does, it says nothing. A submission that ended at once may have
// come by a call.
func (c *change) owe() {
	if c.d.Task.State.Finished() && (c.e.Unsourced || c.e.Kind != Replied) && c.d.Says() {
		c.d.Task.Owing = true
	}
}

// index keeps the promise of CompleteBy: never later than the earliest time at
// which somebody has to look, moved only when it must be.
func (c *change) index() {
	t := &c.d.Task
	if t.State.Finished() && !t.Owing {
		t.CompleteBy = 0
		return
	}
	next := c.nextLook()
	if t.CompleteBy > c.now {
		next = min(next, t.CompleteBy)
	}
	t.CompleteBy = next
}

// nextLook is the exact time by which somebody has to look at a task that is not
// finished, or owes something.
func (c *change) nextLook() Millis {
	t := &c.d.Task
	switch {
	case c.e.Kind == Submitted && c.e.Hold:
		return c.now // due at once: no message was sent
	case t.State.Finished():
		return c.now + wakeGrace // it owes what it has to tell
	}
	next := Millis(math.MaxInt64)
	by := func(m Millis) { next = min(next, m) }
	if t.Goal == "" {
		by(t.Deadline)
	}
	waiting := false
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.Live() {
			by(s.CompleteBy)
			waiting = true
		} else if c.startable(i) || s.State == Compensating {
			by(c.lookAgain(s.CompleteBy))
			waiting = true
		}
	}
	if t.Goal != "" && !waiting {
		by(c.now + wakeGrace) // a Scheduler was asked to go on ending it
	}
	return next
}

// lookAgain is when to look at a step that waits for its next try at due: some
// time after the wake-up that was sent, or right then if none could be.
func (c *change) lookAgain(due Millis) Millis {
	if due > c.now+maxDelay {
		return due
	}
	return max(due, c.now) + wakeGrace
}

// verdict says what became of the event, and why when that is nothing.
func (c *change) verdict(v Verdict, why string) { c.d.Verdict, c.d.Why = v, why }

// step gives a step to be changed, and notes the lock that was read for it.
func (c *change) step(i int) *StepState {
	if c.touched&(1<<i) == 0 {
		c.touched |= 1 << i
		c.d.Locks = append(c.d.Locks, Lock{Step: c.w.Steps[i].Name, LockedBy: c.d.Task.Steps[i].LockedBy})
	}
	return &c.d.Task.Steps[i]
}

// moveStep and moveTask are the only places where a State is assigned.
func (c *change) moveStep(i int, to State, why Cause) *StepState {
	s := c.step(i)
	c.permit(Transition{OfStep, s.State, to, why})
	c.d.Moves = append(c.d.Moves, Move{Step: s.Name, From: s.State, To: to, Cause: why})
	s.State = to
	return s
}

func (c *change) moveTask(to State, why Cause) {
	t := &c.d.Task
	c.permit(Transition{OfTask, t.State, to, why})
	c.d.Moves = append(c.d.Moves, Move{From: t.State, To: to, Cause: why})
	if t.Shard < 0 {
		t.Shard = shardOf(t.ID, c.e.Shards) // held no more
	}
	t.State = to
}

func (c *change) permit(t Transition) {
	if c.err == nil && !permitted(t) {
		c.err = fmt.Errorf("no transition of a %s from %q to %q because %q", t.Of, t.From, t.To, t.Cause)
	}
}
