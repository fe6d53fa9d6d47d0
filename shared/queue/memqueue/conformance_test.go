package memqueue_test

import (
	"testing"
	"time"

	"triad/shared/queue/memqueue"
	"triad/shared/queue/queuetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	queuetest.RunVirtual(t, func(t *testing.T) queuetest.Harness {
		q := memqueue.New(memqueue.Config{Visibility: 3 * time.Second, MaxReceives: 3, Capacity: 40})
		t.Cleanup(q.Close)
		return queuetest.Harness{
			Queue:       q,
			Visibility:  3 * time.Second,
			MaxReceives: 3,
			Capacity:    40,
			DeadLetters: func(*testing.T) [][]byte {
				var bodies [][]byte
				for _, d := range q.DeadLetters() {
					bodies = append(bodies, d.Body)
				}
				return bodies
			},
			Redrive: func(t *testing.T) {
				if _, err := q.Redrive(t.Context()); err != nil {
					t.Errorf("redriving: %v", err)
				}
			},
		}
	})
}
