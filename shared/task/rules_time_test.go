package task_test

import (
	"encoding/json"
	"time"

	"triad/shared/task"
)

func timerRules() []rule {
	return []rule{
		{"a timer that elapsed in time ends a task that is looked at too late", func(s *script) {
			s.start(short(flow(timer("t", time.Minute)), time.Hour, task.OnError))
			s.after(2 * time.Hour).overdue()
			s.want("Processed: t Processed#1")
		}},
		{"a timer is a claimed step that asks for a wake-up", func(s *script) {
			s.start(flow(timer("t", time.Minute), work("a")))
			s.want("Processing: t Processing#1, a Pending")
			equal(s, "wakes", s.last.Wakes, []task.Wake{{Task: "order-1", Delay: time.Minute}})
		}},
		{"a wake-up before its time does nothing", func(s *script) {
			s.start(flow(timer("t", time.Minute), work("a")))
			s.after(time.Minute - time.Millisecond).woken()
			s.verdict(task.Idle, "nothing is due")
		}},
		{"a wake-up in time ends the timer and goes on", func(s *script) {
			s.start(flow(timer("t", time.Minute), work("a")))
			s.after(time.Minute).woken()
			s.want("Processing: t Processed#1, a Processing#1")
			s.sends("a#1")
		}},
		{"a lost wake-up: the Supervisor ends the timer and asks for the rest", func(s *script) {
			s.start(flow(timer("t", time.Minute), work("a")))
			s.after(time.Minute).overdue()
			s.want("Processing: t Processed#1, a Pending")
			s.sends("wake")
		}},
		{"a timer that is as long as a message can wait asks for a wake-up", func(s *script) {
			s.start(flow(timer("t", 15*time.Minute)))
			s.sends("wake later", "tell Received")
		}},
		{"a timer that is longer than a message can wait is in the index alone", func(s *script) {
			s.start(flow(timer("t", 23*time.Hour)))
			s.sends("tell Received")
			equal(s, "due", s.task.CompleteBy, s.in(23*time.Hour))
			s.after(23 * time.Hour).overdue()
			s.want("Processed: t Processed#1")
		}},
		{"a timer of a failed task starts anew when that is resubmitted", func(s *script) {
			s.start(flow(work("a"), timer("t", time.Minute, after())))
			s.refuses("a")
			s.want("Error: a Error#1 x1, t Pending#1")
			s.after(time.Hour).resubmit()
			s.want("Processing: a Processing#2, t Processing#2")
			equal(s, "elapses", s.step("t").CompleteBy, s.in(time.Minute))
		}},
	}
}

