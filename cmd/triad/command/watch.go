package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"triad/shared/api"
	"triad/shared/api/client"
	"triad/shared/task"
)

// WatchCommand follows a task, or counts all.
type WatchCommand struct {
	ID    string         `arg:"" optional:"" help:"Id of the task; without it, the number of tasks in each state is shown."`
	Every *time.Duration `placeholder:"TIME" help:"How often to look (500ms; on a stack, where looks cost money, 2s for a task and 10s for numbers)."`
	Once  bool           `help:"Look once."`
}

// Help is the detailed help.
func (WatchCommand) Help() string {
	return `Prints a line for each change. With an id it ends with the task, and fails when that did not end Processed. Without one it counts what has not finished or is in Error, and goes on until interrupted. On a stack an order that was just sent to the queue is waited for.

Examples:

  triad watch order-1
  triad watch
  triad watch --once --json`
}

// Validate checks the flags.
func (c WatchCommand) Validate() error {
	if c.Every != nil && *c.Every < 10*time.Millisecond {
		return fmt.Errorf("--every is %s: at least 10ms is possible", *c.Every)
	}
	return nil
}

// every is how often to look.
func (c *WatchCommand) every(g *Globals) time.Duration {
	switch {
	case c.Every != nil:
		return *c.Every
	case g.Stack == "":
		return 500 * time.Millisecond
	case c.ID == "":
		return 10 * time.Second
	}
	return 2 * time.Second
}

// Run watches.
func (c *WatchCommand) Run(ctx context.Context, env *Env, g *Globals) error {
	server, err := env.client(ctx, g, 1)
	if err != nil {
		return err
	}
	w := &watcher{env: env, json: g.JSON, server: server, every: c.every(g), queued: g.Stack != "" && !c.Once}
	look := w.count
	if c.ID != "" {
		if w.id, err = taskID(c.ID); err != nil {
			return err
		}
		look = w.follow
	}
	for {
		finished, err := w.patiently(ctx, look)
		if err != nil || finished || c.Once {
			return err
		}
		if err := env.Pause(ctx, w.every); err != nil {
			return err
		}
	}
}

// watcher looks again and again and tells what has changed.
type watcher struct {
	env    *Env
	json   bool
	server *client.Client
	every  time.Duration
	id     task.ID
	queued bool // an order may still be on its way to the stack

	seen   bool
	last   api.Task // of follow
	counts string   // of count
}

// patience is how long a server that was there may be gone, or a stack may fail:
// it may be starting again. An order that was just sent to the queue of a stack has
// as long to come out of it.
const patience = 30 * time.Second

// patiently looks, and again while what fails may pass.
func (w *watcher) patiently(ctx context.Context, look func(context.Context) (bool, error)) (bool, error) {
	for gone := time.Duration(0); ; gone += w.every {
		finished, err := look(ctx)
		awaited := w.queued && !w.seen && errors.Is(err, client.ErrNotFound)
		switch {
		case !awaited && !(w.seen && passing(err)):
			return finished, err
		case gone >= patience && awaited:
			return false, fmt.Errorf("%w: nothing came out of the queue; was it refused? see: triad rejected", err)
		case gone >= patience:
			return finished, err
		case gone == 0 && awaited:
			w.env.note("%s yet; waiting for the queue, up to %s", err, patience)
		case gone == 0:
			w.env.note("%s; trying for %s", err, patience)
		}
		if err := w.env.Pause(ctx, w.every); err != nil {
			return false, err
		}
	}
}

// passing reports an error that may be gone at the next look.
func passing(err error) bool {
	var refusal *client.Error
	return errors.Is(err, client.ErrUnreachable) || errors.As(err, &refusal) && refusal.Status >= 500 && refusal.RetryAfter > 0
}

// follow looks at one task.
func (w *watcher) follow(ctx context.Context) (finished bool, err error) {
	t, err := w.server.Task(ctx, w.id)
	if err != nil {
		return false, err
	}
	if !w.seen || t.Version != w.last.Version {
		if err := w.changed(t); err != nil {
			return false, err
		}
	}
	w.seen, w.last = true, t
	if !t.State.Finished() {
		return false, nil
	}
	if !w.json {
		if err := w.env.print("%s", outcome(w.env, t)); err != nil {
			return true, err
		}
	}
	if t.State != task.Processed {
		return true, errTold
	}
	return true, nil
}

// changed tells what is new about a task: a line for the task as a whole, and
// one for each step.
func (w *watcher) changed(t api.Task) error {
	if w.json {
		return w.env.line(t)
	}
	out := &table{}
	if !w.seen || t.State != w.last.State || t.Paused != w.last.Paused {
		out.add(string(t.ID), string(t.State), remarks(yesWord(t.Paused, "paused"), goalWord(t), t.Reason))
	}
	for i, s := range t.Steps {
		var was api.Step
		if w.seen && i < len(w.last.Steps) {
			was = w.last.Steps[i]
		}
		if s.State == was.State && s.Attempt == was.Attempt && s.FailureCount == was.FailureCount && s.Waits == was.Waits {
			continue
		}
		if !w.seen && s.Attempt == 0 && s.State == task.Pending {
			continue // nothing has happened to it yet
		}
		out.add("  "+s.Name, string(s.State), stepRemarks(s))
	}
	return out.write(w.env)
}

func stepRemarks(s api.Step) string {
	attempt, again := "", ""
	if s.Attempt > 1 {
		attempt = fmt.Sprintf("attempt %d", s.Attempt)
	}
	if s.LockedBy == "" && s.CompleteBy != 0 && s.FailureCount > 0 {
		again = "tries again at " + moment(s.CompleteBy)
	}
	return remarks(yesWord(s.Undo, "undo"), attempt, s.Error, again)
}

func goalWord(t api.Task) string {
	if t.Goal == "" || t.Goal == t.State {
		return ""
	}
	return "on its way to " + string(t.Goal)
}

func yesWord(b bool, word string) string {
	if b {
		return word
	}
	return ""
}

// remarks joins what there is to remark.
func remarks(all ...string) string {
	var some []string
	for _, s := range all {
		if s != "" {
			some = append(some, s)
		}
	}
	return strings.Join(some, ", ")
}
