// Package sqsqueue is the queue of package queue on Amazon SQS: a standard
// queue, which somebody else has made and configured.
//
// The queue's visibility timeout, its dead-letter queue and how often a message
// is received before it goes there are attributes of the queue in AWS. This
// package does not know them, and neither reads nor changes them.
//
// # Promises beyond the contract
//
// A Send of any number and size becomes as few calls as the limits allow: 10
// messages and 1 MiB each. SQS answers with success even when it refused some
// messages of a call: these are read, and told by a *queue.PartialError with the
// caller's numbers. When a call fails after an earlier one succeeded, what the
// earlier ones sent is not repeated: the error is a *queue.PartialError of the
// rest, of which some may have been sent nonetheless.
//
// A poll that is under way is never cut off: a message that SQS puts into its
// answer would be invisible, and received by nobody, for a visibility timeout.
// When the context of a Receive ends, the Receive returns at once, its poll goes
// on in the background to its own end (at most 20 s), and what it brings is
// released, with one receive counted. Drain waits for such polls: call it before
// the process ends.
//
// Time counts in whole seconds; parts of a second are rounded up, so a Receive
// may wait, and a message may be delayed, up to one second longer than asked
// for.
//
// The group of a message is told to SQS, which then deals fairly between the groups
// of a standard queue, and bills such a message a quarter more.
//
// Failures of the SDK are told in words that name the queue; no type of the SDK
// leaves this package. The client's own retries come before any error.
//
// # Not promised
//
// Capacity: SQS has no limit, so queue.ErrFull never comes; nor does
// queue.ErrClosed. The order of messages. Exact counts by Depth.
package sqsqueue

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"triad/shared/queue"
)

var _ queue.Queue = (*Queue)(nil)

// maxEntries is how many messages or receipts SQS takes in one call.
const maxEntries = 10

// API is what a Queue needs of the SDK's client; *sqs.Client has it. It must be
// safe for concurrent use.
type API interface {
	SendMessageBatch(context.Context, *sqs.SendMessageBatchInput, ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error)
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(context.Context, *sqs.DeleteMessageBatchInput, ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
	ChangeMessageVisibility(context.Context, *sqs.ChangeMessageVisibilityInput, ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error)
	GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error)
}

// Config says how a queue behaves. The zero value is usable.
type Config struct {
	// Name appears in errors and logs. Defaults to the last part of the URL.
	Name string
	// Logger is told of messages that could not be released after the Receive
	// that asked for them had ended. Defaults to none.
	Logger *slog.Logger
}

// Queue is a queue on SQS; New makes it. All methods are safe for concurrent
// use.
type Queue struct {
	client API
	url    string
	cfg    Config
	polls  polls
}

// New makes a Queue of an SQS queue that exists, named by its URL. It makes no
// call: a queue that is missing is told by the first use.
func New(client API, url string, cfg Config) *Queue {
	if cfg.Name == "" {
		cfg.Name = url[strings.LastIndex(url, "/")+1:]
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Queue{client: client, url: url, cfg: cfg}
}

// Depth returns about how many messages SQS counts; it may be behind by a
// minute.
func (q *Queue) Depth(ctx context.Context) (queue.Depth, error) {
	names := []types.QueueAttributeName{
		types.QueueAttributeNameApproximateNumberOfMessages,
		types.QueueAttributeNameApproximateNumberOfMessagesDelayed,
		types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
	}
	out, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &q.url, AttributeNames: names})
	if err != nil {
		return queue.Depth{}, q.failure(ctx, counting, err)
	}
	var counts [3]int
	for i, name := range names {
		text := out.Attributes[string(name)]
		if counts[i], err = strconv.Atoi(text); err != nil {
			return queue.Depth{}, fmt.Errorf("%s queue %s: SQS answered with %s %q, which is no number", counting, q.cfg.Name, name, text)
		}
	}
	return queue.Depth{Visible: counts[0], Delayed: counts[1], InFlight: counts[2]}, nil
}

// seconds is a duration in whole seconds, rounded up; less than 0 counts as 0,
// more than 60 years as that.
func seconds(d time.Duration) int32 {
	const most = 60 * 365 * 24 * time.Hour
	return int32((min(max(d, 0), most) + time.Second - 1) / time.Second)
}
