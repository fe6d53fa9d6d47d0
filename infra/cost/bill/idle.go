package bill

import (
	"fmt"

	"triad/shared/task"
)

// Deployment is what of a deployment costs money when there is no order.
type Deployment struct {
	// Queues is how many have an event source: each is polled all the time.
	Queues int `json:"queues"`
	// Alarms and Dashboards are numbers of them, and Metrics of those that are
	// written when there is no order.
	Alarms     int `json:"alarms"`
	Dashboards int `json:"dashboards"`
	Metrics    int `json:"metrics"`
	// Shards is how many parts of the index each sweep reads.
	Shards int `json:"shards"`
	// SweepSeconds is the time between two sweeps: 5 to 60, a divisor of 60.
	SweepSeconds int `json:"sweepSeconds"`
}

// How an event source polls, and how long a month is.
const (
	pollers     = 5  // as many as an event source starts with; one with a limit of concurrency keeps them
	pollSeconds = 20 // a long poll
	monthMin    = 30 * 24 * 60
	// emptyRead is what a query of an index costs that finds nothing.
	emptyRead = 0.5
)

// Line is a part of a month's bill.
type Line struct {
	For     string  `json:"for"`
	Dollars float64 `json:"dollars"`
	// How says how the price is made.
	How string `json:"how"`
}

// Idle returns the lines of a month without an order.
func (p Prices) Idle(d Deployment) []Line {
	polls := float64(d.Queues * pollers * monthMin * 60 / pollSeconds)
	sweeps := 60 / d.SweepSeconds // a minute
	delayed := sweeps - 1         // by messages: the schedule's own tick makes the first
	sends := (delayed + 9) / 10
	requests := float64(monthMin * (sends + 2*delayed))
	invocations := float64(monthMin * sweeps)
	units := invocations * float64(d.Shards+task.HeldShards) * emptyRead
	return []Line{
		{"polling by event sources", p.Request.Cost(polls),
			fmt.Sprintf("%d queues, each %d pollers that ask every %d s", d.Queues, pollers, pollSeconds)},
		{"alarms", p.AlarmMonth.Cost(float64(d.Alarms)), fmt.Sprintf("%d alarms", d.Alarms)},
		{"dashboards", p.DashboardMonth.Cost(float64(d.Dashboards)), fmt.Sprintf("%d, the three free ones not deducted", d.Dashboards)},
		{"metrics", p.MetricMonth.Cost(float64(d.Metrics)), fmt.Sprintf("%d that the Supervisor writes; orders write more", d.Metrics)},
		{"ticks", p.Schedule.Cost(monthMin) + p.Request.Cost(requests) + p.Invocation.Cost(invocations),
			fmt.Sprintf("a schedule each minute, %d delayed messages, %d invocations", delayed, sweeps)},
		{"sweeps", p.Read.Cost(units), fmt.Sprintf("%d shards, and %d of held tasks, every %d s, half a read unit each", d.Shards, task.HeldShards, d.SweepSeconds)},
	}
}

// Pays returns from how many orders a month on a deployment, with what it costs
// when idle, is cheaper than a rival, which costs nothing then. 0 says never.
func Pays(idle []Line, r Run, rival Rival) float64 {
	month := 0.0
	for _, line := range idle {
		month += line.Dollars
	}
	if rival.PerMillion <= r.Total {
		return 0
	}
	return month / (rival.PerMillion - r.Total) * million
}
