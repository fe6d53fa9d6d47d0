package command

import (
	"context"

	"triad/cmd/triad/stack"
)

// RedriveCommand counts or moves the dead letters of a stack.
type RedriveCommand struct {
	Queues []string `arg:"" optional:"" name:"queue" help:"Queues to move the dead letters back to, such as scheduler; none: count them."`
}

// Help is the detailed help.
func (RedriveCommand) Help() string {
	return `A message becomes a dead letter when it could not be handled several times in a row; the logs of the function say why. Its task is safe: its deadline brings it back. Only dead letters of submissions may have no task yet, and SQS deletes them 14 days after they were sent: move them back before. For a stack on AWS only. Those that die again meanwhile are left.

Examples:

  triad --stack shop redrive
  triad --stack shop redrive scheduler agent-payment`
}

// Run counts, or moves. With --json, a line for each queue.
func (c *RedriveCommand) Run(ctx context.Context, env *Env, g *Globals) error {
	if g.Stack == "" {
		return misused("give --stack; in the embedded engine dead letters are among the rejected: triad rejected", "redrive is for a stack on AWS")
	}
	s, err := g.stack(ctx)
	if err != nil {
		return err
	}
	if len(c.Queues) == 0 {
		return c.count(ctx, env, g, s)
	}
	if err := s.Movable(c.Queues...); err != nil {
		return err
	}
	for _, name := range c.Queues {
		moved, err := s.Redrive(ctx, name)
		if err != nil {
			return err
		}
		if g.JSON {
			err = env.line(moved)
		} else {
			err = env.print("%s  %d moved back", clean(moved.Queue), moved.Moved)
		}
		if moved.Dead > 0 {
			env.note("%s has about %d dead letters more: see why in the logs of its function, then repeat it", moved.Queue, moved.Dead)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *RedriveCommand) count(ctx context.Context, env *Env, g *Globals, s *stack.Stack) error {
	all, err := s.Dead(ctx)
	if err != nil {
		return err
	}
	out := &table{}
	out.add("QUEUE", "DEAD LETTERS")
	for _, d := range all {
		if g.JSON {
			if err := env.line(d); err != nil {
				return err
			}
		}
		if d.Dead > 0 {
			out.add(d.Queue, number(d.Dead))
		}
	}
	return out.finish(env, g, "there are no dead letters")
}
