package operator_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"triad/shared/engine"
	"triad/shared/engine/enginetest"
	"triad/shared/operator"
	"triad/shared/store"
	"triad/shared/task"
)

const withSignal = `
workflow: order
version: 1
completeWithin: 24h
onExhausted: error
steps:
  reserve: {agent: inventory, completeWithin: 10s, undo: {completeWithin: 10s, retry: {attempts: 1}}}
  approve: {signal: approved, completeWithin: 1h}
  ship: {agent: shipping, completeWithin: 10s, retry: {attempts: 1}}
`

// office is a rig whose order can be brought to any state.
type office struct {
	*enginetest.Rig
	t *testing.T
	p *enginetest.Process
	// refuse has the services refuse these keys.
	refuse map[string]bool
}

func open(t *testing.T) *office {
	t.Helper()
	o := &office{Rig: enginetest.New(t, withSignal), t: t, refuse: map[string]bool{}}
	o.Services.Answer = func(r task.Request) task.Reply {
		if o.refuse[r.IdempotencyKey()] {
			return task.Reply{Outcome: task.FailedPermanently, Error: "no"}
		}
		return task.Reply{Outcome: task.Succeeded}
	}
	o.p = o.Start("one")
	o.Submit(o.p, "o-1")
	return o
}

// deliver delivers messages until there are none; no time passes.
func (o *office) deliver() {
	o.t.Helper()
	for o.Deliver(o.p) {
	}
}

func (o *office) do(a operator.Ask) {
	o.t.Helper()
	if _, err := o.p.Operator.Do(context.Background(), "o-1", a); err != nil {
		o.t.Fatalf("%s: %v", a.Verb, err)
	}
	o.deliver()
}

var approved = operator.Ask{Verb: operator.Signal, Signal: "approved"}

// The states to ask in.
var states = map[string]func(*office){
	"starting":  func(*office) {},
	"awaiting":  func(o *office) { o.deliver() },
	"paused":    func(o *office) { o.do(operator.Ask{Verb: operator.Pause}); o.deliver() },
	"processed": func(o *office) { o.deliver(); o.do(approved) },
	"failed":    func(o *office) { o.refuse["o-1/ship"] = true; o.deliver(); o.do(approved) },
	"cancelled": func(o *office) { o.deliver(); o.do(operator.Ask{Verb: operator.Cancel}) },
	"undone":    func(o *office) { o.deliver(); o.do(operator.Ask{Verb: operator.Undo}) },
	"undo failed": func(o *office) {
		o.refuse["o-1/reserve/undo"] = true
		o.deliver()
		o.do(operator.Ask{Verb: operator.Undo})
	},
}

