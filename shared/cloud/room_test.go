package cloud

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"testing"
	"testing/synctest"
	"time"

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

// counted is a queue that counts how often it is asked.
type counted struct {
	depth
	looks *int
}

func (c counted) Depth(ctx context.Context) (queue.Depth, error) {
	*c.looks++
	return c.depth.Depth(ctx)
}

// TestALookIsForManyTasks: a look is billed. While there is room one serves 50 new
// tasks and 10 s; while there is none, a new one each 10 s finds it as soon as it is
// there.
func TestALookIsForManyTasks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		held  depth
		every time.Duration
		tasks int
		looks int
	}{
		"a burst":                      {0, 0, 1000, 1},
		"an order each minute":         {0, time.Minute, 50, 1},
		"one more":                     {0, time.Minute, 51, 2},
		"five a second, for a minute":  {0, 200 * time.Millisecond, 300, 6},
		"50 a second, for a minute":    {0, 20 * time.Millisecond, 3000, 6},
		"no room, an order each 11 s":  {50, 11 * time.Second, 20, 20},
		"no room, five a second, 30 s": {50, 200 * time.Millisecond, 150, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				looks := 0
				r := &room{queues: map[string]depther{"a": counted{test.held, &looks}}, limit: 100, logger: slog.New(slog.DiscardHandler)}
				for range test.tasks {
					if got := r.hold(task.Normal); got != (test.held > 0) {
						t.Fatalf("a task is held: %v", got)
					}
					<-time.After(test.every)
				}
				if looks != test.looks {
					t.Errorf("%d tasks took %d looks, want %d", test.tasks, looks, test.looks)
				}
			})
		})
	}
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
