// Package memqueue is the queue of package queue inside one process.
//
// It exists for the embedded engine, whose table is durable and whose queues
// need not be (queues are hints), for tests, and for the simulator, which
// switches Faults on. It keeps the semantics of Amazon SQS, so that an engine
// can't tell the difference but by its speed: visibility timeout, delay, receive
// count, dead letters with a way back.
//
// # Promises beyond the contract
//
// Without Faults, messages come in the order of Send, turn by turn between
// groups: a tenant with a long backlog does not hold back the others. Receivers
// that wait are served in the order in which they began to wait, and at once
// when a message is sent or becomes due; no message is lost to a receiver whose
// context ends.
//
// A receipt is good until its message is received again, even after the
// visibility timeout. From then on Delete and Release with it do nothing.
//
// Memory is bounded by Config.Capacity and Config.DeadCapacity.
//
// # Not promised
//
// Durability: what a queue holds ends with Close or with the process.
package memqueue

import (
	"context"
	"fmt"
	"sync"
	"time"

	"triad/shared/queue"
)

var _ queue.Queue = (*Queue)(nil)

// Config says how a queue behaves. The zero value is usable.
type Config struct {
	// Name appears in errors. Defaults to "memory".
	Name string
	// Visibility is the visibility timeout of every delivery. Defaults to 30 s.
	Visibility time.Duration
	// MaxReceives is how often a message is delivered before it becomes a dead
	// letter, at the next try to receive it. Defaults to 5.
	MaxReceives int
	// Capacity is how many messages the queue holds, visible, delayed and in
	// flight together; Send beyond it fails with queue.ErrFull. Defaults to 4096.
	Capacity int
	// DeadCapacity is how many dead letters are kept; beyond it the oldest is
	// dropped. Defaults to Capacity.
	DeadCapacity int
	// DeadLetter is told of each new dead letter, after it was listed; it may
	// use the queue. Defaults to nil: nobody is told.
	DeadLetter func(queue.Delivery)
	// Clock is the time. Defaults to time.Now. Waits go by the timers of
	// package time all the same: with a clock of your own that is moved by
	// hand, call Receive without a wait and use NextDue.
	Clock func() time.Time
	// Faults make the queue misbehave, for tests. Defaults to nil: none.
	Faults *Faults
}

