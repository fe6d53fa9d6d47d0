package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"triad/shared/store"
	"triad/shared/store/sqlitestore"
	"triad/shared/task"
)

// floor measures the store doing nothing but durable updates of the records that
// the engine would write half way through, by as many callers as tasks are in
// flight.
func (c Config) floor(ctx context.Context, d time.Duration, r *rate) error {
	s, path, err := c.open(ctx, "floor")
	if err != nil {
		return err
	}
	records := make([]task.Task, c.InFlight)
	for i := range records {
		if records[i], err = c.record(i); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var done atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	start := time.Now()
	for _, t := range records {
		g.Go(func() error { return rewrite(ctx, s, t, &done) })
	}
	err = g.Wait()
	r.done += done.Load()
	r.took += time.Since(start)
	if err := errors.Join(err, s.Close()); err != nil {
		return err
	}
	return os.Remove(path) // the next measurement begins with a fresh store, too
}

// rate is how much was done in how long.
type rate struct {
	done int64
	took time.Duration
}

func (r rate) perSecond() float64 { return float64(r.done) / r.took.Seconds() }

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

// record is a task half way through, as the engine would have it then.
func (c Config) record(i int) (task.Task, error) {
	def, err := definition(c.Steps)
	if err != nil {
		return task.Task{}, err
	}
	now := time.Now()
	d, err := task.Decide(def.Workflow, task.Task{}, task.Event{Kind: task.Submitted, By: "floorfl1", Submission: &task.Submission{
		ID: task.ID(fmt.Sprintf("%d-%d", i, 100)), Workflow: "bench", Order: order}}, now)
	for k := 0; k < c.Steps/2 && err == nil; k++ {
		now = now.Add(3 * time.Millisecond)
		d, err = task.Decide(def.Workflow, d.Task, task.Event{Kind: task.Replied, By: "floorfl1", Outcome: task.Succeeded,
			Step: stepName(k), Attempt: 1, LockedBy: "floorfl1"}, now)
	}
	d.Task.Op, d.Task.Version = fmt.Sprintf("floorfl1.%04d", i), 1
	return d.Task, err
}
