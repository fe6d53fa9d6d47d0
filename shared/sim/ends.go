package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"triad/shared/operator"
	"triad/shared/task"
)

// move is a change of state within one commit.
type move struct{ from, to task.State }

// What one commit may do to the state of a step and of a task. A commit can make
// several moves of the table in docs/states.md at once (a reply that ends a step,
// whose undo is then claimed), so these are their sums, written down by hand.
var (
	stepMoves = []move{
		{"", task.Pending}, {"", task.Processing}, {"", task.Skipped}, {"", task.Error}, {"", task.Cancelled},
		{task.Pending, task.Processing}, {task.Pending, task.Skipped}, {task.Pending, task.Error}, {task.Pending, task.Cancelled},
		{task.Pending, task.Compensating}, {task.Pending, task.Processed},
		{task.Processing, task.Processed}, {task.Processing, task.Pending}, {task.Processing, task.Error},
		{task.Processing, task.Cancelled}, {task.Processing, task.Compensating},
		{task.Processed, task.Compensating}, {task.Error, task.Compensating}, {task.Error, task.Pending},
		{task.Error, task.Processing}, {task.Error, task.Skipped}, {task.Error, task.Cancelled}, {task.Error, task.Processed},
		{task.Compensating, task.Compensated}, {task.Compensating, task.Error},
	}
	taskMoves = []move{
		{"", task.Pending}, {"", task.Processing}, {"", task.Processed}, {"", task.Error}, {"", task.Compensated}, {"", task.Compensating},
		{task.Pending, task.Processing}, {task.Pending, task.Processed}, {task.Pending, task.Error},
		{task.Pending, task.Compensating}, {task.Pending, task.Compensated}, {task.Pending, task.Cancelled},
		{task.Processing, task.Processed}, {task.Processing, task.Error}, {task.Processing, task.Compensating},
		{task.Processing, task.Compensated}, {task.Processing, task.Cancelled},
		{task.Compensating, task.Compensated}, {task.Compensating, task.Cancelled}, {task.Compensating, task.Error},
		{task.Error, task.Processing}, {task.Error, task.Processed}, {task.Error, task.Compensating}, {task.Error, task.Compensated},
	}
)

// transitions: states move only along the table.
func (a *account) transitions(o *observation) string {
	a.m.w.tally.saw(&o.was, &o.is)
	if m := (move{o.was.State, o.is.State}); m.from != m.to && !slices.Contains(taskMoves, m) {
		return fmt.Sprintf("the task goes from %q to %q", m.from, m.to)
	}
	for i := range o.is.Steps {
		m := move{to: o.is.Steps[i].State}
		if o.was.Version > 0 {
			m.from = o.was.Steps[i].State
		}
		if m.from != m.to && !slices.Contains(stepMoves, m) {
			return fmt.Sprintf("step %s goes from %q to %q", o.is.Steps[i].Name, m.from, m.to)
		}
	}
	return ""
}

// whole: the state of the task is what its steps say, and its goal has a reason.
func (a *account) whole(o *observation) string {
	t, live, all, failed := &o.is, false, true, false
	for i := range t.Steps {
		s := &t.Steps[i]
		live = live || s.Live()
		all = all && (s.State == task.Processed || s.State == task.Skipped)
		failed = failed || s.State == task.Error && s.Undo
	}
	switch {
	case t.State.Finished() && live:
		return "it has ended and a step is live"
	case t.State.Finished() && t.EndedAt == 0 || !t.State.Finished() && t.EndedAt != 0:
		return fmt.Sprintf("it is %s and ended at %v", t.State, since(t.EndedAt))
	case (t.State == task.Processed) != (all && t.Goal == ""):
		return fmt.Sprintf("it is %s, heads for %q, and all of its steps are done: %v", t.State, t.Goal, all)
	case t.State == task.Compensated && t.Goal != task.Compensated, t.State == task.Cancelled && t.Goal != task.Cancelled:
		return fmt.Sprintf("it is %s and headed for %q", t.State, t.Goal)
	case t.State == task.Error && t.Goal != task.Error && !failed:
		return "it is in Error and nothing failed"
	}
	return a.goal(o, all)
}

// goal: a task turns back because a step was given up, its deadline has passed, or
// an operator asked; and then it does not turn round again.
func (a *account) goal(o *observation, all bool) string {
	was, is, c := o.was.Goal, o.is.Goal, &o.by.cause
	if was == is {
		return ""
	}
	verb := c.kind == byVerb && (c.ask.Verb == operator.Cancel && is == task.Cancelled || c.ask.Verb == operator.Undo && is == task.Compensated)
	resubmit := c.kind == byVerb && c.ask.Verb == operator.Resubmit && was == task.Error
	if verb && (was == "" || was == task.Error) {
		return ""
	}
	if was != "" && !resubmit && (was != task.Error || is != task.Compensated) { // a later one may ask for more
		return fmt.Sprintf("its goal changes from %s to %q", was, is)
	}
	if is == "" {
		return ""
	}
	late := c.kind == bySweep && o.was.Deadline <= o.by.now
	for i := range o.is.Steps {
		s, step := &o.is.Steps[i], &a.flow.Steps[i]
		then := step.OnExhausted
		if then == task.OnWait {
			then = step.ExtendedWait.Then
		}
		ended := o.was.Version == 0 || o.was.Steps[i].State != task.Error || resubmit
		gone := s.State == task.Error && !s.Undo || s.State == task.Compensating
		if ended && gone && (then == task.OnCompensate) == (is == task.Compensated) {
			return ""
		}
	}
	if late && !all && (a.flow.OnOverdue == task.OnCompensate) == (is == task.Compensated) {
		return ""
	}
	return fmt.Sprintf("it heads for %s and nobody knows why", is)
}

