package cloud

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"triad/shared/doctor"
	"triad/shared/engine"
	"triad/shared/function"
	"triad/shared/queue"
	"triad/shared/queue/sqsqueue"
	"triad/shared/settings"
	"triad/shared/store"
	"triad/shared/supervisor"
	"triad/shared/task"
	"triad/shared/telemetry/emf"
	"triad/shared/trigger"
)

// schedulePeriod is how often the schedule of template.yaml asks for a tick: no
// schedule of AWS is faster.
const schedulePeriod = time.Minute

// guard is how long after its CompleteBy a task is looked at: hosts of Lambda
// differ by less.
const guard = time.Second

// Supervisor is the function behind the schedule and the ticks queue. At each
// event of the schedule it sends itself the ticks of the next minute, delayed.
func Supervisor(ctx context.Context, env function.Environment) (trigger.Function, error) {
	f, c, err := begin(ctx, env, settings.Supervisor)
	if err != nil {
		return nil, err
	}
	w := &watch{
		supervisor: supervisor.New(supervisor.Config{Engine: c.Engine, Guard: guard}),
		store:      c.Store,
		room:       c.room(), period: f.Settings.Sweep, metrics: f.Metrics,
		ticks:  sqsqueue.New(c.messages, f.Settings.Queue("ticks"), sqsqueue.Config{}),
		doctor: doctor.New(c.Doctor(doctor.Bounds{Tasks: examined, Walked: -1})), logger: f.Logger,
	}
	return trigger.NewTicks(trigger.TickConfig{Tick: w.tick, After: f.Flush, Logger: f.Logger}), nil
}

// sweeper is what the watch needs of a supervisor.Supervisor.
type sweeper interface {
	Sweep(context.Context) (supervisor.Report, error)
	Admit(ctx context.Context, room int) (supervisor.Report, error)
}

// watch is the Supervisor at its ticks.
type watch struct {
	supervisor sweeper
	store      store.Store
	room       *room
	period     time.Duration
	metrics    *emf.Metrics
	ticks      engine.Sender
	doctor     *doctor.Doctor
	examined   atomic.Int64 // when an examination was begun, Millis
	logger     *slog.Logger
}

// tick sweeps until nothing is left to do, the agents have enough to do or time is
// up, then brings back tasks that were held. Ticks may come twice or at once: every
// act is a conditional write.
func (w *watch) tick(ctx context.Context, scheduled bool) error {
	var failed []error
	if scheduled {
		failed = append(failed, w.ahead(ctx))
	}
	for more := true; more && ctx.Err() == nil; {
		report, err := w.supervisor.Sweep(ctx)
		w.metrics.Swept(report, err)
		failed = append(failed, err)
		// What is recovered faster than agents work expires in their queues.
		more = report.More && err == nil && w.room.left(ctx) > 0
	}
	if err := w.admit(ctx); err != nil {
		failed = append(failed, fmt.Errorf("bringing back held tasks: %w", err))
	}
	if scheduled {
		failed = append(failed, w.examine(ctx))
	}
	return errors.Join(failed...)
}

// admit brings back held tasks when there are any: only then are the queues asked
// for how much room there is, which is billed.
func (w *watch) admit(ctx context.Context) error {
	for n := range task.HeldShards {
		page, err := w.store.Due(ctx, store.DueQuery{Shard: task.HeldShard(n), Before: task.At(time.Now()), Limit: 1})
		if err != nil {
			return err
		}
		if len(page.Rows) > 0 {
			_, err := w.supervisor.Admit(ctx, w.room.left(ctx))
			return err
		}
	}
	return nil
}

// ahead sends the ticks between this event of the schedule and the next.
func (w *watch) ahead(ctx context.Context) error {
	var ticks []queue.Message
	for at := w.period; at < schedulePeriod; at += w.period {
		ticks = append(ticks, queue.Message{Body: []byte("tick"), Delay: at})
	}
	if len(ticks) == 0 {
		return nil
	}
	if err := w.ticks.Send(ctx, ticks...); err != nil {
		return fmt.Errorf("sending the ticks of the next minute: %w", err)
	}
	return nil
}
