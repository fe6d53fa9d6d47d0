package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"triad/shared/agent"
	"triad/shared/task"
)

// effect is what a service knows of one idempotency key of a step.
type effect struct {
	// applied: the effect is there. undone: its undo was done, which stands for
	// ever. count is how often it came to be.
	applied, undone bool
	count           int
	// calls counts all calls, undo included.
	calls int
	// refused is the highest attempt that a refusal stands for; open is true while
	// its cause is not mended.
	refused int
	open    bool
	answers int
}

// call is what an agent's hand has learned from its service.
type call struct {
	// made is true once the service was called; answer is the output of the call
	// that succeeded.
	made, succeeded bool
	tries           int
	answer          json.RawMessage
	// deadline is the CompleteBy of the request, or a later one asked for.
	deadline task.Millis
}

var (
	errBusy  = errors.New("503 service unavailable")
	errReset = errors.New("connection reset")
)

func (w *world) effectOf(key string) *effect {
	e := w.effects[key]
	if e == nil {
		e = &effect{}
		w.effects[key] = e
	}
	return e
}

// work is the Func of every agent: it calls the service of the step.
func (w *world) work(ctx context.Context, r task.Request) (json.RawMessage, error) {
	h := w.cur
	h.call.deadline = max(h.call.deadline, r.CompleteBy)
	if h.now >= h.call.deadline {
		w.fail("S4 late call", r.Task, fmt.Sprintf("step %s is worked on at %v, after %v", r.Step, since(h.now), since(h.call.deadline)))
	}
	h.pass(portService)
	h.call.made = true
	h.call.tries++
	e := w.effectOf(r.Key)
	e.calls++
	if w.now < w.downUntil[r.Agent] {
		return nil, errBusy
	}
	if r.Undo {
		return nil, w.undo(h, e, r)
	}
	switch {
	case w.hit(AgentPanic):
		panic("a fault in the agent's code")
	case w.hit(AgentNotNow):
		return nil, agent.NotNow(errBusy, time.Duration(w.rng.IntN(60))*time.Second)
	case w.hit(AgentRetryAfter):
		return nil, agent.RetryAfter(errBusy, time.Duration(w.rng.IntN(120))*time.Second)
	case w.hit(AgentTransient):
		return nil, errBusy
	case w.hit(AgentSilent):
		h.pause(time.Duration(r.CompleteBy-w.now)*time.Millisecond + time.Duration(w.rng.IntN(60_000))*time.Millisecond)
		return nil, fmt.Errorf("waiting for the service: %w", context.DeadlineExceeded)
	case w.hit(AgentHeartbeat):
		w.heartbeat(ctx, h, r)
	}
	return w.do(h, e, r)
}

// do is the forward call of a service.
func (w *world) do(h *hand, e *effect, r task.Request) (json.RawMessage, error) {
	switch {
	case e.undone:
		return nil, agent.Permanent(errors.New("410 it was undone"))
	case e.open && !e.applied, r.Attempt <= e.refused && !e.applied:
		e.refused = max(e.refused, r.Attempt)
		return nil, agent.Permanent(errors.New("409 refused"))
	case e.applied && (h.receives > 1 || h.call.tries > 1) && w.hit(AgentRefusedAfter):
		return nil, agent.Permanent(errors.New("409 there is one already"))
	case !e.applied && w.hit(AgentRefused):
		e.open, e.refused = true, max(e.refused, r.Attempt)
		return nil, agent.Permanent(errors.New("402 refused"))
	}
	if !e.applied {
		e.applied = true
		e.count++
	}
	out := w.output(e, r)
	w.trace("%s: the effect of %s is there", h, r.Key)
	if w.hit(AgentSlow) {
		h.pause(time.Duration(r.CompleteBy-w.now)*time.Millisecond + time.Duration(w.rng.IntN(30_000))*time.Millisecond)
	}
	h.pass(portAnswer)
	switch {
	case w.hit(AgentAnswerLost):
		return nil, errReset
	case w.hit(AgentUnusable):
		return json.RawMessage(`{"ref": oops`), nil
	}
	h.call.succeeded, h.call.answer = true, out
	return out, nil
}

// output is what the service answers: the same for the same key, but for a fault.
func (w *world) output(e *effect, r task.Request) json.RawMessage {
	if e.answers == 0 || w.hit(AgentOtherAnswer) {
		e.answers++
	}
	out := fmt.Sprintf(`{"ref":"%s","n":%d`, r.Key, e.answers)
	if w.hit(AgentBigOutput) {
		out += `,"big":"` + strings.Repeat("y", pick(w.rng, 150, 150, 5000, task.MaxOutput-len(out)-12)) + `"`
	}
	return json.RawMessage(out + "}")
}

// undo is the undoing call of a service. What was never done is undone too, and
// refused from then on.
func (w *world) undo(h *hand, e *effect, r task.Request) error {
	switch {
	case w.hit(UndoTransient):
		return errBusy
	case !e.undone && w.hit(UndoRefused):
		return agent.Permanent(errors.New("409 can't be undone now"))
	}
	e.applied, e.undone = false, true
	w.trace("%s: %s is undone", h, r.Key)
	h.pass(portAnswer)
	if w.hit(AgentAnswerLost) {
		return errReset
	}
	h.call.succeeded, h.call.answer = true, nil
	return nil
}

// heartbeat asks for more time, and takes some of it.
func (w *world) heartbeat(ctx context.Context, h *hand, r task.Request) {
	until := h.now + task.Millis(1+w.rng.IntN(60_000))
	if agent.Extend(ctx, until.Time()) == nil {
		h.call.deadline = max(h.call.deadline, until)
	}
	if w.rng.IntN(2) == 0 {
		h.pause(max(0, time.Duration(r.CompleteBy-h.now)*time.Millisecond) + time.Second)
	}
}

// mend lets a service that refused accept from now on: an operator has seen to it.
// What was asked before stays refused.
func (w *world) mend(id task.ID) {
	for _, step := range w.model.stepNames(id) {
		if e := w.effects[task.Key(id, step)]; e != nil {
			e.open = false
		}
	}
}
