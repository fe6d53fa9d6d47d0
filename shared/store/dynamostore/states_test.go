package dynamostore_test

import (
	"fmt"
	"testing"

	"triad/shared/store/dynamostore"
	"triad/shared/task"
)

func TestEveryStateOfAStepIsReadBack(t *testing.T) {
	t.Parallel()
	client, config := tables(t)
	s := dynamostore.New(client, config)
	v := everything("order-1")
	v.Steps = nil
	for _, state := range []task.State{task.Pending, task.Processing, task.Processed, task.Error, task.Compensating,
		task.Compensated, task.Cancelled, task.Skipped, "another", ""} {
		for _, undo := range []bool{false, true} {
			v.Steps = append(v.Steps, task.StepState{Name: fmt.Sprintf("%s, undo %t", state, undo), State: state, Undo: undo})
		}
	}
	create(t, s, v)
	wantTask(t, s, v)
	for _, goal := range []task.State{task.Error, task.Compensated, task.Cancelled, ""} {
		v = next(v)
		v.Goal = goal
		commit(t, s, v)
		wantTask(t, s, v)
	}
}
