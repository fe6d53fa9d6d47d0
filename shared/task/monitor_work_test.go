package task_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"triad/shared/task"
)

// place is where a step stands in the definition, or -1.
func (m *monitor) place(step string) int {
	for i := range m.w.Steps {
		if m.w.Steps[i].Name == step {
			return i
		}
	}
	return -1
}

// tokenLives reports whether an event shows the token of a live attempt.
func (m *monitor) tokenLives(o observation) bool {
	i := m.place(o.e.Step)
	if i < 0 || m.w.Steps[i].Agent == "" {
		return false
	}
	s := o.was.Steps[i]
	undoing := s.State == task.Compensating
	return s.LockedBy != "" && s.LockedBy == o.e.LockedBy && s.Attempt == o.e.Attempt && undoing == o.e.Undo
}

// keepable reports whether an output can be kept in the record.
func keepable(output json.RawMessage) bool {
	return len(output) == 0 || len(output) <= task.MaxOutput && json.Valid(output)
}

// replies: exactly those with the live token are accepted, once an attempt.
// What they say about effects is noted for the rules of undo.
func (m *monitor) replies(o observation) error {
	if o.e.Kind != task.Replied {
		return nil
	}
	lives := m.tokenLives(o)
	if lives != o.d.Changed {
		return fmt.Errorf("token is live: %v, verdict: %s", lives, o.d.Verdict)
	}
	if !lives {
		return nil
	}
	key := token{o.e.Step, o.e.Attempt}
	if m.accepted[key] {
		return fmt.Errorf("a second reply to attempt %d of step %s is accepted", o.e.Attempt, o.e.Step)
	}
	m.accepted[key] = true
	if o.e.Undo {
		if o.e.Outcome == task.Succeeded {
			if m.undone[o.e.Step] {
				return fmt.Errorf("step %s is undone twice", o.e.Step)
			}
			m.undone[o.e.Step] = true
		}
		return nil
	}
	m.endedIn[o.e.Step] = m.commits
	switch {
	case o.e.Outcome == task.Succeeded && keepable(o.e.Output):
		m.done[o.e.Step] = true
	case o.e.Outcome != task.FailedPermanently || o.e.Doubt:
		m.doubt[o.e.Step] = true // also when a success can't be kept: its effect is there
	}
	return nil
}

// late lists the attempts that an Overdue event ends without an answer.
func (m *monitor) late(o observation) []task.StepState {
	var late []task.StepState
	if o.e.Kind != task.Overdue || !o.d.Changed || isFinal(o.was.State) {
		return nil
	}
	for i, s := range o.was.Steps {
		// A wait for a signal that another late step stops has not failed itself.
		stopped := m.w.Steps[i].Signal != "" && slices.ContainsFunc(o.d.Moves, func(mv task.Move) bool {
			return mv.Step == s.Name && mv.From == task.Processing && mv.Cause == task.BecauseEnding
		})
		if s.LockedBy != "" && s.CompleteBy <= o.now && m.w.Steps[i].Wait == 0 && !stopped {
			late = append(late, s)
		}
	}
	return late
}

// counts: a failure count is the number of failed and timed-out attempts since
// the step started, was resubmitted or began to be undone, and is bounded.
func (m *monitor) counts(o observation) error {
	if o.e.Kind == task.Replied && o.d.Changed {
		effect := o.e.Undo || keepable(o.e.Output)
		if o.e.Outcome != task.Succeeded || !effect {
			m.failures[o.e.Step]++
		}
	}
	for _, s := range m.late(o) {
		m.failures[s.Name]++
		if s.State == task.Processing && m.w.Steps[m.place(s.Name)].Agent != "" {
			m.doubt[s.Name], m.endedIn[s.Name] = true, m.commits
		}
	}
	if o.e.Kind == task.Resubmitted && o.d.Changed && o.was.Goal == task.Error {
		for _, s := range o.was.Steps {
			if s.State == task.Pending || s.State == task.Error {
				m.failures[s.Name] = 0
			}
		}
	}
	for _, mv := range o.d.Moves {
		if mv.Step != "" && mv.To == task.Compensating {
			m.failures[mv.Step] = 0
		}
	}
	sum := 0
	for i, s := range o.is.Steps {
		sum += s.FailureCount
		if s.FailureCount != m.failures[s.Name] {
			return fmt.Errorf("step %s counts %d failures, %d were seen", s.Name, s.FailureCount, m.failures[s.Name])
		}
		if most := mostFailures(m.w.Steps[i], s.Undo); s.FailureCount > most {
			return fmt.Errorf("step %s has %d failures, at most %d are defined", s.Name, s.FailureCount, most)
		}
	}
	if sum != o.is.FailureCount {
		return fmt.Errorf("the task counts %d failures, its steps %d", o.is.FailureCount, sum)
	}
	return nil
}

func mostFailures(step task.Step, undoing bool) int {
	most := step.Retry.Attempts
	if undoing {
		return max(step.Undo.Retry.Attempts, 1)
	}
	if step.Signal != "" {
		most = 1
	}
	if step.OnExhausted == task.OnWait {
		most += step.ExtendedWait.Times
	}
	return max(most, 1)
}

