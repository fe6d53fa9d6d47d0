package consumer_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"triad/shared/consumer"
	"triad/shared/queue"
	"triad/shared/queue/memqueue"
)

// BenchmarkConsumer is the whole way of a message: sent, received, handled by a
// handler that does nothing, deleted.
func BenchmarkConsumer(b *testing.B) {
	body := bytes.Repeat([]byte("x"), 300)
	b.Run("throughput", func(b *testing.B) {
		q := memqueue.New(memqueue.Config{})
		var handled atomic.Int64
		done := make(chan struct{})
		stop := consume(b, q, func(context.Context, queue.Delivery) error {
			if handled.Add(1) == int64(b.N) {
				close(done)
			}
			return nil
		})
		b.ReportAllocs()
		for range b.N {
			for errors.Is(q.Send(b.Context(), queue.Message{Body: body}), queue.ErrFull) {
				waitForRoom(b, q)
			}
		}
		<-done
		b.StopTimer()
		stop()
	})
	b.Run("latency", func(b *testing.B) {
		q := memqueue.New(memqueue.Config{})
		handled := make(chan struct{})
		stop := consume(b, q, func(context.Context, queue.Delivery) error {
			handled <- struct{}{}
			return nil
		})
		b.ReportAllocs()
		for range b.N {
			if err := q.Send(b.Context(), queue.Message{Body: body}); err != nil {
				b.Fatal(err)
			}
			<-handled
		}
		b.StopTimer()
		stop()
	})
	b.Run("chain", func(b *testing.B) { // each message is sent by the handler of the one before
		q := memqueue.New(memqueue.Config{})
		done := make(chan struct{})
		n := 0
		stop := consume(b, q, func(ctx context.Context, d queue.Delivery) error {
			if n++; n == b.N {
				close(done)
				return nil
			}
			return q.Send(ctx, queue.Message{Body: d.Body})
		})
		b.ReportAllocs()
		if err := q.Send(b.Context(), queue.Message{Body: body}); err != nil {
			b.Fatal(err)
		}
		<-done
		b.StopTimer()
		stop()
	})
}

func consume(b *testing.B, q queue.Queue, handle func(context.Context, queue.Delivery) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- consumer.New(consumer.Config{Queue: q, Handle: handle}).Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}
}

func waitForRoom(b *testing.B, q queue.Queue) {
	for {
		d, err := q.Depth(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if d.Total() < 2048 {
			return
		}
		runtime.Gosched()
	}
}
