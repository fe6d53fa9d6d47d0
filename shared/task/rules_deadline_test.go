package task_test

import (
	"time"

	"triad/shared/task"
)

// short gives a definition a deadline of its own and what happens then.
func short(w task.Workflow, within time.Duration, then task.OnExhausted) task.Workflow {
	w.CompleteWithin, w.OnOverdue = within, then
	return w
}

func deadlineRules() []rule {
	return []rule{
		{"an attempt never outlives the task's deadline", func(s *script) {
			s.start(short(sequence("a"), 5*time.Second, task.OnError))
			equal(s, "attempt ends", s.step("a").CompleteBy, s.in(5*time.Second))
		}},
		{"the deadline passes: the task ends in Error", func(s *script) {
			s.start(short(sequence("a", "b"), time.Minute, task.OnError))
			s.ok("a")
			s.heartbeat("b", time.Hour)
			s.after(time.Minute).overdue()
			s.want("Error: a Processed#1, b Pending#1 x1")
		}},
		{"what happens at the deadline wins over a lesser end of the step it cuts", func(s *script) {
			s.start(short(flow(work("a"), work("b", attempts(1), within(time.Hour))), time.Minute, task.OnCompensate))
			s.ok("a")
			s.after(time.Minute).overdue()
			s.want("Compensating: a Processed#1, b Error#1 x1")
		}},
		{"a task that was failing before its deadline goes on failing", func(s *script) {
			s.start(short(flow(work("a"), work("b", after())), time.Minute, task.OnCompensate))
			s.refuses("a")
			s.after(time.Minute).overdue()
			s.want("Error: a Error#1 x1, b Error#1 x1")
		}},
		{"the deadline passes for good, whatever the retries say", func(s *script) {
			s.start(short(flow(work("a", within(time.Hour))), time.Minute, task.OnError))
			s.after(time.Minute).overdue()
			s.want("Error: a Pending#1 x1")
			s.sends("wake later", "tell Error", "alert")
			equal(s, "reason", s.task.Reason, "the task's own deadline has passed")
		}},
		{"the deadline passes: the task is undone when it says so", func(s *script) {
			s.start(short(flow(work("a"), awaits("paid", within(time.Hour))), time.Minute, task.OnCompensate))
			s.ok("a")
			s.after(time.Minute).overdue()
			s.want("Compensating: a Processed#1, paid Error#1 x1")
			s.sends("wake")
			s.woken()
			s.sends("undo a#2")
		}},
		{"a held task is never forgotten: its deadline passes", func(s *script) {
			s.held(short(sequence("a"), time.Minute, task.OnError))
			s.after(time.Minute).overdue()
			s.want("Error: a Pending")
		}},
		{"a held task that is undone has nothing to undo", func(s *script) {
			s.held(short(sequence("a"), time.Minute, task.OnCompensate))
			s.after(time.Minute).overdue()
			s.want("Compensated: a Cancelled")
		}},
		{"a live attempt that was extended to the deadline ends with it", func(s *script) {
			s.start(short(sequence("a"), time.Minute, task.OnError))
			s.heartbeat("a", time.Hour)
			s.after(time.Minute).overdue()
			s.want("Error: a Pending#1 x1")
		}},
		{"timers and signals stop when the task fails", func(s *script) {
			s.start(flow(timer("t", time.Hour), awaits("paid", after()), work("a", after())))
			s.refuses("a")
			s.want("Error: t Pending#1, paid Pending#1, a Error#1 x1")
		}},
		{"timers and signals are cancelled when the task is undone", func(s *script) {
			s.start(flow(timer("t", time.Hour), awaits("paid", after()), work("a", after(), compensate)))
			s.refuses("a")
			s.want("Compensated: t Cancelled#1, paid Cancelled#1, a Error#1 x1")
		}},
	}
}

func indexRules() []rule {
	return []rule{
		{"it is the earliest CompleteBy of what is live", func(s *script) {
			s.start(flow(work("a"), work("b", after(), within(time.Second))))
			equal(s, "due", s.task.CompleteBy, s.in(time.Second))
		}},
		{"it does not move when a deadline is later", func(s *script) {
			s.start(flow(work("a", within(time.Second)), work("b", within(time.Hour))))
			due := s.task.CompleteBy
			s.ok("a")
			equal(s, "due", s.task.CompleteBy, due)
		}},
		{"it moves when a deadline is earlier", func(s *script) {
			s.start(flow(work("a", within(time.Hour)), work("b", within(time.Second))))
			s.ok("a")
			equal(s, "due", s.task.CompleteBy, s.in(time.Second))
		}},
		{"it is never later than the task's deadline", func(s *script) {
			s.start(short(flow(timer("t", 48*time.Hour)), time.Hour, task.OnError))
			equal(s, "due", s.task.CompleteBy, s.in(time.Hour))
		}},
		{"it moves on once it has passed", func(s *script) {
			s.start(flow(work("a", within(time.Second)), work("b", within(time.Hour))))
			s.after(2 * time.Second).ok("a")
			equal(s, "due", s.task.CompleteBy, s.in(time.Hour))
		}},
		{"before its time the Supervisor finds that the task has moved on", func(s *script) {
			s.start(sequence("a"))
			s.after(10*time.Second - time.Millisecond).overdue()
			s.verdict(task.Idle, "moved on")
		}},
		{"after the end the Supervisor finds nothing", func(s *script) {
			s.start(sequence("a"))
			s.ok("a")
			s.after(48 * time.Hour).overdue()
			s.verdict(task.Idle, "moved on")
		}},
		{"a retry whose wake-up was sent is looked at half a minute later", func(s *script) {
			s.start(sequence("a"))
			s.fails("a")
			s.after(10 * time.Second).overdue()
			s.sends("wake")
			equal(s, "due", s.task.CompleteBy, s.in(30*time.Second))
			s.after(30 * time.Second).overdue()
			s.sends("wake")
		}},
		{"what is paused is due at the deadline", func(s *script) {
			s.start(short(sequence("a", "b"), time.Hour, task.OnError))
			s.pause()
			s.ok("a")
			s.after(10 * time.Second).overdue()
			equal(s, "due", s.task.CompleteBy, s.task.Deadline)
		}},
		{"a clock that steps back does not put it off", func(s *script) {
			s.start(sequence("a", "b"))
			s.after(-time.Minute).ok("a")
			equal(s, "due", s.task.CompleteBy, s.in(10*time.Second))
		}},
	}
}