func signalRules() []rule {
	return []rule{
		{"a signal that comes while its step is parked ends the wait", func(s *script) {
			s.start(flow(awaits("paid", parks(time.Hour, 3, task.OnError)), work("a")))
			s.after(time.Minute).overdue()
			s.want("Processing: paid Pending#1 x1, a Pending")
			s.signal("paid", `1`)
			s.want("Processing: paid Processed#2 x1, a Processing#1")
		}},
		{"a signal completes the step that waits for it", func(s *script) {
			s.start(flow(awaits("paid"), work("a")))
			s.want("Processing: paid Processing#1, a Pending")
			s.sends("tell Received")
			s.signal("paid", `{"by":"card"}`)
			s.want("Processing: paid Processed#1, a Processing#1")
			equal(s, "output", string(s.step("paid").Output), `{"by":"card"}`)
		}},
		{"an early signal is kept until its step starts", func(s *script) {
			s.start(flow(work("a"), awaits("paid"), work("b")))
			s.signal("paid", "7")
			s.want("Processing: a Processing#1, paid Pending, b Pending")
			equal(s, "outputs", s.last.Outputs, []task.Output{{Step: "paid", Body: json.RawMessage("7")}})
			s.ok("a")
			s.want("Processing: a Processed#1, paid Processed#1, b Processing#1")
			equal(s, "output", string(s.step("paid").Output), "7")
		}},
		{"an early signal in a held task is kept", func(s *script) {
			s.held(flow(awaits("paid")))
			s.signal("paid", "")
			s.woken()
			s.want("Processed: paid Processed#1")
			equal(s, "no payload", string(s.step("paid").Output), "null")
		}},
		{"the same signal twice counts once", func(s *script) {
			s.start(flow(awaits("paid"), work("a")))
			s.signal("paid", "1")
			s.signal("paid", "2")
			s.verdict(task.Duplicate, "arrived before")
			equal(s, "output", string(s.step("paid").Output), "1")
		}},
		{"a signal that no step waits for is refused", func(s *script) {
			s.start(flow(awaits("paid")))
			s.signal("shipped", "1")
			s.verdict(task.Refused, `no step of order@1 waits for a signal "shipped"`)
			s.signal("", "1")
			s.verdict(task.Refused, "")
		}},
		{"a payload that is not JSON is refused", func(s *script) {
			s.start(flow(awaits("paid")))
			s.signal("paid", "{oops")
			s.verdict(task.Refused, "not JSON")
		}},
		{"a signal for a skipped step is refused", func(s *script) {
			s.start(flow(awaits("paid", when(false)), work("a")))
			s.signal("paid", "1")
			s.verdict(task.Refused, "nothing waits")
		}},
		{"a signal for a task that is ending or has ended is refused", func(s *script) {
			s.start(flow(work("a"), awaits("paid")))
			s.cancel()
			s.signal("paid", "1")
			s.verdict(task.Refused, "nothing waits")
			s.ok("a")
			s.ok("a")
			s.want("Cancelled: a Compensated#2, paid Cancelled")
			s.signal("paid", "1")
			s.verdict(task.Refused, "nothing waits")
		}},
		{"a signal that does not come fails the step, and leaves no doubt", func(s *script) {
			s.start(flow(work("a"), awaits("paid", compensate, func(st *task.Step) { st.Retry.Attempts = 5 })))
			s.ok("a")
			s.after(time.Minute).overdue()
			s.want("Compensating: a Processed#1, paid Error#1 x1")
			equal(s, "error", s.step("paid").Error, "signal paid did not come in time")
			equal(s, "doubt", s.step("paid").Doubt, false)
		}},
		{"a signal that does not come can be waited for some more", func(s *script) {
			s.start(flow(awaits("paid", parks(time.Minute, 1, task.OnError))))
			s.after(time.Minute).overdue()
			s.want("Processing: paid Pending#1 x1")
			s.after(time.Minute).woken()
			s.want("Processing: paid Processing#2 x1")
			s.signal("paid", "1")
			s.want("Processed: paid Processed#2 x1")
		}},
		{"a wait for a signal starts anew when the task is resubmitted", func(s *script) {
			s.start(flow(work("a"), awaits("paid", after())))
			s.refuses("a")
			s.want("Error: a Error#1 x1, paid Pending#1")
			s.resubmit()
			s.want("Processing: a Processing#2, paid Processing#2")
		}},
	}
}

func heartbeatRules() []rule {
	return []rule{
		{"a heartbeat moves the attempt's CompleteBy, and leaves the index early", func(s *script) {
			s.start(sequence("a"))
			s.heartbeat("a", time.Minute)
			s.verdict(task.Applied, "")
			equal(s, "attempt ends", s.step("a").CompleteBy, s.in(time.Minute))
			equal(s, "index", s.task.CompleteBy, s.in(10*time.Second))
		}},
		{"the early look re-arms the index and times nothing out", func(s *script) {
			s.start(sequence("a"))
			s.heartbeat("a", time.Minute)
			s.after(10 * time.Second).overdue()
			s.want("Processing: a Processing#1")
			s.sends()
			equal(s, "index", s.task.CompleteBy, s.in(50*time.Second))
		}},
		{"a heartbeat never goes beyond the task's deadline", func(s *script) {
			s.start(sequence("a"))
			s.heartbeat("a", 48*time.Hour)
			equal(s, "attempt ends", s.step("a").CompleteBy, s.task.Deadline)
		}},
		{"a forward attempt of a cancelled task is bound by the deadline too", func(s *script) {
			s.start(sequence("a"))
			s.cancel()
			s.heartbeat("a", 48*time.Hour)
			equal(s, "attempt ends", s.step("a").CompleteBy, s.task.Deadline)
		}},
		{"a heartbeat that asks for no more changes nothing", func(s *script) {
			s.start(sequence("a"))
			s.heartbeat("a", 10*time.Second)
			s.verdict(task.Duplicate, "")
			s.heartbeat("a", -time.Hour)
			s.verdict(task.Duplicate, "")
		}},
		{"a heartbeat from another attempt is stale", func(s *script) {
			s.start(sequence("a"))
			first := s.reply("a", "")
			first.Kind, first.CompleteBy = task.Extended, s.in(time.Hour)
			s.fails("a")
			s.after(time.Second).woken()
			s.do(first)
			s.verdict(task.Stale, "not from the live attempt")
			first.Step = "z"
			s.do(first)
			s.verdict(task.Stale, "")
		}},
		{"an undo may be extended beyond the deadline", func(s *script) {
			s.undoing()
			s.after(24*time.Hour - time.Second)
			s.heartbeat("a", time.Minute)
			equal(s, "undo ends", s.step("a").CompleteBy, s.in(time.Minute))
		}},
	}
}