// claimedNow lists the requests of attempts that this decision claimed.
func claimedNow(o observation) []task.Request {
	var claimed []task.Request
	for _, r := range o.d.Requests {
		was, found := o.was.Step(r.Step)
		if !found || r.Attempt > was.Attempt {
			claimed = append(claimed, r)
		}
	}
	return claimed
}

// starts: a forward attempt is claimed only while the task has no other goal,
// isn't paused, when all steps before it are done, and never once it was done.
func (m *monitor) starts(o observation) error {
	if o.d.Changed && (o.e.Kind == task.CancelRequested || o.e.Kind == task.UndoRequested) {
		m.ended = true
	}
	for i, s := range o.is.Steps {
		attempt := 0
		if len(o.was.Steps) > 0 {
			attempt = o.was.Steps[i].Attempt
		}
		if s.Attempt == attempt || s.Undo {
			continue
		}
		switch {
		case m.ended:
			return fmt.Errorf("step %s starts after an acknowledged cancel", s.Name)
		case o.was.Goal != "" && o.e.Kind != task.Resubmitted:
			return fmt.Errorf("step %s starts while the task's goal is %s", s.Name, o.was.Goal)
		case o.was.Paused && o.e.Kind != task.ResumeRequested:
			return fmt.Errorf("step %s starts while the task is paused", s.Name)
		case o.e.Kind == task.Overdue:
			return fmt.Errorf("the Supervisor starts step %s", s.Name)
		case m.forward[s.Name] > 0:
			return fmt.Errorf("step %s starts again after it was done", s.Name)
		case len(o.was.Steps) > 0 && o.was.Steps[i].State == task.Pending && o.was.Steps[i].CompleteBy > o.now &&
			o.e.Kind != task.Resubmitted && o.e.Kind != task.Signalled:
			return fmt.Errorf("step %s starts before its time", s.Name)
		}
		if want := m.due(i, o); s.LockedBy != "" && s.CompleteBy != want {
			return fmt.Errorf("step %s starts with CompleteBy %d, want %d", s.Name, s.CompleteBy, want)
		}
	}
	return m.order(o)
}

// order replays the moves: at the moment of a claim all steps before it are
// done, and no step is done twice.
func (m *monitor) order(o observation) error {
	of := map[string]task.State{}
	for _, s := range o.was.Steps {
		of[s.Name] = s.State
	}
	for _, mv := range o.d.Moves {
		if mv.Step != "" && mv.To == task.Processing {
			for _, p := range m.w.Steps[m.place(mv.Step)].After {
				if before := m.w.Steps[p].Name; of[before] != task.Processed && of[before] != task.Skipped {
					return fmt.Errorf("step %s starts after step %s, which is %s", mv.Step, before, of[before])
				}
			}
		}
		if mv.Step != "" && mv.To == task.Processed {
			if m.forward[mv.Step]++; m.forward[mv.Step] > 1 {
				return fmt.Errorf("step %s is done a second time", mv.Step)
			}
		}
		of[mv.Step] = mv.To
	}
	return nil
}

// due is the CompleteBy of a forward attempt that starts now.
func (m *monitor) due(i int, o observation) task.Millis {
	step := m.w.Steps[i]
	if step.Wait > 0 {
		return o.now + task.Millis(step.Wait/time.Millisecond)
	}
	return min(o.now+task.Millis(step.CompleteWithin/time.Millisecond), o.is.Deadline)
}

// requests: one for each attempt claimed of an agent's step, true to the
// record; said again, it is the same but for an extended CompleteBy.
func (m *monitor) requests(o observation) error {
	asked := map[token]bool{}
	for _, r := range o.d.Requests {
		key := token{r.Step, r.Attempt}
		s, found := o.is.Step(r.Step)
		step := m.w.Steps[m.place(r.Step)]
		want := task.Request{
			Task: o.is.ID, Workflow: o.is.Workflow, Step: s.Name, Agent: step.Agent, Undo: s.State == task.Compensating,
			Attempt: s.Attempt, LockedBy: s.LockedBy, CompleteBy: s.CompleteBy,
			Key: string(o.is.ID) + "/" + s.Name, Input: r.Input, Tenant: o.is.Tenant,
		}
		if want.Undo {
			want.Output = s.Output
		}
		if !found || asked[key] || !reflect.DeepEqual(want, r) {
			return fmt.Errorf("asked twice: %v, or not what the record says: got %+v, want %+v", asked[key], r, want)
		}
		asked[key] = true
		if before, again := m.asked[key]; again {
			before.CompleteBy = r.CompleteBy
			if !reflect.DeepEqual(before, r) {
				return fmt.Errorf("said again and differs: got %+v, want %+v", r, before)
			}
			if o.e.Kind != task.Redelivered && !o.e.Redelivery {
				return fmt.Errorf("attempt %d of step %s is asked for again without need", r.Attempt, r.Step)
			}
		}
		m.asked[key] = r
	}
	for i, s := range o.is.Steps {
		key := token{s.Name, s.Attempt}
		if _, ever := m.asked[key]; s.LockedBy != "" && m.w.Steps[i].Agent != "" && !ever {
			return fmt.Errorf("attempt %d of step %s is live and was never asked for", s.Attempt, s.Name)
		}
	}
	return nil
}
