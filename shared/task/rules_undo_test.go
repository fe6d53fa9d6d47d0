package task_test

import (
	"encoding/json"
	"errors"
	"time"

	"triad/shared/task"
)

// onlyForward is an input that can be made as long as the task goes forward.
func onlyForward(t task.Task) (json.RawMessage, error) {
	if t.Goal != "" {
		return nil, errors.New("too late")
	}
	return json.RawMessage("1"), nil
}

// undoing leads to the undo of a, with b refused.
func (s *script) undoing() {
	s.t.Helper()
	s.start(flow(work("a"), work("b", compensate)))
	s.ok("a")
	s.refuses("b")
	s.want("Compensating: a Compensating#2, b Error#1 x1")
}

func failingUndoRules() []rule {
	return []rule{
		{"a refusal in doubt is undone like what completed", func(s *script) {
			s.start(flow(work("a"), work("b", compensate)))
			s.ok("a")
			e := s.reply("b", task.FailedPermanently)
			e.Doubt = true
			s.do(e)
			s.want("Compensating: a Processed#1, b Compensating#2")
			s.ok("b", "a")
			s.want("Compensated: a Compensated#2, b Compensated#2")
		}},
		{"an undo is tried again after its own wait", func(s *script) {
			s.undoing()
			s.fails("a")
			s.want("Compensating: a Compensating#2 x1, b Error#1 x1")
			s.sends("wake later")
			s.woken()
			s.verdict(task.Idle, "nothing is due")
			s.after(time.Second).woken()
			s.sends("undo a#3")
			s.ok("a")
			s.want("Compensated: a Compensated#3 x1, b Error#1 x1")
		}},
		{"an undo that times out is tried again", func(s *script) {
			s.undoing()
			s.after(20 * time.Second).overdue()
			s.want("Compensating: a Compensating#2 x1, b Error#1 x1")
			s.after(31 * time.Second).overdue()
			s.sends("wake")
			s.woken()
			s.sends("undo a#3")
		}},
		{"an undo at its threshold ends the task in Error with an alert", func(s *script) {
			s.undoing()
			s.fails("a")
			s.after(time.Second).woken()
			s.fails("a")
			s.want("Error: a Error#3 x2, b Error#1 x1")
			s.sends("tell Error", "alert a")
			equal(s, "subject", s.last.Alerts[0].Subject, "Task order-1 ended in Error: undoing step a failed: try later")
		}},
		{"an undo that is refused ends the task in Error with an alert", func(s *script) {
			s.undoing()
			s.refuses("a")
			s.want("Error: a Error#2 x1, b Error#1 x1")
			s.sends("tell Error", "alert a")
		}},
		{"a failed undo stops the undo of what is left", func(s *script) {
			s.start(flow(work("a"), work("b"), work("c", compensate)))
			s.ok("a", "b")
			s.refuses("c")
			s.refuses("b")
			s.want("Error: a Processed#1, b Error#2 x1, c Error#1 x1")
		}},
		{"what an undo returns is not kept, whatever it is", func(s *script) {
			s.undoing()
			s.returns("a", "gone!")
			s.want("Compensated: a Compensated#2, b Error#1 x1")
			equal(s, "outputs", s.last.Outputs, nil)
		}},
		{"an undo without a wait is tried again at once", func(s *script) {
			s.start(flow(work("a", func(st *task.Step) { st.Undo.Retry.First = 0 }), work("b", compensate)))
			s.ok("a")
			s.refuses("b")
			s.fails("a")
			s.sends("undo a#3")
		}},
		{"the alert is about the step whose undo failed", func(s *script) {
			s.start(flow(work("z", noUndo), work("a"), work("b", compensate)))
			s.ok("z", "a")
			s.refuses("b")
			s.refuses("a")
			s.sends("tell Error", "alert a")
		}},
		{"the alert is about the undo also when an earlier step had failed", func(s *script) {
			s.start(flow(work("b", compensate), work("a", after())))
			s.ok("a")
			s.refuses("b")
			s.refuses("a")
			s.sends("tell Error", "alert a")
		}},
	}
}
