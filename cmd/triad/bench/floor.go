package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"triad/shared/store"
	"triad/shared/store/sqlitestore"
	"triad/shared/task"
)

// floor measures the store doing nothing but durable updates of a record of
// this size, by as many callers as tasks are in flight.
func (c Config) floor(ctx context.Context, d time.Duration, r *Result) error {
	s, _, err := c.open(ctx, "floor")
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var done atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	start := time.Now()
	for i := range c.InFlight {
		g.Go(func() error { return rewrite(ctx, s, c.record(i), &done) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	r.FloorCommitsPerS = float64(done.Load()) / time.Since(start).Seconds()
	return nil
}

// rewrite commits one record again and again until ctx ends.
func rewrite(ctx context.Context, s *sqlitestore.Store, t task.Task, done *atomic.Int64) error {
	if err := s.Create(ctx, store.Change{Task: t}); err != nil {
		return over(ctx, err)
	}
	for ctx.Err() == nil {
		t.Version++
		if err := s.Commit(ctx, store.Change{Task: t}); err != nil {
			return over(ctx, err)
		}
		done.Add(1)
	}
	return nil
}

// over drops an error that only says that the time is over.
func over(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		return nil
	}
	return err
}

// record is a task as it is half way through.
func (c Config) record(i int) task.Task {
	now := task.At(time.Now())
	t := task.Task{
		ID: task.ID(fmt.Sprintf("floor-%d", i)), Workflow: "bench@1", State: task.Processing, Version: 1, Op: "floor",
		LockedBy: "abcdefgh", CompleteBy: now + 60_000, Deadline: now + 3_600_000, CreatedAt: now,
		OrderHash: strings.Repeat("h", 22), Order: order, Steps: make([]task.StepState, c.Steps),
	}
	for k := range t.Steps {
		t.Steps[k] = task.StepState{Name: stepName(k), State: task.Processed, Attempt: 1,
			StartedAt: now, EndedAt: now, Rank: int64(k + 1)}
	}
	return t
}
