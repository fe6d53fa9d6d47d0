package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"triad/infra/port"
	"triad/shared/api/client"
	"triad/shared/remote"
	"triad/shared/task"
)

var kills = flag.Int("kills", 3, "how often TestKilled kills the engine's process")

const (
	submitters = 16
	// ordersPerKill is how many orders are accepted between two kills, at most.
	ordersPerKill = 120
	// patience is how long anything may take before the test fails: less than the
	// 30 s after which a wake-up that was lost is repeated, so that a restart must
	// find all work by itself.
	patience = 25 * time.Second
)

// killWorkflow has deadlines far longer than the test: a step in flight at a
// kill that went on only after its deadline would make the test fail.
const killWorkflow = `workflow: order
version: 1
completeWithin: 24h
steps:
  reserve: {agent: inventory, completeWithin: 30m, retry: {attempts: 20, first: 100ms, max: 1s}}
  charge: {agent: payment, completeWithin: 30m, retry: {attempts: 20, first: 100ms, max: 1s}}
  ship: {agent: shipping, after: charge, completeWithin: 30m, retry: {attempts: 20, first: 100ms, max: 1s}}
  notify: {agent: notification, after: charge, completeWithin: 30m, retry: {attempts: 20, first: 100ms, max: 1s}}
`

const killAgents = `agents:
  inventory: {http: {url: "${SERVICES_URL}/inventory/{task}"}}
  payment: {http: {url: "${SERVICES_URL}/payment/{task}"}}
  shipping: {http: {url: "${SERVICES_URL}/shipping/{task}"}}
  notification: {http: {url: "${SERVICES_URL}/notification/{task}"}}
`

var killServices = []string{"inventory", "payment", "shipping", "notification"}

// TestKilled kills the real process with SIGKILL, again and again under load:
// nothing that was accepted is lost, nothing gets stuck, and every step has
// exactly one effect.
func TestKilled(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(*kills)*10*time.Second+patience)
	defer cancel()
	r := newKillRig(ctx, t)
	r.start(ctx)
	load, stop := context.WithCancel(ctx)
	var submitting sync.WaitGroup
	for i := range submitters {
		submitting.Go(func() { r.submit(ctx, load, i) })
	}
	rng := rand.New(rand.NewPCG(1, 2)) // moments vary all the same: they go by acceptances
	for range *kills {
		r.awaitAccepted(ctx, 1+rng.IntN(ordersPerKill))
		r.kill()
		r.start(ctx)
	}
	stop()
	submitting.Wait()
	r.awaitEnd(ctx)
	r.check(ctx)
}

// killRig is the world around the process that is killed.
type killRig struct {
	t        *testing.T
	dir      string
	binary   string
	address  string
	services remote.Client
	client   *client.Client
	engine   *exec.Cmd

	accepted chan task.ID
	mu       sync.Mutex
	ids      []task.ID
}

