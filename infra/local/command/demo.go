package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"triad/events"
	"triad/infra/local/cloud"
	"triad/infra/local/orders"
)

type demoCommand struct {
	Limit time.Duration `default:"5m" help:"How long the orders may take (${default})."`
}

// Run shows the job on a cloud that is up, and fails when an order ends otherwise
// than its sample says.
func (c *demoCommand) Run(ctx context.Context, env Env) error {
	local, err := env.open()
	if err != nil {
		return err
	}
	if _, err := local.Status(ctx); err != nil {
		return err
	}
	samples, err := events.FS.ReadFile("samples.yaml")
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(env.Stdout, "Orders go through the functions; the services fail, hang and refuse on purpose.")
	outcome, err := orders.Show(ctx, orders.Config{Cloud: local, Samples: string(samples), Limit: c.Limit, Out: env.Stderr})
	if outcome == nil {
		return err
	}
	return errors.Join(outcome.Print(env.Stdout,
		"go run ./infra/local status    # what waits in the queues: here also the rejected messages and the notices",
		"export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_DEFAULT_REGION="+cloud.Region+" AWS_ENDPOINT_URL="+local.Endpoint(),
		"make build && bin/triad --stack "+local.Stack()+" list --state Error",
		"make local-down"), err)
}
