package task

import (
	"encoding/json"
	"time"
)

// Kind says what happened.
type Kind string

// The events.
const (
	// Submitted: an application asked for a new task. Event.Submission is set,
	// the Task given to Decide is the zero Task.
	Submitted Kind = "submitted"
	// Woken: somebody says "look at this task". Carries no truth.
	Woken Kind = "woken"
	// Redelivered: messages may have been lost (a restart): say again what the
	// record implies, with the same attempts and tokens, but for what instance
	// Event.By claimed itself, unless Event.Redelivery is set.
	Redelivered Kind = "redelivered"
	// Replied: an agent answered a request.
	Replied Kind = "replied"
	// Extended: an agent's heartbeat asks for a later CompleteBy.
	Extended Kind = "extended"
	// Overdue: the Supervisor found the task in the CompleteBy index.
	Overdue Kind = "overdue"
	// CancelRequested: an operator ends the task; what was done is undone.
	CancelRequested Kind = "cancelled"
	// UndoRequested: an operator, or the Supervisor, has the task undone.
	UndoRequested Kind = "undo requested"
	// Resubmitted: an operator lets a failed task go on from the failed step.
	Resubmitted Kind = "resubmitted"
	// PauseRequested and ResumeRequested stop and restart claims.
	PauseRequested  Kind = "paused"
	ResumeRequested Kind = "resumed"
	// Signalled: an application delivered the signal a step waits for.
	Signalled Kind = "signalled"
	// Released: everything an Owing task had to say has been sent.
	Released Kind = "released"
)

// Kinds lists every event, in the order above.
func Kinds() []Kind {
	return []Kind{Submitted, Woken, Redelivered, Replied, Extended, Overdue, CancelRequested,
		UndoRequested, Resubmitted, PauseRequested, ResumeRequested, Signalled, Released}
}

// Outcome is how an attempt ended, as its agent tells it.
type Outcome string

// The outcomes.
const (
	// Succeeded: the effect is there.
	Succeeded Outcome = "succeeded"
	// FailedPermanently: trying again would give the same answer. There is no
	// effect, unless the reply says that there is doubt.
	FailedPermanently Outcome = "failed permanently"
	// FailedTransiently: another try may succeed; whether there is an effect is
	// not known.
	FailedTransiently Outcome = "failed transiently"
)

// Event is one thing that happened to a task. Only the fields that its Kind
// names are read.
type Event struct {
	Kind Kind
	// By is the instance that handles the event. It becomes the LockedBy of
	// what the event claims, so it must be unique to a process start.
	By string
	// Unsourced is true when no durable message would bring the event back
	// after a crash (the Supervisor's finds, an operator's calls). What such an
	// event has to tell is marked Owing until it was sent.
	Unsourced bool
	// Shards is the number of shards of the index, but for HeldShards; 0 counts as 1.
	Shards int
	// Redelivery is true when the event's message had been received before: if
	// it turns out to be applied already, its consequences are said again.
	Redelivery bool

	// Submission: Submitted. Redelivered: the message that comes again is the
	// submission itself, so that it was received is said again too.
	Submission *Submission
	// Hold: Submitted. The task is recorded, but nothing is claimed, because
	// there is no room for its requests; the index, in one of the HeldShards, brings
	// it back.
	Hold bool

	// Step, Attempt, LockedBy: Replied, Extended. The token of the request.
	Step     string
	Attempt  int
	LockedBy string
	// Undo: Replied, Extended. The request was one to undo.
	Undo bool
	// Outcome, Output, Error, Doubt, RetryAfter: Replied. Doubt says that there
	// may be an effect though the attempt failed permanently. RetryAfter is the
	// least wait the service asked for; zero for none.
	Outcome    Outcome
	Output     json.RawMessage
	Error      string
	Doubt      bool
	RetryAfter time.Duration
	// CompleteBy: Extended. The new deadline asked for; at most 24 h ahead are
	// granted at once.
	CompleteBy Millis

	// Version: Released. The version whose notices and alerts were sent.
	Version int64
	// Signal and Output: Signalled.
	Signal string
	// Reason: operator events. Who and why, kept in the record.
	Reason string
}
