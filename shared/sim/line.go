package sim

import (
	"context"
	"fmt"
	"time"

	"triad/shared/queue"
	"triad/shared/queue/memqueue"
	"triad/shared/task"
)

// line is a queue with those who wait at it. The queue is the real memqueue, on
// the simulated clock, with its faults switched on.
type line struct {
	name  string
	role  role
	agent string
	queue *memqueue.Queue
	// pollAt is when somebody looks next, 0 for not yet known; running is how many
	// hands are at work on its messages.
	pollAt  task.Millis
	running int
}

// maxHands is how many hands may work on one queue at the same time.
const maxHands = 8

func (w *world) newLine(name string, r role, agent string) *line {
	l := &line{name: name, role: r, agent: agent}
	w.open(l)
	w.lines = append(w.lines, l)
	return l
}

// open gives a line a queue that is empty.
func (w *world) open(l *line) { w.openAt(l, func() time.Time { return w.now.Time() }) }

func (w *world) openAt(l *line, clock func() time.Time) {
	l.queue = memqueue.New(memqueue.Config{
		Name: l.name, Visibility: w.plan.visibility, MaxReceives: w.plan.maxReceives, Capacity: 1 << 16,
		Clock: clock,
		Faults: &memqueue.Faults{
			Refuse: w.refuse, Lose: w.lose, Reject: w.rejectOne,
			Deliver: func(queue.Message) []time.Duration { return w.deliver(l) },
			Pick:    w.pickOne, Visibility: w.visibility,
		},
	})
}

func (w *world) lineOf(name string) *line {
	for _, l := range w.lines {
		if l.name == name {
			return l
		}
	}
	return nil
}

// faultOf is the fault that goes with an operation of a queue: what settles a
// delivery, in whatever way, counts as a deletion.
func faultOf(op memqueue.Op, ofSend, ofReceive, ofDelete Fault) Fault {
	switch op {
	case memqueue.OpSend:
		return ofSend
	case memqueue.OpReceive:
		return ofReceive
	default:
		return ofDelete
	}
}

func (w *world) refuse(op memqueue.Op) error {
	if w.cur == nil || op == memqueue.OpDepth {
		return nil
	}
	if w.hit(faultOf(op, QueueSendRefused, QueueReceiveRefused, QueueDeleteRefused)) {
		return fmt.Errorf("%s: %w", op, errInjected)
	}
	return nil
}

func (w *world) lose(op memqueue.Op) error {
	if w.cur == nil || op == memqueue.OpDepth {
		return nil
	}
	if w.hit(faultOf(op, QueueSendLost, QueueReceiveLost, QueueDeleteLost)) {
		return fmt.Errorf("%s, which was done: %w", op, errInjected)
	}
	return nil
}

func (w *world) rejectOne(queue.Message) error {
	if w.cur != nil && w.hit(QueueSendPartial) {
		return errInjected
	}
	return nil
}

// deliver says how often a message comes, and how much later each time. Those to
// Submission are durable: they may be late and double, and never vanish.
func (w *world) deliver(l *line) []time.Duration {
	first := time.Duration(0)
	if w.hit(QueueDelay) {
		first = time.Duration(w.rng.IntN(60_000)) * time.Millisecond
	}
	times := []time.Duration{first}
	if w.hit(QueueDuplicate) {
		times = append(times, first)
	}
	if w.hit(QueueDuplicateLater) {
		minutes := pick(w.rng, 1, 10, 60, 300)
		times = append(times, first+time.Duration(w.rng.IntN(minutes*60_000))*time.Millisecond)
	}
	if l.role != roleSubmission && w.hit(QueueVanish) {
		return times[1:]
	}
	return times
}

func (w *world) pickOne(n int) int {
	if n > 1 && w.hit(QueueReorder) {
		return w.rng.IntN(n)
	}
	return 0
}

func (w *world) visibility(queue.Delivery) time.Duration {
	if w.hit(QueueVisibility) {
		return time.Duration(w.rng.IntN(100)) * time.Millisecond
	}
	return w.plan.visibility
}

// kick has somebody look at a line at a time, or earlier.
func (w *world) kick(l *line, at task.Millis) {
	if at <= w.now {
		at = w.now + 1
	}
	if l.pollAt != 0 && l.pollAt <= at {
		return
	}
	l.pollAt = at
	w.events.add(at, nil, func() {
		if l.pollAt == at {
			l.pollAt = 0
			w.poll(l)
		}
	})
}

// poll starts a hand if the line has something for one.
func (w *world) poll(l *line) {
	depth, err := l.queue.Depth(context.Background())
	if err != nil {
		panic(err) // a queue in memory that is open always has a depth
	}
	if depth.Visible == 0 {
		if due, some := l.queue.NextDue(); some {
			w.kick(l, task.At(due.Add(time.Millisecond-1)))
		}
		return
	}
	if l.running >= maxHands {
		return // it is looked at when one of them ends
	}
	p := w.someone(l.role)
	if p == nil {
		w.kick(l, w.now+1000)
		return
	}
	l.running++
	w.spawn(p, func(h *hand) { w.consume(h, l) }).after = func() {
		l.running--
		w.kick(l, w.now)
	}
	w.kick(l, w.now+task.Millis(1+w.rng.IntN(10)))
}

// consume receives a batch, handles its messages one by one, and deletes what was
// handled.
func (w *world) consume(h *hand, l *line) {
	h.pass(portReceive)
	ds, err := l.queue.Receive(h.ctx, w.plan.batch, 0)
	w.kick(l, w.now)
	if err != nil {
		return
	}
	w.tally.Deliveries += len(ds)
	var done []string
	for _, d := range ds {
		h.begin(causeOf(l, d))
		h.receives = d.Receives
		w.trace("%s handles (%d): %.300s", h, d.Receives, d.Body)
		err := w.handler(h.proc, l)(h.ctx, d)
		w.model.handled(h, d, err)
		switch {
		case err == nil && w.plan.deleteAtOnce:
			w.remove(h, l, d.Receipt)
		case err == nil, w.calm && w.poisoned != "" && h.cause.task() == w.poisoned: // an operator drops what is about the damaged record
			done = append(done, d.Receipt)
		default:
			w.trace("%s: not handled: %v", h, err)
			w.tally.Failed++
			if w.plan.release {
				h.pass(portRelease)
				_ = l.queue.Release(h.ctx, d.Receipt, time.Duration(1+w.rng.IntN(5000))*time.Millisecond)
				w.kick(l, w.now)
			}
		}
	}
	if len(done) > 0 {
		w.remove(h, l, done...)
	}
}

// remove deletes messages; what can't be deleted comes again.
func (w *world) remove(h *hand, l *line, receipts ...string) {
	h.pass(portDelete)
	_ = l.queue.Delete(h.ctx, receipts...)
	w.kick(l, w.now)
}

func (w *world) handler(p *process, l *line) func(context.Context, queue.Delivery) error {
	switch l.role {
	case roleSubmission:
		return p.submission.Handle
	case roleScheduler:
		return p.scheduler.Handle
	default:
		return p.agents[l.agent].Handle
	}
}

// begin makes the hand turn to another cause.
func (h *hand) begin(c cause) {
	h.cause, h.turn = c, h.turn+1
	h.behind = h.proc.behind
	h.accepted = c.sub != nil && h.world.model.accepted(*c.sub)
	h.captured = false
	h.live = h.world.model.live(c)
	h.claims, h.sent, h.begun = h.claims[:0], h.sent[:0], h.world.ports
	h.call = call{}
}
