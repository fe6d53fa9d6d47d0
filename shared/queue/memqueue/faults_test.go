package memqueue_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"triad/shared/queue"
	"triad/shared/queue/memqueue"
)

var errFault = errors.New("connection reset")

func only(op memqueue.Op) func(memqueue.Op) error {
	return func(is memqueue.Op) error {
		if is == op {
			return errFault
		}
		return nil
	}
}

// TestFailedOperations tells those without effect from those whose response
// was lost.
func TestFailedOperations(t *testing.T) {
	t.Parallel()
	cases := []struct {
		op            memqueue.Op
		refused, lost queue.Depth // afterwards; before, one is visible, one in flight
	}{
		{memqueue.OpSend, queue.Depth{Visible: 1, InFlight: 1}, queue.Depth{Visible: 2, InFlight: 1}},
		{memqueue.OpReceive, queue.Depth{Visible: 1, InFlight: 1}, queue.Depth{InFlight: 2}},
		{memqueue.OpDelete, queue.Depth{Visible: 1, InFlight: 1}, queue.Depth{Visible: 1}},
		{memqueue.OpRelease, queue.Depth{Visible: 1, InFlight: 1}, queue.Depth{Visible: 2}},
	}
	for _, c := range cases {
		for _, lost := range []bool{false, true} {
			faults := &memqueue.Faults{}
			q := memqueue.New(memqueue.Config{Faults: faults})
			send(t, q, texts("a", "b")...)
			d := receive(t, q, 1, 0)[0]
			name, want := "refused "+string(c.op), c.refused
			if lost {
				name, want = "lost "+string(c.op), c.lost
				faults.Lose = only(c.op)
			} else {
				faults.Refuse = only(c.op)
			}
			if err := try(t, q, c.op, d.Receipt); !errors.Is(err, errFault) {
				t.Errorf("%s: %v, want %v", name, err, errFault)
			}
			equal(t, name, depth(t, q), want)
		}
	}
}

func try(t *testing.T, q *memqueue.Queue, op memqueue.Op, receipt string) error {
	t.Helper()
	switch op {
	case memqueue.OpSend:
		return q.Send(t.Context(), texts("c")...)
	case memqueue.OpReceive:
		_, err := q.Receive(t.Context(), 1, 0)
		return err
	case memqueue.OpDelete:
		return q.Delete(t.Context(), receipt)
	}
	return q.Release(t.Context(), receipt, 0)
}

func TestFaultyDelivery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		when := map[string][]time.Duration{
			"lost": {}, "normal": {0}, "twice": {0, 0}, "late": {time.Minute}, "again": {0, time.Hour},
		}
		q := memqueue.New(memqueue.Config{Faults: &memqueue.Faults{
			Deliver: func(m queue.Message) []time.Duration { return when[string(m.Body)] },
		}})
		send(t, q, texts("lost", "normal", "twice", "late", "again")...)
		for _, want := range []string{"normal twice twice again", "late", "again"} {
			ds := receive(t, q, 10, 2*time.Hour)
			equal(t, "received", bodies(ds), want)
			for _, d := range ds {
				if err := q.Delete(t.Context(), d.Receipt); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func TestFaultyMessagesAndOrder(t *testing.T) {
	t.Parallel()
	q := memqueue.New(memqueue.Config{Faults: &memqueue.Faults{
		Reject: func(m queue.Message) error {
			if string(m.Body) == "b" {
				return errFault
			}
			return nil
		},
		Pick: func(n int) int { return n - 1 },
	}})
	err := q.Send(t.Context(), texts("a", "b", "c", "d")...)
	var partial *queue.PartialError
	if !errors.As(err, &partial) || !errors.Is(partial.Failed[1], errFault) || len(partial.Failed) != 1 {
		t.Errorf("sending: %v, want a PartialError for message 1", err)
	}
	equal(t, "received", bodies(receive(t, q, 10, 0)), "d c a")
}

func TestDeliveryThatExpiresAtOnceComesTwice(t *testing.T) {
	t.Parallel()
	q := memqueue.New(memqueue.Config{Faults: &memqueue.Faults{
		Visibility: func(d queue.Delivery) time.Duration {
			if d.Receives == 1 {
				return 0
			}
			return time.Minute
		},
	}})
	send(t, q, texts("x")...)
	first, second := receive(t, q, 1, 0), receive(t, q, 1, 0)
	equal(t, "received", bodies(first)+" "+bodies(second), "x x")
	if err := q.Delete(t.Context(), first[0].Receipt); err != nil {
		t.Fatal(err)
	}
	equal(t, "depth", depth(t, q), queue.Depth{InFlight: 1})
}
