package cloud

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"testing"

	"triad/shared/queue"
	"triad/shared/task"
)

// depth is a queue that holds so many requests, or can't be asked.
type depth int

const silent depth = -1

func (d depth) Depth(context.Context) (queue.Depth, error) {
	if d == silent {
		return queue.Depth{}, errors.New("no answer")
	}
	return queue.Depth{Visible: int(d) / 2, InFlight: int(d) - int(d)/2}, nil
}

func TestNewTasksAreHeldFromHalfOfTheBacklogAndThoseOfHighPriorityFromAllOfIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limit        int
		a, b         depth
		left         int
		normal, high bool
	}{
		"empty queues":               {100, 0, 0, 100, false, false},
		"below half":                 {100, 49, 3, 51, false, false},
		"half, in one of the queues": {100, 0, 50, 50, true, false},
		"almost full":                {100, 99, 0, 1, true, false},
		"full":                       {100, 0, 100, 0, true, true},
		"more than full":             {100, 170, 0, 0, true, true},
		"a queue that says nothing":  {100, silent, 20, 80, false, false},
		"no limit":                   {0, 5000, 0, math.MaxInt, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made := func() *room {
				return &room{queues: map[string]depther{"a": test.a, "b": test.b}, limit: test.limit, logger: slog.New(slog.DiscardHandler)}
			}
			if got := made().left(t.Context()); got != test.left {
				t.Errorf("there is room for %d, want %d", got, test.left)
			}
			for p, want := range map[task.Priority]bool{task.High: test.high, task.Normal: test.normal, task.Low: test.normal, "": test.normal} {
				if got := made().hold(p); got != want {
					t.Errorf("priority %q is held: %v, want %v", p, got, want)
				}
			}
		})
	}
}
