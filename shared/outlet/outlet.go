// Package outlet is where Triad's word leaves AWS: notices go to the response
// queues of applications, alerts to a topic that operators subscribe to, and
// messages that can't be processed to the rejected queue. An Outlet sends; an
// Inbox reads what was sent, for operators.
//
// # Promises
//
// What Notify, Alert or Reject returned nil for is durable in SQS or SNS. After
// an error some of it may be: sending again is harmless, since notices and
// alerts have ids that stay the same, and a rejected message that is there twice
// is dismissed twice.
//
// A notice that can't be delivered on any try is captured in the rejected queue
// with the reason, so that it is told and holds nothing up. Such are those for a
// response queue that this deployment does not have (any more), or that is gone
// from AWS, or that refuses them for their size.
//
// A rejected message lies in its queue as it came, byte for byte, where an
// operator reads it in the console and can send it again. Where it came from,
// why and when are the attributes Queue, Reason and At. Only what SQS can't carry
// as text is in another form, named by the attribute Encoding.
//
// SQS and SNS answer with success even when they refused some messages of a
// call: these are read, and told. Failures of the SDK are told in words that
// name the queue or the topic; no type of the SDK leaves this package. The
// client's own retries come before any error.
//
// # Not promised
//
// That a notice or an alert comes once, or in order. That a look into a queue
// sees everything: see Inbox.
package outlet

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Sender is what an Outlet needs of the SDK's client of SQS; *sqs.Client has it.
// It must be safe for concurrent use.
type Sender interface {
	SendMessageBatch(context.Context, *sqs.SendMessageBatchInput, ...func(*sqs.Options)) (*sqs.SendMessageBatchOutput, error)
}

// Publisher is what an Outlet needs of the SDK's client of SNS; *sns.Client has
// it. It must be safe for concurrent use.
type Publisher interface {
	PublishBatch(context.Context, *sns.PublishBatchInput, ...func(*sns.Options)) (*sns.PublishBatchOutput, error)
}

// Config makes an Outlet. An Outlet that only rejects, as that of an agent,
// needs no more than Queues and Rejected.
type Config struct {
	// Queues sends to queues. Required.
	Queues Sender
	// Rejected is the URL of the rejected queue. Required.
	Rejected string
	// Responses are the response queues that notices may go to. Defaults to
	// none: every notice is then captured as rejected.
	Responses Responses
	// Topics publishes to Topic, the ARN of the topic for alerts. Both are
	// required for Alert.
	Topics Publisher
	Topic  string
	// Clock tells the time. Defaults to time.Now.
	Clock func() time.Time
}

// Outlet sends notices, alerts and rejected messages: it is an engine.Outlet,
// and the Rejecter of the engines. All methods are safe for concurrent use.
type Outlet struct{ Config }

// New returns an Outlet. It makes no call: a queue or topic that is missing is
// told by the first use.
func New(c Config) *Outlet {
	if c.Clock == nil {
		c.Clock = time.Now
	}
	return &Outlet{c}
}
