// Package queue is the contract of Triad's message transport, with the
// semantics of Amazon SQS standard queues, and the envelopes that travel on it.
//
// # Promises
//
// At least once: a message that Send accepted is received at least once, unless
// the queue itself is lost. Queues are hints; the table is the truth, so losing
// a queue costs time and nothing else.
//
// Visibility: a received message is invisible to other receivers until its
// visibility timeout has passed, is deleted, or is released. If the receiver
// dies, it comes back by itself.
//
// Counting: Delivery.Receives is how often the message has been received,
// including now. A message received more than the queue's MaxReceives is moved
// to the dead letters, where it can be listed and redriven.
//
// Delay: a message sent with a delay is not received before it has passed.
//
// # Not promised
//
// Order, and that a message comes only once: the same one may come twice at the
// same time. A receipt is valid for one delivery: after the visibility timeout
// Delete with it may fail to delete, and that is no error.
//
// All methods are safe for concurrent use.
package queue

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The sentinels. Callers act on these with errors.Is.
var (
	// ErrFull: the queue has no room now. Nothing was sent; the message's
	// intent is in the table and will be found there.
	ErrFull = errors.New("queue is full")
	// ErrTooLarge: the message can't be sent, on every try.
	ErrTooLarge = errors.New("message too large")
	// ErrClosed: the queue was closed.
	ErrClosed = errors.New("queue is closed")
)

// MaxBody is the largest message body, bytes.
const MaxBody = 256 << 10

// MaxDelay is the longest delay of a message. Longer waits are the index's job.
const MaxDelay = 15 * time.Minute

// Message is what is sent.
type Message struct {
	// Body is UTF-8 text (JSON), at most MaxBody bytes, never empty.
	Body []byte
	// Delay is 0 to MaxDelay.
	Delay time.Duration
	// Group is the tenant, for fairness between tenants; empty for none.
	Group string
}

// Delivery is a received message.
type Delivery struct {
	Body []byte
	// Receives is how often it has been received, this time included.
	Receives int
	// Receipt names this delivery to Delete and Release.
	Receipt string
}

// Queue is one queue. See the package comment for its promises.
type Queue interface {
	// Send sends all messages, in any order, or tells which it did not: the
	// error is then a *PartialError. Any other error means that none, some or
	// all may have been sent: sending again is always allowed.
	Send(ctx context.Context, msgs ...Message) error
	// Receive returns 1 to max messages, waiting up to wait for the first; it
	// returns none, and no error, when the wait is over. max is 1 to 10.
	Receive(ctx context.Context, max int, wait time.Duration) ([]Delivery, error)
	// Delete removes deliveries that were handled.
	Delete(ctx context.Context, receipts ...string) error
	// Release makes a delivery visible again after d (0: now; more than the
	// rest of the timeout: later). It counts from now and holds once.
	Release(ctx context.Context, receipt string, d time.Duration) error
	// Depth returns about how many messages there are: visible, delayed and
	// in flight.
	Depth(ctx context.Context) (Depth, error)
}

// Depth is about how many messages a queue holds.
type Depth struct{ Visible, Delayed, InFlight int }

// Total is all of them.
func (d Depth) Total() int { return d.Visible + d.Delayed + d.InFlight }

// PartialError says which messages of a Send were not sent, or may not have been
// (an answer was lost). The others were.
type PartialError struct {
	// Failed has the cause by index into the messages of the Send.
	Failed map[int]error
}

// Error names the number of failures and one cause.
func (e *PartialError) Error() string {
	for i, err := range e.Failed {
		return fmt.Sprintf("%d messages not sent, among them number %d: %v", len(e.Failed), i, err)
	}
	return "no message failed"
}

// Unwrap returns the causes.
func (e *PartialError) Unwrap() []error {
	errs := make([]error, 0, len(e.Failed))
	for _, err := range e.Failed {
		errs = append(errs, err)
	}
	return errs
}
