package trigger

import (
	"context"
	"encoding/json"

	"github.com/aws/aws-lambda-go/lambda"
)

// Function is what Lambda can call: Messages or Ticks. Invoke takes the payload
// as it came and returns the answer, JSON.
type Function interface {
	Invoke(ctx context.Context, payload []byte) ([]byte, error)
}

var (
	_ Function = (*Messages)(nil)
	_ Function = (*Ticks)(nil)
)

// Start serves Lambda's invocations with f, and does not return. It ends the
// process when it does not run inside Lambda, or Lambda's own interface fails.
func Start(f Function) {
	// Raw JSON in and out, and not f itself: the answer is then marked as JSON.
	lambda.Start(func(ctx context.Context, payload json.RawMessage) (json.RawMessage, error) {
		return f.Invoke(ctx, payload)
	})
}
