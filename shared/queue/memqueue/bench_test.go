package memqueue_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"triad/shared/queue"
	"triad/shared/queue/memqueue"
)

// BenchmarkSendReceiveDelete is the way of one message through the queue, by one
// goroutine and by one for each processor.
func BenchmarkSendReceiveDelete(b *testing.B) {
	body := bytes.Repeat([]byte("x"), 300)
	pass := func(b *testing.B, q *memqueue.Queue) {
		ctx := context.Background()
		if err := q.Send(ctx, queue.Message{Body: body}); err != nil {
			b.Fatal(err)
		}
		ds, err := q.Receive(ctx, 1, time.Second)
		if err != nil || len(ds) != 1 {
			b.Fatalf("received %d, %v", len(ds), err)
		}
		if err := q.Delete(ctx, ds[0].Receipt); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("single", func(b *testing.B) {
		q := memqueue.New(memqueue.Config{})
		b.ReportAllocs()
		for b.Loop() {
			pass(b, q)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		q := memqueue.New(memqueue.Config{})
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				pass(b, q)
			}
		})
	})
}

// BenchmarkBatch is the same by tens; the figure is for ten messages.
func BenchmarkBatch(b *testing.B) {
	ctx := context.Background()
	q := memqueue.New(memqueue.Config{})
	msgs := make([]queue.Message, 10)
	for i := range msgs {
		msgs[i].Body = bytes.Repeat([]byte("x"), 300)
	}
	receipts := make([]string, 10)
	b.ReportAllocs()
	for b.Loop() {
		if err := q.Send(ctx, msgs...); err != nil {
			b.Fatal(err)
		}
		ds, err := q.Receive(ctx, 10, 0)
		if err != nil || len(ds) != 10 {
			b.Fatalf("received %d, %v", len(ds), err)
		}
		for i, d := range ds {
			receipts[i] = d.Receipt
		}
		if err := q.Delete(ctx, receipts...); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHandOver is a message to a receiver that waits, and one back.
func BenchmarkHandOver(b *testing.B) {
	ctx := b.Context()
	there, back := memqueue.New(memqueue.Config{}), memqueue.New(memqueue.Config{})
	relay := func(from, to *memqueue.Queue) bool {
		ds, err := from.Receive(ctx, 1, time.Minute)
		if err != nil || len(ds) != 1 {
			return false
		}
		return from.Delete(ctx, ds[0].Receipt) == nil && to.Send(ctx, queue.Message{Body: ds[0].Body}) == nil
	}
	go func() {
		for relay(there, back) {
		}
	}()
	if err := there.Send(ctx, queue.Message{Body: []byte("ball")}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if !relay(back, there) {
			b.Fatal("the ball is lost")
		}
	}
}
