// Package tasktest draws tasks as they come about: any definition, and any events
// for it in any order, at any time. Property tests hand what it draws to task.Decide,
// and hold the decisions against their own reading of the rules; tests of stores
// write them.
package tasktest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"triad/shared/task"
)

// Workflow draws any definition: one to six steps, in any order of
// dependence, of every sort, with every answer to failure.
func Workflow(rt *rapid.T) task.Workflow {
	w := task.Workflow{
		Name: "any", Version: rapid.IntRange(1, 3).Draw(rt, "version"),
		CompleteWithin: Pick(rt, "whole", time.Minute, time.Hour, 72*time.Hour),
		OnOverdue:      Pick(rt, "overdue", task.OnError, task.OnCompensate),
	}
	for i := range rapid.IntRange(1, 6).Draw(rt, "steps") {
		w.Steps = append(w.Steps, drawStep(rt, i))
	}
	return w
}

// Pick draws one of several values.
func Pick[T any](rt *rapid.T, label string, from ...T) T {
	return from[rapid.IntRange(0, len(from)-1).Draw(rt, label)]
}

func drawStep(rt *rapid.T, i int) task.Step {
	step := task.Step{
		Name:           fmt.Sprintf("s%d", i),
		After:          []int{},
		CompleteWithin: Pick(rt, "within", time.Second, 10*time.Second, time.Hour),
		Retry: task.Retry{
			Attempts: rapid.IntRange(1, 3).Draw(rt, "attempts"),
			First:    Pick(rt, "first", 0, time.Second, time.Minute), Factor: 2, Max: time.Hour,
		},
		OnExhausted: Pick(rt, "exhausted", task.OnError, task.OnCompensate, task.OnWait),
		ExtendedWait: task.ExtendedWait{
			For:   Pick(rt, "for", time.Second, 10*time.Minute, time.Hour),
			Times: rapid.IntRange(1, 2).Draw(rt, "times"), Then: Pick(rt, "then", task.OnError, task.OnCompensate),
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
		step.Wait = Pick(rt, "wait", time.Second, 5*time.Minute, 2*time.Hour)
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
		CompleteWithin: Pick(rt, "undo within", time.Second, time.Minute),
		Retry: task.Retry{
			Attempts: rapid.IntRange(1, 3).Draw(rt, "undo attempts"),
			First:    Pick(rt, "undo first", 0, time.Second, 20*time.Minute), Factor: 1,
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
