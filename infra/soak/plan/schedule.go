// Package plan says what a soak does: which orders come, which services fail and
// when, and when a process is killed or frozen. All of it follows from a seed.
//
// What a process is doing at that moment does not: a seed repeats the plan, not
// the run.
package plan

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"triad/shared/remote"
)

// Verb is what is done.
type Verb string

// The verbs.
const (
	// Kill kills a process with kill -9. Whoever runs it starts it again.
	Kill Verb = "kill"
	// Freeze stops a process for a time, and has it go on.
	Freeze Verb = "freeze"
	// Fault has a service misbehave for a time.
	Fault Verb = "fault"
)

// Act is one thing that is done.
type Act struct {
	// At is when, from the start.
	At   time.Duration
	Verb Verb
	// For is how long it lasts; 0 for Kill.
	For time.Duration
	// Pick chooses among the processes.
	Pick uint64
	// Service misbehaves by Rules.
	Service string
	Rules   []remote.Rule
}

// Most of the pauses between two acts are short, and so are most freezes.
const (
	leastPause = 200 * time.Millisecond
	meanPause  = 2500 * time.Millisecond
	leastStop  = 500 * time.Millisecond
	meanStop   = 5 * time.Second
	meanFault  = 4 * time.Second
	mostFault  = 15 * time.Second
)

// Limits bound a plan.
type Limits struct {
	// Length is that of the soak.
	Length time.Duration
	// Freeze is the longest freeze.
	Freeze time.Duration
}

// Schedule returns all acts of a soak, by their times. Each has ended when the
// soak does.
func Schedule(seed uint64, l Limits) []Act {
	acts := processes(rand.New(rand.NewPCG(seed, 2)), l)
	acts = append(acts, services(rand.New(rand.NewPCG(seed, 3)), l)...)
	slices.SortStableFunc(acts, func(a, b Act) int { return cmp.Compare(a.At, b.At) })
	return acts
}

// processes are kills, some of them close together, and freezes.
func processes(rng *rand.Rand, l Limits) (acts []Act) {
	for at := pause(rng); at < l.Length; at += pause(rng) {
		a := Act{At: at, Verb: Kill, Pick: rng.Uint64()}
		if rng.IntN(5) == 0 {
			a.Verb, a.For = Freeze, min(drawn(rng, leastStop, meanStop), l.Freeze)
			if rng.IntN(12) == 0 {
				a.For = l.Freeze/2 + time.Duration(rng.Int64N(int64(l.Freeze/2)+1))
			}
		}
		if at += a.For; at < l.Length {
			acts = append(acts, a)
		}
	}
	return acts
}

func pause(rng *rand.Rand) time.Duration {
	if rng.IntN(6) == 0 {
		return time.Duration(rng.Int64N(int64(leastPause)))
	}
	return drawn(rng, leastPause, meanPause)
}

// drawn is exponential around a mean, above a least time.
func drawn(rng *rand.Rand, least, mean time.Duration) time.Duration {
	return least + time.Duration(rng.ExpFloat64()*float64(mean-least)).Round(time.Millisecond)
}

// Services are those that hold effects.
func Services() []string {
	return slices.DeleteFunc(remote.Names(), func(n string) bool { return n == "accounts" })
}

// services have each service misbehave, one time after another.
func services(rng *rand.Rand, l Limits) (acts []Act) {
	for _, name := range Services() {
		for at := drawn(rng, leastPause, 6*meanPause); at < l.Length; at += drawn(rng, leastPause, 6*meanPause) {
			a := Act{At: at, Verb: Fault, Service: name, Rules: misbehaviour(rng), For: min(drawn(rng, leastPause, meanFault), mostFault)}
			if at += a.For; at < l.Length {
				acts = append(acts, a)
			}
		}
	}
	return acts
}

// misbehaviour is one of the ways in which services fail.
func misbehaviour(rng *rand.Rand) []remote.Rule {
	ways := [][]remote.Rule{
		{{Status: 503}},
		{{Share: 0.3, Status: 500}},
		{{Share: 0.4, Status: 503, ApplyFirst: true}},
		{{Status: 429, RetryAfterS: 1}},
		{{Down: true}},
		{{Share: 0.3, Down: true, ApplyFirst: true}},
		{{Share: 0.2, Hang: true}},
		{{Share: 0.2, Hang: true, ApplyFirst: true}},
		{{Share: 0.2, LatencyMs: 3000}}, // longer than an agent waits: the effect comes late
		{{LatencyMs: 50 + rng.Int64N(500)}},
		{{Method: "DELETE", Status: 503}},
		{{Method: "DELETE", Share: 0.5, Down: true, ApplyFirst: true}},
	}
	return ways[rng.IntN(len(ways))]
}
