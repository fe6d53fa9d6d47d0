// Package stack reaches a deployment on AWS from the command line, with the
// caller's own credentials: it reads the stack's outputs, and then works straight
// on its table and its queues. There is no server between.
//
// It is the HTTP API without HTTP: the same handler that `triad dev` serves, over
// the store and the queues of the stack, called in the process. So every verb
// checks, answers and fails as it does against a server.
package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"triad/shared/api"
	"triad/shared/catalog"
	"triad/shared/cloud"
	"triad/shared/operator"
	"triad/shared/outlet"
	"triad/shared/settings"
	"triad/shared/submission"
	"triad/shared/task"
)

// Config says which stack, and how to reach AWS. Region and credentials come from
// where the aws command finds them, too. Name is required.
type Config struct {
	// Name is the stack's name.
	Name string
	// Region overrides the caller's.
	Region string
	// Endpoint is where a stand-in of AWS listens. Defaults to AWS.
	Endpoint string
}

// Stack is a deployment. It is safe for concurrent use.
type Stack struct {
	config  Config
	cloud   *cloud.Cloud
	queues  *sqs.Client
	handler http.Handler
}

// Open reads the outputs of a stack and the definitions in its table. The error
// says what is wrong and the way out.
func Open(ctx context.Context, given Config) (*Stack, error) {
	s := &Stack{config: given}
	c, err := s.caller(ctx)
	if err != nil {
		return nil, err
	}
	found, err := s.outputs(ctx, c)
	if err != nil {
		return nil, err
	}
	if s.cloud, err = cloud.New(ctx, cloud.Config{Settings: found, AWS: c}); err != nil {
		return nil, fmt.Errorf("opening stack %s: %w", given.Name, err)
	}
	s.queues = sqs.NewFromConfig(c)
	s.handler = s.api()
	return s, nil
}

// caller is AWS as the aws command would reach it.
func (s *Stack) caller(ctx context.Context) (aws.Config, error) {
	c, err := config.LoadDefaultConfig(ctx, func(o *config.LoadOptions) error {
		o.Region, o.AppID = s.config.Region, "triad-cli"
		return nil
	})
	if err != nil {
		return c, fmt.Errorf("reading the configuration of AWS: %w", err)
	}
	if c.Region == "" {
		return c, errors.New("no region is set: give --region, or set AWS_REGION or a profile with a region")
	}
	if s.config.Endpoint != "" {
		c.BaseEndpoint = &s.config.Endpoint
	}
	return c, nil
}

// RoundTrip answers a request of the API's client in this process.
func (s *Stack) RoundTrip(r *http.Request) (*http.Response, error) { return answer(s.handler, r), nil }

func (s *Stack) api() http.Handler {
	c := s.cloud
	return api.New(api.Config{
		Submit: submission.New(submission.Config{
			Engine: c.Engine, Definitions: c.Offers, Rejected: c.Outlet, Shards: c.Settings.Shards,
			ResponseQueue: c.Outlet.Responses.Check,
		}),
		Operate: operator.New(c.Engine), Store: c.Store,
		Ledger: outlet.NewInbox(outlet.InboxConfig{
			Queues: s.queues, Rejected: c.Settings.Queue("rejected"), Responses: c.Outlet.Responses, Topic: c.Settings.AlertsTopic,
		}),
		Workflows: func() []task.Workflow {
			var all []task.Workflow
			for _, d := range c.Offers.Definitions() {
				all = append(all, d.Workflow)
			}
			return all
		},
		Explain: func(cause error) string { return cause.Error() },
	})
}

// outputs reads what the stack says of itself.
func (s *Stack) outputs(ctx context.Context, c aws.Config) (settings.Settings, error) {
	client := cloudformation.NewFromConfig(c)
	out, err := client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &s.config.Name})
	if err != nil {
		return settings.Settings{}, s.unreadable(ctx, c.Region, err)
	}
	values := map[string]string{}
	for _, stack := range out.Stacks {
		for _, o := range stack.Outputs {
			values[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
		}
	}
	for _, name := range []string{"TasksTable", "OrdersTable", "SchedulerQueueUrl", "Agents", "AlertsTopic", "Shards", "RetentionDays"} {
		if values[name] == "" {
			return settings.Settings{}, fmt.Errorf("stack %s has no output %s: is it one of Triad, and deployed to its end?", s.config.Name, name)
		}
	}
	return read(s.config, c.Region, values)
}

// read makes settings of outputs, by the rules for the environment of functions:
// what holds there holds here.
func read(c Config, region string, outputs map[string]string) (settings.Settings, error) {
	environment := map[string]string{
		"AWS_REGION": region, "AWS_ENDPOINT_URL": c.Endpoint, settings.Stack: c.Name,
		settings.TasksTable: outputs["TasksTable"], settings.OrdersTable: outputs["OrdersTable"],
		settings.Shards: outputs["Shards"], settings.KeepDays: outputs["RetentionDays"],
		settings.SchedulerQueue: outputs["SchedulerQueueUrl"], settings.Agents: outputs["Agents"],
		settings.ResponseQueues: outputs["ResponseQueueArns"], settings.AlertsTopic: outputs["AlertsTopic"],
	}
	s, err := settings.Read(settings.Scheduler, func(name string) (string, bool) { v, found := environment[name]; return v, found })
	if err != nil {
		return s, fmt.Errorf("the outputs of stack %s can't be used: %w", c.Name, err)
	}
	return s, nil
}

// unreadable says why a stack's outputs can't be read, and the way out.
func (s *Stack) unreadable(ctx context.Context, region string, err error) error {
	var answered smithy.APIError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !errors.As(err, &answered):
		return s.unanswered(err)
	}
	switch code, text := answered.ErrorCode(), answered.ErrorMessage(); {
	case strings.Contains(text, "does not exist"):
		return fmt.Errorf("there is no stack %s in region %s: check the name and --region; `make deploy` makes one", s.config.Name, region)
	case strings.Contains(code, "Token") || strings.Contains(code, "Signature") || strings.Contains(code, "UnrecognizedClient") || strings.Contains(code, "Credentials"):
		return fmt.Errorf("AWS does not accept these credentials (%s): log in again, or choose another profile with AWS_PROFILE", text)
	case strings.Contains(code, "AccessDenied"):
		return fmt.Errorf("these credentials may not read stack %s: allow cloudformation:DescribeStacks (%s)", s.config.Name, text)
	default:
		return fmt.Errorf("reading stack %s: %s: %s", s.config.Name, code, text)
	}
}

func (s *Stack) unanswered(err error) error {
	if strings.Contains(err.Error(), "get credentials") {
		return errors.New("there are no credentials for AWS: log in (aws sso login, aws configure), or set AWS_PROFILE or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	at := "AWS"
	if s.config.Endpoint != "" {
		at = s.config.Endpoint
	}
	return fmt.Errorf("%s does not answer: check the network, --region and --endpoint-url (%w)", at, err)
}

// Apply keeps the workflows of a directory with the stack's tasks, and returns
// their references: functions offer them within a minute. A definition that is
// kept with another content is refused, and one that names an agent which the
// stack does not have.
func (s *Stack) Apply(ctx context.Context, files fs.FS) ([]string, error) {
	given, err := catalog.Load(files, s.cloud.Settings.Agents)
	if err != nil {
		return nil, err
	}
	var refs []string
	for _, d := range given.Definitions() {
		refs = append(refs, d.Ref())
	}
	return refs, given.Keep(ctx, s.cloud.Store)
}
