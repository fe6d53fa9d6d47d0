package outlet

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"triad/shared/store"
	"triad/shared/task"
)

// The attributes of a rejected message.
const (
	attributeQueue    = "Queue"
	attributeReason   = "Reason"
	attributeAt       = "At"
	attributeEncoding = "Encoding"
)

// What SQS can't carry as it is, and how it is carried then.
const (
	encodedBase64 = "base64" // the body is the base64 of what came
	encodedEmpty  = "empty"  // nothing came; the body only says so
	emptyBody     = "(empty)"
)

const (
	// maxReason is how many bytes of a reason are kept; maxQueue, of the name
	// of a queue.
	maxReason = 2000
	maxQueue  = 200
	// rejected is the name of the rejected queue.
	rejected = "rejected"
	// millis is RFC 3339 with milliseconds.
	millis = "2006-01-02T15:04:05.000Z07:00"
)

// Reject captures a message that can't be processed, in the rejected queue: as it
// came, with the attributes Queue, Reason (its first 2,000 bytes) and At (RFC
// 3339; the present when r.At is zero). r.Seq is not used: the queue gives it.
//
// A message that with its attributes is larger than the 1 MiB of SQS is
// store.ErrTooLarge: it is left to the dead letters of where it came from.
func (o *Outlet) Reject(ctx context.Context, r store.Rejected) error {
	if r.At == 0 {
		r.At = task.At(o.Clock())
	}
	p := wrap(r)
	if n := p.size(); n > maxSent {
		return fmt.Errorf("rejecting a message of queue %s: it has %d bytes with its attributes, SQS takes %d: %w", r.Queue, n, maxSent, store.ErrTooLarge)
	}
	if err := o.send(ctx, rejected, o.Rejected, []parcel{p})[0]; err != nil {
		return fmt.Errorf("rejecting a message of queue %s: %w", r.Queue, err)
	}
	return nil
}

// wrap is a rejected message as SQS carries it.
func wrap(r store.Rejected) (p parcel) {
	switch {
	case isText(r.Body):
		p.body = string(r.Body)
	case len(r.Body) == 0:
		p.body = emptyBody
		p.with(attributeEncoding, encodedEmpty)
	default:
		p.body = base64.StdEncoding.EncodeToString(r.Body)
		p.with(attributeEncoding, encodedBase64)
	}
	p.with(attributeQueue, clean(r.Queue, maxQueue))
	p.with(attributeReason, clean(r.Reason, maxReason))
	p.with(attributeAt, r.At.Time().Format(millis))
	return p
}

// unwrap is the rejected message in one of SQS. A message that Reject did not
// send has no queue or reason, and the time at which it was sent.
func unwrap(seq int64, m types.Message) store.Rejected {
	attribute := func(name string) string { return aws.ToString(m.MessageAttributes[name].StringValue) }
	r := store.Rejected{
		Seq: seq, Queue: attribute(attributeQueue), Body: []byte(aws.ToString(m.Body)), Reason: attribute(attributeReason), At: sentAt(m),
	}
	switch attribute(attributeEncoding) {
	case encodedEmpty:
		r.Body = nil
	case encodedBase64:
		if body, err := base64.StdEncoding.DecodeString(aws.ToString(m.Body)); err == nil {
			r.Body = body
		}
	}
	if at, err := time.Parse(time.RFC3339, attribute(attributeAt)); err == nil {
		r.At = task.At(at)
	}
	return r
}
