package memqueue

import (
	"context"
	"time"

	"triad/shared/queue"
)

// waiter is a Receive that waits. Messages are handed to it, so that nobody can
// get ahead of it between its waking and its next step.
type waiter struct {
	max        int
	got        []queue.Delivery
	waiting    bool
	ready      chan struct{} // holds at most one
	timer      *time.Timer
	prev, next *waiter
}

// waiters are those that wait, the longest first.
type waiters struct {
	head, tail *waiter
	spare      *waiter
}

func (ws *waiters) any() bool { return ws.head != nil }

// next is the one who has waited longest, nil when nobody waits.
func (ws *waiters) next() *waiter { return ws.head }

func (ws *waiters) join(max int) *waiter {
	w := ws.spare
	if w == nil {
		w = &waiter{ready: make(chan struct{}, 1)}
	} else {
		ws.spare = w.next
	}
	w.max, w.waiting = max, true
	w.prev, w.next = ws.tail, nil
	if ws.tail == nil {
		ws.head = w
	} else {
		ws.tail.next = w
	}
	ws.tail = w
	return w
}

// wake hands messages to a waiter, or none when the queue was closed.
func (ws *waiters) wake(w *waiter, got []queue.Delivery) {
	ws.leave(w)
	w.got = got
	w.ready <- struct{}{}
}

func (ws *waiters) leave(w *waiter) {
	if w.prev == nil {
		ws.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		ws.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next, w.waiting = nil, nil, false
}

// recycle keeps a waiter that is done for the next to wait.
func (ws *waiters) recycle(w *waiter) {
	select {
	case <-w.ready:
	default:
	}
	w.got, w.next = nil, ws.spare
	ws.spare = w
}

// serve hands visible messages to those who wait, and sees to it that somebody
// wakes up when more become due. Afterwards either nobody waits or nothing is
// visible. It needs the lock.
func (q *Queue) serve(now time.Duration) {
	for q.waiters.any() && q.lanes.n > 0 {
		w := q.waiters.next()
		if got := q.take(w.max, now); len(got) > 0 {
			q.waiters.wake(w, got)
		}
	}
	q.arm(now)
}

// await waits for messages, the end of the wait or of the context, or for the
// queue to be closed. What was handed over is returned even if the context has
// ended meanwhile: it counts as received.
func (q *Queue) await(ctx context.Context, w *waiter, wait time.Duration) ([]queue.Delivery, error) {
	if w.timer == nil {
		w.timer = time.NewTimer(wait)
	} else {
		w.timer.Reset(wait)
	}
	var err error
	select {
	case <-w.ready:
	case <-w.timer.C:
	case <-ctx.Done():
		err = ctx.Err()
	}
	w.timer.Stop()

	q.mu.Lock()
	defer q.mu.Unlock()
	if w.waiting {
		q.waiters.leave(w)
	}
	got := w.got
	q.waiters.recycle(w)
	switch {
	case len(got) > 0:
		return got, nil
	case q.closed:
		return nil, q.closedError()
	}
	return nil, err
}

// alarm wakes the queue when a message becomes due while somebody waits.
type alarm struct {
	timer *time.Timer
	set   bool
	at    time.Duration
}

func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}

// arm sets the alarm to the next due time if somebody waits. An alarm that is
// set too early is left: it costs one look. It needs the lock.
func (q *Queue) arm(now time.Duration) {
	if !q.waiters.any() {
		return
	}
	due, ok := q.nextDue()
	if !ok || q.alarm.set && q.alarm.at <= due {
		return
	}
	q.alarm.set, q.alarm.at = true, due
	if q.alarm.timer == nil {
		q.alarm.timer = time.AfterFunc(due-now, q.ring)
	} else {
		q.alarm.timer.Reset(due - now)
	}
}

func (q *Queue) ring() {
	if q.lock() != nil {
		return
	}
	q.alarm.set = false
	now := q.now()
	q.settle(now)
	q.serve(now)
	q.unlock()
}
