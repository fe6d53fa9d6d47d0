// Package engine is the loop that Submission, Scheduler, Supervisor and the
// operator's verbs share: load, decide, commit, send.
//
// It holds no rule about states (package task decides) and does not know where
// it runs: stores and queues are contracts. Any number of Engines, in any number
// of processes, may act on the same tasks at once; of two that act on the same
// version one commits, the other reloads and decides again.
//
// The order is fixed: the record is committed before anything is said. If the
// process dies after the commit and before the sends, the source message comes
// back and says it (task.Event.Redelivery), or the record is found in the index:
// by its deadline, or because it is marked Owing.
package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"triad/shared/queue"
	"triad/shared/store"
	"triad/shared/task"
)

// Workflows finds the definition that a task is pinned to.
type Workflows interface {
	// Workflow returns the definition of ref, name@version. An error that wraps
	// ErrNoWorkflow says that there is none; the task then waits in the index.
	Workflow(ref string) (task.Workflow, error)
}

// ErrNoWorkflow: there is no such definition.
var ErrNoWorkflow = errors.New("no such workflow")

// Sender sends messages; every queue.Queue is one.
type Sender interface {
	Send(ctx context.Context, msgs ...queue.Message) error
}

// Queues finds the queues to send to.
type Queues interface {
	// Scheduler returns the scheduler queue.
	Scheduler() Sender
	// Agent returns the request queue of an agent, and false when this
	// deployment has no such agent.
	Agent(name string) (Sender, bool)
}

// Outlet tells the world outside: response queues and operators. Sending twice
// is harmless: notices and alerts have stable ids.
type Outlet interface {
	Notify(ctx context.Context, notices []task.Notice) error
	Alert(ctx context.Context, alerts []task.Alert) error
}

// Observer hears of every decision once it is committed. It must not block.
type Observer interface {
	Decided(e task.Event, d task.Decision)
}

// Config makes an Engine. Instance, Store, Workflows and Queues are required.
type Config struct {
	// Instance names this process start, uniquely: it becomes the LockedBy of
	// what it claims. At most 16 characters keep records small.
	Instance  string
	Store     store.Store
	Workflows Workflows
	Queues    Queues
	// Outlet gets notices and alerts. Nil means that the store keeps them in
	// the write that made them, and nothing has to be sent.
	Outlet Outlet
	// Observer hears of decisions. Defaults to none.
	Observer Observer
	// Shards is the number of shards of the index, but for those of held tasks.
	// Defaults to 1.
	Shards int
	// Clock tells the time. Defaults to time.Now.
	Clock func() time.Time
	// Logger gets one line per finished task that failed (Warn) and one per
	// transition (Debug). Defaults to discarding.
	Logger *slog.Logger
}

// Engine acts on tasks. It is safe for concurrent use.
type Engine struct {
	Config
	ops atomic.Uint64
}

// maxConflicts is how often one event is decided anew because another writer
// was faster, before its message goes back to the queue.
const maxConflicts = 16

// maxRepeats is how often a write of unknown outcome is repeated at once.
const maxRepeats = 2

// NewInstance returns a Config.Instance that no other process start has: 8
// characters.
func NewInstance() string { return strings.ToLower(rand.Text()[:8]) }

// New returns an Engine.
func New(c Config) *Engine {
	c.Shards = max(c.Shards, 1)
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Engine{Config: c}
}

// Act applies an event to a task and sends what follows. The Decision tells the
// verdict. store.ErrNotFound says that there is no such task. Any other error
// means that the event has to come again: it is then recognised if its commit
// had been made.
func (e *Engine) Act(ctx context.Context, id task.ID, ev task.Event) (task.Decision, error) {
	d, err := e.Apply(ctx, id, ev)
	if err != nil {
		return d, err
	}
	return d, e.Send(ctx, d)
}

