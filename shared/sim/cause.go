package sim

import (
	"triad/shared/operator"
	"triad/shared/queue"
	"triad/shared/submission"
	"triad/shared/task"
)

// causeKind says what a hand works on.
type causeKind uint8

// The kinds of causes.
const (
	byNothing causeKind = iota // also what can't be read
	bySubmission
	byWake
	byReply
	byExtension
	byRequest
	bySweep
	byVerb
)

// cause is what a hand works on, as read from its message and not from the engine.
type cause struct {
	kind    causeKind
	queued  bool   // a message of a queue, and not a call
	body    []byte // of its message, if it has one that can be read
	sub     *task.Submission
	wake    *queue.Wake
	reply   *task.Reply
	extend  *task.Extension
	request *task.Request
	ask     operator.Ask
}

// task is the task that a message is about; empty for none that can be read.
func (c cause) task() task.ID {
	switch c.kind {
	case bySubmission:
		return c.sub.ID
	case byWake:
		return c.wake.Task
	case byReply:
		return c.reply.Task
	case byExtension:
		return c.extend.Task
	case byRequest:
		return c.request.Task
	}
	return ""
}

// voice is what a reply or heartbeat claims to speak for: an attempt and its owner.
type voice struct {
	token
	owner string
	undo  bool
}

// voice is that of a reply or heartbeat; false for anything else.
func (c cause) voice() (voice, bool) {
	if r := c.reply; r != nil {
		return voice{token{r.Task, r.Step, r.Attempt}, r.LockedBy, r.Undo}, true
	}
	if x := c.extend; x != nil {
		return voice{token{x.Task, x.Step, x.Attempt}, x.LockedBy, x.Undo}, true
	}
	return voice{}, false
}

// causeOf reads the message of a delivery.
func causeOf(l *line, d queue.Delivery) cause {
	c := read(l, d)
	if c.kind != byNothing {
		c.body = d.Body
	}
	return c
}

func read(l *line, d queue.Delivery) cause {
	switch l.role {
	case roleSubmission:
		if sub, err := submission.Decode(d.Body); err == nil {
			return cause{kind: bySubmission, queued: true, sub: &sub}
		}
	case roleScheduler:
		m, err := queue.DecodeToScheduler(d.Body)
		switch {
		case err != nil:
		case m.Wake != nil:
			return cause{kind: byWake, wake: m.Wake}
		case m.Reply != nil:
			return cause{kind: byReply, reply: m.Reply}
		case m.Extend != nil:
			return cause{kind: byExtension, extend: m.Extend}
		}
	case roleAgent:
		if r, err := queue.DecodeRequest(d.Body); err == nil {
			return cause{kind: byRequest, request: &r}
		}
	}
	return cause{}
}
