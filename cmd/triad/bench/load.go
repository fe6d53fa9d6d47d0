package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"triad/shared/catalog"
	"triad/shared/embedded"
	"triad/shared/store/sqlitestore"
	"triad/shared/task"
	"triad/shared/workflow"
)

// order is what the tasks carry.
var order = json.RawMessage(`{"customer":"Ada","items":[{"sku":"teapot","quantity":1}],"total":24.9}`)

func stepName(k int) string { return "step-" + strconv.Itoa(k+1) }

// definition is a workflow of so many steps in sequence.
func definition(steps int) (workflow.Definition, error) {
	var b strings.Builder
	b.WriteString("workflow: bench\nversion: 1\ncompleteWithin: 24h\nsteps:\n")
	for k := range steps {
		fmt.Fprintf(&b, "  %s: {agent: idle, completeWithin: 10m}\n", stepName(k))
	}
	return workflow.Parse(workflow.Source{File: "bench.yaml", Text: []byte(b.String()), Agents: []string{"idle"}})
}

// idle is an agent that does no work.
func idle(context.Context, task.Request) (json.RawMessage, error) { return nil, nil }

// load is an engine with tasks that keep it busy: each of its slots submits a
// task, waits for its end, and submits the next.
type load struct {
	engine *embedded.Engine
	slots  []slot
	steps  *times
	tasks  *times
}

// slot is one place for a task in flight. Its fields are handed from goroutine
// to goroutine by the engine's own queues.
type slot struct {
	last  time.Time // when the engine last got the task into its hands
	ended chan struct{}
}

func newLoad(steps, slots int, s *sqlitestore.Store) (*load, error) {
	def, err := definition(steps)
	if err != nil {
		return nil, err
	}
	l := &load{slots: make([]slot, slots), steps: newTimes(), tasks: newTimes()}
	for i := range l.slots {
		l.slots[i].ended = make(chan struct{}, 1)
	}
	l.engine, err = embedded.New(embedded.Config{
		Store: s, Ledger: s, Definitions: catalog.New(def), Observer: l,
		Agents: map[string]embedded.Agent{"idle": {Work: l.work, Concurrency: max(64, slots)}},
	})
	return l, err
}

// work does none; it takes the time.
func (l *load) work(_ context.Context, r task.Request) (json.RawMessage, error) {
	s := &l.slots[slotOf(r.Task)]
	l.steps.add(time.Since(s.last))
	s.last = time.Now()
	return nil, nil
}

// Decided hears of the ends of tasks.
func (l *load) Decided(_ task.Event, d task.Decision) {
	if d.Changed && d.Task.State == task.Processed {
		s := &l.slots[slotOf(d.Task.ID)]
		l.steps.add(time.Since(s.last))
		s.ended <- struct{}{}
	}
}

// slotOf reads the slot's number off the front of the id.
func slotOf(id task.ID) int {
	front, _, _ := strings.Cut(string(id), "-")
	n, _ := strconv.Atoi(front) // ids are made in submit
	return n
}

// run keeps all slots busy for d, and returns how many tasks came to their end.
func (l *load) run(ctx context.Context, d time.Duration) (tasks int, took time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var engine, slots errgroup.Group
	engine.Go(func() error { return l.engine.Run(ctx) })
	start := time.Now()
	done := make([]int, len(l.slots))
	for i := range l.slots {
		slots.Go(func() error {
			for n := 0; time.Since(start) < d; n++ {
				if err := l.submit(ctx, i, n); err != nil {
					return err
				}
				done[i]++
			}
			return nil
		})
	}
	err = slots.Wait()
	took = time.Since(start)
	for _, n := range done {
		tasks += n
	}
	cancel()
	if e := engine.Wait(); err == nil {
		err = e
	}
	return tasks, took, err
}

// submit takes one task from submission to its end.
func (l *load) submit(ctx context.Context, slot, n int) error {
	s := &l.slots[slot]
	start := time.Now()
	s.last = start
	id := task.ID(strconv.Itoa(slot) + "-" + strconv.Itoa(n))
	if _, err := l.engine.Submission.Submit(ctx, task.Submission{ID: id, Workflow: "bench", Order: order}); err != nil {
		return err
	}
	select {
	case <-s.ended:
		l.tasks.add(time.Since(start))
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// crowd measures InFlight tasks at once.
func (c Config) crowd(ctx context.Context, r *Result) error {
	s, path, err := c.open(ctx, "engine")
	if err != nil {
		return err
	}
	l, err := newLoad(c.Steps, c.InFlight, s)
	if err != nil {
		return err
	}
	before, cpu := s.Stats(), cpuSeconds()
	tasks, took, err := l.run(ctx, time.Duration(c.Seconds*float64(time.Second)))
	if err != nil {
		return err
	}
	used, after := cpuSeconds()-cpu, s.Stats()
	if err := s.Close(); err != nil {
		return err
	}
	n, secs := float64(tasks), took.Seconds()
	commits := float64(after.Commits - before.Commits)
	r.Tasks, r.Seconds = tasks, secs
	r.TasksPerS, r.StepsPerS, r.CommitsPerS = n/secs, n*float64(c.Steps)/secs, commits/secs
	r.CommitsPerTask = commits / n
	r.FsyncsPerTask = float64(after.Groups-before.Groups+2*(after.Checkpoints-before.Checkpoints)) / n
	r.CPUPer1000 = used / n * 1000
	r.BytesPerTask = size(path) / n
	r.StepP50, r.StepP99 = l.steps.quantile(50), l.steps.quantile(99)
	r.TaskP50, r.TaskP99 = l.tasks.quantile(50), l.tasks.quantile(99)
	return nil
}

// alone measures one task at a time.
func (c Config) alone(ctx context.Context, d time.Duration, r *Result) error {
	s, _, err := c.open(ctx, "alone")
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	l, err := newLoad(c.Steps, 1, s)
	if err != nil {
		return err
	}
	if _, _, err := l.run(ctx, d); err != nil {
		return err
	}
	r.AloneTaskP50, r.AloneStepP50 = l.tasks.quantile(50), l.steps.quantile(50)
	return nil
}
