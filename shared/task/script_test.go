package task_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/task"
)

// script drives one task through Decide, as the engines would: each method is
// one event, at the script's own time. Every decision is made twice and watched
// by the monitor, so that each scenario also proves the invariants on its way.
type script struct {
	t     *testing.T
	seen  *sightings
	w     task.Workflow
	watch *monitor
	now   time.Time
	by    string
	task  task.Task
	last  task.Decision
}

// noon is when every script begins.
func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func submission(w task.Workflow) *task.Submission {
	return &task.Submission{
		ID: "order-1", Workflow: w.Ref(), Order: json.RawMessage(`{"total":5}`), ResponseQueue: "app", Tenant: "acme",
	}
}

// start submits the task; its first steps are claimed in the same decision.
func (s *script) start(w task.Workflow) {
	s.t.Helper()
	s.begin(w, task.Event{Kind: task.Submitted, Submission: submission(w)})
}

// held submits the task with nothing claimed.
func (s *script) held(w task.Workflow) {
	s.t.Helper()
	s.begin(w, task.Event{Kind: task.Submitted, Submission: submission(w), Hold: true})
}

func (s *script) begin(w task.Workflow, e task.Event) {
	s.t.Helper()
	s.w, s.watch, s.now, s.by = w, newMonitor(w), noon(), "one"
	s.do(e)
}

// do hands any event to Decide and takes over the record it returns.
func (s *script) do(e task.Event) {
	s.t.Helper()
	if e.By == "" {
		e.By = s.by
	}
	d, err := decideTwice(s.w, s.task, e, s.now)
	if err != nil {
		s.t.Fatalf("%s: %v", e.Kind, err)
	}
	if err := s.watch.check(observation{was: s.task, is: d.Task, e: e, now: task.At(s.now), d: d}); err != nil {
		s.t.Fatalf("%s: %v", e.Kind, err)
	}
	s.seen.add(e.Kind, d)
	s.task, s.last = d.Task, d
}

// after lets time pass.
func (s *script) after(d time.Duration) *script {
	s.now = s.now.Add(d)
	return s
}

// from makes another instance handle what follows.
func (s *script) from(instance string) *script {
	s.by = instance
	return s
}

func (s *script) woken()       { s.t.Helper(); s.do(task.Event{Kind: task.Woken}) }
func (s *script) redelivered() { s.t.Helper(); s.do(task.Event{Kind: task.Redelivered}) }
func (s *script) overdue()     { s.t.Helper(); s.do(task.Event{Kind: task.Overdue, Unsourced: true}) }
func (s *script) released() {
	s.t.Helper()
	s.do(task.Event{Kind: task.Released, Version: s.task.Version})
}
func (s *script) pause()    { s.t.Helper(); s.operator(task.PauseRequested) }
func (s *script) resume()   { s.t.Helper(); s.operator(task.ResumeRequested) }
func (s *script) cancel()   { s.t.Helper(); s.operator(task.CancelRequested) }
func (s *script) undo()     { s.t.Helper(); s.operator(task.UndoRequested) }
func (s *script) resubmit() { s.t.Helper(); s.operator(task.Resubmitted) }

func (s *script) operator(k task.Kind) {
	s.t.Helper()
	s.do(task.Event{Kind: k, Unsourced: true})
}

func (s *script) signal(name, payload string) {
	s.t.Helper()
	s.do(task.Event{Kind: task.Signalled, Signal: name, Output: json.RawMessage(payload)})
}

// reply is an event with the live token of a step: what its agent would send.
func (s *script) reply(step string, outcome task.Outcome) task.Event {
	st, _ := s.task.Step(step)
	return task.Event{
		Kind: task.Replied, Step: step, Attempt: st.Attempt, LockedBy: st.LockedBy,
		Undo: st.State == task.Compensating, Outcome: outcome,
	}
}

func (s *script) ok(steps ...string) {
	s.t.Helper()
	for _, step := range steps {
		s.do(s.reply(step, task.Succeeded))
	}
}

func (s *script) returns(step, output string) {
	s.t.Helper()
	e := s.reply(step, task.Succeeded)
	e.Output = json.RawMessage(output)
	s.do(e)
}

func (s *script) fails(step string) {
	s.t.Helper()
	e := s.reply(step, task.FailedTransiently)
	e.Error = "try later"
	s.do(e)
}

