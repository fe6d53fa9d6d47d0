package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"triad/shared/queue"
	"triad/shared/task"
)

// Extend is the heartbeat of long work: it asks the Scheduler for a later
// CompleteBy and moves the deadline of ctx. ctx must be the one given to a Func
// or derived from it. An until that is not later than the present deadline
// changes nothing. until counts in whole milliseconds.
//
// It returns an error, and moves nothing, when ctx is no agent's, when the
// deadline has passed already, or when the heartbeat could not be sent: the
// work then still has the time it had. The Scheduler does not grant more than
// the task's own deadline; a reply after that changes nothing.
//
// It is safe for concurrent use.
func Extend(ctx context.Context, until time.Time) error {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return errors.New("extending a deadline: the context is not that of an agent's call: pass on the one given to the Func")
	}
	return c.extend(ctx, task.At(until))
}

type callKey struct{}

// call is the context of one attempt: it ends at a deadline that can move, and
// with its parent. Channel, timer and hook are made when somebody asks for Done,
// so that work which returns at once costs none of them.
type call struct {
	parent  context.Context
	agent   *Agent
	request *task.Request

	mu       sync.Mutex
	deadline task.Millis
	err      error         // set once, when the call ended
	expired  bool          // it ended by its own deadline, not its parent's
	done     chan struct{} // nil until Done was called
	timer    *time.Timer
	unhook   func() bool // takes back the hook on parent
	after    map[*func()]struct{}
}

var _ context.Context = (*call)(nil)

func newCall(parent context.Context, a *Agent, r *task.Request) *call {
	return &call{parent: parent, agent: a, request: r, deadline: r.CompleteBy}
}

// Deadline returns the deadline as it is now.
func (c *call) Deadline() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.deadline.Time(), true
}

// Done returns the channel that is closed when the call ends.
func (c *call) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done != nil {
		return c.done
	}
	c.done = make(chan struct{})
	c.look()
	if c.err != nil {
		close(c.done)
		return c.done
	}
	c.timer = time.AfterFunc(c.rest(), c.expire)
	if c.parent.Done() != nil {
		c.unhook = context.AfterFunc(c.parent, func() { c.end(c.parent.Err()) })
	}
	return c.done
}

// Err returns nil until the call ended, then always the same error.
func (c *call) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
	return c.err
}

// Value returns the call itself for its key, and the parent's values.
func (c *call) Value(key any) any {
	if key == (callKey{}) {
		return c
	}
	return c.parent.Value(key)
}

// AfterFunc lets package context derive from a call without a goroutine.
func (c *call) AfterFunc(f func()) (stop func() bool) {
	c.Done()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		go f()
		return func() bool { return false }
	}
	if c.after == nil {
		c.after = make(map[*func()]struct{})
	}
	c.after[&f] = struct{}{}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waiting := c.after[&f]
		delete(c.after, &f)
		return waiting
	}
}

// late reports whether the deadline has passed.
func (c *call) late() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.expired || c.rest() <= 0
}

// allows reports whether the call goes on for longer than wait.
func (c *call) allows(wait time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
	return c.err == nil && wait < c.rest()
}

// sleep waits; it reports false when ctx ended meanwhile.
func sleep(ctx context.Context, wait time.Duration) bool {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// finish ends a call whose work has returned.
func (c *call) finish() { c.end(context.Canceled) }

func (c *call) extend(ctx context.Context, until task.Millis) error {
	deadline, _ := c.Deadline()
	if err := c.Err(); err != nil {
		return fmt.Errorf("extending %s, attempt %d: its deadline has passed: %w", c.request.Key, c.request.Attempt, err)
	}
	if until <= task.At(deadline) {
		return nil
	}
	if err := c.heartbeat(ctx, until); err != nil {
		return fmt.Errorf("extending %s, attempt %d: %w", c.request.Key, c.request.Attempt, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
	if c.err != nil {
		return fmt.Errorf("extending %s, attempt %d: it ended meanwhile: %w", c.request.Key, c.request.Attempt, c.err)
	}
	c.deadline = max(c.deadline, until)
	if c.timer != nil {
		c.timer.Reset(c.rest())
	}
	return nil
}

func (c *call) heartbeat(ctx context.Context, until task.Millis) error {
	r := c.request
	body, err := queue.Encode(queue.ToScheduler{Extend: &task.Extension{Task: r.Task, Step: r.Step, Undo: r.Undo,
		Attempt: r.Attempt, LockedBy: r.LockedBy, CompleteBy: until}})
	if err != nil {
		return err
	}
	if err := c.agent.replies.Send(ctx, queue.Message{Body: body, Group: r.Tenant}); err != nil {
		return fmt.Errorf("sending the heartbeat: %w", err)
	}
	c.agent.counters.Extensions.Add(1)
	return nil
}

// expire is the timer's function: it ends the call unless the deadline moved.
func (c *call) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	if rest := c.rest(); rest > 0 {
		c.timer.Reset(rest)
		return
	}
	c.expired = true
	c.stop(context.DeadlineExceeded)
}

func (c *call) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop(err)
}

// look ends the call if its time has come. It must be called with mu held, as
// must rest and stop.
func (c *call) look() {
	if c.err != nil {
		return
	}
	if c.rest() <= 0 {
		c.expired = true
		c.stop(context.DeadlineExceeded)
	} else if err := c.parent.Err(); err != nil {
		c.stop(err)
	}
}

func (c *call) rest() time.Duration {
	return time.UnixMilli(int64(c.deadline)).Sub(c.agent.clock())
}

func (c *call) stop(err error) {
	if c.err != nil {
		return
	}
	c.err = err
	if c.done != nil {
		close(c.done)
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	if c.unhook != nil {
		c.unhook()
	}
	for f := range c.after {
		go (*f)()
	}
	c.after = nil
}
