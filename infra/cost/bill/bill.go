package bill

import (
	"fmt"

	"triad/infra/cost/count"
)

// Assumed is what can't be counted here, and is left out when it is zero.
type Assumed struct {
	// BilledMs is what Lambda bills for one invocation, milliseconds: of a
	// function of Triad, and of an agent in the other ways to run the work.
	BilledMs int `json:"billedMs"`
	// MemoryMB is the memory of these functions.
	MemoryMB int `json:"memoryMB"`
}

// compute is what so many invocations cost, dollars.
func (a Assumed) compute(p Prices, invocations float64) float64 {
	return p.Compute.Cost(invocations * float64(a.BilledMs) / 1_000 * float64(a.MemoryMB) / 1_024)
}

// Dollars are the price of a million orders, by what is paid for.
type Dollars struct {
	Writes      float64 `json:"writes"`
	Reads       float64 `json:"reads"`
	Requests    float64 `json:"requests"`
	Invocations float64 `json:"invocations"`
	// Compute is assumed, never counted.
	Compute float64 `json:"compute"`
}

// Total is their sum.
func (d Dollars) Total() float64 {
	return d.Writes + d.Reads + d.Requests + d.Invocations + d.Compute
}

// Run is what was counted, and its price.
type Run struct {
	count.Counts
	PerMillion Dollars `json:"dollarsPerMillion"`
	Total      float64 `json:"totalPerMillion"`
}

// Per is n, a count of all orders of the run, for one of them.
func (r Run) Per(n float64) float64 { return n / float64(r.Tasks) }

// Invoked is how many invocations of all functions there were.
func (r Run) Invoked() (n int) {
	for _, one := range r.Invocations {
		n += one
	}
	return n
}

// Price puts the prices to counts.
func (p Prices) Price(c count.Counts, a Assumed) Run {
	r := Run{Counts: c}
	each := func(n float64) float64 { return r.Per(n) * million }
	invoked := each(float64(r.Invoked()))
	r.PerMillion = Dollars{
		Writes:      p.Write.Cost(each(c.Writes.Total())),
		Reads:       p.Read.Cost(each(c.Reads.Total())),
		Requests:    p.Request.Cost(each(float64(c.Requests.Total()))),
		Invocations: p.Invocation.Cost(invoked),
		Compute:     a.compute(p, invoked),
	}
	r.Total = r.PerMillion.Total()
	return r
}

// steps is how many steps the reference order has.
const steps = 5

// What the other ways are taken to use, always the least that does the work.
const (
	durableOperations = steps + 1 // the start, and each step
	durableKB         = 6         // 1 KB an operation
	durableDays       = 14        // that history is kept: the service's default
	expressMB         = 64        // the least that is billed
)

// Rival is another way to run the same work.
type Rival struct {
	Name string `json:"name"`
	// PerMillion is the price of a million orders.
	PerMillion float64 `json:"dollarsPerMillion"`
	// How says how the price is made.
	How string `json:"how"`
}

// Rivals returns AWS's own ways, each with its five agents as Lambda functions.
func (p Prices) Rivals(a Assumed) []Rival {
	agents := p.Invocation.Cost(steps*million) + a.compute(p, steps*million)
	rivals := []Rival{{"Step Functions Standard", p.Transition.Cost(steps*million) + agents,
		"5 transitions, 5 invocations; a retry is 1 transition more"}}
	for _, seconds := range []float64{0.2, 5, 30} {
		rivals = append(rivals, Rival{fmt.Sprintf("Step Functions Express, %g s", seconds), p.express(seconds) + agents,
			fmt.Sprintf("1 request, %g s at 64 MB, 5 invocations", seconds)})
	}
	gigabytes := durableKB * million / (1 << 20)
	durable := p.DurableOperation.Cost(durableOperations*million) + p.DurableWritten.Cost(gigabytes) +
		p.DurableKept.Cost(gigabytes*durableDays/30) + p.Invocation.Cost(million) + a.compute(p, steps*million)
	return append(rivals, Rival{"Lambda durable functions", durable,
		"6 operations, 6 KB kept 14 days, 1 invocation: the steps run in it"})
}

// express is the price of a million Express workflows without their agents. Beyond
// about a minute each, a million a month would begin to get a volume discount.
func (p Prices) express(seconds float64) float64 {
	hours := seconds / 3_600 * million
	return p.ExpressRequest.Cost(million) + p.ExpressCompute.Cost(hours*expressMB/1_024)
}

// Even is how long, in seconds, an order runs as an Express workflow that costs as
// much as a run: shorter ones are cheaper there, longer ones here. 0 says that none
// is cheaper there.
func (p Prices) Even(r Run, a Assumed) float64 {
	rest := r.Total - p.express(0) - p.Invocation.Cost(steps*million) - a.compute(p, steps*million)
	return max(0, rest/(p.express(1)-p.express(0)))
}
