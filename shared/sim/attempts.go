package sim

import (
	"bytes"
	"encoding/json"
	"fmt"

	"triad/shared/operator"
	"triad/shared/task"
)

// outcome is how the model saw an attempt end.
type outcome uint8

// The outcomes.
const (
	notEnded outcome = iota
	succeeded
	failedForGood
	failedForNow
	timedOut
	stopped // a timer or a wait for a signal of a task that turns back
)

// ended: an attempt ends for a reason that is at hand: the one reply being handled
// under its token, its CompleteBy, a signal, the task's turning back. Nothing else
// ends it, and it ends once.
func (a *account) ended(o *observation) string {
	if o.was.Version == 0 {
		return ""
	}
	for i := range o.is.Steps {
		was, is := &o.was.Steps[i], &o.is.Steps[i]
		switch {
		case is.Attempt < was.Attempt || is.Attempt > was.Attempt+1:
			return fmt.Sprintf("step %s goes from attempt %d to %d", is.Name, was.Attempt, is.Attempt)
		case is.Attempt == was.Attempt && is.Live() && is.LockedBy != was.LockedBy:
			return fmt.Sprintf("attempt %d of step %s passes from %q to %q", is.Attempt, is.Name, was.LockedBy, is.LockedBy)
		case was.Live() && is.Attempt == was.Attempt && is.Live():
			if detail := a.extended(o, i); detail != "" {
				return detail
			}
		case was.Live():
			how := a.how(o, i)
			if how == notEnded {
				return fmt.Sprintf("attempt %d of step %s ended without a reason", was.Attempt, is.Name)
			}
			if detail := a.follows(o, i, how); detail != "" {
				return detail
			}
		default:
			if detail := a.idle(o, i); detail != "" {
				return detail
			}
		}
	}
	return ""
}

// extended: a live attempt changes in its CompleteBy alone, and that by a heartbeat
// under its token.
func (a *account) extended(o *observation, i int) string {
	was, is, x := o.was.Steps[i], o.is.Steps[i], o.by.cause.extend
	if was.CompleteBy != is.CompleteBy {
		shown := x != nil && x.Step == is.Name && x.Attempt == is.Attempt && x.LockedBy == is.LockedBy && x.Undo == (is.State == task.Compensating)
		late := !shown || is.CompleteBy > x.CompleteBy || is.CompleteBy < was.CompleteBy || !x.Undo && is.CompleteBy > o.is.Deadline
		if late {
			return fmt.Sprintf("CompleteBy of attempt %d of step %s moved from %v to %v", is.Attempt, is.Name, since(was.CompleteBy), since(is.CompleteBy))
		}
		at := a.attempts[token{a.id, is.Name, is.Attempt}]
		at.extended = append(at.extended, is.CompleteBy)
	}
	was.CompleteBy = is.CompleteBy
	if !same(&was, &is) {
		return fmt.Sprintf("attempt %d of step %s is live and has changed", is.Attempt, is.Name)
	}
	return ""
}

// how finds the reason for which the live attempt of step i ended.
func (a *account) how(o *observation, i int) outcome {
	was, step, c := &o.was.Steps[i], &a.flow.Steps[i], &o.by.cause
	undo := was.State == task.Compensating
	turned := o.is.Goal != "" && o.was.Goal != o.is.Goal
	if r := c.reply; r != nil && step.Agent != "" && r.Step == was.Name && r.Attempt == was.Attempt && r.LockedBy == was.LockedBy && r.Undo == undo {
		a.believed(r)
		switch {
		case r.Outcome == task.Succeeded && (undo || keepable(r.Output)):
			return succeeded
		case r.Outcome == task.Succeeded, r.Outcome == task.FailedPermanently:
			return failedForGood
		}
		return failedForNow
	}
	late := was.CompleteBy <= o.by.now
	switch {
	case step.Wait > 0 && late && o.is.Steps[i].State == task.Processed:
		return succeeded
	case step.Signal != "" && c.kind == byVerb && c.ask.Verb == operator.Signal && c.ask.Signal == step.Signal:
		return succeeded
	case step.Agent == "" && turned && o.is.Steps[i].FailureCount == was.FailureCount:
		return stopped
	case step.Wait == 0 && late && c.kind == bySweep:
		return timedOut
	}
	return notEnded
}

// believed notes a reply that moved the task. If no agent of ours sent it, what the
// record says and what the services did may differ.
func (a *account) believed(r *task.Reply) {
	if !a.m.replied[replyKey(r)] {
		a.tainted = true
	}
}

func keepable(output json.RawMessage) bool {
	return len(output) == 0 || len(output) <= task.MaxOutput && json.Valid(output)
}

