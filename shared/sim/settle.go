package sim

import (
	"context"
	"fmt"
	"time"

	"triad/shared/task"
)

// settle is the second phase: everything is mended, and then everything must come
// to its end, within a bound, and add up.
func (w *world) settle() {
	w.calm = true
	w.trace("calm: the faults are over")
	for _, p := range w.processes {
		p.skew, p.behind, p.downUntil = 0, false, w.now
	}
	clear(w.downUntil)
	w.awayUntil = w.now
	w.thaw()
	for _, c := range w.clients {
		w.events.add(w.now+1, nil, func() { w.submit(c) })
	}
	for _, p := range w.byRole[roleSupervisor] {
		p.nextTick = min(p.nextTick, w.now.Add(w.plan.period))
	}
	end := w.bound()
	for round := 0; w.failed == nil; round++ {
		// What dead letters bring back may end up among them again.
		w.drain()
		for _, l := range w.lines {
			if n, _ := l.queue.Redrive(context.Background()); n > 0 {
				w.trace("%d dead letters of %s come back", n, l.name)
			}
			w.kick(l, w.now)
		}
		w.until(end)
		born := w.bound() // a dead letter that came back may have made a task
		if w.rested() || round > 50 || round > 1 && w.poisoned != "" && born <= end {
			break
		}
		end = max(end, born, w.lastDue().Add(time.Minute))
	}
	if w.failed == nil {
		w.checkEnd()
	}
	if w.failed == nil && w.model.calmMessages > mostMessages*(len(w.table.order)+1) {
		w.fail("L3 storm", "", fmt.Sprintf("%d messages in the second phase, for %d tasks", w.model.calmMessages, len(w.table.order)))
	}
}

// mostMessages is how many messages a task may cost in the second phase, several
// times what 1,000s of seeds have shown.
const mostMessages = 60

// thaw lets what is frozen go on within a second.
func (w *world) thaw() {
	old := w.events.all
	w.events.all = nil
	for _, e := range old {
		if e.hand != nil && !e.hand.ended {
			e.at = min(e.at, w.now+1000)
		}
		w.events.push(e)
	}
}

// drain has somebody look at every queue.
func (w *world) drain() {
	for _, l := range w.lines {
		w.kick(l, w.now)
	}
}

// rested reports that all tasks have ended, owe nothing, and no queue has messages.
func (w *world) rested() bool {
	for _, r := range w.table.order {
		if r.task.CompleteBy != 0 && r.task.ID != w.poisoned {
			return false
		}
	}
	for _, l := range w.lines {
		if d, _ := l.queue.Depth(context.Background()); d.Total() > 0 || len(l.queue.DeadLetters()) > 0 {
			return false
		}
	}
	return true
}

// bound is when every task that it has not seen before must have ended, from its
// definition: its own deadline ends forward work, then attempts end, then undo has
// so many attempts and waits. A task is given its bound once, or it would never be
// late.
func (w *world) bound() task.Millis {
	slack := 10*time.Minute + time.Duration(4*len(w.table.order)+4)*w.plan.period
	end := w.now
	if w.bounded == nil {
		w.bounded, end = map[task.ID]bool{}, w.unborn(slack)
	}
	for _, r := range w.table.order {
		t := &r.task
		a := w.model.accounts[t.ID]
		if w.bounded[t.ID] {
			continue
		}
		w.bounded[t.ID] = true
		if a == nil || t.State.Finished() && !t.Owing {
			continue
		}
		by := max(w.now, t.CompleteBy)
		if t.Goal == "" {
			by = max(by, t.Deadline)
		}
		for i := range t.Steps {
			by = max(by, t.Steps[i].CompleteBy)
		}
		end = max(end, by.Add(slack+undoTime(&a.flow)))
	}
	return end
}

// unborn is when every order that is not accepted yet must have ended.
func (w *world) unborn(slack time.Duration) task.Millis {
	end := w.now.Add(slack)
	for _, c := range w.clients {
		for _, s := range w.shapes {
			if !c.acknowledged {
				end = max(end, w.now.Add(slack+s.flow.CompleteWithin+undoTime(&s.flow)))
			}
		}
	}
	return end
}

// lastDue is when all of the queues have something that becomes visible next: what
// was delayed before the calm may come hours later.
func (w *world) lastDue() task.Millis {
	last := w.now
	for _, l := range w.lines {
		if due, some := l.queue.NextDue(); some {
			last = max(last, task.At(due))
		}
	}
	return last
}

