package sim

import (
	"testing"
	"time"

	"triad/shared/queue/queuetest"
	"triad/shared/store/storetest"
	"triad/shared/task"
)

// TestTableConforms: with its faults off the simulated table is a store like any
// other.
func TestTableConforms(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Harness {
		return storetest.Harness{Store: newTable(func() task.Millis { return noon })}
	})
}

// TestLaggingTableConforms: an index that lags is one that catches up.
func TestLaggingTableConforms(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) storetest.Harness {
		now, n := noon, task.Millis(0)
		table := newTable(func() task.Millis { return now })
		table.lag = func() task.Millis { n++; return (n*7919)%60_000 + 1 }
		return storetest.Harness{Store: table, Settle: func() { now += 60_001 }}
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
