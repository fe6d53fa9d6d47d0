package sim

import (
	"context"
	"iter"
	"time"

	"triad/shared/task"
)

// port names a call at which a hand hands over.
type port uint8

// The ports.
const (
	portReceive port = iota
	portDelete
	portRelease
	portSend
	portCreate
	portLoad
	portCommit
	portDue
	portNotify
	portAlert
	portReject
	portService
	portAnswer
	portPause
	portBegin
	portDone
	numPorts
)

var portNames = [numPorts]string{"receive", "delete", "release", "send", "create", "load", "commit", "due",
	"notify", "alert", "reject", "service", "answer", "pause", "begin", "done"}

// crash is what unwinds the stack of a hand that dies at a port. Engine code that
// recovers it comes to another port or to the clock, and is unwound again.
type crash struct{}

// hand is one handler at work: a coroutine that stops at every port. Of all hands
// one runs at a time, the world's cur.
type hand struct {
	world *world
	id    uint64
	proc  *process
	on    *coroutine
	at    int  // its place in world.hands
	dead  bool // it was killed: nothing may run any more
	ended bool

	ctx    context.Context
	cancel context.CancelFunc
	// now is what the instance's clock showed when it was read last.
	now task.Millis
	// wait is how long the hand has asked to pause.
	wait time.Duration
	// port is the number of the call at which it stands.
	port int
	// cause is what the hand is working on.
	cause cause
	// behind: its process did not know the newest definitions when it turned to it.
	behind bool
	// accepted: its cause is a submission that had been accepted when it began.
	accepted bool
	// captured: it has captured a submission.
	captured bool
	// live: its cause is a reply or heartbeat whose attempt was live when it began.
	live bool
	// turn counts the causes that it has turned to.
	turn int
	// receives is how often its message has been received.
	receives int
	// claims are the attempts that its commits have claimed for this cause, sent
	// the requests it has tried to send. begun is the call at which it turned to it.
	claims []token
	sent   []token
	begun  int
	// call is what the agent's call of its service has come to.
	call call
	// after runs when the hand has ended, however it did.
	after func()
}

// coroutine runs hands, one after the other: a new one would have to grow its stack
// anew for each.
type coroutine struct {
	next  func() (port, bool)
	stop  func()
	yield func(port) bool
	job   func()
}

// idle returns a coroutine that waits for a job.
func (w *world) idle() *coroutine {
	if n := len(w.idlers); n > 0 {
		c := w.idlers[n-1]
		w.idlers = w.idlers[:n-1]
		return c
	}
	c := &coroutine{}
	c.next, c.stop = iter.Pull(func(yield func(port) bool) {
		c.yield = yield
		for more := true; more; more = yield(portDone) {
			c.job()
		}
	})
	return c
}

// spawn starts a hand of an instance. It runs up to its first port when the heap
// comes to it.
func (w *world) spawn(p *process, work func(h *hand)) *hand {
	w.handSeq++
	h := &hand{world: w, id: w.handSeq, proc: p, at: len(w.hands), ctx: context.Background(), on: w.idle()}
	if w.hit(ComputeStopped) {
		h.ctx, h.cancel = context.WithCancel(h.ctx)
	}
	h.on.job = func() {
		defer func() {
			if p := recover(); p != nil && p != (crash{}) {
				panic(p)
			}
		}()
		h.pass(portBegin)
		work(h)
	}
	w.hands = append(w.hands, h)
	w.step(h)
	return h
}

// pass is the hand-over: the code that calls a port stops here, and goes on when
// its turn comes, or never.
func (h *hand) pass(p port) {
	if h.dead || !h.on.yield(p) || h.dead {
		h.dead = true
		panic(crash{})
	}
	h.world.asking = h.port
	h.world.note(uint64(p)<<56 ^ h.id)
}

// pause lets time pass.
func (h *hand) pause(d time.Duration) {
	h.wait = max(d, time.Millisecond)
	h.pass(portPause)
}

// step lets a hand run up to its next port and decides when it goes on from there.
func (w *world) step(h *hand) {
	if h.ended {
		return
	}
	before := w.cur
	w.cur = h
	p, _ := h.on.next()
	w.cur = before
	if p == portDone {
		w.forget(h)
		return
	}
	w.ports++
	h.port, w.asking = w.ports, w.ports
	wait := h.wait
	h.wait = 0
	if wait == 0 {
		wait = w.latency()
	}
	switch {
	case p != portBegin && w.hit(ComputeKilled):
		w.trace("%s is killed before %s", h, portNames[p])
		w.kill(h)
		return
	case p != portBegin && w.hit(ComputeProcessKilled):
		w.trace("%s: the instance is killed before %s", h, portNames[p])
		w.restart(h.proc)
		return
	case p != portBegin && w.hit(ComputeFrozen):
		wait += time.Duration(1+w.rng.IntN(600)) * time.Second
		w.trace("%s is frozen before %s for %v", h, portNames[p], wait)
	case h.cancel != nil && w.rng.IntN(4) == 0:
		h.cancel()
	}
	w.events.add(w.now.Add(wait), h, nil)
}

// latency is how long a call takes: mostly milliseconds.
func (w *world) latency() time.Duration {
	if w.rng.IntN(50) == 0 {
		return time.Duration(1+w.rng.IntN(1500)) * time.Millisecond
	}
	return time.Duration(1+w.rng.IntN(15)) * time.Millisecond
}

// kill ends a hand where it stands. Its deferred calls run, and none of them
// comes through a port.
func (w *world) kill(h *hand) {
	if h.ended {
		return
	}
	h.dead = true
	before := w.cur
	w.cur = h
	h.on.next() // its port panics, and it unwinds
	w.cur = before
	w.forget(h)
}

func (w *world) forget(h *hand) {
	h.ended = true
	w.idlers = append(w.idlers, h.on)
	if h.cancel != nil {
		h.cancel()
	}
	last := len(w.hands) - 1
	w.hands[h.at] = w.hands[last]
	w.hands[h.at].at = h.at
	w.hands[last] = nil
	w.hands = w.hands[:last]
	if h.after != nil {
		h.after()
	}
}
