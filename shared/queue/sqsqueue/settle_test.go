package sqsqueue_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"triad/shared/queue/sqsqueue"
)

func TestDeletesThatSQSRefuses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		refused []refusal // of the entries 0, 1 and 2
		want    string    // "": no error
	}{
		"none":                  {nil, ""},
		"gone, to ElasticMQ":    {[]refusal{{"1", "ReceiptHandleIsInvalid", `The receipt handle "x" is not valid.`, true}}, ""},
		"gone, with a prefix":   {[]refusal{{"1", "AWS.SimpleQueueService.ReceiptHandleIsInvalid", "", true}}, ""},
		"gone, by expiry":       {[]refusal{{"1", "InvalidParameterValue", "Value x for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.", true}}, ""},
		"throttled":             {[]refusal{{"2", "RequestThrottled", "Rate exceeded", false}}, "deleting from queue scheduler: 1 of 3 deliveries not deleted, they will come again: throttled, try again later (RequestThrottled): Rate exceeded"},
		"one gone, one not":     {[]refusal{{"0", "InternalError", "Sorry", false}, {"1", "ReceiptHandleIsInvalid", "", true}}, "deleting from queue scheduler: 1 of 3 deliveries not deleted, they will come again: SQS answered InternalError: Sorry"},
		"one without an answer": {[]refusal{{"-", "", "", false}}, "deleting from queue scheduler: 1 of 3 deliveries not deleted, they will come again: the answer of SQS leaves it out"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, q := newCloud(func(in call) (int, any, error) {
				refused, done := c.refused, []any{}
				if len(refused) > 0 && refused[0].ID == "-" {
					refused, in.Entries = nil, in.Entries[1:]
				}
				for _, e := range in.Entries[len(refused):] {
					done = append(done, map[string]string{"Id": e.ID})
				}
				return http.StatusOK, map[string]any{"Successful": done, "Failed": refused}, nil
			}, sqsqueue.Config{})
			equal(t, "error", text(q.Delete(t.Context(), "a", "b", "c")), c.want)
		})
	}
}

// TestDeletesAreBatched: by tens, and a call that fails does not keep the others
// from being made.
func TestDeletesAreBatched(t *testing.T) {
	t.Parallel()
	cloud, q := newCloud(nil, sqsqueue.Config{})
	cloud.script = func(in call) (int, any, error) {
		if in.Entries[0].ReceiptHandle == "10" {
			return http.StatusInternalServerError, fail("InternalFailure", "Sorry"), nil
		}
		return 0, nil, nil
	}
	var receipts []string
	for i := range 25 {
		receipts = append(receipts, fmt.Sprint(i))
	}
	equal(t, "error", text(q.Delete(t.Context(), receipts...)), "deleting from queue scheduler: SQS answered InternalFailure: Sorry")
	var sizes []int
	for _, in := range cloud.made("DeleteMessageBatch") {
		sizes = append(sizes, len(in.Entries))
	}
	equal(t, "sizes", sizes, []int{10, 10, 5})
}

func TestReleasesThatSQSRefuses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ kind, text, want string }{
		"gone":          {"ReceiptHandleIsInvalid", "not valid", ""},
		"not in flight": {"MessageNotInflight", "", ""},
		"gone, to AWS":  {"InvalidParameterValueException", "Value x for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility timeout change.", ""},
		"too long": {
			"InvalidParameterValueException", "Value 43200 for parameter VisibilityTimeout is invalid.",
			"releasing to queue scheduler: SQS answered InvalidParameterValueException: Value 43200 for parameter VisibilityTimeout is invalid.",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, q := newCloud(func(call) (int, any, error) {
				return http.StatusBadRequest, fail(c.kind, c.text), nil
			}, sqsqueue.Config{})
			equal(t, "error", text(q.Release(t.Context(), "r", 0)), c.want)
		})
	}
}

func TestReleasesAreRoundedUpToSeconds(t *testing.T) {
	t.Parallel()
	cloud, q := newCloud(nil, sqsqueue.Config{})
	for _, d := range []time.Duration{-time.Second, 0, 1, time.Second, 1500 * time.Millisecond, 13 * time.Hour} {
		if err := q.Release(t.Context(), "r", d); err != nil {
			t.Fatal(err)
		}
	}
	var got []int
	for _, in := range cloud.made("ChangeMessageVisibility") {
		got = append(got, in.VisibilityTimeout)
	}
	equal(t, "seconds", got, []int{0, 0, 1, 1, 2, 43200})
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
