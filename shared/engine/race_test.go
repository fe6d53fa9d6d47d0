package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/engine"
	"triad/shared/engine/enginetest"
	"triad/shared/queue"
	"triad/shared/store"
	"triad/shared/task"
)

// wide is a workflow whose steps all start at once, but for the last.
const wide = `
workflow: order
version: 1
completeWithin: 1h
steps:
  a: {agent: a, after: []}
  b: {agent: b, after: []}
  c: {agent: c, after: []}
  d: {agent: d, after: []}
  join: {agent: join, after: [a, b, c, d]}
`

func TestOfManySchedulersAtOnceOneClaimsEachStep(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t, wide)
	rig.Hold = true
	one, two := rig.Start("one"), rig.Start("two")
	rig.Submit(one, "o-1")

	wake := body(t, queue.ToScheduler{Wake: &queue.Wake{Task: "o-1"}})
	atOnce(t, []*enginetest.Process{one, two}, [][]byte{wake, wake, wake, wake})
	if got, want := enginetest.Line(rig.Task("o-1")), "Processing a:Processing#1 b:Processing#1 c:Processing#1 d:Processing#1"; got != want {
		t.Fatalf("got %s, want %s", got, want)
	}
	var replies [][]byte
	for _, agent := range []string{"a", "b", "c", "d"} {
		r := takeRequest(t, rig, agent)
		reply := enginetest.Reply(r, task.Reply{Outcome: task.Succeeded})
		replies = append(replies, reply, reply)
	}
	atOnce(t, []*enginetest.Process{one, two}, replies)
	if got, want := enginetest.Line(rig.Task("o-1")), "Processing a:Processed#1 b:Processed#1 c:Processed#1 d:Processed#1 join:Processing#1"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	takeRequest(t, rig, "join")
	rig.Check("o-1")
}

