package outlet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// look is what the last look into a queue saw.
type look struct {
	at    time.Time
	sight *sight
}

// freshness is how long the receipts of a look are used. One that is out of date
// deletes nothing, so they must not be old.
const freshness = 30 * time.Second

// list looks into a queue and returns up to limit of what is after a number.
func (i *Inbox) list(ctx context.Context, b box, after int64, limit int) ([]found, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	s, err := i.look(ctx, b, after, limit)
	i.leave(ctx, b, s)
	if err != nil {
		return nil, err
	}
	return s.page, nil
}

// leave ends every look, whatever came of it: all is made visible again, and the
// receipts are kept, since those of the look before are worthless now.
func (i *Inbox) leave(ctx context.Context, b box, s *sight) {
	i.release(ctx, b, s)
	i.looks[b.url] = look{at: i.Clock(), sight: &sight{held: s.held, bySeq: s.bySeq}} // without the page
}

// remove deletes the message of a number: by the receipt of the last look when
// that is fresh and saw it, so that acknowledging a page of notices does not
// receive all of them again for each; otherwise by a look of its own.
func (i *Inbox) remove(ctx context.Context, b box, seq int64) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if receipt, saw := i.recall(b, seq); saw {
		if err := i.delete(ctx, b, receipt); !errors.Is(err, errGone) {
			return err
		}
	}
	s, err := i.look(ctx, b, seq, 0)
	defer i.leave(ctx, b, s)
	if err != nil {
		return err
	}
	switch ids := s.bySeq[seq]; len(ids) {
	case 0:
		return nil
	case 1:
		if err := i.delete(ctx, b, s.held[ids[0]]); err != nil && !errors.Is(err, errGone) {
			return err
		}
		s.forget(seq)
		return nil
	default:
		return &unsupported{fmt.Sprintf("queue %s has %d messages of the number %d, sent in the same millisecond: delete the one in the console of SQS", b.name, len(ids), seq)}
	}
}

func (i *Inbox) delete(ctx context.Context, b box, receipt string) error {
	c := call{"deleting from queue " + b.name, "SQS", "sqs:DeleteMessage", b.url}
	if _, err := i.Queues.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &b.url, ReceiptHandle: &receipt}); err != nil {
		return c.failure(ctx, err)
	}
	return nil
}

// recall takes the receipt of a number out of the last look, and reports whether
// that is fresh and saw one message of the number.
func (i *Inbox) recall(b box, seq int64) (receipt string, saw bool) {
	last, is := i.looks[b.url]
	if !is || i.Clock().Sub(last.at) > freshness || len(last.sight.bySeq[seq]) != 1 {
		return "", false
	}
	receipt = last.sight.held[last.sight.bySeq[seq][0]]
	last.sight.forget(seq)
	return receipt, true
}
