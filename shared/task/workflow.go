package task

import (
	"encoding/json"
	"time"
)

// Workflow is a compiled definition, as Decide needs it: the steps in an order
// in which every step comes after those it depends on. Package workflow makes
// it from YAML. A Workflow is read-only and safe for concurrent use.
type Workflow struct {
	// Name and Version identify the definition; Ref joins them.
	Name    string
	Version int
	// CompleteWithin bounds the whole task, from submission.
	CompleteWithin time.Duration
	// OnOverdue is what happens when the task's own deadline passes: OnError
	// or OnCompensate.
	OnOverdue OnExhausted
	// Priority says who goes first when there is not room for all. Defaults to
	// Normal.
	Priority Priority
	// Steps has 1 to MaxSteps entries.
	Steps []Step
}

// Priority orders tasks that wait for room: all of a higher one go on before any
// of a lower one, whatever their age. Tasks that have begun are equal.
type Priority string

// The priorities.
const (
	High   Priority = "high"
	Normal Priority = "normal"
	Low    Priority = "low"
)

// Ref is how a task names its definition: name@version.
func (w Workflow) Ref() string { return Ref(w.Name, w.Version) }

// Step is one unit of work. Exactly one of Agent, Wait and Signal is set.
type Step struct {
	// Name is unique in the workflow.
	Name string
	// Agent names the agent that does the work.
	Agent string
	// Wait makes the step a timer: it is Processed this long after its start.
	Wait time.Duration
	// Signal makes the step wait for the named signal; the signal's payload is
	// its output.
	Signal string
	// After lists the indexes of the steps that must be Processed or Skipped
	// first; empty starts at once.
	After []int
	// CompleteWithin bounds one attempt: CompleteBy = claim + CompleteWithin.
	CompleteWithin time.Duration
	// Retry says how often and when to try again.
	Retry Retry
	// OnExhausted says what happens when Retry is used up or the failure is
	// permanent (a permanent failure never waits).
	OnExhausted OnExhausted
	// ExtendedWait applies with OnWait.
	ExtendedWait ExtendedWait
	// Undo says how to undo the step; nil when there is nothing to undo.
	Undo *Undo
	// When decides whether the step runs; nil always runs it. It sees the
	// task's order and the outputs of earlier steps. An error is a permanent
	// failure of the step.
	When func(Task) (bool, error)
	// Input makes the input of the step's requests; nil sends the order. It
	// must be deterministic: a repeated request carries the same input.
	Input func(Task) (json.RawMessage, error)
}

// Retry is a backoff: the wait before try n+1 is First * Factor^(n-1), at most
// Max, less up to half of it as jitter. The jitter is derived from task, step
// and attempt, so that the same decision is made twice.
type Retry struct {
	// Attempts is the threshold: so many attempts may fail, at least 1.
	Attempts int
	First    time.Duration
	Factor   float64
	Max      time.Duration
}

// OnExhausted says what follows when a step has failed for good.
type OnExhausted string

// What can follow.
const (
	// OnError ends the task in Error with an alert; an operator may resubmit.
	OnError OnExhausted = "error"
	// OnCompensate undoes what was done and ends the task in Compensated.
	OnCompensate OnExhausted = "compensate"
	// OnWait parks the step for ExtendedWait.For and tries again, for
	// ExtendedWait.Times times; then ExtendedWait.Then.
	OnWait OnExhausted = "wait"
)

// ExtendedWait is the answer to a long outage: park, try once, park again.
type ExtendedWait struct {
	For   time.Duration
	Times int
	// Then is OnError or OnCompensate.
	Then OnExhausted
}

// Undo says how the compensating action of a step is run. It goes to the same
// agent, as a request with Undo set.
type Undo struct {
	CompleteWithin time.Duration
	Retry          Retry
}