// Apply loads, decides and commits, and sends nothing: Send must follow.
func (e *Engine) Apply(ctx context.Context, id task.ID, ev task.Event) (task.Decision, error) {
	ev.By, ev.Shards = e.Instance, e.Shards
	overtaken := false
	for range maxConflicts {
		d, err := e.once(ctx, id, ev)
		if errors.Is(err, store.ErrConflict) {
			// Was it our own write that came first, its consequences are said again.
			overtaken = overtaken || errors.Is(err, store.ErrOvertaken)
			ev.Redelivery = ev.Redelivery || overtaken
			continue
		}
		if err != nil {
			return d, err
		}
		e.observe(ev, d)
		if overtaken && ev.Unsourced && ev.Kind != task.Overdue {
			return e.sayAgain(ctx, id, d)
		}
		return d, nil
	}
	return task.Decision{}, fmt.Errorf("task %s: %s after %d tries: %w", id, ev.Kind, maxConflicts, store.ErrConflict)
}

// sayAgain has a decision on what an operator asks for say all that the record
// implies: it may have been done by the write that was overtaken, and done again, or
// not, since. No message would come back to say it. The Supervisor's finds need none
// of this: the index brings their task up again.
func (e *Engine) sayAgain(ctx context.Context, id task.ID, d task.Decision) (task.Decision, error) {
	again, err := e.Apply(ctx, id, task.Event{Kind: task.Redelivered, Redelivery: true})
	again.Verdict, again.Why = d.Verdict, d.Why
	if d.Verdict == task.Refused {
		again.Why = "it may have been done before others changed the task: " + d.Why
	}
	return again, err
}

func (e *Engine) once(ctx context.Context, id task.ID, ev task.Event) (task.Decision, error) {
	t, err := e.Store.Load(ctx, id)
	if err != nil {
		return task.Decision{}, err
	}
	w, err := e.Workflows.Workflow(t.Workflow)
	if err != nil {
		return task.Decision{}, fmt.Errorf("task %s is pinned to workflow %s: %w", id, t.Workflow, err)
	}
	d, err := task.Decide(w, t, ev, e.Clock())
	if err != nil || !d.Changed {
		return d, err
	}
	// If we stop here nothing has happened: the message comes back, or the
	// index brings the task up.
	if err := e.commit(ctx, &d, e.Store.Commit); err != nil {
		return d, fmt.Errorf("after %s: %w", ev.Kind, err)
	}
	// If we stop here the record says what is to be sent; see the package
	// comment for who sends it.
	return d, nil
}

// Create commits the Decision that made a new task, and sends nothing.
// store.ErrExists says that the id is taken.
func (e *Engine) Create(ctx context.Context, ev task.Event, d task.Decision) error {
	if err := e.commit(ctx, &d, e.Store.Create); err != nil {
		return err
	}
	e.observe(ev, d)
	return nil
}

// commit names the write and makes it. An error that leaves the outcome open is
// met by repeating the write under its name.
func (e *Engine) commit(ctx context.Context, d *task.Decision, write func(context.Context, store.Change) error) error {
	d.Task.Op = e.Instance + "." + strconv.FormatUint(e.ops.Add(1), 36)
	change := store.Change{Task: d.Task, Locks: d.Locks, Outputs: d.Outputs, Notices: d.Notices, Alerts: d.Alerts}
	var err error
	for try := range 1 + maxRepeats {
		err = write(ctx, change)
		if try > 0 && errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("%w: %w", store.ErrOvertaken, err)
		}
		if err == nil || definite(err) || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// definite reports whether an error of the store says that nothing was written.
func definite(err error) bool {
	for _, known := range []error{store.ErrExists, store.ErrNotFound, store.ErrConflict, store.ErrTooLarge,
		store.ErrFull, store.ErrDamaged, store.ErrReadOnly} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

func (e *Engine) observe(ev task.Event, d task.Decision) {
	if e.Observer != nil {
		e.Observer.Decided(ev, d)
	}
	if d.Changed && d.Task.State == task.Error && d.Task.EndedAt != 0 && len(d.Moves) > 0 {
		e.Logger.Warn("task ended in Error", "task", d.Task.ID, "workflow", d.Task.Workflow, "reason", d.Task.Reason)
	}
	if e.Logger.Enabled(context.Background(), slog.LevelDebug) {
		for _, m := range d.Moves {
			e.Logger.Debug("moved", "task", d.Task.ID, "step", m.Step, "from", m.From, "to", m.To, "because", m.Cause)
		}
	}
}