func (c Config) withDefaults() Config {
	if c.Name == "" {
		c.Name = "memory"
	}
	if c.Visibility <= 0 {
		c.Visibility = 30 * time.Second
	}
	if c.MaxReceives <= 0 {
		c.MaxReceives = 5
	}
	if c.Capacity <= 0 {
		c.Capacity = 4096
	}
	if c.DeadCapacity <= 0 {
		c.DeadCapacity = c.Capacity
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Faults == nil {
		c.Faults = &Faults{}
	}
	return c
}

// Queue is a queue in memory; New makes it. All methods are safe for concurrent
// use.
//
// Bodies are copied by Send and shared by deliveries: read them, don't write.
type Queue struct {
	cfg   Config
	start time.Time // due times are durations since then: immune to clock steps
	full  error

	mu     sync.Mutex
	closed bool
	shelf  shelf
	// Where a message that is not on the way can be: exactly one of these.
	lanes   lanes // visible
	flying  list  // in flight for cfg.Visibility, so in the order of due
	pending heap  // sent with a delay, or released for later
	// parked counts the messages on pending that are in flight: released ones.
	parked int

	deliveries uint64 // number of the latest
	postponed  uint64 // likewise
	waiters    waiters
	alarm      alarm
	dead       []deadLetter
	told       []queue.Delivery // dead letters that cfg.DeadLetter has yet to see
}

// New makes an empty queue.
func New(cfg Config) *Queue {
	cfg = cfg.withDefaults()
	return &Queue{
		cfg:    cfg,
		start:  cfg.Clock(),
		full:   fmt.Errorf("sending to queue %s, which holds %d messages: %w", cfg.Name, cfg.Capacity, queue.ErrFull),
		shelf:  newShelf(),
		lanes:  newLanes(),
		flying: emptyList(),
	}
}

// Receive returns 1 to max messages, waiting up to wait for the first. Of
// messages that are there it returns as many as there are, up to max. It returns
// queue.ErrClosed when the queue is or becomes closed and the context's error
// when that ends first; then no message was taken.
func (q *Queue) Receive(ctx context.Context, max int, wait time.Duration) ([]queue.Delivery, error) {
	if max < 1 || max > 10 {
		return nil, fmt.Errorf("receiving from queue %s: max is %d, it must be 1 to 10", q.cfg.Name, max)
	}
	if err := q.refused(ctx, OpReceive); err != nil {
		return nil, err
	}
	ds, err := q.receive(ctx, max, wait)
	if lost := q.lost(OpReceive); lost != nil {
		return nil, lost
	}
	return ds, err
}

func (q *Queue) receive(ctx context.Context, max int, wait time.Duration) ([]queue.Delivery, error) {
	if err := q.lock(); err != nil {
		return nil, err
	}
	now := q.now()
	q.settle(now)
	q.serve(now) // those who wait already come first
	ds := q.take(max, now)
	if len(ds) > 0 || wait <= 0 {
		q.unlock()
		return ds, nil
	}
	w := q.waiters.join(max)
	q.arm(now)
	q.unlock()
	return q.await(ctx, w, wait)
}

// Delete removes deliveries that were handled. Receipts that are unknown, or
// whose message has been received again since, are ignored.
func (q *Queue) Delete(ctx context.Context, receipts ...string) error {
	if err := q.refused(ctx, OpDelete); err != nil {
		return err
	}
	if err := q.lock(); err != nil {
		return err
	}
	for _, r := range receipts {
		if i := q.find(r); i != none {
			q.withdraw(i)
			q.shelf.discard(i)
		}
	}
	q.unlock()
	return q.lost(OpDelete)
}

// Release makes a delivery visible again after d; less than 0 counts as 0. It
// does nothing when the receipt is unknown or its message is visible again or
// was received again since.
func (q *Queue) Release(ctx context.Context, receipt string, d time.Duration) error {
	if err := q.refused(ctx, OpRelease); err != nil {
		return err
	}
	if err := q.lock(); err != nil {
		return err
	}
	now := q.now()
	q.settle(now)
	if i := q.find(receipt); i != none && q.shelf.at(i).place != visible {
		q.withdraw(i)
		if d > 0 {
			q.postpone(i, released, now+d)
		} else {
			q.show(i)
		}
	}
	q.serve(now)
	q.unlock()
	return q.lost(OpRelease)
}

// Depth returns exactly how many messages there are; dead letters don't count.
func (q *Queue) Depth(ctx context.Context) (queue.Depth, error) {
	if err := q.refused(ctx, OpDepth); err != nil {
		return queue.Depth{}, err
	}
	if err := q.lock(); err != nil {
		return queue.Depth{}, err
	}
	now := q.now()
	q.settle(now)
	q.serve(now)
	d := queue.Depth{
		Visible:  q.lanes.n,
		Delayed:  len(q.pending) - q.parked,
		InFlight: q.flying.n + q.parked,
	}
	q.unlock()
	return d, q.lost(OpDepth)
}

// NextDue returns when the next delayed or in-flight message becomes visible,
// and false when there is none; for those who move the clock by hand.
func (q *Queue) NextDue() (time.Time, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	due, ok := q.nextDue()
	return q.start.Add(due), ok
}

// Close drops all messages, visible ones and dead letters included, and makes
// every call, also those that wait, return queue.ErrClosed. Closing again does
// nothing.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	q.closed = true
	q.alarm.stop()
	for w := q.waiters.next(); w != nil; w = q.waiters.next() {
		q.waiters.wake(w, nil)
	}
	q.shelf, q.lanes, q.flying, q.pending, q.parked = newShelf(), newLanes(), emptyList(), nil, 0
	q.dead, q.told = nil, nil
}

func (q *Queue) now() time.Duration { return q.cfg.Clock().Sub(q.start) }

// lock locks the queue unless it is closed.
func (q *Queue) lock() error {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return q.closedError()
	}
	return nil
}

func (q *Queue) closedError() error {
	return fmt.Errorf("using queue %s: %w", q.cfg.Name, queue.ErrClosed)
}

// unlock unlocks and tells of the dead letters that are new.
func (q *Queue) unlock() {
	told := q.told
	q.told = nil
	q.mu.Unlock()
	for _, d := range told {
		q.cfg.DeadLetter(d)
	}
}
