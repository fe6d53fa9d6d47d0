package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"triad/shared/queue"
	"triad/shared/task"
)

// Func does the work of one attempt: it calls the remote service under
// r.IdempotencyKey() and returns the step's output, JSON, or nil for none.
//
// ctx ends at CompleteBy (which Extend moves) and at shutdown; a Func must
// return soon after. An error made by Permanent is a refusal for good, one made
// by RetryAfter names the least wait, any other is transient. A Func is called
// again within the same attempt after a transient error, and must be safe for
// concurrent use and idempotent.
type Func func(ctx context.Context, r task.Request) (json.RawMessage, error)

// Sender sends messages: the sending half of queue.Queue.
type Sender interface {
	Send(ctx context.Context, msgs ...queue.Message) error
}

// RejectFunc captures a message that can't be processed, with its bytes and the
// reason, where an operator finds it. It returns nil once that is durable.
type RejectFunc func(ctx context.Context, body []byte, reason string) error

// Config is what an Agent consists of.
type Config struct {
	// Name is the agent's name, as definitions use it. Required.
	Name string
	// Work is the work. Required.
	Work Func
	// Replies is the scheduler queue. Required.
	Replies Sender
	// Rejected captures unreadable messages. Required.
	Rejected RejectFunc
	// Retry is the backoff between the calls of one attempt, inside its
	// deadline; Attempts counts the calls. Zero fields default to 3 attempts,
	// first 50ms, factor 2, max 1s.
	Retry task.Retry
	// Counters counts what happens; it may be shared with others. Defaults to
	// counters of its own.
	Counters *Counters
	// Clock tells the time. Defaults to time.Now.
	Clock func() time.Time
	// Sleep waits between two calls of one attempt, and reports false when ctx
	// ended first. It goes with a Clock of your own. Defaults to a timer.
	Sleep func(ctx context.Context, d time.Duration) bool
	// Logger gets one line per refusal, failure and rejected message, never a
	// payload. Defaults to none.
	Logger *slog.Logger
}

// Agent handles the messages of one agent's queue. It is safe for concurrent
// use.
type Agent struct {
	name     string
	work     Func
	replies  Sender
	rejected RejectFunc
	retry    task.Retry
	counters *Counters
	clock    func() time.Time
	sleep    func(ctx context.Context, d time.Duration) bool
	log      *slog.Logger
}

// New makes an Agent. It returns an error that names the field when the
// configuration is incomplete.
func New(c Config) (*Agent, error) {
	switch {
	case c.Name == "":
		return nil, errors.New("agent has no Name: give the name that definitions use")
	case c.Work == nil:
		return nil, fmt.Errorf("agent %s has no Work: give the function that calls the service", c.Name)
	case c.Replies == nil:
		return nil, fmt.Errorf("agent %s has no Replies: give the scheduler queue", c.Name)
	case c.Rejected == nil:
		return nil, fmt.Errorf("agent %s has no Rejected: say where unreadable messages go", c.Name)
	}
	a := &Agent{name: c.Name, work: c.Work, replies: c.Replies, rejected: c.Rejected,
		retry: withDefaults(c.Retry), counters: c.Counters, clock: c.Clock, sleep: c.Sleep, log: c.Logger}
	if a.counters == nil {
		a.counters = new(Counters)
	}
	if a.clock == nil {
		a.clock = time.Now
	}
	if a.sleep == nil {
		a.sleep = sleep
	}
	a.log = cmp.Or(a.log, slog.New(slog.DiscardHandler)).With("agent", a.name)
	return a, nil
}

// Counters returns the agent's counters.
func (a *Agent) Counters() *Counters { return a.counters }

// Handle deals with one delivery. After nil the message can be deleted. After
// an error (the reply could not be sent, the message could not be captured, or
// ctx ended first) it must come again; nothing is lost by that.
func (a *Agent) Handle(ctx context.Context, d queue.Delivery) error {
	r, err := a.read(d.Body)
	if err != nil {
		return a.reject(ctx, d.Body, err)
	}
	c := newCall(ctx, a, &r)
	defer c.finish()
	if c.late() {
		return a.drop(c)
	}
	res := a.attempt(c)
	// An earlier delivery may have called the service and died before it replied.
	res.doubt = res.doubt || res.outcome == task.FailedPermanently && d.Receives > 1
	if c.late() {
		return a.drop(c)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("working on %s, attempt %d: stopped before its reply: %w", r.Key, r.Attempt, err)
	}
	return a.reply(ctx, &r, res)
}

