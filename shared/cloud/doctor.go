package cloud

import (
	"context"
	"fmt"
	"time"

	"triad/shared/doctor"
	"triad/shared/store/dynamostore"
	"triad/shared/store/record"
	"triad/shared/task"
)

// examineEvery is how often a Supervisor has the doctor examine, and the first
// time at its first scheduled tick: what each process of a function does, a
// deployment has done now and then.
const examineEvery = 10 * time.Minute

// examined is the most tasks that each check of an examination loads: every one
// is billed.
const examined = 200

// Doctor examines the deployment, within these bounds. What it needs for more
// (a walk by every record, dead letters) is for the caller to add.
func (c *Cloud) Doctor(b doctor.Bounds) doctor.Config {
	return doctor.Config{
		Store: c.Store, Workflows: c.Offers, Agents: c.Settings.Agents, Shards: c.Settings.Shards,
		Size:    func(t task.Task) (int, error) { return dynamostore.Size(t, c.Settings.Keep) },
		MaxSize: record.MaxSize, Lag: 2 * time.Second, Bounds: b,
	}
}

// examine has the doctor look at a part of the deployment, when it is time.
func (w *watch) examine(ctx context.Context) error {
	last, now := w.examined.Load(), time.Now()
	if now.Sub(time.UnixMilli(last)) < examineEvery || !w.examined.CompareAndSwap(last, now.UnixMilli()) {
		return nil
	}
	report, err := w.doctor.Examine(ctx, doctor.Options{})
	if err != nil {
		return fmt.Errorf("examining the deployment: %w", err)
	}
	report.Log(ctx, w.logger)
	found := report.Findings()
	for _, c := range report.Checks {
		if c.Status == doctor.Failed {
			found++
		}
	}
	w.metrics.Examined(found)
	return nil
}
