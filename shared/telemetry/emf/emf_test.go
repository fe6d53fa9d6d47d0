package emf_test

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/agent"
	"triad/shared/engine"
	"triad/shared/engine/enginetest"
	"triad/shared/supervisor"
	"triad/shared/task"
	"triad/shared/telemetry/emf"
)

var _ engine.Observer = (*emf.Metrics)(nil)

// values are the metrics of a line, by name; the numbers as JSON has them.
type values = map[string]any

func metrics(out *bytes.Buffer) *emf.Metrics {
	return emf.New(emf.Config{Stack: "shop", Function: "scheduler", Out: out, Clock: enginetest.Noon})
}

// flushed returns what one flush wrote: the metrics of a single line.
func flushed(t *testing.T, m *emf.Metrics, out *bytes.Buffer) values {
	t.Helper()
	out.Reset()
	if err := m.Flush(); err != nil {
		t.Fatal(err)
	}
	lines := documents(t, out.Bytes())
	if len(lines) != 1 {
		t.Fatalf("%d lines, want 1:\n%s", len(lines), out)
	}
	return lines[0]
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

const timer = `
workflow: order
version: 1
completeWithin: 1h
steps:
  cool: {wait: 10s}
  ship: {agent: shipping, completeWithin: 10s}
`

const outOfTime = `
workflow: order
version: 1
completeWithin: 15s
steps:
  cool: {wait: 10s}
  rest: {wait: 10s}
`

// Each order runs to its end through a whole deployment, watched.
func TestWhatAnOrderIsCountedAs(t *testing.T) {
	t.Parallel()
	fails := func(step string, undo bool, attempts int, outcome task.Outcome) func(task.Request) task.Reply {
		return func(r task.Request) task.Reply {
			if r.Step == step && r.Undo == undo && r.Attempt <= attempts {
				return task.Reply{Outcome: outcome, Error: "no"}
			}
			if r.Step == "ship" && undo {
				return task.Reply{Outcome: task.FailedPermanently, Error: "no"} // so that there is something to undo
			}
			return task.Reply{Outcome: task.Succeeded}
		}
	}
	tests := map[string]struct {
		workflow string
		answer   func(task.Request) task.Reply
		loses    int // the first requests, so that they become overdue
		want     values
	}{
		"all is well": {want: values{"TasksSubmitted": 1., "StepsClaimed": 5., "TasksProcessed": 1.}},
		"a step fails twice": {answer: fails("charge", false, 2, task.FailedTransiently),
			want: values{"TasksSubmitted": 1., "StepsClaimed": 7., "StepRetries": 2., "TasksProcessed": 1.}},
		"a step is refused, the others are undone": {answer: fails("ship", false, 9, task.FailedPermanently),
			want: values{"TasksSubmitted": 1., "StepsClaimed": 4., "TasksCompensated": 1.}},
		"an undo fails twice": {answer: fails("charge", true, 3, task.FailedTransiently),
			want: values{"TasksSubmitted": 1., "StepsClaimed": 4., "StepRetries": 2., "TasksCompensated": 1.}},
		"an undo is refused": {answer: fails("charge", true, 9, task.FailedPermanently),
			want: values{"TasksSubmitted": 1., "StepsClaimed": 4., "TasksFailed": 1.}},
		"a request is lost": {loses: 1,
			want: values{"TasksSubmitted": 1., "StepsClaimed": 6., "StepTimeouts": 1., "StepRetries": 1., "TasksProcessed": 1.}},
		"a timer is no timeout": {workflow: timer,
			want: values{"TasksSubmitted": 1., "StepsClaimed": 2., "TasksProcessed": 1.}},
		"nor is one that ends with its task": {workflow: outOfTime,
			want: values{"TasksSubmitted": 1., "StepsClaimed": 2., "TasksFailed": 1.}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var definitions []string
			if tc.workflow != "" {
				definitions = []string{tc.workflow}
			}
			rig := enginetest.New(t, definitions...)
			rig.Services.Answer = tc.answer
			p := rig.Start("one")
			var out bytes.Buffer
			m := metrics(&out)
			p.Engine.Observer = m
			rig.Submit(p, "o-1")
			for range tc.loses {
				for _, q := range rig.Queues.Agents {
					for _, d := range rig.Receive(q) {
						rig.Delete(q, d)
					}
				}
			}
			rig.Settle(p)
			got := flushed(t, m, &out)
			end := rig.Task("o-1")
			tc.want["TaskSeconds"] = []any{float64(end.EndedAt-end.CreatedAt) / 1000}
			delete(got, "Repeats") // how often wake-ups come is not the point here
			delete(got, "Duplicates")
			delete(got, "StaleReplies")
			equal(t, enginetest.Line(end), got, tc.want)
		})
	}
}