// complete: a task that ends undone has undone all that can be, and nothing else.
func (a *account) complete(o *observation) string {
	if o.is.State != task.Compensated && o.is.State != task.Cancelled {
		return ""
	}
	for i := range o.is.Steps {
		s := &o.is.Steps[i]
		if undone := s.State == task.Compensated; a.toUndo(i) != undone || a.steps[i].undone != undone {
			return fmt.Sprintf("step %s is %s; to be undone: %v; undone: %v", s.Name, s.State, a.toUndo(i), a.steps[i].undone)
		}
		if s.State == task.Pending || s.State == task.Processing || s.State == task.Compensating {
			return fmt.Sprintf("step %s is %s", s.Name, s.State)
		}
	}
	return ""
}

// told: each end is told, by one notice if there is a response queue and by one
// alert if it is Error, under ids that say one thing for ever. What nobody would
// bring back is owed until it has been sent.
func (a *account) told(o *observation) string {
	d := &o.change
	entered := o.is.State.Finished() && (!o.was.State.Finished() || reopened(o))
	begun := o.was.Version == 0
	notices, alerts := 0, 0
	for _, n := range d.Notices {
		if n.Status == string(o.is.State) {
			notices++
		} else if n.Status != task.Received {
			return fmt.Sprintf("a notice says %s", n.Status)
		}
		if n.Queue != a.sub.ResponseQueue || n.Task != a.id {
			return fmt.Sprintf("S13: the notice %s goes to queue %q", n.ID, n.Queue)
		}
		n.Outputs = nil
		if detail := a.say(n.ID, n); detail != "" {
			return detail
		}
	}
	for _, x := range d.Alerts {
		alerts++
		if o.is.State != task.Error || x.Task != a.id {
			return fmt.Sprintf("an alert of a task that is %s", o.is.State)
		}
		if detail := a.say(x.ID, x); detail != "" {
			return detail
		}
	}
	queue := a.sub.ResponseQueue != ""
	switch {
	case entered && queue && notices != 1, entered && !queue && notices != 0:
		return fmt.Sprintf("its end is told by %d notices", notices)
	case entered && (o.is.State == task.Error) != (alerts == 1):
		return fmt.Sprintf("it ended as %s with %d alerts", o.is.State, alerts)
	case begun && queue != slices.ContainsFunc(d.Notices, func(n task.Notice) bool { return n.Status == task.Received }):
		return "that it was received is not told"
	case entered && (o.by.cause.kind == bySweep || o.by.cause.kind == byVerb) && notices+alerts > 0 && !o.is.Owing:
		return "its end comes from no message, and it owes nothing"
	}
	if reopened(o) {
		a.owed = nil
	}
	if entered || begun {
		for _, n := range d.Notices {
			// Whoever submits by a call has the answer to tell him that it was received.
			if n.Status != task.Received || o.by.cause.queued {
				a.owed = append(a.owed, n.ID)
			}
		}
		for _, x := range d.Alerts {
			a.owed = append(a.owed, x.ID)
		}
	}
	return a.released(o)
}

// released: what is owed is given up only once it was told.
func (a *account) released(o *observation) string {
	if !o.was.Owing || o.is.Owing || !o.is.State.Finished() || reopened(o) || a.m.w.plan.keepTold {
		return ""
	}
	for _, id := range a.owed {
		if !a.m.told[id] && !strings.Contains(id, "/Received/") { // that has its own message
			return fmt.Sprintf("it owes nothing any more, and %s was never told", id)
		}
	}
	return ""
}

// say: one id says one thing.
func (a *account) say(id string, what any) string {
	text, err := json.Marshal(what)
	if err != nil {
		return err.Error()
	}
	if before, again := a.said[id]; again && before != string(text) {
		return fmt.Sprintf("%s says %s, and said %s", id, text, before)
	}
	a.said[id] = string(text)
	return ""
}

// noticed is told of each notice that got through, alerted of each alert: they say
// what a committed record said.
func (m *model) noticed(n *task.Notice) {
	m.told[n.ID] = true
	a := m.accounts[n.Task]
	plain := *n
	plain.Outputs = nil
	if a == nil || a.said[n.ID] == "" {
		m.w.fail("S12 notice", n.Task, "the notice "+n.ID+" comes from no committed record")
	} else if detail := a.say(n.ID, plain); detail != "" {
		m.w.fail("S10 notice", n.Task, detail)
	}
}

func (m *model) alerted(x *task.Alert) {
	m.told[x.ID] = true
	a := m.accounts[x.Task]
	if a == nil || a.said[x.ID] == "" {
		m.w.fail("S12 alert", x.Task, "the alert "+x.ID+" comes from no committed record")
	} else if detail := a.say(x.ID, *x); detail != "" {
		m.w.fail("S10 alert", x.Task, detail)
	}
}
