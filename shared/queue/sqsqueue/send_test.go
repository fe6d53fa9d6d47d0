package sqsqueue_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/queue"
	"triad/shared/queue/sqsqueue"
)

var errReset = errors.New("connection reset by peer")

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestMessagesAreBatchedByNumberAndSize(t *testing.T) {
	t.Parallel()
	const k = 1 << 10
	cases := map[string]struct {
		sizes []int
		want  string // the numbers of each call
	}{
		"one":                           {[]int{1}, "0"},
		"ten":                           {slices.Repeat([]int{1}, 10), "0,1,2,3,4,5,6,7,8,9"},
		"eleven":                        {slices.Repeat([]int{1}, 11), "0,1,2,3,4,5,6,7,8,9 10"},
		"exactly 1 MiB":                 {[]int{256 * k, 256 * k, 256 * k, 256 * k}, "0,1,2,3"},
		"one byte more":                 {[]int{256 * k, 256 * k, 256 * k, 256*k - 1, 1, 1}, "0,1,2,3,4 5"},
		"five large":                    {slices.Repeat([]int{256 * k}, 5), "0,1,2,3 4"},
		"eight large":                   {slices.Repeat([]int{256 * k}, 8), "0,1,2,3 4,5,6,7"},
		"one that is refused is no gap": {[]int{1, 256*k + 1, 1, 0, 1}, "0,2,4"},
		"refused ones only":             {[]int{0, 0}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud, q := newCloud(nil, sqsqueue.Config{})
			var msgs []queue.Message
			for _, size := range c.sizes {
				msgs = append(msgs, queue.Message{Body: []byte(strings.Repeat("x", size))})
			}
			if err := q.Send(t.Context(), msgs...); err != nil {
				failures(t, err)
			}
			var calls []string
			for _, in := range cloud.made("SendMessageBatch") {
				var ids []string
				for _, e := range in.Entries {
					ids = append(ids, e.ID)
				}
				calls = append(calls, strings.Join(ids, ","))
			}
			equal(t, "calls", strings.Join(calls, " "), c.want)
		})
	}
}

func TestMessagesThatCanNeverBeSent(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		msg  queue.Message
		want string // "": it is sent
	}{
		"allowed controls":   {queue.Message{Body: []byte("a\t\r\n\x7f\u0085")}, ""},
		"allowed extremes":   {queue.Message{Body: []byte("\ud7ff\ue000\ufffd\U00010000\U0010ffff")}, ""},
		"empty":              {queue.Message{}, "message body is empty: every message has a body"},
		"too large":          {queue.Message{Body: make([]byte, queue.MaxBody+1)}, "message body has 262145 bytes, at most 262144 are allowed: message too large"},
		"zero":               {queue.Message{Body: []byte("ab\x00")}, "message body has the character U+0000 at byte 2, which SQS refuses: escape it as JSON does"},
		"escape":             {queue.Message{Body: []byte("é\x1b[0m")}, "message body has the character U+001B at byte 2, which SQS refuses: escape it as JSON does"},
		"noncharacter":       {queue.Message{Body: []byte("\uffff")}, "message body has the character U+FFFF at byte 0, which SQS refuses: escape it as JSON does"},
		"other noncharacter": {queue.Message{Body: []byte("\ufffe")}, "message body has the character U+FFFE at byte 0, which SQS refuses: escape it as JSON does"},
		"not UTF-8":          {queue.Message{Body: []byte("ab\xff")}, "message body is not UTF-8 at byte 2: send text"},
		"surrogate":          {queue.Message{Body: []byte("\xed\xa0\x80")}, "message body is not UTF-8 at byte 0: send text"},
		"cut character":      {queue.Message{Body: []byte("a\xe2\x82")}, "message body is not UTF-8 at byte 1: send text"},
		"negative delay":     {queue.Message{Body: []byte("a"), Delay: -1}, "message delay is -1ns: it must be 0 to 15m0s"},
		"too long a delay":   {queue.Message{Body: []byte("a"), Delay: queue.MaxDelay + 1}, "message delay is 15m0.000000001s: it must be 0 to 15m0s"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud, q := newCloud(nil, sqsqueue.Config{})
			err := q.Send(t.Context(), queue.Message{Body: []byte("fine")}, c.msg)
			if c.want == "" {
				if err != nil {
					t.Fatalf("sending: %v", err)
				}
				return
			}
			equal(t, "failed", failures(t, err), map[int]string{1: c.want})
			equal(t, "sent", cloud.bodies(t), "fine")
		})
	}
}

