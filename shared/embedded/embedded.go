// Package embedded is the whole engine in one process: Submission, Scheduler,
// Agents and Supervisor over one durable file and queues in memory.
//
// The table is durable and the queues are not, and that is enough, because
// queues are hints: at start the engine, sole owner of its file, wakes every
// unfinished task, and the Scheduler says again what each record implies, with
// the same attempts and the same idempotency keys. A kill at any moment loses
// nothing that was acknowledged, and work in flight goes on at once.
//
// Memory is bounded, and services get no more than they can take: when the
// queues are full (see Config.InFlight), new tasks are recorded without a claim;
// they stay in the table, and the Supervisor fetches them, oldest first, when
// there is room.
//
// It assumes nothing of being alone beyond its file and its memory: locks are
// LockedBy and version, as everywhere in Triad.
package embedded

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"sync/atomic"
	"time"

	"triad/shared/agent"
	"triad/shared/doctor"
	"triad/shared/engine"
	"triad/shared/operator"
	"triad/shared/queue"
	"triad/shared/scheduler"
	"triad/shared/store"
	"triad/shared/submission"
	"triad/shared/supervisor"
	"triad/shared/task"
)

// Definitions finds definitions, for submissions and for tasks under way.
type Definitions interface {
	submission.Definitions
	engine.Workflows
}

// Agent is one agent of the process.
type Agent struct {
	// Work does the work.
	Work agent.Func
	// Retry is the backoff inside one attempt; zero fields have the defaults of
	// package agent.
	Retry task.Retry
	// Concurrency is the most calls at once. Defaults to 64.
	Concurrency int
	// Counters count what happens. Defaults to counters of the engine's own.
	Counters *agent.Counters
}

// Config makes an Engine. Store, Ledger, Definitions and Agents are required.
// The Engine uses them and does not close them.
type Config struct {
	Store       store.Store
	Ledger      store.Ledger
	Definitions Definitions
	Agents      map[string]Agent
	// InFlight is how many messages the queues may hold before new tasks are
	// held back. Defaults to 4,096. They are held back sooner when the queue of
	// one agent holds twice as many requests as it works on at once: a request's
	// CompleteBy runs while it waits.
	InFlight int
	// Sweep is the Supervisor's period. Defaults to 1 s.
	Sweep time.Duration
	// Schedulers is the most scheduler messages handled at once; it also bounds
	// how many commits share one group. Defaults to 512.
	Schedulers int
	// MaxUnfinished is how many unfinished tasks are taken on before
	// submissions are refused as full. Defaults to 5,000,000.
	MaxUnfinished int
	// Unfinished is how many unfinished tasks the store has at the start.
	Unfinished int
	// Doctor has what the doctor needs beside Store, Workflows, Agents, Shards and
	// Clock, which are the engine's own. What it lacks is not checked.
	Doctor doctor.Config
	// Examine is how often the doctor examines. Defaults to 10 minutes.
	Examine time.Duration
	// Examined hears of every such examination. Defaults to none.
	Examined func(doctor.Report)
	// Observer hears of every decision. Defaults to none.
	Observer engine.Observer
	// Swept hears of every sweep. Defaults to none.
	Swept func(supervisor.Report, error)
	// Clock tells the time. Defaults to time.Now.
	Clock func() time.Time
	// Logger defaults to discarding.
	Logger *slog.Logger
}

// Engine is the embedded engine. It is safe for concurrent use.
type Engine struct {
	// Submission, Operator, Doctor and Instance are for callers in the same
	// process.
	Submission *submission.Submission
	Operator   *operator.Operator
	Doctor     *doctor.Doctor
	Instance   string

	config     Config
	core       *engine.Engine
	queues     *queues
	supervisor *supervisor.Supervisor
	scheduler  *scheduler.Scheduler
	agents     map[string]*agent.Agent
	// backlog is true while held tasks wait in the table: those submitted
	// meanwhile are held too, so that the oldest go first. held wakes who
	// brings them back.
	backlog    atomic.Bool
	held       chan struct{}
	unfinished atomic.Int64
	swept      atomic.Int64 // when the last sweep ended without an error, Millis
	findings   atomic.Int64 // of the last examination
}

