package task_test

import (
	"time"

	"triad/shared/task"
)

func replyRules() []rule {
	return []rule{
		{"a second reply to an attempt changes nothing", func(s *script) {
			s.start(sequence("a", "b"))
			reply := s.reply("a", task.Succeeded)
			s.do(reply)
			s.do(reply)
			s.verdict(task.Duplicate, "ended already")
			s.want("Processing: a Processed#1, b Processing#1")
		}},
		{"two different replies: the first one counts", func(s *script) {
			s.start(sequence("a", "b"))
			late := s.reply("a", task.FailedPermanently)
			s.ok("a")
			s.do(late)
			s.verdict(task.Duplicate, "")
		}},
		{"a reply from an earlier attempt is stale", func(s *script) {
			s.start(sequence("a"))
			first := s.reply("a", task.Succeeded)
			s.after(10 * time.Second).overdue()
			s.after(time.Second).woken()
			s.do(first)
			s.verdict(task.Stale, "not from the live attempt")
			s.want("Processing: a Processing#2 x1")
		}},
		{"a late reply is a duplicate while the step waits for its next try", func(s *script) {
			s.start(sequence("a"))
			first := s.reply("a", task.Succeeded)
			s.after(10 * time.Second).overdue()
			s.do(first)
			s.verdict(task.Duplicate, "")
		}},
		{"a slow reply counts until its attempt was ended", func(s *script) {
			s.start(sequence("a"))
			s.after(time.Hour).ok("a")
			s.want("Processed: a Processed#1")
		}},
		{"the token is attempt and owner and direction", func(s *script) {
			s.start(sequence("a"))
			for _, forge := range []func(*task.Event){
				func(e *task.Event) { e.Attempt++ },
				func(e *task.Event) { e.Attempt-- },
				func(e *task.Event) { e.LockedBy = "two" },
				func(e *task.Event) { e.LockedBy = "" },
				func(e *task.Event) { e.Undo = true },
				func(e *task.Event) { e.Step = "z" },
			} {
				e := s.reply("a", task.Succeeded)
				forge(&e)
				s.do(e)
				s.verdict(task.Stale, "")
			}
		}},
		{"a reply to the forward attempt is no reply to its undo", func(s *script) {
			s.undoing()
			e := s.reply("a", task.Succeeded)
			e.Undo = false
			s.do(e)
			s.verdict(task.Stale, "")
		}},
		{"nobody can answer for a timer", func(s *script) {
			s.start(flow(timer("t", time.Minute)))
			s.do(s.reply("t", task.Succeeded))
			s.verdict(task.Stale, "")
		}},
		{"an outcome nobody knows is a transient failure", func(s *script) {
			s.start(sequence("a"))
			s.do(s.reply("a", "maybe"))
			s.want("Processing: a Pending#1 x1")
		}},
		{"a finished task takes no reply, and says its end again", func(s *script) {
			s.start(sequence("a"))
			reply := s.reply("a", task.Succeeded)
			s.do(reply)
			s.do(reply)
			s.verdict(task.Repeated, "the attempt has ended already")
			s.sends("tell Processed")
		}},
		{"a wake-up that ends the task leaves its end owed", func(s *script) {
			s.start(flow(timer("t", time.Minute)))
			s.after(time.Minute).woken()
			if s.sends("tell Processed"); !s.task.Owing {
				s.t.Error("the task owes nothing, although no message brings its end back")
			}
		}},
	}
}

