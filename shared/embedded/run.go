package embedded

import (
	"context"
	"fmt"
	"math"
	"time"

	"golang.org/x/sync/errgroup"

	"triad/shared/consumer"
	"triad/shared/queue"
	"triad/shared/store"
	"triad/shared/task"
)

// Run runs the engine until ctx ends, then lets what is being handled come to
// its end for a few seconds. What remains is in the table, and goes on at the
// next start.
func (e *Engine) Run(ctx context.Context) error {
	defer e.queues.close()
	g, working := errgroup.WithContext(ctx)
	g.Go(func() error {
		return e.consumer(consumer.Config{
			Name: queue.Scheduler, Queue: e.queues.scheduler, Handle: e.scheduler.Handle, Concurrency: e.config.Schedulers,
		}).Run(working)
	})
	for name, a := range e.agents {
		g.Go(func() error {
			return e.consumer(consumer.Config{
				Name: queue.AgentQueue(name), Queue: e.queues.agents[name], Handle: a.Handle,
				Concurrency: e.config.Agents[name].Concurrency,
			}).Run(working)
		})
	}
	g.Go(func() error { return e.redeliver(working) })
	g.Go(func() error { return e.sweep(working) })
	g.Go(func() error { return e.admit(working) })
	g.Go(func() error { return e.examine(working) })
	if err := g.Wait(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("running the engine: %w", err)
	}
	return nil
}

func (e *Engine) consumer(c consumer.Config) *consumer.Consumer {
	c.Logger = e.config.Logger
	return consumer.New(c)
}

// breather is how long a full engine waits before it looks for room again.
const breather = 5 * time.Millisecond

// maxPage is the most tasks that are read at once to be woken.
const maxPage = 200

// redeliver wakes every unfinished task of the file, once, at the pace of the
// room in the queues: the messages of the process before are lost, and the
// records imply them. First come those that had been claimed, earliest deadline
// first; then, once admit has brought back the held tasks that are due, those
// whose wake-up was lost and would be repeated only later.
func (e *Engine) redeliver(ctx context.Context) error {
	if e.config.Unfinished == 0 {
		return nil
	}
	if err := e.redeliverShard(ctx, 0); err != nil {
		return err
	}
	for e.backlog.Load() {
		if err := pause(ctx, breather); err != nil {
			return err
		}
	}
	for n := range task.HeldShards {
		if err := e.redeliverShard(ctx, task.HeldShard(n)); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) redeliverShard(ctx context.Context, shard int) error {
	for q := (store.DueQuery{Shard: shard, Before: task.Millis(math.MaxInt64)}); ; {
		if q.Limit = min(e.room(), maxPage); q.Limit > 0 {
			next, err := e.redeliverPage(ctx, q)
			if err == nil && next == "" {
				return nil
			}
			if err == nil {
				q.Cursor = next
				continue
			}
			e.config.Logger.Error("waking the tasks of before; it is tried again", "error", err)
		}
		if err := pause(ctx, breather); err != nil {
			return err
		}
	}
}

func (e *Engine) redeliverPage(ctx context.Context, q store.DueQuery) (next string, err error) {
	page, err := e.config.Store.Due(ctx, q)
	if err != nil {
		return "", fmt.Errorf("reading the unfinished tasks: %w", err)
	}
	for _, row := range page.Rows {
		if err := e.core.Wake(ctx, task.Wake{Task: row.ID}); err != nil {
			return "", err
		}
	}
	return page.Next, nil
}

// sweep runs the Supervisor every Config.Sweep, and again at once when its cap
// ended a sweep.
func (e *Engine) sweep(ctx context.Context) error {
	for {
		report, err := e.supervisor.Sweep(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err() // and no sweep has failed
		case err != nil:
			e.config.Logger.Error("sweeping; the next sweep tries again", "error", err)
		default:
			e.swept.Store(e.config.Clock().UnixMilli())
		}
		if e.config.Swept != nil {
			e.config.Swept(report, err)
		}
		wait := e.config.Sweep
		if report.More {
			wait = breather
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

// admit has held tasks brought back as there is room for them.
func (e *Engine) admit(ctx context.Context) error {
	for {
		room := e.room()
		report, err := e.supervisor.Admit(ctx, room)
		if err != nil && ctx.Err() == nil {
			e.config.Logger.Error("bringing back held tasks; it is tried again", "error", err)
		}
		if err == nil && room > 0 {
			e.backlog.Store(report.More)
		}
		if err := e.awaitHeld(ctx); err != nil {
			return err
		}
	}
}

// awaitHeld waits until there may be held tasks to bring back: a moment while it
// is known that there are, else until one is held. It looks now and then all the
// same.
func (e *Engine) awaitHeld(ctx context.Context) error {
	if e.backlog.Load() {
		return pause(ctx, breather)
	}
	t := time.NewTimer(e.config.Sweep)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-e.held:
	case <-t.C:
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
