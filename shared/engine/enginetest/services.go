package enginetest

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"triad/shared/queue"
	"triad/shared/task"
)

// Services plays every agent and the remote service behind it, which counts an
// idempotency key once. It is safe for concurrent use.
type Services struct {
	// Answer makes the outcome of a request; the token is filled in. Nil has
	// every request succeed with the output {"done":true}.
	Answer func(task.Request) task.Reply

	mu       sync.Mutex
	requests []task.Request
}

// Handle works on one message of an agent's queue and replies.
func (s *Services) Handle(ctx context.Context, d queue.Delivery, replies *Queues) error {
	r, err := queue.DecodeRequest(d.Body)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.requests = append(s.requests, r)
	s.mu.Unlock()
	return replies.ToScheduler.Send(ctx, queue.Message{Body: s.reply(r)})
}

// reply is the message that answers a request.
func (s *Services) reply(r task.Request) []byte {
	answer := task.Reply{Outcome: task.Succeeded, Output: json.RawMessage(`{"done":true}`)}
	if s.Answer != nil {
		answer = s.Answer(r)
	}
	return Reply(r, answer)
}

// Reply is the message that answers a request, under its token.
func Reply(r task.Request, answer task.Reply) []byte {
	answer.Task, answer.Step, answer.Undo, answer.Attempt, answer.LockedBy = r.Task, r.Step, r.Undo, r.Attempt, r.LockedBy
	body, err := queue.Encode(queue.ToScheduler{Reply: &answer})
	if err != nil {
		panic(err) // an Answer that is not JSON
	}
	return body
}

// Requests returns every request that came, in order, repeated ones included.
func (s *Services) Requests() []task.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Effects returns the idempotency keys that the services have seen, sorted:
// what has really happened, each once.
func (s *Services) Effects() []string {
	seen := map[string]bool{}
	for _, r := range s.Requests() {
		seen[r.IdempotencyKey()] = true
	}
	return slices.Sorted(maps.Keys(seen))
}
