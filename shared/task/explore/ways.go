package explore

import (
	"encoding/json"
	"fmt"
	"slices"

	"triad/shared/task"
)

// way is one way on from a world.
type way struct {
	// name tells what happens, only when a trace is made.
	name string
	to   world
	// calm is true when nothing goes wrong on it.
	calm bool
}

// walker finds every way on from a world.
type walker struct {
	s     *Scenario
	from  *world
	named bool // give ways their names
	table []task.Transition
	ways  []way
	// decisions counts the calls of Decide, violations are what the rules found,
	// each with the place of its way among ways.
	decisions  int
	violations []violation
}

type violation struct {
	rule, text string
	way        int
}

// walk finds the ways on. The first calm one is the plain one: deliver what there
// is, then have the Supervisor look, then let time pass.
func (x *walker) walk(from *world) {
	x.from, x.ways, x.violations = from, x.ways[:0], x.violations[:0]
	for _, m := range from.mail {
		if m.notBefore <= from.now {
			x.message(m)
		}
		x.lose(m)
	}
	for _, by := range x.instances() {
		x.sweep(by)
	}
	x.pass()
	for i, e := range x.s.Verbs {
		if from.asked&(1<<i) == 0 && from.task.Version > 0 {
			x.verb(i, e)
		}
	}
}

// instances are those that may act next. No decision depends on which one does but
// by its clock: they take turns, unless their clocks differ.
func (x *walker) instances() []string {
	if x.s.Skew != 0 {
		return instances[:]
	}
	turn := x.from.task.Version % 2
	return instances[turn : turn+1]
}

// pass lets time pass to what is due next. That is a delay when there was
// something to do.
func (x *walker) pass() {
	t, found := x.from.next(x.s)
	if !found {
		return
	}
	busy := slices.ContainsFunc(x.ways, func(w way) bool { return w.calm })
	if busy && x.from.left.Delays == 0 {
		return
	}
	w := x.from.clone()
	if busy {
		w.left.Delays--
	}
	w.at(t)
	x.add(w, !busy, func() string { return fmt.Sprintf("time passes to +%v", t.Time().Sub(noon().Time())) })
}

func (x *walker) add(w world, calm bool, name func() string) {
	to := way{to: w, calm: calm}
	if x.named {
		to.name = name()
	}
	x.ways = append(x.ways, to)
}

func (x *walker) message(m message) {
	switch m.sort {
	case aRequest:
		x.work(m)
	case aCall:
		w := x.from.clone()
		w.take(m)
		w.land(m)
		x.add(w, true, func() string { return fmt.Sprintf("the late call of %v lands", m) })
	default:
		for _, by := range x.instances() {
			x.act(x.event(m), by, func(w *world) { w.take(m) }, &m)
		}
	}
}

func (x *walker) lose(m message) {
	if x.from.left.Losses == 0 || m.sort == aRelease || m.sort == aSubmission || m.kept {
		return // a queue keeps the submission that it accepted, and what it has handed out
	}
	w := x.from.clone()
	w.take(m)
	w.left.Losses--
	x.add(w, false, func() string { return fmt.Sprintf("%v is lost", m) })
}

// event is what a message brings to an engine.
func (x *walker) event(m message) task.Event {
	switch m.sort {
	case aSubmission:
		sub := &task.Submission{ID: "t", Workflow: x.s.Workflow.Ref(), Order: json.RawMessage(`{}`), ResponseQueue: "app"}
		if x.from.task.Version > 0 {
			return task.Event{Kind: task.Redelivered, Redelivery: true, Submission: sub}
		}
		return task.Event{Kind: task.Submitted, Submission: sub, Shards: 1, Hold: x.s.Hold}
	case aReply:
		e := task.Event{Kind: task.Replied, Redelivery: m.again, Step: x.s.Workflow.Steps[m.step].Name, Undo: m.undo,
			Attempt: m.attempt, LockedBy: m.lockedBy, Outcome: m.outcome}
		if m.outcome == task.FailedTransiently {
			e.RetryAfter = x.s.RetryAfter
		}
		return e
	case aRelease:
		return task.Event{Kind: task.Released, Version: m.version}
	default:
		return task.Event{Kind: task.Woken, Redelivery: m.again}
	}
}

// sweep has the Supervisor of an instance find the task in the index.
func (x *walker) sweep(by string) {
	t, e := x.from.task, task.Event{Kind: task.Overdue, Unsourced: true}
	if t.Version == 0 {
		return
	}
	if t.CompleteBy > 0 && t.CompleteBy <= x.from.clock(x.s, by) {
		x.act(e, by, func(*world) {}, nil)
		return
	}
	// Another Supervisor's old row of the index.
	w := x.from.clone()
	if d := x.decide(&w, e, by); d.Verdict != task.Idle {
		x.violate("an old row of the index", "verdict %s", d.Verdict)
	}
}

