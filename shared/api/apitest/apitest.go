// Package apitest is a whole engine in memory behind the HTTP API, for tests of
// whatever speaks to it. Nothing happens by itself: Settle lets agents and
// Scheduler do what there is to do.
//
// It offers two workflows. "order": reserve (agent inventory, with an undo),
// then charge (agent payment). "approval": ask (agent inventory), then decide,
// which waits for the signal "approved". An order with {"refuse": "charge"} has
// that step refused for good, until Mend is called.
package apitest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"triad/shared/api"
	"triad/shared/doctor"
	"triad/shared/engine"
	"triad/shared/operator"
	"triad/shared/queue"
	"triad/shared/queue/memqueue"
	"triad/shared/scheduler"
	"triad/shared/store/memstore"
	"triad/shared/submission"
	"triad/shared/task"
)

// Now is the engine's time. It stands still.
var Now = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// Deployment is an engine with its API.
type Deployment struct {
	http.Handler
	Store *memstore.Store

	scheduler *scheduler.Scheduler
	queues    queues
	mended    atomic.Bool
}

// New returns a deployment without a task. adjust, if not nil, may change the
// configuration of the API.
func New(t testing.TB, adjust func(*api.Config)) *Deployment {
	t.Helper()
	agents := map[string]*memqueue.Queue{
		"inventory": memqueue.New(memqueue.Config{}), "payment": memqueue.New(memqueue.Config{}),
	}
	d := &Deployment{Store: memstore.New(), queues: queues{memqueue.New(memqueue.Config{}), agents}}
	e := engine.New(engine.Config{
		Instance: "i1", Store: d.Store, Workflows: workflows{}, Queues: d.queues,
		Clock: func() time.Time { return Now },
	})
	d.scheduler = scheduler.New(e, d.Store)
	c := api.Config{
		Submit:  submission.New(submission.Config{Engine: e, Definitions: workflows{}, Rejected: d.Store}),
		Operate: operator.New(e), Store: d.Store, Ledger: d.Store,
		Workflows: func() []task.Workflow { return []task.Workflow{order(), approval()} },
		Doctor: doctor.New(doctor.Config{
			Store: d.Store, Walker: d.Store, Workflows: workflows{}, Agents: []string{"inventory", "payment"},
			DeadLetters: d.rejected, Clock: func() time.Time { return Now },
		}),
	}
	if adjust != nil {
		adjust(&c)
	}
	d.Handler = api.New(c)
	return d
}

// rejected counts the captured messages, by queue.
func (d *Deployment) rejected(ctx context.Context) (map[string]int, error) {
	all, err := d.Store.Rejections(ctx, 0, 1000)
	counts := map[string]int{}
	for _, r := range all {
		counts[r.Queue]++
	}
	return counts, err
}

// Mend has nothing refused any more.
func (d *Deployment) Mend() { d.mended.Store(true) }

// Settle lets agents and Scheduler work until there is nothing to do.
func (d *Deployment) Settle(t testing.TB) {
	t.Helper()
	for busy := true; busy; {
		busy = false
		for _, q := range d.queues.agents {
			busy = d.drain(t, q, d.answer) || busy
		}
		busy = d.drain(t, d.queues.scheduler, d.scheduler.Handle) || busy
	}
}

// drain handles what a queue holds, and reports whether there was anything.
func (d *Deployment) drain(t testing.TB, q *memqueue.Queue, handle func(context.Context, queue.Delivery) error) bool {
	t.Helper()
	ctx := context.Background()
	for some := false; ; some = true {
		all, err := q.Receive(ctx, 10, 0)
		if err != nil {
			t.Fatalf("receiving: %v", err)
		}
		if len(all) == 0 {
			return some
		}
		for _, delivery := range all {
			if err := errors.Join(handle(ctx, delivery), q.Delete(ctx, delivery.Receipt)); err != nil {
				t.Fatalf("handling %s: %v", delivery.Body, err)
			}
		}
	}
}

// answer is every agent.
func (d *Deployment) answer(ctx context.Context, delivery queue.Delivery) error {
	r, err := queue.DecodeRequest(delivery.Body)
	if err != nil {
		return err
	}
	reply := task.Reply{Task: r.Task, Step: r.Step, Undo: r.Undo, Attempt: r.Attempt, LockedBy: r.LockedBy,
		Outcome: task.Succeeded, Output: json.RawMessage(`{"by":"` + r.Agent + `"}`)}
	var wish struct {
		Refuse string `json:"refuse"`
	}
	if json.Unmarshal(r.Input, &wish) == nil && wish.Refuse == r.Step && !r.Undo && !d.mended.Load() {
		reply.Outcome, reply.Output, reply.Error = task.FailedPermanently, nil, "card \x1b[31mexpired"
	}
	body, err := queue.Encode(queue.ToScheduler{Reply: &reply})
	if err != nil {
		return err
	}
	return d.queues.scheduler.Send(ctx, queue.Message{Body: body})
}

// queues are all in memory.
type queues struct {
	scheduler *memqueue.Queue
	agents    map[string]*memqueue.Queue
}

// Scheduler returns the scheduler queue.
func (q queues) Scheduler() engine.Sender { return q.scheduler }

// Agent returns an agent's queue.
func (q queues) Agent(name string) (engine.Sender, bool) {
	agent, found := q.agents[name]
	return agent, found
}

// workflows finds the definitions.
type workflows struct{}

// Workflow returns a definition by its reference.
func (workflows) Workflow(ref string) (task.Workflow, error) {
	switch ref {
	case "order", "order@1":
		return order(), nil
	case "approval", "approval@1":
		return approval(), nil
	}
	return task.Workflow{}, fmt.Errorf("%w: %q; there are order, approval", engine.ErrNoWorkflow, ref)
}

// Definition returns a definition for Submission.
func (w workflows) Definition(ref string) (submission.Definition, error) {
	flow, err := w.Workflow(ref)
	return definition(flow), err
}

type definition task.Workflow

// Workflow is the compiled definition.
func (d definition) Workflow() task.Workflow { return task.Workflow(d) }

// CheckOrder wants an object.
func (definition) CheckOrder(order json.RawMessage) error {
	var object map[string]json.RawMessage
	if json.Unmarshal(order, &object) != nil || object == nil {
		return errors.New("must be a JSON object")
	}
	return nil
}

func order() task.Workflow {
	once := task.Retry{Attempts: 1, First: time.Second, Factor: 1}
	return task.Workflow{
		Name: "order", Version: 1, CompleteWithin: 24 * time.Hour, OnOverdue: task.OnError,
		Steps: []task.Step{
			{Name: "reserve", Agent: "inventory", CompleteWithin: 10 * time.Second, Retry: once, OnExhausted: task.OnError,
				Undo: &task.Undo{CompleteWithin: 10 * time.Second, Retry: once}},
			{Name: "charge", Agent: "payment", After: []int{0}, CompleteWithin: 10 * time.Second, Retry: once, OnExhausted: task.OnError},
		},
	}
}

func approval() task.Workflow {
	once := task.Retry{Attempts: 1, First: time.Second, Factor: 1}
	return task.Workflow{
		Name: "approval", Version: 1, CompleteWithin: time.Hour, OnOverdue: task.OnError,
		Steps: []task.Step{
			{Name: "ask", Agent: "inventory", CompleteWithin: 10 * time.Second, Retry: once, OnExhausted: task.OnError},
			{Name: "decide", Signal: "approved", After: []int{0}, CompleteWithin: time.Hour, Retry: once, OnExhausted: task.OnError},
		},
	}
}
