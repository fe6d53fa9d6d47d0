package memqueue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"triad/shared/queue"
)

// chunk is how many messages are sent under one lock.
const chunk = 10

// Send copies the messages into the queue, in order. Messages that can't be sent
// are told by a *queue.PartialError: queue.ErrTooLarge, queue.ErrFull, or an
// error without sentinel when the body is empty or not UTF-8 or the delay is out
// of bounds. When there was no room for any message the error is queue.ErrFull
// alone.
func (q *Queue) Send(ctx context.Context, msgs ...queue.Message) error {
	if err := q.refused(ctx, OpSend); err != nil {
		return err
	}
	var failed map[int]error
	for first := 0; first < len(msgs); first += chunk {
		errs, err := q.sendChunk(msgs[first:min(first+chunk, len(msgs))])
		if err != nil {
			return err
		}
		for i, err := range errs {
			if err == nil {
				continue
			}
			if failed == nil {
				failed = make(map[int]error)
			}
			failed[first+i] = err
		}
	}
	if lost := q.lost(OpSend); lost != nil {
		return lost
	}
	return q.sendError(failed, len(msgs))
}

func (q *Queue) sendError(failed map[int]error, of int) error {
	if len(failed) == 0 {
		return nil
	}
	if len(failed) < of {
		return &queue.PartialError{Failed: failed}
	}
	for _, err := range failed {
		if !errors.Is(err, queue.ErrFull) {
			return &queue.PartialError{Failed: failed}
		}
	}
	return q.full
}

// sendChunk sends up to chunk messages and returns the error of each. The
// bodies are checked and copied before the queue is locked.
func (q *Queue) sendChunk(msgs []queue.Message) (errs [chunk]error, err error) {
	var bodies [chunk][]byte
	for i, m := range msgs {
		if errs[i] = q.check(m); errs[i] == nil {
			bodies[i] = bytes.Clone(m.Body)
		}
	}
	if err := q.lock(); err != nil {
		return errs, err
	}
	for i, m := range msgs {
		if errs[i] != nil {
			continue
		}
		m.Body = bodies[i]
		if q.cfg.Faults.Deliver == nil {
			errs[i] = q.accept(m)
			continue
		}
		for _, extra := range q.cfg.Faults.Deliver(m) {
			again := m
			again.Delay += extra
			errs[i] = errors.Join(errs[i], q.accept(again))
		}
	}
	if q.waiters.any() {
		q.serve(q.now())
	}
	q.unlock()
	return errs, nil
}

// check says why a message can't be sent, now or ever.
func (q *Queue) check(m queue.Message) error {
	switch {
	case len(m.Body) == 0:
		return errors.New("message body is empty: every message has a body")
	case len(m.Body) > queue.MaxBody:
		return fmt.Errorf("message body has %d bytes, at most %d are allowed: %w", len(m.Body), queue.MaxBody, queue.ErrTooLarge)
	case !utf8.Valid(m.Body):
		return errors.New("message body is not UTF-8: send text")
	case m.Delay < 0 || m.Delay > queue.MaxDelay:
		return fmt.Errorf("message delay is %v: it must be 0 to %v", m.Delay, queue.MaxDelay)
	}
	if reject := q.cfg.Faults.Reject; reject != nil {
		return reject(m)
	}
	return nil
}

// accept puts a message, whose body is the queue's own, where it belongs.
func (q *Queue) accept(m queue.Message) error {
	if q.shelf.used >= q.cfg.Capacity {
		return q.full
	}
	i := q.shelf.store(m.Body, m.Group)
	if m.Delay > 0 {
		q.postpone(i, delayed, q.now()+m.Delay)
	} else {
		q.show(i)
	}
	return nil
}
