package record

import (
	"errors"
	"fmt"

	"triad/shared/store"
	"triad/shared/task"
)

// Check reports what no store writes: a task without id or op, and one whose steps
// can't be told apart by name; and, as store.ErrTooLarge, an order larger than
// task.MaxOrder, or an output larger than task.MaxOutput. The size of the record is
// left to the store.
func Check(t task.Task) error {
	if t.ID == "" || t.Op == "" {
		return errors.New("it has no id or no op")
	}
	if n := len(t.Order); n > task.MaxOrder {
		return fmt.Errorf("%w: the order has %d bytes, at most %d are allowed", store.ErrTooLarge, n, task.MaxOrder)
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		if n := len(s.Output); n > task.MaxOutput {
			return fmt.Errorf("%w: the output of step %s has %d bytes, at most %d are allowed", store.ErrTooLarge, s.Name, n, task.MaxOutput)
		}
		if s.Name == "" || taken(t.Steps[:i], s.Name) {
			return fmt.Errorf("step %d has the name %q, which is empty or taken: give each step a name of its own", i, s.Name)
		}
	}
	return nil
}

// taken reports whether one of the steps would be read back under this name. There
// are few steps, so that a loop is faster than a map.
func taken(steps []task.StepState, name string) bool {
	for i := range steps {
		if Text(steps[i].Name) == Text(name) {
			return true
		}
	}
	return false
}