// atOnce has every process handle every message, all at the same time.
func atOnce(t *testing.T, ps []*enginetest.Process, bodies [][]byte) {
	t.Helper()
	var all sync.WaitGroup
	for _, p := range ps {
		for _, b := range bodies {
			all.Go(func() {
				if err := p.Scheduler.Handle(context.Background(), queue.Delivery{Body: b, Receives: 1}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
}

func body(t *testing.T, m queue.ToScheduler) []byte {
	t.Helper()
	b, err := queue.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// rival is a store in which another writer is faster, a number of times.
type rival struct {
	store.Store
	faster  int
	commits int
}

func (s *rival) Commit(ctx context.Context, c store.Change) error {
	s.commits++
	if s.commits > s.faster {
		return s.Store.Commit(ctx, c)
	}
	t, err := s.Load(ctx, c.Task.ID)
	if err != nil {
		return err
	}
	t.Version++
	t.Op = fmt.Sprintf("rival.%d", s.commits)
	if err := s.Store.Commit(ctx, store.Change{Task: t}); err != nil {
		return err
	}
	return s.Store.Commit(ctx, c)
}

func TestAConflictIsDecidedAnewUntilItIsGivenBack(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		faster int
		wants  error
	}{
		{"another writer was faster once", 1, nil},
		{"another writer was faster fifteen times", 15, nil},
		{"another writer is always faster", 1000, store.ErrConflict},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rig := enginetest.New(t)
			rig.Hold = true
			rig.Submit(rig.Start("one"), "o-1")
			s := &rival{Store: rig.Memory, faster: c.faster}
			e := engine.New(engine.Config{Instance: "two", Store: s, Workflows: rig.Catalog, Queues: rig.Queues, Clock: rig.Clock.Now})
			_, err := e.Act(context.Background(), "o-1", task.Event{Kind: task.Woken})
			if !errors.Is(err, c.wants) {
				t.Fatalf("error is %v, want %v", err, c.wants)
			}
			sent := len(rig.Receive(rig.Queues.Agents["inventory"]))
			if claimed := rig.Task("o-1").State == task.Processing; claimed != (c.wants == nil) || claimed != (sent == 1) {
				t.Errorf("task is %s and %d requests were sent", enginetest.Line(rig.Task("o-1")), sent)
			}
		})
	}
}

// replyThrough has an engine over a store of its own apply the success of the first
// step of a task that another one has begun.
func replyThrough(t *testing.T, rig *enginetest.Rig, s store.Store) (task.Decision, error) {
	t.Helper()
	rig.Submit(rig.Start("one"), "o-1")
	r := takeRequest(t, rig, "inventory")
	e := engine.New(engine.Config{Instance: "two", Store: s, Workflows: rig.Catalog, Queues: rig.Queues, Clock: rig.Clock.Now})
	ev := task.Event{Kind: task.Replied, Step: r.Step, Attempt: r.Attempt, LockedBy: r.LockedBy, Outcome: task.Succeeded}
	return e.Act(context.Background(), "o-1", ev)
}

// TestAWriteThatWasOvertakenBeforeItsOutcomeWasKnownStillSends: our commit is applied
// and reported failed, and before we repeat it another writer commits.
func TestAWriteThatWasOvertakenBeforeItsOutcomeWasKnownStillSends(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	if _, err := replyThrough(t, rig, &enginetest.Overtaken{Store: rig.Memory, Err: enginetest.ErrInjected}); err != nil {
		t.Fatal(err)
	}
	if got := takeRequest(t, rig, "payment"); got.LockedBy != "two" || got.Attempt != 1 {
		t.Errorf("request is of %s, attempt %d; want the one that was committed", got.LockedBy, got.Attempt)
	}
}

func TestAWriteWhoseAnswerWasLostIsRepeatedUnderItsName(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	s := &unanswered{Store: rig.Memory}
	d, err := replyThrough(t, rig, s)
	if err != nil || d.Verdict != task.Applied {
		t.Errorf("got %s, %v; want %s: the write is this event's own", d.Verdict, err, task.Applied)
	}
	if len(s.ops) != 2 || s.ops[0] != s.ops[1] {
		t.Errorf("writes are named %q; want one name twice", s.ops)
	}
}

// unanswered applies the first commit and reports failure.
type unanswered struct {
	store.Store
	ops []string
}

func (s *unanswered) Commit(ctx context.Context, c store.Change) error {
	s.ops = append(s.ops, c.Task.Op)
	err := s.Store.Commit(ctx, c)
	if err == nil && len(s.ops) == 1 {
		err = enginetest.ErrInjected
	}
	return err
}

func TestWhatCanNotBeSentIsToldAndTheRestIsSent(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t, wide)
	delete(rig.Queues.Agents, "b")
	rig.Hold = true
	p := rig.Start("one")
	rig.Submit(p, "o-1")
	_, err := p.Engine.Act(context.Background(), "o-1", task.Event{Kind: task.Woken})
	if err == nil || !strings.Contains(err.Error(), `step b: this deployment has no agent "b"`) {
		t.Errorf("error is %v, want it to name step and agent", err)
	}
	for _, agent := range []string{"a", "c", "d"} {
		takeRequest(t, rig, agent)
	}
}

func TestAWakeUpIsNotDelayedBeyondWhatAQueueAllows(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	p := rig.Start("one")
	if err := p.Engine.Wake(context.Background(), task.Wake{Task: "o-1", Delay: time.Hour}); err != nil {
		t.Fatal(err)
	}
	due, _ := rig.Queues.ToScheduler.NextDue()
	if diff := cmp.Diff(enginetest.Noon().Add(queue.MaxDelay), due); diff != "" {
		t.Errorf("the wake-up comes at (-want +got):\n%s", diff)
	}
}

func TestErrorsSayWhichTaskAndWhy(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	p := rig.Start("one")
	rig.Submit(p, "o-1")
	if _, err := p.Engine.Act(context.Background(), "o-2", task.Event{Kind: task.Woken}); !errors.Is(err, store.ErrNotFound) || !strings.Contains(err.Error(), "o-2") {
		t.Errorf("error is %v, want store.ErrNotFound of task o-2", err)
	}
	other := enginetest.New(t, wide)
	e := engine.New(engine.Config{Instance: "x", Store: rig.Memory, Workflows: noWorkflows{}, Queues: other.Queues, Clock: rig.Clock.Now})
	if _, err := e.Act(context.Background(), "o-1", task.Event{Kind: task.Woken}); !errors.Is(err, engine.ErrNoWorkflow) || !strings.Contains(err.Error(), "task o-1 is pinned to workflow order@1") {
		t.Errorf("error is %v, want engine.ErrNoWorkflow for order@1 of task o-1", err)
	}
}

type noWorkflows struct{}

func (noWorkflows) Workflow(string) (task.Workflow, error) {
	return task.Workflow{}, engine.ErrNoWorkflow
}
