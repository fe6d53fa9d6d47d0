// Package supervisor is the Supervisor of the pattern: it looks for tasks whose
// CompleteBy has passed and has them recovered. It knows no business operation
// and starts none: package task decides what is reset, failed or undone, and a
// Scheduler is woken to go on.
//
// It is level-triggered: every sweep queries the index anew, so what one sweep
// leaves (a crash, a failed write, its cap) the next one finds. A row of the
// index is a hint; each act is a conditional write on the record itself, so
// several Supervisors at once are harmless.
package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"triad/shared/engine"
	"triad/shared/store"
	"triad/shared/task"
)

// Config makes a Supervisor. Engine is required.
type Config struct {
	Engine *engine.Engine
	// Shards is the number of shards of the index. Defaults to 1.
	Shards int
	// Guard is how long after its CompleteBy a task is looked at, to let small
	// differences between clocks pass. Defaults to 0.
	Guard time.Duration
	// Cap is the most tasks that one sweep acts on, so that recovery after an
	// outage is no storm. Defaults to 1,000.
	Cap int
	// Parallel is how many tasks are acted on at once. With 1 they are acted on
	// one by one in the caller's goroutine. Defaults to 16.
	Parallel int
	// Spread delays the wake-ups of a sweep by a random time of up to this, so
	// that they don't all arrive at once. At most half of the 30 s after which a
	// task that was woken is looked at again. Defaults to none.
	Spread time.Duration
	// Seed makes the order of shards and the spread repeatable. Defaults to
	// a random one.
	Seed uint64
}

// Supervisor sweeps. It is safe for concurrent use.
type Supervisor struct {
	Config
	mu  sync.Mutex
	rng *rand.Rand
}

// New returns a Supervisor.
func New(c Config) *Supervisor {
	c.Shards = max(c.Shards, 1)
	if c.Cap == 0 {
		c.Cap = 1000
	}
	if c.Parallel == 0 {
		c.Parallel = 16
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	return &Supervisor{Config: c, rng: rand.New(rand.NewPCG(c.Seed, 0))}
}

// Report is what one sweep did.
type Report struct {
	// Looked is the number of index rows read, Acted of tasks changed, Failed
	// of tasks that could not be acted on: those stay in the index.
	Looked, Acted, Failed int
	// More is true when the cap ended the sweep: there is more to do now.
	More bool
	// Oldest is how far the earliest row was past its CompleteBy.
	Oldest time.Duration
}

// pageSize is how many index rows are read at once.
const pageSize = 200

// Sweep looks at every shard once, in random order. The error is for a shard
// that can't be read; the others are swept all the same. A task that can't be
// acted on is logged and counted, and holds up none of the others.
func (s *Supervisor) Sweep(ctx context.Context) (Report, error) {
	return s.sweep(ctx, s.Cap, func(shard int) int { return shard })
}

// Admit brings back up to room tasks that were recorded without a claim because
// there was no room for their requests (task.Event.Hold), oldest first. They are
// in shards of their own, so that however many wait, Sweep is not held up.
func (s *Supervisor) Admit(ctx context.Context, room int) (Report, error) {
	if room <= 0 {
		return Report{}, nil
	}
	return s.sweep(ctx, room, task.HeldShard)
}

func (s *Supervisor) sweep(ctx context.Context, limit int, shardOf func(int) int) (Report, error) {
	sw := &sweep{s: s, now: s.Engine.Clock(), left: limit}
	s.mu.Lock()
	order := s.rng.Perm(s.Shards)
	s.mu.Unlock()
	var failed error
	for _, shard := range order {
		if err := sw.shard(ctx, shardOf(shard)); err != nil {
			failed = fmt.Errorf("sweeping shard %d: %w", shard, err)
		}
	}
	sw.report.Acted, sw.report.Failed = int(sw.acted.Load()), int(sw.failed.Load())
	return sw.report, failed
}

// sweep is one sweep under way.
type sweep struct {
	s             *Supervisor
	now           time.Time
	left          int
	report        Report
	acted, failed atomic.Int64
}

// shard pages through what is due in one shard, past rows that can't be acted
// on, until there is no more or the cap is reached.
func (sw *sweep) shard(ctx context.Context, shard int) error {
	q := store.DueQuery{Shard: shard, Before: task.At(sw.now.Add(-sw.s.Guard)), Limit: pageSize}
	for {
		page, err := sw.s.Engine.Store.Due(ctx, q)
		if err != nil {
			return err
		}
		if len(page.Rows) > 0 {
			sw.report.Oldest = max(sw.report.Oldest, sw.now.Sub(page.Rows[0].CompleteBy.Time()))
		}
		sw.page(ctx, page.Rows)
		if sw.left == 0 && page.Next != "" {
			sw.report.More = true
		}
		if page.Next == "" || sw.left == 0 || ctx.Err() != nil {
			return ctx.Err()
		}
		q.Cursor = page.Next
	}
}

// page acts on rows until the cap is reached. Rows that fail don't use up the
// cap: however many there are at the head, what is behind them is reached.
func (sw *sweep) page(ctx context.Context, rows []store.Due) {
	for len(rows) > 0 && sw.left > 0 && ctx.Err() == nil {
		n := min(len(rows), sw.left)
		sw.left -= sw.some(ctx, rows[:n])
		rows = rows[n:]
	}
	if len(rows) > 0 {
		sw.report.More = true
	}
}

// some acts on rows in parallel and returns how many of them did not fail.
func (sw *sweep) some(ctx context.Context, rows []store.Due) int {
	var g errgroup.Group
	g.SetLimit(sw.s.Parallel)
	before := sw.failed.Load()
	for _, row := range rows {
		if sw.s.Parallel == 1 {
			sw.act(ctx, row.ID)
			continue
		}
		g.Go(func() error {
			sw.act(ctx, row.ID)
			return nil
		})
	}
	_ = g.Wait() // no function returns an error: failures are counted
	sw.report.Looked += len(rows)
	return len(rows) - int(sw.failed.Load()-before)
}

// act has one task recovered. If we stop between the write and the sends, the
// task is still in the index: its next look is set, never removed.
func (sw *sweep) act(ctx context.Context, id task.ID) {
	e := sw.s.Engine
	d, err := e.Apply(ctx, id, task.Event{Kind: task.Overdue, Unsourced: true})
	if err == nil {
		sw.s.spread(d.Wakes)
		err = e.Send(ctx, d)
	}
	switch {
	case err != nil:
		sw.failed.Add(1)
		e.Logger.LogAttrs(ctx, slog.LevelError, "recovering a task; it stays in the index",
			slog.String("task", string(id)), slog.Any("error", err))
	case d.Changed:
		sw.acted.Add(1)
	}
}

func (s *Supervisor) spread(wakes []task.Wake) {
	if s.Spread <= 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range wakes {
		wakes[i].Delay += time.Duration(s.rng.Int64N(int64(s.Spread)))
	}
}
