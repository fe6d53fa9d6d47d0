package task

// backward brings a task with a Goal to it: live forward steps end first, then
// what was done is undone, one step at a time, latest first.
func (c *change) backward() {
	t := &c.d.Task
	if c.liveForward() {
		return
	}
	if t.Goal == Error {
		c.finish(Error, BecauseFailed)
		return
	}
	if t.State != Compensating {
		c.moveTask(Compensating, BecauseUndo)
	}
	switch i, found := c.nextUndo(); {
	case !found:
		c.finish(t.Goal, BecauseUndone)
	case t.Steps[i].State == Error && t.Steps[i].Undo:
		c.finish(Error, BecauseUndoFailed)
	case t.Steps[i].Live() || t.Steps[i].State == Compensating && t.Steps[i].CompleteBy > c.now:
		// its attempt, or the wait before the next one, goes on
	case !c.claims:
		c.wanted = true
	default:
		c.claimUndo(i)
	}
}

func (c *change) liveForward() bool {
	for i := range c.d.Task.Steps {
		if c.d.Task.Steps[i].State == Processing {
			return true
		}
	}
	return false
}

// nextUndo finds the step whose undo is under way or has failed, else the one
// that ended last of those to be undone.
func (c *change) nextUndo() (next int, found bool) {
	steps := c.d.Task.Steps
	for i := range steps {
		if steps[i].Undo && steps[i].State != Compensated {
			return i, true
		}
		if c.undoable(i) && (!found || steps[i].Rank >= steps[next].Rank) {
			next, found = i, true
		}
	}
	return next, found
}

// undoable reports whether step i is still to be undone: it is done, or one of
// its attempts ended without a definite answer, so that its effect may exist.
func (c *change) undoable(i int) bool {
	s := &c.d.Task.Steps[i]
	if c.w.Steps[i].Undo == nil || s.Undo {
		return false
	}
	return s.State == Processed || s.Doubt && (s.State == Error || s.State == Pending)
}

// claimUndo makes this instance the owner of a new attempt to undo step i.
func (c *change) claimUndo(i int) {
	s := c.step(i)
	if s.State != Compensating {
		s = c.moveStep(i, Compensating, BecauseUndo)
		s.Undo, s.FailureCount, s.CompleteBy = true, 0, 0
	}
	input, err := c.input(i)
	if err != nil {
		// The forward step could not have run with an input that can't be
		// made; undo it by its key alone.
		input = nil
	}
	c.take(s, c.now.Add(c.w.Steps[i].Undo.CompleteWithin))
	c.d.Requests = append(c.d.Requests, c.request(i, input))
}
