package sim

import "triad/shared/task"

// event is something that happens at a time: a hand goes on, or a function runs.
type event struct {
	at   task.Millis
	seq  uint64
	hand *hand
	do   func()
}

// events is a binary heap by time; what is due at the same time goes in the order
// in which it was scheduled.
type events struct {
	all []event
	seq uint64
}

func (e *events) add(at task.Millis, h *hand, do func()) {
	e.seq++
	e.push(event{at, e.seq, h, do})
}

// push puts an event in its place.
func (e *events) push(x event) {
	e.all = append(e.all, x)
	i := len(e.all) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !e.before(i, up) {
			return
		}
		e.all[i], e.all[up] = e.all[up], e.all[i]
		i = up
	}
}

// next removes the earliest event. There must be one.
func (e *events) next() event {
	first, last := e.all[0], len(e.all)-1
	e.all[0] = e.all[last]
	e.all[last] = event{}
	e.all = e.all[:last]
	for i := 0; ; {
		least := i
		for down := 2*i + 1; down <= 2*i+2 && down < last; down++ {
			if e.before(down, least) {
				least = down
			}
		}
		if least == i {
			return first
		}
		e.all[i], e.all[least] = e.all[least], e.all[i]
		i = least
	}
}

func (e *events) before(i, j int) bool {
	a, b := &e.all[i], &e.all[j]
	if a.at != b.at {
		return a.at < b.at
	}
	return a.seq < b.seq
}
