package trigger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// TickConfig makes Ticks. Tick is required.
type TickConfig struct {
	// Tick does what the Supervisor does at a tick. scheduled is true when the
	// schedule asks for it, false for a tick that came through a queue. Its
	// context ends as that of a message's handler.
	Tick func(ctx context.Context, scheduled bool) error
	// Margin, After and Logger are as in Config.
	Margin time.Duration
	After  func(context.Context)
	Logger *slog.Logger
}

// Ticks calls the Supervisor: at each event of a schedule (EventBridge Scheduler
// or a rule), and at each batch of ticks from a queue. It is safe for concurrent
// use.
type Ticks struct {
	invocation
	tick func(ctx context.Context, scheduled bool) error
}

// NewTicks makes Ticks. It panics when Tick is missing.
func NewTicks(c TickConfig) *Ticks {
	if c.Tick == nil {
		panic("trigger: TickConfig needs a Tick")
	}
	return &Ticks{invocation: newInvocation(c.Margin, c.After, c.Logger), tick: c.Tick}
}

// Invoke calls Tick once, also for several ticks of a queue at once: a tick has
// no content, one look serves them all. When it fails, panics or does not end in
// time, a scheduled tick is an error, which Lambda counts. Ticks of a queue are
// logged and done with: the next does what they left, and those of a bad hour, kept,
// would come back all together, or stay as dead letters that say nothing.
//
// The error is for such a tick and for a payload that is neither.
func (t *Ticks) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	defer t.end(ctx)
	scheduled, err := isSchedule(payload)
	if err != nil {
		return nil, err
	}
	if scheduled {
		if err := t.run(ctx, true); err != nil {
			return nil, fmt.Errorf("a scheduled tick: %w", err)
		}
		return []byte("null"), nil
	}
	ticks, err := decodeMessages(payload)
	if err != nil {
		return nil, err
	}
	if err := t.run(ctx, false); err != nil {
		t.logger(ctx).Warn("a tick failed; the next does what it left", "error", err, "queue", ticks[0].Queue, "messages", len(ticks))
	}
	return failed(nil)
}

// run calls Tick and waits for it as long as there is time.
func (t *Ticks) run(ctx context.Context, scheduled bool) error {
	log := t.logger(ctx)
	result := make(chan error, 1)
	t.within(ctx, func(ctx context.Context) {
		err := ctx.Err()
		if err == nil {
			err = caught(log, func() error { return t.tick(ctx, scheduled) })
		}
		result <- err
	})
	select {
	case err := <-result:
		return err
	default:
		return errors.New("the tick did not end in time, and is left behind")
	}
}

// isSchedule reports whether a payload is the event of a schedule; otherwise it
// should be an SQS event. A schedule must leave its Input alone, since that
// replaces the event.
func isSchedule(payload []byte) (bool, error) {
	var event struct {
		events.EventBridgeEvent
		Records json.RawMessage
	}
	if err := json.Unmarshal(payload, &event); err != nil {
		return false, fmt.Errorf("reading the payload as the event of a schedule or a queue: %w", err)
	}
	if event.Records != nil {
		return false, nil
	}
	if event.DetailType != "Scheduled Event" {
		return false, fmt.Errorf("the payload is no event of a schedule or a queue: its detail-type is %q, from %q: check what invokes this function",
			event.DetailType, event.Source)
	}
	return true, nil
}
