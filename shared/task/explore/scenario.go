package explore

import (
	"encoding/json"
	"errors"
	"time"

	"triad/shared/task"
)

// Scenario is a task with what may happen to it.
type Scenario struct {
	// Name says what is special about it.
	Name string
	// Workflow is its definition. Durations are multiples of half a minute, and
	// no retry has a wait of its own, as jitter would make too many times.
	Workflow task.Workflow
	// Hold submits the task without a claim.
	Hold bool
	// Call submits it by a call and not by a queue: no message brings it back,
	// and the answer to the call tells that it was received.
	Call bool
	// Verbs may be asked once each, at any moment.
	Verbs []task.Event
	// Skew is how far the clock of the second instance is ahead of all others;
	// it may be negative.
	Skew time.Duration
	// RetryAfter is the wait that services ask for when they fail.
	RetryAfter time.Duration
	// Most bounds what may go wrong on one way through the worlds.
	Most Faults
}

// Faults counts what may still go wrong.
type Faults struct {
	// Duplicates are messages that are handled and come once more.
	Duplicates int8
	// Crashes are handlers that die: before the commit, or after it with any
	// number of the sends done. A message that was being handled comes again, with
	// its count of receives or, as a dead letter that is brought back, as if new.
	Crashes int8
	// Losses are messages that never arrive. What was received and not deleted
	// comes again: were it lost too, a notice could stay untold.
	Losses int8
	// Failures are calls of services that fail and may succeed next time, with
	// the effect or without it; Refusals those that fail for good.
	Failures, Refusals int8
	// Lates are calls whose agent gives up and whose effect comes when it likes.
	Lates int8
	// Delays are times that pass although something could be done.
	Delays int8
}

// unit is what all durations are multiples of.
const unit = 30 * time.Second

// far is the distance from which on times are not told apart.
const far = 24 * time.Hour

// flow makes a definition of steps, each after the one above unless it says
// otherwise.
func flow(steps ...task.Step) task.Workflow {
	for i := range steps {
		if steps[i].After == nil && i > 0 {
			steps[i].After = []int{i - 1}
		}
	}
	return task.Workflow{
		Name: "small", Version: 1, CompleteWithin: 1000 * time.Hour, OnOverdue: task.OnError, Steps: steps,
	}
}

// work is a step of an agent, with one retry and an undo that has one.
func work(name string, then task.OnExhausted) task.Step {
	return task.Step{
		Name: name, Agent: name, CompleteWithin: unit, OnExhausted: then, Retry: task.Retry{Attempts: 2},
		Undo: &task.Undo{CompleteWithin: unit, Retry: task.Retry{Attempts: 2}},
	}
}

func with(s task.Step, edits ...func(*task.Step)) task.Step {
	for _, edit := range edits {
		edit(&s)
	}
	return s
}

func once(s *task.Step)   { s.Retry.Attempts = 1 }
func first(s *task.Step)  { s.After = []int{} }
func noUndo(s *task.Step) { s.Undo = nil }

func parks(s *task.Step) {
	s.OnExhausted = task.OnWait
	s.ExtendedWait = task.ExtendedWait{For: 2 * unit, Times: 1, Then: task.OnCompensate}
}

func whenFails(s *task.Step) {
	s.When = func(task.Task) (bool, error) { return false, errors.New("no such field") }
}

func skipped(s *task.Step) { s.When = func(task.Task) (bool, error) { return false, nil } }

func cancel() task.Event   { return task.Event{Kind: task.CancelRequested, Unsourced: true} }
func undo() task.Event     { return task.Event{Kind: task.UndoRequested, Unsourced: true} }
func resubmit() task.Event { return task.Event{Kind: task.Resubmitted, Unsourced: true} }
func pause() task.Event    { return task.Event{Kind: task.PauseRequested, Unsourced: true} }
func resume() task.Event   { return task.Event{Kind: task.ResumeRequested, Unsourced: true} }
func signal() task.Event {
	return task.Event{Kind: task.Signalled, Unsourced: true, Signal: "go", Output: json.RawMessage(`{"by":"me"}`)}
}

