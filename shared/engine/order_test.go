package engine_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/engine/enginetest"
	"triad/shared/queue"
	"triad/shared/task"
)

// TestAnOrderGoesStepByStepFromSubmissionToProcessed looks at every message on
// the way.
func TestAnOrderGoesStepByStepFromSubmissionToProcessed(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	p := rig.Start("one")
	rig.Enqueue(enginetest.Submission("o-1"))
	handleOne(t, rig.Queues.Submissions, p.Submission.Handle)

	steps := []struct{ step, agent, line string }{
		{"reserve", "inventory", "Processing reserve:Processing#1"},
		{"charge", "payment", "Processing reserve:Processed#1 charge:Processing#1"},
		{"pack", "warehouse", "Processing reserve:Processed#1 charge:Processed#1 pack:Processing#1"},
		{"ship", "shipping", "Processing reserve:Processed#1 charge:Processed#1 pack:Processed#1 ship:Processing#1"},
		{"notify", "notification", "Processing reserve:Processed#1 charge:Processed#1 pack:Processed#1 ship:Processed#1 notify:Processing#1"},
	}
	for _, s := range steps {
		if diff := cmp.Diff(s.line, enginetest.Line(rig.Task("o-1"))); diff != "" {
			t.Errorf("before %s is answered (-want +got):\n%s", s.step, diff)
		}
		request := takeRequest(t, rig, s.agent)
		want := task.Request{
			Task: "o-1", Workflow: "order@1", Step: s.step, Agent: s.agent, Attempt: 1, LockedBy: "one",
			CompleteBy: task.At(rig.Clock.Now()).Add(10 * time.Second), Key: "o-1/" + s.step,
			Input: json.RawMessage(`{"total":5}`), Tenant: "acme",
		}
		if diff := cmp.Diff(want, request); diff != "" {
			t.Errorf("request (-want +got):\n%s", diff)
		}
		rig.Clock.Advance(time.Second)
		answer(t, rig, p, request, task.Reply{Outcome: task.Succeeded, Output: json.RawMessage(`{"by":"` + s.agent + `"}`)})
	}
	got := rig.Task("o-1")
	if want := "Processed reserve:Processed#1 charge:Processed#1 pack:Processed#1 ship:Processed#1 notify:Processed#1"; enginetest.Line(got) != want {
		t.Errorf("got %s, want %s", enginetest.Line(got), want)
	}
	if rig.Table.Writes() != len(steps)+1 {
		t.Errorf("%d writes, want one for each step and one more", rig.Table.Writes())
	}
	if diff := cmp.Diff(map[string]int{"o-1/Received/0": 1, "o-1/Processed/0": 1}, rig.Outlet.Told); diff != "" {
		t.Errorf("notices (-want +got):\n%s", diff)
	}
	rig.Check("o-1")
}

func TestAnOrderWhoseStepIsRefusedIsUndoneInReverse(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	p := rig.Start("one")
	rig.Services.Answer = func(r task.Request) task.Reply {
		if r.Step == "ship" && !r.Undo {
			return task.Reply{Outcome: task.FailedPermanently, Error: "no such street"}
		}
		return task.Reply{Outcome: task.Succeeded}
	}
	rig.Enqueue(enginetest.Submission("o-1"))
	rig.Settle(p)
	want := "Compensated reserve:Compensated#2 charge:Compensated#2 pack:Processed#1 ship:Error#1!1 notify:Cancelled#0"
	if got := enginetest.Line(rig.Task("o-1")); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var keys []string
	for _, r := range rig.Services.Requests() {
		keys = append(keys, r.IdempotencyKey())
	}
	if diff := cmp.Diff([]string{"o-1/reserve", "o-1/charge", "o-1/pack", "o-1/ship", "o-1/charge/undo", "o-1/reserve/undo"}, keys); diff != "" {
		t.Errorf("requests in order (-want +got):\n%s", diff)
	}
	rig.Check("o-1")
}

func TestAStepThatGetsNoAnswerIsTriedAgainUnderTheSameKey(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	p := rig.Start("one")
	rig.Submit(p, "o-1")
	lost := takeRequest(t, rig, "inventory")
	rig.Settle(p)
	if got := rig.Task("o-1"); got.State != task.Processed {
		t.Fatalf("the task ended as %s", enginetest.Line(got))
	}
	again := rig.Services.Requests()[0]
	if again.Key != lost.Key || again.Attempt != 2 || again.CompleteBy <= lost.CompleteBy {
		t.Errorf("after %+v came %+v, want the same key, attempt 2 and a later CompleteBy", lost, again)
	}
	if diff := cmp.Diff(enginetest.Keys(), rig.Services.Effects()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	rig.Check("o-1")
}

// handleOne takes the only message of a queue and has it handled.
func handleOne(t *testing.T, q queue.Queue, handle func(context.Context, queue.Delivery) error) {
	t.Helper()
	ds, err := q.Receive(context.Background(), 10, 0)
	if err != nil || len(ds) != 1 {
		t.Fatalf("received %d messages, %v; want 1", len(ds), err)
	}
	if err := handle(context.Background(), ds[0]); err != nil {
		t.Fatal(err)
	}
	if err := q.Delete(context.Background(), ds[0].Receipt); err != nil {
		t.Fatal(err)
	}
}

// takeRequest takes the only message of an agent's queue.
func takeRequest(t *testing.T, rig *enginetest.Rig, agent string) (r task.Request) {
	t.Helper()
	handleOne(t, rig.Queues.Agents[agent], func(_ context.Context, d queue.Delivery) (err error) {
		r, err = queue.DecodeRequest(d.Body)
		return err
	})
	return r
}

// answer has a process handle the reply to a request.
func answer(t *testing.T, rig *enginetest.Rig, p *enginetest.Process, r task.Request, a task.Reply) {
	t.Helper()
	if err := rig.Queues.ToScheduler.Send(context.Background(), queue.Message{Body: enginetest.Reply(r, a)}); err != nil {
		t.Fatal(err)
	}
	handleOne(t, rig.Queues.ToScheduler, p.Scheduler.Handle)
}