// undoTime is the longest that the undo of a workflow can take.
func undoTime(f *task.Workflow) (all time.Duration) {
	for _, s := range f.Steps {
		if s.Undo != nil {
			each := s.Undo.CompleteWithin + s.Undo.Retry.Max + 2*grace + 2*time.Minute
			all += time.Duration(s.Undo.Retry.Attempts) * each
		}
	}
	return all
}

// checkEnd is what must be so when all is at rest.
func (w *world) checkEnd() {
	for _, c := range w.clients {
		if c.sub.ID != w.poisoned {
			w.checkClient(c)
		}
	}
	for _, r := range w.table.order {
		t := &r.task
		if t.ID == w.poisoned {
			continue
		}
		switch {
		case !t.State.Finished():
			w.fail("L1 end", t.ID, "it has not ended within its bound: "+line1(*t))
		case t.Owing || t.CompleteBy != 0:
			w.fail("S10 owing", t.ID, "it has ended and still owes what it has to tell: "+line1(*t))
		}
		w.checkTold(t)
		w.checkEffects(t)
	}
	for _, l := range w.lines {
		if w.poisoned != "" {
			break // what is about the damaged record can't be handled
		}
		if d, _ := l.queue.Depth(context.Background()); d.Total() > 0 {
			w.fail("L2 queues", "", fmt.Sprintf("queue %s still holds %+v", l.name, d))
		}
		if n := len(l.queue.DeadLetters()); n > 0 {
			w.fail("L2 queues", "", fmt.Sprintf("%d messages of queue %s can't be handled although nothing is wrong any more", n, l.name))
		}
	}
	for body, l := range w.model.litter {
		if l.role == roleSubmission || w.plan.rates[QueueVanish] == 0 {
			w.fail("S11 captured", "", fmt.Sprintf("a message to %s that nobody can read was lost: %.100q", l.name, body))
		}
	}
}

// checkClient: each order that was accepted is a task; one that was not was
// refused, and its application or an operator knows.
func (w *world) checkClient(c *client) {
	r := w.table.rows[c.sub.ID]
	switch {
	case c.acknowledged && r == nil, w.model.acked[c.sub.ID] && r == nil:
		w.fail("S1 lost", c.sub.ID, "it was accepted and is not in the table")
	case !c.acknowledged && !c.refused && !c.sent:
		w.fail("L1 answer", c.sub.ID, "its application never got an answer")
	case c.sent && r == nil && !w.model.wasCaptured(&c.sub):
		w.fail("S1 lost", c.sub.ID, "its submission was taken by the queue, and there is neither a task nor a captured message")
	}
}

// checkTold: what the ends of a task had to tell has been told.
func (w *world) checkTold(t *task.Task) {
	a := w.model.accounts[t.ID]
	if a == nil || w.plan.rates[QueueVanish] > 0 || w.plan.rates[QueuePurge] > 0 {
		return // a message that vanishes is not said again; see docs/proof.md
	}
	for _, id := range a.owed {
		// A twin of the submission that an instance with older definitions refused
		// was captured: the operator was told, and there is no message left that
		// would tell the receipt. On AWS such an instance reads the newer ones first.
		refused := w.model.wasCaptured(&a.sub) && id == string(t.ID)+"/Received/0"
		if !w.model.told[id] && !refused {
			w.fail("S10 told", t.ID, id+" was never told")
		}
	}
}

// checkEffects: the services hold what the end of the task says.
func (w *world) checkEffects(t *task.Task) {
	a := w.model.accounts[t.ID]
	if a == nil || a.tainted {
		return
	}
	for i := range t.Steps {
		s, e := &t.Steps[i], w.effects[task.Key(t.ID, t.Steps[i].Name)]
		if e == nil {
			e = &effect{}
		}
		if a.flow.Steps[i].Agent == "" {
			continue
		}
		undone := t.State == task.Compensated || t.State == task.Cancelled
		switch {
		case e.count > 1:
			w.fail("S9 effects", t.ID, fmt.Sprintf("the effect of step %s counts %d times", s.Name, e.count))
		case s.State == task.Processed && !e.applied:
			w.fail("S4 effects", t.ID, fmt.Sprintf("step %s is Processed, and its effect is not there", s.Name))
		case s.State == task.Compensated && e.applied:
			w.fail("S9 effects", t.ID, fmt.Sprintf("step %s is Compensated, and its effect is still there", s.Name))
		case undone && a.flow.Steps[i].Undo != nil && e.applied:
			w.fail("S9 effects", t.ID, fmt.Sprintf("the task is %s, and the effect of step %s, which is %s, is still there", t.State, s.Name, s.State))
		case s.State == task.Skipped && e.calls > 0:
			w.fail("S8 effects", t.ID, fmt.Sprintf("step %s was skipped, and its service was called", s.Name))
		}
	}
}
