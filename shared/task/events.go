package task

import (
	"encoding/json"
	"fmt"
)

// submitted makes the task and, unless it is held, claims its first steps.
func (c *change) submitted() {
	sub := c.e.Submission
	t := &c.d.Task
	*t = Task{
		ID: sub.ID, Workflow: c.w.Ref(), Order: sub.Order, OrderHash: sub.Hash(),
		ResponseQueue: sub.ResponseQueue, Tenant: sub.Tenant, Shard: shardOf(sub.ID, c.e.Shards),
		CreatedAt: c.now, Deadline: c.now.Add(c.w.CompleteWithin),
		Steps: make([]StepState, len(c.w.Steps)),
	}
	for i := range t.Steps {
		t.Steps[i].Name, t.Steps[i].State = c.w.Steps[i].Name, Pending
	}
	c.moveTask(Pending, BecauseSubmitted)
	c.verdict(Applied, "")
	c.tellReceived()
	if c.e.Hold {
		t.Shard = heldShardOf(c.w.Priority, t.ID, t.Tenant, c.e.Shards)
		return
	}
	c.advance()
}

// woken goes on with the task. When its message had been received before, what
// its first handling committed may never have been said.
func (c *change) woken() {
	if c.e.Redelivery {
		c.repeat(func(*StepState) bool { return true })
	}
	c.goOn()
}

// elapse ends the timers whose time has come.
func (c *change) elapse() {
	for i := range c.d.Task.Steps {
		s := &c.d.Task.Steps[i]
		if s.Live() && c.w.Steps[i].Wait > 0 && s.State == Processing && s.CompleteBy <= c.now {
			c.succeed(i, BecauseElapsed, nil)
		}
	}
}

// redelivered says again what the record implies, but for what this very
// instance claimed (unless this event itself comes again), and goes on.
func (c *change) redelivered() {
	c.repeat(func(s *StepState) bool { return s.LockedBy != c.e.By || c.e.Redelivery })
	c.goOn()
}

// goOn starts what can start. When nothing does, the verdict tells whether
// something is said again.
func (c *change) goOn() {
	if !c.d.Task.State.Finished() {
		c.elapse()
		c.advance()
	}
	switch {
	case len(c.d.Moves) > 0 || c.touched != 0:
		c.verdict(Applied, "")
	case len(c.d.Requests)+len(c.d.Wakes) > 0 || c.d.Says():
		c.verdict(Repeated, "messages may have been lost")
	case c.was.State.Finished():
		c.verdict(Idle, "the task has finished")
	default:
		c.verdict(Idle, "nothing is due")
	}
}

// repeat makes the messages that the record implies once more.
func (c *change) repeat(which func(*StepState) bool) {
	t := &c.d.Task
	if c.e.Submission != nil {
		c.tellReceived()
	}
	if t.State.Finished() {
		c.tell()
		return
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		switch {
		case s.Live() && !which(s):
		case s.Live() && c.w.Steps[i].Agent != "":
			if input, err := c.input(i); (err == nil || s.State == Compensating) && s.CompleteBy > c.now {
				c.d.Requests = append(c.d.Requests, c.request(i, input))
			}
		case s.Live() && c.w.Steps[i].Wait > 0, !s.Live() && s.CompleteBy > c.now:
			c.wakeAt(s.CompleteBy)
		}
	}
}

// replied records an agent's answer, if it shows the live token.
func (c *change) replied() {
	i := c.d.Task.index(c.e.Step)
	if i < 0 {
		c.verdict(Stale, "the task has no such step")
		return
	}
	if !c.tokenFits(i) {
		c.tooLate(i)
		return
	}
	switch bad := badOutput(c.e.Output); {
	case c.e.Outcome == Succeeded && bad != "" && !c.e.Undo: // what an undo returns is not kept
		c.step(i).Doubt = true // there is an effect, without a result
		c.failed(i, FailedPermanently, bad, 0)
	case c.e.Outcome == Succeeded:
		c.succeed(i, BecauseSucceeded, c.e.Output)
	case c.e.Outcome == FailedPermanently:
		if c.e.Doubt && !c.e.Undo {
			c.step(i).Doubt = true
		}
		c.failed(i, FailedPermanently, c.e.Error, 0)
	default:
		c.failed(i, FailedTransiently, c.e.Error, c.e.RetryAfter)
	}
	c.advance()
	c.verdict(Applied, "")
}

