package outlet

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"triad/shared/store"
	"triad/shared/task"
)

// Reader is what an Inbox needs of the SDK's client of SQS; *sqs.Client has it.
// It must be safe for concurrent use.
type Reader interface {
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessage(context.Context, *sqs.DeleteMessageInput, ...func(*sqs.Options)) (*sqs.DeleteMessageOutput, error)
	ChangeMessageVisibilityBatch(context.Context, *sqs.ChangeMessageVisibilityBatchInput, ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityBatchOutput, error)
}

// InboxConfig makes an Inbox.
type InboxConfig struct {
	// Queues reads queues. Required.
	Queues Reader
	// Rejected is the URL of the rejected queue. Required.
	Rejected string
	// Responses are the response queues that can be read. Defaults to none.
	Responses Responses
	// Topic is the ARN of the topic for alerts, which errors name. Required.
	Topic string
	// Clock tells the time. Defaults to time.Now.
	Clock func() time.Time
	// Logger is told of messages that could not be made visible again after a
	// look. Defaults to none.
	Logger *slog.Logger
}

// Inbox reads what an Outlet sent, for operators. All methods are safe for
// concurrent use; one of them works at a time.
//
// A queue of SQS can't be read without receiving from it, so every method looks
// at the whole queue: it receives all that is visible, and makes it visible again
// at once, or after 30 s when the process ends in between. So
//
//   - messages that somebody else has received at the moment are not seen;
//   - every look counts as a receive. The rejected queue has no limit to those. A
//     response queue that moves messages to dead letters after a few receives
//     loses them to looks: look at such a queue rarely;
//   - while a look lasts (about a second, and more for thousands of messages) the
//     application does not get what is looked at;
//   - a queue with more than 10,000 messages is not listed: the error is
//     store.ErrUnsupported, and says so.
//
// SQS has no numbers for messages. That of a message here is made of the time at
// which it was sent, in milliseconds, and 12 bits of a checksum of its id: it
// never changes, ascends by time, and stays below 2^53 until the year 2039. Two
// messages of the same millisecond have the same number once in 4,096 times; such
// a number is listed twice, and what would delete one of the two refuses.
type Inbox struct {
	InboxConfig

	mu    sync.Mutex      // held for as long as a look: two would hide messages from each other
	looks map[string]look // the last of each queue, by URL
}

// NewInbox returns an Inbox. It makes no call.
func NewInbox(c InboxConfig) *Inbox {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Inbox{InboxConfig: c, looks: make(map[string]look)}
}

// box is a queue to look into.
type box struct {
	name, url string
	// fits reports the messages that are there for an Inbox; others are passed
	// over. Nil means all.
	fits func(types.Message) bool
}

func (i *Inbox) rejected() box { return box{name: rejected, url: i.Rejected} }

// Rejections returns up to limit captured messages whose number is greater than
// after, lowest first.
func (i *Inbox) Rejections(ctx context.Context, after int64, limit int) ([]store.Rejected, error) {
	page, err := i.list(ctx, i.rejected(), after, limit)
	if err != nil {
		return nil, err
	}
	all := make([]store.Rejected, 0, len(page))
	for _, f := range page {
		all = append(all, unwrap(f.seq, f.message))
	}
	return all, nil
}

// Dismiss deletes a captured message. It is no error when there is none of this
// number that can be seen now.
func (i *Inbox) Dismiss(ctx context.Context, seq int64) error {
	return i.remove(ctx, i.rejected(), seq)
}

// Mail returns the response queues. Its Alerts is store.ErrUnsupported: SNS keeps
// nothing.
func (i *Inbox) Mail() store.Mail { return mail{i} }

// mail is the store.Mail of an Inbox.
type mail struct{ inbox *Inbox }

// Notices returns up to limit notices of a response queue whose number is greater
// than after, lowest first. Messages there that are no notices are passed over.
// An unknown response queue is store.ErrUnsupported, and the error names those
// that there are.
func (m mail) Notices(ctx context.Context, queue string, after int64, limit int) ([]store.KeptNotice, error) {
	b, err := m.inbox.response(queue)
	if err != nil {
		return nil, err
	}
	page, err := m.inbox.list(ctx, b, after, limit)
	if err != nil {
		return nil, err
	}
	all := make([]store.KeptNotice, 0, len(page))
	for _, f := range page {
		n, _ := notice(f.message)
		n.Queue = queue
		all = append(all, store.KeptNotice{Seq: f.seq, Notice: n})
	}
	return all, nil
}

// Acknowledge deletes a notice. It is no error when there is none of this number
// that can be seen now.
func (m mail) Acknowledge(ctx context.Context, queue string, seq int64) error {
	b, err := m.inbox.response(queue)
	if err != nil {
		return err
	}
	return m.inbox.remove(ctx, b, seq)
}

// Alerts says where alerts are.
func (m mail) Alerts(context.Context, int64, int) ([]store.KeptAlert, error) {
	return nil, &unsupported{fmt.Sprintf("alerts are not kept on AWS, they are published to the topic %s: subscribe to it to get them; "+
		"`triad list --state Error` shows the tasks that need a person", m.inbox.Topic)}
}

// response finds a response queue.
func (i *Inbox) response(name string) (box, error) {
	if err := i.Responses.Check(name); err != nil {
		return box{}, &unsupported{err.Error()}
	}
	return box{name: name, url: i.Responses[name], fits: func(m types.Message) bool {
		_, is := notice(m)
		return is
	}}, nil
}

// notice reads a notice, and reports whether the message is one.
func notice(m types.Message) (n task.Notice, is bool) {
	err := json.Unmarshal([]byte(aws.ToString(m.Body)), &n)
	return n, err == nil && n.ID != "" && n.Task != "" && n.Status != ""
}

// seqOf is the number of a message.
func seqOf(m types.Message) int64 {
	return int64(sentAt(m))<<12 | int64(crc32.ChecksumIEEE([]byte(aws.ToString(m.MessageId)))&0xfff)
}

// sentAt is when SQS took a message.
func sentAt(m types.Message) task.Millis {
	ms, err := strconv.ParseInt(m.Attributes[string(types.MessageSystemAttributeNameSentTimestamp)], 10, 64)
	if err != nil {
		return 0
	}
	return task.Millis(ms)
}
