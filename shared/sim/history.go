package sim

import (
	"triad/shared/store"
	"triad/shared/task"
)

// Call is one call of the table, as its caller saw it: for a check of the history
// from outside.
type Call struct {
	Client uint64
	// Began and Ended are moments: numbers of calls of ports, which only rise.
	Began, Ended int
	Task         task.ID
	// Write is true for a create or commit of Version under Op; otherwise it is a
	// load that read Version and Op.
	Write   bool
	Version int64
	Op      string
	// Err is nil when it succeeded; one that is no sentinel leaves the outcome open.
	Err error
}

// moment is a number that rises with every call.
func (w *world) moment() int {
	w.moments++
	return w.moments
}

func (w *world) recordWrite(h *hand, began int, c store.Change, err error) {
	if w.options.History && !h.dead {
		w.history = append(w.history, Call{
			Client: h.id, Began: began, Ended: w.moment(), Task: c.Task.ID, Write: true, Version: c.Task.Version, Op: c.Task.Op, Err: err,
		})
	}
}

func (w *world) recordLoad(h *hand, began int, id task.ID, t task.Task, err error) {
	if w.options.History {
		w.history = append(w.history, Call{
			Client: h.id, Began: began, Ended: w.moment(), Task: id, Version: t.Version, Op: t.Op, Err: err,
		})
	}
}