func TestAttemptsThatEndOutOfTheOrdinary(t *testing.T) {
	t.Parallel()
	undoing := task.StepState{Name: "charge", State: task.Compensating, Undo: true, CompleteBy: 5}
	extended := undoing
	extended.LockedBy = "s-1"
	tests := map[string]struct {
		kind  task.Kind
		step  task.StepState
		moves []task.Move
		want  values
	}{
		"an undo gets no reply": {task.Overdue, undoing, nil, values{"StepTimeouts": 1., "StepRetries": 1.}},
		"an undo gets no reply any more": {task.Overdue, task.StepState{Name: "charge", State: task.Error, Undo: true},
			[]task.Move{{Step: "charge", From: task.Compensating, To: task.Error, Cause: task.BecauseExhausted}}, values{"StepTimeouts": 1.}},
		"a step of a task that is ending gets no reply": {task.Overdue, task.StepState{Name: "charge", State: task.Error},
			[]task.Move{{Step: "charge", From: task.Processing, To: task.Error, Cause: task.BecauseEnding}}, values{"StepTimeouts": 1.}},
		"a step gets no reply, and is parked": {task.Overdue, task.StepState{Name: "charge", State: task.Pending},
			[]task.Move{{Step: "charge", From: task.Processing, To: task.Pending, Cause: task.BecauseParked}}, values{"StepTimeouts": 1.}},
		"an undo is given more time": {task.Extended, extended, nil, values{"Deliveries": 1.}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			m := metrics(&out)
			m.Delivered(1)
			tc.want["Deliveries"] = 1.
			m.Decided(task.Event{Kind: tc.kind}, task.Decision{Verdict: task.Applied, Changed: true, Moves: tc.moves,
				Task: task.Task{Steps: []task.StepState{tc.step}}, Locks: []task.Lock{{Step: "charge", LockedBy: "s-1"}}})
			equal(t, "metrics", flushed(t, m, &out), tc.want)
		})
	}
}

func TestVerdictsThatChangeNothing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	m := metrics(&out)
	for verdict, n := range map[task.Verdict]int{task.Stale: 1, task.Duplicate: 2, task.Repeated: 3, task.Idle: 4, task.Refused: 5} {
		for range n {
			m.Decided(task.Event{Kind: task.Replied, Error: "secret"}, task.Decision{Verdict: verdict, Task: task.Task{ID: "secret"}})
		}
	}
	equal(t, "metrics", flushed(t, m, &out), values{"StaleReplies": 1., "Duplicates": 2., "Repeats": 3.})
	if bytes.Contains(out.Bytes(), []byte("secret")) {
		t.Errorf("an id or a text of a task is in the line:\n%s", &out)
	}
}

func TestHeldTasks(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	rig.Hold = true
	p := rig.Start("one")
	var out bytes.Buffer
	m := metrics(&out)
	p.Engine.Observer = m
	m.Delivered(2)
	rig.Submit(p, "o-1")
	rig.Submit(p, "o-2")
	equal(t, "metrics", flushed(t, m, &out), values{"Deliveries": 2., "TasksSubmitted": 2., "TasksHeld": 2.})
}

