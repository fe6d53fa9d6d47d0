package agent_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"triad/shared/agent"
	"triad/shared/queue"
	"triad/shared/task"
)

type nowhere struct{}

func (nowhere) Send(context.Context, ...queue.Message) error { return nil }

// BenchmarkHandle is the engine's own cost: work that returns at once.
func BenchmarkHandle(b *testing.B) {
	a, err := agent.New(agent.Config{Name: "inventory", Replies: nowhere{},
		Work:     func(context.Context, task.Request) (json.RawMessage, error) { return nil, nil },
		Rejected: func(context.Context, []byte, string) error { return nil }})
	if err != nil {
		b.Fatal(err)
	}
	r := request()
	r.CompleteBy = task.At(time.Now().Add(time.Hour))
	r.Input = json.RawMessage(`{"sku":"A-1","count":3}`)
	body, err := queue.Encode(r)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := a.Handle(b.Context(), queue.Delivery{Body: body}); err != nil {
			b.Fatal(err)
		}
	}
}
