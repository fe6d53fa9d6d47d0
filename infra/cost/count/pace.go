package count

import (
	"context"
	"sync"
	"time"

	"triad/shared/engine"
	"triad/shared/queue"
)

// pace has the handlers of a batch send at the same time. On AWS they do about
// that: ten messages are handled in parallel, and what they write takes less time
// than a call to SQS, so that sqsqueue.Batcher has one message go alone and the
// others follow together. Here commits take turns on one machine, and how many
// sends meet would be chance. A handler therefore waits at its send until every
// other handler of the batch sends too, or has returned; then one goes first, and
// the others when its call is under way.
type pace struct {
	mu      sync.Mutex
	changed *sync.Cond
	running int  // handlers that have not returned
	waiting int  // of these, at a send
	round   int  // of sends, that is under way
	first   bool // one may go first
	led     bool // it has, and its call has not begun
}

func newPace() *pace {
	p := &pace{}
	p.changed = sync.NewCond(&p.mu)
	return p
}

// begin says how many handlers are about to run. Each must call end.
func (p *pace) begin(handlers int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = handlers
}

func (p *pace) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
	p.look()
}

// meet waits for the others. What sends outside of a batch is not held up.
func (p *pace) meet() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting++
	p.look()
	for round := p.round; p.round == round; p.changed.Wait() {
		if p.first {
			p.first, p.led = false, true
			return
		}
	}
}

// look lets one go first when all are there. It must be called with mu held.
func (p *pace) look() {
	if p.waiting == 0 || p.waiting < p.running {
		return
	}
	p.waiting, p.first = 0, true
	p.changed.Broadcast()
}

// underWay lets the others follow.
func (p *pace) underWay() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.led {
		p.led = false
		p.round++
		p.changed.Broadcast()
	}
}

// paced sends at the pace of its batch.
type paced struct {
	pace *pace
	to   engine.Sender
}

func (s paced) Send(ctx context.Context, msgs ...queue.Message) error {
	s.pace.meet()
	return s.to.Send(ctx, msgs...)
}

// callTime is how long a call to SQS takes at least, as on AWS. What stands in for
// it may answer before the others have followed.
const callTime = 10 * time.Millisecond

// slow is a queue whose calls take callTime.
type slow struct {
	pace *pace
	to   engine.Sender
}

func (s slow) Send(ctx context.Context, msgs ...queue.Message) error {
	s.pace.underWay()
	select {
	case <-time.After(callTime):
		return s.to.Send(ctx, msgs...)
	case <-ctx.Done():
		return ctx.Err()
	}
}
