package command

import (
	"context"
	"fmt"
	"text/tabwriter"

	"triad/infra/local/cloud"
)

type statusCommand struct{}

// Run shows what runs. That nothing does is an error.
func (*statusCommand) Run(ctx context.Context, env Env) error {
	local, err := env.open()
	if err != nil {
		return err
	}
	status, err := local.Status(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(env.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintf(w, "stack\t%s\t%s\nemulator\t%s\nservices\t%s\n", local.Stack(), status.Stack, local.Endpoint(), local.Services())
	_, _ = fmt.Fprintf(w, "\nQUEUE\tWAITING\tDELAYED\tIN FLIGHT\n")
	for _, q := range status.Queues {
		_, _ = fmt.Fprintf(w, "%s\t%d\t%d\t%d\n", q.Name, q.Visible, q.Delayed, q.InFlight)
	}
	return w.Flush()
}

type downCommand struct{}

// Run stops everything. That nothing runs is no error.
func (*downCommand) Run(ctx context.Context, env Env) error {
	config, err := env.config("")
	if err != nil {
		return err
	}
	local, err := cloud.New(config)
	if err != nil {
		return err
	}
	return local.Down(ctx)
}
