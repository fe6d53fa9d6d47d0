package agent

import (
	"sync/atomic"

	"triad/shared/task"
)

// Counters counts what agents did since the process started. The zero value is
// ready; all fields may be read and added to at any time, and one Counters may
// serve several agents.
type Counters struct {
	// Calls is how often a Func was called, retries included.
	Calls atomic.Int64
	// Retries is how often a Func was called again inside its deadline.
	Retries atomic.Int64
	// Succeeded, Permanent and Transient count replies that were sent.
	Succeeded, Permanent, Transient atomic.Int64
	// Late is how many requests were dropped because CompleteBy had passed.
	Late atomic.Int64
	// Rejected is how many unreadable messages were captured.
	Rejected atomic.Int64
	// Extensions is how many heartbeats were sent.
	Extensions atomic.Int64
	// Panics is how often a Func panicked.
	Panics atomic.Int64
	// BreakerOpens is how often a circuit breaker opened.
	BreakerOpens atomic.Int64
}

// Stats is a copy of Counters at one moment. The fields mean the same.
type Stats struct {
	Calls, Retries, Succeeded, Permanent, Transient  int64
	Late, Rejected, Extensions, Panics, BreakerOpens int64
}

// Stats reads all counters, one after the other.
func (c *Counters) Stats() Stats {
	return Stats{
		Calls: c.Calls.Load(), Retries: c.Retries.Load(),
		Succeeded: c.Succeeded.Load(), Permanent: c.Permanent.Load(), Transient: c.Transient.Load(),
		Late: c.Late.Load(), Rejected: c.Rejected.Load(), Extensions: c.Extensions.Load(),
		Panics: c.Panics.Load(), BreakerOpens: c.BreakerOpens.Load(),
	}
}

func (c *Counters) ended(o task.Outcome) {
	switch o {
	case task.Succeeded:
		c.Succeeded.Add(1)
	case task.FailedPermanently:
		c.Permanent.Add(1)
	default:
		c.Transient.Add(1)
	}
}
