package sqsqueue

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"triad/shared/queue"
)

const (
	// longestPoll is how many seconds SQS waits for a message, at most.
	longestPoll = 20
	// grace is how much longer than its wait a poll may take, retries included,
	// and how long the release of what came too late may take.
	grace = 10 * time.Second
)

// Receive returns 1 to max messages, waiting up to wait for the first, in polls
// of at most 20 s. It returns the context's error when that ends first; then the
// poll under way goes on in the background and what it brings is released (see
// the package comment). A wait of 0 asks some of the servers of SQS only, and may
// find nothing although there are messages.
func (q *Queue) Receive(ctx context.Context, max int, wait time.Duration) ([]queue.Delivery, error) {
	if max < 1 || max > maxEntries {
		return nil, fmt.Errorf("%s queue %s: max is %d, it must be 1 to %d", receiving, q.cfg.Name, max, maxEntries)
	}
	for left := seconds(wait); ; left -= longestPoll {
		if err := ctx.Err(); err != nil {
			return nil, q.failure(ctx, receiving, err)
		}
		ds, err := q.poll(ctx, int32(max), min(left, longestPoll))
		if err != nil || len(ds) > 0 || left <= longestPoll {
			return ds, err
		}
	}
}

// answer is how a poll ended.
type answer struct {
	ds  []queue.Delivery
	err error
}

// poll asks SQS once. Its answer goes to the caller or, when the context has
// ended, back to the queue, and never to both.
func (q *Queue) poll(ctx context.Context, max, wait int32) ([]queue.Delivery, error) {
	answers := make(chan answer)
	q.polls.begin()
	go func() {
		defer q.polls.end()
		ds, err := q.ask(context.WithoutCancel(ctx), max, wait)
		select {
		case answers <- answer{ds, err}:
		case <-ctx.Done():
			q.handBack(context.WithoutCancel(ctx), ds)
		}
	}()
	select {
	case a := <-answers:
		return a.ds, a.err
	case <-ctx.Done():
		return nil, q.failure(ctx, receiving, ctx.Err())
	}
}

// ask is the call to SQS, which takes about as long as it is to wait.
func (q *Queue) ask(ctx context.Context, max, wait int32) ([]queue.Delivery, error) {
	limited, cancel := context.WithTimeout(ctx, time.Duration(wait)*time.Second+grace)
	defer cancel()
	out, err := q.client.ReceiveMessage(limited, &sqs.ReceiveMessageInput{
		QueueUrl:                    &q.url,
		MaxNumberOfMessages:         max,
		WaitTimeSeconds:             wait,
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameApproximateReceiveCount},
	})
	if err != nil {
		return nil, q.failure(ctx, receiving, err)
	}
	ds := make([]queue.Delivery, 0, len(out.Messages))
	for _, m := range out.Messages {
		ds = append(ds, queue.Delivery{Body: []byte(aws.ToString(m.Body)), Receives: receives(m), Receipt: aws.ToString(m.ReceiptHandle)})
	}
	return ds, nil
}

// receives is how often a message has been received; once when SQS does not say.
func receives(m types.Message) int {
	n, err := strconv.Atoi(m.Attributes[string(types.MessageSystemAttributeNameApproximateReceiveCount)])
	if err != nil || n < 1 {
		return 1
	}
	return n
}

// handBack releases deliveries that nobody waits for any more. What can't be
// released comes back after its visibility timeout.
func (q *Queue) handBack(ctx context.Context, ds []queue.Delivery) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	for _, d := range ds {
		if err := q.Release(ctx, d.Receipt, 0); err != nil {
			q.cfg.Logger.Warn("message received too late stays invisible until its timeout", "queue", q.cfg.Name, "error", err)
		}
	}
}

// Drain waits until no poll is under way, or for the end of the context, whose
// error it then returns. Polls whose Receive has ended take up to 20 s more. Call
// it when nothing receives any more and before the process ends: messages that a
// lost poll brings are invisible for a visibility timeout.
func (q *Queue) Drain(ctx context.Context) error {
	select {
	case <-q.polls.over():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("draining polls of queue %s: %w", q.cfg.Name, ctx.Err())
	}
}

// polls counts the polls that are under way. The zero value counts none.
type polls struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when n becomes 0; nil while n is 0
}

func (p *polls) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n == 0 {
		p.none = make(chan struct{})
	}
	p.n++
}

func (p *polls) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n--; p.n == 0 {
		close(p.none)
		p.none = nil
	}
}

// over returns a channel that is closed as soon as there is no poll.
func (p *polls) over() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.none != nil {
		return p.none
	}
	closed := make(chan struct{})
	close(closed)
	return closed
}
