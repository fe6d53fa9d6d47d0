package sim

import (
	"fmt"
	"slices"

	"triad/shared/operator"
	"triad/shared/queue"
	"triad/shared/store"
	"triad/shared/submission"
	"triad/shared/supervisor"
	"triad/shared/task"
)

// rejected: a message was captured. It must be one that can't be read or applied
// (S11), and no submission that had been accepted (S2).
func (m *model) rejected(r *store.Rejected) {
	m.w.tally.Rejected++
	m.w.trace("captured: %s: %.200s", r.Reason, r.Body)
	if r.Reason == "" {
		m.w.fail("S11 reason", "", "a message was captured without a reason")
	}
	delete(m.litter, string(r.Body))
	m.hopeless(m.w.cur.cause, r.Reason)
	if r.Queue == queue.Submissions {
		if sub, err := submission.Decode(r.Body); err == nil {
			m.captured[sub.ID] = append(m.captured[sub.ID], sub)
		}
		m.w.cur.captured = true
		if h := m.w.cur; h.accepted {
			m.w.fail("S2 captured", h.cause.sub.ID, "a submission that had been accepted was captured as rejected: "+r.Reason)
		}
	}
}

// hopeless: what is captured about a task that there is can't be read, or is a
// request without a key, of which nobody can say what it repeats. Whether a
// submission may be captured is for S2.
func (m *model) hopeless(c cause, reason string) {
	if c.kind == bySubmission || c.kind == byRequest && c.request.Key == "" || m.w.table.rows[c.task()] == nil {
		return
	}
	m.w.fail("S11 good", c.task(), "a message that can be read and applied was captured: "+reason)
}

func (m *model) littered(l *line, body string) { m.litter[body] = l }

// purged: what the queues in memory held is gone.
func (m *model) purged() {
	for body, l := range m.litter {
		if l.role != roleSubmission {
			delete(m.litter, body)
		}
	}
}

// handled is called when a handler has returned.
func (m *model) handled(h *hand, d queue.Delivery, err error) {
	if err != nil {
		return
	}
	if l, is := m.litter[string(d.Body)]; is {
		m.w.fail("S11 captured", "", fmt.Sprintf("a message to %s that nobody can read is done with, and was not captured: %.100s", l.name, d.Body))
	}
	m.intents(h)
	m.heeded(h)
	if c := h.cause; c.kind == bySubmission {
		switch {
		case m.accepted(*c.sub):
			m.acked[c.sub.ID] = true
		case !h.captured:
			m.w.fail("S2 content", c.sub.ID, "a submission is done with, and is neither in the table nor captured")
		}
	}
}

// wasCaptured reports that a submission was captured, with this very content.
func (m *model) wasCaptured(s *task.Submission) bool {
	return slices.ContainsFunc(m.captured[s.ID], func(o task.Submission) bool { return alike(&o, s) })
}

// claims is told of each attempt of an agent that a write claims: somebody has to be
// asked for it before what was handled is done with.
func (m *model) claims(by *writer, t token) {
	if by.hand != nil {
		by.hand.claims = append(by.hand.claims, t)
	}
	if body := by.cause.body; body != nil {
		m.implied[string(body)] = append(m.implied[string(body)], claim{t, m.w.ports})
	}
}

// intents: a hand that is done with its message has asked for every attempt that it
// claimed, as far as it is live and in time, and for those that others had claimed
// for the same message before it began, and may have died before they asked (S12).
// Only a submission says so the first time that it comes, which may be as a dead
// letter that was brought back: what a wake-up or a reply had implied is then left
// to the deadline.
func (m *model) intents(h *hand) {
	asked := func(t token) bool { return m.accounts[t.task].attempts[t].asked }
	for _, t := range h.claims {
		m.intent(h, t, asked)
	}
	if h.receives == 1 && h.cause.kind != bySubmission {
		return
	}
	for _, c := range m.implied[string(h.cause.body)] {
		if c.at < h.begun {
			m.intent(h, c.token, asked)
		}
	}
}

// tried: a call or a verb that is answered has tried to ask for every attempt that
// it claimed. Where the queue refused, that is left to the deadline.
func (m *model) tried(h *hand) {
	for _, t := range h.claims {
		m.intent(h, t, func(t token) bool { return slices.Contains(h.sent, t) })
	}
}

func (m *model) intent(h *hand, t token, asked func(token) bool) {
	s, _ := m.w.table.rows[t.task].task.Step(t.step)
	if s.Attempt == t.attempt && s.Live() && s.CompleteBy > h.now && !asked(t) {
		m.w.fail("S12 intent", t.task, fmt.Sprintf("attempt %d of step %s was claimed, what it was claimed for is done with, and nobody was asked", t.attempt, t.step))
	}
}

// live reports that a reply or heartbeat speaks for a live attempt of an agent.
func (m *model) live(c cause) bool {
	v, speaks := c.voice()
	r := m.w.table.rows[v.task]
	if !speaks || r == nil {
		return false
	}
	s, found := r.task.Step(v.step)
	a := m.accounts[v.task]
	return found && s.Live() && a.flow.Steps[a.place(v.step)].Agent != "" &&
		s.Attempt == v.attempt && s.LockedBy == v.owner && (s.State == task.Compensating) == v.undo
}

// heeded: a reply or heartbeat of a live attempt is believed. What spoke for one
// that was live all the time, and is done with, must have ended it or given it the
// time that it asked for, as far as its task has it (S4).
func (m *model) heeded(h *hand) {
	if !h.live || !m.live(h.cause) {
		return
	}
	v, _ := h.cause.voice()
	x := h.cause.extend
	if x == nil {
		m.w.fail("S4 heeded", v.task, fmt.Sprintf("a reply of attempt %d of step %s, which is live, is done with and changed nothing", v.attempt, v.step))
		return
	}
	t := &m.w.table.rows[v.task].task
	s, _ := t.Step(v.step)
	granted := x.CompleteBy
	if !x.Undo {
		granted = min(granted, t.Deadline)
	}
	if s.CompleteBy < granted {
		m.w.fail("S4 heeded", v.task, fmt.Sprintf("attempt %d of step %s asked for time until %v, is live, and has it until %v",
			v.attempt, v.step, since(granted), since(s.CompleteBy)))
	}
}

// granted: an operator was told that what was asked for is so.
func (m *model) granted(id task.ID, ask operator.Ask) {
	t := m.w.table.rows[id].task
	if ask.Verb == operator.Cancel && t.Goal != task.Cancelled && t.State != task.Cancelled {
		m.w.fail("S14 cancel", id, "a cancel was acknowledged, and the record does not head for Cancelled")
	}
}

// swept: one sweep acts on no more tasks than its cap (L3).
func (m *model) swept(r supervisor.Report) {
	if r.Acted > m.w.plan.cap {
		m.w.fail("L3 storm", "", fmt.Sprintf("a sweep acted on %d tasks, its cap is %d", r.Acted, m.w.plan.cap))
	}
}
