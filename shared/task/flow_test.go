package task_test

import (
	"encoding/json"
	"errors"
	"time"

	"triad/shared/task"
)

// edit changes a step of a definition under test.
type edit func(*task.Step)

// flow makes a definition. A step without a place of its own comes after the
// one above it.
func flow(steps ...task.Step) task.Workflow {
	for i := range steps {
		if steps[i].After == nil && i > 0 {
			steps[i].After = []int{i - 1}
		}
	}
	return task.Workflow{
		Name: "order", Version: 1, CompleteWithin: 24 * time.Hour, OnOverdue: task.OnError, Steps: steps,
	}
}

// sequence makes a definition of agent steps, one after the other.
func sequence(names ...string) task.Workflow {
	var steps []task.Step
	for _, name := range names {
		steps = append(steps, work(name))
	}
	return flow(steps...)
}

// work is an agent step: 10 s an attempt, 3 attempts, 1 s and 2 s between them;
// its undo has 2 attempts.
func work(name string, edits ...edit) task.Step {
	return edited(task.Step{
		Name: name, Agent: name + "-agent", CompleteWithin: 10 * time.Second,
		Retry:       task.Retry{Attempts: 3, First: time.Second, Factor: 2, Max: time.Minute},
		OnExhausted: task.OnError,
		Undo: &task.Undo{
			CompleteWithin: 20 * time.Second,
			Retry:          task.Retry{Attempts: 2, First: time.Second, Factor: 2, Max: time.Minute},
		},
	}, edits)
}

func timer(name string, wait time.Duration, edits ...edit) task.Step {
	return edited(task.Step{Name: name, Wait: wait, OnExhausted: task.OnError}, edits)
}

// awaits is a step that waits a minute for a signal of its own name.
func awaits(name string, edits ...edit) task.Step {
	return edited(task.Step{
		Name: name, Signal: name, CompleteWithin: time.Minute, OnExhausted: task.OnError,
		Retry: task.Retry{Attempts: 1},
	}, edits)
}

func edited(s task.Step, edits []edit) task.Step {
	for _, e := range edits {
		e(&s)
	}
	return s
}

func after(steps ...int) edit     { return func(s *task.Step) { s.After = append([]int{}, steps...) } }
func attempts(n int) edit         { return func(s *task.Step) { s.Retry.Attempts = n } }
func within(d time.Duration) edit { return func(s *task.Step) { s.CompleteWithin = d } }
func noUndo(s *task.Step)         { s.Undo = nil }
func compensate(s *task.Step)     { s.OnExhausted = task.OnCompensate }

func parks(wait time.Duration, times int, then task.OnExhausted) edit {
	return func(s *task.Step) {
		s.OnExhausted = task.OnWait
		s.ExtendedWait = task.ExtendedWait{For: wait, Times: times, Then: then}
	}
}

func when(runs bool) edit {
	return func(s *task.Step) { s.When = func(task.Task) (bool, error) { return runs, nil } }
}

func whenFails(s *task.Step) {
	s.When = func(task.Task) (bool, error) { return false, errors.New("no such field") }
}

func input(f func(task.Task) (json.RawMessage, error)) edit {
	return func(s *task.Step) { s.Input = f }
}

func inputFails(s *task.Step) {
	s.Input = func(task.Task) (json.RawMessage, error) { return nil, errors.New("no such field") }
}