// read decodes a request and refuses what this agent must not act on.
func (a *Agent) read(body []byte) (task.Request, error) {
	r, err := queue.DecodeRequest(body)
	if err != nil {
		return r, err
	}
	if r.Key == "" {
		return r, errors.New("request has no key: without it a repeated call would count twice")
	}
	if r.Agent != "" && r.Agent != a.name {
		return r, fmt.Errorf("request is for agent %q, but came to agent %q: check the queues", r.Agent, a.name)
	}
	return r, nil
}

func (a *Agent) reject(ctx context.Context, body []byte, cause error) error {
	reason := cutText(cause, maxReason)
	if err := a.rejected(ctx, body, reason); err != nil {
		return fmt.Errorf("capturing a rejected message of agent %s (%s): %w", a.name, reason, err)
	}
	a.counters.Rejected.Add(1)
	a.log.LogAttrs(ctx, slog.LevelWarn, "message rejected", slog.String("reason", reason))
	return nil
}

// drop is the answer to lateness: none.
func (a *Agent) drop(c *call) error {
	a.counters.Late.Add(1)
	a.log.LogAttrs(c.parent, slog.LevelDebug, "request dropped, CompleteBy has passed", tokenAttrs(c.request)...)
	return nil
}

// result is how an attempt ended.
type result struct {
	outcome    task.Outcome
	output     json.RawMessage
	err        error
	retryAfter time.Duration
	// doubt: it failed permanently, and there may be an effect all the same.
	doubt bool
}

// attempt calls the work until it succeeds, is refused for good, or no further
// try fits the deadline. When c has ended the result has no meaning.
func (a *Agent) attempt(c *call) result {
	for try := 1; ; try++ {
		out, err := a.try(c)
		if err == nil {
			out, err = checkOutput(out)
		}
		if err == nil {
			return result{outcome: task.Succeeded, output: out}
		}
		if IsPermanent(err) {
			return result{outcome: task.FailedPermanently, err: err, doubt: try > 1 || isUnusable(err)}
		}
		failed := result{outcome: task.FailedTransiently, err: err, retryAfter: Wait(err)}
		if try >= a.retry.Attempts || isNotNow(err) {
			return failed
		}
		wait := failed.retryAfter + backoff(a.retry, c.request, try)
		if !c.allows(wait) || !a.sleep(c, wait) {
			return failed
		}
		a.counters.Retries.Add(1)
	}
}

// try calls the work once. A panic becomes a transient error.
func (a *Agent) try(c *call) (out json.RawMessage, err error) {
	defer func() {
		if p := recover(); p != nil {
			a.counters.Panics.Add(1)
			out, err = nil, fmt.Errorf("panic: %v", p)
			a.log.LogAttrs(c.parent, slog.LevelError, "agent panicked", append(tokenAttrs(c.request),
				slog.String("error", cutText(err, task.MaxError)), slog.String("stack", string(debug.Stack())))...)
		}
	}()
	a.counters.Calls.Add(1)
	return a.work(c, *c.request)
}

func (a *Agent) reply(ctx context.Context, r *task.Request, res result) error {
	reply := task.Reply{Task: r.Task, Step: r.Step, Undo: r.Undo, Attempt: r.Attempt, LockedBy: r.LockedBy,
		Outcome: res.outcome, Output: res.output, Doubt: res.doubt, RetryAfterMs: wholeMillis(res.retryAfter)}
	if res.err != nil {
		reply.Error = cutText(res.err, task.MaxError)
	}
	if err := a.replies.Send(ctx, queue.Message{Body: queue.EncodeReply(&reply), Group: r.Tenant}); err != nil {
		return fmt.Errorf("sending the reply of %s, attempt %d: %w", r.Key, r.Attempt, err)
	}
	a.counters.ended(res.outcome)
	if res.err != nil {
		a.log.LogAttrs(ctx, slog.LevelInfo, string(res.outcome), append(tokenAttrs(r), slog.String("error", reply.Error))...)
	}
	return nil
}

func tokenAttrs(r *task.Request) []slog.Attr {
	return []slog.Attr{slog.String("task", string(r.Task)), slog.String("step", r.Step),
		slog.Int("attempt", r.Attempt), slog.Bool("undo", r.Undo)}
}
