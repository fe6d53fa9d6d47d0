package main_test

import (
	"context"
	"flag"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"triad/cmd/triad/demo"
	"triad/infra/local/cloud"
	"triad/infra/local/orders"
	"triad/infra/local/record"
	"triad/shared/task"
)

var deployed = flag.Bool("deployed", false, "build the functions, deploy them to an emulator of AWS, and put orders through them")

// queueARN is how the ARN of every queue of the stack begins.
const queueARN = "arn:aws:sqs:" + cloud.Region + ":" + cloud.Account + ":triad-test-"

// limit is how long one set of orders may take.
const limit = 6 * time.Minute

// TestTheFunctions builds and deploys template.yaml to a MiniStack of its own and
// puts orders through the real functions, whatever happens to them. The parts
// come one after the other on the same deployment; one judges the roles by all
// calls that the functions made until then.
//
// It takes minutes, so `make local-test` asks for it; .ci/run does, too.
func TestTheFunctions(t *testing.T) {
	if !*deployed {
		t.Skip("LEFT OUT: the functions, deployed to an emulator of AWS: run `make local-test`")
	}
	d := deploy(t)
	t.Run("200 orders come to their ends", d.testOrders)
	t.Run("killed Schedulers are made up for by redelivery", d.testKilled)
	t.Run("so is a killed Submission", d.testKilledSubmission)
	t.Run("notices for a queue that is not there are captured", d.testClosed)
	t.Run("a task that was held for want of room goes on", d.testHeld)
	t.Run("what can't be read is captured", d.testUnreadable)
	t.Run("a dead letter is redriven", d.testRedrive)
	t.Run("each role may do what its function does, and nothing else", d.testPrivilege)
	t.Run("the stack goes to an emulator that runs already, too", d.testElsewhere)
}

// deployment is the stack under test.
type deployment struct {
	*cloud.Cloud
	calls *record.Recorder
	door  *door
	out   io.Writer
}

// deploy brings up a cloud whose functions reach the emulator by way of a
// recorder. Nothing is left of it afterwards.
func deploy(t *testing.T) *deployment {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	d := &deployment{out: os.Stderr}
	d.Cloud, err = cloud.New(cloud.Config{
		Root: root, Stack: "triad-test", Folder: "test", Out: d.out,
		Between: func(emulator string) (string, error) { return d.listen(t, emulator) },
		Parameters: map[string]string{
			"SchedulerConcurrency": "5", "AgentConcurrency": "5", "Shards": "4",
			"ResponseQueueArns": queueARN + "shop," + queueARN + "fleet," + queueARN + "closed",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	switch err := d.Installed(); {
	case err != nil && os.Getenv("CI") == "true":
		t.Fatal(err)
	case err != nil:
		t.Skipf("LEFT OUT: %s: %v", t.Name(), err)
	}
	if err := d.Down(t.Context()); err != nil { // what a run that was killed left
		t.Fatal(err)
	}
	t.Cleanup(func() { d.down(t) })
	if err := d.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Triad(t.Context(), "workflow", "apply", filepath.Join(root, "infra", "local", "testdata", "workflows")); err != nil {
		t.Fatal(err)
	}
	return d
}

// listen puts the door and the recorder between functions and emulator.
func (d *deployment) listen(t *testing.T, emulator string) (string, error) {
	target, err := url.Parse(emulator)
	if err != nil {
		return "", err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	d.calls = record.New(target)
	d.door = &door{behind: d.calls}
	server := &http.Server{Handler: d.door}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return "http://" + l.Addr().String(), nil
}

// show puts the orders of a file through the functions. What did not go as it
// must is told.
func (d *deployment) show(t *testing.T, file string) *demo.Outcome {
	t.Helper()
	samples, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	o, err := orders.Show(t.Context(), orders.Config{Cloud: d.Cloud, Samples: string(samples), Limit: limit, Out: d.out})
	if o == nil {
		t.Fatal(err)
	}
	for _, wrong := range slices.Concat(o.Wrong, o.Doubled) {
		t.Error(wrong)
	}
	return o
}

// testOrders: faults of all kinds, while two Supervisors at a time compete for
// what they find, and up to five Schedulers for the queue.
func (d *deployment) testOrders(t *testing.T) {
	for _, function := range []string{"submission", "scheduler", "supervisor"} {
		d.gap(function)
	}
	stop := d.supervisors(t)
	defer stop()
	o := d.show(t, "orders.yaml")
	if o.Tasks != 200 || o.Again != 20 {
		t.Errorf("%d orders, %d of them submitted again: want 200 and 20", o.Tasks, o.Again)
	}
}

// testElsewhere deploys a second stack to the emulator, which is another's now,
// and takes away that alone.
func (d *deployment) testElsewhere(t *testing.T) {
	other, err := cloud.New(cloud.Config{
		Root: d.Repository(), Stack: "triad-elsewhere", Folder: "elsewhere", Out: d.out,
		Endpoint: d.Endpoint(), ServicesHost: "127.0.0.1",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := other.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		if left, err := other.Queues(context.WithoutCancel(t.Context())); err != nil || len(left) != 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
		if emulator, found, err := d.Emulator(); err != nil || !found || !emulator.Alive() {
			t.Errorf("the emulator has been stopped: %v", err)
		}
	})
	if err := other.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	there := &deployment{Cloud: other, out: d.out}
	w := there.submit(t, map[task.ID]string{"elsewhere-1": `"workflow": "order"`})
	await(t, "captured, as an order without items", time.Minute, func() (bool, error) {
		found, err := w.Rejected(t.Context())
		return len(found) == 1, err
	})
	if status, err := other.Status(t.Context()); err != nil || status.Stack != "CREATE_COMPLETE" {
		t.Errorf("got %+v, %v", status, err)
	}
}

// down stops the cloud. What is left in its queues is told when something failed.
func (d *deployment) down(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	if t.Failed() {
		depths, err := d.Queues(ctx)
		if err != nil {
			t.Log(err)
		}
		for _, q := range depths {
			if q.Total() > 0 {
				t.Logf("left in %s: %+v", q.Name, q.Depth)
			}
		}
	}
	if err := d.Down(ctx); err != nil {
		t.Error(err)
	}
}
