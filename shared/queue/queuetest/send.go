package queuetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/queue"
)

func receivedAndDeleted(s *subject) {
	s.send(`{"wake":1}`)
	d := s.one()
	if diff := cmp.Diff(queue.Delivery{Body: []byte(`{"wake":1}`), Receives: 1, Receipt: d.Receipt}, d); diff != "" {
		s.Fatalf("delivery (-want +got):\n%s", diff)
	}
	s.delete(d)
	s.nothing(s.Visibility + 2*time.Second)
}

func sendsNothing(s *subject) {
	s.send()
	s.nothing(0)
}

func bodiesArrive(s *subject) {
	want := []string{
		`{"id":"o-1"}`,
		"x",
		" leading and trailing space \n",
		"tab\tnewline\ncarriage return\r\n",
		`"quotes" & <markup> \u0000 \\ 'single'`,
		"Grüße, 你好, שלום, עולם",
		"🚚📦 and e\u0301 is not é",
		strings.Repeat("é", queue.MaxBody/2),
	}
	var got []string
	for _, body := range want {
		s.send(body)
		d := s.one()
		got = append(got, string(d.Body))
		s.delete(d)
	}
	if !slices.Equal(got, want) {
		s.Fatalf("bodies differ (-want +got):\n%s", cmp.Diff(want[:len(want)-1], got[:len(got)-1]))
	}
}

func refusesEmpty(s *subject) {
	for _, body := range [][]byte{nil, {}} {
		if err := s.Queue.Send(s.ctx, queue.Message{Body: body}); err == nil {
			s.Fatalf("sending the body %#v: no error", body)
		}
	}
	s.nothing(time.Second)
}

func refusesTooLarge(s *subject) {
	large := bytes.Repeat([]byte("x"), queue.MaxBody+1)
	if err := s.Queue.Send(s.ctx, queue.Message{Body: large}); !errors.Is(err, queue.ErrTooLarge) {
		s.Fatalf("sending %d bytes: %v, want %v", len(large), err, queue.ErrTooLarge)
	}
	s.nothing(time.Second)
}

func namesFailures(s *subject) {
	large := strings.Repeat("x", queue.MaxBody+1)
	bodies := []string{"0", large, "2", "", "4", "5", "6", "7", "8", "9", "a", large, "c"} // more than a batch
	var msgs []queue.Message
	for _, body := range bodies {
		msgs = append(msgs, queue.Message{Body: []byte(body)})
	}
	err := s.Queue.Send(s.ctx, msgs...)
	var partial *queue.PartialError
	if !errors.As(err, &partial) {
		s.Fatalf("sending: %v, want a PartialError", err)
	}
	if diff := cmp.Diff([]int{1, 3, 11}, indexes(partial)); diff != "" {
		s.Fatalf("failed messages (-want +got):\n%s", diff)
	}
	for i, err := range partial.Failed {
		if errors.Is(err, queue.ErrTooLarge) != (bodies[i] == large) {
			s.Errorf("the cause of number %d, of %d bytes, is: %v", i, len(bodies[i]), err)
		}
	}
	want := strings.Fields("0 2 4 5 6 7 8 9 a c")
	if diff := cmp.Diff(want, sortedBodies(s.receive(len(want)))); diff != "" {
		s.Fatalf("received (-want +got):\n%s", diff)
	}
}

func sendsMany(s *subject) {
	const n = 25
	var want []string
	for i := range n {
		want = append(want, fmt.Sprintf("message %02d", i))
	}
	if s.Capacity > 0 && s.Capacity < n {
		s.Fatalf("harness: a capacity of at least %d is needed", n)
	}
	s.send(want...)
	if diff := cmp.Diff(want, sortedBodies(s.receive(n))); diff != "" {
		s.Fatalf("received (-want +got):\n%s", diff)
	}
}

func cancelledSend(s *subject) {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if err := s.Queue.Send(ctx, queue.Message{Body: []byte("x")}); !errors.Is(err, context.Canceled) {
		s.Fatalf("sending: %v, want %v", err, context.Canceled)
	}
	s.nothing(time.Second)
}

func refusesBeyondCapacity(s *subject) {
	if s.Capacity == 0 {
		s.Log("not tried: this queue declares no limit")
		return
	}
	// Delayed messages and those in flight take room like visible ones.
	for i := range s.Capacity - 1 {
		msg := queue.Message{Body: fmt.Appendf(nil, "%d", i)}
		if i%2 == 1 {
			msg.Delay = queue.MaxDelay
		}
		if err := s.Queue.Send(s.ctx, msg); err != nil {
			s.Fatalf("sending message %d of %d: %v", i+1, s.Capacity, err)
		}
	}
	d := s.one()
	msgs := []queue.Message{{Body: []byte("a")}, {Body: []byte("b")}, {Body: []byte("c")}}
	err := s.Queue.Send(s.ctx, msgs...)
	var partial *queue.PartialError
	if !errors.As(err, &partial) || !errors.Is(err, queue.ErrFull) {
		s.Fatalf("sending 3 messages where 1 fits: %v, want a PartialError of %v", err, queue.ErrFull)
	}
	if diff := cmp.Diff([]int{1, 2}, indexes(partial)); diff != "" {
		s.Fatalf("failed messages (-want +got):\n%s", diff)
	}
	if err := s.Queue.Send(s.ctx, msgs[1]); !errors.Is(err, queue.ErrFull) {
		s.Fatalf("sending to a full queue: %v, want %v", err, queue.ErrFull)
	}
	s.delete(d)
	s.send("there is room again")
}

func indexes(err *queue.PartialError) []int {
	var is []int
	for i := range err.Failed {
		is = append(is, i)
	}
	slices.Sort(is)
	return is
}

func sortedBodies(ds []queue.Delivery) []string {
	var bodies []string
	for _, d := range ds {
		bodies = append(bodies, string(d.Body))
	}
	slices.Sort(bodies)
	return bodies
}

// groups: which group comes first is not promised, only that none gets lost.
func groups(s *subject) {
	began := time.Now()
	var want []string
	for i := range 12 {
		m := queue.Message{Body: fmt.Appendf(nil, "m-%02d", i), Group: []string{"", "acme", "globex GmbH & Co."}[i%3]}
		if i%2 == 1 {
			m.Delay = 2 * time.Second
		}
		if err := s.Queue.Send(s.ctx, m); err != nil {
			s.Fatalf("sending a message of group %q after %v: %v", m.Group, m.Delay, err)
		}
		want = append(want, string(m.Body))
	}
	var got []string
	for range want {
		d := s.one()
		got = append(got, string(d.Body))
		s.delete(d)
	}
	s.notBefore(began, 2*time.Second)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		s.Fatalf("messages (-want +got):\n%s", diff)
	}
}
