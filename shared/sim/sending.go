package sim

import (
	"fmt"
	"slices"
	"time"

	"triad/shared/queue"
	"triad/shared/task"
)

// longestDelay is what a queue can carry.
const longestDelay = 15 * time.Minute

// sending is told of each message that an engine is about to send.
func (m *model) sending(h *hand, l *line, msg *queue.Message) {
	if m.w.calm {
		m.calmMessages++
	}
	if l.role == roleAgent {
		r, err := queue.DecodeRequest(msg.Body)
		if err != nil {
			m.w.fail("S12 request", "", "a request that can't be read: "+err.Error())
			return
		}
		m.sendingRequest(h, &r, msg.Group)
		return
	}
	c, err := queue.DecodeToScheduler(msg.Body)
	a := m.accounts[c.Task()]
	switch {
	case err != nil:
		m.w.fail("S12 message", "", "a message that can't be read: "+err.Error())
	case a == nil:
		m.w.fail("S12 message", c.Task(), "a message about a task that is not in the table")
	case c.Wake != nil && (msg.Delay < 0 || msg.Delay > longestDelay):
		m.w.fail("S12 wake-up", c.Task(), fmt.Sprintf("a wake-up with a delay of %v", msg.Delay))
	case msg.Group != a.sub.Tenant && (c.Wake == nil || !c.Wake.Redeliver): // that is about any task that there is
		m.w.fail("S13 tenant", c.Task(), fmt.Sprintf("a message about a task of tenant %q is in group %q", a.sub.Tenant, msg.Group))
	case c.Reply != nil:
		m.replying(h, c.Reply, msg)
	}
}

// sendingRequest: what an agent is asked comes from a committed record (S12), is
// about that task alone (S13), and is what was committed to the byte (S15).
func (m *model) sendingRequest(h *hand, r *task.Request, group string) {
	t := token{r.Task, r.Step, r.Attempt}
	h.sent = append(h.sent, t)
	a := m.accounts[r.Task]
	if a == nil {
		m.w.fail("S12 request", r.Task, "a request of a task that is not in the table")
		return
	}
	at, i := a.attempts[t], a.place(r.Step)
	switch {
	case at == nil:
		m.w.fail("S12 request", r.Task, fmt.Sprintf("attempt %d of step %s is asked for, and was not committed", r.Attempt, r.Step))
	case r.LockedBy != at.owner || r.Undo != at.undo || r.Agent != a.flow.Steps[i].Agent || r.Workflow != a.flow.Ref():
		m.w.fail("S12 request", r.Task, fmt.Sprintf("the request is not that of attempt %d of step %s", r.Attempt, r.Step))
	case r.CompleteBy != at.completeBy && !slices.Contains(at.extended, r.CompleteBy):
		m.w.fail("S12 request", r.Task, fmt.Sprintf("the CompleteBy %v of attempt %d of step %s was not committed", since(r.CompleteBy), r.Attempt, r.Step))
	case r.Key != task.Key(r.Task, r.Step):
		m.w.fail("S12 key", r.Task, "the idempotency key is "+r.Key)
	case r.Tenant != a.sub.Tenant || group != a.sub.Tenant:
		m.w.fail("S13 tenant", r.Task, fmt.Sprintf("a task of tenant %q is requested as %q in group %q", a.sub.Tenant, r.Tenant, group))
	case string(r.Input) != string(at.input) || string(r.Output) != string(at.output):
		m.w.fail("S15 request", r.Task, fmt.Sprintf("input or output of step %s is not what the record says", r.Step))
	}
}

// asked: a queue has taken the requests of these attempts.
func (m *model) asked(requests []token) {
	for _, t := range requests {
		if a := m.accounts[t.task]; a != nil && a.attempts[t] != nil {
			a.attempts[t].asked = true
		}
	}
}

// replying: an agent answers the request it was given, in time, and with what its
// service said.
func (m *model) replying(h *hand, r *task.Reply, msg *queue.Message) {
	q := h.cause.request
	m.replied[replyKey(r)] = true
	if m.w.rng.IntN(4) == 0 && len(m.w.replies) < 50 {
		m.w.replies = append(m.w.replies, slices.Clone(msg.Body))
	}
	switch {
	case q == nil || q.Task != r.Task || q.Step != r.Step || q.Attempt != r.Attempt || q.LockedBy != r.LockedBy || q.Undo != r.Undo:
		m.w.fail("S4 reply", r.Task, "a reply to no request")
	case h.now >= h.call.deadline:
		m.w.fail("S4 late reply", r.Task, fmt.Sprintf("it is sent at %v, after %v", since(h.now), since(h.call.deadline)))
	case (r.Outcome == task.Succeeded) != h.call.succeeded:
		m.w.fail("S4 reply", r.Task, fmt.Sprintf("it says %s, and the service did: %v", r.Outcome, h.call.succeeded))
	case r.Outcome == task.Succeeded && !r.Undo && string(r.Output) != string(h.call.answer):
		m.w.fail("S15 output", r.Task, "the output in the reply is not what the service answered")
	}
}

// replyKey names what a reply says.
func replyKey(r *task.Reply) string {
	return fmt.Sprint(r.Task, " ", r.Step, " ", r.Undo, r.Attempt, " ", r.LockedBy, " ", r.Outcome, r.Doubt, string(r.Output))
}
