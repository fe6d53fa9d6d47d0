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
	"slices"
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
	sw := &sweep{s: s, now: s.Engine.Clock()}
	left := s.Cap
	for _, l := range sw.lines(s.Engine.Shards, func(n int) int { return n }) {
		left -= sw.take(ctx, l, left)
	}
	return sw.end()
}

// Admit brings back up to room tasks that were recorded without a claim because
// there was no room for their requests (task.Event.Hold). They are in shards of
// their own, so that however many wait, Sweep is not held up. Those of a higher
// priority go first. The shards of a priority share the room, each its oldest tasks
// first; what one does not need is the others'. All tasks of a tenant wait in one
// shard: many of one tenant hold up few of others.
func (s *Supervisor) Admit(ctx context.Context, room int) (Report, error) {
	if room <= 0 {
		return Report{}, nil
	}
	sw := &sweep{s: s, now: s.Engine.Clock()}
	for first := 0; first < task.HeldShards; first += task.HeldLines {
		room -= sw.share(ctx, sw.lines(task.HeldLines, func(n int) int { return task.HeldShard(first + n) }), room)
	}
	return sw.end()
}

// sweep is one sweep under way.
type sweep struct {
	s             *Supervisor
	now           time.Time
	all           []*line
	report        Report
	acted, failed atomic.Int64
	err           error
}

// line is what is due in a shard, the earliest first.
type line struct {
	query  store.DueQuery
	rows   []store.Due // read, and not acted on yet
	behind bool        // there may be more behind them
}

func (l *line) ended() bool { return len(l.rows) == 0 && !l.behind }

// lines are those of n shards, in random order.
func (sw *sweep) lines(n int, shard func(n int) int) (made []*line) {
	sw.s.mu.Lock()
	order := sw.s.rng.Perm(n)
	sw.s.mu.Unlock()
	before := task.At(sw.now.Add(-sw.s.Guard))
	for _, i := range order {
		made = append(made, &line{query: store.DueQuery{Shard: shard(i), Before: before}, behind: true})
	}
	sw.all = append(sw.all, made...)
	return made
}

// end is what the sweep came to.
func (sw *sweep) end() (Report, error) {
	sw.report.Acted, sw.report.Failed = int(sw.acted.Load()), int(sw.failed.Load())
	sw.report.More = slices.ContainsFunc(sw.all, func(l *line) bool { return !l.ended() })
	return sw.report, sw.err
}

// share has lines share room for n, and returns how much of it they took.
func (sw *sweep) share(ctx context.Context, waiting []*line, n int) (taken int) {
	for len(waiting) > 0 && ctx.Err() == nil {
		each := max((n-taken)/len(waiting), 1)
		for _, l := range waiting {
			taken += sw.take(ctx, l, min(each, n-taken))
		}
		if taken == n {
			break
		}
		waiting = slices.DeleteFunc(waiting, (*line).ended)
	}
	return taken
}

// take acts on what is first in a line, and returns on how much: n, if there is so
// much. What can't be acted on does not count: however much of that there is at
// the head, what is behind it is reached.
func (sw *sweep) take(ctx context.Context, l *line, n int) (taken int) {
	for !l.ended() && ctx.Err() == nil {
		if len(l.rows) == 0 {
			sw.read(ctx, l, n-taken)
			continue
		}
		if taken == n {
			break // and it is known that there is more
		}
		some := l.rows[:min(len(l.rows), n-taken)]
		l.rows = l.rows[len(some):]
		taken += sw.some(ctx, some)
	}
	if err := ctx.Err(); err != nil {
		sw.err = err
	}
	return taken
}

// read reads a page of a line. A line that can't be read ends, for this sweep.
func (sw *sweep) read(ctx context.Context, l *line, n int) {
	l.query.Limit = min(n+1, pageSize)
	page, err := sw.s.Engine.Store.Due(ctx, l.query)
	if err != nil {
		sw.err = fmt.Errorf("sweeping shard %d: %w", l.query.Shard, err)
		l.behind = false
		return
	}
	if len(page.Rows) > 0 {
		sw.report.Oldest = max(sw.report.Oldest, sw.now.Sub(page.Rows[0].CompleteBy.Time()))
	}
	l.rows, l.query.Cursor, l.behind = page.Rows, page.Next, page.Next != ""
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
