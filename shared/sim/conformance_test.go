package sim

import (
	"context"
	"sync"
	"testing"
	"time"

	"triad/shared/queue/queuetest"
	"triad/shared/store"
	"triad/shared/store/storetest"
	"triad/shared/task"
)

// oneByOne lets in one caller at a time, as the hands of a run do.
type oneByOne struct {
	mu sync.Mutex
	*table
}

func (o *oneByOne) Create(ctx context.Context, c store.Change) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.table.Create(ctx, c)
}

func (o *oneByOne) Commit(ctx context.Context, c store.Change) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.table.Commit(ctx, c)
}

// TestTableConforms: with its faults off the simulated table is a store like any
// other.
func TestTableConforms(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Harness {
		return storetest.Harness{Store: &oneByOne{table: newTable(func() task.Millis { return noon })}}
	})
}

// TestLaggingTableConforms: an index that lags is one that catches up.
func TestLaggingTableConforms(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Harness {
		now, n := noon, task.Millis(0)
		table := newTable(func() task.Millis { return now })
		table.lag = func() task.Millis { n++; return (n*7919)%60_000 + 1 }
		return storetest.Harness{Store: &oneByOne{table: table}, Settle: func() { now += 60_001 }}
	})
}

// TestLineConforms: with its faults off a line is a queue like any other.
func TestLineConforms(t *testing.T) {
	t.Parallel()
	queuetest.RunVirtual(t, func(t *testing.T) queuetest.Harness {
		w := &world{calm: true, tally: &Tally{}, plan: plan{visibility: 3 * time.Second, maxReceives: 3}}
		began := time.Now()
		l := &line{name: "line", role: roleScheduler}
		w.openAt(l, func() time.Time { return noon.Time().Add(time.Since(began)) })
		t.Cleanup(l.queue.Close)
		return queuetest.Harness{
			Queue: l.queue, Visibility: 3 * time.Second, MaxReceives: 3,
			DeadLetters: func(*testing.T) (bodies [][]byte) {
				for _, d := range l.queue.DeadLetters() {
					bodies = append(bodies, d.Body)
				}
				return bodies
			},
			Redrive: func(t *testing.T) {
				if _, err := l.queue.Redrive(t.Context()); err != nil {
					t.Errorf("redriving: %v", err)
				}
			},
		}
	})
}
