package count

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"triad/shared/queue/sqsqueue"
)

// chunk is how many bytes of messages are billed as one request.
const chunk = 64 << 10

// till counts the calls that one queue's adapter makes.
type till struct {
	client sqsqueue.API

	mu       sync.Mutex
	requests Requests
	sent     int // messages
	deleted  int // messages
	failed   error
}

var _ sqsqueue.API = (*till)(nil)

// chunks is how many requests a call with so many bytes is.
func chunks(bytes int) int { return max(1, (bytes+chunk-1)/chunk) }

// pending is how many messages were sent and not deleted yet.
func (t *till) pending() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sent - t.deleted
}

// count notes a call, or that it failed.
func (t *till) count(call string, err error, note func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.failed = fmt.Errorf("%s: %w: %w", call, errUncounted, err)
		return
	}
	note()
}

func (t *till) SendMessageBatch(ctx context.Context, in *sqs.SendMessageBatchInput, o ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error) {
	bytes := 0
	for _, e := range in.Entries {
		bytes += len(aws.ToString(e.MessageBody))
	}
	out, err := t.client.SendMessageBatch(ctx, in, o...)
	t.count("SendMessageBatch", err, func() {
		t.requests.Send += chunks(bytes)
		t.sent += len(out.Successful)
	})
	return out, err
}

func (t *till) ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, o ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	out, err := t.client.ReceiveMessage(ctx, in, o...)
	t.count("ReceiveMessage", err, func() {
		bytes := 0
		for _, m := range out.Messages {
			bytes += len(aws.ToString(m.Body))
		}
		t.requests.Receive += chunks(bytes)
	})
	return out, err
}

func (t *till) DeleteMessageBatch(ctx context.Context, in *sqs.DeleteMessageBatchInput, o ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error) {
	out, err := t.client.DeleteMessageBatch(ctx, in, o...)
	t.count("DeleteMessageBatch", err, func() {
		t.requests.Delete++
		t.deleted += len(out.Successful)
	})
	return out, err
}

// errUnexpected: no path of the reference order makes this call.
var errUnexpected = fmt.Errorf("no path of the reference order makes this call: count it before you use it")

// ChangeMessageVisibility is not made: no handler fails.
func (t *till) ChangeMessageVisibility(context.Context, *sqs.ChangeMessageVisibilityInput, ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityOutput, error) {
	t.count("ChangeMessageVisibility", errUnexpected, nil)
	return nil, errUnexpected
}

// GetQueueAttributes is not made: no orders are held back.
func (t *till) GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error) {
	t.count("GetQueueAttributes", errUnexpected, nil)
	return nil, errUnexpected
}
