package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/agent"
	"triad/shared/queue"
	"triad/shared/task"
)

// Each work is asked for with 10 s left, and the agent must stay silent.
func TestSilenceWhenLate(t *testing.T) {
	t.Parallel()
	until := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	tests := map[string]struct {
		left  time.Duration
		work  agent.Func
		calls int64
	}{
		"request comes after CompleteBy": {-time.Second, script(), 0},
		"request comes at CompleteBy":    {0, script(), 0},
		"work stops with its context": {10 * time.Second, func(ctx context.Context, _ task.Request) (json.RawMessage, error) {
			return nil, until(ctx)
		}, 1},
		"work stops with a context made from its own": {10 * time.Second, func(ctx context.Context, _ task.Request) (json.RawMessage, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			return nil, until(ctx)
		}, 1},
		"work succeeds too late": {10 * time.Second, func(ctx context.Context, _ task.Request) (json.RawMessage, error) {
			return json.RawMessage("1"), wait(context.WithoutCancel(ctx), 11*time.Second)
		}, 1},
		"work is refused too late": {10 * time.Second, func(ctx context.Context, _ task.Request) (json.RawMessage, error) {
			return nil, agent.Permanent(until(ctx))
		}, 1},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, r := newDesk(t, tc.work), request()
				r.CompleteBy = task.At(time.Now().Add(tc.left))
				if err := d.Handle(t.Context(), delivery(t, r)); err != nil {
					t.Fatalf("got error %v, want silence", err)
				}
				if len(d.out.sent) > 0 {
					t.Errorf("got %s, want silence", d.out.sent[0].Body)
				}
				if diff := cmp.Diff(agent.Stats{Calls: tc.calls, Late: 1}, d.Counters().Stats()); diff != "" {
					t.Errorf("stats (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// wait passes time unless ctx ends first.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestContextOfTheWork(t *testing.T) {
	t.Parallel()
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		d := newDesk(t, func(ctx context.Context, r task.Request) (json.RawMessage, error) {
			deadline, ok := ctx.Deadline()
			if !ok || !deadline.Equal(r.CompleteBy.Time()) {
				t.Errorf("got deadline %v, want CompleteBy", deadline)
			}
			if ctx.Value(key{}) != "mine" {
				t.Error("value of the caller's context is gone")
			}
			if err := ctx.Err(); err != nil {
				t.Errorf("context ended early: %v", err)
			}
			child, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			<-child.Done()
			if ctx.Err() != nil || child.Err() != context.DeadlineExceeded {
				t.Errorf("got %v and %v, want that only the derived context ended", ctx.Err(), child.Err())
			}
			late, stop := context.WithCancel(ctx)
			defer stop()
			<-late.Done()
			if late.Err() != context.DeadlineExceeded || ctx.Err() != context.DeadlineExceeded {
				t.Errorf("got %v and %v, want the deadline", late.Err(), ctx.Err())
			}
			return nil, nil
		})
		if err := d.Handle(context.WithValue(t.Context(), key{}, "mine"), delivery(t, request())); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(start); got != 10*time.Second {
			t.Errorf("ended after %v, want 10s", got)
		}
	})
}

func TestContextEndsWhenTheWorkHasReturned(t *testing.T) {
	t.Parallel()
	var left context.Context
	d := newDesk(t, func(ctx context.Context, _ task.Request) (json.RawMessage, error) {
		left = ctx
		return nil, nil
	})
	if err := d.Handle(t.Context(), delivery(t, request())); err != nil {
		t.Fatal(err)
	}
	<-left.Done()
	called := make(chan struct{})
	stop := context.AfterFunc(left, func() { close(called) })
	<-called
	if stop() || left.Err() != context.Canceled {
		t.Errorf("got %v, want context.Canceled", left.Err())
	}
}

func TestShutdownHandsTheMessageBack(t *testing.T) {
	t.Parallel()
	works := map[string]agent.Func{
		"while working": func(ctx context.Context, _ task.Request) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"while waiting for the next try": func(ctx context.Context, _ task.Request) (json.RawMessage, error) {
			return nil, agent.RetryAfter(errBroken, 5*time.Second)
		},
		"work that succeeds all the same": func(ctx context.Context, _ task.Request) (json.RawMessage, error) {
			<-ctx.Done()
			return nil, nil
		},
	}
	for name, work := range works {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				d := newDesk(t, work)
				if err := d.Handle(ctx, delivery(t, request())); !errors.Is(err, ctx.Err()) || err == nil {
					t.Errorf("got %v, want the end of the caller's context", err)
				}
				if len(d.out.sent) > 0 {
					t.Errorf("got %s, want no reply", d.out.sent[0].Body)
				}
			})
		})
	}
}

func TestHeartbeatMovesTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		d := newDesk(t, func(ctx context.Context, _ task.Request) (json.RawMessage, error) {
			derived, cancel := context.WithCancel(ctx)
			defer cancel()
			if err := wait(derived, 9*time.Second); err != nil {
				t.Errorf("context ended early: %v", err)
			}
			for _, until := range []time.Duration{30 * time.Second, 20 * time.Second} { // the second is no later: nothing to do
				if err := agent.Extend(derived, start.Add(until)); err != nil {
					t.Error(err)
				}
			}
			return nil, wait(derived, 20*time.Second)
		})
		if err := d.Handle(t.Context(), delivery(t, request())); err != nil {
			t.Fatal(err)
		}
		first, err := queue.DecodeToScheduler(d.out.sent[0].Body)
		if err != nil {
			t.Fatal(err)
		}
		want := &task.Extension{Task: "o-1", Step: "reserve", Attempt: 2, LockedBy: "s-1", CompleteBy: task.At(start.Add(30 * time.Second))}
		if diff := cmp.Diff(want, first.Extend); diff != "" {
			t.Errorf("heartbeat (-want +got):\n%s", diff)
		}
		if got := d.out.replies(t); len(got) != 1 || got[0].Outcome != task.Succeeded {
			t.Errorf("got replies %+v, want one of success", got)
		}
		if diff := cmp.Diff(agent.Stats{Calls: 1, Extensions: 1, Succeeded: 1}, d.Counters().Stats()); diff != "" {
			t.Errorf("stats (-want +got):\n%s", diff)
		}
	})
}

func TestHeartbeatThatFails(t *testing.T) {
	t.Parallel()
	if err := agent.Extend(t.Context(), time.Now()); err == nil {
		t.Error("a context that is no agent's was extended")
	}
	synctest.Test(t, func(t *testing.T) {
		var d *desk
		d = newDesk(t, func(ctx context.Context, r task.Request) (json.RawMessage, error) {
			d.out.err = queue.ErrFull
			if err := agent.Extend(ctx, time.Now().Add(time.Minute)); !errors.Is(err, queue.ErrFull) {
				t.Errorf("got %v, want queue.ErrFull", err)
			}
			d.out.err = nil
			if got, _ := ctx.Deadline(); !got.Equal(r.CompleteBy.Time()) {
				t.Errorf("deadline moved to %v though nobody was told", got)
			}
			<-ctx.Done()
			if err := agent.Extend(ctx, time.Now().Add(time.Minute)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want context.DeadlineExceeded", err)
			}
			return nil, nil
		})
		if err := d.Handle(t.Context(), delivery(t, request())); err != nil || len(d.out.sent) > 0 {
			t.Errorf("got %v and %d messages, want silence", err, len(d.out.sent))
		}
	})
}

func TestWaitsBetweenTries(t *testing.T) {
	t.Parallel()
	waits := func(t *testing.T, key string, left time.Duration) []time.Duration {
		var at []time.Duration
		start := time.Now()
		a, err := agent.New(agent.Config{Name: "inventory", Replies: &outbox{}, Retry: task.Retry{Attempts: 9},
			Rejected: func(context.Context, []byte, string) error { return nil },
			Work: func(context.Context, task.Request) (json.RawMessage, error) {
				at = append(at, time.Since(start))
				return nil, errBroken
			}})
		if err != nil {
			t.Fatal(err)
		}
		r := request()
		r.Key, r.CompleteBy = key, task.At(start.Add(left))
		if err := a.Handle(t.Context(), delivery(t, r)); err != nil {
			t.Fatal(err)
		}
		for i := len(at) - 1; i > 0; i-- {
			at[i] -= at[i-1]
		}
		return at[1:]
	}
	synctest.Test(t, func(t *testing.T) {
		got := waits(t, "o-1/reserve", time.Minute)
		full := []time.Duration{50, 100, 200, 400, 800, 1000, 1000, 1000}
		if len(got) != len(full) {
			t.Fatalf("got %d waits, want %d", len(got), len(full))
		}
		for i, w := range got {
			if most := full[i] * time.Millisecond; w > most || w <= most/2 {
				t.Errorf("wait %d: got %v, want more than half of %v, at most all", i+1, w, most)
			}
		}
		if diff := cmp.Diff(got, waits(t, "o-1/reserve", time.Minute)); diff != "" {
			t.Errorf("the same request waited otherwise:\n%s", diff)
		}
		if cmp.Equal(got, waits(t, "o-2/reserve", time.Minute)) {
			t.Error("two requests waited the same time: no jitter")
		}
		if got := waits(t, "o-1/reserve", 200*time.Millisecond); len(got) >= 4 || len(got) < 1 {
			t.Errorf("got %d waits in 200ms, want 1 to 3", len(got))
		}
	})
}
