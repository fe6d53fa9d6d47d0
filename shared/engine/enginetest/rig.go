// Package enginetest is a whole deployment for tests: the table, the queues, the
// catalog and a clock in memory, and any number of processes that act on them.
//
// Everything happens on the caller's goroutine and nothing waits: time stands
// still until a test moves it. So a test can stop anywhere, look at every
// message, lose any write or send, and let the rest of the order run to its end
// with Settle. Check then proves what has to hold of any history.
//
// Rig's methods are for one goroutine, the engines of its processes for many.
package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"triad/shared/catalog"
	"triad/shared/engine"
	"triad/shared/operator"
	"triad/shared/queue"
	"triad/shared/scheduler"
	"triad/shared/store/memstore"
	"triad/shared/submission"
	"triad/shared/supervisor"
	"triad/shared/task"
	"triad/shared/workflow"
)

// ErrInjected is the fault that a Rig injects.
var ErrInjected = errors.New("injected fault")

// Fault says what becomes of a call.
type Fault int

// The faults. With Lost nothing happens and the caller gets ErrInjected; with
// Applied everything happens and the caller gets ErrInjected all the same.
const (
	None Fault = iota
	Lost
	Applied
)

// Rig is a deployment in memory.
type Rig struct {
	tb testing.TB
	// Clock is the time of everything.
	Clock *Clock
	// Memory is the table itself, Table the way to it, with faults.
	Memory *memstore.Store
	Table  *Table
	// Catalog has the definitions.
	Catalog *catalog.Catalog
	// Queues has every queue, with faults.
	Queues *Queues
	// Services plays every agent and the service behind it.
	Services *Services
	// Outlet hears of notices and alerts. Set it to nil before Start to let the
	// table keep them.
	Outlet *Outlet
	// Shards is the number of shards of the index, 1 unless set before Start.
	Shards int
	// Hold makes submissions be recorded without a claim.
	Hold bool
}

// New returns a rig with the definitions, in YAML. Without any it has Order.
func New(tb testing.TB, definitions ...string) *Rig {
	tb.Helper()
	if len(definitions) == 0 {
		definitions = []string{Order}
	}
	r := &Rig{tb: tb, Clock: NewClock(), Memory: memstore.New(), Services: &Services{}, Shards: 1}
	agents := map[string]bool{}
	var defs []workflow.Definition
	for _, text := range definitions {
		d := Parse(tb, text)
		defs = append(defs, d)
		for _, s := range d.Workflow.Steps {
			agents[s.Agent] = true
		}
	}
	r.Catalog = catalog.New(defs...)
	r.Table = newTable(r.Memory)
	r.Queues = newQueues(r.Clock, agents)
	r.Outlet = &Outlet{Told: map[string]int{}}
	return r
}

// Parse reads a definition, which may name Schema as order.json.
func Parse(tb testing.TB, text string) workflow.Definition {
	tb.Helper()
	files := fstest.MapFS{"w.yaml": {Data: []byte(text)}, "order.json": {Data: []byte(Schema)}}
	d, err := workflow.ParseFS(files, "w.yaml", nil)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// Process is one process of the deployment, under its own instance name.
type Process struct {
	Engine     *engine.Engine
	Submission *submission.Submission
	Scheduler  *scheduler.Scheduler
	Supervisor *supervisor.Supervisor
	Operator   *operator.Operator
}

// Start makes a process. It does nothing until it is called.
func (r *Rig) Start(instance string) *Process {
	c := engine.Config{Instance: instance, Store: r.Table, Workflows: r.Catalog, Queues: r.Queues, Shards: r.Shards, Clock: r.Clock.Now}
	if r.Outlet != nil {
		c.Outlet = r.Outlet
	}
	return r.process(engine.New(c))
}

func (r *Rig) process(e *engine.Engine) *Process {
	return &Process{
		Engine: e,
		Submission: submission.New(submission.Config{Engine: e, Definitions: r.Catalog, Rejected: r.Memory,
			Hold: func(task.Priority) bool { return r.Hold }}),
		Scheduler:  scheduler.New(e, r.Memory),
		Supervisor: supervisor.New(supervisor.Config{Engine: e, Seed: 1}),
		Operator:   operator.New(e),
	}
}

// Submission is a submission that Order's schema accepts.
func Submission(id task.ID) task.Submission {
	return task.Submission{ID: id, Workflow: "order", Order: json.RawMessage(`{"total":5}`), ResponseQueue: "shop", Tenant: "acme"}
}

// Submit has the process accept a submission.
func (r *Rig) Submit(p *Process, id task.ID) task.Task {
	r.tb.Helper()
	return r.SubmitFor(p, "acme", id)
}

// SubmitFor has the process accept a submission of a tenant.
func (r *Rig) SubmitFor(p *Process, tenant string, id task.ID) task.Task {
	r.tb.Helper()
	sub := Submission(id)
	sub.Tenant = tenant
	receipt, err := p.Submission.Submit(context.Background(), sub)
	if err != nil {
		r.tb.Fatal(err)
	}
	return receipt.Task
}

// Enqueue puts a submission on the submissions queue, as an application does.
func (r *Rig) Enqueue(sub task.Submission) {
	r.tb.Helper()
	body, err := queue.Encode(sub)
	if err == nil {
		err = r.Queues.Submissions.Send(context.Background(), queue.Message{Body: body})
	}
	if err != nil {
		r.tb.Fatal(err)
	}
}

// Task reads a task from the table.
func (r *Rig) Task(id task.ID) task.Task {
	r.tb.Helper()
	t, err := r.Memory.Load(context.Background(), id)
	if err != nil {
		r.tb.Fatal(err)
	}
	return t
}

// Line is a task on one line: its state, then each step that has begun, with
// its state, attempt, and failures if any.
func Line(t task.Task) string {
	line := string(t.State)
	for _, s := range t.Steps {
		if s.State == task.Pending && s.Attempt == 0 {
			continue
		}
		line += fmt.Sprintf(" %s:%s#%d", s.Name, s.State, s.Attempt)
		if s.FailureCount > 0 {
			line += fmt.Sprintf("!%d", s.FailureCount)
		}
	}
	return line
}

// Noon is when every rig begins.
func Noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }
