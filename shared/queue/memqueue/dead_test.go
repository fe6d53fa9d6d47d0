package memqueue_test

import (
	"errors"
	"testing"

	"triad/shared/queue"
	"triad/shared/queue/memqueue"
)

// bury makes dead letters of the bodies, one after the other, in a queue whose
// MaxReceives is 1.
func bury(t *testing.T, q *memqueue.Queue, bodies ...string) {
	t.Helper()
	for _, b := range bodies {
		send(t, q, texts(b)...)
		for _, d := range receive(t, q, 1, 0) {
			if err := q.Release(t.Context(), d.Receipt, 0); err != nil {
				t.Fatal(err)
			}
		}
		if ds := receive(t, q, 1, 0); len(ds) > 0 {
			t.Fatalf("%s was received again", b)
		}
	}
}

func TestDeadLettersAreListedAndTold(t *testing.T) {
	t.Parallel()
	var told []queue.Delivery
	var q *memqueue.Queue
	q = memqueue.New(memqueue.Config{MaxReceives: 1, DeadLetter: func(d queue.Delivery) {
		told = append(told, d)
		if len(q.DeadLetters()) != len(told) { // it may use the queue
			t.Errorf("%d dead letters are listed, %d were told", len(q.DeadLetters()), len(told))
		}
	}})
	bury(t, q, "a", "b")
	want := []queue.Delivery{{Body: []byte("a"), Receives: 1}, {Body: []byte("b"), Receives: 1}}
	equal(t, "told", told, want)
	equal(t, "listed", q.DeadLetters(), want)
}

func TestOldestDeadLettersAreDropped(t *testing.T) {
	t.Parallel()
	q := memqueue.New(memqueue.Config{MaxReceives: 1, DeadCapacity: 2})
	bury(t, q, "a", "b", "c", "d")
	equal(t, "listed", bodies(q.DeadLetters()), "c d")
}

func TestRedriveStopsWhenTheQueueIsFull(t *testing.T) {
	t.Parallel()
	q := memqueue.New(memqueue.Config{MaxReceives: 1, Capacity: 3})
	bury(t, q, "a", "b", "c")
	send(t, q, texts("x")...)
	n, err := q.Redrive(t.Context())
	if n != 2 || !errors.Is(err, queue.ErrFull) {
		t.Errorf("redriven %d, %v; want 2, %v", n, err, queue.ErrFull)
	}
	equal(t, "left", bodies(q.DeadLetters()), "c")
	ds := receive(t, q, 10, 0)
	equal(t, "received", bodies(ds), "x a b")
	if err := q.Delete(t.Context(), ds[0].Receipt); err != nil {
		t.Fatal(err)
	}
	if n, err := q.Redrive(t.Context()); n != 1 || err != nil {
		t.Errorf("redriven %d, %v; want 1", n, err)
	}
}

func TestDeadLettersDoNotTakeRoom(t *testing.T) {
	t.Parallel()
	q := memqueue.New(memqueue.Config{MaxReceives: 1, Capacity: 1})
	bury(t, q, "a", "b")
	send(t, q, texts("x")...)
	equal(t, "depth", depth(t, q), queue.Depth{Visible: 1})
}

func TestRedrivenMessagesKeepTheirGroup(t *testing.T) {
	t.Parallel()
	q := memqueue.New(memqueue.Config{MaxReceives: 1})
	for _, b := range []string{"a1", "a2", "b1"} {
		send(t, q, queue.Message{Body: []byte(b), Group: b[:1]})
		if err := q.Release(t.Context(), receive(t, q, 1, 0)[0].Receipt, 0); err != nil {
			t.Fatal(err)
		}
		equal(t, "received again", bodies(receive(t, q, 1, 0)), "")
	}
	if n, err := q.Redrive(t.Context()); n != 3 || err != nil {
		t.Fatalf("redriven %d, %v; want 3", n, err)
	}
	equal(t, "order", bodies(receive(t, q, 10, 0)), "a1 b1 a2")
}
