package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Options name a run. The same Options give the same run.
type Options struct {
	// Seed decides everything that is not said here.
	Seed uint64 `json:"seed"`
	// Tasks is how many tasks there are. Defaults to what the seed draws, 5 to 40.
	Tasks int `json:"tasks,omitempty"`
	// Without are faults that the seed would have and that are left out.
	Without []Fault `json:"without,omitempty"`
	// Calm leaves out all faults that the seed draws.
	Calm bool `json:"calm,omitempty"`
	// Strikes are faults that strike at a given call, beside those drawn: the way
	// to fail every single call in every way.
	Strikes []Strike `json:"strikes,omitempty"`
	// Trace keeps a line for whatever happens, for Violation.Trace.
	Trace bool `json:"-"`
	// History keeps every call of the table, for Result.History.
	History bool `json:"-"`
	// suspect is called after each commit: a rule of a test's own.
	suspect func(*world)
}

// Strike is a fault at one call of a port, counted from 1.
type Strike struct {
	Call  int   `json:"call"`
	Fault Fault `json:"fault"`
}

// String is the options as arguments of the command.
func (o Options) String() string {
	s := fmt.Sprintf("SEED=%d", o.Seed)
	if o.Tasks > 0 {
		s += fmt.Sprintf(" TASKS=%d", o.Tasks)
	}
	if len(o.Without) > 0 {
		names := make([]string, len(o.Without))
		for i, f := range o.Without {
			names[i] = f.String()
		}
		s += " WITHOUT=" + strings.Join(names, ",")
	}
	if o.Calm {
		s += " CALM=1"
	}
	return s
}

// plan is what a seed draws before its run begins.
type plan struct {
	rates rates
	tasks int
	// The deployment.
	shards, instances, batch, maxReceives, cap int
	visibility, period, spread, guard          time.Duration
	// keepTold: the table keeps notices and alerts, as the embedded form does.
	keepTold bool
	// release: what fails is given back, and does not wait for its visibility.
	release bool
	// deleteAtOnce: each message is deleted when handled, not with its batch.
	deleteAtOnce bool
	// callsInside is how often an agent calls within one attempt.
	callsInside int
	// span is how long faults strike, arrival the time in which orders come.
	span, arrival time.Duration
	// mischief is how many times something outside of the engines is done.
	mischief int
}

// draw makes the plan of a run.
func draw(o Options) (plan, *rand.Rand) {
	rng := rand.New(rand.NewPCG(o.Seed, 0x747269616473696d))
	p := plan{
		rates:        drawRates(rng),
		tasks:        5 + int(35*rng.Float64()*rng.Float64()*rng.Float64()),
		shards:       pick(rng, 1, 1, 2, 4),
		instances:    pick(rng, 1, 2, 2, 3),
		batch:        pick(rng, 1, 2, 10),
		maxReceives:  pick(rng, 2, 5, 5, 1000),
		cap:          pick(rng, 1, 3, 1000, 1000),
		visibility:   pick(rng, 5*time.Second, 30*time.Second, 10*time.Minute),
		period:       pick(rng, time.Second, 5*time.Second, 20*time.Second, time.Minute),
		spread:       pick(rng, 0, 0, 10*time.Second),
		guard:        pick(rng, 0, 0, time.Second),
		keepTold:     rng.IntN(3) == 0,
		release:      rng.IntN(2) == 0,
		deleteAtOnce: rng.IntN(2) == 0,
		callsInside:  pick(rng, 1, 1, 3),
		span:         pick(rng, 2*time.Minute, 10*time.Minute, 30*time.Minute, 3*time.Hour),
		arrival:      pick(rng, time.Second, 20*time.Second, 2*time.Minute),
		mischief:     pick(rng, 0, 10, 20, 40),
	}
	if o.Tasks > 0 {
		p.tasks = o.Tasks
	}
	if p.rates[SupervisorAway] > 0 {
		p.span = 3 * time.Hour
	}
	for f := range p.rates {
		if o.Calm || slices.Contains(o.Without, Fault(f)) {
			p.rates[f] = 0
		}
	}
	return p, rng
}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }
