package sim

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"triad/shared/operator"
	"triad/shared/queue"
	"triad/shared/store"
	"triad/shared/submission"
	"triad/shared/task"
)

// client is an application with one order. It submits until it knows that the
// order was accepted, or that it never will be.
type client struct {
	sub task.Submission
	// byQueue: it sends a message, and is done once the queue has it.
	byQueue bool
	// acknowledged and refused are what it was told.
	acknowledged, refused bool
	sent                  bool
}

// arrive makes the orders and lets them come.
func (w *world) arrive() {
	for i := range w.plan.tasks {
		s := pick(w.rng, w.shapes...)
		id := task.ID(fmt.Sprintf("t%d", i))
		if w.rng.IntN(20) == 0 {
			id = task.ID("t" + strings.Repeat("i", task.MaxID-4) + fmt.Sprintf("%03d", i))
		}
		tenant := pick(w.rng, "", "acme", "shop")
		ref := pick(w.rng, s.flow.Name, s.flow.Ref())
		c := &client{byQueue: w.rng.IntN(2) == 0, sub: task.Submission{
			ID: id, Workflow: ref, Tenant: tenant, ResponseQueue: pick(w.rng, "", "notices"), Order: s.order(w, id, tenant),
		}}
		at := w.now.Add(time.Duration(w.rng.Int64N(int64(w.plan.arrival)) + 1))
		w.submitAt(at, c)
		if w.hit(InputRepeated) {
			w.submitAt(at+task.Millis(w.rng.IntN(120_000)), &client{byQueue: !c.byQueue, sub: c.sub})
		}
		if w.hit(InputConflicting) {
			other := *c
			other.sub = w.conflicting(s, c.sub)
			w.submitAt(at+task.Millis(w.rng.IntN(3000)), &other)
		}
	}
}

// conflicting is a submission of the same id that differs in one field. An order
// that is drawn again may be the same.
func (w *world) conflicting(s *shape, sub task.Submission) task.Submission {
	switch w.rng.IntN(3) {
	case 0:
		sub.Tenant = "other"
	case 1:
		sub.ResponseQueue = "elsewhere"
	default:
		sub.Order = s.order(w, sub.ID, sub.Tenant)
	}
	return sub
}

func (w *world) submitAt(at task.Millis, c *client) {
	w.clients = append(w.clients, c)
	w.events.add(at, nil, func() { w.submit(c) })
}

// submit submits, and sees to it that it is tried again until the answer is known.
func (w *world) submit(c *client) {
	if c.acknowledged || c.refused || c.sent {
		return
	}
	w.model.trySubmission(c.sub)
	p := w.someone(roleSubmission)
	if p == nil {
		w.events.add(w.now+2000, nil, func() { w.submit(c) })
		return
	}
	h := w.spawn(p, func(h *hand) {
		if c.byQueue {
			w.enqueue(h, c)
		} else {
			w.call(h, c)
		}
	})
	h.after = func() {
		if !c.acknowledged && !c.refused && !c.sent {
			w.events.add(w.now+task.Millis(1000+w.rng.IntN(10_000)), nil, func() { w.submit(c) })
		}
	}
}

func (w *world) enqueue(h *hand, c *client) {
	h.pass(portSend)
	if err := w.toSubmit.queue.Send(h.ctx, queue.Message{Body: message(&c.sub)}); err != nil {
		return
	}
	c.sent = true
	w.kick(w.toSubmit, w.now)
}

// message is a submission as an application may write it: the order to the byte.
func message(s *task.Submission) []byte {
	b := fmt.Appendf(nil, `{"id":%q,"workflow":%q,"responseQueue":%q,"tenant":%q,"order":`, s.ID, s.Workflow, s.ResponseQueue, s.Tenant)
	return append(append(b, s.Order...), '}')
}

func (w *world) call(h *hand, c *client) {
	h.begin(cause{kind: bySubmission, sub: &c.sub})
	receipt, err := h.proc.submission.Submit(h.ctx, c.sub)
	switch {
	case err == nil:
		c.acknowledged = true
		w.model.acknowledged(c.sub, receipt.Task.ID)
		if !receipt.Already { // or who was first has asked, or the deadline brings it back
			w.model.tried(h)
		}
	case errors.Is(err, submission.ErrDifferent), errors.Is(err, submission.ErrInvalid):
		c.refused = true
		w.model.refused(h, c.sub, err)
	}
	w.trace("%s answers the submission of %s: %v", h, c.sub.ID, err)
}

// ask has an operator ask something of a task.
func (w *world) ask(id task.ID, a operator.Ask) {
	p := w.byRole[roleOperator][0]
	w.spawn(p, func(h *hand) {
		h.begin(cause{kind: byVerb, ask: a})
		_, err := p.operator.Do(h.ctx, id, a)
		w.trace("%s: %s of %s: %v", h, a.Verb, id, err)
		if err == nil {
			w.model.granted(id, a)
		}
		if err == nil || errors.Is(err, operator.ErrRefused) {
			w.model.tried(h)
		}
		if err != nil && !errors.Is(err, operator.ErrRefused) && !errors.Is(err, store.ErrNotFound) {
			w.tally.Failed++
		}
	})
}

// redeliver is what an embedded engine does at its start: it wakes every task that
// has not finished.
func (w *world) redeliver() {
	p := w.someone(roleSupervisor)
	if p == nil {
		return
	}
	w.spawn(p, func(h *hand) {
		h.begin(cause{kind: bySweep})
		for _, r := range w.table.order {
			if by := r.task.CompleteBy; by > 0 {
				_ = p.engine.Wake(h.ctx, task.Wake{Task: r.task.ID})
			}
		}
	})
}
