package queuetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/queue"
)

func limitsReceive(s *subject) {
	s.send("0", "1", "2", "3", "4", "5")
	seen := make(map[string]bool)
	for len(seen) < 6 {
		for _, d := range s.receive(1) {
			seen[string(d.Body)] = true
		}
		for _, d := range s.poll(2, 0) { // poll checks the limit
			seen[string(d.Body)] = true
		}
	}
}

func waitsInVain(s *subject) {
	const wait = 2 * time.Second
	began := time.Now()
	s.nothing(wait)
	s.notBefore(began, wait)
}

func wakesOnSend(s *subject) {
	const wait = 15 * time.Second
	type result struct {
		ds   []queue.Delivery
		err  error
		took time.Duration
	}
	results := make(chan result, 1)
	go func() {
		began := time.Now()
		ds, err := s.Queue.Receive(s.ctx, 10, wait)
		results <- result{ds, err, time.Since(began)}
	}()
	<-time.After(time.Second) // it waits by now; if not, it finds the message
	s.send("awaited")
	r := <-results
	if r.err != nil || len(r.ds) != 1 || string(r.ds[0].Body) != "awaited" {
		s.Fatalf("received %v, %v, want the message that was sent", r.ds, r.err)
	}
	if r.took > wait/2 {
		s.Fatalf("received after %v, want at once", r.took)
	}
}

func endsWithContext(s *subject) {
	ctx, cancel := context.WithCancel(s.ctx)
	errs := make(chan error, 1)
	began := time.Now()
	go func() {
		_, err := s.Queue.Receive(ctx, 1, 20*time.Second)
		errs <- err
	}()
	<-time.After(time.Second)
	cancel()
	if err := <-errs; !errors.Is(err, context.Canceled) {
		s.Fatalf("receiving: %v, want %v", err, context.Canceled)
	}
	if took := time.Since(began); took > 10*time.Second {
		s.Fatalf("the receive ended after %v, want with its context", took)
	}
	// What is sent afterwards is not swallowed by the receive that ended.
	s.send("next")
	s.delete(s.one())
}

func delays(s *subject) {
	const delay = 3 * time.Second
	began := time.Now()
	err := s.Queue.Send(s.ctx,
		queue.Message{Body: []byte("later"), Delay: delay}, queue.Message{Body: []byte("now")})
	if err != nil {
		s.Fatalf("sending: %v", err)
	}
	for _, want := range []string{"now", "later"} {
		d := s.one()
		if got := string(d.Body); got != want {
			s.Fatalf("received %q, want %q", got, want)
		}
		s.delete(d)
	}
	s.notBefore(began, delay)
}

func comesBack(s *subject) {
	s.send("x")
	began := time.Now()
	first := s.one()
	second := s.one()
	s.notBefore(began, s.Visibility)
	want := queue.Delivery{Body: []byte("x"), Receives: 2, Receipt: second.Receipt}
	if diff := cmp.Diff(want, second); diff != "" {
		s.Fatalf("second delivery (-want +got):\n%s", diff)
	}
	if first.Receipt == second.Receipt {
		s.Fatalf("both deliveries have the receipt %q", first.Receipt)
	}
	s.delete(second)
	s.nothing(s.Visibility + 2*time.Second)
}

func releasesNow(s *subject) {
	s.send("x")
	s.release(s.one(), 0)
	d := s.one()
	if d.Receives != 2 {
		s.Fatalf("receives is %d, want 2", d.Receives)
	}
	s.delete(d)
}

func releasesLater(s *subject) {
	s.send("x")
	d := s.one()
	began := time.Now()
	later := 2*s.Visibility + 2*time.Second
	s.release(d, later)
	d = s.one()
	s.notBefore(began, later)
	if d.Receives != 2 {
		s.Fatalf("receives is %d, want 2", d.Receives)
	}
	s.delete(d)
}

func releaseHoldsOnce(s *subject) {
	s.send("x")
	s.release(s.one(), 0)
	began := time.Now()
	s.one()
	s.release(s.one(), 0)
	s.notBefore(began, s.Visibility)
}

func deletesStale(s *subject) {
	s.send("x")
	stale := s.one()
	live := s.one()
	s.delete(stale)
	if !s.StaleDeletes {
		s.release(live, 0)
		live = s.one()
	}
	s.delete(live)
	s.nothing(s.Visibility + 2*time.Second)
}

func deletesAgain(s *subject) {
	s.send("0", "1", "2")
	ds := s.receive(3)
	s.delete(ds[1])
	s.delete(ds...)
	s.delete()
	s.nothing(s.Visibility + 2*time.Second)
}

// shares has several producers and consumers at work: every message is handled,
// and exactly once because no delivery expires.
func shares(s *subject) {
	const producers, consumers, each, batch = 4, 4, 48, 6
	ctx, cancel := context.WithTimeout(s.ctx, s.patience())
	defer cancel()
	handled := make(map[string]int)
	var mu sync.Mutex
	var all sync.WaitGroup
	for p := range producers {
		all.Go(func() { s.produce(ctx, p, each, batch) })
	}
	for range consumers {
		all.Go(func() {
			s.consume(ctx, func(body string) {
				mu.Lock()
				defer mu.Unlock()
				if handled[body]++; len(handled) == producers*each {
					cancel()
				}
			})
		})
	}
	all.Wait()
	if len(handled) != producers*each {
		s.Errorf("%d of %d messages were handled", len(handled), producers*each)
	}
	for body, n := range handled {
		if n != 1 && !s.MayRepeat {
			s.Errorf("message %s was handled %d times", body, n)
		}
	}
	if !s.MayRepeat {
		s.nothing(s.Visibility + 2*time.Second)
	}
}

// produce sends batches, again when the queue is full.
func (s *subject) produce(ctx context.Context, producer, each, batch int) {
	for first := 0; first < each; first += batch {
		var msgs []queue.Message
		for i := range batch {
			msgs = append(msgs, queue.Message{Body: fmt.Appendf(nil, "%d/%d", producer, first+i)})
		}
		for len(msgs) > 0 && ctx.Err() == nil {
			msgs = s.unsent(msgs, s.Queue.Send(ctx, msgs...))
		}
	}
}

// unsent returns the messages to send again.
func (s *subject) unsent(msgs []queue.Message, err error) []queue.Message {
	var partial *queue.PartialError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &partial):
		var rest []queue.Message
		for _, i := range indexes(partial) {
			rest = append(rest, msgs[i])
		}
		msgs = rest
	case !errors.Is(err, queue.ErrFull):
		s.Errorf("sending: %v", err)
		return nil
	}
	<-time.After(50 * time.Millisecond)
	return msgs
}

func (s *subject) consume(ctx context.Context, handle func(body string)) {
	for ctx.Err() == nil {
		ds, err := s.Queue.Receive(ctx, 10, 2*time.Second)
		if err != nil && ctx.Err() == nil {
			s.Errorf("receiving: %v", err)
			return
		}
		for _, d := range ds {
			if err := s.Queue.Delete(s.ctx, d.Receipt); err != nil {
				s.Errorf("deleting: %v", err)
			}
			handle(string(d.Body))
		}
	}
}
