package scheduler_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/engine"
	"triad/shared/engine/enginetest"
	"triad/shared/operator"
	"triad/shared/queue"
	"triad/shared/scheduler"
	"triad/shared/store"
	"triad/shared/task"
)

// started is an order whose first request is on its way.
func started(t *testing.T) (*enginetest.Rig, *enginetest.Process, task.Request) {
	t.Helper()
	rig := enginetest.New(t)
	p := rig.Start("one")
	rig.Submit(p, "o-1")
	return rig, p, request(t, rig, "inventory")
}

// request takes the only message of an agent's queue.
func request(t *testing.T, rig *enginetest.Rig, agent string) task.Request {
	t.Helper()
	ds := rig.Receive(rig.Queues.Agents[agent])
	if len(ds) != 1 {
		t.Fatalf("agent %s has %d requests, want 1", agent, len(ds))
	}
	rig.Delete(rig.Queues.Agents[agent], ds[0])
	r, err := queue.DecodeRequest(ds[0].Body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func handle(t *testing.T, p *enginetest.Process, body []byte, receives int) {
	t.Helper()
	if err := p.Scheduler.Handle(context.Background(), queue.Delivery{Body: body, Receives: receives}); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
}

func message(t *testing.T, m queue.ToScheduler) []byte {
	t.Helper()
	b, err := queue.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var succeeded = task.Reply{Outcome: task.Succeeded, Output: json.RawMessage(`1`)}

func TestAReplyWithoutTheLiveTokenChangesNothingAndIsCounted(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		change func(*task.Request)
		counts task.Verdict
	}{
		{"an earlier attempt", func(r *task.Request) { r.Attempt = 0 }, task.Stale},
		{"an attempt to come", func(r *task.Request) { r.Attempt = 2 }, task.Stale},
		{"another owner", func(r *task.Request) { r.LockedBy = "two" }, task.Stale},
		{"no owner", func(r *task.Request) { r.LockedBy = "" }, task.Stale},
		{"the undo of the step", func(r *task.Request) { r.Undo = true }, task.Stale},
		{"a step that has not begun", func(r *task.Request) { r.Step = "ship" }, task.Stale},
		{"a step that does not exist", func(r *task.Request) { r.Step = "paint" }, task.Stale},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rig, _, r := started(t)
			counted := verdicts{}
			s := scheduler.New(engine.New(engine.Config{Instance: "one", Store: rig.Table, Workflows: rig.Catalog,
				Queues: rig.Queues, Observer: counted, Clock: rig.Clock.Now}), rig.Memory)
			c.change(&r)
			if err := s.Handle(context.Background(), queue.Delivery{Body: enginetest.Reply(r, succeeded), Receives: 1}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(verdicts{c.counts: 1}, counted); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
			if got := rig.Task("o-1"); got.Version != 1 || rig.Deliver(rig.Start("one")) {
				t.Errorf("task is %s in version %d; want it unchanged and nothing sent", enginetest.Line(got), got.Version)
			}
		})
	}
}

// verdicts counts decisions by verdict.
type verdicts map[task.Verdict]int

func (v verdicts) Decided(_ task.Event, d task.Decision) { v[d.Verdict]++ }

func TestALateReplyOfAnAttemptThatWasResetChangesNothing(t *testing.T) {
	t.Parallel()
	rig, p, first := started(t)
	rig.Clock.Advance(11 * time.Second)
	if _, err := p.Supervisor.Sweep(context.Background()); err != nil {
		t.Fatal(err)
	}
	before := rig.Task("o-1")
	handle(t, p, enginetest.Reply(first, succeeded), 1)
	if got := rig.Task("o-1"); got.Version != before.Version {
		t.Errorf("task is %s, want it as it was: %s", enginetest.Line(got), enginetest.Line(before))
	}
	rig.Settle(p)
	if got := rig.Task("o-1"); got.State != task.Processed || got.Steps[0].Attempt != 2 {
		t.Errorf("task is %s, want it Processed with a second attempt", enginetest.Line(got))
	}
	rig.Check("o-1")
}

func TestAReplyThatComesTwiceMovesTheTaskOnce(t *testing.T) {
	t.Parallel()
	rig, p, r := started(t)
	reply := enginetest.Reply(r, succeeded)
	handle(t, p, reply, 1)
	first := request(t, rig, "payment")

	handle(t, p, reply, 1) // a copy
	if n := len(rig.Receive(rig.Queues.Agents["payment"])); n != 0 {
		t.Errorf("a copy of the reply sent %d requests, want none", n)
	}
	handle(t, p, reply, 2) // the same message again: its sends may have been lost
	again := request(t, rig, "payment")
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the request said again (-first +again):\n%s", diff)
	}
	if got, want := enginetest.Line(rig.Task("o-1")), "Processing reserve:Processed#1 charge:Processing#1"; got != want {
		t.Errorf("task is %s, want %s", got, want)
	}
}