func TestWhatMayBeAskedInWhichState(t *testing.T) {
	t.Parallel()
	const refused = "refused"
	cases := []struct {
		state string
		verb  operator.Verb
		line  string // the task once all is delivered
	}{
		{"starting", operator.Cancel, "Cancelled reserve:Compensated#2 approve:Cancelled#0 ship:Cancelled#0"},
		{"starting", operator.Undo, "Compensated reserve:Compensated#2 approve:Cancelled#0 ship:Cancelled#0"},
		{"starting", operator.Pause, "Processing reserve:Processed#1"},
		{"starting", operator.Signal, "Processed reserve:Processed#1 approve:Processed#1 ship:Processed#1"},
		{"starting", operator.Resubmit, refused},
		{"starting", operator.Resume, "Processing reserve:Processed#1 approve:Processing#1"},
		{"awaiting", operator.Cancel, "Cancelled reserve:Compensated#2 approve:Cancelled#1 ship:Cancelled#0"},
		{"awaiting", operator.Undo, "Compensated reserve:Compensated#2 approve:Cancelled#1 ship:Cancelled#0"},
		{"awaiting", operator.Signal, "Processed reserve:Processed#1 approve:Processed#1 ship:Processed#1"},
		{"paused", operator.Resume, "Processing reserve:Processed#1 approve:Processing#1"},
		{"paused", operator.Pause, "Processing reserve:Processed#1"},
		{"paused", operator.Cancel, "Cancelled reserve:Compensated#2 approve:Cancelled#0 ship:Cancelled#0"},
		{"processed", operator.Cancel, refused},
		{"processed", operator.Undo, refused},
		{"processed", operator.Resubmit, refused},
		{"processed", operator.Pause, refused},
		{"processed", operator.Resume, refused},
		{"processed", operator.Signal, refused},
		{"failed", operator.Resubmit, "Processed reserve:Processed#1 approve:Processed#1 ship:Processed#2"},
		{"failed", operator.Undo, "Compensated reserve:Compensated#2 approve:Processed#1 ship:Error#1!1"},
		{"failed", operator.Cancel, refused},
		{"failed", operator.Pause, refused},
		{"cancelled", operator.Cancel, "Cancelled reserve:Compensated#2 approve:Cancelled#1 ship:Cancelled#0"},
		{"cancelled", operator.Undo, refused},
		{"cancelled", operator.Resubmit, refused},
		{"undone", operator.Undo, "Compensated reserve:Compensated#2 approve:Cancelled#1 ship:Cancelled#0"},
		{"undone", operator.Cancel, refused},
		{"undo failed", operator.Resubmit, "Compensated reserve:Compensated#3 approve:Cancelled#1 ship:Cancelled#0"},
		{"undo failed", operator.Undo, refused},
	}
	for _, c := range cases {
		t.Run(string(c.verb)+" when "+c.state, func(t *testing.T) {
			t.Parallel()
			o := open(t)
			states[c.state](o)
			clear(o.refuse)
			before := o.Task("o-1")
			got, err := o.p.Operator.Do(context.Background(), "o-1", operator.Ask{Verb: c.verb, Signal: "approved", Reason: "Ada: asked"})
			if c.line == refused {
				if !errors.Is(err, operator.ErrRefused) || !strings.Contains(err.Error(), string(c.verb)+" of task o-1 is refused: ") {
					t.Errorf("error is %v, want it refused, with the reason", err)
				}
				if after := o.Task("o-1"); after.Version != before.Version || got.Version != before.Version {
					t.Errorf("refused, but changed: version %d became %d", before.Version, after.Version)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			o.deliver()
			if line := enginetest.Line(o.Task("o-1")); line != c.line {
				t.Errorf("got  %s\nwant %s", line, c.line)
			}
			o.Check("o-1")
		})
	}
}

func TestAfterACancelNoForwardStepStarts(t *testing.T) {
	t.Parallel()
	o := open(t)
	got, err := o.p.Operator.Do(context.Background(), "o-1", operator.Ask{Verb: operator.Cancel, Reason: "Ada: changed her mind"})
	if err != nil || got.Reason != "Ada: changed her mind" {
		t.Fatalf("reason is %q, %v", got.Reason, err)
	}
	o.Settle(o.p)
	for _, r := range o.Services.Requests() {
		if r.Step != "reserve" {
			t.Errorf("step %s was started", r.Step)
		}
	}
}

func TestAPausedTaskGoesOnWhenItIsResumed(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.do(operator.Ask{Verb: operator.Pause})
	o.Clock.Advance(10 * time.Minute)
	if _, err := o.p.Supervisor.Sweep(context.Background()); err != nil {
		t.Fatal(err)
	}
	o.deliver()
	if line := enginetest.Line(o.Task("o-1")); line != "Processing reserve:Processed#1" {
		t.Errorf("paused, it is %s", line)
	}
	o.do(operator.Ask{Verb: operator.Resume})
	o.do(approved)
	if got := o.Task("o-1"); got.State != task.Processed {
		t.Errorf("resumed, it is %s", enginetest.Line(got))
	}
}

// TestWhatWasDoneBeforeOthersChangedTheTaskIsSaid: the steps that the verb started
// are asked for, although the verb can't be done any more, or is done again.
func TestWhatWasDoneBeforeOthersChangedTheTaskIsSaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		state func(*office)
		ask   operator.Ask
		rival func(*task.Task)
		wants string // in the error
	}{
		"resume": {func(o *office) {
			o.deliver()
			o.do(operator.Ask{Verb: operator.Pause})
			o.do(approved)
		}, operator.Ask{Verb: operator.Resume}, nil, ""},
		"resume, and paused again": {func(o *office) {
			o.deliver()
			o.do(operator.Ask{Verb: operator.Pause})
			o.do(approved)
		}, operator.Ask{Verb: operator.Resume}, func(t *task.Task) { t.Paused = true }, ""},
		"resubmit": {func(o *office) { states["failed"](o); clear(o.refuse) }, operator.Ask{Verb: operator.Resubmit}, nil,
			"resubmit of task o-1 is refused: it may have been done before others changed the task: only a task in Error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := open(t)
			c.state(o)
			s := &enginetest.Overtaken{Store: o.Memory, Err: errors.Join(store.ErrConflict, store.ErrOvertaken), Change: c.rival}
			e := engine.New(engine.Config{Instance: "two", Store: s, Workflows: o.Catalog, Queues: o.Queues, Clock: o.Clock.Now})
			_, err := operator.New(e).Do(context.Background(), "o-1", c.ask)
			if said := err != nil; said != (c.wants != "") || said && (!errors.Is(err, operator.ErrRefused) || !strings.HasPrefix(err.Error(), c.wants)) {
				t.Errorf("it is answered %v, want %q", err, c.wants)
			}
			o.deliver()
			if got := o.Task("o-1"); got.State != task.Processed {
				t.Errorf("the task is %s", enginetest.Line(got))
			}
		})
	}
}

