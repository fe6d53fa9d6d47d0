package cloud

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"triad/infra/local/process"
	"triad/shared/queue"
	"triad/shared/queue/sqsqueue"
)

// Status is what a cloud looks like from outside.
type Status struct {
	// Stack is the stack's status, in the words of CloudFormation.
	Stack string
	// Queues are all queues of the stack, by name.
	Queues []Depth
}

// Depth is what waits in a queue.
type Depth struct {
	Name string
	queue.Depth
}

// Status looks at the cloud. It returns an error when a program that should run
// does not.
func (c *Cloud) Status(ctx context.Context) (Status, error) {
	if err := c.running(); err != nil {
		return Status{}, err
	}
	var found struct {
		Stacks []struct{ StackStatus string }
	}
	if err := c.AWS(ctx, &found, "cloudformation", "describe-stacks", "--stack-name", c.config.Stack); err != nil {
		return Status{}, err
	}
	if len(found.Stacks) != 1 {
		return Status{}, fmt.Errorf("looking for stack %s: found %d", c.config.Stack, len(found.Stacks))
	}
	queues, err := c.Queues(ctx)
	return Status{Stack: found.Stacks[0].StackStatus, Queues: queues}, err
}

// running checks what the records say.
func (c *Cloud) running() error {
	for _, file := range []string{emulatorRecord, servicesRecord} {
		r, started, err := process.Load(c.file(file))
		if err != nil {
			return err
		}
		if started && !r.Alive() {
			return fmt.Errorf("what served %s has ended; it said:\n%s\n`make local-down local-up` starts anew", r.URL, tail(r.Log))
		}
	}
	return nil
}

// Queues is what waits in every queue of the stack, by name.
func (c *Cloud) Queues(ctx context.Context) (all []Depth, err error) {
	client := c.SQS()
	found, err := client.ListQueues(ctx, &sqs.ListQueuesInput{QueueNamePrefix: aws.String(c.config.Stack + "-")})
	if err != nil {
		return nil, fmt.Errorf("listing queues: %w", err)
	}
	for _, at := range found.QueueUrls {
		depth, err := sqsqueue.New(client, at, sqsqueue.Config{}).Depth(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, Depth{path.Base(at), depth})
	}
	slices.SortFunc(all, func(a, b Depth) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}
