package task_test

import (
	"fmt"
	"sync"
	"testing"

	"triad/shared/task"
)

// rule is one scenario; its name is the rule it shows.
type rule struct {
	name string
	run  func(*script)
}

// TestRules plays every scenario, each a sentence of the state machine, and
// then asserts that together they have been everywhere.
func TestRules(t *testing.T) {
	t.Parallel()
	chapters := []struct {
		name  string
		rules []rule
	}{
		{"forward", forwardRules()},
		{"expressions", expressionRules()},
		{"retry", retryRules()},
		{"exhausted", exhaustedRules()},
		{"undo", undoRules()},
		{"failing undo", failingUndoRules()},
		{"replies", replyRules()},
		{"redelivery", redeliveryRules()},
		{"telling", tellingRules()},
		{"timers", timerRules()},
		{"signals", signalRules()},
		{"heartbeats", heartbeatRules()},
		{"deadlines", deadlineRules()},
		{"index", indexRules()},
		{"cancel", cancelRules()},
		{"undo requests", undoRequestRules()},
		{"resubmit", resubmitRules()},
		{"pause", pauseRules()},
	}
	seen, total := newSightings(), 0
	t.Run("the rule", func(t *testing.T) {
		for _, c := range chapters {
			for _, r := range c.rules {
				total++
				t.Run(c.name+"/"+r.name, func(t *testing.T) {
					t.Parallel()
					r.run(&script{t: t, seen: seen})
					seen.finished()
				})
			}
		}
	})
	if seen.played == total { // all of them, not a selection by -run
		seen.assertEverything(t)
	}
}

// sightings is the "sometimes" table: what the scenarios reached, by name.
type sightings struct {
	mu     sync.Mutex
	count  map[string]int
	played int
}

func newSightings() *sightings { return &sightings{count: map[string]int{}} }

func (s *sightings) add(kind task.Kind, d task.Decision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count["event "+string(kind)]++
	s.count["verdict "+string(d.Verdict)]++
	s.count[pairOf(kind, d.Verdict)]++
	for _, m := range d.Moves {
		of := task.OfStep
		if m.Step == "" {
			of = task.OfTask
		}
		s.count[nameOf(task.Transition{Of: of, From: m.From, To: m.To, Cause: m.Cause})]++
	}
}

func (s *sightings) finished() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.played++
}

func nameOf(t task.Transition) string {
	return fmt.Sprintf("%s %q -> %s because %s", t.Of, t.From, t.To, t.Cause)
}

func pairOf(kind task.Kind, v task.Verdict) string { return fmt.Sprintf("%s is %s", kind, v) }

// assertEverything fails for each transition, event and verdict that no
// scenario has reached, and for each answer to an event that none has got.
func (s *sightings) assertEverything(t *testing.T) {
	t.Helper()
	var must []string
	for _, tr := range task.Transitions() {
		must = append(must, nameOf(tr))
	}
	for _, kind := range task.Kinds() {
		must = append(must, "event "+string(kind), pairOf(kind, task.Applied))
	}
	for kind, verdicts := range answers() {
		for _, v := range verdicts {
			must = append(must, pairOf(kind, v))
		}
	}
	for _, name := range must {
		if s.count[name] == 0 {
			t.Errorf("no scenario reaches: %s", name)
		}
	}
	t.Logf("%d scenarios reached all of %d transitions, events and answers", s.played, len(must))
}

// answers lists the verdicts, beside Applied, that each event can get.
func answers() map[task.Kind][]task.Verdict {
	return map[task.Kind][]task.Verdict{
		task.Woken:           {task.Idle},
		task.Redelivered:     {task.Idle, task.Repeated},
		task.Replied:         {task.Stale, task.Duplicate, task.Repeated},
		task.Extended:        {task.Stale, task.Duplicate},
		task.Overdue:         {task.Idle},
		task.CancelRequested: {task.Duplicate, task.Refused},
		task.UndoRequested:   {task.Duplicate, task.Refused},
		task.Resubmitted:     {task.Refused},
		task.PauseRequested:  {task.Duplicate, task.Refused},
		task.ResumeRequested: {task.Duplicate, task.Refused},
		task.Signalled:       {task.Duplicate, task.Refused},
		task.Released:        {task.Duplicate},
	}
}
