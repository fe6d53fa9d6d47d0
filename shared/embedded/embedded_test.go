package embedded_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/agent"
	"triad/shared/embedded"
	"triad/shared/operator"
	"triad/shared/store"
	"triad/shared/task"
)

func TestTasksGoToTheirEnd(t *testing.T) {
	t.Parallel()
	const n = 200
	w := newWorld()
	p := open(t, file(t), w, nil)
	p.run()
	p.flood(0, n)
	p.await(n)
	p.processed(n)
	if p.Unfinished() != 0 {
		t.Errorf("%d tasks are unfinished, want none", p.Unfinished())
	}
	effects := map[string]int{}
	for _, r := range w.seen() {
		effects[r.IdempotencyKey()]++
	}
	if len(effects) != 3*n {
		t.Errorf("the services saw %d keys, want %d", len(effects), 3*n)
	}
	for key, times := range effects {
		if times != 1 {
			t.Errorf("key %s came %d times, though nothing was lost", key, times)
		}
	}
	notices, err := p.store.Notices(context.Background(), "shop", 0, 1000)
	if err != nil || len(notices) != 2*n {
		t.Errorf("%d notices are kept, %v; want %d received and as many processed", len(notices), err, n)
	}
}

func TestSubmissionsAreAcceptedBeforeTheEngineRuns(t *testing.T) {
	t.Parallel()
	const n = 10
	p := open(t, file(t), newWorld(), nil)
	p.submit(0, n)
	p.run()
	p.await(n)
	p.processed(n)
}

func TestFailuresAreUndoneToldAndResubmitted(t *testing.T) {
	t.Parallel()
	w := newWorld()
	var mended bool // written before the request that reads it is sent
	refuse := func(ctx context.Context, r task.Request) (json.RawMessage, error) {
		if !mended {
			return nil, agent.Permanent(errors.New("the card is blocked"))
		}
		return w.work(ctx, r)
	}
	p := open(t, file(t), w, func(c *embedded.Config) { c.Agents["payment"] = embedded.Agent{Work: refuse} })
	p.run()
	p.submit(0, 1)
	p.await(1)
	alerts, err := p.store.Alerts(context.Background(), 0, 10)
	if err != nil || len(alerts) != 1 || !strings.Contains(alerts[0].Subject, "the card is blocked") {
		t.Fatalf("alerts are %v, %v; want one that says why", alerts, err)
	}
	if p.Unfinished() != 0 {
		t.Errorf("%d tasks are unfinished, want none", p.Unfinished())
	}
	mended = true
	if _, err := p.Operator.Do(context.Background(), id(0), operator.Ask{Verb: operator.Resubmit}); err != nil {
		t.Fatal(err)
	}
	p.await(1)
	p.processed(1)
	if p.Unfinished() != 0 {
		t.Errorf("%d tasks are unfinished, want none", p.Unfinished())
	}
}

func TestAnAgentWithoutWorkIsRefused(t *testing.T) {
	t.Parallel()
	_, err := embedded.New(embedded.Config{Agents: map[string]embedded.Agent{"lazy": {}}})
	if err == nil || !strings.Contains(err.Error(), "agent lazy") {
		t.Errorf("error is %v, want it to name the agent", err)
	}
}

func TestTheEngineIsFullAtItsBoundAndNotBelow(t *testing.T) {
	t.Parallel()
	const most = 3
	p := open(t, file(t), newWorld(), func(c *embedded.Config) { c.MaxUnfinished = most })
	var full []bool
	for i := range most {
		full = append(full, p.Full())
		p.submit(i, i+1)
	}
	full = append(full, p.Full())
	p.run()
	p.await(most)
	full = append(full, p.Full())
	if diff := cmp.Diff([]bool{false, false, false, true, false}, full); diff != "" {
		t.Errorf("full (-want +got):\n%s", diff)
	}
}

func TestAHeldBacklogDrainsInOrderAndHoldsBackWhatComesLater(t *testing.T) {
	t.Parallel()
	const n = 10
	w := newWorld()
	p := open(t, file(t), w, func(c *embedded.Config) { c.InFlight = 1 })
	p.submit(0, n)
	held, err := p.store.List(context.Background(), store.ListQuery{State: task.Pending, Limit: n})
	if err != nil || len(held.Tasks) != n-1 {
		t.Fatalf("%d tasks are held, %v; want all but the first", len(held.Tasks), err)
	}
	p.run()
	w.await(t, 1, func(r task.Request) bool { return r.Task == id(3) })
	p.submit(n, n+3)
	p.await(n + 3)
	p.processed(n + 3)
	var want, got []task.ID
	for i := range n + 3 {
		want = append(want, id(i))
	}
	for _, r := range w.seen() {
		if r.Step == "reserve" {
			got = append(got, r.Task)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tasks began in the order (-want +got):\n%s", diff)
	}
}