func TestAReplyCarriesItsContent(t *testing.T) {
	t.Parallel()
	rig, p, r := started(t)
	handle(t, p, enginetest.Reply(r, task.Reply{Outcome: task.FailedTransiently, Error: "closed for lunch", RetryAfterMs: 90_000}), 1)
	step := rig.Task("o-1").Steps[0]
	if step.Error != "closed for lunch" || step.CompleteBy != task.At(rig.Clock.Now()).Add(90*time.Second) {
		t.Errorf("step waits until %v because %q; want 90s and the agent's words", step.CompleteBy.Time(), step.Error)
	}
	rig.Clock.Advance(90 * time.Second)
	rig.Deliver(p) // the wake-up
	handle(t, p, enginetest.Reply(rig.Services.Requests()[0], task.Reply{Outcome: task.Succeeded, Output: json.RawMessage(`{"id":"ü"}`)}), 1)
	if got := string(rig.Task("o-1").Steps[0].Output); got != `{"id":"ü"}` {
		t.Errorf("output is %s", got)
	}
}

func TestAHeartbeatMovesTheDeadlineOfTheLiveAttemptOnly(t *testing.T) {
	t.Parallel()
	rig, p, r := started(t)
	until := r.CompleteBy.Add(time.Minute)
	x := task.Extension{Task: r.Task, Step: r.Step, Attempt: r.Attempt, LockedBy: "foreign", CompleteBy: until}
	handle(t, p, message(t, queue.ToScheduler{Extend: &x}), 1)
	if got := rig.Task("o-1").Steps[0].CompleteBy; got != r.CompleteBy {
		t.Errorf("a foreign heartbeat moved the deadline to %v", got.Time())
	}
	x.LockedBy = r.LockedBy
	handle(t, p, message(t, queue.ToScheduler{Extend: &x}), 1)
	if got := rig.Task("o-1").Steps[0].CompleteBy; got != until {
		t.Errorf("the deadline is %v, want %v", got.Time(), until.Time())
	}
}

func TestAHeartbeatMovesTheDeadlineOfAnUndo(t *testing.T) {
	t.Parallel()
	rig, p, r := started(t)
	handle(t, p, enginetest.Reply(r, task.Reply{Outcome: task.Succeeded}), 1)
	if _, err := p.Operator.Do(t.Context(), "o-1", operator.Ask{Verb: operator.Undo}); err != nil {
		t.Fatal(err)
	}
	handle(t, p, enginetest.Reply(request(t, rig, "payment"), task.Reply{Outcome: task.FailedPermanently, Error: "no"}), 1)
	s := rig.Task("o-1").Steps[0]
	x := task.Extension{Task: "o-1", Step: s.Name, Undo: true, Attempt: s.Attempt, LockedBy: s.LockedBy, CompleteBy: s.CompleteBy.Add(time.Minute)}
	handle(t, p, message(t, queue.ToScheduler{Extend: &x}), 1)
	if got := rig.Task("o-1").Steps[0].CompleteBy; got != x.CompleteBy {
		t.Errorf("the deadline of the undo is %v, want %v", got.Time(), x.CompleteBy.Time())
	}
}

// TestHeldTasksGoOnInAllShards: what moves a held task into the shard of its id is
// the message that finds room for it.
func TestHeldTasksGoOnInAllShards(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	rig.Shards, rig.Hold = 4, true
	p := rig.Start("one")
	for i := range 40 {
		id := task.ID(fmt.Sprintf("o-%d", i))
		rig.Submit(p, id)
		handle(t, p, message(t, queue.ToScheduler{Wake: &queue.Wake{Task: id}}), 1)
	}
	for shard := range 4 {
		if len(rig.Due(shard)) == 0 {
			t.Errorf("shard %d is empty", shard)
		}
	}
}

func TestWakeUpsMayComeAnyNumberOfTimes(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	rig.Hold = true
	p := rig.Start("one")
	rig.Submit(p, "o-1")
	wake := message(t, queue.ToScheduler{Wake: &queue.Wake{Task: "o-1"}})
	for receives := 1; receives <= 3; receives++ {
		handle(t, p, wake, receives)
	}
	// The request may not have been sent the first time, so it is sent again.
	requests := rig.Receive(rig.Queues.Agents["inventory"])
	if len(requests) != 3 || !bytes.Equal(requests[0].Body, requests[1].Body) || !bytes.Equal(requests[0].Body, requests[2].Body) {
		t.Errorf("got %d requests, want the same three times: %v", len(requests), requests)
	}
	if got, want := enginetest.Line(rig.Task("o-1")), "Processing reserve:Processing#1"; got != want {
		t.Errorf("task is %s, want %s", got, want)
	}
}