func TestSweeps(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		report supervisor.Report
		err    error
		want   values
	}{
		"nothing to do":    {supervisor.Report{}, nil, values{"Sweeps": 1., "OverdueSeconds": 0.}},
		"tasks recovered":  {supervisor.Report{Looked: 3, Acted: 2, Oldest: 1500 * time.Millisecond}, nil, values{"Sweeps": 1., "SweepActed": 2., "OverdueSeconds": 1.5}},
		"a task can't be":  {supervisor.Report{Looked: 3, Acted: 2, Failed: 1}, nil, values{"Sweeps": 1., "SweepActed": 2., "SweepFailed": 1., "OverdueSeconds": 0.}},
		"a shard can't be": {supervisor.Report{}, errors.New("throttled"), values{"SweepFailed": 1., "OverdueSeconds": 0.}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			m := metrics(&out)
			m.Swept(tc.report, tc.err)
			equal(t, "metrics", flushed(t, m, &out), tc.want)
		})
	}
}

func TestAgentsAreCountedFromFlushToFlush(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	var c agent.Counters
	c.Calls.Add(7) // before
	m := emf.New(emf.Config{Stack: "shop", Function: "agents-http", Out: &out, Agents: c.Stats})
	c.Calls.Add(3)
	c.Retries.Add(1)
	c.Late.Add(2)
	equal(t, "first", flushed(t, m, &out), values{"AgentCalls": 3., "AgentRetries": 1., "AgentLate": 2.})
	c.Calls.Add(1)
	c.Succeeded.Add(1)
	equal(t, "second", flushed(t, m, &out), values{"AgentCalls": 1., "AgentSucceeded": 1.})
	out.Reset()
	if err := m.Flush(); err != nil || out.Len() > 0 {
		t.Errorf("third: %v, %s; want nothing", err, &out)
	}
}

func TestNothingIsWrittenWhenNothingHappened(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	m := metrics(&out)
	m.Delivered(0)
	m.Decided(task.Event{Kind: task.Woken}, task.Decision{Verdict: task.Idle})
	if err := m.Flush(); err != nil || out.Len() > 0 {
		t.Errorf("got %v, %s", err, &out)
	}
}

// broken fails until it is mended.
type broken struct {
	bytes.Buffer
	mended bool
}

func (b *broken) Write(p []byte) (int, error) {
	if !b.mended {
		return 0, errors.New("pipe is closed")
	}
	return b.Buffer.Write(p)
}

func TestWhatCouldNotBeWrittenIsWrittenLater(t *testing.T) {
	t.Parallel()
	var out broken
	var c agent.Counters
	m := emf.New(emf.Config{Stack: "shop", Function: "agents", Out: &out, Agents: c.Stats})
	m.Delivered(1)
	c.Calls.Add(1)
	if err := m.Flush(); err == nil {
		t.Fatal("no error")
	}
	m.Delivered(2)
	c.Calls.Add(1)
	out.mended = true
	equal(t, "metrics", flushed(t, m, &out.Buffer), values{"Deliveries": 3., "AgentCalls": 2.})
}

func TestCountingFromManyGoroutinesLosesNothing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	m := metrics(&out)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				m.Delivered(1)
				m.Decided(task.Event{Kind: task.Replied}, task.Decision{Verdict: task.Stale})
				if err := m.Flush(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	sum := values{"Deliveries": 0., "StaleReplies": 0.}
	for _, line := range documents(t, out.Bytes()) {
		for name, n := range line {
			sum[name] = sum[name].(float64) + n.(float64)
		}
	}
	equal(t, "sums", sum, values{"Deliveries": 800., "StaleReplies": 800.})
}

func TestMetricsWithoutANameAreAMistake(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	emf.New(emf.Config{Stack: "shop", Out: &bytes.Buffer{}})
}
