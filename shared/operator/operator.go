// Package operator is what people and applications may ask of a task: cancel,
// undo, resubmit, pause, resume, signal. CLI, HTTP API and console all come
// through here; package task decides what becomes of it.
package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"triad/shared/engine"
	"triad/shared/task"
)

// Verb is something to ask of a task.
type Verb string

// The verbs.
const (
	Cancel   Verb = "cancel"
	Undo     Verb = "undo"
	Resubmit Verb = "resubmit"
	Pause    Verb = "pause"
	Resume   Verb = "resume"
	Signal   Verb = "signal"
)

// Verbs lists them all.
func Verbs() []Verb { return []Verb{Cancel, Undo, Resubmit, Pause, Resume, Signal} }

// ErrRefused: the task's state does not allow it. The text says why.
var ErrRefused = errors.New("refused")

// ErrNoVerb: there is no such verb.
var ErrNoVerb = errors.New("no such verb")

// Ask is a verb with what it needs.
type Ask struct {
	Verb Verb `json:"-"`
	// Reason is who and why; it is kept in the record of a cancelled or undone
	// task. At most task.MaxError bytes are kept.
	Reason string `json:"reason,omitempty"`
	// Signal is the name of the signal, Payload its content: Signal only.
	Signal  string          `json:"signal,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// Operator applies verbs. It is safe for concurrent use.
type Operator struct{ engine *engine.Engine }

// New returns an Operator.
func New(e *engine.Engine) *Operator { return &Operator{engine: e} }

// Do applies a verb to a task and returns the task as it is then. Asking for
// what is so already is a success. ErrRefused, ErrNoVerb, store.ErrNotFound.
// When it returns nil the change is durable: after a cancel, no forward step
// starts.
func (o *Operator) Do(ctx context.Context, id task.ID, a Ask) (task.Task, error) {
	ev, err := event(a)
	if err != nil {
		return task.Task{}, err
	}
	d, err := o.engine.Apply(ctx, id, ev)
	if err != nil {
		return task.Task{}, err
	}
	// If we stop here, the change is made: what it says is found by deadline, or
	// because the task is marked Owing.
	if err := o.engine.Send(ctx, d); err != nil {
		o.engine.Logger.Error("sending after an operator's request; the index brings the task back",
			"task", id, "verb", a.Verb, "error", err)
	}
	if d.Verdict == task.Refused {
		return d.Task, fmt.Errorf("%s of task %s is %w: %s", a.Verb, id, ErrRefused, d.Why)
	}
	return d.Task, nil
}

func event(a Ask) (task.Event, error) {
	kinds := []task.Kind{task.CancelRequested, task.UndoRequested, task.Resubmitted,
		task.PauseRequested, task.ResumeRequested, task.Signalled}
	i := slices.Index(Verbs(), a.Verb)
	if i < 0 {
		return task.Event{}, fmt.Errorf("%w: %q; there are %v", ErrNoVerb, a.Verb, Verbs())
	}
	return task.Event{Kind: kinds[i], Unsourced: true, Reason: a.Reason, Signal: a.Signal, Output: a.Payload}, nil
}
