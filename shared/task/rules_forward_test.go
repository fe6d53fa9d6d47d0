package task_test

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	"triad/shared/task"
)

func forwardRules() []rule {
	return []rule{
		{"a submission claims the first step and asks its agent", func(s *script) {
			s.start(sequence("a", "b"))
			s.want("Processing: a Processing#1, b Pending")
			s.sends("a#1", "tell Received")
			s.verdict(task.Applied, "")
		}},
		{"the record of a submission has what was submitted", func(s *script) {
			s.start(sequence("a"))
			sub := submission(s.w)
			got := s.task
			got.Steps, got.CompleteBy = nil, 0
			equal(s, "the record", got, task.Task{
				ID: sub.ID, Workflow: "order@1", State: task.Processing, Version: 1, LockedBy: "one",
				Deadline: s.in(24 * time.Hour), ResponseQueue: "app", Tenant: "acme",
				OrderHash: sub.Hash(), CreatedAt: s.in(0), Order: sub.Order,
			})
		}},
		{"a reply completes a step and claims the next in one decision", func(s *script) {
			s.start(sequence("a", "b"))
			s.from("two").returns("a", `{"id":7}`)
			s.want("Processing: a Processed#1, b Processing#1")
			s.sends("b#1")
			equal(s, "outputs", s.last.Outputs, []task.Output{{Step: "a", Body: json.RawMessage(`{"id":7}`)}})
			equal(s, "owner", s.step("b").LockedBy, "two")
			equal(s, "version", s.task.Version, int64(2))
		}},
		{"the last reply completes the task, and tells it with its outputs", func(s *script) {
			longest := `"` + strings.Repeat("x", task.InlineOutput-2) + `"`
			s.start(sequence("a", "none", "longest", "longer"))
			s.returns("a", `{"id":7}`)
			s.ok("none")
			s.returns("longest", longest)
			s.returns("longer", `"x`+longest[1:])
			s.want("Processed: a Processed#1, none Processed#1, longest Processed#1, longer Processed#1")
			s.sends("tell Processed")
			equal(s, "inline outputs", s.last.Notices[0].Outputs, map[string]json.RawMessage{"a": json.RawMessage(`{"id":7}`), "longest": json.RawMessage(longest)})
			equal(s, "ended", s.task.EndedAt, s.in(0))
			equal(s, "due", s.task.CompleteBy, 0)
		}},
		{"a sequence of n steps takes n+1 commits", func(s *script) {
			s.start(sequence("a", "b", "c", "d", "e"))
			s.ok("a", "b", "c", "d", "e")
			equal(s, "version", s.task.Version, int64(6))
		}},
		{"steps with nothing before them start together", func(s *script) {
			s.start(flow(work("a"), work("b", after()), work("c", after())))
			s.sends("a#1", "b#1", "c#1", "tell Received")
		}},
		{"a join waits for all of its predecessors, and starts once", func(s *script) {
			s.start(flow(work("a"), work("b", after()), work("join", after(0, 1))))
			s.ok("b")
			s.want("Processing: a Processing#1, b Processed#1, join Pending")
			s.sends()
			s.ok("a")
			s.sends("join#1")
			s.woken()
			s.verdict(task.Idle, "nothing is due")
		}},
		{"a held submission claims nothing and is due at once", func(s *script) {
			s.held(sequence("a"))
			s.want("Pending: a Pending")
			s.sends("tell Received")
			equal(s, "due", s.task.CompleteBy, s.in(0))
			s.overdue()
			s.sends("wake")
			s.want("Pending: a Pending")
			s.from("two").woken()
			s.want("Processing: a Processing#1")
			s.sends("a#1")
		}},
		{"a finished task is woken in vain", func(s *script) {
			s.start(sequence("a"))
			s.ok("a")
			s.woken()
			s.verdict(task.Idle, "finished")
		}},
		{"a request carries token, key, deadline, tenant and the order", func(s *script) {
			s.start(sequence("a"))
			equal(s, "request", s.last.Requests, []task.Request{{
				Task: "order-1", Workflow: "order@1", Step: "a", Agent: "a-agent", Attempt: 1, LockedBy: "one",
				CompleteBy: s.in(10 * time.Second), Key: "order-1/a", Input: json.RawMessage(`{"total":5}`), Tenant: "acme",
			}})
		}},
		{"no response queue: nothing is told", func(s *script) {
			sub := submission(sequence("a"))
			sub.ResponseQueue = ""
			s.begin(sequence("a"), task.Event{Kind: task.Submitted, Submission: sub})
			s.sends("a#1")
			s.ok("a")
			s.sends()
		}},
	}
}

