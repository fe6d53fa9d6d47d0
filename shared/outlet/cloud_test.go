package outlet_test

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
)

// cloud is SQS and SNS in memory, held to the limits that AWS documents. Its
// clock stands still unless a test moves it.
type cloud struct {
	mu     sync.Mutex
	now    time.Time
	queues map[string][]*message // by URL
	// receipts are the latest of each message.
	receipts map[string]*message
	// most is the largest message of a queue; 0 counts as 1 MiB.
	most map[string]int
	// fault, when not nil, may fail a call: before it is done, or after.
	fault func(op, url string) (before, after error)
	// refuse, when not nil, may refuse an entry of a batch, or leave it out of
	// the answer, by its body.
	refuse func(body string) (code string, silent bool)
	// delivered, when not nil, is called before a receive is answered.
	delivered func()
	// id, when not nil, gives the ids of messages.
	id func(n int) string

	calls     []string // "SendMessageBatch 10"
	published []snstypes.PublishBatchRequestEntry
	sent      int
}

type message struct {
	types.Message
	hidden   time.Time
	receives int
}

func newCloud(urls ...string) *cloud {
	c := &cloud{now: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC), queues: map[string][]*message{}, receipts: map[string]*message{}, most: map[string]int{}}
	for _, u := range urls {
		c.queues[u] = nil
	}
	return c
}

func fail(code, text string) error { return &smithy.GenericAPIError{Code: code, Message: text} }

// begin records a call and may fail it; the second result fails it once it is
// done.
func (c *cloud) begin(ctx context.Context, op string, n int, url string) (err, after error) {
	c.calls = append(c.calls, fmt.Sprintf("%s %d", op, n))
	if c.fault != nil {
		err, after = c.fault(op, url)
	}
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return err, nil
	}
	if _, is := c.queues[url]; !is && strings.HasPrefix(url, "http") {
		return fail("AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist."), nil
	}
	return nil, after
}

