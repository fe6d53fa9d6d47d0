package store

import (
	"context"

	"triad/shared/task"
)

// Ledger keeps what has to outlive a process beside the tasks when there are no
// durable queues: definitions, notices until they are acknowledged, rejected
// messages until they are resent or dropped, and alerts. The embedded stores
// implement it; on AWS queues and a topic take its place.
//
// Every write is durable when it returns. All methods are safe for concurrent
// use. Lists are in the order of writing, continue after a sequence number, and
// return at most limit entries.
type Ledger interface {
	// Define stores a definition. The same name and version with the same
	// source again is a success; with another source it is ErrDefined, and
	// nothing changes.
	Define(ctx context.Context, d Definition) error
	// Definitions returns all of them, by name, then version, also those that can't
	// be read: see Definition.Err.
	Definitions(ctx context.Context) ([]Definition, error)
	// Reject captures a message that can't be processed.
	Reject(ctx context.Context, r Rejected) error
	// Rejections lists captured messages; Dismiss removes one (no error when it
	// is gone already).
	Rejections(ctx context.Context, after int64, limit int) ([]Rejected, error)
	Dismiss(ctx context.Context, seq int64) error
	// Mail returns the mailboxes: notices and alerts.
	Mail() Mail
}

// Mail reads what tasks had to tell.
type Mail interface {
	// Notices lists a response queue; Acknowledge deletes one of its notices
	// (no error when it is gone already). The outputs in a notice are the same
	// JSON as they were told, if not to the byte.
	Notices(ctx context.Context, queue string, after int64, limit int) ([]KeptNotice, error)
	Acknowledge(ctx context.Context, queue string, seq int64) error
	// Alerts lists what operators were told.
	Alerts(ctx context.Context, after int64, limit int) ([]KeptAlert, error)
}

// Definition is the source of a workflow, immutable once stored.
type Definition struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	Source  []byte `json:"source"`
	// Err is set in what Definitions returns of one that is there and can't be
	// read: it wraps ErrDamaged, and Source is empty.
	Err error `json:"-"`
}

// Rejected is a message that could not be processed, with its original bytes.
type Rejected struct {
	Seq    int64       `json:"seq"`
	Queue  string      `json:"queue"`
	Body   []byte      `json:"body"`
	Reason string      `json:"reason"`
	At     task.Millis `json:"at"`
}

// KeptNotice is a notice with its place in its response queue.
type KeptNotice struct {
	Seq int64 `json:"seq"`
	task.Notice
}

// KeptAlert is an alert with its place in the list.
type KeptAlert struct {
	Seq int64 `json:"seq"`
	task.Alert
}
