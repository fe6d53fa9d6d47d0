package explore

import (
	"slices"
	"time"

	"triad/shared/task"
)

// sort is what a message is.
type sort int8

const (
	aSubmission sort = iota
	aWake
	aRequest
	aReply
	// aCall is a call under way to a service, whose agent waits no more.
	aCall
	// aRelease is what an engine does last: it says that all was told.
	aRelease
)

// message is something under way. Messages that are equal count as one: a second
// one is a duplicate, which the faults have.
type message struct {
	sort      sort
	step      int8
	undo      bool
	attempt   int
	lockedBy  string
	outcome   task.Outcome
	again     bool        // it was received before, and says so
	kept      bool        // it was received before: it is not lost
	notBefore task.Millis // zero: at once
	expires   task.Millis // when a request is too late
	version   int64
}

// service is what the remote service has under the key of one step.
type service struct{ effect, undone, refuses bool }

// past is what has happened to a step, as an onlooker tells it.
type past struct {
	done, doubt, undone bool
	failures            int8
	ended               int64 // the version in which its latest forward attempt ended
}

// world is one state of everything. Worlds are never changed in place.
type world struct {
	task     task.Task // Version 0: there is none yet
	mail     []message
	services []service
	history  []past
	now      task.Millis
	left     Faults
	asked    uint8    // verbs, by bit
	stopped  bool     // an operator's end was acknowledged
	owed     []string // ids of what is to be told: all that there ever were
	untold   uint16   // those that were not sent yet, by bit
}

// noon is when every task is submitted.
func noon() task.Millis { return task.At(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)) }

func start(s *Scenario) world {
	return world{
		mail:     []message{{sort: aSubmission}},
		services: make([]service, len(s.Workflow.Steps)),
		history:  make([]past, len(s.Workflow.Steps)),
		now:      noon(), left: s.Most,
	}
}

// clone returns a copy of which everything may be changed but the task's steps,
// which no one changes.
func (w *world) clone() world {
	c := *w
	c.mail, c.services, c.history = slices.Clone(w.mail), slices.Clone(w.services), slices.Clone(w.history)
	c.owed = slices.Clip(w.owed)
	return c
}

// put adds a message, unless its like is there.
func (w *world) put(m message) {
	if m.notBefore <= w.now {
		m.notBefore = 0
	}
	if !slices.Contains(w.mail, m) {
		w.mail = append(w.mail, m)
	}
}

func (w *world) take(m message) {
	w.mail = slices.DeleteFunc(w.mail, func(o message) bool { return o == m })
}

// instances are the two that handle messages and sweep.
var instances = [...]string{"one", "two"}

// clock is what an instance's clock shows.
func (w *world) clock(s *Scenario, by string) task.Millis {
	if by == instances[1] {
		return w.now.Add(s.Skew)
	}
	return w.now
}

// next is the time at which something that waits for time is due.
func (w *world) next(s *Scenario) (next task.Millis, found bool) {
	consider := func(t task.Millis) {
		for _, at := range []task.Millis{t, t.Add(-s.Skew)} {
			if at > w.now && at < w.now.Add(far) && (!found || at < next) {
				next, found = at, true
			}
		}
	}
	for _, m := range w.mail {
		consider(m.notBefore)
	}
	if w.task.CompleteBy > 0 {
		consider(w.task.CompleteBy)
		for _, step := range w.task.Steps {
			consider(step.CompleteBy)
		}
	}
	return next, found
}

// at moves the clock. Requests whose time is up are dropped by their agents.
func (w *world) at(t task.Millis) {
	w.now = t
	mail := w.mail
	w.mail = nil
	for _, m := range mail {
		if m.sort != aRequest || m.expires > t {
			w.put(m)
		}
	}
}