var (
	illegal    = regexp.MustCompile(`[^\x09\x0A\x0D\x20-\x{D7FF}\x{E000}-\x{FFFD}\x{10000}-\x{10FFFF}]`)
	goodEntry  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}$`)
	goodTitle  = regexp.MustCompile(`^[!-~][ -~]{0,98}$`)
	errNotText = fail("InvalidMessageContents", "The message contains characters outside the allowed set.")
)

// batch is what is common to the limits of batches.
func batch(n, size, most int, ids map[string]bool) error {
	for id := range ids {
		if !goodEntry.MatchString(id) {
			return fail("InvalidBatchEntryId", id)
		}
	}
	switch {
	case n < 1 || n > 10 || len(ids) != n:
		return fail("TooManyEntriesInBatchRequest", strconv.Itoa(n))
	case size > most:
		return fail("BatchRequestTooLong", strconv.Itoa(size))
	}
	return nil
}

func (c *cloud) SendMessageBatch(ctx context.Context, in *sqs.SendMessageBatchInput, _ ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err, after := c.begin(ctx, "SendMessageBatch", len(in.Entries), *in.QueueUrl)
	if err != nil {
		return nil, err
	}
	total, ids := 0, map[string]bool{}
	for _, e := range in.Entries {
		size, err := sizeOf(e)
		if err != nil {
			return nil, err
		}
		total, ids[*e.Id] = total+size, true
	}
	if err := batch(len(in.Entries), total, 1<<20, ids); err != nil {
		return nil, err
	}
	out := &sqs.SendMessageBatchOutput{}
	for _, e := range in.Entries {
		code, why, silent := c.judge(*in.QueueUrl, *e.MessageBody)
		switch {
		case silent:
		case code != "":
			out.Failed = append(out.Failed, types.BatchResultErrorEntry{Id: e.Id, Code: &code, Message: &why})
		default:
			c.keep(*in.QueueUrl, e)
			out.Successful = append(out.Successful, types.SendMessageBatchResultEntry{Id: e.Id})
		}
	}
	return out, after
}

func sizeOf(e types.SendMessageBatchRequestEntry) (int, error) {
	size := len(*e.MessageBody)
	if size == 0 || !utf8.ValidString(*e.MessageBody) || illegal.MatchString(*e.MessageBody) {
		return 0, errNotText
	}
	for name, a := range e.MessageAttributes {
		size += len(name) + len(*a.DataType) + len(*a.StringValue)
		if *a.StringValue == "" || !utf8.ValidString(*a.StringValue) || illegal.MatchString(*a.StringValue) {
			return 0, fail("InvalidParameterValue", "The message attribute "+name+" is not good.")
		}
	}
	return size, nil
}

// judge says whether an entry is refused, and why, or left out of the answer.
func (c *cloud) judge(url, body string) (code, why string, silent bool) {
	if most := c.most[url]; most > 0 && len(body) > most {
		return "InvalidParameterValue", fmt.Sprintf("One or more parameters are invalid. Reason: Message must be shorter than %d bytes.", most), false
	}
	if c.refuse != nil {
		code, silent = c.refuse(body)
	}
	return code, "no", silent
}

func (c *cloud) keep(url string, e types.SendMessageBatchRequestEntry) {
	c.sent++
	id := fmt.Sprintf("id-%d", c.sent)
	if c.id != nil {
		id = c.id(c.sent)
	}
	c.queues[url] = append(c.queues[url], &message{Message: types.Message{
		MessageId: &id, Body: e.MessageBody, MessageAttributes: e.MessageAttributes,
		Attributes: map[string]string{"SentTimestamp": strconv.FormatInt(c.now.UnixMilli(), 10)},
	}})
}

func (c *cloud) ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, _ ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err, after := c.begin(ctx, "ReceiveMessage", int(in.MaxNumberOfMessages), *in.QueueUrl)
	if err != nil {
		return nil, err
	}
	out := &sqs.ReceiveMessageOutput{}
	for _, m := range c.queues[*in.QueueUrl] {
		if len(out.Messages) == int(in.MaxNumberOfMessages) {
			break
		}
		if m.hidden.After(c.now) {
			continue
		}
		c.deliver(m, time.Duration(in.VisibilityTimeout)*time.Second)
		out.Messages = append(out.Messages, m.Message)
	}
	if c.delivered != nil {
		c.delivered()
	}
	return out, cmp.Or(after, ctx.Err())
}

// deliver gives a message to somebody, under a receipt that makes those before
// worthless.
func (c *cloud) deliver(m *message, visibility time.Duration) {
	delete(c.receipts, aws.ToString(m.ReceiptHandle))
	m.receives++
	m.hidden, m.ReceiptHandle = c.now.Add(visibility), aws.String(fmt.Sprintf("%s#%d", *m.MessageId, m.receives))
	c.receipts[*m.ReceiptHandle] = m
}

func (c *cloud) DeleteMessage(ctx context.Context, in *sqs.DeleteMessageInput, _ ...func(*sqs.Options)) (*sqs.DeleteMessageOutput, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err, after := c.begin(ctx, "DeleteMessage", 1, *in.QueueUrl)
	if err != nil {
		return nil, err
	}
	if m := c.receipts[*in.ReceiptHandle]; m != nil {
		c.queues[*in.QueueUrl] = slices.DeleteFunc(c.queues[*in.QueueUrl], func(other *message) bool { return other == m })
	}
	return &sqs.DeleteMessageOutput{}, after
}

func (c *cloud) ChangeMessageVisibilityBatch(ctx context.Context, in *sqs.ChangeMessageVisibilityBatchInput, _ ...func(*sqs.Options)) (*sqs.ChangeMessageVisibilityBatchOutput, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err, after := c.begin(ctx, "ChangeMessageVisibilityBatch", len(in.Entries), *in.QueueUrl)
	if err != nil {
		return nil, err
	}
	out, ids := &sqs.ChangeMessageVisibilityBatchOutput{}, map[string]bool{}
	for _, e := range in.Entries {
		ids[*e.Id] = true
		if m := c.receipts[*e.ReceiptHandle]; m != nil {
			m.hidden = c.now.Add(time.Duration(e.VisibilityTimeout) * time.Second)
		}
	}
	if err := batch(len(in.Entries), 0, 0, ids); err != nil {
		return nil, err
	}
	return out, after
}

func (c *cloud) PublishBatch(ctx context.Context, in *sns.PublishBatchInput, _ ...func(*sns.Options)) (*sns.PublishBatchOutput, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err, after := c.begin(ctx, "PublishBatch", len(in.PublishBatchRequestEntries), *in.TopicArn)
	if err != nil {
		return nil, err
	}
	total, ids := 0, map[string]bool{}
	for _, e := range in.PublishBatchRequestEntries {
		total, ids[*e.Id] = total+len(*e.Message), true
		if e.Subject != nil && !goodTitle.MatchString(*e.Subject) {
			return nil, fail("InvalidParameter", fmt.Sprintf("Subject %q", *e.Subject))
		}
		for name, a := range e.MessageAttributes {
			if total += len(name) + len(*a.DataType) + len(*a.StringValue); *a.StringValue == "" {
				return nil, fail("InvalidParameter", "empty attribute "+name)
			}
		}
	}
	if err := batch(len(in.PublishBatchRequestEntries), total, 256<<10, ids); err != nil {
		return nil, err
	}
	out := &sns.PublishBatchOutput{}
	for _, e := range in.PublishBatchRequestEntries {
		code, why, silent := c.judge("", *e.Message)
		switch {
		case silent:
		case code != "":
			out.Failed = append(out.Failed, snstypes.BatchResultErrorEntry{Id: e.Id, Code: &code, Message: &why})
		default:
			c.published = append(c.published, e)
			out.Successful = append(out.Successful, snstypes.PublishBatchResultEntry{Id: e.Id})
		}
	}
	return out, after
}

// made are the calls of one operation so far, with their sizes.
func (c *cloud) made(op string) (calls []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.calls {
		if name, size, _ := strings.Cut(call, " "); name == op {
			calls = append(calls, size)
		}
	}
	return calls
}

// pass moves the clock.
func (c *cloud) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// read is all that is in a queue: bodies with their attributes, and nothing is
// received.
func (c *cloud) read(_ *testing.T, url string) (all []letter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.queues[url] {
		all = append(all, letterOf(m.Message))
	}
	return all
}

// put puts a message without attributes into a queue.
func (c *cloud) put(url, body string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(url, types.SendMessageBatchRequestEntry{MessageBody: &body})
}

// hide receives all that is visible, as somebody else.
func (c *cloud) hide(url string, d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.queues[url] {
		c.deliver(m, d)
	}
}

// visible is how many messages could be received now.
func (c *cloud) visible(url string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.queues[url] {
		if !m.hidden.After(c.now) {
			n++
		}
	}
	return n
}