func (c Config) withDefaults() Config {
	if c.InFlight == 0 {
		c.InFlight = 4096
	}
	if c.Sweep == 0 {
		c.Sweep = time.Second
	}
	if c.Examine == 0 {
		c.Examine = 10 * time.Minute
	}
	if c.Schedulers == 0 {
		c.Schedulers = 512
	}
	if c.MaxUnfinished == 0 {
		c.MaxUnfinished = 5_000_000
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Agents = maps.Clone(c.Agents)
	for name, a := range c.Agents {
		if a.Concurrency == 0 {
			a.Concurrency = 64
			c.Agents[name] = a
		}
	}
	return c
}

// New wires an Engine. Nothing runs before Run; submissions are accepted and
// wait.
func New(c Config) (*Engine, error) {
	c = c.withDefaults()
	e := &Engine{config: c, Instance: engine.NewInstance(), agents: map[string]*agent.Agent{}, held: make(chan struct{}, 1)}
	e.unfinished.Store(int64(c.Unfinished))
	e.swept.Store(c.Clock().UnixMilli())
	e.queues = newQueues(c)
	e.core = engine.New(engine.Config{
		Instance: e.Instance, Store: c.Store, Workflows: c.Definitions, Queues: e.queues,
		Observer: e, Clock: c.Clock, Logger: c.Logger,
	})
	e.Submission = submission.New(submission.Config{
		Engine: e.core, Definitions: c.Definitions, Rejected: c.Ledger, Hold: e.hold,
	})
	e.Operator = operator.New(e.core)
	e.scheduler = scheduler.New(e.core, c.Ledger)
	e.supervisor = supervisor.New(supervisor.Config{Engine: e.core})
	e.Doctor = e.doctor()
	for name, a := range c.Agents {
		made, err := e.agent(name, a)
		if err != nil {
			return nil, err
		}
		e.agents[name] = made
	}
	if c.Unfinished > 0 {
		e.holds() // it is not known yet whether held tasks wait
	}
	return e, nil
}

func (e *Engine) agent(name string, a Agent) (*agent.Agent, error) {
	made, err := agent.New(agent.Config{
		Name: name, Work: a.Work, Retry: a.Retry, Counters: a.Counters, Replies: e.queues.scheduler,
		Rejected: func(ctx context.Context, body []byte, reason string) error {
			return e.config.Ledger.Reject(ctx, store.Rejected{
				Queue: queue.AgentQueue(name), Body: body, Reason: reason, At: task.At(e.config.Clock())})
		},
		Clock: e.config.Clock, Logger: e.config.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", name, err)
	}
	return made, nil
}

// Decided notes held tasks, counts unfinished ones, and hands on to the configured
// Observer.
func (e *Engine) Decided(ev task.Event, d task.Decision) {
	if ev.Hold {
		e.holds() // now that it is in the table, it can be brought back
	}
	for _, m := range d.Moves {
		if m.Step != "" {
			continue
		}
		switch was, is := m.From != "" && !m.From.Finished(), !m.To.Finished(); {
		case is && !was:
			e.unfinished.Add(1)
		case was && !is:
			e.unfinished.Add(-1)
		}
	}
	if e.config.Observer != nil {
		e.config.Observer.Decided(ev, d)
	}
}

// Unfinished is how many tasks have not finished.
func (e *Engine) Unfinished() int { return int(e.unfinished.Load()) }

// Full reports that no more submissions should be taken on now.
func (e *Engine) Full() bool { return e.Unfinished() >= e.config.MaxUnfinished }

// Ready says what keeps the engine from its work: nil when a sweep has ended
// without an error of late.
func (e *Engine) Ready() error {
	last := time.UnixMilli(e.swept.Load())
	if since := e.config.Clock().Sub(last); since > 10*e.config.Sweep+10*time.Second {
		return fmt.Errorf("the Supervisor has not swept since %s: the log says why", last.UTC().Format(time.RFC3339))
	}
	return nil
}

// Depths is how many messages each queue holds, by name.
func (e *Engine) Depths() map[string]int { return e.queues.depths() }

// Agents is what each agent has counted, by name.
func (e *Engine) Agents() map[string]agent.Stats {
	all := make(map[string]agent.Stats, len(e.agents))
	for name, a := range e.agents {
		all[name] = a.Counters().Stats()
	}
	return all
}

// room is how many more requests the queues may hold.
func (e *Engine) room() int {
	left, least := e.config.InFlight-e.queues.pending(), math.MaxInt
	for name, a := range e.config.Agents {
		waiting := e.queues.waiting(name)
		left -= waiting
		least = min(least, 2*a.Concurrency-waiting)
	}
	return max(0, min(left, least))
}

// hold reports that a new task must wait in the table: when there is no room, or
// others have waited for longer. Those are no reason for a high priority.
func (e *Engine) hold(p task.Priority) bool {
	return e.room() == 0 || p != task.High && e.backlog.Load()
}

// holds notes that held tasks wait.
func (e *Engine) holds() {
	e.backlog.Store(true)
	select {
	case e.held <- struct{}{}:
	default: // known already
	}
}
