package sqsqueue

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"triad/shared/queue"
)

// maxBatch is how many bytes the messages of one call may have together.
const maxBatch = 1 << 20

// errNoAnswer: SQS named an entry of a call neither among those that it did nor
// among those that it did not.
var errNoAnswer = errors.New("the answer of SQS leaves it out")

// Send sends the messages in calls of up to 10, one call after the other.
//
// Messages that can't be sent on any try are told by a *queue.PartialError:
// queue.ErrTooLarge, or an error without sentinel when the body is empty, is not
// UTF-8 or has a character that SQS refuses, or when the delay is out of bounds.
// The others are sent. Messages that SQS refused, for this time or for ever, are
// told likewise. An error of another type means that no message is known to have
// been sent.
func (q *Queue) Send(ctx context.Context, msgs ...queue.Message) error {
	if err := ctx.Err(); err != nil {
		return q.failure(ctx, sending, err)
	}
	failed := make(map[int]error)
	batches := batches(msgs, failed)
	for n, batch := range batches {
		err := q.sendBatch(ctx, msgs, batch, failed)
		if err == nil {
			continue
		}
		if n == 0 && len(failed) == 0 {
			return err
		}
		for _, unsent := range batches[n:] {
			for _, i := range unsent {
				failed[i] = err
			}
		}
		break
	}
	if len(failed) > 0 {
		return &queue.PartialError{Failed: failed}
	}
	return nil
}

// batches puts the numbers of the messages that can be sent into batches that
// SQS takes, in order, and the causes of the others into failed.
func batches(msgs []queue.Message, failed map[int]error) [][]int {
	var all [][]int
	size := 0
	for i, m := range msgs {
		if err := check(m); err != nil {
			failed[i] = err
			continue
		}
		last := len(all) - 1
		if last < 0 || len(all[last]) == maxEntries || size+len(m.Body) > maxBatch {
			all, size, last = append(all, nil), 0, last+1
		}
		all[last] = append(all[last], i)
		size += len(m.Body)
	}
	return all
}

// sendBatch sends the messages of the numbers in batch, and puts the causes of
// those that SQS refused into failed. After an error, some may have been sent.
func (q *Queue) sendBatch(ctx context.Context, msgs []queue.Message, batch []int, failed map[int]error) error {
	entries := make([]types.SendMessageBatchRequestEntry, len(batch))
	for n, i := range batch {
		entries[n] = q.entry(i, msgs[i])
	}
	out, err := q.client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &q.url, Entries: entries})
	if err != nil {
		return q.failure(ctx, sending, err)
	}
	answers := make(map[string]error, len(batch))
	for _, s := range out.Successful {
		answers[aws.ToString(s.Id)] = nil
	}
	for _, f := range out.Failed {
		answers[aws.ToString(f.Id)] = q.meaning(sending, aws.ToString(f.Code), aws.ToString(f.Message))
	}
	for n, i := range batch {
		err, answered := answers[*entries[n].Id]
		if !answered {
			err = errNoAnswer
		}
		if err != nil {
			failed[i] = fmt.Errorf("%s queue %s: %w", sending, q.cfg.Name, err)
		}
	}
	return nil
}

// entry is a message as SQS wants it; its id is its number in the Send.
func (q *Queue) entry(number int, m queue.Message) types.SendMessageBatchRequestEntry {
	id, body := strconv.Itoa(number), string(m.Body)
	e := types.SendMessageBatchRequestEntry{Id: &id, MessageBody: &body, DelaySeconds: seconds(m.Delay)}
	if m.Group != "" {
		group := groupID(m.Group)
		e.MessageGroupId = &group
	}
	return e
}
