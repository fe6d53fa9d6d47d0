// Package consumer handles the messages of one queue, many at a time.
//
// It is the competing-consumers pattern inside a process: a receiver takes
// batches off the queue and handlers work on them in parallel; other processes
// may do the same on the same queue. Engines that run as processes use it;
// Lambda's event sources do the same work for functions.
//
// # Promises
//
// A message is deleted only after its handler returned nil. After an error or a
// panic it is released, to come again after a backoff; when the process dies,
// its visibility timeout brings it back. So a message is handled at least once,
// or becomes a dead letter of the queue.
//
// A slow message holds back nothing but later messages of its key in the same
// batch, as long as there is Concurrency left. Only as many messages are
// received as can be handled at once, so that none waits here, its visibility
// timeout running, while another process is idle.
//
// # Not promised
//
// Order: messages of one key are handled one after the other only within a
// batch. What handlers do must be safe to do twice.
package consumer

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"triad/shared/queue"
)

// maxBatch is how many messages one Receive may return.
const maxBatch = 10

// Config says what to consume and how. Queue and Handle are required.
type Config struct {
	// Name names the queue in logs. Defaults to "".
	Name string
	// Queue is where the messages come from.
	Queue queue.Queue
	// Handle handles one message; nil means that it is done. It is called by
	// many goroutines at once, its context ends when the grace of a shutdown is
	// over. It must return well within the queue's visibility timeout and must
	// not change the body.
	Handle func(context.Context, queue.Delivery) error
	// Key returns a message's ordering key, for any body: messages of one batch
	// with the same key are handled in the order received, one after the other;
	// a failed one does not stop those behind it. "" is no key. Defaults to
	// nil: no message has one.
	Key func(body []byte) string
	// Concurrency is how many handlers run at once. Defaults to 64.
	Concurrency int
	// Receivers is how many receives wait at the queue at once; more than one
	// pays when a receive takes long to answer. Defaults to 1.
	Receivers int
	// Wait is how long one receive waits for messages. Defaults to 10 s.
	Wait time.Duration
	// Backoff is the unit of the wait before a failed message comes again:
	// Backoff * 2^receives, at most MaxBackoff, less up to half of it as
	// jitter. Defaults to 100 ms.
	Backoff time.Duration
	// MaxBackoff is the longest such wait. Defaults to 30 s.
	MaxBackoff time.Duration
	// Grace is how long handlers may go on when Run is to end. Defaults to 5 s.
	Grace time.Duration
	// Logger is told of failures, never of bodies. Defaults to discarding.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.Queue == nil || c.Handle == nil {
		panic("consumer: Config needs a Queue and a Handle")
	}
	positive(&c.Concurrency, 64)
	positive(&c.Receivers, 1)
	positive(&c.Wait, 10*time.Second)
	positive(&c.Backoff, 100*time.Millisecond)
	positive(&c.MaxBackoff, 30*time.Second)
	positive(&c.Grace, 5*time.Second)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Logger = c.Logger.With("queue", c.Name)
	return c
}

func positive[T int | time.Duration](v *T, otherwise T) {
	if *v <= 0 {
		*v = otherwise
	}
}

// Consumer consumes one queue; New makes it, Run does the work. All methods are
// safe for concurrent use.
type Consumer struct {
	cfg     Config
	gate    gate
	running atomic.Bool

	handled, failed, panicked, inFlight atomic.Int64
}

// New makes a consumer. It panics when Queue or Handle is missing.
func New(cfg Config) *Consumer { return &Consumer{cfg: cfg.withDefaults()} }

// Pause stops receiving; messages being handled are finished. A message that a
// receive under way still brings, or that waits behind another of its key, is
// released unhandled, which counts as one of its receives.
func (c *Consumer) Pause() { c.gate.shut() }

// Resume starts receiving again.
func (c *Consumer) Resume() { c.gate.open() }

// Stats are counts since New, but for InFlight.
type Stats struct {
	// Handled and Failed count calls of the handler by their end.
	Handled, Failed int64
	// Panicked counts the failed calls that panicked.
	Panicked int64
	// InFlight is how many messages are being handled now.
	InFlight int64
}

// Stats returns the counts. Each is exact, but they are read one by one.
func (c *Consumer) Stats() Stats {
	return Stats{
		Handled:  c.handled.Load(),
		Failed:   c.failed.Load(),
		Panicked: c.panicked.Load(),
		InFlight: c.inFlight.Load(),
	}
}

// gate lets receivers through unless it is shut.
type gate struct {
	isShut atomic.Bool

	mu     sync.Mutex
	opened chan struct{} // closed when the gate opens
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.isShut.Load() {
		g.opened = make(chan struct{})
		g.isShut.Store(true)
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.isShut.Load() {
		g.isShut.Store(false)
		close(g.opened)
	}
}

// pass waits until the gate is open; it returns false when ctx ended first.
func (g *gate) pass(ctx context.Context) bool {
	for g.isShut.Load() {
		g.mu.Lock()
		opened := g.opened
		g.mu.Unlock()
		select {
		case <-opened:
		case <-ctx.Done():
			return false
		}
	}
	return ctx.Err() == nil
}
