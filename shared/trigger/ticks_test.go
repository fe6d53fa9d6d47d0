package trigger_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"triad/shared/trigger"

	"triad/events"
)

// sample is one of the sample payloads.
func sample(t testing.TB, file string) []byte {
	t.Helper()
	payload, err := events.FS.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

func TestWhatATickComesTo(t *testing.T) {
	const rule = `{"version": "0", "id": "1", "detail-type": "Scheduled Event", "source": "aws.events", "account": "123456789012",
		"time": "2026-11-21T12:00:00Z", "region": "eu-central-1", "resources": [], "detail": {}}`
	schedule, tick := string(sample(t, "lambda-schedule.json")), string(sample(t, "lambda-tick.json"))
	panics := func(context.Context) error { panic("no shard") }
	tests := map[string]struct {
		payload   string
		act       func(context.Context) error
		scheduled bool
		ticks     int
		answer    string
		err       string
		took      time.Duration
	}{
		"schedule":                     {schedule, nil, true, 1, "null", "", 0},
		"rule":                         {rule, nil, true, 1, "null", "", 0},
		"schedule, failing":            {schedule, fail, true, 1, "", "a scheduled tick: service unavailable", 0},
		"schedule, panicking":          {schedule, panics, true, 1, "", "a scheduled tick: handler panicked: no shard", 0},
		"schedule, too slow":           {schedule, wait(time.Minute), true, 1, "", "a scheduled tick: context deadline exceeded", 8 * time.Second},
		"schedule, ignoring its time":  {schedule, ignore(time.Minute), true, 1, "", "a scheduled tick: the tick did not end in time, and is left behind", 9 * time.Second},
		"queue":                        {tick, nil, false, 1, `{"batchItemFailures":[]}`, "", 0},
		"queue, failing":               {tick, fail, false, 1, `{"batchItemFailures":[]}`, "", 0},
		"queue, panicking":             {tick, panics, false, 1, `{"batchItemFailures":[]}`, "", 0},
		"queue, ignoring its time":     {tick, ignore(time.Minute), false, 1, `{"batchItemFailures":[]}`, "", 9 * time.Second},
		"queue, several, one look":     {string(event("1", "2")), nil, false, 1, `{"batchItemFailures":[]}`, "", 0},
		"queue, several, all fail":     {string(event("1", "2")), fail, false, 1, `{"batchItemFailures":[]}`, "", 0},
		"records of another source":    {`{"Records": [{"messageId": "1", "eventSource": "aws:sns"}]}`, nil, false, 0, "", "reading the payload as an SQS event: ", 0},
		"schedule with its own input":  {`{"sweep": true}`, nil, false, 0, "", `the payload is no event of a schedule or a queue: its detail-type is ""`, 0},
		"not JSON":                     {`tick`, nil, false, 0, "", "reading the payload as the event of a schedule or a queue: ", 0},
		"no records, but named, as is": {`{"Records": []}`, nil, false, 0, "", "reading the payload as an SQS event: ", 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var ticks atomic.Int64
				after, begun := 0, time.Now()
				f := trigger.NewTicks(trigger.TickConfig{Margin: 2 * time.Second, After: func(context.Context) { after++ },
					Tick: func(ctx context.Context, scheduled bool) error {
						ticks.Add(1)
						equal(t, "scheduled", scheduled, tc.scheduled)
						if tc.act == nil {
							return nil
						}
						return tc.act(ctx)
					}})
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				defer cancel()
				answer, err := f.Invoke(ctx, []byte(tc.payload))
				text := ""
				if err != nil {
					text = err.Error()
				}
				if string(answer) != tc.answer || !strings.HasPrefix(text, tc.err) || (err == nil) != (tc.err == "") {
					t.Errorf("got %s, %v, want %s, %q", answer, err, tc.answer, tc.err)
				}
				equal(t, "ticks and calls of After", []int{int(ticks.Load()), after}, []int{tc.ticks, 1})
				equal(t, "time", time.Since(begun), tc.took)
				<-time.After(time.Hour) // for what was left behind
			})
		})
	}
}

func TestAFunctionWithoutWorkIsAMistake(t *testing.T) {
	t.Parallel()
	for name, make := range map[string]func(){
		"messages": func() { trigger.NewMessages(trigger.Config{}) },
		"ticks":    func() { trigger.NewTicks(trigger.TickConfig{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			make()
		})
	}
}

func FuzzTicks(f *testing.F) {
	for _, file := range []string{"lambda-sqs.json", "lambda-tick.json", "lambda-schedule.json"} {
		f.Add(sample(f, file))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		ticks := 0
		answer, err := trigger.NewTicks(trigger.TickConfig{Tick: func(context.Context, bool) error {
			ticks++
			return nil
		}}).Invoke(t.Context(), payload)
		if (err == nil) != (ticks == 1) || ticks > 1 || (err == nil) == (answer == nil) {
			t.Errorf("%d ticks, answer %s, %v", ticks, answer, err)
		}
	})
}
