package memqueue_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/queue"
	"triad/shared/queue/memqueue"
)

func send(t *testing.T, q *memqueue.Queue, msgs ...queue.Message) {
	t.Helper()
	if err := q.Send(context.Background(), msgs...); err != nil {
		t.Fatalf("sending: %v", err)
	}
}

func texts(bodies ...string) []queue.Message {
	var msgs []queue.Message
	for _, b := range bodies {
		msgs = append(msgs, queue.Message{Body: []byte(b)})
	}
	return msgs
}

func receive(t *testing.T, q *memqueue.Queue, max int, wait time.Duration) []queue.Delivery {
	t.Helper()
	ds, err := q.Receive(context.Background(), max, wait)
	if err != nil {
		t.Fatalf("receiving: %v", err)
	}
	return ds
}

func bodies(ds []queue.Delivery) string {
	var bs []string
	for _, d := range ds {
		bs = append(bs, string(d.Body))
	}
	return strings.Join(bs, " ")
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestMessagesComeInTheOrderOfSend(t *testing.T) {
	t.Parallel()
	q := memqueue.New(memqueue.Config{})
	send(t, q, texts("a", "b")...)
	send(t, q, texts("c")...)
	equal(t, "first", bodies(receive(t, q, 2, 0)), "a b")
	send(t, q, texts("d")...)
	equal(t, "then", bodies(receive(t, q, 10, 0)), "c d")
}

func TestGroupsTakeTurns(t *testing.T) {
	t.Parallel()
	q := memqueue.New(memqueue.Config{})
	for _, m := range []struct{ group, bodies string }{
		{"big", "b1 b2 b3 b4 b5"}, {"", "p1 p2"}, {"small", "s1"},
	} {
		for b := range strings.FieldsSeq(m.bodies) {
			send(t, q, queue.Message{Body: []byte(b), Group: m.group})
		}
	}
	equal(t, "order", bodies(receive(t, q, 5, 0)), "b1 p1 s1 b2 p2")
	send(t, q, queue.Message{Body: []byte("s2"), Group: "small"})
	equal(t, "order", bodies(receive(t, q, 10, 0)), "b3 s2 b4 b5")
}

func TestDueMessagesComeExactlyThenAndInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := memqueue.New(memqueue.Config{Visibility: 10 * time.Second})
		began := time.Now()
		for _, seconds := range []int{5, 1, 30, 5, 2} {
			send(t, q, queue.Message{Body: fmt.Appendf(nil, "%ds", seconds), Delay: time.Duration(seconds) * time.Second})
		}
		var got []string
		for range 6 {
			ds := receive(t, q, 10, time.Minute)
			got = append(got, fmt.Sprintf("%v: %s", time.Since(began), bodies(ds)))
		}
		// Nothing is deleted, so they come back 10 s after each delivery.
		equal(t, "arrivals", got, []string{
			"1s: 1s", "2s: 2s", "5s: 5s 5s", "11s: 1s", "12s: 2s", "15s: 5s 5s"})
	})
}

func TestDeletingFromTheMiddleOfTheDelayed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := memqueue.New(memqueue.Config{})
		send(t, q, texts("0", "1", "2", "3", "4", "5", "6", "7")...)
		ds := receive(t, q, 10, 0)
		for i, d := range ds {
			seconds := time.Duration((i*5)%8 + 1) // 1 6 3 8 5 2 7 4
			if err := q.Release(t.Context(), d.Receipt, seconds*time.Second); err != nil {
				t.Fatal(err)
			}
		}
		for _, i := range []int{0, 4, 3} {
			if err := q.Delete(t.Context(), ds[i].Receipt); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		for range 5 {
			got = append(got, bodies(receive(t, q, 1, time.Minute)))
		}
		equal(t, "order", got, []string{"5", "2", "7", "1", "6"})
	})
}

func TestReceiptOutlivesTheTimeoutUntilTheNextDelivery(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := memqueue.New(memqueue.Config{Visibility: time.Second})
		send(t, q, texts("slow")...)
		ds := receive(t, q, 1, 0)
		<-time.After(2 * time.Second)
		equal(t, "depth", depth(t, q), queue.Depth{Visible: 1})
		if err := q.Delete(t.Context(), ds[0].Receipt); err != nil {
			t.Fatal(err)
		}
		equal(t, "depth after delete", depth(t, q), queue.Depth{})
	})
}

