package task_test

import (
	"encoding/json"
	"strings"
	"time"

	"triad/shared/task"
)

func retryRules() []rule {
	return []rule{
		{"a transient failure below the threshold waits for the next attempt", func(s *script) {
			s.start(sequence("a"))
			s.fails("a")
			s.want("Processing: a Pending#1 x1")
			s.sends("wake later")
			equal(s, "error", s.step("a").Error, "try later")
			equal(s, "owner", s.task.LockedBy, "")
		}},
		{"the wake-up comes when the wait is over, and claims", func(s *script) {
			s.start(sequence("a"))
			s.fails("a")
			wait := s.last.Wakes[0].Delay
			s.after(wait - time.Millisecond).woken()
			s.verdict(task.Idle, "nothing is due")
			s.after(time.Millisecond).woken()
			s.want("Processing: a Processing#2 x1")
			s.sends("a#2")
		}},
		{"a timeout counts as a transient failure", func(s *script) {
			s.start(sequence("a"))
			s.after(10 * time.Second).overdue()
			s.want("Processing: a Pending#1 x1")
			equal(s, "error", s.step("a").Error, "no reply to attempt 1 by its CompleteBy")
			equal(s, "doubt", s.step("a").Doubt, true)
		}},
		{"without a first wait the next attempt is claimed in the same decision", func(s *script) {
			s.start(flow(work("a", func(st *task.Step) { st.Retry.First = 0 })))
			s.fails("a")
			s.want("Processing: a Processing#2 x1")
			s.sends("a#2")
		}},
		{"success after failures keeps the count and clears the error", func(s *script) {
			s.start(sequence("a"))
			s.fails("a")
			s.after(time.Second).woken()
			s.ok("a")
			s.want("Processed: a Processed#2 x1")
			equal(s, "error", s.step("a").Error, "")
		}},
		{"at the threshold the step has failed, and so has the task", func(s *script) {
			s.start(sequence("a", "b"))
			s.failUntilGivenUp("a")
			s.want("Error: a Error#3 x3, b Pending")
			s.sends("tell Error", "alert a")
			equal(s, "reason", s.task.Reason, "step a failed: try later")
		}},
		{"of two steps that fail, the first is the reason", func(s *script) {
			s.start(flow(work("a"), work("b", after())))
			s.refuses("b")
			reason := s.task.Reason
			s.refuses("a")
			s.want("Error: a Error#1 x1, b Error#1 x1")
			equal(s, "reason", s.task.Reason, reason)
		}},
		{"of two steps that fail and have the task undone, the first is the reason", func(s *script) {
			s.start(flow(work("a", compensate), work("b", after(), compensate)))
			s.refuses("b")
			reason := s.task.Reason
			s.refuses("a")
			s.want("Compensated: a Error#1 x1, b Error#1 x1")
			equal(s, "reason", s.task.Reason, reason)
		}},
		{"a wait that is as long as a message can wait is looked at some time after its wake-up", func(s *script) {
			s.start(flow(work("a", attempts(1), parks(15*time.Minute, 1, task.OnError))))
			s.after(10 * time.Second).overdue()
			s.sends("wake later")
			equal(s, "due", s.task.CompleteBy, s.in(15*time.Minute+30*time.Second))
		}},
		{"a wait that is longer is looked at when it is over", func(s *script) {
			s.start(flow(work("a", attempts(1), parks(15*time.Minute+time.Millisecond, 1, task.OnError))))
			s.after(10 * time.Second).overdue()
			s.sends()
			equal(s, "due", s.task.CompleteBy, s.in(15*time.Minute+time.Millisecond))
		}},
		{"a permanent failure is not tried again", func(s *script) {
			s.start(sequence("a"))
			s.refuses("a")
			s.want("Error: a Error#1 x1")
			equal(s, "doubt", s.step("a").Doubt, false)
		}},
		{"an output that is not JSON is a permanent failure", func(s *script) {
			s.start(sequence("a"))
			s.returns("a", "{oops")
			s.want("Error: a Error#1 x1")
			equal(s, "error", s.step("a").Error, "output is not JSON")
		}},
		{"an output that is too large is a permanent failure", func(s *script) {
			s.start(sequence("a"))
			s.returns("a", `"`+strings.Repeat("x", task.MaxOutput)+`"`)
			s.want("Error: a Error#1 x1")
			equal(s, "output", s.step("a").Output, nil)
		}},
		{"the largest output is kept", func(s *script) {
			s.start(sequence("a"))
			s.returns("a", `"`+strings.Repeat("x", task.MaxOutput-2)+`"`)
			s.want("Processed: a Processed#1")
		}},
		{"a long error text is cut at a character", func(s *script) {
			s.start(sequence("a"))
			e := s.reply("a", task.FailedPermanently)
			e.Error = strings.Repeat("é", task.MaxError)
			s.do(e)
			equal(s, "error", s.step("a").Error, strings.Repeat("é", 78)+"…")
			equal(s, "reason is cut too", len(s.task.Reason) <= task.MaxError, true)
		}},
		{"an error text that just fits is kept", func(s *script) {
			s.start(sequence("a"))
			e := s.reply("a", task.FailedPermanently)
			e.Error = strings.Repeat("x", task.MaxError)
			s.do(e)
			equal(s, "error", s.step("a").Error, e.Error)
		}},
		{"an error text that is none is cut all the same", func(s *script) {
			s.start(sequence("a"))
			e := s.reply("a", task.FailedPermanently)
			e.Error = strings.Repeat("\x80", task.MaxError+1)
			s.do(e)
			equal(s, "error", s.step("a").Error, "…")
		}},
		{"other live steps end before the task fails", func(s *script) {
			s.start(flow(work("a"), work("b", after()), work("c", after()), work("d", after(1))))
			s.refuses("a")
			s.want("Processing: a Error#1 x1, b Processing#1, c Processing#1, d Pending")
			s.ok("b")
			s.want("Processing: a Error#1 x1, b Processed#1, c Processing#1, d Pending")
			s.fails("c")
			s.want("Error: a Error#1 x1, b Processed#1, c Error#1 x1, d Pending")
			s.sends("tell Error", "alert a")
		}},
	}
}

