package sim

import (
	"context"
	"fmt"
	"time"

	"triad/shared/agent"
	"triad/shared/engine"
	"triad/shared/operator"
	"triad/shared/queue"
	"triad/shared/scheduler"
	"triad/shared/store"
	"triad/shared/submission"
	"triad/shared/supervisor"
	"triad/shared/task"
)

// role is which part of the pattern an instance plays.
type role uint8

// The roles.
const (
	roleSubmission role = iota
	roleScheduler
	roleAgent
	roleSupervisor
	roleOperator
	numRoles
)

var roleLetters = [numRoles]string{"sub", "sched", "agent", "super", "op"}

// process is one instance of one role: a start of a program, under a name that no
// other has. It has a clock of its own. When it is killed another takes its place.
type process struct {
	world  *world
	role   role
	number int
	starts int
	name   string
	// skew is how far its clock is off. behind: it does not know the newest
	// definitions.
	skew   time.Duration
	behind bool
	// downUntil is when it is there again after it was killed.
	downUntil task.Millis

	engine     *engine.Engine
	submission *submission.Submission
	scheduler  *scheduler.Scheduler
	supervisor *supervisor.Supervisor
	operator   *operator.Operator
	agents     map[string]*agent.Agent
	// nextTick is when a Supervisor sweeps next.
	nextTick task.Millis
}

// startProcesses makes the deployment.
func (w *world) startProcesses() {
	for r := range numRoles {
		n := w.plan.instances
		if r == roleOperator {
			n = 1
		}
		for i := range n {
			p := &process{world: w, role: r, number: i}
			w.processes = append(w.processes, p)
			w.byRole[r] = append(w.byRole[r], p)
			p.behind = i > 0 && w.hit(VersionBehind)
			p.start()
		}
	}
}

// start makes the engines of a new start of the process.
func (p *process) start() {
	w := p.world
	p.starts++
	p.name = fmt.Sprintf("%s%d.%d", roleLetters[p.role], p.number, p.starts)
	p.drawSkew()
	c := engine.Config{
		Instance: p.name, Store: tablePort{w}, Workflows: definitions{p}, Queues: senders{w}, Observer: w.tally,
		Shards: w.plan.shards, Clock: p.clock,
	}
	if !w.plan.keepTold {
		c.Outlet = outletPort{w}
	}
	p.engine = engine.New(c)
	switch p.role {
	case roleSubmission:
		p.submission = submission.New(submission.Config{
			Engine: p.engine, Definitions: definitions{p}, Rejected: rejectPort{w},
			Hold: func(task.Priority) bool { return w.hit(InputHeld) },
		})
	case roleScheduler:
		p.scheduler = scheduler.New(p.engine, rejectPort{w})
	case roleAgent:
		p.startAgents()
	case roleSupervisor:
		p.supervisor = supervisor.New(supervisor.Config{
			Engine: p.engine, Cap: w.plan.cap, Guard: w.plan.guard, Spread: w.plan.spread,
			Parallel: 1, Seed: w.rng.Uint64() | 1,
		})
		p.nextTick = w.now.Add(time.Duration(w.rng.Int64N(int64(w.plan.period)) + 1))
	case roleOperator:
		p.operator = operator.New(p.engine)
	}
}

func (p *process) startAgents() {
	w := p.world
	p.agents = map[string]*agent.Agent{}
	for _, name := range w.agentNames {
		a, err := agent.New(agent.Config{
			Name: name,
			Work: w.work,
			Rejected: func(ctx context.Context, body []byte, reason string) error {
				return rejectPort{w}.Reject(ctx, store.Rejected{Queue: queue.AgentQueue(name), Body: body, Reason: reason})
			},
			Replies: sender{w, w.toScheduler}, Clock: p.clock, Sleep: w.sleep,
			Retry: task.Retry{Attempts: w.plan.callsInside},
		})
		if err != nil {
			panic(err) // nothing that it needs is missing
		}
		p.agents[name] = a
	}
}

// sleep is an agent's wait between two calls: a pause of the hand.
func (w *world) sleep(ctx context.Context, d time.Duration) bool {
	w.cur.pause(d)
	return ctx.Err() == nil
}

// drawSkew sets the instance's clock.
func (p *process) drawSkew() {
	w := p.world
	p.skew = 0
	if w.hit(ClockSkew) {
		p.skew = time.Duration(w.rng.IntN(60_001)-30_000) * time.Millisecond
	}
	if w.hit(ClockFar) {
		p.skew += time.Duration(w.rng.IntN(600_001)-300_000) * time.Millisecond
	}
}

// clock is what the instance believes the time is. A hand that is dead does not
// get that far.
func (p *process) clock() time.Time {
	w := p.world
	now := w.now.Add(p.skew)
	if h := w.cur; h != nil {
		if h.dead {
			panic(crash{})
		}
		h.now = now
	}
	return now.Time()
}

// up reports whether the instance takes on work.
func (p *process) up() bool { return p.world.now >= p.downUntil }

// restart kills an instance, with all that it is doing, and starts another in its
// place a little later.
func (w *world) restart(p *process) {
	for _, h := range append([]*hand(nil), w.hands...) {
		if h.proc == p {
			w.kill(h)
		}
	}
	p.downUntil = w.now.Add(time.Duration(w.rng.IntN(20_000)) * time.Millisecond)
	p.start()
	if p.role == roleSupervisor {
		p.nextTick = max(p.nextTick, p.downUntil)
	}
}

// someone picks an instance of a role that is up, or nil.
func (w *world) someone(r role) *process {
	all := w.byRole[r]
	first := w.rng.IntN(len(all))
	for i := range all {
		if p := all[(first+i)%len(all)]; p.up() {
			return p
		}
	}
	return nil
}

// definitions is what an instance knows of the workflows.
type definitions struct{ p *process }

func (d definitions) known(ref string) (*shape, error) {
	w := d.p.world
	name, version, err := task.SplitRef(ref)
	if err != nil {
		return nil, fmt.Errorf("%w: %q", engine.ErrNoWorkflow, ref)
	}
	var found *shape
	for _, s := range w.shapes {
		if s.flow.Name != name || version != 0 && s.flow.Version != version || d.p.behind && s.newest {
			continue
		}
		if found == nil || s.flow.Version > found.flow.Version {
			found = s
		}
	}
	if found == nil {
		return nil, fmt.Errorf("%w: %q", engine.ErrNoWorkflow, ref)
	}
	return found, nil
}

// Workflow implements engine.Workflows.
func (d definitions) Workflow(ref string) (task.Workflow, error) {
	s, err := d.known(ref)
	if err != nil {
		return task.Workflow{}, err
	}
	return s.flow, nil
}

// Definition implements submission.Definitions.
func (d definitions) Definition(ref string) (submission.Definition, error) {
	s, err := d.known(ref)
	if err != nil {
		return nil, err
	}
	return s, nil
}
