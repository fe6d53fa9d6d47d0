package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"triad/shared/operator"
	"triad/shared/queue"
	"triad/shared/task"
)

// mischief is what is done to the engines from outside, at random moments: by
// operators, by strangers who write to the queues, by clocks and by outages.
var mischief = []struct {
	fault Fault
	do    func(*world)
}{
	{QueueRedrive, (*world).redrive},
	{QueuePurge, (*world).purge},
	{ClockStep, (*world).stepClock},
	{AgentDown, (*world).breakDown},
	{ForgedToken, func(w *world) { w.forgeReply(ForgedToken) }},
	{ForgedStep, func(w *world) { w.forgeReply(ForgedStep) }},
	{ForgedTask, func(w *world) { w.forgeReply(ForgedTask) }},
	{ForgedHeartbeat, (*world).forgeHeartbeat},
	{ForgedReplay, (*world).replay},
	{ForgedContradiction, func(w *world) { w.forgeReply(ForgedContradiction) }},
	{InputGarbage, (*world).litter},
	{VerbCancel, func(w *world) { w.verb(operator.Cancel) }},
	{VerbUndo, func(w *world) { w.verb(operator.Undo) }},
	{VerbResubmit, func(w *world) { w.verb(operator.Resubmit) }},
	{VerbPause, func(w *world) { w.verb(operator.Pause) }},
	{VerbResume, func(w *world) { w.verb(operator.Resume) }},
	{VerbSignal, func(w *world) { w.verb(operator.Signal) }},
}

// planMischief draws the moments. Most are early, where most tasks are at work.
func (w *world) planMischief() {
	total := 0.0
	for _, m := range mischief {
		total += w.plan.rates[m.fault]
	}
	if total == 0 {
		return
	}
	for range w.plan.mischief {
		span := w.plan.span
		if w.rng.IntN(4) > 0 {
			span = min(span, w.plan.arrival+2*time.Minute)
		}
		left := w.rng.Float64() * total
		for _, m := range mischief {
			if left -= w.plan.rates[m.fault]; left < 0 {
				w.events.add(w.now.Add(time.Duration(w.rng.Int64N(int64(span)))), nil, func() { m.do(w) })
				break
			}
		}
	}
}

// struck counts a fault that is not drawn by hit.
func (w *world) struck(f Fault) {
	w.tally.Faults[f]++
	w.note(uint64(f) + 1<<41)
}

// target is some task, preferably one that wants holds for; nil if there is none.
func (w *world) target(wants func(*task.Task) bool) *task.Task {
	if len(w.table.order) == 0 {
		return nil
	}
	first := w.rng.IntN(len(w.table.order))
	for i := range w.table.order {
		if t := &w.table.order[(first+i)%len(w.table.order)].task; wants(t) {
			return t
		}
	}
	return &w.table.order[first].task
}

func (w *world) verb(v operator.Verb) {
	t := w.target(func(t *task.Task) bool {
		switch v {
		case operator.Resubmit:
			return t.State == task.Error
		case operator.Resume:
			return t.Paused
		case operator.Signal:
			return !t.State.Finished() && w.signalOf(t) != ""
		}
		return !t.State.Finished()
	})
	if t == nil {
		return
	}
	w.askFor(v, t)
}

// askFor asks for a verb, now.
func (w *world) askFor(v operator.Verb, t *task.Task) {
	a := operator.Ask{Verb: v, Reason: "because"}
	switch v {
	case operator.Cancel:
		w.struck(VerbCancel)
	case operator.Undo:
		w.struck(VerbUndo)
	case operator.Resubmit:
		w.struck(VerbResubmit)
		w.mend(t.ID)
	case operator.Pause:
		w.struck(VerbPause)
	case operator.Resume:
		w.struck(VerbResume)
	case operator.Signal:
		w.struck(VerbSignal)
		a.Signal, a.Payload = w.signalOf(t), pick(w.rng, nil, json.RawMessage(`{"yes":true}`), json.RawMessage(`{oops`))
	}
	w.ask(t.ID, a)
}

// signalOf is a signal that the task's workflow knows.
func (w *world) signalOf(t *task.Task) string {
	for _, s := range w.shapes {
		if s.flow.Ref() != t.Workflow {
			continue
		}
		first := w.rng.IntN(len(s.flow.Steps))
		for i := range s.flow.Steps {
			if name := s.flow.Steps[(first+i)%len(s.flow.Steps)].Signal; name != "" {
				return name
			}
		}
	}
	return ""
}

func (w *world) redrive() {
	for _, l := range w.lines {
		if n, _ := l.queue.Redrive(context.Background()); n > 0 {
			w.struck(QueueRedrive)
			w.kick(l, w.now)
		}
	}
}

// purge loses what the queues in memory hold, all hands of Schedulers and agents
// with them, and then redelivers: the restart of an embedded engine.
func (w *world) purge() {
	w.struck(QueuePurge)
	w.trace("the queues are lost")
	for _, p := range w.processes {
		if p.role == roleScheduler || p.role == roleAgent {
			w.restart(p)
		}
	}
	for _, l := range w.lines {
		if l.role == roleSubmission {
			continue
		}
		l.queue.Close()
		w.open(l)
	}
	w.model.purged()
	w.redeliver()
}