// failUntilGivenUp lets a step fail transiently at each of its attempts.
func (s *script) failUntilGivenUp(step string) {
	s.t.Helper()
	for s.step(step).State != task.Error {
		s.fails(step)
		if due := s.step(step).CompleteBy; s.step(step).State == task.Pending {
			s.after(due.Until(task.At(s.now))).woken()
		}
	}
}

func exhaustedRules() []rule {
	return []rule{
		{"error: ends in Error with one alert", func(s *script) {
			s.start(flow(work("a"), work("b", attempts(1))))
			s.ok("a")
			s.fails("b")
			s.want("Error: a Processed#1, b Error#1 x1")
			s.sends("tell Error", "alert b")
		}},
		{"compensate: what is done is undone", func(s *script) {
			s.start(flow(work("a"), work("b", attempts(1), compensate, noUndo)))
			s.ok("a")
			s.fails("b")
			s.want("Compensating: a Compensating#2, b Error#1 x1")
			s.ok("a")
			s.want("Compensated: a Compensated#2, b Error#1 x1")
			s.sends("tell Compensated")
		}},
		{"compensate with nothing done: ends at once", func(s *script) {
			s.start(flow(work("a", compensate), work("b")))
			s.refuses("a")
			s.want("Compensated: a Error#1 x1, b Cancelled")
		}},
		{"wait: parked, tried once, parked again, then what comes after", func(s *script) {
			s.start(flow(work("a", attempts(2), parks(time.Hour, 2, task.OnError))))
			s.fails("a")
			s.after(time.Second).woken()
			s.fails("a")
			s.want("Processing: a Pending#2 x2")
			s.sends() // an hour is longer than a message can wait: the index has it
			equal(s, "due", s.task.CompleteBy <= s.in(time.Hour), true)
			s.after(time.Hour).overdue()
			s.sends("wake")
			s.woken()
			s.fails("a")
			s.want("Processing: a Pending#3 x3")
			s.after(time.Hour).woken()
			s.fails("a")
			s.want("Error: a Error#4 x4")
		}},
		{"wait, then compensate", func(s *script) {
			s.start(flow(work("a"), work("b", attempts(1), parks(time.Minute, 1, task.OnCompensate))))
			s.ok("a")
			s.fails("b")
			s.sends("wake later")
			equal(s, "the whole of it, without jitter", s.last.Wakes[0].Delay, time.Minute)
			s.after(time.Minute).woken()
			s.fails("b")
			s.want("Compensating: a Processed#1, b Compensating#3")
		}},
		{"wait: the service is back, and the task goes on", func(s *script) {
			s.start(flow(work("a", attempts(1), parks(time.Hour, 24, task.OnError)), work("b")))
			s.fails("a")
			s.after(time.Hour).woken()
			s.ok("a")
			s.want("Processing: a Processed#2 x1, b Processing#1")
		}},
		{"a permanent failure never waits", func(s *script) {
			s.start(flow(work("a", parks(time.Hour, 24, task.OnError))))
			s.refuses("a")
			s.want("Error: a Error#1 x1")
		}},
		{"a permanent failure takes what comes after the wait", func(s *script) {
			s.start(flow(work("a"), work("b", parks(time.Hour, 24, task.OnCompensate))))
			s.ok("a")
			s.refuses("b")
			s.want("Compensating: a Compensating#2, b Error#1 x1")
		}},
		{"compensate wins over the error of a step that failed before", func(s *script) {
			s.start(flow(work("a"), work("b", after(0)), work("c", after(0), compensate)))
			s.ok("a")
			s.refuses("b")
			s.want("Processing: a Processed#1, b Error#1 x1, c Processing#1")
			s.refuses("c")
			s.want("Compensating: a Compensating#2, b Error#1 x1, c Error#1 x1")
		}},
		{"error does not win over compensate", func(s *script) {
			s.start(flow(work("a"), work("b", after(0), compensate), work("c", after(0))))
			s.ok("a")
			s.refuses("b")
			s.refuses("c")
			s.want("Compensating: a Compensating#2, b Error#1 x1, c Error#1 x1")
		}},
	}
}

