package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"triad/shared/engine"
	"triad/shared/queue"
	"triad/shared/store"
	"triad/shared/task"
)

// errInjected is what a fault answers where the contract names no sentinel.
var errInjected = errors.New("injected fault")

// tablePort is the way of all engines to the table: each call hands over, then
// meets the faults that a network and a busy table have.
type tablePort struct{ w *world }

var _ store.Store = tablePort{}

// Create implements store.Store.
func (p tablePort) Create(ctx context.Context, c store.Change) error {
	return p.write(ctx, portCreate, c, p.w.table.Create)
}

// Commit implements store.Store.
func (p tablePort) Commit(ctx context.Context, c store.Change) error {
	return p.write(ctx, portCommit, c, p.w.table.Commit)
}

func (p tablePort) write(ctx context.Context, at port, c store.Change, write func(context.Context, store.Change) error) (err error) {
	w, h := p.w, p.w.cur
	began := w.moment()
	h.pass(at)
	by := writer{proc: h.proc.name, role: h.proc.role, now: h.now, cause: h.cause, hand: h}
	apply := func() error {
		w.writer = by
		defer func() { w.writer = writer{} }()
		return write(context.Background(), c)
	}
	defer func() { w.recordWrite(h, began, c, err) }()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := w.unwritten(at, c); err != nil {
		return err
	}
	if w.hit(StoreLate) {
		late, turn := w.now+task.Millis(1+w.rng.IntN(20_000)), h.turn
		w.events.add(late, nil, func() {
			if h.turn != turn {
				by.hand = nil // it is at work on another message, which implies none of this
			}
			if e := apply(); e == nil {
				w.trace("a late write of task %s by %s is applied", c.Task.ID, by.proc)
			}
		})
		return fmt.Errorf("writing task %s: timed out: %w", c.Task.ID, errInjected)
	}
	err = apply()
	if (err == nil || errors.Is(err, store.ErrConflict)) && w.hit(StoreRepeated) {
		w.recordWrite(h, began, c, err) // as the table knows it
		h.wait = time.Duration(w.rng.IntN(2000)) * time.Millisecond
		h.pass(at)
		if began, err = w.moment(), ctx.Err(); err == nil {
			err = w.overtaken(c, apply())
		}
	}
	if err == nil && w.hit(StoreApplied) {
		return fmt.Errorf("writing task %s: timed out: %w", c.Task.ID, errInjected)
	}
	return err
}

// unwritten is how the table refuses a write, or loses it; nil for not at all.
func (w *world) unwritten(at port, c store.Change) error {
	switch {
	case w.hit(StoreThrottled):
		return fmt.Errorf("writing task %s: throttled: %w", c.Task.ID, errInjected)
	case w.hit(StoreConflict) && at == portCommit:
		return fmt.Errorf("writing task %s: %w", c.Task.ID, store.ErrConflict)
	case w.hit(StoreTooLarge):
		return fmt.Errorf("writing task %s: %w", c.Task.ID, store.ErrTooLarge)
	case w.hit(StoreFull):
		return fmt.Errorf("writing task %s: %w", c.Task.ID, store.ErrFull)
	case w.hit(StoreLost):
		return fmt.Errorf("writing task %s: timed out: %w", c.Task.ID, errInjected)
	}
	return nil
}

// overtaken is what a client gets that sends a write again by itself, as the answer
// was lost: where others have written since, the table can't tell whether that was
// before the first time or after it.
func (w *world) overtaken(c store.Change, err error) error {
	if errors.Is(err, store.ErrConflict) && w.table.rows[c.Task.ID].task.Version > c.Task.Version {
		return fmt.Errorf("%w: %w", err, store.ErrOvertaken)
	}
	return err
}

// Load implements store.Store.
func (p tablePort) Load(ctx context.Context, id task.ID) (t task.Task, err error) {
	w, h := p.w, p.w.cur
	began := w.moment()
	h.pass(portLoad)
	switch {
	case id == w.poisoned:
		return task.Task{}, fmt.Errorf("loading task %s: %w", id, store.ErrDamaged)
	case w.hit(StoreReadFailed):
		return task.Task{}, fmt.Errorf("loading task %s: %w", id, errInjected)
	case w.hit(StoreDamaged):
		return task.Task{}, fmt.Errorf("loading task %s: %w", id, store.ErrDamaged)
	}
	t, err = w.table.Load(ctx, id)
	w.recordLoad(h, began, id, t, err)
	return t, err
}

// Due implements store.Store.
func (p tablePort) Due(ctx context.Context, q store.DueQuery) (store.DuePage, error) {
	p.w.cur.pass(portDue)
	if p.w.hit(StoreReadFailed) {
		return store.DuePage{}, fmt.Errorf("reading what is due: %w", errInjected)
	}
	return p.w.table.Due(ctx, q)
}

// List implements store.Store. No engine calls it.
func (p tablePort) List(ctx context.Context, q store.ListQuery) (store.ListPage, error) {
	return p.w.table.List(ctx, q)
}

// senders finds the queues to send to.
type senders struct{ w *world }

// Scheduler implements engine.Queues.
func (s senders) Scheduler() engine.Sender { return sender{s.w, s.w.toScheduler} }

// Agent implements engine.Queues.
func (s senders) Agent(name string) (engine.Sender, bool) {
	l := s.w.lineOf(queue.AgentQueue(name))
	return sender{s.w, l}, l != nil
}

// sender is the sending end of a line.
type sender struct {
	w *world
	l *line
}

// Send implements engine.Sender and agent.Sender.
func (s sender) Send(ctx context.Context, msgs ...queue.Message) error {
	h := s.w.cur
	h.pass(portSend)
	before := len(h.sent)
	for i := range msgs {
		s.w.model.sending(h, s.l, &msgs[i])
	}
	err := s.l.queue.Send(ctx, msgs...)
	if err == nil {
		s.w.model.asked(h.sent[before:])
	}
	s.w.trace("%s sends to %s: %.300s (%v)", h, s.l.name, msgs[0].Body, err)
	s.w.tally.Messages += len(msgs)
	s.w.kick(s.l, s.w.now)
	return err
}

// outletPort is the way to response queues and operators.
type outletPort struct{ w *world }

// Notify implements engine.Outlet.
func (o outletPort) Notify(_ context.Context, notices []task.Notice) error {
	o.w.cur.pass(portNotify)
	return o.tell(func() {
		for i := range notices {
			o.w.model.noticed(&notices[i])
		}
	})
}

// Alert implements engine.Outlet.
func (o outletPort) Alert(_ context.Context, alerts []task.Alert) error {
	o.w.cur.pass(portAlert)
	return o.tell(func() {
		for i := range alerts {
			o.w.model.alerted(&alerts[i])
		}
	})
}

func (o outletPort) tell(told func()) error {
	if o.w.hit(OutletRefused) {
		return fmt.Errorf("telling: %w", errInjected)
	}
	told()
	if o.w.hit(OutletLost) {
		return fmt.Errorf("telling, which was done: %w", errInjected)
	}
	return nil
}

// rejectPort captures messages that can't be processed.
type rejectPort struct{ w *world }

// Reject implements the Rejecter of the engines.
func (p rejectPort) Reject(_ context.Context, r store.Rejected) error {
	p.w.cur.pass(portReject)
	if p.w.hit(OutletRefused) {
		return fmt.Errorf("capturing: %w", errInjected)
	}
	p.w.model.rejected(&r)
	if p.w.hit(OutletLost) {
		return fmt.Errorf("capturing, which was done: %w", errInjected)
	}
	return nil
}
