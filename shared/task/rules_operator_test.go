package task_test

import (
	"time"

	"triad/shared/task"
)

func cancelRules() []rule {
	return []rule{
		{"with nothing done: ends at once", func(s *script) {
			s.held(sequence("a", "b"))
			s.cancel()
			s.want("Cancelled: a Cancelled, b Cancelled")
			s.sends("tell Cancelled")
			equal(s, "reason", s.task.Reason, "cancelled")
		}},
		{"while an attempt is live: that one ends, then it is undone", func(s *script) {
			s.start(sequence("a", "b"))
			s.cancel()
			s.want("Processing: a Processing#1, b Cancelled")
			s.sends()
			s.ok("a")
			s.want("Compensating: a Compensating#2, b Cancelled")
			s.sends("undo a#2")
			s.ok("a")
			s.want("Cancelled: a Compensated#2, b Cancelled")
			s.sends("tell Cancelled")
		}},
		{"while an attempt is live that is refused: nothing to undo", func(s *script) {
			s.start(sequence("a", "b"))
			s.cancel()
			s.refuses("a")
			s.want("Cancelled: a Error#1 x1, b Cancelled")
		}},
		{"while an attempt is live that fails: not tried again, but undone", func(s *script) {
			s.start(sequence("a", "b"))
			s.cancel()
			s.fails("a")
			s.want("Compensating: a Compensating#2, b Cancelled")
		}},
		{"while an attempt is live that times out: undone", func(s *script) {
			s.start(sequence("a", "b"))
			s.cancel()
			s.after(10 * time.Second).overdue()
			s.want("Compensating: a Error#1 x1, b Cancelled")
			s.sends("wake")
		}},
		{"while a step waits for its next attempt: undone at once", func(s *script) {
			s.start(sequence("a"))
			s.fails("a")
			s.cancel()
			s.want("Compensating: a Compensating#2")
			s.sends("undo a#2")
		}},
		{"a timer and a signal are cancelled with the task", func(s *script) {
			s.start(flow(timer("t", time.Hour), awaits("paid", after())))
			s.cancel()
			s.want("Cancelled: t Cancelled#1, paid Cancelled#1")
		}},
		{"keeps the operator's reason", func(s *script) {
			s.held(sequence("a"))
			s.do(task.Event{Kind: task.CancelRequested, Reason: "ann: ordered twice", Unsourced: true})
			equal(s, "reason", s.last.Notices[0].Reason, "ann: ordered twice")
		}},
		{"twice is once", func(s *script) {
			s.start(sequence("a"))
			s.cancel()
			s.cancel()
			s.verdict(task.Duplicate, "on its way there")
			s.ok("a")
			s.ok("a")
			s.cancel()
			s.verdict(task.Duplicate, "")
		}},
		{"of a task that is failing wins", func(s *script) {
			s.start(flow(work("a"), work("b", after())))
			s.refuses("a")
			s.cancel()
			s.ok("b")
			s.want("Compensating: a Error#1 x1, b Compensating#2")
			s.ok("b")
			s.want("Cancelled: a Error#1 x1, b Compensated#2")
		}},
		{"of a task that is being undone is refused", func(s *script) {
			s.undoing()
			s.cancel()
			s.verdict(task.Refused, "on its way to Compensated")
		}},
		{"of a processed task is refused", func(s *script) {
			s.start(sequence("a"))
			s.ok("a")
			s.cancel()
			s.verdict(task.Refused, "the task is Processed")
		}},
		{"of a failed task is refused", func(s *script) {
			s.start(sequence("a"))
			s.refuses("a")
			s.cancel()
			s.verdict(task.Refused, "resubmit it, or have it undone")
		}},
		{"of a cancelled task whose undo failed is refused", func(s *script) {
			s.start(sequence("a"))
			s.cancel()
			s.ok("a")
			s.refuses("a")
			s.want("Error: a Error#2 x1")
			s.cancel()
			s.verdict(task.Refused, "resubmit it")
		}},
	}
}

