package command

import (
	"context"
	"fmt"
	"text/template"

	"triad/infra/local/cloud"
)

type upCommand struct {
	Stack        string `default:"triad-local" placeholder:"NAME" help:"Name of the stack (${default})."`
	ServicesHost string `placeholder:"HOST" help:"Name of this machine for functions that run in containers (host.docker.internal)."`
}

// next is what to try, by hand.
var next = template.Must(template.New("next").Parse(`
{{.Stack}} is up. Its queues:

  submissions  {{.Submissions}}
  notices      {{.Shop}}
  alerts       {{.Operators}}

Try next:

  make local-demo                                          # the sample orders, faults and all
  export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_DEFAULT_REGION={{.Region}} AWS_ENDPOINT_URL={{.Endpoint}}
  aws() { .local/cloud/venv/bin/aws --endpoint-url $AWS_ENDPOINT_URL "$@"; }
  aws sqs send-message --queue-url {{.Submissions}} --message-body file://events/order.json
  aws sqs receive-message --queue-url {{.Shop}} --wait-time-seconds 5
  make build && bin/triad --stack {{.Stack}} show order-1001 # every command of triad works on the stack
  curl {{.Services}}                                       # what the services were asked, and hold
  make local-down

`))

// Run brings the cloud up.
func (c *upCommand) Run(ctx context.Context, env Env) error {
	config, err := env.config(c.Stack)
	if err != nil {
		return err
	}
	config.ServicesHost = c.ServicesHost
	local, err := cloud.New(config)
	if err != nil {
		return err
	}
	if err := local.Up(ctx); err != nil {
		return fmt.Errorf("%w\n`make local-down` removes what there is", err)
	}
	about := map[string]string{"Stack": local.Stack(), "Region": cloud.Region, "Endpoint": local.Endpoint(), "Services": local.Services()}
	for name, queue := range map[string]string{"Submissions": "submissions", "Shop": "shop", "Operators": cloud.AlertsQueue} {
		if about[name], err = local.QueueURL(ctx, queue); err != nil {
			return err
		}
	}
	return next.Execute(env.Stdout, about)
}
