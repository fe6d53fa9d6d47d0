package queuetest

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/queue"
)

func buries(s *subject) {
	s.exhaust("poison")
	s.send("healthy")
	d := s.one()
	if got := string(d.Body); got != "healthy" {
		s.Fatalf("received %q, want the message behind the dead letter", got)
	}
	s.delete(d)
	s.nothing(s.Visibility + 2*time.Second)
}

func redrives(s *subject) {
	s.exhaust("poison")
	s.Redrive(s.T)
	d := s.one()
	want := queue.Delivery{Body: []byte("poison"), Receives: 1, Receipt: d.Receipt}
	if diff := cmp.Diff(want, d); diff != "" {
		s.Fatalf("delivery (-want +got):\n%s", diff)
	}
	s.delete(d)
	s.deadLetters()
}

// exhaust makes a dead letter: it receives a message exactly as often as it can
// be received.
func (s *subject) exhaust(body string) {
	s.Helper()
	s.send(body)
	for n := 1; n <= s.MaxReceives; n++ {
		d := s.one()
		if d.Receives != n {
			s.Fatalf("receives is %d, want %d", d.Receives, n)
		}
		s.deadLetters()
		s.release(d, 0)
	}
	s.nothing(s.Visibility + 2*time.Second)
	s.deadLetters(body)
}

// deadLetters waits until the dead letters are the bodies given.
func (s *subject) deadLetters(want ...string) {
	s.Helper()
	s.eventually(func() string {
		var got []string
		for _, body := range s.DeadLetters(s.T) {
			got = append(got, string(body))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return "dead letters (-want +got):\n" + diff
		}
		return ""
	})
}

func countsDepth(s *subject) {
	s.depth(queue.Depth{})
	s.send("0", "1", "2")
	if err := s.Queue.Send(s.ctx, queue.Message{Body: []byte("later"), Delay: queue.MaxDelay}); err != nil {
		s.Fatalf("sending: %v", err)
	}
	s.depth(queue.Depth{Visible: 3, Delayed: 1})
	d := s.one()
	s.release(d, 10*time.Minute) // stays in flight, however long counting takes
	s.depth(queue.Depth{Visible: 2, Delayed: 1, InFlight: 1})
	s.delete(d)
	s.depth(queue.Depth{Visible: 2, Delayed: 1})
}

// depth waits until the depth is as given: a queue may count behind.
func (s *subject) depth(want queue.Depth) {
	s.Helper()
	s.eventually(func() string {
		got, err := s.Queue.Depth(s.ctx)
		if err != nil {
			return fmt.Sprintf("counting: %v", err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return "depth (-want +got):\n" + diff
		}
		return ""
	})
}
