// Package scheduler is the Scheduler of the pattern: it takes wake-ups, replies
// and heartbeats off its queue, one call per message, and moves tasks on: claims
// steps and sends their requests to agents.
//
// Any number of Schedulers may run at once, on the same tasks. A message may
// come twice, late, or out of order: what it brings is checked against the
// record, and changes nothing when it does not fit.
package scheduler

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

// Rejecter captures messages that can't be processed, with their bytes and the
// reason. It returns once that is durable.
type Rejecter interface {
	Reject(ctx context.Context, r store.Rejected) error
}

// Scheduler handles the messages of the scheduler queue. It is safe for
// concurrent use.
type Scheduler struct {
	engine   *engine.Engine
	rejected Rejecter
}

// New returns a Scheduler.
func New(e *engine.Engine, rejected Rejecter) *Scheduler {
	return &Scheduler{engine: e, rejected: rejected}
}

// Handle processes one message. Nil means that it is done with and can be
// deleted: applied, repeated, stale, or captured as rejected. An error means
// that the message must come again.
func (s *Scheduler) Handle(ctx context.Context, d queue.Delivery) error {
	m, err := queue.DecodeToScheduler(d.Body)
	if err != nil {
		return s.reject(ctx, d, err)
	}
	_, err = s.engine.Act(ctx, m.Task(), event(m, d.Receives > 1))
	if errors.Is(err, store.ErrNotFound) {
		return s.reject(ctx, d, err)
	}
	return err
}

// Key returns the ordering key of a message of the scheduler queue: the id of
// the task that it is about, "" when it can't be read. Handling one task's
// messages one after the other is not needed for their effect: it saves the
// writes that would be lost to each other, and reloading.
func Key(body []byte) string {
	m, err := queue.DecodeToScheduler(body)
	if err != nil {
		return ""
	}
	return string(m.Task())
}

func (s *Scheduler) reject(ctx context.Context, d queue.Delivery, reason error) error {
	err := s.rejected.Reject(ctx, store.Rejected{
		Queue: queue.Scheduler, Body: d.Body, Reason: reason.Error(), At: task.At(s.engine.Clock()),
	})
	if err != nil {
		return fmt.Errorf("capturing a rejected message: %w", err)
	}
	return nil
}

func event(m queue.ToScheduler, again bool) task.Event {
	switch {
	case m.Reply != nil:
		r := m.Reply
		return task.Event{
			Kind: task.Replied, Redelivery: again,
			Step: r.Step, Undo: r.Undo, Attempt: r.Attempt, LockedBy: r.LockedBy,
			Outcome: r.Outcome, Output: r.Output, Error: r.Error, Doubt: r.Doubt,
			RetryAfter: time.Duration(r.RetryAfterMs) * time.Millisecond,
		}
	case m.Extend != nil:
		x := m.Extend
		return task.Event{
			Kind: task.Extended, Step: x.Step, Undo: x.Undo,
			Attempt: x.Attempt, LockedBy: x.LockedBy, CompleteBy: x.CompleteBy,
		}
	case m.Wake.Redeliver:
		return task.Event{Kind: task.Redelivered, Redelivery: again}
	default:
		return task.Event{Kind: task.Woken, Redelivery: again}
	}
}
