package trigger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"triad/shared/queue"
	"triad/shared/scheduler"
	"triad/shared/trigger"

	"triad/events"
)

type acts = map[string]func(context.Context) error

func TestWhatIsReportedAsFailed(t *testing.T) {
	panics := func(context.Context) error { panic("index out of range") }
	tests := map[string]struct {
		acts   acts
		bodies []string
		failed []string
		log    []string // sorted
	}{
		"nothing, in words that are not null": {nil, []string{"a"}, []string{}, []string{"begin a", "end a"}},
		"a message that fails, and no other": {acts{"b": fail}, []string{"a", "b", "c"}, []string{"b"},
			[]string{"begin a", "begin b", "begin c", "end a", "end c"}},
		"a message that panics, and no other": {acts{"b": panics}, []string{"a", "b", "c"}, []string{"b"},
			[]string{"begin a", "begin b", "begin c", "end a", "end c"}},
		"a message whose key can't be found, and no other": {nil, []string{"a", "keyless!"}, []string{"keyless!"},
			[]string{"begin a", "end a"}},
		"what is behind a failed one of its key": {acts{"a-2": fail}, []string{"a-1", "b-1", "a-2", "b-2", "a-3", "a-4"},
			[]string{"a-2", "a-3", "a-4"}, []string{"begin a-1", "begin a-2", "begin b-1", "begin b-2", "end a-1", "end b-1", "end b-2"}},
		"what is behind one of its key that panics":   {acts{"a-1": panics}, []string{"a-1", "a-2"}, []string{"a-1", "a-2"}, []string{"begin a-1"}},
		"no other without a key":                      {acts{"-1": fail}, []string{"-1", "-2"}, []string{"-1"}, []string{"begin -1", "begin -2", "end -2"}},
		"a message that fails twice in a batch, once": {acts{"a": fail}, []string{"a", "a"}, []string{"a"}, []string{"begin a"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, tc.acts)
				equal(t, "failures", r.invoke(r.config(), tc.bodies...), tc.failed)
				log := r.lines()
				slices.Sort(log)
				equal(t, "log", log, tc.log)
				equal(t, "calls of After", r.after, 1)
			})
		})
	}
}

func TestOneKeyInOrderAndDifferentKeysAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, acts{"a-1": wait(3 * time.Second), "a-2": wait(2 * time.Second), "b-1": wait(time.Second)})
		equal(t, "failures", r.invoke(r.config(), "a-1", "a-2", "b-1"), []string{})
		log := r.lines()
		slices.Sort(log[:2]) // begun at once
		equal(t, "log", log, []string{"begin a-1", "begin b-1", "end b-1", "end a-1", "begin a-2", "end a-2"})
	})
}

// Ten seconds, of which two are the margin.
func TestWhatHasNotEndedInTimeFails(t *testing.T) {
	tests := map[string]struct {
		acts   acts
		bodies []string
		margin time.Duration
		failed []string
		took   time.Duration
		log    []string
	}{
		"handler that heeds its context": {acts{"a": wait(time.Minute)}, []string{"a"}, 0, []string{"a"}, 8 * time.Second, []string{"begin a"}},
		"handler that needs a moment to end, and ends well": {acts{"a": ignore(8500 * time.Millisecond)}, []string{"a"}, 0,
			[]string{}, 8500 * time.Millisecond, []string{"begin a", "end a"}},
		"handler that ignores its context": {acts{"a": ignore(time.Minute)}, []string{"a"}, 0, []string{"a"}, 9 * time.Second, []string{"begin a"}},
		"one that ignores it does not harm others": {acts{"a": ignore(time.Minute), "b": wait(7 * time.Second)}, []string{"a", "b"}, 0,
			[]string{"a"}, 9 * time.Second, []string{"begin a", "begin b", "end b"}},
		"what is behind is not begun": {acts{"a-1": wait(time.Minute)}, []string{"a-1", "a-2"}, 0, []string{"a-1", "a-2"}, 8 * time.Second, []string{"begin a-1"}},
		"what is behind a late success is not begun": {acts{"a-1": ignore(8500 * time.Millisecond)}, []string{"a-1", "a-2"}, 0,
			[]string{"a-2"}, 8500 * time.Millisecond, []string{"begin a-1", "end a-1"}},
		"a margin beyond all reason still leaves half of the time": {acts{"a": wait(4 * time.Second)}, []string{"a"}, time.Hour,
			[]string{}, 4 * time.Second, []string{"begin a", "end a"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRig(t, tc.acts)
				c := r.config()
				c.Margin = max(tc.margin, c.Margin)
				begun := time.Now()
				equal(t, "failures", r.invoke(c, tc.bodies...), tc.failed)
				equal(t, "time", time.Since(begun), tc.took)
				log := r.lines()
				slices.Sort(log)
				equal(t, "log", log, tc.log)
				equal(t, "calls of After", r.after, 1)
				<-time.After(time.Hour) // for what was left behind
			})
		})
	}
}

