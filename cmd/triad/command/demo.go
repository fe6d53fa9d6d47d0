package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"triad/cmd/triad/demo"
	"triad/events"
	"triad/workflows"
)

// DemoCommand shows the main job and checks how it went.
type DemoCommand struct {
	Data    string        `default:".local/run.db" placeholder:"FILE" help:"The store's file, made anew (${default})."`
	Listen  string        `default:"127.0.0.1:0" placeholder:"ADDRESS" help:"Address of the HTTP API while it runs (a free port)."`
	Samples string        `placeholder:"FILE" help:"Sample orders; events/samples.yaml when not given."`
	Pace    time.Duration `default:"30ms" help:"Time from one submission to the next (${default})."`
	Limit   time.Duration `default:"90s" help:"How long the orders may take (${default})."`
}

// Help is shown below the flags.
func (*DemoCommand) Help() string {
	return `Starts the reference services with faults on and the engine on a fresh store, submits
the sample orders, and ends with a summary. Exits 0 only if every order ended as its sample
says it must, with exactly the effects it must have.

Examples:

  triad demo
  triad demo --json | jq .services`
}

// Run shows the job.
func (c *DemoCommand) Run(ctx context.Context, env *Env, g *Globals) error {
	env.tune()
	samples, err := c.samples()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.Data), 0o755); err != nil {
		return fmt.Errorf("making the directory of the data file: %w", err)
	}
	out := env.Stdout
	if g.JSON {
		out = env.Stderr
	}
	_, _ = fmt.Fprintln(out, "Orders go through the sample workflows; the services fail, hang and refuse on purpose.")
	outcome, err := demo.Run(ctx, demo.Config{
		Data: c.Data, Listen: c.Listen, Workflows: workflows.FS, Samples: samples,
		Out: out, Live: env.Terminal && !g.JSON, Pace: max(c.Pace, time.Microsecond), Limit: c.Limit, Logger: env.quiet(),
	})
	if outcome == nil {
		return err
	}
	if g.JSON {
		return errors.Join(json.NewEncoder(env.Stdout).Encode(outcome), err)
	}
	return errors.Join(outcome.Print(env.Stdout,
		"bin/triad dev --services --data "+c.Data+"   # in another terminal: the store of this run, services without faults",
		"bin/triad list --state Error",
		"bin/triad resubmit unreachable-1 && bin/triad watch unreachable-1"), err)
}

func (c *DemoCommand) samples() ([]byte, error) {
	if c.Samples == "" {
		return events.FS.ReadFile("samples.yaml")
	}
	text, err := os.ReadFile(c.Samples)
	if err != nil {
		return nil, fmt.Errorf("reading the samples: %w", err)
	}
	return text, nil
}
