package submission_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"triad/shared/engine"
	"triad/shared/engine/enginetest"
	"triad/shared/store"
	"triad/shared/submission"
	"triad/shared/task"
)

func TestTheSameSubmissionAgainIsAcceptedAgainAndOtherContentIsRefused(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name   string
		change func(*task.Submission)
		wants  error
	}{
		{"the same", func(*task.Submission) {}, nil},
		{"the same with other white space", func(s *task.Submission) { s.Order = json.RawMessage("{ \"total\" :\n\t5 }") }, nil},
		{"another order", func(s *task.Submission) { s.Order = json.RawMessage(`{"total":6}`) }, submission.ErrDifferent},
		{"another number for the same", func(s *task.Submission) { s.Order = json.RawMessage(`{"total":5.0}`) }, submission.ErrDifferent},
		{"white space within a text", func(s *task.Submission) { s.Order = json.RawMessage(`{"total":5,"note":" "}`) }, submission.ErrDifferent},
		{"another response queue", func(s *task.Submission) { s.ResponseQueue = "depot" }, submission.ErrDifferent},
		{"another tenant", func(s *task.Submission) { s.Tenant = "other" }, submission.ErrDifferent},
		{"another name of the workflow", func(s *task.Submission) { s.Workflow = "order@1" }, submission.ErrDifferent},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rig := enginetest.New(t)
			p := rig.Start("one")
			first := rig.Submit(p, "o-1")
			again := enginetest.Submission("o-1")
			c.change(&again)
			receipt, err := p.Submission.Submit(context.Background(), again)
			if !errors.Is(err, c.wants) {
				t.Fatalf("error is %v, want %v", err, c.wants)
			}
			if err == nil && !receipt.Already {
				t.Error("the receipt does not say that it had been accepted before")
			}
			if got := rig.Task("o-1"); got.Version != first.Version || got.OrderHash != first.OrderHash {
				t.Errorf("the task was changed: version %d, want %d", got.Version, first.Version)
			}
			if n := len(rig.Receive(rig.Queues.Agents["inventory"])); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

func TestASubmissionIsTheSameWhateverBecameOfItsTask(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	p := rig.Start("one")
	rig.Submit(p, "o-1")
	rig.Settle(p)
	receipt, err := p.Submission.Submit(context.Background(), enginetest.Submission("o-1"))
	if err != nil || !receipt.Already || receipt.Task.State != task.Processed {
		t.Errorf("receipt is %v of a task that is %s, %v; want already, Processed", receipt.Already, receipt.Task.State, err)
	}
}

func TestOfManyAtOnceOneMakesTheTask(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	one, two := rig.Start("one"), rig.Start("two")
	const each = 8
	var all sync.WaitGroup
	var mu sync.Mutex
	made := 0
	for i := range 2 * each {
		p := []*enginetest.Process{one, two}[i%2]
		all.Go(func() {
			receipt, err := p.Submission.Submit(context.Background(), task.Submission{ID: "o-1", Workflow: "order", Order: json.RawMessage(`{"total":5}`)})
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Error(err)
			} else if !receipt.Already {
				made++
			}
		})
	}
	all.Wait()
	if n := len(rig.Receive(rig.Queues.Agents["inventory"])); made != 1 || n != 1 {
		t.Errorf("%d made the task and %d requests were sent, want 1 and 1", made, n)
	}
}

func TestAnAcceptedSubmissionIsDurableWhetherOrNotItsMessagesAreSent(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	rig.Queues.FailSends(func(int) enginetest.Fault { return enginetest.Lost })
	rig.Outlet.Fail = func(int) enginetest.Fault { return enginetest.Lost }
	p := rig.Start("one")
	rig.Submit(p, "o-1")
	rig.Queues.FailSends(nil)
	rig.Outlet.Fail = nil
	rig.Settle(p)
	if got := rig.Task("o-1"); got.State != task.Processed {
		t.Errorf("the task ended as %s", enginetest.Line(got))
	}
	rig.Check("o-1")
}

func TestAHeldSubmissionClaimsNothingAndIsDueAtOnce(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	rig.Hold = true
	rig.Submit(rig.Start("one"), "o-1")
	got := rig.Task("o-1")
	if got.State != task.Pending || got.CompleteBy != task.At(enginetest.Noon()) {
		t.Errorf("task is %s, due at %v; want Pending, due now", got.State, got.CompleteBy.Time())
	}
	if rig.Queues.Sends() != 0 {
		t.Errorf("%d messages were sent, want none", rig.Queues.Sends())
	}
}

// TestWhatNoQueueTakesIsEscaped: U+FFFE is legal in JSON, and SQS refuses it. A
// request whose input is the order must be one that can be sent.
func TestWhatNoQueueTakesIsEscaped(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	p := rig.Start("one")
	for _, order := range []string{"{\"total\":5,\"note\":\"\ufffe\uffff\"}", `{"total":5,"note":"\ufffe\uffff"}`} {
		sub := enginetest.Submission("o-1")
		sub.Order = json.RawMessage(order)
		if _, err := p.Submission.Submit(context.Background(), sub); err != nil {
			t.Errorf("submitting %q: %v", order, err)
		}
	}
	if got, want := string(rig.Task("o-1").Order), `{"total":5,"note":"\ufffe\uffff"}`; got != want {
		t.Errorf("the order is %q, want %q", got, want)
	}
}

func TestTasksAreSpreadOverTheShards(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	rig.Shards = 4
	p := rig.Start("one")
	for i := range 40 {
		rig.Submit(p, task.ID(fmt.Sprintf("o-%d", i)))
	}
	for shard := range 4 {
		if n := len(rig.Due(shard)); n == 0 {
			t.Errorf("shard %d is empty", shard)
		}
	}
}

// refusing is a store that takes no new tasks.
type refusing struct {
	store.Store
	err error
}

func (s refusing) Create(context.Context, store.Change) error { return s.err }

func TestWhatTheStoreRefusesIsToldAsItIs(t *testing.T) {
	t.Parallel()
	for _, want := range []error{store.ErrFull, store.ErrReadOnly, store.ErrTooLarge, context.DeadlineExceeded} {
		rig := enginetest.New(t)
		e := engine.New(engine.Config{Instance: "one", Store: refusing{rig.Memory, want}, Workflows: rig.Catalog, Queues: rig.Queues})
		s := submission.New(submission.Config{Engine: e, Definitions: rig.Catalog})
		if _, err := s.Submit(context.Background(), enginetest.Submission("o-1")); !errors.Is(err, want) {
			t.Errorf("error is %v, want %v", err, want)
		}
	}
}

// broken are definitions that can't be read now.
type broken struct{}

func (broken) Definition(string) (submission.Definition, error) {
	return nil, enginetest.ErrInjected
}

func TestDefinitionsThatCanNotBeReadAreNotTheSubmissionsFault(t *testing.T) {
	t.Parallel()
	rig := enginetest.New(t)
	s := submission.New(submission.Config{Engine: rig.Start("one").Engine, Definitions: broken{}})
	if _, err := s.Submit(context.Background(), enginetest.Submission("o-1")); !errors.Is(err, enginetest.ErrInjected) || errors.Is(err, submission.ErrInvalid) {
		t.Errorf("error is %v, want the fault itself", err)
	}
}
