package task

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// endRequested has the task undone and ended: Cancelled or Compensated.
func (c *change) endRequested(goal State) {
	t := &c.d.Task
	switch {
	case t.Goal == goal && t.State != Error:
		c.verdict(Duplicate, fmt.Sprintf("the task is %s, or on its way there", goal))
	case t.State == Error && t.Goal == Error && goal == Compensated, !t.State.Finished() && (t.Goal == "" || t.Goal == Error):
		if t.State == Error {
			c.revive()
			c.moveTask(Compensating, BecauseUndo)
		}
		c.turn(goal, cmp.Or(c.e.Reason, string(c.e.Kind)))
		c.advance()
		c.verdict(Applied, "")
	case t.State == Error && t.Goal == Error:
		c.verdict(Refused, "the task has failed: resubmit it, or have it undone")
	case t.State == Error:
		c.verdict(Refused, "undoing the task has failed: resubmit it to try the undo again")
	case t.State.Finished():
		c.verdict(Refused, fmt.Sprintf("the task is %s", t.State))
	default:
		c.verdict(Refused, fmt.Sprintf("the task is on its way to %s", t.Goal))
	}
}

// revive makes a failed task unfinished again, in a shard that is swept: there may
// be fewer now than when it began.
func (c *change) revive() {
	t := &c.d.Task
	t.EndedAt, t.Owing, t.Shard = 0, false, shardOf(t.ID, c.e.Shards)
}

// resubmitted lets a failed task go on from where it failed: state, failure
// counts and deadlines are reset in this one write; attempts go on counting.
func (c *change) resubmitted() {
	t := &c.d.Task
	if t.State != Error {
		c.verdict(Refused, fmt.Sprintf("only a task in Error can be resubmitted; this one is %s", t.State))
		return
	}
	c.revive()
	t.Resubmits++
	if t.Goal == Error {
		t.Goal, t.Reason = "", ""
		t.Deadline = c.now.Add(c.w.CompleteWithin)
		c.moveTask(Processing, BecauseResubmitted)
		c.restart()
	} else {
		c.moveTask(Compensating, BecauseResubmitted)
		c.restartUndo()
	}
	c.advance()
	c.verdict(Applied, "")
}

func (c *change) restart() {
	for i := range c.d.Task.Steps {
		s := &c.d.Task.Steps[i]
		if s.State == Error {
			s = c.moveStep(i, Pending, BecauseResubmitted)
		} else if s.State != Pending || s.Attempt == 0 {
			continue
		}
		c.step(i)
		s.FailureCount, s.Waits, s.CompleteBy = 0, 0, 0
	}
}

func (c *change) restartUndo() {
	for i := range c.d.Task.Steps {
		if s := &c.d.Task.Steps[i]; s.State == Error && s.Undo {
			s = c.moveStep(i, Compensating, BecauseResubmitted)
			s.FailureCount, s.CompleteBy = 0, 0
		}
	}
}

// pause stops and restarts the claims of a task. Live attempts go on; undo is
// never paused; the task's own deadline runs on.
func (c *change) pause(paused bool) {
	t := &c.d.Task
	switch {
	case t.State.Finished():
		c.verdict(Refused, fmt.Sprintf("the task has finished: it is %s", t.State))
	case t.Paused == paused:
		c.verdict(Duplicate, "nothing to change")
	default:
		t.Paused = paused
		if !paused {
			c.advance()
		}
		c.verdict(Applied, "")
	}
}

// signalled completes the step that waits for the signal, or keeps the signal
// for when it does.
func (c *change) signalled() {
	if bad := badOutput(c.e.Output); bad != "" {
		c.verdict(Refused, "the payload of the signal: "+bad)
		return
	}
	i := c.awaiting()
	switch {
	case i < 0:
		c.verdict(Refused, fmt.Sprintf("no step of %s waits for a signal %q", c.w.Ref(), c.e.Signal))
		return
	case c.d.Task.Steps[i].State == Skipped, c.d.Task.State.Finished() || c.d.Task.Goal != "":
		c.verdict(Refused, "nothing waits for it any more")
		return
	case c.d.Task.Steps[i].Signalled:
		c.verdict(Duplicate, "the signal has arrived before")
		return
	}
	s := c.step(i)
	s.Signalled = true
	if s.State == Processing {
		c.succeed(i, BecauseSignalled, c.payload())
		c.advance()
	} else {
		s.CompleteBy = 0 // if it was parked, it need wait no longer
		s.Output = c.payload()
		c.d.Outputs = append(c.d.Outputs, Output{Step: s.Name, Body: s.Output})
		c.advance()
	}
	c.verdict(Applied, "")
}

func (c *change) awaiting() int {
	for i := range c.w.Steps {
		if c.w.Steps[i].Signal == c.e.Signal && c.e.Signal != "" {
			return i
		}
	}
	return -1
}

func (c *change) payload() json.RawMessage {
	if len(c.e.Output) == 0 {
		return json.RawMessage("null")
	}
	return c.e.Output
}

// released takes a task that owes nothing any more out of the index.
func (c *change) released() {
	if !c.d.Task.Owing {
		c.verdict(Duplicate, "the task owes nothing")
		return
	}
	if c.d.Task.Version != c.e.Version {
		c.verdict(Stale, "the task has more to tell by now")
		return
	}
	c.d.Task.Owing = false
	c.verdict(Applied, "")
}
