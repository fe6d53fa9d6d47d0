package command

import (
	"context"
	"errors"

	"triad/shared/api/client"
	"triad/shared/operator"
	"triad/shared/task"
)

// Targets are the tasks that a verb is for, and why.
type Targets struct {
	IDs    []string `arg:"" name:"id" help:"Ids of the tasks."`
	Reason string   `placeholder:"TEXT" help:"Who and why; kept with the task when it ends by this."`
}

// The commands that ask one thing of each of some tasks. Asking for what is so
// already is a success.
type (
	// ResubmitCommand lets failed tasks go on.
	ResubmitCommand struct{ Targets }
	// CancelCommand ends tasks.
	CancelCommand struct{ Targets }
	// UndoCommand has tasks undone.
	UndoCommand struct{ Targets }
	// PauseCommand stops the claims of tasks.
	PauseCommand struct{ Targets }
	// ResumeCommand starts them again.
	ResumeCommand struct{ Targets }
)

// Help is the detailed help.
func (ResubmitCommand) Help() string {
	return `For tasks in Error, once the cause is mended. Failure counts and deadlines start anew; steps that are done are not done again.

Example:

  triad resubmit order-1 order-2 --reason "payment is back"`
}

// Help is the detailed help.
func (CancelCommand) Help() string {
	return `Live attempts end first; then what was done is undone, latest first, and the task is Cancelled.

Example:

  triad cancel order-1 --reason "customer changed their mind"`
}

// Help is the detailed help.
func (UndoCommand) Help() string {
	return `As cancel, but the task ends Compensated, and a task in Error can be undone too.

Example:

  triad undo order-1 --reason "goods are out of stock"`
}

// Help is the detailed help.
func (PauseCommand) Help() string {
	return `Live attempts go on; the task's deadline runs on; undo is never paused.

Example:

  triad pause order-1`
}

// Help is the detailed help.
func (ResumeCommand) Help() string {
	return `Example:

  triad resume order-1`
}

// Run resubmits.
func (c *ResubmitCommand) Run(ctx context.Context, env *Env, g *Globals) error {
	return c.ask(ctx, env, g, operator.Resubmit)
}

// Run cancels.
func (c *CancelCommand) Run(ctx context.Context, env *Env, g *Globals) error {
	return c.ask(ctx, env, g, operator.Cancel)
}

// Run undoes.
func (c *UndoCommand) Run(ctx context.Context, env *Env, g *Globals) error {
	return c.ask(ctx, env, g, operator.Undo)
}

// Run pauses.
func (c *PauseCommand) Run(ctx context.Context, env *Env, g *Globals) error {
	return c.ask(ctx, env, g, operator.Pause)
}

// Run resumes.
func (c *ResumeCommand) Run(ctx context.Context, env *Env, g *Globals) error {
	return c.ask(ctx, env, g, operator.Resume)
}

// ask asks for each task in turn. One that fails is told and does not keep the
// others from their turn.
func (t *Targets) ask(ctx context.Context, env *Env, g *Globals, verb operator.Verb) error {
	ids := make([]task.ID, len(t.IDs))
	for i, s := range t.IDs {
		var err error
		if ids[i], err = taskID(s); err != nil {
			return err
		}
	}
	server, err := env.client(ctx, g, 1)
	if err != nil {
		return err
	}
	one := asker{env: env, json: g.JSON, server: server}
	if len(ids) == 1 {
		return one.ask(ctx, ids[0], operator.Ask{Verb: verb, Reason: t.Reason}, env.document)
	}
	failed := false
	for _, id := range ids {
		err := one.ask(ctx, id, operator.Ask{Verb: verb, Reason: t.Reason}, env.line)
		if err != nil && (ctx.Err() != nil || !perTask(err)) {
			return err
		}
		if err != nil {
			env.note("%s: %s", id, err)
			failed = true
		}
	}
	if failed {
		return errTold
	}
	return nil
}

// perTask reports whether an error is about one task, so that others may fare
// better.
func perTask(err error) bool {
	return errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrConflict)
}

// asker asks things of tasks and prints what they are then.
type asker struct {
	env    *Env
	json   bool
	server *client.Client
}

func (o asker) ask(ctx context.Context, id task.ID, a operator.Ask, asJSON func(any) error) error {
	t, err := o.server.Ask(ctx, id, a)
	if err != nil {
		return err
	}
	if o.json {
		return asJSON(t)
	}
	state := o.env.paint(clean(string(t.State)))
	if t.Paused {
		state += " (paused)"
	}
	return o.env.print("%s  %s  %s", a.Verb, id, state)
}
