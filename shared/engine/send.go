package engine

import (
	"context"
	"errors"
	"fmt"

	"triad/shared/queue"
	"triad/shared/task"
)

// Send sends what a committed Decision says. Everything is tried; the error
// joins what could not be sent. Sending again is harmless.
//
// A task that was Owing is released once all has been sent, so that it leaves
// the index.
func (e *Engine) Send(ctx context.Context, d task.Decision) error {
	var errs []error
	for i := range d.Requests {
		errs = append(errs, e.request(ctx, &d.Requests[i]))
	}
	for _, w := range d.Wakes {
		errs = append(errs, e.wake(ctx, queue.Wake{Task: w.Task}, queue.Message{Delay: w.Delay, Group: d.Task.Tenant}))
	}
	if e.Outlet != nil && len(d.Notices) > 0 {
		errs = append(errs, e.Outlet.Notify(ctx, d.Notices))
	}
	if e.Outlet != nil && len(d.Alerts) > 0 {
		errs = append(errs, e.Outlet.Alert(ctx, d.Alerts))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("sending for task %s: %w", d.Task.ID, err)
	}
	if !d.Task.Owing || !d.Says() {
		return nil
	}
	// If we stop here, the Supervisor finds the task and sends all again.
	_, err := e.Apply(ctx, d.Task.ID, task.Event{Kind: task.Released, Version: d.Task.Version})
	return err
}

func (e *Engine) request(ctx context.Context, r *task.Request) error {
	to, found := e.Queues.Agent(r.Agent)
	if !found {
		return fmt.Errorf("step %s: this deployment has no agent %q", r.Step, r.Agent)
	}
	if err := to.Send(ctx, queue.Message{Body: queue.EncodeRequest(r), Group: r.Tenant}); err != nil {
		return fmt.Errorf("requesting step %s of agent %s: %w", r.Step, r.Agent, err)
	}
	return nil
}

// Wake sends a wake-up to the scheduler queue by which the Scheduler says again
// what the record implies.
func (e *Engine) Wake(ctx context.Context, w task.Wake) error {
	return e.wake(ctx, queue.Wake{Task: w.Task, Redeliver: true}, queue.Message{Delay: w.Delay})
}

// wake sends a wake-up in a message that has delay and group already.
func (e *Engine) wake(ctx context.Context, w queue.Wake, msg queue.Message) (err error) {
	if msg.Body, err = queue.Encode(queue.ToScheduler{Wake: &w}); err != nil {
		return fmt.Errorf("encoding a wake-up: %w", err)
	}
	msg.Delay = min(msg.Delay, queue.MaxDelay)
	if err := e.Queues.Scheduler().Send(ctx, msg); err != nil {
		return fmt.Errorf("sending a wake-up of task %s: %w", w.Task, err)
	}
	return nil
}