func expressionRules() []rule {
	return []rule{
		{"when is false: the step is skipped and the next one starts", func(s *script) {
			s.start(flow(work("a", when(false)), work("b")))
			s.want("Processing: a Skipped, b Processing#1")
			s.sends("b#1", "tell Received")
		}},
		{"when is true: the step runs", func(s *script) {
			s.start(flow(work("a", when(true))))
			s.sends("a#1", "tell Received")
		}},
		{"when sees the outputs of earlier steps", func(s *script) {
			stocked := func(t task.Task) (bool, error) {
				a, _ := t.Step("a")
				return string(a.Output) == "true", nil
			}
			s.start(flow(work("a"), work("b", func(st *task.Step) { st.When = stocked }), work("c")))
			s.returns("a", "false")
			s.want("Processing: a Processed#1, b Skipped, c Processing#1")
		}},
		{"when is asked before the first attempt only", func(s *script) {
			clock := func(t task.Task) (bool, error) { return t.FailureCount == 0, nil }
			s.start(flow(work("a", func(st *task.Step) { st.When = clock })))
			s.fails("a")
			s.after(time.Second).woken()
			s.want("Processing: a Processing#2 x1")
		}},
		{"every step is skipped: the task is Processed without a claim", func(s *script) {
			s.start(flow(work("a", when(false)), work("b", when(false))))
			s.want("Processed: a Skipped, b Skipped")
			s.sends("tell Received", "tell Processed")
		}},
		{"a join counts a skipped predecessor as done", func(s *script) {
			s.start(flow(work("a"), work("b", after(), when(false)), work("join", after(0, 1))))
			s.want("Processing: a Processing#1, b Skipped, join Pending")
			s.ok("a")
			s.sends("join#1")
		}},
		{"when fails: the step fails for good, without an attempt", func(s *script) {
			s.start(flow(work("a", whenFails)))
			s.want("Error: a Error")
			s.sends("tell Received", "tell Error", "alert a")
			equal(s, "reason", s.task.Reason, "step a failed: when: no such field")
		}},
		{"the input fails: the step fails for good", func(s *script) {
			s.start(flow(work("a"), work("b", inputFails)))
			s.ok("a")
			s.want("Error: a Processed#1, b Error")
			s.sends("tell Error", "alert b")
			equal(s, "reason", s.task.Reason, "step b failed: input: no such field")
		}},
		{"the input fails and the step says compensate: what is done is undone", func(s *script) {
			s.start(flow(work("a"), work("b", inputFails, compensate)))
			s.ok("a")
			s.want("Compensating: a Compensating#2, b Error")
			s.sends("undo a#2")
		}},
		{"an expression never waits for better times", func(s *script) {
			s.start(flow(work("a", whenFails, parks(time.Hour, 3, task.OnError))))
			s.want("Error: a Error")
		}},
		{"an expression fails beside a live step: that one ends first", func(s *script) {
			s.start(flow(work("a"), work("b", after(), inputFails)))
			s.want("Processing: a Processing#1, b Error")
			s.ok("a")
			s.want("Error: a Processed#1, b Error")
		}},
		{"the input is made from the order and the outputs", func(s *script) {
			in := func(t task.Task) (json.RawMessage, error) {
				a, found := t.Step("a")
				if !found {
					return nil, errors.New("no step a")
				}
				return json.RawMessage(`{"of":` + string(a.Output) + `}`), nil
			}
			s.start(flow(work("a"), work("b", input(in))))
			s.returns("a", "7")
			equal(s, "input", string(s.last.Requests[0].Input), `{"of":7}`)
		}},
	}
}