// Scenarios are the canonical ones. All is what `make explore` goes through;
// without it the bounds are so narrow that a test has the time.
func Scenarios(all bool) []Scenario {
	most := Faults{Duplicates: 1, Crashes: 1, Failures: 1, Delays: 1}
	if all {
		most = Faults{Duplicates: 2, Crashes: 2, Losses: 1, Failures: 1, Delays: 1}
	}
	narrow := Faults{Crashes: 1, Failures: 1, Delays: 1}
	if all {
		narrow = Faults{Duplicates: 1, Crashes: 1, Failures: 1, Losses: 1, Delays: 1}
	}
	refusing, late, parking := narrow, narrow, narrow
	parking.Failures = 3
	refusing.Failures, refusing.Refusals = 0, 1
	late.Failures, late.Lates = 0, 1
	skewed := Faults{Delays: narrow.Losses, Losses: narrow.Losses, Crashes: 1}
	short := flow(with(work("a", task.OnCompensate), once), with(work("b", task.OnCompensate), once))
	often := func(s *task.Step) { s.Retry.Attempts = 5 }
	overdue := flow(with(work("a", task.OnCompensate), often), with(work("b", task.OnCompensate), often))
	overdue.CompleteWithin, overdue.OnOverdue = 3*unit, task.OnCompensate
	return []Scenario{
		{Name: "sequence of two", Workflow: flow(work("a", task.OnCompensate), work("b", task.OnCompensate)), Most: most},
		{Name: "sequence of two, cancelled", Workflow: flow(work("a", task.OnCompensate), work("b", task.OnCompensate)),
			Verbs: []task.Event{cancel()}, Most: narrow},
		{Name: "sequence of three, the last without undo", Most: narrow,
			Workflow: flow(work("a", task.OnCompensate), with(work("b", task.OnCompensate), once), with(work("c", task.OnCompensate), once, noUndo))},
		{Name: "join of two", Most: narrow,
			Workflow: flow(with(work("a", task.OnCompensate), once), with(work("b", task.OnCompensate), first, once),
				with(work("c", task.OnError), noUndo, once, func(s *task.Step) { s.After = []int{0, 1} }))},
		{Name: "two at once, cancelled", Verbs: []task.Event{cancel()}, Most: narrow,
			Workflow: flow(with(work("a", task.OnCompensate), once), with(work("b", task.OnCompensate), first, once))},
		{Name: "parked", Most: parking, RetryAfter: unit,
			Workflow: flow(work("a", task.OnCompensate), with(work("b", task.OnCompensate), parks, once))},
		{Name: "a timer between, cancelled", Verbs: []task.Event{cancel()}, Most: narrow,
			Workflow: flow(work("a", task.OnCompensate), task.Step{Name: "t", Wait: 2 * unit, OnExhausted: task.OnError}, with(work("b", task.OnCompensate), once))},
		{Name: "ends with a timer", Most: narrow,
			Workflow: flow(with(work("a", task.OnCompensate), once), task.Step{Name: "t", Wait: unit, OnExhausted: task.OnError})},
		{Name: "submitted by a call, the first step can't start", Call: true, Verbs: []task.Event{resubmit(), undo()}, Most: narrow,
			Workflow: flow(with(work("a", task.OnError), whenFails), work("b", task.OnError))},
		{Name: "timed out, resubmitted", Verbs: []task.Event{resubmit()}, Most: Faults{Crashes: 1, Delays: 3},
			Workflow: flow(with(work("a", task.OnError), once, noUndo))},
		{Name: "a signal, held", Hold: true, Verbs: []task.Event{signal(), cancel()}, Most: narrow,
			Workflow: flow(work("a", task.OnCompensate), task.Step{Name: "s", Signal: "go", CompleteWithin: 2 * unit,
				Retry: task.Retry{Attempts: 1}, OnExhausted: task.OnCompensate})},
		{Name: "refused, resubmitted", Verbs: []task.Event{resubmit()}, Most: refusing,
			Workflow: flow(work("a", task.OnError), with(work("b", task.OnError), once))},
		{Name: "refused, undone and resubmitted", Verbs: []task.Event{undo(), resubmit()}, Most: refusing,
			Workflow: flow(work("a", task.OnError), with(work("b", task.OnError), once, noUndo))},
		{Name: "late effects", Verbs: []task.Event{cancel()}, Most: late,
			Workflow: flow(work("a", task.OnCompensate), with(work("b", task.OnCompensate), once))},
		{Name: "a deadline of its own", Workflow: overdue, Most: Faults{Crashes: 1, Delays: 4}},
		{Name: "a clock ahead", Skew: unit, Most: skewed, Workflow: short},
		{Name: "a clock behind", Skew: -unit, Most: skewed, Workflow: short},
		{Name: "paused, the last one skipped", Verbs: []task.Event{pause(), resume()}, Most: narrow,
			Workflow: flow(with(work("a", task.OnCompensate), once), work("b", task.OnCompensate), with(work("c", task.OnError), skipped))},
	}
}
