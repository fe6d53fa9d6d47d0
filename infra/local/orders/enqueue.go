// Package orders puts orders through a local cloud as an application and its
// operators would: it enqueues submissions with the aws command, reads the table,
// the response queues and the alerts, and holds every order against the end that
// its sample demands.
package orders

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"triad/infra/local/cloud"
)

// SQS takes so many messages in one call; so many calls are made at once, each a
// process.
const (
	maxBatch = 10
	senders  = 2
)

// Enqueue sends messages to a queue of the stack with
// `aws sqs send-message-batch`. sent is told how many there are so far, and may be
// nil. A message that SQS did not take is an error; others may have been sent.
func Enqueue(ctx context.Context, c *cloud.Cloud, queue string, bodies []string, sent func(n int)) error {
	at, err := c.QueueURL(ctx, queue)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(senders)
	for batch := range slices.Chunk(bodies, maxBatch) {
		g.Go(func() error {
			if err := sendBatch(ctx, c, at, batch); err != nil {
				return fmt.Errorf("enqueuing to %s: %w", queue, err)
			}
			if sent != nil {
				sent(len(batch))
			}
			return nil
		})
	}
	return g.Wait()
}

// sendBatch makes one call. The entries go by a file: they are too long for a
// command line.
func sendBatch(ctx context.Context, c *cloud.Cloud, at string, bodies []string) error {
	entries := make([]map[string]string, len(bodies))
	for i, body := range bodies {
		entries[i] = map[string]string{"Id": strconv.Itoa(i), "MessageBody": body}
	}
	text, err := json.Marshal(entries)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp("", "entries-*.json")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	if _, err := file.Write(text); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	var answer struct {
		Failed []struct{ ID, Code, Message string }
	}
	if err := c.AWS(ctx, &answer, "sqs", "send-message-batch", "--queue-url", at, "--entries", "file://"+file.Name()); err != nil {
		return err
	}
	if len(answer.Failed) > 0 {
		return fmt.Errorf("%d of %d messages were not taken: %s", len(answer.Failed), len(bodies), answer.Failed[0].Message)
	}
	return nil
}

// Tick invokes the Supervisor as its schedule does once a minute, and waits for
// it.
func Tick(ctx context.Context, c *cloud.Cloud) error {
	var answer struct{ FunctionError string }
	err := c.AWS(ctx, &answer, "lambda", "invoke", "--function-name", c.Stack()+"-supervisor",
		"--payload", "file://"+c.Repository("events", "lambda-schedule.json"), os.DevNull)
	if err == nil && answer.FunctionError != "" {
		err = fmt.Errorf("the Supervisor failed: %s", answer.FunctionError)
	}
	return err
}