func TestEntriesThatSQSRefusesAreTold(t *testing.T) {
	t.Parallel()
	_, q := newCloud(func(in call) (int, any, error) {
		var done, refused []any
		for _, e := range in.Entries {
			switch e.MessageBody {
			case "throttled":
				refused = append(refused, refusal{ID: e.ID, Code: "ThrottlingException", Message: "Rate exceeded"})
			case "broken":
				refused = append(refused, refusal{ID: e.ID, Code: "InternalError", Message: "Sorry"})
			case "large":
				refused = append(refused, refusal{ID: e.ID, Code: "InvalidParameterValue", SenderFault: true, Message: "Reason: Message must be shorter than 1024 bytes."})
			case "strange":
				refused = append(refused, refusal{ID: e.ID, Code: "InvalidMessageContents", SenderFault: true, Message: "Invalid binary character"})
			case "elasticmq-large":
				refused = append(refused, refusal{ID: e.ID, Code: "InvalidAttributeValue", SenderFault: true, Message: "MessageTooLong"})
			case "elasticmq-strange":
				refused = append(refused, refusal{ID: e.ID, Code: "InvalidAttributeValue", SenderFault: true, Message: "InvalidMessageContents"})
			case "forgotten":
			default:
				done = append(done, map[string]string{"Id": e.ID, "MessageId": "m", "MD5OfMessageBody": digest(e.MessageBody)})
			}
		}
		return http.StatusOK, map[string]any{"Successful": done, "Failed": refused}, nil
	}, sqsqueue.Config{})
	bodies := strings.Fields("a b c d e f g h i throttled a broken large strange forgotten b elasticmq-large elasticmq-strange")
	bodies[3] = "" // not even asked for: the numbers are those of the caller
	err := q.Send(t.Context(), texts(bodies...)...)
	equal(t, "failed", failures(t, err), map[int]string{
		3:  "message body is empty: every message has a body",
		9:  "sending to queue scheduler: throttled, try again later (ThrottlingException): Rate exceeded",
		11: "sending to queue scheduler: SQS answered InternalError: Sorry",
		12: "sending to queue scheduler: SQS refused its size (Reason: Message must be shorter than 1024 bytes.): message too large",
		13: "sending to queue scheduler: SQS refused a character of the message, on every try: Invalid binary character",
		14: "sending to queue scheduler: the answer of SQS leaves it out",
		16: "sending to queue scheduler: SQS refused its size (MessageTooLong): message too large",
		17: "sending to queue scheduler: SQS refused a character of the message, on every try: InvalidMessageContents",
	})
	for i, err := range err.(*queue.PartialError).Failed {
		if errors.Is(err, queue.ErrTooLarge) != (i == 12 || i == 16) {
			t.Errorf("the cause of number %d is: %v", i, err)
		}
	}
}

