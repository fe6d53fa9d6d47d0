package cloud

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"triad/shared/queue"
	"triad/shared/task"
)

// room is how many more requests the agents' queues should hold. A request's
// CompleteBy runs while it waits in a queue, so beyond a limit new tasks are
// recorded without a claim, and the Supervisor brings them back when there is
// room. It is a valve, not an invariant: SQS counts about right and late.
type room struct {
	queues map[string]depther
	limit  int
	logger *slog.Logger

	mu     sync.Mutex
	looked time.Time
	asked  int // by new tasks, since then
	last   int
}

type depther interface {
	Depth(ctx context.Context) (queue.Depth, error)
}

// LookAfter is for how many new tasks, while there is room, a look at the agents'
// queues holds good: each look is billed as a request to every one of them.
const LookAfter = 50

// For how long a look holds good, and how long it may take.
const (
	lookEvery  = 10 * time.Second
	lookWithin = 2 * time.Second
)

func (c *Cloud) room() *room {
	r := &room{queues: map[string]depther{}, limit: c.Settings.Backlog, logger: c.logger}
	for name, q := range c.queues.agents {
		r.queues[name] = q
	}
	return r
}

// left asks every queue, and returns how many more requests there is room for in
// the fullest. A queue that can't be asked counts as empty: SQS takes what comes.
func (r *room) left(ctx context.Context) int {
	if r.limit == 0 {
		return math.MaxInt
	}
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	var g errgroup.Group
	var mu sync.Mutex
	least := r.limit
	for name, q := range r.queues {
		g.Go(func() error {
			d, err := q.Depth(ctx)
			if err != nil {
				r.logger.Warn("asking how many requests wait; the queue counts as empty", "agent", name, "error", err)
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			least = min(least, r.limit-d.Visible-d.InFlight)
			return nil
		})
	}
	_ = g.Wait() // no function returns an error
	return max(0, least)
}

// hold reports that a new task must wait in the table. That begins at half of the
// limit: the rest is for tasks that wait already, or they would wait for ever
// beside a stream of new ones, and for those of high priority.
func (r *room) hold(p task.Priority) bool {
	if r.limit == 0 {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	if time.Since(r.looked) > lookEvery && (r.last <= r.limit/2 || r.asked > LookAfter) {
		r.last, r.looked, r.asked = r.left(context.Background()), time.Now(), 1
	}
	if p == task.High {
		return r.last == 0
	}
	return r.last <= r.limit/2
}