func redeliveryRules() []rule {
	return []rule{
		{"says the same requests again: attempt, token, key, deadline, input", func(s *script) {
			s.start(flow(work("a"), work("b", after())))
			first := s.last.Requests
			s.from("two").after(time.Second).redelivered()
			s.verdict(task.Repeated, "may have been lost")
			equal(s, "requests", s.last.Requests, first)
		}},
		{"leaves out what this very instance claimed", func(s *script) {
			s.start(flow(work("a"), work("b", after())))
			s.fails("a")
			s.after(time.Second).from("two").woken()
			s.redelivered()
			s.sends("b#1")
			s.from("one").redelivered()
			s.sends("a#2")
		}},
		{"leaves out what is past its CompleteBy", func(s *script) {
			s.start(sequence("a"))
			s.from("two").after(10 * time.Second).redelivered()
			s.verdict(task.Idle, "nothing is due")
		}},
		{"asks again to be woken for a retry and a timer", func(s *script) {
			s.start(flow(work("a"), timer("t", time.Minute, after())))
			s.fails("a")
			s.from("two").redelivered()
			s.sends("wake later", "wake later")
		}},
		{"says that it was received, when the submission itself comes again", func(s *script) {
			s.start(sequence("a"))
			s.from("two").do(task.Event{Kind: task.Redelivered, Redelivery: true, Submission: submission(s.w)})
			s.sends("a#1", "tell Received")
		}},
		{"asks for no wake-up while a step waits for a signal, whose deadline is the index's", func(s *script) {
			s.start(flow(awaits("s")))
			s.from("two").redelivered()
			s.verdict(task.Idle, "nothing is due")
		}},
		{"asks for no wake-up for a retry whose time has just come: it starts it", func(s *script) {
			s.start(sequence("a"))
			s.fails("a")
			s.now = s.step("a").CompleteBy.Time()
			s.from("two").redelivered()
			s.sends("a#2")
		}},
		{"does not send wake-ups that no message can carry", func(s *script) {
			s.start(flow(timer("t", 15*time.Minute+time.Millisecond)))
			s.from("two").redelivered()
			s.verdict(task.Idle, "")
		}},
		{"goes on with what is due", func(s *script) {
			s.held(sequence("a"))
			s.redelivered()
			s.want("Processing: a Processing#1")
			s.sends("a#1")
		}},
		{"ends the timers that have elapsed", func(s *script) {
			s.start(flow(timer("t", time.Minute), work("a")))
			s.from("two").after(time.Minute).redelivered()
			s.want("Processing: t Processed#1, a Processing#1")
		}},
		{"says the undo again", func(s *script) {
			s.undoing()
			first := s.last.Requests
			s.from("two").redelivered()
			equal(s, "requests", s.last.Requests, first)
		}},
		{"says the end again, with the same ids", func(s *script) {
			s.start(sequence("a"))
			s.refuses("a")
			notices, alerts := s.last.Notices, s.last.Alerts
			s.after(time.Hour).redelivered()
			s.verdict(task.Repeated, "")
			equal(s, "notices", s.last.Notices, notices)
			equal(s, "alerts", s.last.Alerts, alerts)
		}},
		{"a reply that was received before says its consequences again", func(s *script) {
			s.start(sequence("a", "b"))
			reply := s.reply("a", task.Succeeded)
			s.do(reply)
			first := s.last.Requests
			reply.Redelivery = true
			s.do(reply)
			s.verdict(task.Repeated, "ended already")
			equal(s, "requests", s.last.Requests, first)
		}},
		{"a reply that was received before and never handled is applied", func(s *script) {
			s.start(sequence("a"))
			reply := s.reply("a", task.Succeeded)
			reply.Redelivery = true
			s.do(reply)
			s.want("Processed: a Processed#1")
		}},
		{"the last reply, received again, tells the end again", func(s *script) {
			s.start(sequence("a"))
			reply := s.reply("a", task.Succeeded)
			s.do(reply)
			reply.Redelivery = true
			s.do(reply)
			s.sends("tell Processed")
		}},
	}
}

func tellingRules() []rule {
	return []rule{
		{"what has no source is owed until it is released", func(s *script) {
			s.start(flow(work("a", attempts(1))))
			s.after(10 * time.Second).overdue()
			s.want("Error: a Error#1 x1")
			equal(s, "owing", s.task.Owing, true)
			equal(s, "due", s.task.CompleteBy, s.in(30*time.Second))
			s.released()
			equal(s, "owing", s.task.Owing, false)
			equal(s, "due", s.task.CompleteBy, 0)
			s.released()
			s.verdict(task.Duplicate, "owes nothing")
		}},
		{"a release of an earlier version releases nothing", func(s *script) {
			s.start(flow(work("a", attempts(1))))
			s.after(10 * time.Second).overdue()
			s.do(task.Event{Kind: task.Released, Version: s.task.Version - 1})
			s.verdict(task.Stale, "more to tell")
			equal(s, "owing", s.task.Owing, true)
		}},
		{"what is owed is said again, with the same ids, until then", func(s *script) {
			s.start(flow(work("a", attempts(1))))
			s.after(10 * time.Second).overdue()
			notices, alerts := s.last.Notices, s.last.Alerts
			s.after(30 * time.Second).overdue()
			equal(s, "notices", s.last.Notices, notices)
			equal(s, "alerts", s.last.Alerts, alerts)
			equal(s, "due", s.task.CompleteBy, s.in(30*time.Second))
		}},
		{"what came in a message is not owed: the message comes again", func(s *script) {
			s.start(sequence("a"))
			s.ok("a")
			equal(s, "owing", s.task.Owing, false)
		}},
		{"a supervisor's find that says nothing owes nothing", func(s *script) {
			s.start(sequence("a"))
			s.after(10 * time.Second).overdue()
			equal(s, "owing", s.task.Owing, false)
		}},
		{"success never alerts", func(s *script) {
			s.start(sequence("a"))
			s.ok("a")
			s.sends("tell Processed")
			s.redelivered()
			s.sends("tell Processed")
		}},
		{"an alert says what to do", func(s *script) {
			s.start(sequence("a"))
			s.refuses("a")
			equal(s, "alert", s.last.Alerts, []task.Alert{{
				ID: "order-1/alert/0", Task: "order-1", Workflow: "order@1", Step: "a", At: s.in(0),
				Subject: "Task order-1 ended in Error: step a failed: no",
				Action:  "Find out why (triad show order-1), mend the cause, then: triad resubmit order-1",
			}})
		}},
		{"each end has ids of its own", func(s *script) {
			s.start(sequence("a"))
			s.refuses("a")
			first := s.last
			s.resubmit()
			s.refuses("a")
			equal(s, "same alert", s.last.Alerts[0].ID == first.Alerts[0].ID, false)
			equal(s, "same notice", s.last.Notices[0].ID == first.Notices[0].ID, false)
		}},
		{"the failure of an undo after a failure has ids of its own", func(s *script) {
			s.start(sequence("a", "b"))
			s.ok("a")
			s.refuses("b")
			first := s.last
			s.undo()
			s.refuses("a")
			s.sends("tell Error", "alert a")
			equal(s, "same alert", s.last.Alerts[0].ID == first.Alerts[0].ID, false)
			equal(s, "same notice", s.last.Notices[0].ID == first.Notices[0].ID, false)
		}},
	}
}