// verb has an operator ask for something. What is refused changes nothing.
func (x *walker) verb(i int, e task.Event) {
	w := x.from.clone()
	if d := x.decide(&w, e, instances[0]); d.Verdict != task.Applied {
		return
	}
	x.act(e, instances[0], func(w *world) { w.asked |= 1 << i }, nil)
}

// act decides on an event, commits and sends; or dies somewhere on the way. The
// source, if there is one, is then received again.
func (x *walker) act(e task.Event, by string, begin func(*world), source *message) {
	base := x.from.clone()
	begin(&base)
	d := x.decide(&base, e, by)
	sends := sendings(&base, d)
	done := base.clone()
	for _, send := range sends {
		send(&done)
	}
	x.add(done, true, func() string { return fmt.Sprintf("%s by %s%s: %s", e.Kind, by, of(source), d.Verdict) })
	if source != nil && (source.sort == aRelease || source.sort == aSubmission && x.s.Call && base.task.Version > 0) {
		source = nil // it dies with its process
	}
	if x.from.left.Duplicates > 0 && source != nil {
		w := done.clone()
		w.left.Duplicates--
		w.put(*source)
		x.add(w, false, func() string {
			return fmt.Sprintf("%s by %s%s, which will come once more: %s", e.Kind, by, of(source), d.Verdict)
		})
	}
	if x.from.left.Crashes == 0 {
		return
	}
	if source != nil && by == x.instances()[0] {
		w := x.from.clone()
		w.take(*source)
		x.crash(w, source, func() string { return fmt.Sprintf("before the commit of %s%s", e.Kind, of(source)) })
	}
	for n := 0; n < len(sends) || n == len(sends) && source != nil; n++ {
		w := base.clone()
		for _, send := range sends[:n] {
			send(&w)
		}
		x.crash(w, source, func() string {
			return fmt.Sprintf("after the commit of %s%s and %d of %d sends", e.Kind, of(source), n, len(sends))
		})
	}
}

func (x *walker) crash(w world, source *message, where func() string) {
	w.left.Crashes--
	if source == nil {
		x.add(w, false, func() string { return "crash " + where() })
		return
	}
	m := *source
	m.kept = true
	redriven := w.clone()
	redriven.put(m)
	x.add(redriven, false, func() string { return "crash " + where() + ", as if new" })
	if m.sort == aWake || m.sort == aReply { // of others the count is not used
		m.again = true
		w.put(m)
		x.add(w, false, func() string { return "crash " + where() })
	}
}

func of(m *message) string {
	if m == nil {
		return ""
	}
	return fmt.Sprintf(" (%v)", *m)
}

// decide commits what Decide says to w, under the eyes of the rules.
func (x *walker) decide(w *world, e task.Event, by string) task.Decision {
	e.By = by
	now := w.clock(x.s, by)
	x.decisions++
	d, err := task.Decide(x.s.Workflow, w.task, e, now.Time())
	if err != nil {
		x.violate("S6 transitions", "%v", err)
		return task.Decision{Task: w.task}
	}
	was := w.task
	l := look{s: x.s, w: w, was: was, is: d.Task, e: e, now: now, d: d, table: x.table}
	w.task = d.Task
	w.note(&l)
	for _, r := range rules {
		if err := r.holds(&l); err != nil {
			x.violate(r.name, "%v\nbefore %+v\nafter  %+v", err, was, d.Task)
		}
	}
	return d
}

func (x *walker) violate(rule, format string, args ...any) {
	x.violations = append(x.violations, violation{rule, fmt.Sprintf(format, args...), len(x.ways)})
}

// sendings are the sends of a decision, in the engine's order; the release of a
// task that owes comes last.
func sendings(w *world, d task.Decision) (sends []func(*world)) {
	for _, r := range d.Requests {
		m := message{sort: aRequest, step: place(w.task, r.Step), undo: r.Undo, attempt: r.Attempt, lockedBy: r.LockedBy, expires: r.CompleteBy}
		sends = append(sends, func(w *world) {
			if m.expires > w.now {
				w.put(m)
			}
		})
	}
	for _, k := range d.Wakes {
		sends = append(sends, func(w *world) { w.put(message{sort: aWake, notBefore: w.now.Add(k.Delay)}) })
	}
	for _, n := range d.Notices {
		sends = append(sends, func(w *world) { w.tell(n.ID) })
	}
	for _, a := range d.Alerts {
		sends = append(sends, func(w *world) { w.tell(a.ID) })
	}
	if d.Task.Owing && d.Says() {
		sends = append(sends, func(w *world) { w.put(message{sort: aRelease, version: d.Task.Version}) })
	}
	return sends
}

func place(t task.Task, step string) int8 {
	for i := range t.Steps {
		if t.Steps[i].Name == step {
			return int8(i)
		}
	}
	return -1
}