func undoRules() []rule {
	return []rule{
		{"undo goes from the latest end to the earliest, one step at a time", func(s *script) {
			s.start(flow(work("a"), work("b", after()), work("c", after()), work("d", after(0, 1, 2), compensate)))
			s.ok("b", "c", "a")
			s.refuses("d")
			s.sends("undo a#2")
			s.ok("a")
			s.sends("undo c#2")
			s.ok("c")
			s.sends("undo b#2")
			s.ok("b")
			s.want("Compensated: a Compensated#2, b Compensated#2, c Compensated#2, d Error#1 x1")
			s.sends("tell Compensated")
		}},
		{"order of completion is by commits, not by clocks", func(s *script) {
			s.start(flow(work("a"), work("b", after()), work("c", compensate)))
			s.ok("a")
			s.after(-time.Minute).ok("b")
			s.refuses("c")
			s.sends("undo b#2")
		}},
		{"of ends in one commit, the step that stands last is undone first", func(s *script) {
			s.start(flow(work("a", attempts(1), compensate), work("b", after(), attempts(1))))
			s.after(10 * time.Second).overdue()
			s.woken()
			s.sends("undo b#2")
			s.ok("b")
			s.sends("undo a#2")
		}},
		{"steps without undo are left as they are", func(s *script) {
			s.start(flow(work("a"), work("b", noUndo), work("c", compensate)))
			s.ok("a", "b")
			s.refuses("c")
			s.sends("undo a#2")
			s.ok("a")
			s.want("Compensated: a Compensated#2, b Processed#1, c Error#1 x1")
		}},
		{"a step that timed out is in doubt, and undone", func(s *script) {
			s.start(flow(work("a", attempts(1), compensate)))
			s.after(10 * time.Second).overdue()
			s.want("Compensating: a Error#1 x1")
			s.sends("wake")
			s.woken()
			s.want("Compensating: a Compensating#2")
			s.sends("undo a#2")
		}},
		{"a step that failed transiently is in doubt, and undone", func(s *script) {
			s.start(flow(work("a", attempts(1), compensate)))
			s.fails("a")
			s.sends("undo a#2")
		}},
		{"doubt about an early attempt outlasts a later refusal", func(s *script) {
			s.start(flow(work("a", compensate)))
			s.fails("a")
			s.after(time.Second).woken()
			s.refuses("a")
			s.sends("undo a#3")
		}},
		{"a step in doubt that waits for its next attempt is undone", func(s *script) {
			s.start(flow(work("a"), work("b", after(), compensate)))
			s.fails("a")
			s.refuses("b")
			s.want("Compensating: a Compensating#2, b Error#1 x1")
		}},
		{"a success whose output can't be kept has an effect, and is undone", func(s *script) {
			s.start(flow(work("a", compensate)))
			s.returns("a", "{oops")
			s.want("Compensating: a Compensating#2")
			s.sends("undo a#2")
		}},
		{"the undo carries the output, its own key and deadline", func(s *script) {
			s.start(flow(work("a"), work("b", compensate)))
			s.returns("a", `{"id":7}`)
			s.refuses("b")
			r := s.last.Requests[0]
			equal(s, "request", r, task.Request{
				Task: "order-1", Workflow: "order@1", Step: "a", Agent: "a-agent", Undo: true, Attempt: 2, LockedBy: "one",
				CompleteBy: s.in(20 * time.Second), Key: "order-1/a", Tenant: "acme",
				Input: json.RawMessage(`{"total":5}`), Output: json.RawMessage(`{"id":7}`),
			})
			equal(s, "key", r.IdempotencyKey(), "order-1/a/undo")
		}},
		{"the undo waits for live steps, and undoes them too", func(s *script) {
			s.start(flow(work("a"), work("b", after(), compensate)))
			s.refuses("b")
			s.want("Processing: a Processing#1, b Error#1 x1")
			s.sends()
			s.ok("a")
			s.want("Compensating: a Compensating#2, b Error#1 x1")
		}},
		{"undo is not bound by the task's deadline", func(s *script) {
			w := flow(work("a"), work("b", compensate, within(time.Hour)))
			w.CompleteWithin = time.Minute
			s.start(w)
			s.ok("a")
			s.after(59 * time.Second).refuses("b")
			equal(s, "undo ends", s.step("a").CompleteBy, s.in(20*time.Second))
		}},
		{"the input can't be made any more: undone by key alone", func(s *script) {
			s.start(flow(work("a", input(onlyForward)), work("b", compensate)))
			s.ok("a")
			s.refuses("b")
			s.sends("undo a#2")
			equal(s, "input", s.last.Requests[0].Input, nil)
			s.from("two").redelivered()
			s.sends("undo a#2")
		}},
	}
}
