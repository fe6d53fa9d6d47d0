package emf

import "triad/shared/agent"

// namespace is where the metrics are found in CloudWatch.
const namespace = "Triad"

// unit is a unit of CloudWatch.
type unit string

const (
	count   unit = "Count"
	seconds unit = "Seconds"
)

// metric is one metric, by its place in the table below.
type metric int

const (
	deliveries metric = iota
	tasksSubmitted
	tasksHeld
	tasksProcessed
	tasksFailed
	tasksCompensated
	tasksCancelled
	taskSeconds
	stepsClaimed
	stepRetries
	stepTimeouts
	staleReplies
	duplicates
	repeats
	sweeps
	sweepActed
	sweepFailed
	overdueSeconds
	doctorFindings
	agentCalls
	agentRetries
	agentSucceeded
	agentPermanent
	agentTransient
	agentLate
	agentRejected
	agentExtensions
	agentPanics
	agentBreakerOpens

	metrics // how many there are
)

// names has what CloudWatch calls each metric, and its unit.
var names = [metrics]struct {
	name string
	unit unit
}{
	deliveries:        {"Deliveries", count},
	tasksSubmitted:    {"TasksSubmitted", count},
	tasksHeld:         {"TasksHeld", count},
	tasksProcessed:    {"TasksProcessed", count},
	tasksFailed:       {"TasksFailed", count},
	tasksCompensated:  {"TasksCompensated", count},
	tasksCancelled:    {"TasksCancelled", count},
	taskSeconds:       {"TaskSeconds", seconds},
	stepsClaimed:      {"StepsClaimed", count},
	stepRetries:       {"StepRetries", count},
	stepTimeouts:      {"StepTimeouts", count},
	staleReplies:      {"StaleReplies", count},
	duplicates:        {"Duplicates", count},
	repeats:           {"Repeats", count},
	sweeps:            {"Sweeps", count},
	sweepActed:        {"SweepActed", count},
	sweepFailed:       {"SweepFailed", count},
	overdueSeconds:    {"OverdueSeconds", seconds},
	doctorFindings:    {"DoctorFindings", count},
	agentCalls:        {"AgentCalls", count},
	agentRetries:      {"AgentRetries", count},
	agentSucceeded:    {"AgentSucceeded", count},
	agentPermanent:    {"AgentPermanent", count},
	agentTransient:    {"AgentTransient", count},
	agentLate:         {"AgentLate", count},
	agentRejected:     {"AgentRejected", count},
	agentExtensions:   {"AgentExtensions", count},
	agentPanics:       {"AgentPanics", count},
	agentBreakerOpens: {"AgentBreakerOpens", count},
}

// ofAgents is what agents counted from then to now.
func ofAgents(then, now agent.Stats) map[metric]int64 {
	return map[metric]int64{
		agentCalls:        now.Calls - then.Calls,
		agentRetries:      now.Retries - then.Retries,
		agentSucceeded:    now.Succeeded - then.Succeeded,
		agentPermanent:    now.Permanent - then.Permanent,
		agentTransient:    now.Transient - then.Transient,
		agentLate:         now.Late - then.Late,
		agentRejected:     now.Rejected - then.Rejected,
		agentExtensions:   now.Extensions - then.Extensions,
		agentPanics:       now.Panics - then.Panics,
		agentBreakerOpens: now.BreakerOpens - then.BreakerOpens,
	}
}
