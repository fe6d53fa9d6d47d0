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
		concurrency := e.config.Agents[name].Concurrency
		if concurrency == 0 {
			concurrency = 64
		}
		g.Go(func() error {
			return e.consumer(consumer.Config{
				Name: queue.AgentQueue(name), Queue: e.queues.agents[name], Handle: a.Handle, Concurrency: concurrency,
			}).Run(working)
		})
	}
	g.Go(func() error { return e.redeliver(working) })
	g.Go(func() error { return e.sweep(working) })
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

// redeliverPage is the most tasks that are read at once to be woken.
const redeliverPage = 200

// redeliver wakes every unfinished task of the file once, earliest deadline
// first, at the pace of the room in the queues: the messages of the process
// before are lost, and the records imply them.
func (e *Engine) redeliver(ctx context.Context) error {
	if e.config.Unfinished == 0 {
		return nil
	}
	q := store.DueQuery{Before: task.Millis(math.MaxInt64)}
	for {
		room, err := e.awaitRoom(ctx)
		if err != nil {
			return err
		}
		q.Limit = min(room, redeliverPage)
		page, err := e.config.Store.Due(ctx, q)
		if err != nil {
			return fmt.Errorf("reading the unfinished tasks: %w", err)
		}
		for _, row := range page.Rows {
			if err := e.core.Wake(ctx, task.Wake{Task: row.ID}, true); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		q.Cursor = page.Next
	}
}

// awaitRoom returns how much room the queues have, once they have any. To wait
// for more would be to wait for sweeps, which take what room there is, to find
// nothing.
func (e *Engine) awaitRoom(ctx context.Context) (int, error) {
	for {
		if room := e.room(); room > 0 {
			return room, nil
		}
		if err := pause(ctx, breather); err != nil {
			return 0, err
		}
	}
}

// sweep runs the Supervisor: every Config.Sweep, and at once as long as there
// is more to do than the queues have room for.
func (e *Engine) sweep(ctx context.Context) error {
	for {
		report, err := e.supervisor.Sweep(ctx)
		if err != nil && ctx.Err() == nil {
			e.config.Logger.Error("sweeping; the next sweep tries again", "error", err)
		}
		e.backlog.Store(report.More)
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