func badOutput(output json.RawMessage) string {
	switch {
	case len(output) > MaxOutput:
		return fmt.Sprintf("output has %d bytes: at most %d are kept; store it elsewhere and return where", len(output), MaxOutput)
	case len(output) > 0 && !json.Valid(output):
		return "output is not JSON"
	}
	return ""
}

// tokenFits is the fence: only the live attempt of the live owner may speak.
func (c *change) tokenFits(i int) bool {
	s := &c.d.Task.Steps[i]
	return s.Live() && c.w.Steps[i].Agent != "" && s.Attempt == c.e.Attempt &&
		s.LockedBy == c.e.LockedBy && (s.State == Compensating) == c.e.Undo
}

// tooLate answers a reply without the live token. When its message had been
// received before, what its first handling committed may never have been said. If
// that ended the task, nothing else would say it, so it is said again whatever the
// message's count of receives: a dead letter that is brought back counts from one.
func (c *change) tooLate(i int) {
	s := &c.d.Task.Steps[i]
	if s.Live() || s.Attempt != c.e.Attempt {
		c.verdict(Stale, "the reply is not from the live attempt")
	} else {
		c.verdict(Duplicate, "the attempt has ended already")
	}
	if c.e.Redelivery || c.d.Verdict == Duplicate && c.d.Task.State.Finished() {
		c.repeat(func(*StepState) bool { return true })
		c.verdict(Repeated, c.d.Why)
	}
}

// extended grants a heartbeat's later deadline.
func (c *change) extended() {
	i := c.d.Task.index(c.e.Step)
	if i < 0 || !c.tokenFits(i) {
		c.verdict(Stale, "the heartbeat is not from the live attempt")
		return
	}
	asked := min(c.e.CompleteBy, c.now.Add(longestWait))
	if !c.e.Undo {
		asked = min(asked, c.d.Task.Deadline)
	}
	if asked <= c.d.Task.Steps[i].CompleteBy {
		c.verdict(Duplicate, "the deadline is not earlier than that already")
		return
	}
	c.step(i).CompleteBy = asked
	c.verdict(Applied, "")
}

// overdue is the Supervisor's find: what has passed its CompleteBy is reset or
// failed, and a Scheduler is asked to go on. It starts nothing itself. When
// nothing is late, the index is set to the time it should have.
func (c *change) overdue() {
	t := &c.d.Task
	if t.CompleteBy > c.now || t.CompleteBy == 0 {
		c.verdict(Idle, "the task has moved on")
		return
	}
	c.claims = false
	if t.State.Finished() {
		c.tell()
		c.verdict(Applied, "") // Owing: look again later if this is not released
		return
	}
	ended := t.Goal == "" && t.Deadline <= c.now
	for i := range t.Steps {
		if s := &t.Steps[i]; s.Live() && s.CompleteBy <= c.now && c.w.Steps[i].Wait == 0 {
			c.failed(i, FailedTransiently, c.lateText(i), 0)
		}
	}
	c.elapse()
	if ended && !c.done() { // also when a live step, whose attempt the deadline cut, has failed just now
		c.turn(goalOf(c.w.OnOverdue), "the task's own deadline has passed")
	}
	c.advance()
	c.verdict(Applied, "")
}

func (c *change) lateText(i int) string {
	if signal := c.w.Steps[i].Signal; signal != "" {
		return fmt.Sprintf("signal %s did not come in time", signal)
	}
	return fmt.Sprintf("no reply to attempt %d by its CompleteBy", c.d.Task.Steps[i].Attempt)
}
