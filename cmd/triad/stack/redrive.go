package stack

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"triad/shared/queue"
	"triad/shared/queue/sqsqueue"
)

// redriveWait is how long an empty queue is looked at: SQS answers from some of
// its servers at once, from all of them only after a wait.
const redriveWait = 2 * time.Second

// batch is how many are moved at once: as many as SQS hands out.
const batch = 10

// Dead is how many dead letters a queue has.
type Dead struct {
	Queue string `json:"queue"`
	Dead  int    `json:"dead"`
	// Moved is how many went back to the queue; Dead is then how many are left.
	Moved int `json:"moved,omitzero"`
}

// consumed are the queues of the stack that have dead letters, by the words of
// the design.
func (s *Stack) consumed() []string {
	all := []string{queue.Submissions, queue.Scheduler, "ticks"}
	for _, name := range s.cloud.Settings.Agents {
		all = append(all, queue.AgentQueue(name))
	}
	return all
}

func (s *Stack) queue(name string) *sqsqueue.Queue {
	return sqsqueue.New(s.queues, s.cloud.Settings.Queue(name), sqsqueue.Config{})
}

// Dead counts the dead letters of every queue, about right as SQS counts.
func (s *Stack) Dead(ctx context.Context) ([]Dead, error) {
	var all []Dead
	for _, name := range s.consumed() {
		d, err := s.queue(name + "-dead").Depth(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, Dead{Queue: name, Dead: d.Total()})
	}
	return all, nil
}

// Movable fails when one of the names is no queue of the stack with dead letters.
func (s *Stack) Movable(names ...string) error {
	all := s.consumed()
	for _, name := range names {
		if !slices.Contains(all, name) {
			return fmt.Errorf("stack %s has no queue %q with dead letters: there are %s", s.config.Name, name, strings.Join(all, ", "))
		}
	}
	return nil
}

// Redrive moves the dead letters of a queue back to it. Each is sent before it is
// deleted: if we stop between, it comes twice, which changes nothing. Those that
// somebody else has received at the moment stay.
//
// It ends when the queue is empty, or when about as many have been moved as SQS
// counted at the beginning: those that die again meanwhile do not keep it going.
func (s *Stack) Redrive(ctx context.Context, name string) (Dead, error) {
	moved := Dead{Queue: name}
	if err := s.Movable(name); err != nil {
		return moved, err
	}
	from, to := s.queue(name+"-dead"), s.queue(name)
	counted, err := from.Depth(ctx)
	if err != nil {
		return moved, err
	}
	// A queue that is not empty may be counted as such for a minute.
	for most := max(counted.Total(), batch); moved.Moved < most; {
		letters, err := from.Receive(ctx, min(batch, most-moved.Moved), redriveWait)
		if err == nil && len(letters) > 0 {
			err = move(ctx, from, to, letters)
		}
		if err != nil {
			return moved, fmt.Errorf("%d dead letters were moved, then: %w", moved.Moved, err)
		}
		if len(letters) == 0 {
			return moved, nil
		}
		moved.Moved += len(letters)
	}
	left, err := from.Depth(ctx)
	moved.Dead = left.Total()
	return moved, err
}

// move sends letters, and then deletes them where they were.
func move(ctx context.Context, from, to *sqsqueue.Queue, letters []queue.Delivery) error {
	messages, receipts := make([]queue.Message, len(letters)), make([]string, len(letters))
	for i, letter := range letters {
		messages[i], receipts[i] = queue.Message{Body: letter.Body}, letter.Receipt
	}
	if err := to.Send(ctx, messages...); err != nil {
		return err
	}
	return from.Delete(ctx, receipts...)
}