func (s *script) refuses(step string) {
	s.t.Helper()
	e := s.reply(step, task.FailedPermanently)
	e.Error = "no"
	s.do(e)
}

func (s *script) heartbeat(step string, until time.Duration) {
	s.t.Helper()
	e := s.reply(step, "")
	e.Kind, e.CompleteBy = task.Extended, task.At(s.now.Add(until))
	s.do(e)
}

// want compares the record with a line such as
//
//	Processing: a Processed#1, b Pending#2 x2
//
// where #2 is the attempt and x2 the failures counted.
func (s *script) want(line string) {
	s.t.Helper()
	if diff := cmp.Diff(line, lineOf(s.task)); diff != "" {
		s.t.Fatalf("the task (-want +got):\n%s", diff)
	}
}

func lineOf(t task.Task) string {
	var steps []string
	for _, st := range t.Steps {
		line := st.Name + " " + string(st.State)
		if st.Attempt > 0 {
			line += fmt.Sprintf("#%d", st.Attempt)
		}
		if st.FailureCount > 0 {
			line += fmt.Sprintf(" x%d", st.FailureCount)
		}
		steps = append(steps, line)
	}
	return string(t.State) + ": " + strings.Join(steps, ", ")
}

// sends compares what the last decision sends: "a#1" and "undo a#2" are
// requests, "wake" is a wake-up and "wake later" a delayed one, "tell
// Processed" a notice and "alert a" an alert about step a.
func (s *script) sends(want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), sentBy(s.last)); diff != "" {
		s.t.Fatalf("sent (-want +got):\n%s", diff)
	}
}

func sentBy(d task.Decision) []string {
	sent := []string{}
	for _, r := range d.Requests {
		line := fmt.Sprintf("%s#%d", r.Step, r.Attempt)
		if r.Undo {
			line = "undo " + line
		}
		sent = append(sent, line)
	}
	for _, w := range d.Wakes {
		if w.Delay > 0 {
			sent = append(sent, "wake later")
		} else {
			sent = append(sent, "wake")
		}
	}
	for _, n := range d.Notices {
		sent = append(sent, "tell "+n.Status)
	}
	for _, a := range d.Alerts {
		sent = append(sent, strings.TrimSpace("alert "+a.Step))
	}
	return sent
}

func (s *script) verdict(want task.Verdict, why string) {
	s.t.Helper()
	if s.last.Verdict != want || !strings.Contains(s.last.Why, why) {
		s.t.Fatalf("verdict is %s (%s), want %s (… %s …)", s.last.Verdict, s.last.Why, want, why)
	}
}

// step is the state of a step in the record.
func (s *script) step(name string) task.StepState {
	s.t.Helper()
	st, found := s.task.Step(name)
	if !found {
		s.t.Fatalf("the task has no step %s", name)
	}
	return st
}

// equal compares any value of the record with what it should be.
func equal[T any](s *script, what string, got, want T) {
	s.t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// in is the script's time some time from now.
func (s *script) in(d time.Duration) task.Millis { return task.At(s.now.Add(d)) }

// decideTwice is Decide with its purity proved: two calls agree, and the record
// given is left alone.
func decideTwice(w task.Workflow, t task.Task, e task.Event, now time.Time) (task.Decision, error) {
	before := deepCopy(t)
	d, err := task.Decide(w, t, e, now)
	if err != nil {
		return d, err
	}
	again, err := task.Decide(w, deepCopy(t), e, now)
	if err != nil || !reflect.DeepEqual(d, again) {
		return d, fmt.Errorf("decided twice: error %v, difference:\n%s", err, cmp.Diff(d, again))
	}
	if !reflect.DeepEqual(before, t) {
		return d, fmt.Errorf("the record given was changed:\n%s", cmp.Diff(before, t))
	}
	return d, nil
}

func deepCopy(t task.Task) task.Task {
	bytes := func(b json.RawMessage) json.RawMessage {
		if b == nil {
			return nil
		}
		return append(json.RawMessage{}, b...)
	}
	t.Order = bytes(t.Order)
	if t.Steps != nil {
		t.Steps = append([]task.StepState{}, t.Steps...)
	}
	for i := range t.Steps {
		t.Steps[i].Output = bytes(t.Steps[i].Output)
	}
	return t
}
