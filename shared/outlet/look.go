package outlet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"golang.org/x/sync/errgroup"
)

const (
	// lookers receive at the same time: one receive may bring few messages.
	lookers = 8
	// visibility is for how many seconds what was looked at is invisible when it
	// can't be made visible again; longer than a look takes.
	visibility = 30
	// lookWait is for how many seconds a receive waits for a message, so that it
	// asks all servers of SQS.
	lookWait = 1
	// grace is how much longer than its wait a receive may take, retries
	// included.
	grace = 10 * time.Second
	// maxLooked is how many messages are looked at, at most.
	maxLooked = 10_000
)

// found is a message with its number.
type found struct {
	seq     int64
	id      string
	message types.Message
}

// sight is what a look sees. It is safe for concurrent use while the look lasts.
type sight struct {
	after int64
	limit int
	fits  func(types.Message) bool

	mu    sync.Mutex
	held  map[string]string  // id -> receipt, of all that is invisible now
	bySeq map[int64][]string // number -> ids, of what fits
	page  []found            // up to limit of what fits and is after, in order
}

// add takes what a receive brought, and reports whether any of it is new, and
// whether there is too much.
func (s *sight) add(messages []types.Message) (anyNew, tooMany bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range messages {
		id := aws.ToString(m.MessageId)
		_, seen := s.held[id]
		s.held[id] = aws.ToString(m.ReceiptHandle) // the latest counts
		anyNew = anyNew || !seen
		if seen || s.fits != nil && !s.fits(m) {
			continue
		}
		f := found{seqOf(m), id, m}
		s.bySeq[f.seq] = append(s.bySeq[f.seq], id)
		s.insert(f)
	}
	return anyNew, len(s.held) > maxLooked
}

// forget takes what was deleted out of sight.
func (s *sight) forget(seq int64) {
	for _, id := range s.bySeq[seq] {
		delete(s.held, id)
	}
	delete(s.bySeq, seq)
}

// insert puts a message into the page. Bodies beyond it are not kept.
func (s *sight) insert(f found) {
	if f.seq <= s.after {
		return
	}
	at, _ := slices.BinarySearchFunc(s.page, f, func(a, b found) int {
		return cmp.Or(cmp.Compare(a.seq, b.seq), cmp.Compare(a.id, b.id))
	})
	if at < s.limit {
		s.page = slices.Insert(s.page, at, f)
		s.page = s.page[:min(len(s.page), s.limit)]
	}
}

// look receives all that is visible. What it returns has to be released, also
// with an error.
func (i *Inbox) look(ctx context.Context, b box, after int64, limit int) (*sight, error) {
	s := &sight{after: after, limit: limit, fits: b.fits, held: make(map[string]string), bySeq: make(map[int64][]string)}
	g, ctx := errgroup.WithContext(ctx)
	for range lookers {
		g.Go(func() error {
			for {
				messages, err := i.receive(ctx, b)
				if err != nil {
					return err
				}
				anyNew, tooMany := s.add(messages)
				switch {
				case tooMany:
					return &unsupported{fmt.Sprintf("queue %s has more than %d messages, which is too many to list: read it with a program, or purge it", b.name, maxLooked)}
				case !anyNew:
					return nil
				}
			}
		})
	}
	return s, g.Wait()
}

// receive asks SQS once. It is not cut off by the end of the context: what it
// brings would be invisible, and released by nobody.
func (i *Inbox) receive(ctx context.Context, b box) ([]types.Message, error) {
	c := call{"looking into queue " + b.name, "SQS", "sqs:ReceiveMessage", b.url}
	if err := ctx.Err(); err != nil {
		return nil, c.failure(ctx, err)
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookWait*time.Second+grace)
	defer cancel()
	out, err := i.Queues.ReceiveMessage(limited, &sqs.ReceiveMessageInput{
		QueueUrl: &b.url, MaxNumberOfMessages: maxEntries, WaitTimeSeconds: lookWait, VisibilityTimeout: visibility,
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameSentTimestamp},
	})
	if err != nil {
		return nil, c.failure(limited, err)
	}
	return out.Messages, nil
}

// release makes everything visible again. What can't be is visible after its
// timeout.
func (i *Inbox) release(ctx context.Context, b box, s *sight) {
	c := call{"releasing to queue " + b.name, "SQS", "sqs:ChangeMessageVisibility", b.url}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), visibility*time.Second)
	defer cancel()
	var g errgroup.Group
	g.SetLimit(lookers)
	var entries []types.ChangeMessageVisibilityBatchRequestEntry
	for _, receipt := range s.held {
		id := strconv.Itoa(len(entries))
		entries = append(entries, types.ChangeMessageVisibilityBatchRequestEntry{Id: &id, ReceiptHandle: &receipt})
	}
	for batch := range slices.Chunk(entries, maxEntries) {
		g.Go(func() error {
			out, err := i.Queues.ChangeMessageVisibilityBatch(ctx, &sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &b.url, Entries: batch})
			if err != nil {
				return c.failure(ctx, err)
			}
			for _, f := range out.Failed {
				if err := c.meaning(aws.ToString(f.Code), aws.ToString(f.Message)); !errors.Is(err, errGone) {
					return c.tell(err)
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		i.Logger.Warn("messages that were looked at stay invisible until their timeout", "queue", b.name, "error", err)
	}
}
