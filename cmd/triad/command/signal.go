package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"triad/shared/operator"
	"triad/shared/task"
)

// SignalCommand delivers a signal.
type SignalCommand struct {
	ID      string `arg:"" help:"Id of the task."`
	Name    string `arg:"" help:"Name of the signal."`
	Payload string `arg:"" optional:"" help:"JSON that becomes the output of the step; - reads standard input."`
}

// Help is the detailed help.
func (SignalCommand) Help() string {
	return `A signal that comes before its step starts is kept for it. The same signal again changes nothing.

Examples:

  triad signal order-1 approved
  triad signal order-1 approved '{"by":"kim"}'`
}

// Run delivers.
func (c *SignalCommand) Run(ctx context.Context, env *Env, g *Globals) error {
	id, err := taskID(c.ID)
	if err != nil {
		return err
	}
	payload := []byte(c.Payload)
	if c.Payload == "-" {
		if payload, err = io.ReadAll(io.LimitReader(env.Stdin, task.MaxOutput+1)); err != nil {
			return fmt.Errorf("reading the payload: %w", err)
		}
	}
	if len(payload) > task.MaxOutput {
		return misused("", "the payload is larger than %d bytes", task.MaxOutput)
	}
	if len(payload) > 0 && !json.Valid(payload) {
		return misused(`a text needs its own quotes: '"yes"'`, "the payload is not JSON")
	}
	server, err := env.client(ctx, g, 1)
	if err != nil {
		return err
	}
	return asker{env, g.JSON, server}.ask(ctx, id, operator.Ask{Verb: operator.Signal, Signal: c.Name, Payload: payload}, env.document)
}
