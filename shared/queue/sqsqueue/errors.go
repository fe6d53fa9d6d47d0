package sqsqueue

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/smithy-go"

	"triad/shared/queue"
	"triad/shared/queue/refusal"
)

// action is what was done when it failed, as errors tell it.
type action string

const (
	sending   action = "sending to"
	receiving action = "receiving from"
	deleting  action = "deleting from"
	releasing action = "releasing to"
	counting  action = "counting messages of"
)

// permission is what an action needs of IAM.
func (a action) permission() string {
	switch a {
	case sending:
		return "sqs:SendMessage"
	case receiving:
		return "sqs:ReceiveMessage"
	case deleting:
		return "sqs:DeleteMessage"
	case releasing:
		return "sqs:ChangeMessageVisibility"
	default:
		return "sqs:GetQueueAttributes"
	}
}

// errGone: a receipt names no delivery, or none any more. It never leaves the
// package.
var errGone = errors.New("the receipt names no delivery that is in flight")

// failure is the error of a call that failed as a whole. The context's own error
// can be found in it, and so can the sentinels; the SDK's can't.
func (q *Queue) failure(ctx context.Context, did action, err error) error {
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("%s queue %s: %w", did, q.cfg.Name, ended)
	}
	var answered smithy.APIError
	if !errors.As(err, &answered) {
		return fmt.Errorf("%s queue %s: no answer from SQS: %v", did, q.cfg.Name, err)
	}
	return fmt.Errorf("%s queue %s: %w", did, q.cfg.Name, q.meaning(did, answered.ErrorCode(), answered.ErrorMessage()))
}

// meaning is what a code of SQS says to a caller, of a whole call or of one of
// its entries.
func (q *Queue) meaning(did action, code, text string) error {
	switch refusal.Kind(code, text) {
	case "ReceiptHandleIsInvalid", "MessageNotInflight":
		return errGone
	case "MessageTooLong":
		return fmt.Errorf("SQS refused its size (%s): %w", text, queue.ErrTooLarge)
	case "InvalidMessageContents":
		return fmt.Errorf("SQS refused a character of the message, on every try: %s", text)
	case "QueueDoesNotExist", "NonExistentQueue", "InvalidAddress":
		return fmt.Errorf("there is no queue at %s: check the URL and its region, and that the stack is deployed", q.url)
	default:
		return refusal.Meaning("SQS", did.permission(), code, text)
	}
}
