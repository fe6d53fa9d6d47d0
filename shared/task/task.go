package task

import (
	"encoding/json"
	"slices"
	"time"
)

// ID names a task. It is the caller's own id (an order id) and the idempotency
// key of the submission: 1 to 128 characters out of A-Z a-z 0-9 . _ : - that
// begin with a letter or a digit (see ValidateID).
type ID string

// Millis is a point in time: milliseconds since the Unix epoch, UTC. Zero means
// absent.
type Millis int64

// At converts a time to Millis, dropping what is finer than a millisecond.
func At(t time.Time) Millis { return Millis(t.UnixMilli()) }

// Time converts back. The zero Millis gives the zero time.
func (m Millis) Time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(m)).UTC()
}

// Add returns the time d later.
func (m Millis) Add(d time.Duration) Millis { return m + Millis(d.Milliseconds()) }

// Until returns the duration from now until m; it is never negative.
func (m Millis) Until(now Millis) time.Duration {
	return time.Duration(max(0, m-now)) * time.Millisecond
}

// Limits of the vocabulary. All sizes are bytes.
const (
	// MaxID is the longest task id.
	MaxID = 128
	// MaxOrder is the largest order a submission may carry. With MaxOutput it
	// leaves room in a message (256 KB) for what else a request holds.
	MaxOrder = 176 << 10
	// MaxOutput is the largest output a step may return. A larger one is a
	// permanent failure of the step: it would be too large on every retry.
	MaxOutput = 64 << 10
	// InlineOutput is the largest output that is kept inside the task's
	// record. Larger ones are kept in side records, written once.
	InlineOutput = 128
	// MaxSteps is the most steps a workflow may have.
	MaxSteps = 64
	// MaxError is where an error text is cut in the record.
	MaxError = 160
)

// Task is one run of a workflow: the whole truth about it, as read from the
// store or as decided next. Values are handed over by copy and never changed in
// place; Clone gives a copy whose Steps may be changed.
//
// All fields but Order and large outputs are in one record (one item), so that
// finishing a step and claiming the next is one conditional write.
type Task struct {
	// ID is the caller's id.
	ID ID
	// Workflow is the definition the task is pinned to, as name@version.
	Workflow string
	// State is the ProcessState of the whole task.
	State State
	// Version counts the commits of this record, from 1. A commit succeeds
	// only when the stored version is one less.
	Version int64
	// Op names the write that made this version, so that a retry of a write
	// that had been applied finds itself and counts as a success. Engines set
	// it; Decide leaves it alone.
	Op string
	// LockedBy is the instance that owns a live step (the last of them in the
	// definition's order); empty when no step is live.
	LockedBy string
	// CompleteBy is the indexed time by which somebody has to look at this
	// task: never later than the earliest deadline of what is live, and zero
	// exactly when the task has finished and owes nothing. It is lazy: it moves
	// when a deadline is earlier, not when one is later.
	CompleteBy Millis
	// Deadline is the exact time by which the whole task must have ended.
	Deadline Millis
	// FailureCount is the sum of the steps' failure counts.
	FailureCount int
	// Steps has one entry for each step of the definition, in its order.
	Steps []StepState
	// Goal is the end the task is heading for when that is no longer
	// Processed: Error, Compensated or Cancelled. While it is set no forward
	// step starts; live ones end first, then completed ones are undone.
	Goal State
	// Reason says in one line why the task failed, is undone or was cancelled.
	Reason string
	// Paused is true between an operator's pause and resume: live steps end,
	// none starts.
	Paused bool
	// Owing is true while the notices and alerts of the last transition may
	// not have been sent and no message would bring them back: the task then
	// stays in the index until they are (see Released). Only a task that has ended owes.
	Owing bool
	// Shard is the partition of the CompleteBy index that the task is in: 0 and
	// up, or one of the HeldShards while it is held.
	Shard int
	// ResponseQueue is where notices go; empty for none.
	ResponseQueue string
	// Tenant is on whose behalf the task runs; empty for none.
	Tenant string
	// Resubmits counts the operator's resubmissions.
	Resubmits int
	// OrderHash identifies the content of the submission (see Submission.Hash).
	OrderHash string
	// CreatedAt and EndedAt frame the task's life; EndedAt is zero until it
	// has finished.
	CreatedAt, EndedAt Millis

	// Order is the submitted order, kept in a record of its own that is
	// written with the task, both or neither, and never changes.
	Order json.RawMessage
}

// StepState is the state of one step inside its task's record.
type StepState struct {
	// Name is the step's name in the definition.
	Name string
	// State is the step's ProcessState.
	State State
	// LockedBy is the instance that owns the live attempt; empty when nobody
	// does. With Attempt it is the token that a reply must show.
	LockedBy string
	// CompleteBy is the deadline of the live attempt or, while LockedBy is
	// empty and the step waits for its next try, the time of that try.
	CompleteBy Millis
	// Attempt is the number of the latest claim, forward and undo together. It
	// only rises, also over a resubmission.
	Attempt int
	// FailureCount is how many attempts failed or timed out since the step
	// first started, was resubmitted, or began to be undone.
	FailureCount int
	// Waits counts the extended waits that were taken.
	Waits int
	// Doubt is true when an attempt ended without a definite answer (timed out,
	// failed transiently, or refused after a call that got no answer): the
	// effect may exist, so undo covers the step.
	Doubt bool
	// Undo is true once the step's undo has been claimed or asked for: the
	// states Error and Compensating then speak of the undo.
	Undo bool
	// Signalled is true when the signal of a signal step arrived before the
	// step started.
	Signalled bool
	// StartedAt is the first claim, EndedAt the time the latest attempt ended.
	StartedAt, EndedAt Millis
	// Rank is the Version of the commit in which the latest attempt ended. Undo
	// goes by it, highest first: versions order what clocks can't.
	Rank int64
	// Error is the last failure, cut at MaxError bytes.
	Error string
	// Output is what the agent returned, JSON, at most MaxOutput bytes; nil
	// for none.
	Output json.RawMessage
}

// Live reports whether an attempt, a timer or a wait for a signal is running.
func (s StepState) Live() bool { return s.LockedBy != "" }

// Step returns the state of the named step and whether there is one.
func (t Task) Step(name string) (StepState, bool) {
	if i := t.index(name); i >= 0 {
		return t.Steps[i], true
	}
	return StepState{}, false
}

func (t *Task) index(name string) int {
	for i := range t.Steps {
		if t.Steps[i].Name == name {
			return i
		}
	}
	return -1
}

// Clone returns a copy whose Steps can be changed without changing t's. Order
// and outputs are shared: they are never changed in place.
func (t Task) Clone() Task {
	t.Steps = slices.Clone(t.Steps)
	return t
}

// Key is the idempotency key of a step, the same for every attempt: task/step.
// The undo of the step uses Key + "/undo".
func Key(id ID, step string) string { return string(id) + "/" + step }
