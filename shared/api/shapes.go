package api

import (
	"encoding/json"
	"fmt"
	"time"

	"triad/shared/doctor"
	"triad/shared/task"
)

// Time is a point in time as the API writes it: RFC 3339 with milliseconds, in
// UTC. Zero means absent, and is left out.
type Time task.Millis

const timeLayout = "2006-01-02T15:04:05.000Z"

// MarshalText gives 2026-01-31T12:00:00.000Z.
func (t Time) MarshalText() ([]byte, error) {
	return task.Millis(t).Time().AppendFormat(nil, timeLayout), nil
}

// UnmarshalText reads any RFC 3339 time.
func (t *Time) UnmarshalText(text []byte) error {
	at, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return fmt.Errorf("reading a time: %w", err)
	}
	*t = Time(task.At(at))
	return nil
}

// Time converts; the zero Time gives the zero time.
func (t Time) Time() time.Time { return task.Millis(t).Time() }

// Accepted answers a submission.
type Accepted struct {
	ID       task.ID    `json:"id"`
	Workflow string     `json:"workflow"`
	State    task.State `json:"state"`
	// Location is the path of the task.
	Location string `json:"location"`
}

// Summary is a task in a list.
type Summary struct {
	ID           task.ID    `json:"id"`
	Workflow     string     `json:"workflow"`
	State        task.State `json:"state"`
	Version      int64      `json:"version"`
	FailureCount int        `json:"failureCount,omitzero"`
	// CompleteBy is when somebody looks at the task at the latest, Deadline when
	// it must have ended.
	CompleteBy Time `json:"completeBy,omitzero"`
	Deadline   Time `json:"deadline,omitzero"`
	// Goal is the end it is heading for when that is not Processed; Reason says
	// why.
	Goal      task.State `json:"goal,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	Paused    bool       `json:"paused,omitzero"`
	Tenant    string     `json:"tenant,omitempty"`
	CreatedAt Time       `json:"createdAt,omitzero"`
	EndedAt   Time       `json:"endedAt,omitzero"`
	// StepsDone of StepCount steps are Processed or Skipped.
	StepsDone int `json:"stepsDone"`
	StepCount int `json:"stepCount"`
}

// Task is everything about a task.
type Task struct {
	Summary
	// LockedBy made the latest claim of a step that is still live.
	LockedBy      string          `json:"lockedBy,omitempty"`
	ResponseQueue string          `json:"responseQueue,omitempty"`
	Resubmits     int             `json:"resubmits,omitzero"`
	Steps         []Step          `json:"steps"`
	Order         json.RawMessage `json:"order,omitempty"`
}

// Step is the state of a step.
type Step struct {
	Name    string     `json:"name"`
	State   task.State `json:"state"`
	Attempt int        `json:"attempt,omitzero"`
	// FailureCount counts the attempts that failed or timed out, Waits the
	// extended waits that were taken.
	FailureCount int    `json:"failureCount,omitzero"`
	Waits        int    `json:"waits,omitzero"`
	LockedBy     string `json:"lockedBy,omitempty"`
	// CompleteBy is the deadline of the live attempt, or the time of the next.
	CompleteBy Time `json:"completeBy,omitzero"`
	// Undo: State speaks of the step's undo. Signalled: its signal came before
	// it started.
	Undo      bool            `json:"undo,omitzero"`
	Signalled bool            `json:"signalled,omitzero"`
	StartedAt Time            `json:"startedAt,omitzero"`
	EndedAt   Time            `json:"endedAt,omitzero"`
	Error     string          `json:"error,omitempty"`
	Output    json.RawMessage `json:"output,omitempty"`
}

// TaskPage is a page of tasks. Next continues after it; empty when there is no
// more.
type TaskPage struct {
	Tasks []Summary `json:"tasks"`
	// Damaged are tasks whose records can't be read.
	Damaged []task.ID `json:"damaged,omitempty"`
	Next    string    `json:"next,omitempty"`
}

// Workflow is a definition on offer.
type Workflow struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	// CompleteWithin bounds a task, as 24h0m0s.
	CompleteWithin string         `json:"completeWithin"`
	Steps          []WorkflowStep `json:"steps"`
}

// WorkflowStep is a step of a definition: exactly one of Agent, Wait and Signal
// is set.
type WorkflowStep struct {
	Name   string `json:"name"`
	Agent  string `json:"agent,omitempty"`
	Wait   string `json:"wait,omitempty"`
	Signal string `json:"signal,omitempty"`
	// After names the steps that must be done first.
	After []string `json:"after,omitempty"`
	// Undo: the step can be undone.
	Undo bool `json:"undo,omitzero"`
}

// WorkflowList is all definitions on offer.
type WorkflowList struct {
	Workflows []Workflow `json:"workflows"`
}

// Rejected is a message that could not be processed.
type Rejected struct {
	Seq    int64  `json:"seq"`
	Queue  string `json:"queue"`
	Reason string `json:"reason"`
	At     Time   `json:"at,omitzero"`
	// Body is the message when that is UTF-8 text, else BodyBase64 is.
	Body       string `json:"body,omitempty"`
	BodyBase64 []byte `json:"bodyBase64,omitempty"`
}

// RejectedPage is a page of rejected messages. Next is the `after` of the next
// page; absent when there is no more.
type RejectedPage struct {
	Rejected []Rejected `json:"rejected"`
	Next     int64      `json:"next,omitzero"`
}

// Correction is the optional body of a resend: the submission to send instead of
// the message as it came.
type Correction struct {
	Body json.RawMessage `json:"body,omitempty"`
}

// Taken answers a message that was put on a queue.
type Taken struct {
	Queue string `json:"queue"`
}

// Notice is a notice in its response queue.
type Notice struct {
	Seq      int64   `json:"seq"`
	ID       string  `json:"id"`
	Task     task.ID `json:"task"`
	Workflow string  `json:"workflow"`
	// Status is Received, or the state in which the task ended.
	Status  string                     `json:"status"`
	Reason  string                     `json:"reason,omitempty"`
	At      Time                       `json:"at,omitzero"`
	Outputs map[string]json.RawMessage `json:"outputs,omitempty"`
}

// NoticePage is a page of a response queue; Next as in RejectedPage.
type NoticePage struct {
	Notices []Notice `json:"notices"`
	Next    int64    `json:"next,omitzero"`
}

// Alert is what operators were told.
type Alert struct {
	Seq      int64   `json:"seq"`
	ID       string  `json:"id"`
	Task     task.ID `json:"task"`
	Workflow string  `json:"workflow"`
	Step     string  `json:"step,omitempty"`
	Subject  string  `json:"subject"`
	Action   string  `json:"action"`
	At       Time    `json:"at,omitzero"`
}

// AlertPage is a page of alerts; Next as in RejectedPage.
type AlertPage struct {
	Alerts []Alert `json:"alerts"`
	Next   int64   `json:"next,omitzero"`
}

// Health answers GET /healthz when the engine works.
type Health struct {
	Status string `json:"status"`
	// Findings is how many things the doctor found wrong at its last routine
	// examination: GET /v1/doctor tells. The engine works all the same.
	Findings int `json:"findings,omitzero"`
}

// Examination is what the doctor found.
type Examination struct {
	At Time `json:"at"`
	// Full: nothing was left to a later examination.
	Full bool `json:"full,omitzero"`
	// Healthy: nothing was found and no check has failed. What was not checked
	// does not count.
	Healthy bool    `json:"healthy"`
	Checks  []Check `json:"checks"`
}

// Check is one check of an examination.
type Check struct {
	Name doctor.Name `json:"name"`
	// Status is ok, found, not checked or failed.
	Status doctor.Status `json:"status"`
	// Looked is how many of Of were looked at. Partial: there are more.
	Looked  int    `json:"looked"`
	Of      string `json:"of"`
	Partial bool   `json:"partial,omitzero"`
	// Found counts what is wrong; Examples has the first of it.
	Found    int       `json:"found,omitzero"`
	Examples []Finding `json:"examples,omitempty"`
	// Why says why it was not checked, or has failed; Action what to do about
	// what was found.
	Why    string `json:"why,omitempty"`
	Action string `json:"action,omitempty"`
}

// Finding is one thing that is wrong: with a task, a queue or a file.
type Finding struct {
	ID   string `json:"id"`
	What string `json:"what"`
}