// TestALaterCallFails: what the earlier calls sent is not to be sent again.
func TestALaterCallFails(t *testing.T) {
	t.Parallel()
	calls := 0
	cloud, q := newCloud(func(call) (int, any, error) {
		if calls++; calls == 2 {
			return http.StatusBadRequest, fail("RequestThrottled", "Rate exceeded"), nil
		}
		return 0, nil, nil
	}, sqsqueue.Config{})
	const n, batch = 34, 10
	var msgs []queue.Message
	for i := range n {
		msgs = append(msgs, queue.Message{Body: fmt.Appendf(nil, "%d", i)})
	}
	causes := failures(t, q.Send(t.Context(), msgs...))
	for i := range n {
		if _, failed := causes[i]; failed != (i >= batch) {
			t.Errorf("number %d failed: %t", i, failed)
		}
	}
	equal(t, "cause", causes[batch], "sending to queue scheduler: throttled, try again later (RequestThrottled): Rate exceeded")
	equal(t, "sent", cloud.bodies(t), "0 1 2 3 4 5 6 7 8 9")
	equal(t, "calls", calls, 2)
}

func TestALostAnswerMaySendTwice(t *testing.T) {
	t.Parallel()
	var cloud *cloud
	lost := false
	cloud, q := newCloud(func(in call) (int, any, error) {
		if lost {
			return 0, nil, nil
		}
		lost = true
		if _, err := cloud.answer(context.Background(), in); err != nil {
			t.Error(err)
		}
		return 0, nil, errReset
	}, sqsqueue.Config{})
	err := q.Send(t.Context(), texts("a", "b")...)
	if partial := (*queue.PartialError)(nil); err == nil || errors.As(err, &partial) || !strings.Contains(err.Error(), errReset.Error()) {
		t.Fatalf("sending: %v, want that all is unknown, because of %v", err, errReset)
	}
	if err := q.Send(t.Context(), texts("a", "b")...); err != nil {
		t.Fatalf("sending again: %v", err)
	}
	equal(t, "sent", cloud.bodies(t), "a b a b")
}

func TestAContextThatEndsIsTold(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cloud, q := newCloud(func(call) (int, any, error) {
		cancel()
		return 0, nil, context.Canceled
	}, sqsqueue.Config{})
	for _, calls := range []int{1, 1} { // the second Send makes none
		if err := q.Send(ctx, texts("a")...); !errors.Is(err, context.Canceled) {
			t.Errorf("sending: %v, want %v", err, context.Canceled)
		}
		equal(t, "calls", len(cloud.made("SendMessageBatch")), calls)
	}
}

func TestDelaysAreRoundedUpToSeconds(t *testing.T) {
	t.Parallel()
	cloud, q := newCloud(nil, sqsqueue.Config{})
	delays := []time.Duration{0, 1, time.Second, 1001 * time.Millisecond, queue.MaxDelay}
	var msgs []queue.Message
	for _, d := range delays {
		msgs = append(msgs, queue.Message{Body: []byte("x"), Delay: d})
	}
	if err := q.Send(t.Context(), msgs...); err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, e := range cloud.made("SendMessageBatch")[0].Entries {
		got = append(got, e.DelaySeconds)
	}
	equal(t, "seconds", got, []int{0, 1, 1, 2, 900})
}

func TestGroupsAreToldToFairQueuesOnly(t *testing.T) {
	t.Parallel()
	const hashed = "sha256:"
	long := strings.Repeat("x", 129)
	cases := map[string]struct {
		group, want string // a hash is told by its beginning
	}{
		"without group":         {"", ""},
		"with a group":          {"tenant-1_a.b@example.com", "tenant-1_a.b@example.com"},
		"as long as is allowed": {long[1:], long[1:]},
		"too long":              {long, hashed},
		"a space":               {"a b", hashed},
		"not ASCII":             {"Jürgen", hashed},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud, q := newCloud(nil, sqsqueue.Config{})
			if err := q.Send(t.Context(), queue.Message{Body: []byte("x"), Group: c.group}); err != nil {
				t.Fatal(err)
			}
			got := cloud.made("SendMessageBatch")[0].Entries[0].MessageGroupID
			if c.want == hashed && len(got) == len(hashed)+64 {
				got = got[:len(hashed)]
			}
			equal(t, "group", got, c.want)
		})
	}
}
