package task

import "slices"

// Cause says why a transition is made; two causes can lead to one state.
type Cause string

// The causes of transitions.
const (
	BecauseSubmitted   Cause = "submitted"
	BecauseClaimed     Cause = "claimed"
	BecauseSucceeded   Cause = "succeeded"
	BecauseElapsed     Cause = "timer elapsed"
	BecauseSignalled   Cause = "signal arrived"
	BecauseCondition   Cause = "when is false"
	BecauseRetried     Cause = "failed, below the threshold"
	BecauseParked      Cause = "threshold reached, extended wait"
	BecauseExhausted   Cause = "threshold reached"
	BecauseRefused     Cause = "failed permanently"
	BecauseEnding      Cause = "task is ending"
	BecauseCompleted   Cause = "every step is done"
	BecauseFailed      Cause = "a step failed for good"
	BecauseUndo        Cause = "to be undone"
	BecauseUndone      Cause = "everything is undone"
	BecauseUndoFailed  Cause = "an undo failed for good"
	BecauseResubmitted Cause = "operator resubmitted"
)

// Subject is what a transition is about.
type Subject string

// The two subjects.
const (
	OfTask Subject = "task"
	OfStep Subject = "step"
)

// Transition is one permitted move. The empty From is "does not exist yet".
type Transition struct {
	Of       Subject
	From, To State
	Cause    Cause
}

// transitions is the whole state machine as data. Decide makes no move that is
// not listed here; docs/states.md is generated from it.
var transitions = [...]Transition{
	{OfTask, "", Pending, BecauseSubmitted},
	{OfTask, Pending, Processing, BecauseClaimed},
	{OfTask, Pending, Processed, BecauseCompleted}, // every step was skipped
	{OfTask, Pending, Error, BecauseFailed},
	{OfTask, Pending, Compensating, BecauseUndo},
	{OfTask, Processing, Processed, BecauseCompleted},
	{OfTask, Processing, Error, BecauseFailed},
	{OfTask, Processing, Compensating, BecauseUndo},
	{OfTask, Compensating, Compensated, BecauseUndone},
	{OfTask, Compensating, Cancelled, BecauseUndone},
	{OfTask, Compensating, Error, BecauseUndoFailed},
	{OfTask, Error, Processing, BecauseResubmitted},
	{OfTask, Error, Compensating, BecauseResubmitted}, // its undo had failed
	{OfTask, Error, Compensating, BecauseUndo},

	{OfStep, Pending, Processing, BecauseClaimed},
	{OfStep, Pending, Skipped, BecauseCondition},
	{OfStep, Pending, Error, BecauseRefused}, // its expression fails
	{OfStep, Pending, Cancelled, BecauseEnding},
	{OfStep, Pending, Compensating, BecauseUndo}, // an attempt may have had an effect
	{OfStep, Processing, Processed, BecauseSucceeded},
	{OfStep, Processing, Processed, BecauseElapsed},
	{OfStep, Processing, Processed, BecauseSignalled},
	{OfStep, Processing, Pending, BecauseRetried},
	{OfStep, Processing, Pending, BecauseParked},
	{OfStep, Processing, Pending, BecauseEnding}, // a timer or signal of a task that fails
	{OfStep, Processing, Error, BecauseExhausted},
	{OfStep, Processing, Error, BecauseRefused},
	{OfStep, Processing, Error, BecauseEnding}, // not tried again
	{OfStep, Processing, Cancelled, BecauseEnding},
	{OfStep, Processed, Compensating, BecauseUndo},
	{OfStep, Error, Compensating, BecauseUndo}, // an attempt may have had an effect
	{OfStep, Error, Compensating, BecauseResubmitted},
	{OfStep, Error, Pending, BecauseResubmitted},
	{OfStep, Compensating, Compensated, BecauseSucceeded},
	{OfStep, Compensating, Error, BecauseExhausted},
	{OfStep, Compensating, Error, BecauseRefused},
}

// Transitions returns the table of permitted moves.
func Transitions() []Transition { return append([]Transition(nil), transitions[:]...) }

func permitted(t Transition) bool { return slices.Contains(transitions[:], t) }
