package sqsqueue_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"

	"triad/infra/standin"
	"triad/shared/queue/sqsqueue"
)

func TestCallsThatSQSRefusesAreExplained(t *testing.T) {
	t.Parallel()
	const missing = "sending to queue scheduler: there is no queue at " + testURL + ": check the URL and its region, and that the stack is deployed"
	cases := map[string]struct{ kind, want string }{
		"missing queue":            {"QueueDoesNotExist", missing},
		"missing queue, by prefix": {"AWS.SimpleQueueService.NonExistentQueue", missing},
		"access denied":            {"AccessDeniedException", "sending to queue scheduler: access denied: the role needs sqs:SendMessage on it, and the use of its key when it has one: told"},
		"key denied":               {"KmsAccessDenied", "sending to queue scheduler: access denied: the role needs sqs:SendMessage on it, and the use of its key when it has one: told"},
		"credentials":              {"ExpiredTokenException", "sending to queue scheduler: the credentials are not valid (ExpiredTokenException): told"},
		"throttled":                {"ThrottlingException", "sending to queue scheduler: throttled, try again later (ThrottlingException): told"},
		"key throttled":            {"KmsThrottled", "sending to queue scheduler: throttled, try again later (KmsThrottled): told"},
		"in flight":                {"OverLimit", "sending to queue scheduler: too many messages are in flight, delete some first: told"},
		"anything else":            {"ServiceUnavailable", "sending to queue scheduler: SQS answered ServiceUnavailable: told"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, q := newCloud(func(call) (int, any, error) {
				return http.StatusBadRequest, fail(c.kind, "told"), nil
			}, sqsqueue.Config{})
			err := q.Send(t.Context(), texts("a")...)
			equal(t, "error", text(err), c.want)
			if sdk := smithy.APIError(nil); errors.As(err, &sdk) {
				t.Errorf("an error of the SDK left the package: %T", sdk)
			}
		})
	}
}

func TestErrorsNameWhatWasDone(t *testing.T) {
	t.Parallel()
	_, q := newCloud(func(call) (int, any, error) {
		return http.StatusForbidden, fail("AccessDenied", "no"), nil
	}, sqsqueue.Config{Name: "requests"})
	ctx := t.Context()
	_, received := q.Receive(ctx, 1, 0)
	_, counted := q.Depth(ctx)
	cases := []struct {
		err        error
		did, needs string
	}{
		{q.Send(ctx, texts("a")...), "sending to", "sqs:SendMessage"},
		{received, "receiving from", "sqs:ReceiveMessage"},
		{q.Delete(ctx, "r"), "deleting from", "sqs:DeleteMessage"},
		{q.Release(ctx, "r", 0), "releasing to", "sqs:ChangeMessageVisibility"},
		{counted, "counting messages of", "sqs:GetQueueAttributes"},
	}
	for _, c := range cases {
		want := c.did + " queue requests: access denied: the role needs " + c.needs + " on it, and the use of its key when it has one: no"
		equal(t, "error", text(c.err), want)
	}
}

func TestEveryCallEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, q := newCloud(nil, sqsqueue.Config{})
	_, received := q.Receive(ctx, 1, 0)
	_, counted := q.Depth(ctx)
	errs := map[string]error{
		"send": q.Send(ctx, texts("a")...), "receive": received, "delete": q.Delete(ctx, "r"), "release": q.Release(ctx, "r", 0), "depth": counted,
	}
	for call, err := range errs {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want %v", call, err, context.Canceled)
		}
	}
}

func TestACountThatIsNoNumber(t *testing.T) {
	t.Parallel()
	_, q := newCloud(func(call) (int, any, error) {
		return http.StatusOK, map[string]any{"Attributes": map[string]string{"ApproximateNumberOfMessages": "3"}}, nil
	}, sqsqueue.Config{})
	_, err := q.Depth(t.Context())
	equal(t, "error", text(err), `counting messages of queue scheduler: SQS answered with ApproximateNumberOfMessagesDelayed "", which is no number`)
}

func TestAMissingQueueIsTold(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) string{"ElasticMQ": standin.ElasticMQ, "MiniStack": standin.MiniStack} {
		t.Run("by "+name, func(t *testing.T) {
			t.Parallel()
			endpoint := start(t)
			url := endpoint + "/000000000000/missing"
			q := sqsqueue.New(sqs.NewFromConfig(standin.Caller(endpoint)), url, sqsqueue.Config{})
			_, err := q.Receive(t.Context(), 1, 0)
			equal(t, "error", text(err), "receiving from queue missing: there is no queue at "+url+": check the URL and its region, and that the stack is deployed")
		})
	}
}
