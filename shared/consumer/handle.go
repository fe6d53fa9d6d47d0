package consumer

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"triad/shared/queue"
)

// settleTime bounds deleting and releasing once the handlers' context ended.
const settleTime = time.Second

// handleChain handles the messages of a chain in order and frees its slot. When
// Run is to end or was paused, those not yet begun are released.
func (r *run) handleChain(chain []queue.Delivery) {
	for i, d := range chain {
		if i > 0 && r.holdsBack() {
			r.handBack(chain[i:])
			break
		}
		r.handle(d)
	}
	r.slots.release(1)
}

// handle handles a message. If the process dies before the delete, the message
// comes again after the visibility timeout.
func (r *run) handle(d queue.Delivery) {
	r.inFlight.Add(1)
	defer r.inFlight.Add(-1)
	if err := r.call(d); err != nil {
		r.failed.Add(1)
		r.retry(d, err)
		return
	}
	r.handled.Add(1)
	ctx, cancel := r.settling()
	defer cancel()
	if err := r.cfg.Queue.Delete(ctx, d.Receipt); err != nil && !errors.Is(err, queue.ErrClosed) {
		r.cfg.Logger.Warn("handled message not deleted: it will come again", "error", err)
	}
}

// call calls the handler; a panic is an error.
func (r *run) call(d queue.Delivery) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.panicked.Add(1)
			r.cfg.Logger.Error("handler panicked", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("handler panicked: %v", p)
		}
	}()
	return r.cfg.Handle(r.handling, d)
}

// retry releases a message that failed: after a backoff, or at once when it
// failed because the process ends.
func (r *run) retry(d queue.Delivery, cause error) {
	if r.handling.Err() != nil {
		r.handBack([]queue.Delivery{d})
		return
	}
	wait := r.backoff(d.Receives)
	r.cfg.Logger.Warn("message not handled", "error", cause, "receives", d.Receives, "retryIn", wait)
	r.release(d, wait)
}

// handBack releases messages that were received and not handled.
func (r *run) handBack(ds []queue.Delivery) {
	for _, d := range ds {
		r.release(d, 0)
	}
}

func (r *run) release(d queue.Delivery, wait time.Duration) {
	ctx, cancel := r.settling()
	defer cancel()
	if err := r.cfg.Queue.Release(ctx, d.Receipt, wait); err != nil && !errors.Is(err, queue.ErrClosed) {
		r.cfg.Logger.Warn("message not released: it comes again after its visibility timeout", "error", err)
	}
}

// settling is the context to delete and release with: the handlers', or one
// that goes on for a moment when that has ended.
func (r *run) settling() (context.Context, context.CancelFunc) {
	if r.handling.Err() == nil {
		return r.handling, func() {}
	}
	return context.WithTimeout(context.WithoutCancel(r.handling), settleTime)
}
