package count

import (
	"context"
	"sync"
	"time"

	"triad/shared/engine"
	"triad/shared/queue"
	"triad/shared/queue/sqsqueue"
)

// pace has the handlers of a batch send at the same time. On AWS they do about
// that: ten messages are handled in parallel, and what they write takes less time
// than a call to SQS, so that sqsqueue.Batcher has one message go alone and the
// others follow together. Here commits take turns on one machine, and how many
// sends meet would be chance. A handler therefore waits at its send until every
// other handler of the batch sends too, or has returned; then one goes first, the
// others when its call is under way, and that call ends when they wait for the next.
type pace struct {
	mu      sync.Mutex
	changed *sync.Cond
	running int  // handlers that have not returned
	waiting int  // of these, at a send
	round   int  // of sends, that is under way
	first   bool // one may go first
	follow  int  // how many follow it
	led     bool // it has gone, and its call has not begun
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
	p.follow, p.waiting, p.first = p.waiting-1, 0, true
	p.changed.Broadcast()
}

// underWay lets the others follow, and returns how many that are: none behind a call
// that nobody led.
func (p *pace) underWay() (follow int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.led {
		return 0
	}
	p.led = false
	p.round++
	p.changed.Broadcast()
	return p.follow
}

// paced sends at the pace of its batch, through a Batcher.
type paced struct {
	pace    *pace
	batcher *sqsqueue.Batcher
}

// newPaced returns what sends to a queue at a pace.
func newPaced(p *pace, to engine.Sender) paced {
	b := &sqsqueue.Batcher{}
	b.To = slow{p, b, to}
	return paced{p, b}
}

func (s paced) Send(ctx context.Context, msgs ...queue.Message) error {
	s.pace.meet()
	return s.batcher.Send(ctx, msgs...)
}

// slow is a queue whose calls take until all who follow wait for the next. What
// stands in for SQS may answer before.
type slow struct {
	pace    *pace
	batcher *sqsqueue.Batcher
	to      engine.Sender
}

func (s slow) Send(ctx context.Context, msgs ...queue.Message) error {
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for follow := s.pace.underWay(); s.batcher.Waiting() < follow; {
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return s.to.Send(ctx, msgs...)
}
