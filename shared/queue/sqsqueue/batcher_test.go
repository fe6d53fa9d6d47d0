package sqsqueue_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"triad/shared/queue"
	"triad/shared/queue/sqsqueue"
)

// slowQueue takes a second for a call and notes the bodies of each.
type slowQueue struct {
	mu     sync.Mutex
	calls  [][]string
	answer func(bodies []string) error
}

func (q *slowQueue) Send(ctx context.Context, msgs ...queue.Message) error {
	var bodies []string
	for _, m := range msgs {
		bodies = append(bodies, string(m.Body))
	}
	q.mu.Lock()
	q.calls = append(q.calls, bodies)
	q.mu.Unlock()
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return ctx.Err()
	}
	if q.answer == nil {
		return nil
	}
	return q.answer(bodies)
}

func body(i int) queue.Message { return queue.Message{Body: fmt.Append(nil, i)} }

func TestWhatComesDuringACallGoesTogetherInTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &slowQueue{}
		b := &sqsqueue.Batcher{To: to}
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				if err := b.Send(t.Context(), body(i)); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
			equal(t, "waiting", b.Waiting(), i) // all but the first, whose call is under way
		}
		all.Wait()
		equal(t, "waiting at last", b.Waiting(), 0)
		equal(t, "calls", to.calls, [][]string{{"0"}, {"1", "2", "3", "4", "5", "6", "7", "8", "9"}})
		if err := b.Send(t.Context(), body(10)); err != nil {
			t.Error(err)
		}
		equal(t, "the call after a pause", to.calls[2:], [][]string{{"10"}})
	})
}

func TestEachHearsOfItsOwnMessagesOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		refused := errors.New("refused")
		to := &slowQueue{answer: func(bodies []string) error {
			failed := map[int]error{}
			for i, b := range bodies {
				if b == "3" {
					failed[i] = refused
				}
			}
			if len(failed) == 0 {
				return nil
			}
			return &queue.PartialError{Failed: failed}
		}}
		b := &sqsqueue.Batcher{To: to}
		got := make([]error, 3)
		var all sync.WaitGroup
		for i, msgs := range [][]queue.Message{{body(0)}, {body(1), body(2)}, {body(4), body(3)}} {
			all.Go(func() { got[i] = b.Send(t.Context(), msgs...) })
			synctest.Wait()
		}
		all.Wait()
		if got[0] != nil || got[1] != nil {
			t.Errorf("got %v and %v for messages that were sent", got[0], got[1])
		}
		var partial *queue.PartialError
		if !errors.As(got[2], &partial) || len(partial.Failed) != 1 || !errors.Is(partial.Failed[1], refused) {
			t.Errorf("got %v, want the second message refused", got[2])
		}
	})
}

func TestAFailedCallIsToldToAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &sqsqueue.Batcher{To: &slowQueue{answer: func([]string) error { return errReset }}}
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() {
				if err := b.Send(t.Context(), body(i)); !errors.Is(err, errReset) {
					t.Errorf("got %v, want the queue's error", err)
				}
			})
			synctest.Wait()
		}
		all.Wait()
	})
}

func TestWhoGivesUpLeavesTheCallToTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		to := &slowQueue{}
		b := &sqsqueue.Batcher{To: to}
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			if err := b.Send(short, body(0)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want that its context has ended", err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if err := b.Send(t.Context(), body(1)); err != nil {
				t.Error(err)
			}
		})
		all.Wait()
		equal(t, "calls", to.calls, [][]string{{"0"}, {"1"}})
	})
}

func TestACallThatHangsEndsByTheTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &sqsqueue.Batcher{To: &slowQueue{}, Timeout: 100 * time.Millisecond}
		if err := b.Send(t.Context(), body(0)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want that the call timed out", err)
		}
	})
}
