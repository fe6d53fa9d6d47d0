package consumer

import (
	"context"
	"sync/atomic"
)

// slots counts how many more messages may be handled now.
type slots struct {
	free  atomic.Int64
	freed chan struct{} // holds one: a slot may be free
}

func newSlots(n int) *slots {
	s := &slots{freed: make(chan struct{}, 1)}
	s.free.Store(int64(n))
	return s
}

// acquire takes 1 to max slots, waiting for the first. It returns 0 when ctx
// ended first.
func (s *slots) acquire(ctx context.Context, max int) int {
	for {
		free := s.free.Load()
		if n := min(free, int64(max)); n > 0 {
			if !s.free.CompareAndSwap(free, free-n) {
				continue
			}
			if free > n {
				s.signal() // for others who wait
			}
			return int(n)
		}
		select {
		case <-s.freed:
		case <-ctx.Done():
			return 0
		}
	}
}

func (s *slots) release(n int) {
	if n > 0 {
		s.free.Add(int64(n))
		s.signal()
	}
}

func (s *slots) signal() {
	select {
	case s.freed <- struct{}{}:
	default:
	}
}
