package enginetest

import (
	"context"
	"fmt"

	"triad/shared/engine"
	"triad/shared/queue"
	"triad/shared/store"
	"triad/shared/task"
)

// Strike says how a call of a port ends.
type Strike int

// The strikes. Refused: nothing is done, and the caller gets ErrInjected. Hidden:
// all is done, and the caller gets ErrInjected. With Dead the process dies before
// the call, with DeadAfter after it: whatever it still does has no effect.
const (
	Through Strike = iota
	Refused
	Hidden
	Dead
	DeadAfter
)

// Ports counts the calls that processes make of table, queues and outlet, and lets
// chosen ones fail. It is for one goroutine, and one process at a time.
type Ports struct {
	// At says how a call ends, by its number from 1. Nil lets all through.
	At func(call int) Strike
	// Calls is how many there were, Struck how many of them did not get through.
	Calls, Struck int
	// Died is true from the death of a process until it is set to false, for the
	// next one.
	Died bool
}

// Do makes a call, or lets it fail.
func (p *Ports) Do(what string, call func() error) error {
	if p.Died {
		return fmt.Errorf("%s: %w: the process is dead", what, ErrInjected)
	}
	p.Calls++
	how := Through
	if p.At != nil {
		how = p.At(p.Calls)
	}
	if how != Through {
		p.Struck++
	}
	p.Died = how == Dead || how == DeadAfter
	if how == Refused || how == Dead {
		return fmt.Errorf("%s: %w", what, ErrInjected)
	}
	if err := call(); err != nil || how == Through {
		return err
	}
	return fmt.Errorf("%s, which was done: %w", what, ErrInjected)
}

// StartThrough is Start, with every call of the process through the ports.
func (r *Rig) StartThrough(instance string, p *Ports) *Process {
	c := engine.Config{
		Instance: instance, Store: struckStore{r.Table, p}, Workflows: r.Catalog,
		Queues: struckQueues{r.Queues, p}, Outlet: struckOutlet{r.Outlet, p}, Clock: r.Clock.Now,
	}
	return r.process(engine.New(c))
}

type struckStore struct {
	store.Store
	ports *Ports
}

func (s struckStore) Create(ctx context.Context, c store.Change) error {
	return s.ports.Do("creating", func() error { return s.Store.Create(ctx, c) })
}

func (s struckStore) Commit(ctx context.Context, c store.Change) error {
	return s.ports.Do("committing", func() error { return s.Store.Commit(ctx, c) })
}

func (s struckStore) Load(ctx context.Context, id task.ID) (t task.Task, err error) {
	err = s.ports.Do("loading", func() error { t, err = s.Store.Load(ctx, id); return err })
	return t, err
}

func (s struckStore) Due(ctx context.Context, q store.DueQuery) (page store.DuePage, err error) {
	err = s.ports.Do("reading what is due", func() error { page, err = s.Store.Due(ctx, q); return err })
	return page, err
}

type struckQueues struct {
	queues *Queues
	ports  *Ports
}

func (q struckQueues) Scheduler() engine.Sender { return struckSender{q.queues.Scheduler(), q.ports} }

func (q struckQueues) Agent(name string) (engine.Sender, bool) {
	to, found := q.queues.Agent(name)
	return struckSender{to, q.ports}, found
}

type struckSender struct {
	to    engine.Sender
	ports *Ports
}

func (s struckSender) Send(ctx context.Context, msgs ...queue.Message) error {
	return s.ports.Do("sending", func() error { return s.to.Send(ctx, msgs...) })
}

type struckOutlet struct {
	to    *Outlet
	ports *Ports
}

func (o struckOutlet) Notify(ctx context.Context, notices []task.Notice) error {
	return o.ports.Do("notifying", func() error { return o.to.Notify(ctx, notices) })
}

func (o struckOutlet) Alert(ctx context.Context, alerts []task.Alert) error {
	return o.ports.Do("alerting", func() error { return o.to.Alert(ctx, alerts) })
}
