package command

import (
	"context"
	"fmt"
	"time"

	"triad/shared/api"
)

// NoticesCommand reads a response queue.
type NoticesCommand struct {
	Queue string        `arg:"" help:"Name of the response queue."`
	Ack   bool          `help:"Acknowledge what was printed: it is not there next time."`
	Wait  time.Duration `help:"How long to wait for the first, up to 30s."`
}

// Help is the detailed help.
func (NoticesCommand) Help() string {
	return `A notice may be told twice, under the same id.

Examples:

  triad notices shop
  triad notices shop --wait 10s --ack --json`
}

// Validate checks the flags.
func (c NoticesCommand) Validate() error {
	if c.Wait < 0 || c.Wait > 30*time.Second {
		return fmt.Errorf("--wait is %s: up to 30s is possible", c.Wait)
	}
	return nil
}

// Run reads the whole queue, page by page. With --json, a line for each notice.
func (c *NoticesCommand) Run(ctx context.Context, env *Env, g *Globals) error {
	if _, err := taskID(c.Queue); err != nil {
		return misused("name it as the submissions do in responseQueue", "the name of the queue: %s", err)
	}
	server, err := env.client(ctx, g, 1)
	if err != nil {
		return err
	}
	wait, after := c.Wait, int64(0)
	for first := true; ; first = false {
		page, err := server.Notices(ctx, c.Queue, after, 0, wait)
		if err != nil {
			return err
		}
		if first && len(page.Notices) == 0 && !g.JSON {
			env.note("there is no notice in %s", c.Queue)
		}
		if err := printNotices(env, g, page.Notices, first); err != nil {
			return err
		}
		// If we stop here they are printed again next time.
		for _, n := range page.Notices {
			if !c.Ack {
				break
			}
			if err := server.Acknowledge(ctx, c.Queue, n.Seq); err != nil {
				return fmt.Errorf("acknowledging notice %d: %w", n.Seq, err)
			}
		}
		if after, wait = page.Next, 0; after == 0 {
			return nil
		}
	}
}

func printNotices(env *Env, g *Globals, all []api.Notice, first bool) error {
	out := &table{}
	if first && len(all) > 0 {
		out.add("SEQ", "AT", "TASK", "WORKFLOW", "STATUS", "REASON")
	}
	for _, n := range all {
		if g.JSON {
			if err := env.line(n); err != nil {
				return err
			}
		}
		out.add(number(n.Seq), moment(n.At), string(n.Task), n.Workflow, n.Status, n.Reason)
	}
	if g.JSON {
		return nil
	}
	return out.write(env)
}
