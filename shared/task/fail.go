package task

import (
	"fmt"
	"time"
)

// failed ends the live attempt of step i without success and decides what
// follows: another attempt, an extended wait, or giving up.
func (c *change) failed(i int, outcome Outcome, text string, asked time.Duration) {
	s, step := c.step(i), &c.w.Steps[i]
	c.let(s)
	s.FailureCount++
	s.Error = cut(text)
	s.Doubt = s.Doubt || outcome != FailedPermanently && step.Agent != ""
	if s.State == Compensating {
		c.undoFailed(i, outcome, asked)
		return
	}
	switch {
	case outcome == FailedPermanently:
		c.moveStep(i, Error, BecauseRefused)
		c.giveUp(i)
	case c.d.Task.Goal != "":
		c.moveStep(i, Error, BecauseEnding).CompleteBy = 0
	case step.Signal == "" && s.FailureCount < step.Retry.Attempts:
		c.moveStep(i, Pending, BecauseRetried)
		c.tryAgain(s, c.retryIn(step.Retry, s, asked))
	case step.OnExhausted == OnWait && s.Waits < step.ExtendedWait.Times:
		c.moveStep(i, Pending, BecauseParked)
		s.Waits++
		c.tryAgain(s, step.ExtendedWait.For)
	default:
		c.moveStep(i, Error, BecauseExhausted)
		c.giveUp(i)
	}
}

// tryAgain sets the time of the next attempt and asks to be woken then.
func (c *change) tryAgain(s *StepState, in time.Duration) {
	s.CompleteBy = c.now.Add(in)
	if s.CompleteBy > c.now {
		c.wakeAt(s.CompleteBy)
	}
}

// undoFailed decides what follows the failed attempt of an undo.
func (c *change) undoFailed(i int, outcome Outcome, asked time.Duration) {
	s, retry := c.step(i), c.w.Steps[i].Undo.Retry
	switch {
	case outcome == FailedPermanently:
		c.moveStep(i, Error, BecauseRefused)
	case s.FailureCount < retry.Attempts:
		c.tryAgain(s, c.retryIn(retry, s, asked))
		return
	default:
		c.moveStep(i, Error, BecauseExhausted)
	}
	s.CompleteBy = 0
}

// giveUp turns the task round after step i has failed for good.
func (c *change) giveUp(i int) {
	step, s := &c.w.Steps[i], c.step(i)
	s.CompleteBy = 0
	then := step.OnExhausted
	if then == OnWait {
		then = step.ExtendedWait.Then
	}
	c.turn(goalOf(then), fmt.Sprintf("step %s failed: %s", s.Name, s.Error))
}

func goalOf(o OnExhausted) State {
	if o == OnCompensate {
		return Compensated
	}
	return Error
}

// turn gives the task another goal than Processed. From here on no forward step
// starts. A later turn wins only by asking for more: undo over Error.
func (c *change) turn(goal State, reason string) {
	t := &c.d.Task
	if t.Goal != "" && (t.Goal != Error || goal == Error) {
		return
	}
	t.Goal, t.Reason = goal, cut(reason)
	for i := range t.Steps {
		c.stop(i)
	}
}

// stop ends what has no effect to wait for: steps that never ran, timers, and
// waits for signals. Live attempts go on to their own end.
func (c *change) stop(i int) {
	s, step := &c.d.Task.Steps[i], &c.w.Steps[i]
	forGood := c.d.Task.Goal != Error
	switch {
	case s.State == Pending && forGood && !c.undoable(i):
		c.moveStep(i, Cancelled, BecauseEnding).CompleteBy = 0
	case s.State == Processing && step.Agent == "":
		to := Pending // starts anew if the task is resubmitted
		if forGood {
			to = Cancelled
		}
		s = c.moveStep(i, to, BecauseEnding)
		c.let(s)
		s.CompleteBy = 0
	}
}