func undoRequestRules() []rule {
	return []rule{
		{"of a running task: live steps end, then all is undone", func(s *script) {
			s.start(sequence("a", "b"))
			s.ok("a")
			s.undo()
			s.want("Processing: a Processed#1, b Processing#1")
			s.ok("b")
			s.sends("undo b#2")
			s.ok("b")
			s.ok("a")
			s.want("Compensated: a Compensated#2, b Compensated#2")
		}},
		{"of a failed task: what was done is undone", func(s *script) {
			s.start(sequence("a", "b", "c"))
			s.ok("a")
			s.refuses("b")
			s.after(time.Hour).undo()
			s.want("Compensating: a Compensating#2, b Error#1 x1, c Cancelled")
			s.sends("undo a#2")
			equal(s, "ended", s.task.EndedAt, 0)
			s.ok("a")
			s.want("Compensated: a Compensated#2, b Error#1 x1, c Cancelled")
			s.sends("tell Compensated")
		}},
		{"of a failed task in doubt: the failed step is undone", func(s *script) {
			s.start(flow(work("a", attempts(1))))
			s.fails("a")
			s.want("Error: a Error#1 x1")
			s.undo()
			s.sends("undo a#2")
		}},
		{"of a failed task with nothing done: ends at once", func(s *script) {
			s.start(sequence("a"))
			s.refuses("a")
			s.undo()
			s.want("Compensated: a Error#1 x1")
			s.sends("tell Compensated")
		}},
		{"twice is once", func(s *script) {
			s.undoing()
			s.undo()
			s.verdict(task.Duplicate, "on its way there")
		}},
		{"of a task whose undo has failed is refused", func(s *script) {
			s.undoing()
			s.refuses("a")
			s.undo()
			s.verdict(task.Refused, "resubmit it to try the undo again")
		}},
		{"of a cancelled task whose undo has failed is refused", func(s *script) {
			s.start(sequence("a"))
			s.cancel()
			s.ok("a")
			s.refuses("a")
			s.undo()
			s.verdict(task.Refused, "resubmit it to try the undo again")
		}},
		{"of a task that is being cancelled is refused", func(s *script) {
			s.start(sequence("a"))
			s.cancel()
			s.undo()
			s.verdict(task.Refused, "on its way to Cancelled")
		}},
		{"of a processed task is refused", func(s *script) {
			s.start(sequence("a"))
			s.ok("a")
			s.undo()
			s.verdict(task.Refused, "the task is Processed")
		}},
	}
}

