package task_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"triad/shared/task"
)

// drawWorkflow makes any definition: one to six steps, in any order of
// dependence, of every sort, with every answer to failure.
func drawWorkflow(rt *rapid.T) task.Workflow {
	w := task.Workflow{
		Name: "any", Version: rapid.IntRange(1, 3).Draw(rt, "version"),
		CompleteWithin: pick(rt, "whole", time.Minute, time.Hour, 72*time.Hour),
		OnOverdue:      pick(rt, "overdue", task.OnError, task.OnCompensate),
	}
	for i := range rapid.IntRange(1, 6).Draw(rt, "steps") {
		w.Steps = append(w.Steps, drawStep(rt, i))
	}
	return w
}

func pick[T any](rt *rapid.T, label string, from ...T) T {
	return from[rapid.IntRange(0, len(from)-1).Draw(rt, label)]
}

func drawStep(rt *rapid.T, i int) task.Step {
	step := task.Step{
		Name:           fmt.Sprintf("s%d", i),
		After:          []int{},
		CompleteWithin: pick(rt, "within", time.Second, 10*time.Second, time.Hour),
		Retry: task.Retry{
			Attempts: rapid.IntRange(1, 3).Draw(rt, "attempts"),
			First:    pick(rt, "first", 0, time.Second, time.Minute), Factor: 2, Max: time.Hour,
		},
		OnExhausted: pick(rt, "exhausted", task.OnError, task.OnCompensate, task.OnWait),
		ExtendedWait: task.ExtendedWait{
			For:   pick(rt, "for", time.Second, 10*time.Minute, time.Hour),
			Times: rapid.IntRange(1, 2).Draw(rt, "times"), Then: pick(rt, "then", task.OnError, task.OnCompensate),
		},
		When: drawWhen(rt, i),
	}
	for p := range i {
		if rapid.IntRange(0, 2).Draw(rt, "after") == 0 || p == i-1 && rapid.Bool().Draw(rt, "sequence") {
			step.After = append(step.After, p)
		}
	}
	switch rapid.IntRange(0, 5).Draw(rt, "sort") {
	case 0:
		step.Wait = pick(rt, "wait", time.Second, 5*time.Minute, 2*time.Hour)
	case 1:
		step.Signal = step.Name + "-signal"
	default:
		step.Agent, step.Input, step.Undo = "agent", drawInput(rt), drawUndo(rt)
	}
	return step
}

func drawUndo(rt *rapid.T) *task.Undo {
	if rapid.IntRange(0, 3).Draw(rt, "undo") == 0 {
		return nil
	}
	return &task.Undo{
		CompleteWithin: pick(rt, "undo within", time.Second, time.Minute),
		Retry: task.Retry{
			Attempts: rapid.IntRange(1, 3).Draw(rt, "undo attempts"),
			First:    pick(rt, "undo first", 0, time.Second, 20*time.Minute), Factor: 1,
		},
	}
}

// drawWhen makes a condition, which may look at the step before.
func drawWhen(rt *rapid.T, i int) func(task.Task) (bool, error) {
	switch rapid.IntRange(0, 9).Draw(rt, "when") {
	case 0:
		return func(task.Task) (bool, error) { return false, nil }
	case 1:
		return func(t task.Task) (bool, error) { return i > 0 && t.Steps[i-1].State == task.Processed, nil }
	case 2:
		if rapid.IntRange(0, 3).Draw(rt, "when fails") == 0 {
			return func(task.Task) (bool, error) { return false, errors.New("when fails") }
		}
	}
	return nil
}

// drawInput makes an expression over the order, which never changes.
func drawInput(rt *rapid.T) func(task.Task) (json.RawMessage, error) {
	switch rapid.IntRange(0, 11).Draw(rt, "input") {
	case 0:
		return func(task.Task) (json.RawMessage, error) { return nil, errors.New("input fails") }
	case 1, 2, 3:
		return func(t task.Task) (json.RawMessage, error) {
			return json.RawMessage(`{"of":` + string(t.Order) + `}`), nil
		}
	}
	return nil
}

// world is one task among several instances, agents that may do anything, and a
// clock that jumps. Past holds the replies that were made up so far: they may
// come again at any time.
type world struct {
	w     task.Workflow
	task  task.Task
	watch *monitor
	now   time.Time
	past  []task.Event
	wakes []task.Millis // when wake-ups come
	seen  *sightings
}

// handle lets an instance decide an event, under the monitor's eyes.
func (w *world) handle(rt *rapid.T, e task.Event) task.Decision {
	d, err := decideTwice(w.w, w.task, e, w.now)
	if err != nil {
		rt.Fatalf("%s: %v", e.Kind, err)
	}
	if err := w.watch.check(observation{was: w.task, is: d.Task, e: e, now: task.At(w.now), d: d}); err != nil {
		rt.Fatalf("%s by %s at %d: %v", e.Kind, e.By, task.At(w.now), err)
	}
	w.task = d.Task
	w.seen.add(e.Kind, d)
	for _, wake := range d.Wakes {
		w.wakes = append(w.wakes, task.At(w.now.Add(wake.Delay)))
	}
	return d
}

