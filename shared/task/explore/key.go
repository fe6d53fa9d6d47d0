package explore

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"triad/shared/task"
)

// key names a world; worlds that no decision tells apart have one key. Who owns an
// attempt is not in it: the attempt's number tells, and owners are compared with
// those of messages of the same attempt only.
type key [16]byte

// writer writes what counts of a world, in one form.
type writer struct {
	b     []byte
	s     *Scenario
	w     *world
	mails [][]byte
}

// key also brings the messages into the order of their form, so that the ways on
// from worlds of one key are the same, in the same order.
func (k *writer) key(s *Scenario, w *world) key {
	k.b, k.s, k.w = k.b[:0], s, w
	k.task()
	k.mail()
	k.ghosts()
	sum := sha256.Sum256(k.b)
	return key(sum[:16])
}

func (k *writer) num(ns ...int) {
	for _, n := range ns {
		k.b = binary.AppendVarint(k.b, int64(n))
	}
}

func (k *writer) yes(bs ...bool) {
	for _, b := range bs {
		n := byte(0)
		if b {
			n = 1
		}
		k.b = append(k.b, n)
	}
}

func (k *writer) text(s string) { k.b = append(append(k.b, s...), 0) }

// time writes how far off a time is: all that every clock has passed is one.
func (k *writer) time(m task.Millis) {
	off, passed := int(m-k.w.now), -int(max(k.s.Skew, -k.s.Skew).Milliseconds())
	switch {
	case m == 0 || off <= passed:
		off = passed
	case off >= int(far.Milliseconds()):
		off = int(far.Milliseconds())
	}
	k.num(off)
}

func (k *writer) task() {
	t := &k.w.task
	if k.yes(t.Version > 0); t.Version == 0 {
		return
	}
	k.text(string(t.State))
	k.text(string(t.Goal))
	k.yes(t.Paused, t.Owing, t.CompleteBy > 0)
	k.num(t.Resubmits)
	k.time(t.CompleteBy)
	k.time(t.Deadline)
	ranks := ranked(t.Steps, func(s task.StepState) int64 { return s.Rank })
	for i, s := range t.Steps {
		k.text(string(s.State))
		k.time(s.CompleteBy)
		k.num(s.Attempt, s.FailureCount, s.Waits, ranks[i])
		k.yes(s.LockedBy != "", s.Doubt, s.Undo, s.Signalled, s.Output != nil)
	}
}

// ranked gives the place of each in an order: versions count by their order only.
func ranked[T any](all []T, by func(T) int64) []int {
	places := make([]int, len(all))
	for i := range all {
		for j := range all {
			if by(all[j]) < by(all[i]) {
				places[i]++
			}
		}
		if by(all[i]) == 0 {
			places[i] = -1
		}
	}
	return places
}

func (k *writer) mail() {
	slices.SortFunc(k.w.mail, func(a, b message) int { return compare(a, b) })
	k.mails = k.mails[:0]
	for _, m := range k.w.mail {
		start := len(k.b)
		k.num(int(m.sort), int(m.step), m.attempt)
		k.yes(m.undo, m.again, m.kept, m.sort == aRelease && m.version == k.w.task.Version)
		k.text(string(m.outcome))
		k.time(m.notBefore)
		k.time(m.expires)
		k.mails = append(k.mails, bytes.Clone(k.b[start:]))
		k.b = k.b[:start]
	}
	slices.SortFunc(k.mails, bytes.Compare)
	for _, m := range k.mails {
		k.b = append(append(k.b, 1), m...)
	}
	k.b = append(k.b, 0)
}

// compare orders messages so that worlds of one key have them in one order, but
// for releases of old versions, which change nothing.
func compare(a, b message) int {
	flag := func(y bool) int {
		if y {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.sort, b.sort), cmp.Compare(a.step, b.step), cmp.Compare(a.attempt, b.attempt),
		cmp.Compare(flag(a.undo), flag(b.undo)), cmp.Compare(flag(a.again), flag(b.again)), cmp.Compare(flag(a.kept), flag(b.kept)), cmp.Compare(a.outcome, b.outcome),
		cmp.Compare(a.notBefore, b.notBefore), cmp.Compare(a.expires, b.expires), cmp.Compare(a.version, b.version))
}

// ghosts writes what the record doesn't hold.
func (k *writer) ghosts() {
	w := k.w
	ranks := ranked(w.history, func(p past) int64 { return p.ended })
	for i, p := range w.history {
		k.yes(p.done, p.doubt, p.undone)
		k.num(ranks[i])
		at := w.services[i]
		k.yes(at.effect, at.undone, at.refuses)
	}
	f := w.left
	k.num(int(f.Duplicates), int(f.Crashes), int(f.Losses), int(f.Failures), int(f.Refusals), int(f.Lates), int(f.Delays), int(w.asked), int(w.untold))
	k.yes(w.stopped)
	for _, id := range w.owed {
		k.text(id)
	}
}
