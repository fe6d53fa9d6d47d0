package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"triad/shared/cloud/carrier"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// AWS runs the aws command against the emulator and reads what it prints into
// out, which may be nil. The words of the command are as on the command line.
func (c *Cloud) AWS(ctx context.Context, out any, words ...string) error {
	// The endpoint is said twice: for SQS this aws ignores the environment.
	args := append([]string{"--endpoint-url", c.state.Endpoint, "--output", "json"}, words...)
	text, err := c.output(ctx, c.tool("aws"), args...)
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal([]byte(text), out); err != nil {
		return fmt.Errorf("reading what aws %s %s printed: %w", words[0], words[1], err)
	}
	return nil
}

// output runs a program and returns what it prints.
func (c *Cloud) output(ctx context.Context, path string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env = c.config.Root, c.outside()
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("running %s %s: %w: %s", filepath.Base(path), strings.Join(args, " "), err, strings.TrimSpace(said.String()))
	}
	return string(text), nil
}

func (c *Cloud) sdk() aws.Config {
	return aws.Config{
		Region: Region, BaseEndpoint: &c.state.Endpoint, HTTPClient: carrier.Whole(nil),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
		}),
	}
}

// SQS is a client of the emulator's queues.
func (c *Cloud) SQS() *sqs.Client { return sqs.NewFromConfig(c.sdk()) }

// DynamoDB is a client of the emulator's tables.
func (c *Cloud) DynamoDB() *dynamodb.Client { return dynamodb.NewFromConfig(c.sdk()) }

// QueueURL is the URL of a queue of the stack, by its name without the stack's.
func (c *Cloud) QueueURL(ctx context.Context, name string) (string, error) {
	found, err := c.SQS().GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(c.config.Stack + "-" + name)})
	if err != nil {
		return "", fmt.Errorf("looking for queue %s-%s: %w", c.config.Stack, name, err)
	}
	return *found.QueueUrl, nil
}

// Outputs of the stack, by name.
func (c *Cloud) Outputs(ctx context.Context) (map[string]string, error) {
	var found struct {
		Stacks []struct {
			Outputs []struct{ OutputKey, OutputValue string }
		}
	}
	if err := c.AWS(ctx, &found, "cloudformation", "describe-stacks", "--stack-name", c.config.Stack); err != nil {
		return nil, err
	}
	if len(found.Stacks) != 1 {
		return nil, fmt.Errorf("looking for stack %s: found %d", c.config.Stack, len(found.Stacks))
	}
	outputs := map[string]string{}
	for _, o := range found.Stacks[0].Outputs {
		outputs[o.OutputKey] = o.OutputValue
	}
	return outputs, nil
}

// makeQueues makes the application's queues.
func (c *Cloud) makeQueues(ctx context.Context) error {
	for _, name := range append(ResponseQueues(), AlertsQueue) {
		if _, err := c.SQS().CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(c.config.Stack + "-" + name)}); err != nil {
			return fmt.Errorf("making queue %s-%s: %w", c.config.Stack, name, err)
		}
	}
	return nil
}

// subscribe has alerts go to a queue. It may be repeated: a subscription is made
// once.
func (c *Cloud) subscribe(ctx context.Context) error {
	topic := fmt.Sprintf("arn:aws:sns:%s:%s:%s-alerts", Region, Account, c.config.Stack)
	queue := c.QueueARN(AlertsQueue)
	policy, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": []any{map[string]any{
		"Effect": "Allow", "Principal": map[string]string{"Service": "sns.amazonaws.com"}, "Action": "sqs:SendMessage",
		"Resource": queue, "Condition": map[string]any{"ArnEquals": map[string]string{"aws:SourceArn": topic}},
	}}})
	if err != nil {
		return err
	}
	at, err := c.QueueURL(ctx, AlertsQueue)
	if err != nil {
		return err
	}
	_, err = c.SQS().SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: &at, Attributes: map[string]string{"Policy": string(policy)}})
	if err != nil {
		return fmt.Errorf("letting alerts into queue %s: %w", queue, err)
	}
	if err := c.AWS(ctx, nil, "sns", "subscribe", "--topic-arn", topic, "--protocol", "sqs", "--notification-endpoint", queue); err != nil {
		return err
	}
	c.note("alerts go to queue %s-%s as well", c.config.Stack, AlertsQueue)
	return nil
}

// undeploy deletes the stack and the application's queues.
func (c *Cloud) undeploy(ctx context.Context) error {
	c.note("deleting the stack %s", c.config.Stack)
	for _, words := range [][]string{{"delete-stack"}, {"wait", "stack-delete-complete"}} {
		words = append(append([]string{"cloudformation"}, words...), "--stack-name", c.config.Stack)
		if err := c.AWS(ctx, nil, words...); err != nil {
			return err
		}
	}
	for _, name := range append(ResponseQueues(), AlertsQueue) {
		at, err := c.QueueURL(ctx, name)
		var gone *types.QueueDoesNotExist
		if errors.As(err, &gone) {
			continue
		}
		if err == nil {
			_, err = c.SQS().DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &at})
		}
		if err != nil {
			return fmt.Errorf("deleting queue %s-%s: %w", c.config.Stack, name, err)
		}
	}
	return nil
}
