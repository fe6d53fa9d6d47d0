package bench

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"triad/shared/catalog"
	"triad/shared/embedded"
	"triad/shared/store/sqlitestore"
	"triad/shared/task"
)

// Backlog is what submitting tasks costs while nothing works on them, and what
// starting again with them costs.
type Backlog struct {
	Tasks int `json:"tasks"`
	// FirstPerS and LastPerS are the submission rates of the first and the last
	// tenth.
	FirstPerS   float64 `json:"first_tenth_per_s"`
	LastPerS    float64 `json:"last_tenth_per_s"`
	LastToFirst float64 `json:"last_to_first"`
	FileMB      float64 `json:"file_mb"`
	// RSS is the peak up to the end of the submissions, after the start and
	// some work the peak of all.
	RSS        float64 `json:"rss_mb"`
	RSSAtWork  float64 `json:"rss_at_work_mb"`
	ReadyAfter float64 `json:"ready_after_s"`
	// Unfinished is how many tasks the new start found.
	Unfinished int `json:"unfinished"`
	// DrainPerS is how many tasks a second came to their end after it.
	DrainPerS float64 `json:"drain_tasks_per_s"`
}

// RunBacklog submits n tasks to an engine that does not run, closes the store,
// and starts again.
func RunBacklog(ctx context.Context, c Config, n int) (Backlog, error) {
	r := Backlog{Tasks: n}
	if c.Progress == nil {
		c.Progress = func(string, ...any) {}
	}
	path, err := c.fill(ctx, n, &r)
	if err != nil {
		return r, fmt.Errorf("submitting the backlog: %w", err)
	}
	r.FileMB, r.RSS = size(path)/1e6, peakMB()
	if err := c.restart(ctx, &r); err != nil {
		return r, fmt.Errorf("starting with the backlog: %w", err)
	}
	r.RSSAtWork = peakMB()
	return r, nil
}

func (c Config) fill(ctx context.Context, n int, r *Backlog) (path string, err error) {
	s, path, err := c.open(ctx, "backlog")
	if err != nil {
		return path, err
	}
	l, err := newLoad(c.Steps, 1, s)
	if err != nil {
		return path, err
	}
	tenth := max(1, n/10)
	for done := 0; done < n; {
		part := min(tenth, n-done)
		start := time.Now()
		if err := c.submitAll(ctx, l, done, part); err != nil {
			return path, err
		}
		rate := float64(part) / time.Since(start).Seconds()
		if done == 0 {
			r.FirstPerS = rate
		}
		r.LastPerS = rate
		done += part
		c.Progress("%d of %d submitted, %.0f a second", done, n, rate)
	}
	r.LastToFirst = r.LastPerS / r.FirstPerS
	return path, s.Close()
}

// submitAll submits part of the tasks, by InFlight callers.
func (c Config) submitAll(ctx context.Context, l *load, from, n int) error {
	var next atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	for range c.InFlight {
		g.Go(func() error {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				sub := task.Submission{ID: task.ID("0-" + strconv.Itoa(from+int(i))), Workflow: "bench", Order: order}
				if _, err := l.engine.Submission.Submit(ctx, sub); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// restart opens the file again and lets the engine work for Config.Seconds, and
// until a task has ended: a rate of nothing says nothing.
func (c Config) restart(ctx context.Context, r *Backlog) error {
	start := time.Now()
	s, _, err := c.open(ctx, "backlog")
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	if r.Unfinished, err = s.Count(ctx); err != nil {
		return err
	}
	engine, err := drainer(s, c.Steps, r.Unfinished)
	if err != nil {
		return err
	}
	// The engine serves from here on: prove it by a submission.
	if _, err := engine.Submission.Submit(ctx, task.Submission{ID: "one-more", Workflow: "bench", Order: order}); err != nil {
		return err
	}
	r.ReadyAfter = time.Since(start).Seconds()
	c.Progress("ready after %.2f s with %d unfinished tasks", r.ReadyAfter, r.Unfinished)
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		c.drain(work, engine, r.Unfinished)
	}()
	start = time.Now()
	if err := engine.Run(work); err != nil {
		return err
	}
	r.DrainPerS = float64(r.Unfinished+1-engine.Unfinished()) / time.Since(start).Seconds()
	return nil
}

// drain returns when Config.Seconds are over and fewer tasks are unfinished than at
// the start.
func (c Config) drain(ctx context.Context, e *embedded.Engine, unfinished int) {
	over := time.Now().Add(time.Duration(c.Seconds * float64(time.Second)))
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for time.Now().Before(over) || e.Unfinished() > unfinished {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

func drainer(s *sqlitestore.Store, steps, unfinished int) (*embedded.Engine, error) {
	def, err := definition(steps)
	if err != nil {
		return nil, err
	}
	return embedded.New(embedded.Config{
		Store: s, Ledger: s, Definitions: catalog.New(def), Unfinished: unfinished,
		Agents: map[string]embedded.Agent{"idle": {Work: idle, Concurrency: 256}},
	})
}
