// Package bench measures what the embedded engine costs by itself: tasks whose
// agents do no work, every state durable, beside the floor of the same run: what
// the store alone does with as many callers and records of the same size.
//
// Figures of one run belong together; compare ratios, not absolute figures of
// different machines or moments.
package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"triad/shared/store/sqlitestore"
)

// Config says what to measure.
type Config struct {
	// Dir is where the store's file goes; it must be on the disk to measure.
	Dir string
	// InFlight is how many tasks are under way at once.
	InFlight int
	// Steps is the number of steps of a task, in sequence.
	Steps int
	// Seconds is how long the engine is measured; the floor and the run of one
	// task at a time take a third of that each.
	Seconds float64
	// Progress gets lines for people. Nil for none.
	Progress func(format string, args ...any)
}

// Result is what was measured. Milliseconds are wall time; latencies of a step
// go from the end of one step's work (or the submission) to the start of the
// next one's (or the end of the task): what the engine adds.
type Result struct {
	InFlight int     `json:"in_flight"`
	Steps    int     `json:"steps"`
	Seconds  float64 `json:"seconds"`
	Tasks    int     `json:"tasks"`

	TasksPerS   float64 `json:"tasks_per_s"`
	StepsPerS   float64 `json:"steps_per_s"`
	CommitsPerS float64 `json:"commits_per_s"`
	// CommitsPerTask counts durable writes of the task's record; one creates it.
	CommitsPerTask float64 `json:"commits_per_task"`
	StepP50        float64 `json:"step_p50_ms"`
	StepP99        float64 `json:"step_p99_ms"`
	TaskP50        float64 `json:"task_p50_ms"`
	TaskP99        float64 `json:"task_p99_ms"`
	// FsyncsPerTask counts one sync per group commit and two per checkpoint.
	FsyncsPerTask float64 `json:"fsyncs_per_task"`
	CPUPer1000    float64 `json:"cpu_s_per_1000_tasks"`
	// BytesPerTask is what the file grew by.
	BytesPerTask float64 `json:"bytes_per_task"`
	// RSS is the process's peak, with the load generator in it.
	RSS float64 `json:"rss_mb"`

	FloorCommitsPerS float64 `json:"floor_commits_per_s"`
	// RatioToFloor is CommitsPerS over FloorCommitsPerS.
	RatioToFloor float64 `json:"ratio_to_floor"`

	// One task at a time.
	AloneTaskP50 float64 `json:"alone_task_p50_ms"`
	AloneStepP50 float64 `json:"alone_step_p50_ms"`
	// FsyncP50 is one synced write of a page of this disk.
	FsyncP50 float64 `json:"fsync_p50_ms"`
	// AloneStepFsyncs is AloneStepP50 in syncs of this disk.
	AloneStepFsyncs float64 `json:"alone_step_fsyncs"`
}

// Run measures.
func Run(ctx context.Context, c Config) (Result, error) {
	r := Result{InFlight: c.InFlight, Steps: c.Steps}
	if c.Progress == nil {
		c.Progress = func(string, ...any) {}
	}
	third := time.Duration(c.Seconds / 3 * float64(time.Second))
	var floor rate
	measureFloor := func(ctx context.Context, _ *Result) error { return c.floor(ctx, third/2, &floor) }
	for _, part := range []struct {
		name string
		run  func(context.Context, *Result) error
	}{
		{"one synced write of the disk", c.disk},
		{"floor: the store alone", measureFloor},
		{fmt.Sprintf("engine: %d tasks in flight", c.InFlight), c.crowd},
		{"floor once more, as the machine's speed changes", measureFloor},
		{"engine: one task at a time", func(ctx context.Context, r *Result) error { return c.alone(ctx, third, r) }},
	} {
		c.Progress("measuring %s", part.name)
		if err := part.run(ctx, &r); err != nil {
			return r, fmt.Errorf("measuring %s: %w", part.name, err)
		}
	}
	r.FloorCommitsPerS = floor.perSecond()
	r.RatioToFloor = r.CommitsPerS / r.FloorCommitsPerS
	r.AloneStepFsyncs = r.AloneStepP50 / r.FsyncP50
	r.RSS = peakMB()
	return r, nil
}

// disk measures one synced write: 4 KB, appended.
func (c Config) disk(ctx context.Context, r *Result) error {
	f, err := os.CreateTemp(c.Dir, "sync-*")
	if err != nil {
		return err
	}
	defer func() { _ = f.Close(); _ = os.Remove(f.Name()) }()
	h := newTimes()
	page := make([]byte, 4096)
	for range 500 {
		start := time.Now()
		if _, err := f.Write(page); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
		h.add(time.Since(start))
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	r.FsyncP50 = h.quantile(50)
	return nil
}

// open opens a fresh store in the directory.
func (c Config) open(ctx context.Context, name string) (*sqlitestore.Store, string, error) {
	path := filepath.Join(c.Dir, name+".db")
	s, err := sqlitestore.Open(ctx, path, sqlitestore.Config{})
	return s, path, err
}

// size is what a store's file and its log take on disk.
func size(path string) float64 {
	var n int64
	for _, p := range []string{path, path + "-wal"} {
		if info, err := os.Stat(p); err == nil {
			n += info.Size()
		}
	}
	return float64(n)
}
