package sqsqueue_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"triad/shared/queue"
	"triad/shared/queue/memqueue"
	"triad/shared/queue/sqsqueue"
)

const testURL = "https://sqs.eu-north-1.amazonaws.com/123456789012/scheduler"

// cloud is SQS behind the SDK's real client: an HTTP transport that reads the
// wire and answers on it, by a queue in memory. It lives in a synctest bubble.
type cloud struct {
	queue *memqueue.Queue
	// script, when not nil, may answer a call in place of the queue: with a
	// status and a body, or with an error of the transport. Status 0 leaves the
	// call to the queue.
	script func(call) (status int, body any, err error)

	mu    sync.Mutex
	calls []call
}

// call is a request on the wire.
type call struct {
	Op                                                      string
	QueueURL                                                string `json:"QueueUrl"`
	Entries                                                 []entry
	ReceiptHandle                                           string
	MaxNumberOfMessages, WaitTimeSeconds, VisibilityTimeout int
}

type entry struct {
	ID                                         string `json:"Id"`
	MessageBody, MessageGroupID, ReceiptHandle string
	DelaySeconds                               int
}

// fail is how SQS refuses a call: the type of the error, and its text.
func fail(kind, text string) map[string]string {
	return map[string]string{"__type": "com.amazonaws.sqs#" + kind, "message": text}
}

// refusal is how SQS refuses an entry of a call.
type refusal struct {
	ID            string `json:"Id"`
	Code, Message string
	SenderFault   bool
}

// newCloud makes a cloud and a queue on it.
func newCloud(script func(call) (int, any, error), cfg sqsqueue.Config) (*cloud, *sqsqueue.Queue) {
	c := &cloud{queue: memqueue.New(memqueue.Config{Visibility: 3 * time.Second, MaxReceives: 3}), script: script}
	return c, sqsqueue.New(client(c), testURL, cfg)
}

// client is the SDK's client, by a transport of its own and without retries.
func client(transport sqs.HTTPClient) *sqs.Client {
	return sqs.New(sqs.Options{
		Region:     "eu-north-1",
		Retryer:    aws.NopRetryer{},
		HTTPClient: transport,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
		}),
	})
}

// Do answers a request.
func (c *cloud) Do(req *http.Request) (*http.Response, error) {
	var in call
	if err := json.NewDecoder(req.Body).Decode(&in); err != nil {
		return nil, err
	}
	in.Op = strings.TrimPrefix(req.Header.Get("X-Amz-Target"), "AmazonSQS.")
	c.mu.Lock()
	c.calls = append(c.calls, in)
	c.mu.Unlock()
	status, out, err := 0, any(nil), error(nil)
	if c.script != nil {
		status, out, err = c.script(in)
	}
	if status == 0 && err == nil {
		status = http.StatusOK
		out, err = c.answer(req.Context(), in)
	}
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(out)
	return &http.Response{
		StatusCode: status, Request: req, Body: io.NopCloser(bytes.NewReader(body)),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
	}, err
}

// answer is what SQS does, with an answer as it gives.
func (c *cloud) answer(ctx context.Context, in call) (any, error) {
	switch in.Op {
	case "SendMessageBatch":
		return c.send(ctx, in.Entries)
	case "ReceiveMessage":
		ds, err := c.queue.Receive(ctx, in.MaxNumberOfMessages, time.Duration(in.WaitTimeSeconds)*time.Second)
		messages := []any{}
		for _, d := range ds {
			messages = append(messages, map[string]any{
				"MessageId": "m", "Body": string(d.Body), "MD5OfBody": digest(string(d.Body)), "ReceiptHandle": d.Receipt,
				"Attributes": map[string]string{"ApproximateReceiveCount": strconv.Itoa(d.Receives)},
			})
		}
		return map[string]any{"Messages": messages}, err
	case "DeleteMessageBatch":
		done := []any{}
		for _, e := range in.Entries {
			if err := c.queue.Delete(ctx, e.ReceiptHandle); err != nil {
				return nil, err
			}
			done = append(done, map[string]string{"Id": e.ID})
		}
		return map[string]any{"Successful": done, "Failed": []any{}}, nil
	case "ChangeMessageVisibility":
		return map[string]any{}, c.queue.Release(ctx, in.ReceiptHandle, time.Duration(in.VisibilityTimeout)*time.Second)
	case "GetQueueAttributes":
		d, err := c.queue.Depth(ctx)
		return map[string]any{"Attributes": map[string]string{
			"ApproximateNumberOfMessages":           strconv.Itoa(d.Visible),
			"ApproximateNumberOfMessagesDelayed":    strconv.Itoa(d.Delayed),
			"ApproximateNumberOfMessagesNotVisible": strconv.Itoa(d.InFlight),
		}}, err
	}
	return nil, fmt.Errorf("the cloud does not know the call %q", in.Op)
}

// send holds the sender to the limits of SQS.
func (c *cloud) send(ctx context.Context, entries []entry) (any, error) {
	size, done, ids := 0, []any{}, map[string]bool{}
	for _, e := range entries {
		size += len(e.MessageBody)
		ids[e.ID] = true
	}
	if len(entries) < 1 || len(entries) > 10 || size > 1<<20 || len(ids) != len(entries) {
		return nil, fmt.Errorf("a batch of %d messages, %d ids and %d bytes is not allowed", len(entries), len(ids), size)
	}
	for _, e := range entries {
		m := queue.Message{Body: []byte(e.MessageBody), Delay: time.Duration(e.DelaySeconds) * time.Second, Group: e.MessageGroupID}
		if err := c.queue.Send(ctx, m); err != nil {
			return nil, err
		}
		done = append(done, map[string]string{"Id": e.ID, "MessageId": "m", "MD5OfMessageBody": digest(e.MessageBody)})
	}
	return map[string]any{"Successful": done, "Failed": []any{}}, nil
}

func digest(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// made are the calls of one operation so far.
func (c *cloud) made(op string) (calls []call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, in := range c.calls {
		if in.Op == op {
			calls = append(calls, in)
		}
	}
	return calls
}

// bodies receives what there is, at once, and returns the bodies in order.
func (c *cloud) bodies(t *testing.T) string {
	t.Helper()
	var all []string
	for {
		ds, err := c.queue.Receive(t.Context(), 10, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(ds) == 0 {
			return strings.Join(all, " ")
		}
		for _, d := range ds {
			all = append(all, string(d.Body))
		}
	}
}

func texts(bodies ...string) []queue.Message {
	var msgs []queue.Message
	for _, b := range bodies {
		msgs = append(msgs, queue.Message{Body: []byte(b)})
	}
	return msgs
}

// failures are the causes of a partly failed Send by number, as text.
func failures(t *testing.T, err error) map[int]string {
	t.Helper()
	var partial *queue.PartialError
	if !errors.As(err, &partial) {
		t.Fatalf("sending: %v, want a PartialError", err)
	}
	causes := make(map[int]string)
	for i, err := range partial.Failed {
		causes[i] = err.Error()
	}
	return causes
}
