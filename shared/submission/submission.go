// Package submission is the Submission of the pattern: it takes an application's
// request to run a workflow for an order, checks it, and writes order and task,
// both or neither, already with the first steps claimed.
//
// The caller's id is the idempotency key: the same submission again is accepted
// again and changes nothing; the same id with other content is refused. What
// can't be accepted is answered with the field and what is wrong with it, or,
// where there is nobody to answer (a queue), captured as rejected with its
// original bytes, for an operator to see and resend.
package submission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"triad/shared/engine"
	"triad/shared/queue"
	"triad/shared/store"
	"triad/shared/task"
)

// Definition is a workflow as far as Submission needs it.
type Definition interface {
	Workflow() task.Workflow
	// CheckOrder checks an order against the workflow's schema.
	CheckOrder(order json.RawMessage) error
}

// Definitions finds definitions by name, the newest, or by name@version. An
// error that wraps engine.ErrNoWorkflow says that there is none.
type Definitions interface {
	Definition(ref string) (Definition, error)
}

// Rejecter captures messages that can't be processed.
type Rejecter interface {
	Reject(ctx context.Context, r store.Rejected) error
}

// Config makes a Submission. Engine and Definitions are required; Rejected is
// for Handle.
type Config struct {
	Engine      *engine.Engine
	Definitions Definitions
	Rejected    Rejecter
	// Hold reports that there is no room now for requests of more tasks of a
	// priority: they are then recorded without a claim, and the index brings them
	// back. Defaults to never.
	Hold func(task.Priority) bool
	// ResponseQueue says why there is no response queue of a name, and what
	// there is; nil for one that there is. Defaults to accepting any name.
	ResponseQueue func(name string) error
}

// Submission accepts submissions. It is safe for concurrent use.
type Submission struct{ Config }

// New returns a Submission.
func New(c Config) *Submission { return &Submission{c} }

// Errors that callers act on. ErrInvalid comes as an *InvalidError.
var (
	// ErrInvalid: the submission can't be accepted, on every try.
	ErrInvalid = errors.New("invalid submission")
	// ErrDifferent: the id is taken by a submission with other content.
	ErrDifferent = errors.New("this id was submitted with other content")
)

// InvalidError names the field and what is wrong with it.
type InvalidError struct {
	// Field is the path of the field, as order.items[0].sku; empty for the
	// whole message.
	Field   string
	Problem string
	// TooLarge is true when size is the problem.
	TooLarge bool
}

// Error names field and problem.
func (e *InvalidError) Error() string {
	if e.Field == "" {
		return e.Problem
	}
	return fmt.Sprintf("field %s: %s", e.Field, e.Problem)
}

// Unwrap makes errors.Is(err, ErrInvalid) true.
func (e *InvalidError) Unwrap() error { return ErrInvalid }

// Receipt says that a submission is accepted: durable, and sure to end.
type Receipt struct {
	Task task.Task
	// Already is true when it had been accepted before.
	Already bool
}

// Submit accepts a submission. When it returns nil, task and order are durable.
// ErrInvalid, ErrDifferent, store.ErrFull; any other error leaves open whether
// the task exists: submit again.
func (s *Submission) Submit(ctx context.Context, sub task.Submission) (Receipt, error) {
	return s.submit(ctx, sub, false)
}

func (s *Submission) submit(ctx context.Context, sub task.Submission, queued bool) (Receipt, error) {
	sub.Order = task.Escaped(sub.Order)
	def, invalid := s.check(sub)
	if errors.Is(invalid, ErrInvalid) {
		before, err := s.accepted(ctx, sub)
		if err != nil {
			return Receipt{}, err
		}
		if before {
			return s.existing(ctx, sub, queued)
		}
	}
	if invalid != nil {
		return Receipt{}, invalid
	}
	ev := task.Event{
		Kind: task.Submitted, By: s.Engine.Instance, Submission: &sub,
		Shards: s.Engine.Shards, Hold: s.Hold != nil && s.Hold(def.Workflow().Priority),
	}
	d, err := task.Decide(def.Workflow(), task.Task{}, ev, s.Engine.Clock())
	if err != nil {
		return Receipt{}, err
	}
	err = s.Engine.Create(ctx, ev, d)
	if errors.Is(err, store.ErrExists) {
		return s.existing(ctx, sub, queued)
	}
	if err != nil {
		return Receipt{}, err
	}
	// If we stop here the task is in the index: its first steps have deadlines.
	err = s.Engine.Send(ctx, d)
	if err != nil && queued {
		return Receipt{}, err // the message comes again, and says it
	}
	if err != nil {
		s.Engine.Logger.Error("sending for a new task; its deadline brings it back", "task", d.Task.ID, "error", err)
	}
	return Receipt{Task: d.Task}, nil
}

// accepted reports that this very submission was accepted before, by rules that
// have changed since (a newer version of the workflow may ask for other fields),
// or by an instance that knows another version. While that can't be read, the
// submission is not refused.
func (s *Submission) accepted(ctx context.Context, sub task.Submission) (bool, error) {
	if task.ValidateID(sub.ID) != nil {
		return false, nil
	}
	t, err := s.Engine.Store.Load(ctx, sub.ID)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil && t.OrderHash == sub.Hash(), err
}

// existing answers for an id that is taken. A message may have been handled before,
// up to its sends: they are made again. That is not left to its count of receives:
// a dead letter that is brought back counts from one.
func (s *Submission) existing(ctx context.Context, sub task.Submission, queued bool) (Receipt, error) {
	t, err := s.Engine.Store.Load(ctx, sub.ID)
	if err != nil {
		return Receipt{}, err
	}
	if t.OrderHash != sub.Hash() {
		return Receipt{}, fmt.Errorf("task %s: %w: use another id for another order", sub.ID, ErrDifferent)
	}
	if queued {
		again := task.Event{Kind: task.Redelivered, Redelivery: true, Submission: &sub}
		if _, err := s.Engine.Act(ctx, t.ID, again); err != nil {
			return Receipt{}, err
		}
	}
	return Receipt{Task: t, Already: true}, nil
}

// Handle processes one message of the submissions queue. Nil means that it is
// done with: accepted, or captured as rejected. An error means that it must come
// again.
func (s *Submission) Handle(ctx context.Context, d queue.Delivery) error {
	sub, err := Decode(d.Body)
	if err == nil {
		_, err = s.submit(ctx, sub, true)
	}
	if errors.Is(err, ErrInvalid) || errors.Is(err, ErrDifferent) {
		return s.reject(ctx, d.Body, err)
	}
	return err
}

func (s *Submission) reject(ctx context.Context, body []byte, reason error) error {
	err := s.Rejected.Reject(ctx, store.Rejected{
		Queue: queue.Submissions, Body: body, Reason: reason.Error(), At: task.At(s.Engine.Clock()),
	})
	if err != nil {
		return fmt.Errorf("capturing a rejected submission: %w", err)
	}
	return nil
}
