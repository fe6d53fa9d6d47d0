package task_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"triad/shared/task"
	"triad/shared/task/tasktest"
)

// TestAnyEventsKeepTheInvariants throws arbitrary events at arbitrary
// definitions, and holds each decision against the monitor.
func TestAnyEventsKeepTheInvariants(t *testing.T) {
	t.Parallel()
	seen := newSightings()
	for range 20 { // rapid makes 100 worlds of each
		rapid.Check(t, func(rt *rapid.T) {
			w := submitAny(rt, seen)
			w.chaos(rt, 80)
		})
	}
	seen.assertSometimes(t)
}

// chaos hands over up to so many arbitrary events.
func (w *world) chaos(rt *rapid.T, most int) {
	for range rapid.IntRange(0, most).Draw(rt, "events") {
		w.Pass(rt)
		w.handle(rt, w.Event(rt))
	}
}

// assertSometimes keeps the property from passing vacuously: the common moves
// must all have been made.
func (s *sightings) assertSometimes(t *testing.T) {
	t.Helper()
	reached := 0
	for _, tr := range task.Transitions() {
		if s.count[nameOf(tr)] > 0 {
			reached++
		}
	}
	t.Logf("sometimes: %d of %d transitions reached", reached, len(task.Transitions()))
	for _, tr := range []task.Transition{
		{Of: task.OfTask, From: task.Processing, To: task.Processed, Cause: task.BecauseCompleted},
		{Of: task.OfTask, From: task.Processing, To: task.Error, Cause: task.BecauseFailed},
		{Of: task.OfTask, From: task.Compensating, To: task.Compensated, Cause: task.BecauseUndone},
		{Of: task.OfTask, From: task.Compensating, To: task.Cancelled, Cause: task.BecauseUndone},
		{Of: task.OfTask, From: task.Compensating, To: task.Error, Cause: task.BecauseUndoFailed},
		{Of: task.OfTask, From: task.Error, To: task.Processing, Cause: task.BecauseResubmitted},
		{Of: task.OfStep, From: task.Processing, To: task.Pending, Cause: task.BecauseParked},
		{Of: task.OfStep, From: task.Processed, To: task.Compensating, Cause: task.BecauseUndo},
		{Of: task.OfStep, From: task.Error, To: task.Compensating, Cause: task.BecauseUndo},
	} {
		if s.count[nameOf(tr)] == 0 {
			t.Errorf("no world reached: %s", nameOf(tr))
		}
	}
	for _, v := range task.Verdicts() {
		if s.count["verdict "+string(v)] == 0 {
			t.Errorf("no world reached verdict %s", v)
		}
	}
}

// TestEveryReachableStateComesToAnEnd takes any state that arbitrary events
// lead to. From there, with agents that answer, signals that come, and the
// Supervisor looking whenever CompleteBy passes, the task ends within a bound.
func TestEveryReachableStateComesToAnEnd(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]func(*world, *rapid.T) task.Event{
		"agents succeed":           (*world).helpful,
		"agents answer anything":   (*world).moody,
		"agents are silent":        (*world).silent,
		"the Supervisor is enough": (*world).lonely,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(rt *rapid.T) {
				w := submitAny(rt, newSightings())
				w.chaos(rt, 40)
				w.drain(rt, next)
			})
		})
	}
}

// drain plays next until the task has ended and owes nothing.
func (w *world) drain(rt *rapid.T, next func(*world, *rapid.T) task.Event) {
	if w.Task.Paused && !isFinal(w.Task.State) {
		w.handle(rt, task.Event{Kind: task.ResumeRequested, By: "one"})
	}
	bound := 20
	for _, s := range w.Flow.Steps {
		tries := s.Retry.Attempts + s.ExtendedWait.Times + 1
		if s.Undo != nil {
			tries += s.Undo.Retry.Attempts + 1
		}
		bound += 8 * tries
	}
	for n := 0; !isFinal(w.Task.State) || w.Task.Owing; n++ {
		if n > bound {
			rt.Fatalf("not at an end after %d events: %+v", n, w.Task)
		}
		e := next(w, rt)
		e.By = tasktest.Pick(rt, "by", "one", "two")
		w.handle(rt, e)
		if w.Task.Owing {
			w.handle(rt, task.Event{Kind: task.Released, By: "one", Version: w.Task.Version})
		}
	}
}

// helpful answers live attempts with success and sends the signals.
func (w *world) helpful(*rapid.T) task.Event {
	if e, found := w.answer(task.Succeeded); found {
		return e
	}
	return w.tick()
}

// moody answers live attempts with anything.
func (w *world) moody(rt *rapid.T) task.Event {
	if e, found := w.answer(tasktest.Pick(rt, "outcome", task.Succeeded, task.FailedTransiently, task.FailedPermanently)); found {
		return e
	}
	return w.tick()
}

// silent never answers.
func (w *world) silent(*rapid.T) task.Event { return w.tick() }

// lonely loses each wake-up but those that the Supervisor sends at once.
func (w *world) lonely(*rapid.T) task.Event {
	w.wakes = slices.DeleteFunc(w.wakes, func(at task.Millis) bool { return at != task.At(w.Now) })
	return w.tick()
}

func (w *world) answer(outcome task.Outcome) (task.Event, bool) {
	for i, s := range w.Task.Steps {
		switch step := w.Flow.Steps[i]; {
		case s.LockedBy == "":
		case step.Agent != "":
			return task.Event{
				Kind: task.Replied, Step: s.Name, Attempt: s.Attempt, LockedBy: s.LockedBy,
				Undo: s.State == task.Compensating, Outcome: outcome,
			}, true
		case step.Signal != "":
			return task.Event{Kind: task.Signalled, Signal: step.Signal}, true
		}
	}
	return task.Event{}, false
}

// tick goes on to the next thing that time brings: a wake-up or, when CompleteBy
// passes, the Supervisor.
func (w *world) tick() task.Event {
	next, kind, at := w.Task.CompleteBy, task.Overdue, -1
	for i, wake := range w.wakes {
		if wake <= next {
			next, kind, at = wake, task.Woken, i
		}
	}
	if at >= 0 {
		w.wakes = slices.Delete(w.wakes, at, at+1)
	}
	if due := next.Time(); due.After(w.Now) {
		w.Now = due
	}
	return task.Event{Kind: kind, Unsourced: true}
}

// TestSeventyTwoHoursOfRetriesAndWaitsRunInMilliseconds: three days of outage,
// of which only the events cost time.
func TestSeventyTwoHoursOfRetriesAndWaitsRunInMilliseconds(t *testing.T) {
	t.Parallel()
	s := &script{t: t, seen: newSightings()}
	s.start(short(flow(
		work("reserve"), timer("cool off", 24*time.Hour), work("charge", attempts(3), parks(time.Hour, 60, task.OnCompensate)),
	), 96*time.Hour, task.OnError))
	s.ok("reserve")
	for s.task.State == task.Processing {
		if s.now = s.task.CompleteBy.Time(); s.now.Sub(noon()) >= 72*time.Hour && s.step("charge").LockedBy != "" {
			s.ok("charge")
			break
		}
		s.overdue()
		s.woken()
	}
	if took := s.now.Sub(noon()); took < 72*time.Hour {
		t.Errorf("the task took %v, want 72h at least", took)
	}
	equal(s, "end", s.task.State, task.Processed)
	equal(s, "hours parked", s.step("charge").Waits > 40, true)
}
