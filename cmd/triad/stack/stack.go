// Package stack reaches a deployment on AWS from the command line, with the
// caller's own credentials: it reads the stack's outputs, and then works straight
// on its table and its queues. There is no server between.
//
// It is the HTTP API without HTTP: the same handler that `triad dev` serves, over
// the store and the queues of the stack, called in the process. So every verb
// checks, answers and fails as it does against a server.
package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"triad/shared/api"
	"triad/shared/catalog"
	"triad/shared/cloud"
	"triad/shared/operator"
	"triad/shared/outlet"
	"triad/shared/settings"
	"triad/shared/submission"
)

// Config says which stack, and how to reach AWS. Region and credentials come from
// where the aws command finds them, too. Name is required.
type Config struct {
	// Name is the stack's name.
	Name string
	// Region and Profile override the caller's.
	Region, Profile string
	// Endpoint is where a stand-in of AWS listens. Defaults to what is configured
	// for the aws command, else AWS.
	Endpoint string
}

// Stack is a deployment. It is safe for concurrent use.
type Stack struct {
	config  Config
	cloud   *cloud.Cloud
	queues  *sqs.Client
	tables  *dynamodb.Client
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
	bounded, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	found, err := s.outputs(bounded, c)
	if err == nil {
		if s.cloud, err = cloud.New(bounded, cloud.Config{Settings: found, AWS: c}); err != nil {
			err = fmt.Errorf("opening stack %s: %w", given.Name, err)
		}
	}
	if err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	s.queues, s.tables = sqs.NewFromConfig(c), dynamodb.NewFromConfig(c)
	s.handler = s.api()
	return s, nil
}

// RoundTrip answers a request of the API's client in this process.
func (s *Stack) RoundTrip(r *http.Request) (*http.Response, error) { return answer(s.handler, r), nil }

func (s *Stack) api() http.Handler {
	c := s.cloud
	return api.New(api.Config{
		Submit: submission.New(submission.Config{
			Engine: c.Engine, Definitions: c.Offers, Rejected: c.Outlet,
			ResponseQueue: c.Outlet.Responses.Check,
		}),
		Operate: operator.New(c.Engine), Store: c.Store,
		Ledger: outlet.NewInbox(outlet.InboxConfig{
			Queues: s.queues, Rejected: c.Settings.Queue("rejected"), Responses: c.Outlet.Responses, Topic: c.Settings.AlertsTopic,
		}),
		Workflows: c.Offers.Workflows,
		Doctor:    s.doctor(),
		Explain:   func(cause error) string { return cause.Error() },
	})
}

// outputs reads what the stack says of itself.
func (s *Stack) outputs(ctx context.Context, c aws.Config) (settings.Settings, error) {
	client := cloudformation.NewFromConfig(c)
	out, err := client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &s.config.Name})
	if err != nil {
		return settings.Settings{}, s.unreadable(c, err)
	}
	values, status := map[string]string{}, types.StackStatus("unknown")
	for _, stack := range out.Stacks {
		status = stack.StackStatus
		for _, o := range stack.Outputs {
			values[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
		}
	}
	for _, name := range []string{"TasksTable", "OrdersTable", "SchedulerQueueUrl", "Agents", "AlertsTopic", "Shards", "RetentionDays"} {
		if values[name] == "" {
			return settings.Settings{}, fmt.Errorf("stack %s has no output %s, and its status is %s: is it one of Triad, and deployed to its end?", s.config.Name, name, status)
		}
	}
	return read(s.config.Name, c, values)
}

// read makes settings of outputs, by the rules for the environment of functions:
// what holds there holds here.
func read(name string, c aws.Config, outputs map[string]string) (settings.Settings, error) {
	environment := map[string]string{
		"AWS_REGION": c.Region, "AWS_ENDPOINT_URL": aws.ToString(c.BaseEndpoint), settings.Stack: name,
		settings.TasksTable: outputs["TasksTable"], settings.OrdersTable: outputs["OrdersTable"],
		settings.Shards: outputs["Shards"], settings.KeepDays: outputs["RetentionDays"],
		settings.SchedulerQueue: outputs["SchedulerQueueUrl"], settings.Agents: outputs["Agents"],
		settings.ResponseQueues: outputs["ResponseQueueArns"], settings.AlertsTopic: outputs["AlertsTopic"],
	}
	s, err := settings.Read(settings.Scheduler, func(name string) (string, bool) { v, found := environment[name]; return v, found })
	if err != nil {
		return s, fmt.Errorf("the outputs of stack %s can't be used: %w", name, err)
	}
	return s, nil
}

// Applied are the references of definitions that were given to a stack.
type Applied struct {
	// Added are those that it did not have before.
	Added []string `json:"added"`
	// Unchanged are those that it had.
	Unchanged []string `json:"unchanged"`
}

// Apply keeps the workflows of a directory with the stack's tasks: functions
// offer them within a minute. A definition that is kept with another content is
// refused, and one that names an agent which the stack does not have.
func (s *Stack) Apply(ctx context.Context, files fs.FS) (Applied, error) {
	given, err := catalog.Load(files, s.cloud.Settings.Agents)
	if err != nil {
		return Applied{}, err
	}
	had := map[string]bool{}
	for _, d := range s.cloud.Offers.Definitions() {
		had[d.Ref()] = true
	}
	applied := Applied{Added: []string{}, Unchanged: []string{}}
	for _, d := range given.Definitions() {
		if had[d.Ref()] {
			applied.Unchanged = append(applied.Unchanged, d.Ref())
		} else {
			applied.Added = append(applied.Added, d.Ref())
		}
	}
	if len(applied.Added)+len(applied.Unchanged) == 0 {
		return applied, errors.New("there are no workflows in it: give a directory with a YAML file for each")
	}
	return applied, given.Keep(ctx, s.cloud.Store)
}