func resubmitRules() []rule {
	return []rule{
		{"goes on from the failed step: counts and deadline reset, attempt goes on", func(s *script) {
			s.start(sequence("a", "b"))
			s.ok("a")
			s.failUntilGivenUp("b")
			s.want("Error: a Processed#1, b Error#3 x3")
			s.after(100 * time.Hour).resubmit()
			s.want("Processing: a Processed#1, b Processing#4")
			s.sends("b#4")
			equal(s, "deadline", s.task.Deadline, s.in(24*time.Hour))
			equal(s, "resubmits", s.task.Resubmits, 1)
			equal(s, "reason", s.task.Reason, "")
			s.failUntilGivenUp("b")
			s.want("Error: a Processed#1, b Error#6 x3")
		}},
		{"extended waits are counted anew", func(s *script) {
			s.start(flow(work("a", attempts(1), parks(time.Minute, 1, task.OnError))))
			s.failUntilGivenUp("a")
			s.want("Error: a Error#2 x2")
			s.resubmit()
			s.fails("a")
			s.want("Processing: a Pending#3 x1")
		}},
		{"starts every failed step and those that waited for a retry", func(s *script) {
			s.start(flow(work("a"), work("b", after())))
			s.fails("b")
			s.refuses("a")
			s.want("Error: a Error#1 x1, b Pending#1 x1")
			s.resubmit()
			s.want("Processing: a Processing#2, b Processing#2")
		}},
		{"asks when again, if the step had never started", func(s *script) {
			s.start(flow(work("a", whenFails)))
			s.resubmit()
			s.want("Error: a Error")
			s.sends("tell Error", "alert a")
		}},
		{"doubt outlasts a resubmission", func(s *script) {
			s.start(flow(work("a", attempts(1))))
			s.fails("a")
			s.resubmit()
			s.refuses("a")
			s.undo()
			s.sends("undo a#3")
		}},
		{"tries a failed undo again", func(s *script) {
			s.undoing()
			s.refuses("a")
			s.resubmit()
			s.want("Compensating: a Compensating#3, b Error#1 x1")
			s.sends("undo a#3")
			s.ok("a")
			s.want("Compensated: a Compensated#3, b Error#1 x1")
		}},
		{"from a shard that is no more: goes to one that is swept, as does one that is undone", func(s *script) {
			for _, act := range []func(){s.resubmit, s.undo} {
				s.task = task.Task{}
				s.start(sequence("a"))
				s.task.Shard = 200 // of many, when it began
				s.refuses("a")
				equal(s, "shard in Error", s.task.Shard, 200)
				act()
				equal(s, "shard", s.task.Shard, 0)
			}
		}},
		{"of a task that has not failed is refused", func(s *script) {
			s.start(sequence("a"))
			s.resubmit()
			s.verdict(task.Refused, "only a task in Error")
			s.ok("a")
			s.resubmit()
			s.verdict(task.Refused, "this one is Processed")
		}},
		{"a reply from before the resubmission is stale", func(s *script) {
			s.start(flow(work("a", attempts(1))))
			old := s.reply("a", task.Succeeded)
			s.after(10 * time.Second).overdue()
			s.resubmit()
			s.do(old)
			s.verdict(task.Stale, "")
		}},
	}
}

func pauseRules() []rule {
	return []rule{
		{"live steps end, none starts", func(s *script) {
			s.start(sequence("a", "b"))
			s.pause()
			s.ok("a")
			s.want("Processing: a Processed#1, b Pending")
			s.sends()
			s.woken()
			s.verdict(task.Idle, "nothing is due")
			s.resume()
			s.want("Processing: a Processed#1, b Processing#1")
			s.sends("b#1")
		}},
		{"a retry that comes due while paused starts at the resume", func(s *script) {
			s.start(sequence("a"))
			s.fails("a")
			s.pause()
			s.after(time.Hour).woken()
			s.verdict(task.Idle, "")
			s.resume()
			s.want("Processing: a Processing#2 x1")
		}},
		{"the last live step ends a paused task", func(s *script) {
			s.start(sequence("a"))
			s.pause()
			s.ok("a")
			s.want("Processed: a Processed#1")
		}},
		{"undo is never paused", func(s *script) {
			s.start(flow(work("a"), work("b", compensate)))
			s.ok("a")
			s.pause()
			s.refuses("b")
			s.sends("undo a#2")
		}},
		{"a paused task can be cancelled", func(s *script) {
			s.held(sequence("a"))
			s.pause()
			s.cancel()
			s.want("Cancelled: a Cancelled")
		}},
		{"the deadline of a paused task runs on", func(s *script) {
			s.start(sequence("a", "b"))
			s.pause()
			s.ok("a")
			s.after(24 * time.Hour).overdue()
			s.want("Error: a Processed#1, b Pending")
		}},
		{"a failed task stays paused over a resubmission", func(s *script) {
			s.start(sequence("a"))
			s.pause()
			s.refuses("a")
			s.resubmit()
			s.want("Processing: a Pending#1")
			s.resume()
			s.want("Processing: a Processing#2")
		}},
		{"twice is once", func(s *script) {
			s.start(sequence("a"))
			s.resume()
			s.verdict(task.Duplicate, "nothing to change")
			s.pause()
			s.pause()
			s.verdict(task.Duplicate, "nothing to change")
		}},
		{"a finished task can be neither paused nor resumed", func(s *script) {
			s.start(sequence("a"))
			s.ok("a")
			s.pause()
			s.verdict(task.Refused, "it is Processed")
			s.resume()
			s.verdict(task.Refused, "it is Processed")
		}},
	}
}
