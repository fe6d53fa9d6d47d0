package consumer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"triad/shared/consumer"
	"triad/shared/queue"
	"triad/shared/queue/memqueue"
)

func TestPausedConsumerHandlesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, options{config: consumer.Config{Receivers: 2}})
		r.Pause()
		r.Pause()
		r.send("a", "b", "c")
		synctest.Wait()
		equal(t, "depth", r.depth(), queue.Depth{Visible: 3})
		r.Resume()
		r.Resume()
		synctest.Wait()
		equal(t, "stats", r.Stats(), consumer.Stats{Handled: 3})
		r.Pause()
		r.endWell()
	})
}

func TestEndWaitsForHandlers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, options{
			config: consumer.Config{Key: func([]byte) string { return "one" }},
			hold:   []string{"a"},
			send:   []string{"a", "b"},
		})
		r.stop()
		r.send("late")
		<-time.After(4 * time.Second)
		select {
		case err := <-r.ended:
			t.Fatalf("Run returned while a handler ran: %v", err)
		default:
		}
		r.letGo("a")
		r.endWell()
		equal(t, "log", r.lines(), "begin a, end a")
		equal(t, "depth: b was released, late not received", r.depth(), queue.Depth{Visible: 2})
		r.run()
		equal(t, "log of the next run", r.lines(), "begin b, begin late, end b, end late")
		r.endWell()
	})
}

func TestEndOfGraceCancelsHandlers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, options{config: consumer.Config{Grace: 3 * time.Second}, hold: []string{"a"}, send: []string{"a"}})
		began := time.Now()
		r.endWell()
		equal(t, "time to end", time.Since(began), 3*time.Second)
		equal(t, "log", r.lines(), "begin a, cancelled a")
		equal(t, "depth: released at once", r.depth(), queue.Depth{Visible: 1})
	})
}

func TestHandlerThatIgnoresItsContextIsLeftBehind(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hang := make(chan struct{})
		r := start(t, options{send: []string{"a"}, config: consumer.Config{
			Grace:  3 * time.Second,
			Handle: func(context.Context, queue.Delivery) error { <-hang; return nil },
		}})
		began := time.Now()
		if err := r.end(); err == nil {
			t.Error("Run returned no error")
		}
		equal(t, "time to end", time.Since(began), 6*time.Second)
		close(hang)
		synctest.Wait()
		equal(t, "depth: deleted all the same", r.depth(), queue.Depth{})
	})
}

func TestClosedQueueEndsRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, options{hold: []string{"a"}, send: []string{"a"}})
		r.queue.Close()
		r.letGo("a")
		if err := <-r.ended; !errors.Is(err, queue.ErrClosed) {
			t.Errorf("Run returned %v, want %v", err, queue.ErrClosed)
		}
		r.stop()
	})
}

func TestOnlyOneRunAtATime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := start(t, options{})
		if err := r.Run(t.Context()); err == nil {
			t.Error("a second Run returned no error")
		}
		r.endWell()
	})
}

// TestFailingQueueIsWaitedOut has one operation fail for a while: refused, or
// with its effect and the response lost.
func TestFailingQueueIsWaitedOut(t *testing.T) {
	cases := map[string]struct {
		op            memqueue.Op
		fails         int // handler calls that fail
		refused, lost int64
	}{
		"receive":                                {op: memqueue.OpReceive, refused: 1, lost: 1},
		"delete: handled again unless it worked": {op: memqueue.OpDelete, refused: 2, lost: 1},
		"release: comes again by its timeout":    {op: memqueue.OpRelease, fails: 1, refused: 1, lost: 1},
	}
	for name, c := range cases {
		t.Run("refused "+name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				equal(t, "handled", handledDespite(t, &memqueue.Faults{Refuse: outage(c.op)}, c.fails), c.refused)
			})
		})
		t.Run("lost "+name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				equal(t, "handled", handledDespite(t, &memqueue.Faults{Lose: outage(c.op)}, c.fails), c.lost)
			})
		})
	}
}

func outage(of memqueue.Op) func(memqueue.Op) error {
	began := time.Now()
	return func(op memqueue.Op) error {
		if op == of && time.Since(began) < 20*time.Second {
			return errors.New("connection refused")
		}
		return nil
	}
}

func handledDespite(t *testing.T, faults *memqueue.Faults, fails int) int64 {
	r := start(t, options{
		queue: memqueue.Config{Faults: faults, MaxReceives: 20},
		fail:  map[string]int{"a": fails},
		send:  []string{"a"},
	})
	<-time.After(5 * time.Minute)
	equal(t, "depth", r.depth(), queue.Depth{})
	r.endWell()
	return r.Stats().Handled
}
