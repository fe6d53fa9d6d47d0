package sqsqueue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"triad/shared/queue"
)

// Batcher lets Sends that come at the same time share calls, since SQS bills
// calls: while one call is under way, what comes meanwhile waits, and goes
// together in the next. A Send that finds no call under way is not delayed.
//
// It exists because an engine sends for each task by itself, while a function
// works on ten messages at once. Send returns once its own messages have been
// told of, so nothing is left behind when all callers have returned. It is safe
// for concurrent use.
type Batcher struct {
	// To is the queue. Required.
	To interface {
		Send(ctx context.Context, msgs ...queue.Message) error
	}
	// Timeout bounds one shared call, retries included. Defaults to 10 s.
	Timeout time.Duration

	mu      sync.Mutex
	waiting []*share
	busy    bool
}

// share is what one Send has in a shared call.
type share struct {
	msgs []queue.Message
	done chan error // has room for the answer
}

// Send sends the messages, maybe together with those of others. Errors are those
// of the queue for these messages alone. An error that wraps ctx.Err() leaves
// open whether they were sent.
func (b *Batcher) Send(ctx context.Context, msgs ...queue.Message) error {
	s := &share{msgs: msgs, done: make(chan error, 1)}
	b.mu.Lock()
	b.waiting = append(b.waiting, s)
	if !b.busy {
		b.busy = true
		go b.work(context.WithoutCancel(ctx))
	}
	b.mu.Unlock()
	select {
	case err := <-s.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("sending together with others: %w", ctx.Err())
	}
}

// Waiting returns how many Sends wait for the call that is under way.
func (b *Batcher) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

// work makes calls until nobody waits.
func (b *Batcher) work(ctx context.Context) {
	for {
		b.mu.Lock()
		shares := b.waiting
		b.waiting = nil
		b.busy = len(shares) > 0
		b.mu.Unlock()
		if len(shares) == 0 {
			return
		}
		b.call(ctx, shares)
	}
}

func (b *Batcher) call(ctx context.Context, shares []*share) {
	timeout := b.Timeout
	if timeout == 0 {
		timeout = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var all []queue.Message
	for _, s := range shares {
		all = append(all, s.msgs...)
	}
	err := b.To.Send(ctx, all...)
	var partial *queue.PartialError
	if !errors.As(err, &partial) {
		for _, s := range shares {
			s.done <- err
		}
		return
	}
	first := 0
	for _, s := range shares {
		s.done <- partOf(partial, first, len(s.msgs))
		first += len(s.msgs)
	}
}

// partOf is what an error says of n messages from the first on, by their own
// numbers; nil when it says nothing of them.
func partOf(e *queue.PartialError, first, n int) error {
	part := &queue.PartialError{Failed: map[int]error{}}
	for i, err := range e.Failed {
		if i >= first && i < first+n {
			part.Failed[i-first] = err
		}
	}
	if len(part.Failed) == 0 {
		return nil
	}
	return part
}
