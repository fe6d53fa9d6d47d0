package embedded

import (
	"context"
	"time"

	"triad/shared/engine"
	"triad/shared/queue"
	"triad/shared/queue/memqueue"
	"triad/shared/store"
	"triad/shared/task"
)

// queues are the scheduler queue and one queue per agent, in memory.
//
// Their visibility timeout is long: within one process a receiver dies only with
// the queue itself, so a message comes back when its handler gives it back, and
// never while an agent is still at work. Their capacity is far above
// Config.InFlight, which bounds them: that limit holds submissions back, and is
// no reason to refuse the reply of a task under way. A message is tried for hours
// (the consumer waits up to half a minute between two tries) before it is a dead
// letter: when the disk is full for a while, no reply is lost.
type queues struct {
	scheduler *memqueue.Queue
	agents    map[string]*memqueue.Queue
}

const (
	visibility = 24 * time.Hour
	capacity   = 1 << 20

	maxReceives = 1000
)

func newQueues(c Config) *queues {
	open := func(name string) *memqueue.Queue {
		return memqueue.New(memqueue.Config{
			Name: name, Visibility: visibility, Capacity: capacity, MaxReceives: maxReceives, DeadLetter: dead(c, name),
		})
	}
	q := &queues{scheduler: open(queue.Scheduler), agents: map[string]*memqueue.Queue{}}
	for name := range c.Agents {
		q.agents[name] = open(queue.AgentQueue(name))
	}
	return q
}

// dead captures a dead letter where operators see it. Its task comes back by its
// deadline all the same.
func dead(c Config, name string) func(queue.Delivery) {
	return func(d queue.Delivery) {
		err := c.Ledger.Reject(context.Background(), store.Rejected{
			Queue: name, Body: d.Body, At: task.At(c.Clock()),
			Reason: "could not be handled again and again; the log says why, and the task's deadline brings it back",
		})
		if err != nil {
			c.Logger.Error("capturing a dead letter", "queue", name, "error", err)
		}
	}
}

// Scheduler implements engine.Queues.
func (q *queues) Scheduler() engine.Sender { return q.scheduler }

// Agent implements engine.Queues.
func (q *queues) Agent(name string) (engine.Sender, bool) {
	a, found := q.agents[name]
	return a, found
}

func (q *queues) depths() map[string]int {
	m := map[string]int{queue.Scheduler: depth(q.scheduler).Total()}
	for name, a := range q.agents {
		m[queue.AgentQueue(name)] = depth(a).Total()
	}
	return m
}

// pending counts the scheduler's messages that are to be handled now: delayed
// wake-ups only wait.
func (q *queues) pending() int {
	d := depth(q.scheduler)
	return d.Visible + d.InFlight
}

// waiting counts the requests of one agent, those it works on included.
func (q *queues) waiting(agent string) int { return depth(q.agents[agent]).Total() }

// depth of a queue in memory is exact and never fails.
func depth(q *memqueue.Queue) queue.Depth {
	d, _ := q.Depth(context.Background())
	return d
}

func (q *queues) close() {
	q.scheduler.Close()
	for _, a := range q.agents {
		a.Close()
	}
}
