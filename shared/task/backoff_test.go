package task_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"triad/shared/task"
)

// waitAfter is the wait that follows the given number of failures of one step.
func waitAfter(t rapid.TB, id task.ID, retry task.Retry, failures int, asked time.Duration) time.Duration {
	t.Helper()
	w := sequence("a")
	w.Steps[0].Retry = retry
	rec := task.Task{
		ID: id, Workflow: w.Ref(), State: task.Processing, Version: 9, CompleteBy: 1, Deadline: task.At(noon().Add(time.Hour)),
		Steps: []task.StepState{{
			Name: "a", State: task.Processing, LockedBy: "one", Attempt: failures, FailureCount: failures - 1,
			CompleteBy: task.At(noon().Add(time.Minute)),
		}},
	}
	d, err := decideTwice(w, rec, task.Event{
		Kind: task.Replied, Step: "a", Attempt: failures, LockedBy: "one", By: "one",
		Outcome: task.FailedTransiently, RetryAfter: asked,
	}, noon())
	if err != nil {
		t.Fatal(err)
	}
	if d.Task.Steps[0].State == task.Processing {
		return 0 // claimed at once
	}
	return d.Task.Steps[0].CompleteBy.Until(task.At(noon()))
}

func TestBackoffIsWithinItsBounds(t *testing.T) {
	t.Parallel()
	retry := task.Retry{Attempts: 100, First: time.Second, Factor: 2, Max: time.Minute}
	constant, unbounded := retry, retry
	constant.Factor, unbounded.Max = 0, 0
	for name, c := range map[string]struct {
		retry    task.Retry
		failures int
		full     time.Duration
	}{
		"after the first failure":      {retry, 1, time.Second},
		"after the second":             {retry, 2, 2 * time.Second},
		"after the fifth":              {retry, 5, 16 * time.Second},
		"at the most":                  {retry, 7, time.Minute},
		"long after that":              {retry, 99, time.Minute},
		"without a factor":             {constant, 50, time.Second},
		"without a most":               {unbounded, 10, 512 * time.Second},
		"without a most, late":         {unbounded, 20, 24 * time.Hour},
		"beyond what a duration holds": {unbounded, 99, 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := waitAfter(t, "order-1", c.retry, c.failures, 0)
			if least := c.full/2 - time.Millisecond; got < least || got > c.full {
				t.Errorf("wait is %v, want %v to %v", got, least, c.full)
			}
		})
	}
}

func TestRetryAfterIsTheLeastWait(t *testing.T) {
	t.Parallel()
	retry := task.Retry{Attempts: 9, First: 8 * time.Second, Factor: 2, Max: time.Minute}
	plain := waitAfter(t, "order-1", retry, 1, 0)
	for name, c := range map[string]struct{ asked, want time.Duration }{
		"less than the backoff": {time.Second, plain},
		"below zero":            {-time.Hour, plain},
		"more":                  {20 * time.Second, 20 * time.Second},
		"more than the most":    {2 * time.Hour, 2 * time.Hour},
		"more than a day":       {1000 * time.Hour, 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := waitAfter(t, "order-1", retry, 1, c.asked); got != c.want {
				t.Errorf("wait is %v, want %v", got, c.want)
			}
		})
	}
}

// Jitter is the same for the same attempt, and spreads tasks and attempts over
// the upper half of the backoff.
func TestJitterIsDeterministicAndSpreads(t *testing.T) {
	t.Parallel()
	retry := task.Retry{Attempts: 9, First: time.Minute, Factor: 1, Max: time.Minute}
	var tenths [10]int
	for i := range 1000 {
		id := task.ID("order-" + strings.Repeat("1", i/100) + string(rune('a'+i%26)) + string(rune('a'+i/26%26)))
		wait := waitAfter(t, id, retry, 1+i%5, 0)
		if again := waitAfter(t, id, retry, 1+i%5, 0); again != wait {
			t.Fatalf("wait of %s is %v, then %v", id, wait, again)
		}
		if wait < 30*time.Second || wait > time.Minute {
			t.Fatalf("wait is %v, want 30s to 1m", wait)
		}
		tenths[min(9, int((wait-30*time.Second)/(3*time.Second)))]++
	}
	for i, n := range tenths {
		if n < 60 || n > 140 {
			t.Errorf("%d of 1000 waits are in tenth %d: %v", n, i, tenths)
		}
	}
}

// TestJitterStays: instances of several versions of Triad, and a replay of what one
// has done, come to the same wait for the same attempt.
func TestJitterStays(t *testing.T) {
	t.Parallel()
	retry := task.Retry{Attempts: 9, First: time.Hour, Factor: 1, Max: time.Hour}
	for id, want := range map[task.ID]time.Duration{
		"order-1": 43*time.Minute + 57_567*time.Millisecond, "order-2": 59*time.Minute + 28_788*time.Millisecond, "3f2b": 56*time.Minute + 9_889*time.Millisecond,
	} {
		if got := waitAfter(t, id, retry, 1, 0); got != want {
			t.Errorf("the first wait of %s is %v, and has always been %v", id, got, want)
		}
	}
}

func TestAnyBackoffIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		retry := task.Retry{
			Attempts: 1 << 30,
			First:    time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(rt, "first")),
			Factor:   rapid.Float64Range(0, 1000).Draw(rt, "factor"),
			Max:      time.Duration(rapid.Int64Range(0, int64(24*time.Hour)).Draw(rt, "max")),
		}
		most := retry.Max
		if most == 0 {
			most = 24 * time.Hour
		}
		failures := rapid.IntRange(1, 10_000).Draw(rt, "failures")
		got := waitAfter(rt, "order-1", retry, failures, 0)
		if got < 0 || got > most {
			rt.Fatalf("wait is %v, want 0 to %v", got, most)
		}
		if least := min(retry.First, most)/2 - time.Millisecond; got < least {
			rt.Fatalf("wait is %v, want %v at least", got, least)
		}
	})
}