func TestASignalBringsItsPayload(t *testing.T) {
	t.Parallel()
	o := open(t)
	o.deliver()
	bad := operator.Ask{Verb: operator.Signal, Signal: "approved", Payload: json.RawMessage(`{"by"`)}
	if _, err := o.p.Operator.Do(context.Background(), "o-1", bad); !errors.Is(err, operator.ErrRefused) {
		t.Errorf("a payload that is not JSON: error is %v, want it refused", err)
	}
	unknown := operator.Ask{Verb: operator.Signal, Signal: "aproved"}
	if _, err := o.p.Operator.Do(context.Background(), "o-1", unknown); !errors.Is(err, operator.ErrRefused) || !strings.Contains(err.Error(), `"aproved"`) {
		t.Errorf("a signal nobody waits for: error is %v, want it refused by name", err)
	}
	o.do(operator.Ask{Verb: operator.Signal, Signal: "approved", Payload: json.RawMessage(`{"by":"Ada"}`)})
	step, _ := o.Task("o-1").Step("approve")
	if string(step.Output) != `{"by":"Ada"}` {
		t.Errorf("the output of the step is %s", step.Output)
	}
}

func TestWhatCanNotBeAsked(t *testing.T) {
	t.Parallel()
	o := open(t)
	if _, err := o.p.Operator.Do(context.Background(), "o-2", operator.Ask{Verb: operator.Cancel}); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an unknown task: error is %v, want store.ErrNotFound", err)
	}
	for _, verb := range []operator.Verb{"", "explode", "Cancel"} {
		if _, err := o.p.Operator.Do(context.Background(), "o-1", operator.Ask{Verb: verb}); !errors.Is(err, operator.ErrNoVerb) || !strings.Contains(err.Error(), "cancel undo resubmit") {
			t.Errorf("verb %q: error is %v, want ErrNoVerb and the verbs there are", verb, err)
		}
	}
	o.Table.Write = func(int, int) enginetest.Fault { return enginetest.Lost }
	if _, err := o.p.Operator.Do(context.Background(), "o-1", operator.Ask{Verb: operator.Cancel}); !errors.Is(err, enginetest.ErrInjected) {
		t.Errorf("a store that fails: error is %v, want the fault", err)
	}
}
