package enginetest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"triad/shared/engine"
	"triad/shared/queue"
	"triad/shared/queue/memqueue"
	"triad/shared/task"
)

// Queues has every queue of a rig. It implements engine.Queues.
type Queues struct {
	// Submissions and ToScheduler are the queues of Submission and Scheduler,
	// Agents those of the agents, by name.
	Submissions, ToScheduler *memqueue.Queue
	Agents                   map[string]*memqueue.Queue

	mu    sync.Mutex
	sends int
	fail  func(send int) Fault
	fault Fault
}

func newQueues(clock *Clock, agents map[string]bool) *Queues {
	q := &Queues{Agents: map[string]*memqueue.Queue{}}
	open := func(name string, faults *memqueue.Faults) *memqueue.Queue {
		return memqueue.New(memqueue.Config{Name: name, Clock: clock.Now, MaxReceives: 20, Visibility: time.Hour, Faults: faults})
	}
	faults := &memqueue.Faults{Refuse: q.refuse, Lose: q.lose}
	q.Submissions = open(queue.Submissions, nil)
	q.ToScheduler = open(queue.Scheduler, faults)
	for name := range agents {
		q.Agents[name] = open(queue.AgentQueue(name), faults)
	}
	return q
}

// FailSends has fail say what becomes of each send from now on, counted from 1,
// over all queues but that of the submissions. For one goroutine.
func (q *Queues) FailSends(fail func(send int) Fault) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.sends, q.fail = 0, fail
}

// Sends is how many sends there were since FailSends.
func (q *Queues) Sends() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.sends
}

func (q *Queues) refuse(op memqueue.Op) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if op != memqueue.OpSend {
		return nil
	}
	q.sends++
	if q.fault = None; q.fail != nil {
		q.fault = q.fail(q.sends)
	}
	if q.fault == Lost {
		return fmt.Errorf("sending: %w", ErrInjected)
	}
	return nil
}

func (q *Queues) lose(op memqueue.Op) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if op == memqueue.OpSend && q.fault == Applied {
		return fmt.Errorf("sending, which was done: %w", ErrInjected)
	}
	return nil
}

// Scheduler implements engine.Queues.
func (q *Queues) Scheduler() engine.Sender { return q.ToScheduler }

// Agent implements engine.Queues.
func (q *Queues) Agent(name string) (engine.Sender, bool) {
	a, found := q.Agents[name]
	return a, found
}

// names are the agents' names, in order.
func (q *Queues) names() []string { return slices.Sorted(maps.Keys(q.Agents)) }

// all has every queue, in a fixed order.
func (q *Queues) all() []*memqueue.Queue {
	all := []*memqueue.Queue{q.Submissions, q.ToScheduler}
	for _, name := range q.names() {
		all = append(all, q.Agents[name])
	}
	return all
}

// Outlet hears of notices and alerts. It is for one goroutine.
type Outlet struct {
	// Told counts how often each notice and alert was told, by id.
	Told map[string]int
	// Fail says what becomes of each call, from 1. Nil lets all succeed.
	Fail  func(call int) Fault
	calls int
}

// Notify implements engine.Outlet.
func (o *Outlet) Notify(_ context.Context, notices []task.Notice) error {
	ids := make([]string, len(notices))
	for i, n := range notices {
		ids[i] = n.ID
	}
	return o.tell(ids)
}

// Alert implements engine.Outlet.
func (o *Outlet) Alert(_ context.Context, alerts []task.Alert) error {
	ids := make([]string, len(alerts))
	for i, a := range alerts {
		ids[i] = a.ID
	}
	return o.tell(ids)
}

func (o *Outlet) tell(ids []string) error {
	o.calls++
	fault := None
	if o.Fail != nil {
		fault = o.Fail(o.calls)
	}
	if fault == Lost {
		return fmt.Errorf("telling: %w", ErrInjected)
	}
	for _, id := range ids {
		o.Told[id]++
	}
	if fault == Applied {
		return fmt.Errorf("telling, which was done: %w", ErrInjected)
	}
	return nil
}
