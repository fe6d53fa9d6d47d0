package task

import (
	"encoding/json"
	"fmt"
	"time"
)

// advance starts what can start now and ends what has come to its end. It is
// what makes a Scheduler a Scheduler; every event that changes a step ends here.
func (c *change) advance() {
	t := &c.d.Task
	if t.Goal == "" {
		c.forward()
	}
	if t.Goal != "" && !t.State.Finished() {
		c.backward()
	}
	if c.wanted && !c.claims {
		c.d.Wakes = append(c.d.Wakes, Wake{Task: t.ID})
	}
}

// forward claims every step whose predecessors are done, and completes the task
// once all are. Steps stand after their predecessors, so one pass is enough.
func (c *change) forward() {
	t := &c.d.Task
	for i := range t.Steps {
		if c.startable(i) && t.Steps[i].CompleteBy <= c.now {
			if !c.claims {
				c.wanted = true
			} else if c.claim(i); t.Goal != "" {
				return
			}
		}
	}
	if c.done() {
		c.finish(Processed, BecauseCompleted)
	}
}

// done reports whether every step is.
func (c *change) done() bool {
	for i := range c.d.Task.Steps {
		if !c.d.Task.Steps[i].State.done() {
			return false
		}
	}
	return true
}

// startable reports whether nothing but time keeps a step from being claimed.
func (c *change) startable(i int) bool {
	t := &c.d.Task
	if t.Goal != "" || t.Paused || t.Steps[i].State != Pending {
		return false
	}
	for _, p := range c.w.Steps[i].After {
		if !t.Steps[p].State.done() {
			return false
		}
	}
	return true
}

// claim makes this instance the owner of a new attempt of step i.
func (c *change) claim(i int) {
	t, step := &c.d.Task, &c.w.Steps[i]
	if t.Steps[i].Attempt == 0 && step.When != nil {
		runs, err := step.When(*t)
		if err != nil {
			c.cannotStart(i, fmt.Errorf("when: %w", err))
			return
		}
		if !runs {
			s := c.moveStep(i, Skipped, BecauseCondition)
			s.EndedAt, s.Rank = c.now, c.was.Version+1
			return
		}
	}
	if t.State == Pending {
		c.moveTask(Processing, BecauseClaimed)
	}
	input, err := c.input(i)
	if err != nil {
		c.cannotStart(i, fmt.Errorf("input: %w", err))
		return
	}
	s := c.moveStep(i, Processing, BecauseClaimed)
	c.take(s, c.attemptEnds(step))
	switch {
	case step.Agent != "":
		c.d.Requests = append(c.d.Requests, c.request(i, input))
	case step.Wait > 0:
		c.wakeAt(s.CompleteBy)
	case s.Signalled:
		c.succeed(i, BecauseSignalled, nil) // its output came with the signal
	}
}

// attemptEnds is the CompleteBy of an attempt that starts now: absolute from
// here on, never computed again, never beyond the task's own deadline.
func (c *change) attemptEnds(step *Step) Millis {
	if step.Wait > 0 {
		return c.now.Add(step.Wait)
	}
	return min(c.now.Add(step.CompleteWithin), c.d.Task.Deadline)
}

// take gives the step a new owner and a new attempt number, which together are
// the token that a reply has to show.
func (c *change) take(s *StepState, completeBy Millis) {
	s.Attempt++
	s.LockedBy = c.e.By
	s.CompleteBy = completeBy
	if s.StartedAt == 0 {
		s.StartedAt = c.now
	}
}

// cannotStart fails a step whose expression fails. The order and the outputs
// don't change, so it would fail on every try.
func (c *change) cannotStart(i int, err error) {
	s := c.moveStep(i, Error, BecauseRefused)
	s.Error = cut(err.Error())
	s.EndedAt, s.Rank = c.now, c.was.Version+1
	c.giveUp(i)
}

func (c *change) input(i int) (json.RawMessage, error) {
	step := &c.w.Steps[i]
	if step.Agent == "" {
		return nil, nil
	}
	if step.Input == nil {
		return c.d.Task.Order, nil
	}
	return step.Input(c.d.Task)
}

// request is what the record of a live step implies: made again from the same
// record it is the same.
func (c *change) request(i int, input json.RawMessage) Request {
	t, s := &c.d.Task, &c.d.Task.Steps[i]
	r := Request{
		Task: t.ID, Workflow: t.Workflow, Step: s.Name, Agent: c.w.Steps[i].Agent,
		Attempt: s.Attempt, LockedBy: s.LockedBy, CompleteBy: s.CompleteBy,
		Key: Key(t.ID, s.Name), Input: input, Tenant: t.Tenant,
	}
	if s.State == Compensating {
		r.Undo, r.Output = true, s.Output
	}
	return r
}

// wakeAt asks for a wake-up at m, when a message can wait that long.
func (c *change) wakeAt(m Millis) {
	if m <= c.now+maxDelay {
		c.d.Wakes = append(c.d.Wakes, Wake{Task: c.d.Task.ID, Delay: m.Until(c.now)})
	}
}

// succeed records the result of the live attempt of step i.
func (c *change) succeed(i int, why Cause, output json.RawMessage) {
	to := Processed
	if c.d.Task.Steps[i].State == Compensating {
		to = Compensated
	}
	s := c.moveStep(i, to, why)
	c.let(s)
	s.CompleteBy, s.Error = 0, ""
	if to == Processed && output != nil {
		s.Output = output
		c.d.Outputs = append(c.d.Outputs, Output{Step: s.Name, Body: output})
	}
}

// let ends the ownership of a step.
func (c *change) let(s *StepState) {
	s.LockedBy = ""
	s.EndedAt, s.Rank = c.now, c.was.Version+1
}

// finish ends the task and says so.
func (c *change) finish(to State, why Cause) {
	c.moveTask(to, why)
	c.d.Task.EndedAt = c.now
	c.tell()
}

// retryIn is the wait before the next attempt: exponential, bounded, with up to
// half of it taken away as jitter, and at least what the service asked for.
func (c *change) retryIn(r Retry, s *StepState, asked time.Duration) time.Duration {
	d := backoff(r, s.FailureCount)
	d -= time.Duration(jitter(c.d.Task.ID, s.Name, s.Attempt) * float64(d) / 2)
	return max(d, min(asked, longestWait))
}
