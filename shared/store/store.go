// Package store is the contract of Triad's durable state: tasks, each with the
// state of its steps in one record, and the index of what is due.
//
// The table is the truth and queues are hints, so everything Triad promises
// rests on this page. Implementations translate and never decide: they hold no
// rule about states. Each passes the suite in storetest.
//
// # Promises
//
// Atomicity: Create writes the task and its order, both or neither. Commit
// replaces the whole record, or changes nothing. A reader sees a record before
// or after a commit, never between.
//
// Isolation: Commit succeeds only if the stored version is Task.Version-1 and
// every lock in Change.Locks still reads as given. Of any number of concurrent
// commits of one version exactly one succeeds; the others get ErrConflict.
//
// Durability: when Create or Commit returns nil, the change survives the death
// of the process and of the machine.
//
// Idempotency: a Create or Commit is named by Task.Op. Repeating one that had
// been applied, and is still the latest write, returns nil and changes nothing.
//
// Uncertainty: any error other than the sentinels below means that the change
// may or may not have been applied. Repeat it with the same Op, or load.
//
// Consistency: Load is strong: it returns the latest committed record. Due and
// List may lag and may return a task that has moved on; they are hints. Load
// before acting. Nothing that is due stays hidden for ever.
//
// Order: Due returns earliest CompleteBy first, ties in any stable order.
//
// # Not promised
//
// That Due sees a commit at once; that List has an order beyond the cursor's;
// that notices and alerts are kept (see Change).
//
// Errors say what was done to which task ("loading task order-7: no such task"),
// so callers need not.
//
// All methods are safe for concurrent use, by any number of processes where the
// implementation allows several. All honour ctx; an error that wraps
// ctx.Err() leaves the outcome uncertain.
package store

import (
	"context"
	"errors"

	"triad/shared/task"
)

// The sentinels. Callers act on these with errors.Is.
var (
	// ErrExists: Create found a task of this id, made by another Op. Nothing
	// was written.
	ErrExists = errors.New("task exists already")
	// ErrNotFound: there is no task of this id. Nothing was written.
	ErrNotFound = errors.New("no such task")
	// ErrConflict: the stored version or a lock is not the one expected.
	// Nothing was written, or ErrOvertaken is with it. Load and decide again.
	ErrConflict = errors.New("task was changed meanwhile")
	// ErrOvertaken comes with ErrConflict: several writes have been made since, and
	// this may be the first of them. A client that repeats calls by itself can't
	// know. What the write implies may be unsaid: say it.
	ErrOvertaken = errors.New("the write may have been applied before another one")
	// ErrTooLarge: the record or a side record exceeds what the store can
	// hold, on every try. Nothing was written.
	ErrTooLarge = errors.New("record too large")
	// ErrUnsupported: this store can't answer such a filter without reading
	// everything.
	ErrUnsupported = errors.New("filter not supported by this store")
	// ErrCursor: a cursor is not one that this store gave, or one of another
	// shard.
	ErrCursor = errors.New("cursor not known")
	// ErrFull: the store has no room (disk, quota). Nothing was written.
	ErrFull = errors.New("store is full")
	// ErrDamaged: what is stored can't be read. Nothing was changed.
	ErrDamaged = errors.New("stored data is damaged")
	// ErrDefined: this version of the definition is stored with another source.
	ErrDefined = errors.New("definition exists with another content")
	// ErrInUse: another process owns the store.
	ErrInUse = errors.New("store is in use by another process")
	// ErrReadOnly: the store can't be written.
	ErrReadOnly = errors.New("store can't be written")
)

// Change is one write.
type Change struct {
	// Task is the whole next record. Create requires Version 1; Commit requires
	// the stored version plus one. Op must be set, and each step have a name of
	// its own: else there is an error that is no sentinel, and nothing is written.
	// CompleteBy is not below zero, and not zero while the task has not finished.
	Task task.Task
	// Locks are the steps touched, with the LockedBy that was read. A step of Task
	// that was not there before, which task.Decide never adds, must not be among
	// them: a store need not see that it is new.
	Locks []task.Lock
	// Outputs are those new in Task; a store keeps the ones larger than
	// task.InlineOutput in side records, in the same atomic write.
	Outputs []task.Output
	// Notices and Alerts are what the change has to tell. A store that can
	// (sqlitestore, memstore) keeps them in the same write, where they are read
	// by the application and the operator. One that can't ignores them, and
	// the engine sends them.
	Notices []task.Notice
	Alerts  []task.Alert
}

// Store keeps tasks. See the package comment for its promises.
type Store interface {
	// Create writes a new task and its order. ErrExists, ErrTooLarge, ErrFull.
	Create(ctx context.Context, c Change) error
	// Load returns the latest committed task, with its order and all outputs.
	// The caller must not change what slices in it hold. ErrNotFound,
	// ErrDamaged.
	Load(ctx context.Context, id task.ID) (task.Task, error)
	// Commit replaces the record. ErrConflict, ErrNotFound, ErrTooLarge,
	// ErrFull.
	Commit(ctx context.Context, c Change) error
	// Due returns the tasks of one shard whose CompleteBy is not later than
	// q.Before, earliest first. A task with CompleteBy 0 is in no shard.
	// ErrCursor.
	Due(ctx context.Context, q DueQuery) (DuePage, error)
	// List returns tasks for operators, without orders and large outputs. A task
	// in Error that still owes something may be missing among those in Error. A
	// damaged record ends nothing: see ListPage.Damaged. ErrUnsupported, ErrCursor.
	List(ctx context.Context, q ListQuery) (ListPage, error)
}

// DueQuery asks for a page of a shard of the CompleteBy index.
type DueQuery struct {
	// Shard is any whole number, also below zero.
	Shard  int
	Before task.Millis
	// Limit is the most rows to return, at least 1.
	Limit int
	// Cursor is DuePage.Next of the page before, of the same shard; empty starts
	// at the earliest.
	Cursor string
}

// DuePage is one page of the index.
type DuePage struct {
	Rows []Due
	// Next continues after the last row; empty when there is no more.
	Next string
}

// Due is one row of the index: a hint, possibly out of date.
type Due struct {
	ID         task.ID
	CompleteBy task.Millis
}

// ListQuery selects tasks. Zero fields select everything.
type ListQuery struct {
	State    task.State
	Workflow string // a name: any version; or name@version
	Tenant   string
	// Unfinished selects tasks that have not finished.
	Unfinished bool
	// Limit is the most tasks to return, damaged ones included, 1 to 1,000; 0 counts
	// as 100.
	Limit int
	// Cursor is ListPage.Next of the page before, of the same filter.
	Cursor string
}

// ListPage is one page of tasks.
type ListPage struct {
	Tasks []task.Task
	// Damaged are the tasks whose records can't be read, where the others have
	// their place. A store that can't tell whether the query asks for one has it
	// here all the same.
	Damaged []Damaged
	// Next continues after the last task; empty when there is no more. A page
	// may have fewer tasks than asked for, or none, and still have a Next.
	Next string
}

// Damaged is a task whose record can't be read.
type Damaged struct {
	ID task.ID
	// Err wraps ErrDamaged and says what is wrong.
	Err error
}
