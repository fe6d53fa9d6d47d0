package stack

import (
	"context"
	"errors"
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

// Dead is how many dead letters a queue has.
type Dead struct {
	Queue string `json:"queue"`
	Dead  int    `json:"dead"`
	// Moved is how many of them went back to the queue.
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

// Redrive moves the dead letters of a queue back to it. Each is sent before it is
// deleted: if we stop between, it comes twice, which changes nothing. Those that
// somebody else has received at the moment stay.
func (s *Stack) Redrive(ctx context.Context, name string) (Dead, error) {
	if all := s.consumed(); !slices.Contains(all, name) {
		return Dead{}, fmt.Errorf("stack %s has no queue %q with dead letters: there are %s", s.config.Name, name, strings.Join(all, ", "))
	}
	moved := Dead{Queue: name}
	from, to := s.queue(name+"-dead"), s.queue(name)
	for {
		letters, err := from.Receive(ctx, 10, redriveWait)
		if err != nil || len(letters) == 0 {
			return moved, errors.Join(err, from.Drain(ctx))
		}
		for _, letter := range letters {
			if err := to.Send(ctx, queue.Message{Body: letter.Body}); err != nil {
				return moved, fmt.Errorf("%d moved, then: %w", moved.Moved, err)
			}
			if err := from.Delete(ctx, letter.Receipt); err != nil {
				return moved, fmt.Errorf("%d moved, then: %w", moved.Moved, err)
			}
			moved.Moved++
		}
	}
}
