package store

import (
	"context"

	"triad/shared/task"
)

// Walker reads every task that a store holds, from the records themselves and
// whatever the index says: the way to find a task that the index has lost. It is
// for audits: a walk costs as much as the store is large.
//
// A task that was there when the walk began comes exactly once. One that was
// created since may come or not. Each is read at one moment. All methods are safe
// for concurrent use.
type Walker interface {
	// Walk returns a page of up to limit tasks, at least 1, in an order of the
	// store's own. The cursor is WalkPage.Next of the page before; empty begins.
	// A damaged record ends nothing: see Walked.Err. ErrCursor.
	Walk(ctx context.Context, cursor string, limit int) (WalkPage, error)
}

// WalkPage is one page of a walk.
type WalkPage struct {
	Tasks []Walked
	// Next continues after the last task; empty when there is no more. A page
	// may have fewer tasks than asked for, or none, and still have a Next.
	Next string
}

// Walked is a task as its record has it, and what the index has of it.
type Walked struct {
	ID task.ID
	// Task comes without order and large outputs. It is zero when Err is set.
	Task task.Task
	// Err wraps ErrDamaged when the record can't be read, or what the store keeps
	// beside it says something else.
	Err error
	// Shard and CompleteBy are the keys in the index. CompleteBy 0: the index
	// does not have the task.
	Shard      int
	CompleteBy task.Millis
}
