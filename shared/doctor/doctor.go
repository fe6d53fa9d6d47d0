// Package doctor examines a live deployment: it holds the store against the
// invariants that can be checked from outside, and tells what is wrong, where,
// and what to do about it.
//
// The engine keeps these invariants by itself, so a finding means that something
// came between: a store that was damaged or written to by others, a Supervisor
// that does not run, a definition or an agent that was taken away, or a bug. It
// is there so that this is known on the day it happens and not weeks later.
//
// # Promises
//
// It changes nothing. It may run beside any number of engines, and reports no
// task for moving meanwhile: what a hint says (an index row, a list) is held
// against the record as it is, and again after Config.Lag before it is reported.
//
// It never shows green by omission: what it did not look at is NotChecked, with
// the reason, or Partial.
//
// A routine examination is bounded (see Bounds) and goes on where the one before
// ended, so that all is looked at in time. A full one looks at everything.
package doctor

import (
	"context"
	"fmt"
	"time"

	"triad/shared/engine"
	"triad/shared/store"
	"triad/shared/task"
)

// Config makes a Doctor. Store and Workflows are required.
type Config struct {
	Store     store.Store
	Workflows engine.Workflows
	// Agents are the names of the agents that the deployment has. Nil leaves the
	// check of agents out.
	Agents []string
	// Shards is the number of shards of the index that the Supervisors sweep, but for
	// those of held tasks. Defaults to 1.
	Shards int
	// Walker reads all records, to find a task that the index has lost. Nil
	// leaves that check out: the Store's own list of unfinished tasks may come
	// from the index.
	Walker store.Walker
	// DeadLetters counts, by queue, the messages that could not be processed and
	// wait for an operator, captured ones and dead letters alike. Nil leaves the
	// check out.
	DeadLetters func(ctx context.Context) (map[string]int, error)
	// Integrity looks for damage in the files of the store, as
	// store.ErrDamaged. Nil leaves the check out. It is only used on request.
	Integrity func(ctx context.Context) error
	// Size is how many bytes a task's record has in the store, MaxSize the most
	// that it accepts. Nil leaves the check out.
	Size    func(t task.Task) (int, error)
	MaxSize int
	// Lag is how long the index may be behind the records: what it seems to have
	// wrong is looked at again after so long. Defaults to 0: never behind.
	Lag time.Duration
	// Bounds are the limits of an examination.
	Bounds Bounds
	// Clock tells the time. Defaults to time.Now.
	Clock func() time.Time
}

// Bounds say what is too late, and how much a routine examination looks at.
type Bounds struct {
	// Overdue is how long after its CompleteBy a task may be found. Clocks of
	// different machines have to agree within it. Defaults to 5 minutes.
	Overdue time.Duration
	// Held is how long a task may wait for room. It is due from its submission
	// on, and a backlog is no fault by itself. Defaults to 1 hour.
	Held time.Duration
	// Tasks is the most tasks that each of the checks loads: of the index, of
	// what is overdue, and of those in Error. Defaults to 1,000.
	Tasks int
	// Walked is the most tasks that a routine examination walks by. Below 0 it
	// walks by none. Defaults to 10,000.
	Walked int
	// Examples is how many findings of a check are named. Defaults to 5.
	Examples int
}

// Options ask for more than a routine examination.
type Options struct {
	// Full looks at every task, in place of some.
	Full bool
	// Integrity has the files of the store checked too.
	Integrity bool
}

// Doctor examines. It is safe for concurrent use; one examination waits for
// another.
type Doctor struct {
	Config
	// busy is full while an examination is under way; at belongs to that.
	busy chan struct{}
	// at is where the next routine examination goes on.
	at struct {
		index place
		walk  string
	}
}

// place is where to go on in the index: the partition, by its place in
// partitions, and the cursor in it.
type place struct {
	partition int
	cursor    string
}

func (c Config) withDefaults() Config {
	c.Shards = max(c.Shards, 1)
	b := &c.Bounds
	if b.Overdue == 0 {
		b.Overdue = 5 * time.Minute
	}
	if b.Held == 0 {
		b.Held = time.Hour
	}
	if b.Tasks == 0 {
		b.Tasks = 1_000
	}
	if b.Walked == 0 {
		b.Walked = 10_000
	}
	if b.Examples == 0 {
		b.Examples = 5
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	return c
}

// New returns a Doctor. It looks at nothing yet.
func New(c Config) *Doctor { return &Doctor{Config: c.withDefaults(), busy: make(chan struct{}, 1)} }

// Examine makes all checks. The error is only for a context that has ended: a
// store that does not answer is in the report.
func (d *Doctor) Examine(ctx context.Context, o Options) (Report, error) {
	select {
	case d.busy <- struct{}{}:
		defer func() { <-d.busy }()
	case <-ctx.Done():
		return Report{}, fmt.Errorf("waiting for another examination: %w", ctx.Err())
	}
	e := d.begin(o)
	e.overdue(ctx)
	e.index(ctx)
	e.inError(ctx)
	e.walk(ctx)
	e.deadLetters(ctx)
	e.integrity(ctx)
	if err := ctx.Err(); err != nil {
		return Report{}, fmt.Errorf("examining: %w", err)
	}
	return e.report(), nil
}

// partitions are those of the index: each shard, and those of held tasks.
func (d *Doctor) partitions() []int {
	all := make([]int, 0, d.Shards+task.HeldShards)
	for shard := range d.Shards {
		all = append(all, shard)
	}
	for n := range task.HeldShards {
		all = append(all, task.HeldShard(n))
	}
	return all
}
