package sqsqueue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// maxVisibility is how long SQS keeps a message invisible, counted from its
// receipt.
const maxVisibility = 12 * time.Hour

// Delete removes deliveries that were handled, in calls of up to 10. Receipts
// that are unknown or out of date are no error. After an error, those that it
// does not speak of have been removed; deleting all of them again is allowed.
func (q *Queue) Delete(ctx context.Context, receipts ...string) error {
	var errs []error
	for len(receipts) > 0 {
		n := min(len(receipts), maxEntries)
		if err := q.deleteBatch(ctx, receipts[:n]); err != nil {
			errs = append(errs, err)
		}
		receipts = receipts[n:]
	}
	return errors.Join(errs...)
}

func (q *Queue) deleteBatch(ctx context.Context, receipts []string) error {
	entries := make([]types.DeleteMessageBatchRequestEntry, len(receipts))
	for i := range receipts {
		id := strconv.Itoa(i)
		entries[i] = types.DeleteMessageBatchRequestEntry{Id: &id, ReceiptHandle: &receipts[i]}
	}
	out, err := q.client.DeleteMessageBatch(ctx, &sqs.DeleteMessageBatchInput{QueueUrl: &q.url, Entries: entries})
	if err != nil {
		return q.failure(ctx, deleting, err)
	}
	left, cause := len(receipts)-len(out.Successful)-len(out.Failed), errNoAnswer
	for _, f := range out.Failed {
		if err := q.meaning(deleting, aws.ToString(f.Code), aws.ToString(f.Message)); !errors.Is(err, errGone) {
			left, cause = left+1, err
		}
	}
	if left > 0 {
		return fmt.Errorf("%s queue %s: %d of %d deliveries not deleted, they will come again: %w",
			deleting, q.cfg.Name, left, len(receipts), cause)
	}
	return nil
}

// Release makes a delivery visible again after d, which is rounded up to whole
// seconds and cut at 12 hours; less than 0 counts as 0. A receipt that is unknown
// or out of date is no error: its message is or will be visible by itself.
func (q *Queue) Release(ctx context.Context, receipt string, d time.Duration) error {
	_, err := q.client.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl: &q.url, ReceiptHandle: &receipt, VisibilityTimeout: seconds(min(d, maxVisibility)),
	})
	if err == nil {
		return nil
	}
	if err = q.failure(ctx, releasing, err); errors.Is(err, errGone) {
		return nil
	}
	return err
}
