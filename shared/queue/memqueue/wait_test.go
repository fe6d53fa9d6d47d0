package memqueue_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"triad/shared/queue"
	"triad/shared/queue/memqueue"
)

func TestSoonerMessageWakesSooner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := memqueue.New(memqueue.Config{})
		began := time.Now()
		send(t, q, queue.Message{Body: []byte("second"), Delay: 10 * time.Second})
		came := make(chan time.Duration, 2)
		for range 2 {
			go func() {
				receive(t, q, 1, time.Minute)
				came <- time.Since(began)
			}()
		}
		synctest.Wait() // they wait for the second
		send(t, q, queue.Message{Body: []byte("first"), Delay: time.Second})
		equal(t, "first came", <-came, time.Second)
		equal(t, "second came", <-came, 10*time.Second)
	})
}

func TestNewcomerDoesNotGetAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		q := memqueue.New(memqueue.Config{Clock: func() time.Time { return now }})
		send(t, q, queue.Message{Body: []byte("x"), Delay: time.Second})
		got := make(chan string)
		go func() { got <- bodies(receive(t, q, 1, time.Minute)) }()
		synctest.Wait()
		now = now.Add(time.Second) // due, but no alarm has rung yet
		equal(t, "newcomer", bodies(receive(t, q, 1, 0)), "")
		equal(t, "who waited", <-got, "x")
	})
}

// TestNothingIsLostToAReceiveThatEnds ends a receive and sends at the same time,
// often enough to meet all orders of events.
func TestNothingIsLostToAReceiveThatEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := memqueue.New(memqueue.Config{})
		for range 500 {
			ctx, cancel := context.WithCancel(t.Context())
			type result struct {
				ds  []queue.Delivery
				err error
			}
			results := make(chan result, 1)
			go func() {
				ds, err := q.Receive(ctx, 1, time.Minute)
				results <- result{ds, err}
			}()
			synctest.Wait()
			cancel()
			send(t, q, texts("x")...)
			r := <-results
			if (len(r.ds) == 1) == (r.err != nil) {
				t.Fatalf("received %d messages and the error %v", len(r.ds), r.err)
			}
			ds := append(r.ds, receive(t, q, 1, 0)...)
			equal(t, "received", bodies(ds), "x")
			if err := q.Delete(t.Context(), ds[0].Receipt); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			equal(t, "received then", bodies(receive(t, q, 1, time.Second)), "")
			equal(t, "waited", time.Since(began), time.Second)
		}
	})
}
