package explore

import (
	"fmt"

	"triad/shared/task"
)

// answer is how a call of a service goes: what it leaves there, and what the
// agent replies; no outcome is silence, and the call still on its way.
type answer struct {
	outcome task.Outcome
	leaves  service
	uses    func(*Faults) *int8 // the fault that it takes; nil for none
}

// work has the agent of a request call its service, in every way.
func (x *walker) work(m message) {
	for i, a := range x.answers(m) {
		if a.uses != nil && *a.uses(&x.from.left) == 0 {
			continue
		}
		w := x.from.clone()
		w.take(m)
		if a.uses != nil {
			*a.uses(&w.left)--
		}
		w.services[m.step] = a.leaves
		if died := w.clone(); w.left.Crashes > 0 {
			died.left.Crashes--
			died.put(m)
			x.add(died, false, func() string { return fmt.Sprintf("the agent dies after its call of %v: %s", m, a) })
		}
		w.put(reply(m, a))
		x.add(w, i == 0, func() string { return fmt.Sprintf("%v: %s", m, a) })
		if twice := w.clone(); w.left.Duplicates > 0 {
			twice.left.Duplicates--
			twice.put(m)
			x.add(twice, false, func() string { return fmt.Sprintf("%v, which will come once more: %s", m, a) })
		}
	}
}

func reply(m message, a answer) message {
	if a.outcome == "" {
		return message{sort: aCall, step: m.step, undo: m.undo}
	}
	return message{sort: aReply, step: m.step, undo: m.undo, attempt: m.attempt, lockedBy: m.lockedBy, outcome: a.outcome}
}

func (a answer) String() string {
	if a.outcome == "" {
		return "silence, and a call under way"
	}
	return fmt.Sprintf("%s, leaving %+v", a.outcome, a.leaves)
}

// answers are the ways that a call can go; the first is the one without a fault.
// A key counts once, an undo leaves a mark that refuses what comes later, and a
// refusal means that there is no effect and stands until an operator resubmits.
func (x *walker) answers(m message) []answer {
	at := x.from.services[m.step]
	done, refused := at, at
	failures := func(f *Faults) *int8 { return &f.Failures }
	refusals := func(f *Faults) *int8 { return &f.Refusals }
	lates := func(f *Faults) *int8 { return &f.Lates }
	switch {
	case m.undo:
		done.undone = true
	case at.undone || at.refuses:
		return []answer{{task.FailedPermanently, at, nil}}
	default:
		done.effect, refused.refuses = true, true
	}
	all := []answer{
		{task.Succeeded, done, nil},
		{task.FailedTransiently, at, failures},
		{task.FailedTransiently, done, failures},
		{"", at, lates},
	}
	if m.undo || !at.effect {
		all = append(all, answer{task.FailedPermanently, refused, refusals})
	}
	return all
}

// land has a late call arrive.
func (w *world) land(m message) {
	s := &w.services[m.step]
	switch {
	case m.undo:
		s.undone = true
	case !s.undone && !s.refuses:
		s.effect = true
	}
}