// submitAny begins a world with a submission.
func submitAny(rt *rapid.T, seen *sightings) *world {
	w := &world{w: drawWorkflow(rt), now: noon(), seen: seen}
	w.watch = newMonitor(w.w)
	sub := submission(w.w)
	if rapid.IntRange(0, 4).Draw(rt, "no response queue") == 0 {
		sub.ResponseQueue = ""
	}
	w.handle(rt, task.Event{
		Kind: task.Submitted, Submission: sub, By: "one", Shards: 16,
		Hold:      rapid.IntRange(0, 4).Draw(rt, "hold") == 0,
		Unsourced: rapid.Bool().Draw(rt, "by call"),
	})
	return w
}

// drawEvent makes any event: mostly sensible ones, in any order, at any time.
func (w *world) drawEvent(rt *rapid.T) task.Event {
	e := task.Event{
		By:        pick(rt, "by", "one", "two", "three"),
		Unsourced: rapid.Bool().Draw(rt, "unsourced"), Redelivery: rapid.IntRange(0, 3).Draw(rt, "again") == 0,
	}
	switch n := rapid.IntRange(0, 39).Draw(rt, "event"); {
	case n < 14:
		return w.drawReply(rt, e)
	case n < 16 && len(w.past) > 0:
		old := w.past[rapid.IntRange(0, len(w.past)-1).Draw(rt, "old reply")]
		old.By, old.Redelivery = e.By, e.Redelivery
		return old
	case n < 18:
		e = w.drawReply(rt, e)
		e.Kind, e.CompleteBy = task.Extended, task.At(w.now.Add(pick(rt, "until", -time.Hour, time.Minute, 100*time.Hour)))
	case n < 23:
		e.Kind = task.Woken
	case n < 29:
		e.Kind = task.Overdue
	case n < 32:
		e.Kind = task.Redelivered
	case n < 34:
		e.Kind, e.Signal = task.Signalled, fmt.Sprintf("s%d-signal", rapid.IntRange(0, 6).Draw(rt, "signal"))
		e.Output = pick(rt, "payload", nil, json.RawMessage(`{"ok":true}`), json.RawMessage("{oops"))
	default:
		e.Kind = pick(rt, "operator", task.Resubmitted, task.Resubmitted, task.PauseRequested, task.ResumeRequested,
			task.Released, task.Released, task.CancelRequested, task.UndoRequested)
		e.Version = w.task.Version - int64(pick(rt, "told", 0, 0, 1))
	}
	return e
}

// drawReply answers for a step, mostly with its live token.
func (w *world) drawReply(rt *rapid.T, e task.Event) task.Event {
	i := rapid.IntRange(0, len(w.task.Steps)-1).Draw(rt, "step")
	for n := 0; n < len(w.task.Steps) && w.task.Steps[i].LockedBy == ""; n++ {
		i = (i + 1) % len(w.task.Steps)
	}
	s := w.task.Steps[i]
	e.Kind, e.Step, e.Attempt, e.LockedBy, e.Undo = task.Replied, s.Name, s.Attempt, s.LockedBy, s.State == task.Compensating
	e.Outcome = pick(rt, "outcome", task.Succeeded, task.Succeeded, task.Succeeded, task.FailedTransiently,
		task.FailedTransiently, task.FailedPermanently, "nonsense")
	e.Output = pick(rt, "output", nil, json.RawMessage(`{"id":7}`), json.RawMessage(`[1,2]`), json.RawMessage("{oops"))
	e.Doubt = pick(rt, "doubt", false, false, true)
	e.RetryAfter = pick(rt, "retry after", 0, 0, 5*time.Second, 48*time.Hour)
	e.Error = "fault"
	switch rapid.IntRange(0, 19).Draw(rt, "forge") {
	case 0:
		e.Attempt--
	case 1:
		e.LockedBy = "nobody"
	case 2:
		e.Undo = !e.Undo
	case 3:
		e.Step = "no such step"
	}
	w.past = append(w.past, e)
	return e
}

// pass lets the clock jump: mostly on, to what is due or anywhere, at times
// back by up to a minute.
func (w *world) pass(rt *rapid.T) {
	switch rapid.IntRange(0, 5).Draw(rt, "clock") {
	case 0, 1:
		if due := w.task.CompleteBy.Time(); due.After(w.now) {
			w.now = due
		}
	case 2:
		w.now = w.now.Add(-time.Duration(rapid.IntRange(0, 60_000).Draw(rt, "back")) * time.Millisecond)
	case 3:
		w.now = w.now.Add(time.Duration(rapid.IntRange(0, 7_200_000).Draw(rt, "on")) * time.Millisecond)
	}
}
