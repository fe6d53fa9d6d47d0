package main_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"triad/infra/local/orders"
	"triad/shared/queue"
	"triad/shared/task"
)

// door lets calls of functions through to the emulator, but for the one that a
// test waits for: on that a function is killed in the middle of its work.
type door struct {
	behind http.Handler
	trap   atomic.Pointer[trap]
}

// trap is sprung by the first call that it fits.
type trap struct {
	fits   func(target, userAgent, body string) bool
	spring func()
	once   sync.Once
	sprung atomic.Bool
}

// ServeHTTP passes a call on, unless it springs the trap: then it never reaches
// the emulator, and its caller is dead.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if t := d.trap.Load(); t != nil && !t.sprung.Load() {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if t.fits(r.Header.Get("X-Amz-Target"), r.UserAgent(), string(body)) {
			t.once.Do(func() { t.spring(); t.sprung.Store(true) })
			panic(http.ErrAbortHandler) // no answer
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	d.behind.ServeHTTP(w, r)
}

// kill kills every process of a function, and returns how many there were.
func (d *deployment) kill(t *testing.T, function string) (n int) {
	emulator, found, err := d.Emulator()
	if err != nil || !found {
		t.Errorf("finding the emulator: %v, %v", found, err)
		return 0
	}
	all, err := emulator.Environment("AWS_LAMBDA_FUNCTION_NAME")
	if err != nil {
		t.Error(err)
	}
	for pid, name := range all {
		if name == d.Stack()+"-"+function && syscall.Kill(pid, syscall.SIGKILL) == nil {
			n++
		}
	}
	return n
}

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

// testKilled kills every Scheduler with kill -9 at the moment when one of them has
// committed and is about to send: its batch comes again, and what it had
// committed is sent then. No deadline is near, so no Supervisor helps.
func (d *deployment) testKilled(t *testing.T) {
	d.visible(t, queue.Scheduler, "8")
	var killed atomic.Int64
	d.door.trap.Store(&trap{
		fits: func(target, userAgent, body string) bool {
			return strings.HasPrefix(target, "AmazonSQS.SendMessage") && strings.Contains(userAgent, "app/triad-scheduler") &&
				strings.Contains(body, queue.AgentQueue("payment")) && strings.Contains(body, "patient-")
		},
		spring: func() { killed.Store(int64(d.kill(t, "scheduler"))) },
	})
	defer d.door.trap.Store(nil)
	o := d.show(t, "patient.yaml")
	if killed.Load() == 0 {
		t.Error("no Scheduler was killed: none was met between its commit and its send")
	}
	if attempts, want := o.Groups[0].Attempts, 3*o.Groups[0].Count; attempts != want {
		t.Errorf("the steps took %d attempts, want %d: redelivery starts none", attempts, want)
	}
	t.Logf("killed %d Schedulers; the slowest order took %.0f s", killed.Load(), o.Groups[0].Slowest)
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
	world, err := orders.Open(t.Context(), d.Cloud, []task.ID{id})
	if err != nil {
		t.Fatal(err)
	}
	d.visible(t, queue.Submissions, "1")
	mend := d.breakFunction(t, "submission")
	if err := orders.Enqueue(t.Context(), d.Cloud, queue.Submissions, []string{`{"id": "` + id + `", "workflow": "patient", "order": {}}`}, nil); err != nil {
		t.Fatal(err)
	}
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
	await(t, "processed", time.Minute, func() (bool, error) {
		states, err := world.States(t.Context())
		return states[id] == task.Processed, err
	})
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