func newKillRig(ctx context.Context, t *testing.T) *killRig {
	t.Helper()
	r := &killRig{t: t, dir: t.TempDir(), address: freeAddress(t), accepted: make(chan task.ID)}
	r.binary = build(ctx, t, r.dir)
	for name, text := range map[string]string{"order.yaml": killWorkflow, "agents.yaml": killAgents} {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if r.client, err = client.New(client.Config{URL: "http://" + r.address, Connections: 2 * submitters}); err != nil {
		t.Fatal(err)
	}
	services := freeAddress(t)
	r.services.BaseURL = "http://" + services
	r.run(ctx, nil, "services", "--listen", services)
	r.eventually(ctx, "services are up", func() bool { _, err := r.services.Summary(ctx); return err == nil })
	for _, s := range killServices {
		faults := remote.Faults{Rules: []remote.Rule{{LatencyMs: 10}, {Share: 0.05, Status: 503, ApplyFirst: true}}}
		if err := r.services.SetFaults(ctx, s, faults); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func build(ctx context.Context, t *testing.T, dir string) string {
	t.Helper()
	binary := filepath.Join(dir, "triad")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("building triad: %v\n%s", err, out)
	}
	return binary
}

func freeAddress(t *testing.T) string {
	t.Helper()
	free, err := port.Free()
	if err != nil {
		t.Fatal(err)
	}
	return port.Address(free)
}

// run starts the binary; it is killed at the end of the test.
func (r *killRig) run(ctx context.Context, env []string, args ...string) *exec.Cmd {
	r.t.Helper()
	c := exec.CommandContext(ctx, r.binary, args...)
	c.Env = append(os.Environ(), env...)
	c.Stderr = r.t.Output()
	if err := c.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	return c
}

func (r *killRig) start(ctx context.Context) {
	r.t.Helper()
	r.engine = r.run(ctx, []string{"SERVICES_URL=" + r.services.BaseURL}, "dev",
		"--listen", r.address, "--data", filepath.Join(r.dir, "triad.db"), "--workflows", r.dir)
	r.eventually(ctx, "the engine is up", func() bool { return r.client.Healthy(ctx) == nil })
}

func (r *killRig) kill() {
	r.t.Helper()
	if err := r.engine.Process.Kill(); err != nil {
		r.t.Fatal(err)
	}
	if err := r.engine.Wait(); err == nil {
		r.t.Error("the engine ended by itself before it was killed")
	}
}

// submit submits orders one after the other until load ends. An order whose
// submission got no answer is submitted again, as an application would.
func (r *killRig) submit(ctx, load context.Context, who int) {
	for n := 0; load.Err() == nil; n++ {
		id := task.ID(fmt.Sprintf("order-%d-%d", who, n))
		body, err := json.Marshal(task.Submission{ID: id, Workflow: "order", Order: json.RawMessage(`{"total":1}`)})
		if err != nil {
			r.t.Error(err)
			return
		}
		for tick := time.Tick(20 * time.Millisecond); ; <-tick {
			if _, _, err = r.client.Submit(ctx, body); err == nil {
				break
			}
			if ctx.Err() != nil || !errors.Is(err, client.ErrUnreachable) && !errors.Is(err, client.ErrFull) {
				r.t.Errorf("submitting %s: %v", id, err)
				return
			}
		}
		r.mu.Lock()
		r.ids = append(r.ids, id)
		r.mu.Unlock()
		select {
		case r.accepted <- id:
		case <-load.Done():
		}
	}
}

func (r *killRig) awaitAccepted(ctx context.Context, n int) {
	r.t.Helper()
	for range n {
		select {
		case <-r.accepted:
		case <-ctx.Done():
			r.t.Fatal("orders are not accepted any more")
		}
	}
}

func (r *killRig) awaitEnd(ctx context.Context) {
	r.t.Helper()
	r.eventually(ctx, "every task has ended", func() bool {
		page, err := r.client.Tasks(ctx, client.Query{Unfinished: true, Limit: 1})
		return err == nil && len(page.Tasks) == 0
	})
}

// check holds what the engine and the services know against what was accepted.
func (r *killRig) check(ctx context.Context) {
	r.t.Helper()
	for _, id := range r.ids {
		if got, err := r.client.Task(ctx, id); err != nil || got.State != task.Processed {
			r.t.Errorf("%s was accepted and is %q, want Processed (%v)", id, got.State, err)
		}
	}
	calls := 0
	for _, s := range killServices {
		effects, err := r.services.Effects(ctx, s)
		if err != nil {
			r.t.Fatal(err)
		}
		if len(effects) != len(r.ids) {
			r.t.Errorf("%s has effects of %d orders, want %d", s, len(effects), len(r.ids))
		}
		for _, e := range effects {
			if calls += e.Calls; e.Applied != 1 || !e.Stands() {
				r.t.Errorf("%s holds %+v, want exactly one effect", s, e)
			}
		}
	}
	if alerts, err := r.client.Alerts(ctx, 0, 10); err != nil || len(alerts.Alerts) > 0 {
		r.t.Errorf("got alerts %v, %v, want none", alerts.Alerts, err)
	}
	r.t.Logf("%d kills; %d accepted = %d ended + 0 in progress; 0 lost, 0 stuck; %d effects, one for each step, out of %d calls",
		*kills, len(r.ids), len(r.ids), len(r.ids)*len(killServices), calls)
}

// eventually polls a process until it says yes.
func (r *killRig) eventually(ctx context.Context, what string, yes func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for tick := time.Tick(20 * time.Millisecond); !yes(); {
		select {
		case <-tick:
		case <-ctx.Done():
			r.t.Fatalf("waited %v in vain until %s", patience, what)
		}
	}
}
