package embedded_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/embedded"
	"triad/shared/store"
	"triad/shared/supervisor"
	"triad/shared/task"
)

// A request's CompleteBy runs while it waits for its agent, so a burst must wait
// in the table and not in the queue.
func TestABurstAtASlowServiceExpiresNothing(t *testing.T) {
	t.Parallel()
	const n, concurrency = 100, 4
	w := newWorld()
	answers := make(chan struct{})
	w.gate = func(task.Request) <-chan struct{} { return answers }
	p := open(t, file(t), w, func(c *embedded.Config) {
		inventory := c.Agents["inventory"]
		inventory.Concurrency = concurrency
		c.Agents["inventory"] = inventory
	})
	p.run()
	p.submit(0, n)
	held, err := p.store.List(context.Background(), store.ListQuery{State: task.Pending, Limit: n})
	if err != nil || len(held.Tasks) != n-2*concurrency {
		t.Errorf("%d tasks are held, %v; want all but %d", len(held.Tasks), err, 2*concurrency)
	}
	w.await(t, concurrency, func(task.Request) bool { return true })
	close(answers)
	for range n {
		if got := <-p.ended; got.State != task.Processed || got.FailureCount != 0 {
			t.Errorf("task %s ended as %s after %d failures, want Processed after none", got.ID, got.State, got.FailureCount)
		}
	}
}

// TestAFloodOfATenantStarvesNoOther (L4): who comes behind a flood does not wait
// for its end. One call is made at a time, so that their order shows who waited.
func TestAFloodOfATenantStarvesNoOther(t *testing.T) {
	t.Parallel()
	const flood, others = 60, 2
	w := newWorld()
	p := open(t, file(t), w, func(c *embedded.Config) { c.InFlight = 1 })
	for i := range flood + others {
		tenant := "noisy"
		if i >= flood {
			tenant = "quiet"
		}
		p.submitFor(tenant, i)
	}
	p.run()
	p.await(flood + others)
	p.processed(flood + others)
	before, done := 0, 0
	for _, r := range w.seen() {
		if r.Step != "ship" {
			continue
		}
		if r.Task >= id(flood) {
			done++
		} else if done < others {
			before++
		}
	}
	// Each turn is drawn: to wait for 45 of the flood is as likely as 45 tosses of a
	// coin that all show tails but for one.
	if before > 45 {
		t.Errorf("%d of the flood's %d tasks went before all of the other tenant's %d", before, flood, others)
	}
}

// TestAHighPriorityGoesBeforeAllThatWait, though it came last.
func TestAHighPriorityGoesBeforeAllThatWait(t *testing.T) {
	t.Parallel()
	const waiting, urgents = 20, 3
	w := newWorld()
	first := make(chan struct{})
	w.gate = func(r task.Request) <-chan struct{} {
		if r.Task == id(0) {
			return first
		}
		return nil
	}
	p := open(t, file(t), w, func(c *embedded.Config) { c.InFlight = 1 })
	p.submit(0, waiting)
	p.run()
	w.await(t, 1, func(task.Request) bool { return true })
	want := []task.ID{id(0)}
	for i := range urgents {
		sub := task.Submission{ID: task.ID(fmt.Sprint("u-", i)), Workflow: "urgent", Order: []byte("{}")}
		if _, err := p.Submission.Submit(context.Background(), sub); err != nil {
			t.Fatal(err)
		}
		want = append(want, sub.ID)
	}
	close(first)
	p.await(waiting + urgents)
	var got []task.ID
	for _, r := range w.seen() {
		if r.Step == "reserve" && len(got) < len(want) {
			got = append(got, r.Task)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the first that began (-want +got):\n%s", diff)
	}
}

func TestTheSupervisorSweepsAtItsPeriod(t *testing.T) {
	t.Parallel()
	swept := make(chan supervisor.Report, 100)
	p := open(t, file(t), newWorld(), func(c *embedded.Config) {
		c.Sweep = time.Millisecond
		c.Swept = func(r supervisor.Report, err error) {
			if err != nil {
				t.Error(err)
			}
			select {
			case swept <- r:
			default:
			}
		}
	})
	stop := p.run()
	for range 5 {
		if got := <-swept; got != (supervisor.Report{}) {
			t.Errorf("a sweep of nothing reports %+v", got)
		}
	}
	stop()
	if err := p.Ready(); err != nil {
		t.Error(err)
	}
}

func TestAnEngineWhoseSweepsFailIsNotReady(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	p := open(t, file(t), newWorld(), func(c *embedded.Config) {
		c.Sweep = time.Second
		c.Clock = func() time.Time { return now }
	})
	now = now.Add(20 * time.Second)
	if err := p.Ready(); err != nil {
		t.Errorf("after ten periods and ten seconds: %v", err)
	}
	if now = now.Add(time.Second); p.Ready() == nil {
		t.Error("the engine is ready, and has not swept for 21 seconds")
	}
}
