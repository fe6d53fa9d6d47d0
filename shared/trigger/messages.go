package trigger

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"triad/shared/queue"
)

// Message is a message as Lambda delivers it.
type Message struct {
	// Delivery is the message. Its Receives is 2 when Lambda did not tell how
	// often the message was received: taking a first delivery for a repeated one
	// makes engines say again what the record implies, which is harmless; the
	// other way round something might stay unsaid.
	queue.Delivery
	// Queue is the name of the queue it came from: STACK-scheduler.
	Queue string

	id string // by which Lambda is told of a failure
}

// Config makes Messages. Handle is required.
type Config struct {
	// Handle handles one message; nil means that it is done. It is called by
	// many goroutines at once and must return soon after its context ended.
	Handle func(context.Context, Message) error
	// Key returns a message's ordering key, for any body; see the package
	// comment. "" is no key. Defaults to nil: no message has one.
	Key func(body []byte) string
	// Margin is how long before Lambda's deadline the handlers' context ends; it
	// is never more than half of the time that is left. Defaults to 1 s.
	Margin time.Duration
	// After is called once at the end of each invocation, whatever became of it,
	// with Lambda's own deadline: metrics are written here. Defaults to nothing.
	After func(context.Context)
	// Logger is told of failures, never of bodies. Defaults to discarding.
	Logger *slog.Logger
}

// Messages handles the messages of queues. It is safe for concurrent use.
type Messages struct {
	invocation
	handle func(context.Context, Message) error
	key    func(body []byte) string
}

// NewMessages makes Messages. It panics when Handle is missing.
func NewMessages(c Config) *Messages {
	if c.Handle == nil {
		panic("trigger: Config needs a Handle")
	}
	return &Messages{invocation: newInvocation(c.Margin, c.After, c.Logger), handle: c.Handle, key: c.Key}
}

// Invoke handles one SQS event and answers with the list of messages that
// failed, which is never null: Lambda takes null, and an error, for the failure
// of all. The error is for a payload that can't be read.
func (m *Messages) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	defer m.end(ctx)
	messages, err := decodeMessages(payload)
	if err != nil {
		return nil, err
	}
	return failed(m.run(ctx, messages))
}

// failed is the answer that names the messages that failed.
func failed(ids []string) ([]byte, error) {
	answer := events.SQSEventResponse{BatchItemFailures: make([]events.SQSBatchItemFailure, 0, len(ids))}
	for _, id := range ids {
		answer.BatchItemFailures = append(answer.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: id})
	}
	return json.Marshal(answer)
}

// decodeMessages reads an SQS event. It refuses what only looks like one: a
// payload without messages, or with some that could not be reported as failed.
func decodeMessages(payload []byte) ([]Message, error) {
	var event events.SQSEvent
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, fmt.Errorf("reading the payload as an SQS event: %w", err)
	}
	if len(event.Records) == 0 {
		return nil, fmt.Errorf("reading the payload as an SQS event: it has no Records: check what invokes this function")
	}
	all := make([]Message, 0, len(event.Records))
	for i, r := range event.Records {
		switch {
		case r.EventSource != "aws:sqs":
			return nil, fmt.Errorf("reading the payload as an SQS event: Records[%d] is from %q: check what invokes this function", i, r.EventSource)
		case r.MessageId == "":
			return nil, fmt.Errorf("reading the payload as an SQS event: Records[%d] has no messageId", i)
		}
		all = append(all, Message{
			Delivery: queue.Delivery{Body: []byte(r.Body), Receives: receives(r.Attributes), Receipt: r.ReceiptHandle},
			Queue:    r.EventSourceARN[strings.LastIndexByte(r.EventSourceARN, ':')+1:],
			id:       r.MessageId,
		})
	}
	return all, nil
}

// receives is how often a message was received; see Message.
func receives(attributes map[string]string) int {
	n, err := strconv.Atoi(attributes["ApproximateReceiveCount"])
	if err != nil || n < 1 {
		return 2
	}
	return n
}