func TestForeignReceiptsAreIgnored(t *testing.T) {
	t.Parallel()
	q := memqueue.New(memqueue.Config{})
	send(t, q, texts("x")...)
	receive(t, q, 1, 0)
	receipts := []string{"", "x", strings.Repeat("z", 24), strings.Repeat("0", 24), strings.Repeat("f", 24), strings.Repeat("0", 8) + strings.Repeat("f", 16)}
	if err := q.Delete(t.Context(), receipts...); err != nil {
		t.Errorf("deleting: %v", err)
	}
	for _, r := range receipts {
		if err := q.Release(t.Context(), r, 0); err != nil {
			t.Errorf("releasing %q: %v", r, err)
		}
	}
	equal(t, "depth", depth(t, q), queue.Depth{InFlight: 1})
}

func TestWaitingReceiversAreServedInTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := memqueue.New(memqueue.Config{})
		var mu sync.Mutex
		var got []string
		for i := range 3 {
			go func() {
				for {
					ds, err := q.Receive(t.Context(), 1, time.Hour)
					if err != nil {
						return
					}
					mu.Lock()
					got = append(got, fmt.Sprintf("%s to %d", bodies(ds), i))
					mu.Unlock()
				}
			}()
			synctest.Wait()
		}
		for _, b := range []string{"a", "b", "c", "d"} {
			send(t, q, texts(b)...)
			synctest.Wait()
		}
		q.Close()
		equal(t, "turns", got, []string{"a to 0", "b to 1", "c to 2", "d to 0"})
	})
}

func TestBodiesAreTheQueuesOwn(t *testing.T) {
	t.Parallel()
	q := memqueue.New(memqueue.Config{})
	body := []byte("before")
	send(t, q, queue.Message{Body: body})
	copy(body, "after!")
	equal(t, "body", bodies(receive(t, q, 1, 0)), "before")
}

func TestRefusesWhatAServiceWouldRefuse(t *testing.T) {
	t.Parallel()
	q := memqueue.New(memqueue.Config{})
	for name, m := range map[string]queue.Message{
		"bytes that are no text": {Body: []byte{0xff, 0xfe}},
		"a negative delay":       {Body: []byte("x"), Delay: -1},
		"too long a delay":       {Body: []byte("x"), Delay: queue.MaxDelay + 1},
	} {
		if err := q.Send(t.Context(), m); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, max := range []int{-1, 0, 11} {
		if _, err := q.Receive(t.Context(), max, 0); err == nil {
			t.Errorf("receiving at most %d: no error", max)
		}
	}
	equal(t, "depth", depth(t, q), queue.Depth{})
}

func TestCloseEndsEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := memqueue.New(memqueue.Config{Visibility: time.Second})
		send(t, q, texts("in flight")...)
		held := receive(t, q, 1, 0)[0]
		send(t, q, queue.Message{Body: []byte("delayed"), Delay: time.Minute})
		errs := make(chan error)
		go func() {
			_, err := q.Receive(t.Context(), 1, time.Hour)
			errs <- err
		}()
		synctest.Wait()
		q.Close()
		q.Close()
		calls := map[string]error{
			"waiting receive": <-errs,
			"send":            q.Send(t.Context(), texts("x")...),
			"delete":          q.Delete(t.Context(), held.Receipt),
			"release":         q.Release(t.Context(), held.Receipt, 0),
		}
		_, calls["receive"] = q.Receive(t.Context(), 1, time.Hour)
		_, calls["depth"] = q.Depth(t.Context())
		_, calls["redrive"] = q.Redrive(t.Context())
		for call, err := range calls {
			if !errors.Is(err, queue.ErrClosed) {
				t.Errorf("%s: %v, want %v", call, err, queue.ErrClosed)
			}
		}
	})
}

func TestClockMovedByHand(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	q := memqueue.New(memqueue.Config{Visibility: time.Minute, Clock: func() time.Time { return now }})
	if due, ok := q.NextDue(); ok {
		t.Errorf("an empty queue has something due at %v", due)
	}
	send(t, q, texts("a")...)
	send(t, q, queue.Message{Body: []byte("b"), Delay: 2 * time.Minute})
	receive(t, q, 10, 0)
	for _, want := range []string{"a", "b"} {
		now, _ = q.NextDue()
		ds := receive(t, q, 1, 0)
		equal(t, fmt.Sprintf("due at %v", now), bodies(ds), want)
		if err := q.Delete(t.Context(), ds[0].Receipt); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "time passed", now.Format(time.TimeOnly), "00:02:00")
}

func depth(t *testing.T, q *memqueue.Queue) queue.Depth {
	t.Helper()
	d, err := q.Depth(context.Background())
	if err != nil {
		t.Fatalf("counting: %v", err)
	}
	return d
}