func TestWhatIsLeftBehindBeginsNothingMore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, acts{"a-1": ignore(time.Minute)})
		equal(t, "failures", r.invoke(r.config(), "a-1", "a-2"), []string{"a-1", "a-2"})
		<-time.After(time.Hour)
		equal(t, "log", r.lines(), []string{"begin a-1", "end a-1"})
	})
}

func TestNothingIsBegunWithoutTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, nil)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		equal(t, "failures", failures(t, trigger.NewMessages(r.config()), ctx, event("a", "b")), []string{"a", "b"})
		equal(t, "log", r.lines(), []string(nil))
	})
}

func TestWhatAHandlerIsGiven(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		attributes string
		receives   int
	}{
		"first delivery":       {`{"ApproximateReceiveCount": "1"}`, 1},
		"fourth delivery":      {`{"ApproximateReceiveCount": "4"}`, 4},
		"count not told":       {`{}`, 2},
		"no attributes at all": {`null`, 2},
		"count not readable":   {`{"ApproximateReceiveCount": "often"}`, 2},
		"count that can't be":  {`{"ApproximateReceiveCount": "0"}`, 2},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got trigger.Message
			f := trigger.NewMessages(trigger.Config{Handle: func(_ context.Context, m trigger.Message) error {
				got = m
				return nil
			}})
			payload := fmt.Sprintf(`{"Records": [{"messageId": "1", "body": "{\"a\":\"\u00e4\"}", "receiptHandle": "r", "eventSource": "aws:sqs",
				"eventSourceARN": "arn:aws:sqs:eu-central-1:123456789012:shop-scheduler", "attributes": %s}]}`, tc.attributes)
			equal(t, "failures", failures(t, f, t.Context(), []byte(payload)), []string{})
			equal(t, "delivery", got.Delivery, queue.Delivery{Body: []byte(`{"a":"ä"}`), Receives: tc.receives, Receipt: "r"})
			equal(t, "queue", got.Queue, "shop-scheduler")
		})
	}
}

func TestPayloadsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, payload := range map[string]string{
		"not JSON":               `<xml/>`,
		"no records":             `{}`,
		"null":                   `null`,
		"a schedule":             `{"detail-type": "Scheduled Event", "source": "aws.scheduler"}`,
		"another source":         `{"Records": [{"messageId": "1", "eventSource": "aws:sns"}]}`,
		"a record without id":    `{"Records": [{"messageId": "1", "eventSource": "aws:sqs"}, {"eventSource": "aws:sqs"}]}`,
		"a body that is no text": `{"Records": [{"messageId": "1", "eventSource": "aws:sqs", "body": {}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil)
			answer, err := trigger.NewMessages(r.config()).Invoke(t.Context(), []byte(payload))
			if err == nil || answer != nil || len(r.lines()) > 0 || r.after != 1 {
				t.Errorf("got %s, %v, handled %v, After called %d times; want an error, and After called once", answer, err, r.lines(), r.after)
			}
		})
	}
}

func TestFailuresAreLoggedWithoutBodies(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, acts{"a-secret": func(context.Context) error { panic("out of range") }, "b-secret": fail})
		ctx := lambdacontext.NewContext(context.Background(), &lambdacontext.LambdaContext{AwsRequestID: "request-7"})
		payload := strings.NewReplacer(`"messageId": "a-secret"`, `"messageId": "1"`, `"messageId": "b-secret"`, `"messageId": "2"`,
			"r-a-secret", "r", "r-b-secret", "r").Replace(string(event("a-secret", "b-secret")))
		equal(t, "failures", failures(t, trigger.NewMessages(r.config()), ctx, []byte(payload)), []string{"1", "2"})
		text := r.text.String()
		for _, want := range []string{`msg="handler panicked" requestId=request-7 panic="out of range" stack=`, "messages_test.go",
			`msg="message not handled" requestId=request-7 error="service unavailable" queue=shop-scheduler message=2 receives=3`} {
			if !strings.Contains(text, want) {
				t.Errorf("the log has no %q:\n%s", want, text)
			}
		}
		if strings.Contains(text, "secret") {
			t.Errorf("the log has a body:\n%s", text)
		}
	})
}

func TestAPanicAfterwardsUndoesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, acts{"b": fail})
		c := r.config()
		c.After = func(context.Context) { panic("no metrics") }
		equal(t, "failures", r.invoke(c, "a", "b"), []string{"b"})
	})
}

// The sample can be given to the Scheduler as it is.
func TestTheSampleEventIsForTheScheduler(t *testing.T) {
	t.Parallel()
	payload, err := events.FS.ReadFile("lambda-sqs.json")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan string, 10)
	f := trigger.NewMessages(trigger.Config{Key: scheduler.Key, Handle: func(_ context.Context, m trigger.Message) error {
		_, err := queue.DecodeToScheduler(m.Body)
		seen <- fmt.Sprintf("%s %s %d", m.Queue, scheduler.Key(m.Body), m.Receives)
		return err
	}})
	equal(t, "failures", failures(t, f, t.Context(), payload), []string{})
	close(seen)
	var got []string
	for s := range seen {
		got = append(got, s)
	}
	slices.Sort(got)
	equal(t, "messages", got, []string{"triad-scheduler order-1001 1", "triad-scheduler order-1001 1", "triad-scheduler order-1002 2"})
}

func FuzzMessages(f *testing.F) {
	for _, file := range []string{"lambda-sqs.json", "lambda-tick.json", "lambda-schedule.json"} {
		payload, err := events.FS.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(payload)
	}
	f.Add(event("a-1", "a-2", "b"))
	f.Fuzz(func(t *testing.T, payload []byte) {
		handled := make(chan string, 1000)
		m := trigger.NewMessages(trigger.Config{Key: scheduler.Key, Handle: func(_ context.Context, m trigger.Message) error {
			if m.Receives < 1 {
				t.Errorf("received %d times", m.Receives)
			}
			select {
			case handled <- string(m.Body):
			default:
			}
			if len(m.Body)%2 == 1 {
				return errHandler
			}
			return nil
		}})
		answer, err := m.Invoke(t.Context(), payload)
		if err != nil {
			if len(handled) > 0 || answer != nil {
				t.Errorf("%v, though %d messages were handled and the answer is %s", err, len(handled), answer)
			}
			return
		}
		var known struct {
			Records []struct{ MessageID string }
		}
		if err := json.Unmarshal(payload, &known); err != nil {
			t.Fatal(err)
		}
		for _, id := range reported(t, answer) {
			if id == "" || !slices.ContainsFunc(known.Records, func(r struct{ MessageID string }) bool { return r.MessageID == id }) {
				t.Errorf("reports %q, which is no message of the event", id)
			}
		}
	})
}
