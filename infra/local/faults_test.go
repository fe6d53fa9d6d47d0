package main_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"triad/infra/local/orders"
	"triad/shared/queue"
	"triad/shared/remote"
	"triad/shared/task"
)

// visible sets how long a queue hides a message that was received: redelivery is
// waited for here, and on AWS it may take its time.
func (d *deployment) visible(t *testing.T, name, seconds string) {
	t.Helper()
	at, err := d.QueueURL(t.Context(), name)
	if err == nil {
		_, err = d.SQS().SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{QueueUrl: &at, Attributes: map[string]string{"VisibilityTimeout": seconds}})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// testKilled kills every Scheduler at the moment when one of them has committed
// and is about to send: its batch comes again, and what it had committed is sent
// then. No deadline is near, so no Supervisor helps.
func (d *deployment) testKilled(t *testing.T) {
	d.visible(t, queue.Scheduler, "8")
	killed := d.killAt(t, func(c call) bool {
		return c.function == "scheduler" && strings.HasPrefix(c.operation, "SendMessage") &&
			strings.Contains(c.body, queue.AgentQueue("payment")) && strings.Contains(c.body, "patient-")
	})
	o := d.show(t, "patient.yaml")
	n := killed()
	if n == 0 {
		t.Error("no Scheduler was killed: none was met between its commit and its send")
	}
	if attempts, want := o.Groups[0].Attempts, 3*o.Groups[0].Count; attempts != want {
		t.Errorf("the steps took %d attempts, want %d: redelivery starts none", attempts, want)
	}
	t.Logf("killed %d Schedulers; the slowest order took %.0f s", n, o.Groups[0].Slowest)
}

// testKilledSubmission kills the Submission when it has made a task and sent its
// request, but not the wake-up that ends the task's timer. The submission comes
// again, and does what nobody else would: here the task ends in Error with it.
func (d *deployment) testKilledSubmission(t *testing.T) {
	defer d.cut("supervisor")()
	d.visible(t, queue.Submissions, "4")
	id := task.ID("hopeless-" + strings.Repeat("x", 100))
	killed := d.killAt(t, func(c call) bool {
		return c.function == "submission" && strings.HasPrefix(c.operation, "SendMessage") &&
			strings.Contains(c.body, "-"+queue.Scheduler) && strings.Contains(c.body, string(id))
	})
	w := d.submit(t, map[task.ID]string{id: `"workflow": "hopeless", "responseQueue": "shop"`})
	d.awaitStates(t, w, map[task.ID]task.State{id: task.Error})
	if killed() == 0 {
		t.Error("no Submission was killed")
	}
	await(t, "alerted", time.Minute, func() (bool, error) {
		alerts, err := w.Alerts(t.Context())
		return len(alerts) == 1, err
	})
}

// testClosed: notices for a response queue that is allowed and not there are
// captured, whoever would send them, and hold up nothing.
func (d *deployment) testClosed(t *testing.T) {
	services := remote.Client{BaseURL: d.Services()}
	if err := services.SetFaults(t.Context(), "shipping", remote.Faults{Rules: []remote.Rule{{Match: "strict-*", Hang: true}}}); err != nil {
		t.Fatal(err)
	}
	w := d.submit(t, map[task.ID]string{
		"patient-closed": `"workflow": "patient", "responseQueue": "closed"`,
		"strict-closed":  `"workflow": "strict", "responseQueue": "closed"`,
	})
	stop := d.supervisors(t)
	d.awaitStates(t, w, map[task.ID]task.State{"patient-closed": task.Processed, "strict-closed": task.Error})
	stop()
	await(t, "four notices captured", time.Minute, func() (bool, error) {
		found, err := w.Rejected(t.Context())
		return len(found) == 4, err
	})
}

// testHeld: while too many requests wait for an agent, a new task is recorded and
// held; the Supervisor brings it back when there is room.
func (d *deployment) testHeld(t *testing.T) {
	d.kill(t, "submission") // the next one looks at the queues anew
	room, back := d.full("submission"), d.cut("supervisor")
	w := d.submit(t, map[task.ID]string{"held-1": `"workflow": "patient"`})
	d.awaitStates(t, w, map[task.ID]task.State{"held-1": task.Pending})
	room()
	back()
	defer d.supervisors(t)()
	d.awaitStates(t, w, map[task.ID]task.State{"held-1": task.Processed})
}

// submit enqueues orders that are empty, each with the fields given.
func (d *deployment) submit(t *testing.T, fields map[task.ID]string) *orders.World {
	t.Helper()
	w, err := orders.Open(t.Context(), d.Cloud, slices.Collect(maps.Keys(fields)))
	if err != nil {
		t.Fatal(err)
	}
	var bodies []string
	for id, more := range fields {
		bodies = append(bodies, `{"id": "`+string(id)+`", "order": {}, `+more+`}`)
	}
	if err := orders.Enqueue(t.Context(), d.Cloud, queue.Submissions, bodies, nil); err != nil {
		t.Fatal(err)
	}
	return w
}

// awaitStates waits until orders are in the states that they must end in.
func (d *deployment) awaitStates(t *testing.T, w *orders.World, want map[task.ID]task.State) {
	t.Helper()
	await(t, fmt.Sprint(want), time.Minute, func() (bool, error) {
		states, err := w.States(t.Context())
		return maps.Equal(states, want), err
	})
}

// supervisors invokes the Supervisor twice at the same time, again and again,
// until it is told to stop.
func (d *deployment) supervisors(t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for again := time.Tick(4 * time.Second); ; {
				if err := orders.Tick(ctx, d.Cloud); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
				select {
				case <-again:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// await polls until a condition holds.
func await(t *testing.T, what string, within time.Duration, holds func() (bool, error)) {
	t.Helper()
	deadline := time.After(within)
	for again := time.Tick(500 * time.Millisecond); ; {
		done, err := holds()
		if err != nil {
			t.Fatal(err)
		}
		if done {
			return
		}
		select {
		case <-again:
		case <-deadline:
			t.Fatalf("within %v: not %s", within, what)
		}
	}
}

// testUnreadable: a message that nobody can read, in the queue of every kind of
// function, is captured with a reason and in nobody's way.
func (d *deployment) testUnreadable(t *testing.T) {
	world, err := orders.Open(t.Context(), d.Cloud, nil)
	if err != nil {
		t.Fatal(err)
	}
	queues := []string{queue.Scheduler, queue.AgentQueue("inventory"), queue.AgentQueue("payment")}
	for _, name := range queues {
		if err := orders.Enqueue(t.Context(), d.Cloud, name, []string{"nonsense"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "captured", time.Minute, func() (bool, error) {
		found, err := world.Rejected(t.Context())
		return len(found) == len(queues), err
	})
}

// testRedrive: a function whose environment is wrong can't start, so a submission
// becomes a dead letter. Once the function is mended, an operator moves it back,
// and the order comes to its end.
func (d *deployment) testRedrive(t *testing.T) {
	const id = "forgotten-1"
	d.visible(t, queue.Submissions, "1")
	mend := d.breakFunction(t, "submission")
	w := d.submit(t, map[task.ID]string{id: `"workflow": "patient"`})
	await(t, "a dead letter", time.Minute, func() (bool, error) {
		depths, err := d.Queues(t.Context())
		for _, q := range depths {
			if strings.HasSuffix(q.Name, "-submissions-dead") {
				return q.Visible == 1, err
			}
		}
		return false, err
	})
	mend()
	said, err := d.Triad(t.Context(), "redrive", queue.Submissions)
	if err != nil || !strings.Contains(said, "1 moved back") {
		t.Fatalf("redriving: %v; it said %q", err, said)
	}
	d.awaitStates(t, w, map[task.ID]task.State{id: task.Processed})
}

// breakFunction takes a variable away from a function, and returns what gives it
// back.
func (d *deployment) breakFunction(t *testing.T, name string) (mend func()) {
	t.Helper()
	set := func(text string) {
		t.Helper()
		if err := d.AWS(t.Context(), nil, "lambda", "update-function-configuration", "--function-name", d.Stack()+"-"+name, "--environment", text); err != nil {
			t.Fatal(err)
		}
	}
	var f struct {
		Environment struct{ Variables map[string]string }
	}
	if err := d.AWS(t.Context(), &f, "lambda", "get-function-configuration", "--function-name", d.Stack()+"-"+name); err != nil {
		t.Fatal(err)
	}
	whole := encode(t, f.Environment)
	delete(f.Environment.Variables, "TRIAD_TASKS_TABLE")
	set(encode(t, f.Environment))
	return func() { t.Helper(); set(whole) }
}