func (w *world) stepClock() {
	w.struck(ClockStep)
	p := pick(w.rng, w.processes...)
	p.skew += time.Duration(w.rng.IntN(120_001)-60_000) * time.Millisecond
	w.trace("the clock of %s steps to %v", p.name, p.skew)
}

func (w *world) breakDown() {
	if len(w.agentNames) == 0 {
		return
	}
	w.struck(AgentDown)
	name := pick(w.rng, w.agentNames...)
	w.downUntil[name] = w.now.Add(time.Duration(1+w.rng.IntN(600)) * time.Second)
	w.trace("the service of agent %s is down", name)
}

// forgeReply writes a reply that no agent of ours has sent.
func (w *world) forgeReply(f Fault) {
	t := w.target(func(t *task.Task) bool { return t.LockedBy != "" })
	if t == nil {
		return
	}
	s := t.Steps[w.rng.IntN(len(t.Steps))]
	for _, other := range t.Steps {
		if other.Live() && !s.Live() {
			s = other
		}
	}
	r := &task.Reply{Task: t.ID, Step: s.Name, Attempt: s.Attempt, LockedBy: s.LockedBy, Undo: s.State == task.Compensating,
		Outcome: pick(w.rng, task.Succeeded, task.FailedPermanently, task.FailedTransiently, "nonsense"),
		Output:  pick(w.rng, nil, json.RawMessage(`{"forged":true}`)), Doubt: w.rng.IntN(2) == 0, Error: "forged"}
	switch f {
	case ForgedToken:
		switch w.rng.IntN(3) {
		case 0:
			r.Attempt += 1 - 2*w.rng.IntN(2)
		case 1:
			r.LockedBy = pick(w.rng, "", "nobody", "sched0.1x")
		default:
			r.Undo = !r.Undo
		}
	case ForgedStep:
		r.Step = pick(w.rng, "", "no such step", "s0x")
	case ForgedTask:
		r.Task = pick(w.rng, "no-such-task", w.table.order[w.rng.IntN(len(w.table.order))].task.ID)
	}
	w.struck(f)
	w.inject(w.toScheduler, queue.EncodeReply(r))
}

func (w *world) forgeHeartbeat() {
	t := w.target(func(t *task.Task) bool { return t.LockedBy != "" })
	if t == nil {
		return
	}
	s := t.Steps[w.rng.IntN(len(t.Steps))]
	x := task.Extension{Task: t.ID, Step: s.Name, Attempt: s.Attempt + pick(w.rng, 0, -1), LockedBy: s.LockedBy + pick(w.rng, "", "x"),
		Undo: s.State == task.Compensating, CompleteBy: w.now + task.Millis(w.rng.IntN(120_000)) - 30_000}
	body, err := queue.Encode(queue.ToScheduler{Extend: &x})
	if err != nil {
		panic(err) // it always has a form
	}
	w.struck(ForgedHeartbeat)
	w.inject(w.toScheduler, body)
}

func (w *world) replay() {
	if len(w.replies) == 0 {
		return
	}
	w.struck(ForgedReplay)
	w.inject(w.toScheduler, pick(w.rng, w.replies...))
}

// litter writes what nobody can read.
func (w *world) litter() {
	w.struck(InputGarbage)
	l := pick(w.rng, w.lines...)
	mark := fmt.Sprint(w.events.seq)
	body := pick(w.rng, garbage...)(mark)
	w.model.littered(l, body)
	w.inject(l, []byte(body))
}

// garbage are messages that nobody can read or apply, each with a mark of its own.
var garbage = []func(mark string) string{
	func(m string) string { return "garbage " + m },
	func(m string) string { return `{"` + m + `":` },
	func(m string) string { return `{"id":"t` + m + `","workflow":7,"order":{}}` },
	func(m string) string { return `[` + m + `]` },
	func(m string) string {
		return `{"id":"` + strings.Repeat("ü", 200) + m + `","workflow":"gen0","order":{"for":1}}`
	},
	func(m string) string { return `{"id":"../../` + m + `","workflow":"gen0","order":{"for":1}}` },
	func(m string) string {
		return `{"id":"x` + m + `","workflow":"gen0","order":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`
	},
	func(m string) string { return `{"wake":{"task":"no-such-` + m + `"}}` },
	func(m string) string { return `{"wake":{},"reply":{},"mark":` + m + `}` },
	func(m string) string { return `{"wake":{"task":"` + strings.Repeat("x", 5000) + m + `"}}` },
	func(m string) string { return "\u0001\u0002 🛵 " + m },
	func(m string) string {
		return `{"task":"t0","step":"s0","attempt":1,"lockedBy":"me","completeBy":1,"mark":` + m + `}`
	},
	func(m string) string { return strings.Repeat("z", queue.MaxBody-len(m)) + m },
}

// inject puts a message into a queue, past all senders.
func (w *world) inject(l *line, body []byte) {
	if err := l.queue.Send(context.Background(), queue.Message{Body: body}); err == nil {
		w.trace("a stranger writes to %s: %.200s", l.name, body)
		w.kick(l, w.now)
	}
}

// impatient is an operator who resubmits a task as soon as it has failed, maybe
// before its end was told.
func (w *world) impatient(id task.ID) {
	w.events.add(w.now+task.Millis(w.rng.IntN(pick(w.rng, 40, 100, 3000))), nil, func() {
		if t := &w.table.rows[id].task; t.State == task.Error {
			w.askFor(operator.Resubmit, t)
		}
	})
}
