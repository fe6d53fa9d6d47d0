package command

import (
	"context"
	"text/template"

	"triad/infra/local/cloud"
)

type envCommand struct{}

// Help is the detailed help.
func (envCommand) Help() string {
	return `Example:

  eval "$(go run ./infra/local env)"
  aws sqs send-message --queue-url "$SUBMISSIONS" --message-body file://events/order.json`
}

// settings are for a POSIX shell. The aws command of pip looks at
// AWS_ENDPOINT_URL for some services only, so it gets the address each time.
var settings = template.Must(template.New("settings").Parse(`export AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test AWS_DEFAULT_REGION={{.Region}}
export AWS_ENDPOINT_URL={{.Endpoint}}
export TRIAD_STACK={{.Stack}}
export SUBMISSIONS={{.Submissions}}
aws() { {{.AWS}} --endpoint-url {{.Endpoint}} "$@"; }
`))

// Run prints what a shell needs to work on a cloud that is up.
func (*envCommand) Run(ctx context.Context, env Env) error {
	local, err := env.open()
	if err != nil {
		return err
	}
	submissions, err := local.QueueURL(ctx, "submissions")
	if err != nil {
		return err
	}
	return settings.Execute(env.Stdout, map[string]string{
		"Region": cloud.Region, "Endpoint": local.Endpoint(), "Stack": local.Stack(), "Submissions": submissions,
		"AWS": local.Repository(".local", "cloud", "venv", "bin", "aws"),
	})
}
