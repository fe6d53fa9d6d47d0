package memqueue

import (
	"context"
	"time"

	"triad/shared/queue"
)

// Op names an operation to Faults.
type Op string

// The operations.
const (
	OpSend    Op = "send"
	OpReceive Op = "receive"
	OpDelete  Op = "delete"
	OpRelease Op = "release"
	OpDepth   Op = "depth"
	OpRedrive Op = "redrive"
)

// Faults make a queue misbehave in the ways that the contract allows, and (a
// message that never comes) in one that it does not. A nil function is a fault
// that does not happen.
//
// The functions are called by the goroutine that uses the queue, some of them
// with the queue locked: they must not use it, and must be safe for concurrent
// use if the queue is used so. Given the same calls they are asked the same
// questions in the same order.
type Faults struct {
	// Refuse says whether an operation fails without effect, and how.
	Refuse func(Op) error
	// Lose says whether the response of an operation is lost, and with what
	// error: it has its effect, and the caller is told that it failed.
	Lose func(Op) error
	// Reject says whether one message of a Send is refused; its error is part
	// of the Send's PartialError.
	Reject func(queue.Message) error
	// Deliver says how often a sent message comes, and how much later than
	// asked for each time: {0} is the normal case, {} loses the message, {0, 0}
	// doubles it, {0, time.Minute} brings it again a minute later.
	Deliver func(queue.Message) []time.Duration
	// Pick chooses which of n visible messages of a group is received next:
	// 0 to n-1, where 0 keeps the order.
	Pick func(n int) int
	// Visibility is how long a delivery stays invisible: less than the handler
	// needs, or 0, makes it come twice at the same time.
	Visibility func(queue.Delivery) time.Duration
}

// refused returns the error of an operation that must not be begun.
func (q *Queue) refused(ctx context.Context, op Op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if q.cfg.Faults.Refuse == nil {
		return nil
	}
	return q.cfg.Faults.Refuse(op)
}

func (q *Queue) lost(op Op) error {
	if q.cfg.Faults.Lose == nil {
		return nil
	}
	return q.cfg.Faults.Lose(op)
}
