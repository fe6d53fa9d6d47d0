package outlet

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/smithy-go"

	"triad/shared/queue/refusal"
	"triad/shared/store"
)

// call is what was done with a queue or a topic when it failed, as errors tell
// it.
type call struct {
	doing   string // "sending to queue shop"
	service string // SQS or SNS
	needs   string // the permission of IAM
	address string // the URL or the ARN
}

// final is an error that comes on every try.
type final struct{ text string }

func (f *final) Error() string { return f.text }

// errGone: a receipt names no delivery, or none any more. It never leaves the
// package.
var errGone = errors.New("the receipt names no delivery that is in flight")

// errNoAnswer: an entry of a call is neither among those that were done nor among
// those that were not.
var errNoAnswer = errors.New("the answer leaves it out")

// failure is the error of a call that failed as a whole. The context's own error
// can be found in it; the SDK's can't.
func (c call) failure(ctx context.Context, err error) error {
	if ended := ctx.Err(); ended != nil {
		return c.tell(ended)
	}
	var answered smithy.APIError
	if !errors.As(err, &answered) {
		return fmt.Errorf("%s: no answer from %s: %v", c.doing, c.service, err)
	}
	return c.tell(c.meaning(answered.ErrorCode(), answered.ErrorMessage()))
}

// tell puts what was done before its error.
func (c call) tell(err error) error { return fmt.Errorf("%s: %w", c.doing, err) }

// meaning is what a code of AWS says, of a whole call or of one of its entries.
func (c call) meaning(code, text string) error {
	switch refusal.Kind(code, text) {
	case "ReceiptHandleIsInvalid", "MessageNotInflight":
		return errGone
	case "MessageTooLong":
		return &final{fmt.Sprintf("%s refused its size: %s", c.service, text)}
	case "InvalidMessageContents":
		return &final{fmt.Sprintf("%s refused a character of it: %s", c.service, text)}
	case "QueueDoesNotExist", "NonExistentQueue", "InvalidAddress":
		return &final{fmt.Sprintf("there is no queue at %s: check the URL and its region", c.address)}
	case "NotFound":
		return fmt.Errorf("there is no topic %s: check the ARN and its region", c.address)
	default:
		return refusal.Meaning(c.service, c.needs, code, text)
	}
}

// unsupported says that something can't be answered here, and what to do instead.
// It is a store.ErrUnsupported without that one's words.
type unsupported struct{ text string }

func (u *unsupported) Error() string { return u.text }

// Is makes errors.Is(err, store.ErrUnsupported) true.
func (u *unsupported) Is(target error) bool { return target == store.ErrUnsupported }
