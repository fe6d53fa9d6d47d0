package tasktest

import (
	"encoding/json"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"triad/shared/task"
)

// World is one task among several instances, agents that may do anything, and a
// clock that jumps. Who draws an event decides it, and sets Task to what came out.
// It is for one goroutine.
type World struct {
	Flow task.Workflow
	Task task.Task
	Now  time.Time
	// past holds the replies that were made up so far: they may come again at any
	// time.
	past []task.Event
}

// Submission draws the event that begins a task, by instance one; there are 16 shards.
func Submission(rt *rapid.T, sub *task.Submission) task.Event {
	if rapid.IntRange(0, 4).Draw(rt, "no response queue") == 0 {
		sub.ResponseQueue = ""
	}
	return task.Event{
		Kind: task.Submitted, Submission: sub, By: "one", Shards: 16,
		Hold: rapid.IntRange(0, 4).Draw(rt, "hold") == 0,
	}
}

// Event draws any event: mostly sensible ones, in any order, at any time.
func (w *World) Event(rt *rapid.T) task.Event {
	e := task.Event{
		By:        Pick(rt, "by", "one", "two", "three"),
		Unsourced: rapid.Bool().Draw(rt, "unsourced"), Redelivery: rapid.IntRange(0, 3).Draw(rt, "again") == 0,
	}
	switch n := rapid.IntRange(0, 39).Draw(rt, "event"); {
	case n < 14:
		return w.drawReply(rt, e)
	case n < 16 && len(w.past) > 0:
		old := w.past[rapid.IntRange(0, len(w.past)-1).Draw(rt, "old reply")]
		old.By, old.Redelivery = e.By, e.Redelivery
		return old
	case n < 18:
		e = w.drawReply(rt, e)
		e.Kind, e.CompleteBy = task.Extended, task.At(w.Now.Add(Pick(rt, "until", -time.Hour, time.Minute, 100*time.Hour)))
	case n < 23:
		e.Kind = task.Woken
	case n < 29:
		e.Kind = task.Overdue
	case n < 32:
		e.Kind = task.Redelivered
	case n < 34:
		e.Kind, e.Signal = task.Signalled, fmt.Sprintf("s%d-signal", rapid.IntRange(0, 6).Draw(rt, "signal"))
		e.Output = Pick(rt, "payload", nil, json.RawMessage(`{"ok":true}`), json.RawMessage("{oops"))
	default:
		e.Kind = Pick(rt, "operator", task.Resubmitted, task.Resubmitted, task.PauseRequested, task.ResumeRequested,
			task.Released, task.Released, task.CancelRequested, task.UndoRequested)
		e.Version = w.Task.Version - int64(Pick(rt, "told", 0, 0, 1))
	}
	return e
}

// drawReply answers for a step, mostly with its live token.
func (w *World) drawReply(rt *rapid.T, e task.Event) task.Event {
	i := rapid.IntRange(0, len(w.Task.Steps)-1).Draw(rt, "step")
	for n := 0; n < len(w.Task.Steps) && w.Task.Steps[i].LockedBy == ""; n++ {
		i = (i + 1) % len(w.Task.Steps)
	}
	s := w.Task.Steps[i]
	e.Kind, e.Step, e.Attempt, e.LockedBy, e.Undo = task.Replied, s.Name, s.Attempt, s.LockedBy, s.State == task.Compensating
	e.Outcome = Pick(rt, "outcome", task.Succeeded, task.Succeeded, task.Succeeded, task.FailedTransiently,
		task.FailedTransiently, task.FailedPermanently, "nonsense")
	e.Output = Pick(rt, "output", nil, json.RawMessage(`{"id":7}`), json.RawMessage(`[1,2]`), json.RawMessage("{oops"))
	e.Doubt = Pick(rt, "doubt", false, false, true)
	e.RetryAfter = Pick(rt, "retry after", 0, 0, 5*time.Second, 48*time.Hour)
	e.Error = "fault"
	switch rapid.IntRange(0, 19).Draw(rt, "forge") {
	case 0:
		e.Attempt--
	case 1:
		e.LockedBy = "nobody"
	case 2:
		e.Undo = !e.Undo
	case 3:
		e.Step = "no such step"
	}
	w.past = append(w.past, e)
	return e
}

// Pass lets the clock jump: mostly on, to what is due or anywhere, at times
// back by up to a minute.
func (w *World) Pass(rt *rapid.T) {
	switch rapid.IntRange(0, 5).Draw(rt, "clock") {
	case 0, 1:
		if due := w.Task.CompleteBy.Time(); due.After(w.Now) {
			w.Now = due
		}
	case 2:
		w.Now = w.Now.Add(-time.Duration(rapid.IntRange(0, 60_000).Draw(rt, "back")) * time.Millisecond)
	case 3:
		w.Now = w.Now.Add(time.Duration(rapid.IntRange(0, 7_200_000).Draw(rt, "on")) * time.Millisecond)
	}
}