// follows: what the record says after an attempt has ended is what its end and the
// definition call for. The books are kept here.
func (a *account) follows(o *observation, i int, how outcome) string {
	was, is, step, l := &o.was.Steps[i], &o.is.Steps[i], &a.flow.Steps[i], &a.steps[i]
	undo := was.State == task.Compensating
	if how == stopped {
		return ""
	}
	if how == succeeded {
		return a.done(o, i, undo)
	}
	l.failures++
	if undo {
		return a.undoFailed(o, i, how)
	}
	l.endedIn = o.is.Version
	if step.Agent != "" && (how != failedForGood || o.by.cause.reply.Doubt || o.by.cause.reply.Outcome == task.Succeeded) {
		l.doubt = true
	}
	open := how != failedForGood && o.was.Goal == ""
	again := open && step.Signal == "" && l.failures < step.Retry.Attempts
	parks := open && !again && step.OnExhausted == task.OnWait && l.waits < step.ExtendedWait.Times
	parked := parks && (o.is.Goal == "" || is.Waits > was.Waits)
	if parked {
		l.waits++ // unless another step that ended in the same commit had turned the task back
	}
	switch {
	case (again || parks) && is.State == task.Error && o.by.cause.kind == byReply: // which ends this attempt and no other
		return fmt.Sprintf("step %s is given up after %d failures and %d waits", is.Name, l.failures, l.waits)
	case o.was.Goal == "" && o.is.Goal != "" && is.State != task.Processing:
		return "" // some step has turned the task back in the same commit
	case again || parked:
		if is.State == task.Error || is.State == task.Cancelled {
			return fmt.Sprintf("step %s has %d failures and is not tried again", is.Name, l.failures)
		}
		return a.waits(o, i, parked)
	case is.State == task.Pending || is.State == task.Processing:
		return fmt.Sprintf("step %s has %d failures and is tried again", is.Name, l.failures)
	case o.was.Goal == "" && o.is.Goal == "":
		return fmt.Sprintf("step %s is given up and the task goes on", is.Name)
	}
	return ""
}

// waits: the next try comes after the wait that the definition says.
func (a *account) waits(o *observation, i int, parked bool) string {
	is, step := &o.is.Steps[i], &a.flow.Steps[i]
	wait := is.CompleteBy.Until(o.by.now)
	switch {
	case is.State == task.Processing: // at once
		if parked || step.Retry.First > 0 {
			return fmt.Sprintf("step %s is tried again at once", is.Name)
		}
	case parked && wait != step.ExtendedWait.For:
		return fmt.Sprintf("step %s is parked for %v", is.Name, wait)
	case !parked && (wait < step.Retry.First/2 || wait > step.Retry.Max && (o.by.cause.reply == nil || o.by.cause.reply.RetryAfterMs < wait.Milliseconds())):
		return fmt.Sprintf("step %s waits for %v before its next try", is.Name, wait)
	}
	return ""
}

// done: a success is recorded as it came.
func (a *account) done(o *observation, i int, undo bool) string {
	was, is, l := &o.was.Steps[i], &o.is.Steps[i], &a.steps[i]
	if undo {
		if l.undone {
			return fmt.Sprintf("step %s is undone twice", is.Name)
		}
		l.undone = true
		if is.State != task.Compensated {
			return fmt.Sprintf("the undo of step %s succeeded, and it is %s", is.Name, is.State)
		}
		return ""
	}
	if l.done++; l.done > 1 {
		return fmt.Sprintf("step %s is done a second time", is.Name)
	}
	l.endedIn = o.is.Version
	if is.State != task.Processed && is.State != task.Compensating {
		return fmt.Sprintf("step %s succeeded, and it is %s", is.Name, is.State)
	}
	want := was.Output
	switch c := &o.by.cause; {
	case a.flow.Steps[i].Agent != "" && len(c.reply.Output) > 0:
		want = c.reply.Output
	case a.flow.Steps[i].Signal != "":
		want = payload(c.ask.Payload)
	}
	if !bytes.Equal(is.Output, want) {
		return fmt.Sprintf("S15: the output of step %s is not what came: %.80s", is.Name, is.Output)
	}
	return ""
}

func payload(p json.RawMessage) json.RawMessage {
	if len(p) == 0 {
		return json.RawMessage("null")
	}
	return p
}

func (a *account) undoFailed(o *observation, i int, how outcome) string {
	is, l := &o.is.Steps[i], &a.steps[i]
	l.doubt = l.doubt || how != failedForGood
	again := how != failedForGood && l.failures < a.flow.Steps[i].Undo.Retry.Attempts
	if again != (is.State == task.Compensating) || !again && is.State != task.Error {
		return fmt.Sprintf("the undo of step %s has failed %d times, and it is %s", is.Name, l.failures, is.State)
	}
	return ""
}

// idle: what had no live attempt changes only by a claim, a skip, a stop, a signal
// kept for later, or an operator.
func (a *account) idle(o *observation, i int) string {
	was, is, c := &o.was.Steps[i], &o.is.Steps[i], &o.by.cause
	signal := c.kind == byVerb && c.ask.Verb == operator.Signal && c.ask.Signal == a.flow.Steps[i].Signal
	if is.Attempt == was.Attempt && is.Live() {
		return fmt.Sprintf("attempt %d of step %s has ended and is live again", is.Attempt, is.Name)
	}
	if !bytes.Equal(was.Output, is.Output) && !signal {
		return fmt.Sprintf("the output of step %s changed", is.Name)
	}
	if is.State == task.Skipped && was.State != task.Skipped {
		runs := true
		if when := a.flow.Steps[i].When; when != nil {
			runs, _ = when(o.is)
		}
		if runs || was.Attempt > 0 || a.ready(&o.is, i) != "" || c.kind == bySweep {
			return fmt.Sprintf("step %s is skipped", is.Name)
		}
		a.steps[i].skipped = true
	}
	if is.State == task.Processed && was.State == task.Pending { // it was signalled before
		l := &a.steps[i]
		if l.done++; !was.Signalled && !signal || l.done > 1 {
			return fmt.Sprintf("step %s is done and nothing did it", is.Name)
		}
		l.endedIn = o.is.Version
	}
	return ""
}