func TestAWakeUpThatRedeliversSaysAgainWhatOtherInstancesClaimed(t *testing.T) {
	t.Parallel()
	rig, p, first := started(t)
	wake := message(t, queue.ToScheduler{Wake: &queue.Wake{Task: "o-1", Redeliver: true}})
	handle(t, p, wake, 1)
	if n := len(rig.Receive(rig.Queues.Agents["inventory"])); n != 0 {
		t.Errorf("the instance said its own claim again, %d times", n)
	}
	for _, instance := range []string{"two", "three"} {
		handle(t, rig.Start(instance), wake, 1)
		if diff := cmp.Diff(first, request(t, rig, "inventory")); diff != "" {
			t.Errorf("instance %s says (-first +again):\n%s", instance, diff)
		}
	}
	if got := rig.Task("o-1"); got.Version != 1 {
		t.Errorf("the task was changed: version %d", got.Version)
	}
}

func TestWhatCanNotBeProcessedIsCapturedWithItsBytes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ body, says string }{
		"nonsense":          {"\x00\xff", "invalid character"},
		"none of the three": {`{}`, "exactly one"},
		"two of the three":  {`{"wake":{"task":"o-1"},"reply":{"task":"o-1"}}`, "exactly one"},
		"an unknown field":  {`{"wake":{"task":"o-1","when":1}}`, "when"},
		"no id":             {`{"wake":{"task":""}}`, "field task"},
		"a hostile id":      {`{"wake":{"task":"../x"}}`, "field task"},
		"trailing bytes":    {`{"wake":{"task":"o-1"}}}`, "follows"},
		"an unknown task":   {`{"wake":{"task":"o-404"}}`, "task o-404: no such task"},
		"a reply to nobody": {`{"reply":{"task":"o-404","step":"reserve","attempt":1,"lockedBy":"one","outcome":"succeeded"}}`, "no such task"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rig, p, r := started(t)
			handle(t, p, []byte(c.body), 1)
			kept, err := rig.Memory.Rejections(context.Background(), 0, 10)
			if err != nil || len(kept) != 1 {
				t.Fatalf("captured %d messages, %v; want 1", len(kept), err)
			}
			if k := kept[0]; string(k.Body) != c.body || k.Queue != queue.Scheduler || k.At != task.At(rig.Clock.Now()) || !strings.Contains(k.Reason, c.says) {
				t.Errorf("captured %q of queue %s at %v because %s", k.Body, k.Queue, k.At, k.Reason)
			}
			handle(t, p, enginetest.Reply(r, succeeded), 1) // its neighbour
			request(t, rig, "payment")
		})
	}
}

// full takes no rejected message.
type full struct{}

func (full) Reject(context.Context, store.Rejected) error { return store.ErrFull }

func TestWhatFailsComesAgain(t *testing.T) {
	t.Parallel()
	rig, p, r := started(t)
	reply := queue.Delivery{Body: enginetest.Reply(r, succeeded), Receives: 1}
	s := scheduler.New(p.Engine, full{})
	if err := s.Handle(context.Background(), queue.Delivery{Body: []byte(`{}`), Receives: 1}); !errors.Is(err, store.ErrFull) {
		t.Errorf("capturing: error is %v, want store.ErrFull", err)
	}
	rig.Table.Read = func(task.ID) error { return store.ErrDamaged }
	if err := s.Handle(context.Background(), reply); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("loading: error is %v, want store.ErrDamaged", err)
	}
	rig.Table.Read = nil
	rig.Table.Write = func(int, int) enginetest.Fault { return enginetest.Lost }
	if err := s.Handle(context.Background(), reply); !errors.Is(err, enginetest.ErrInjected) {
		t.Errorf("committing: error is %v, want the fault", err)
	}
	rig.Table.Write = nil
	rig.Queues.FailSends(func(int) enginetest.Fault { return enginetest.Lost })
	if err := s.Handle(context.Background(), reply); !errors.Is(err, enginetest.ErrInjected) {
		t.Errorf("sending: error is %v, want the fault", err)
	}
	rig.Queues.FailSends(nil)
	reply.Receives = 4
	if err := s.Handle(context.Background(), reply); err != nil {
		t.Error(err)
	}
	request(t, rig, "payment")
	rig.Check("o-1")
}
