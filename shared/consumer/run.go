package consumer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"triad/shared/queue"
)

// run is one call of Run. Its goroutines are all alike. One of them leads (or
// as many as there are Receivers): it receives, passes the lead on, and handles
// the first message itself, so that on an idle queue a message gets to its
// handler by the waking of a single goroutine. Goroutines are started when
// there is more to do than those that are idle can take, and kept: their stacks
// have grown to what the handlers need.
type run struct {
	*Consumer
	// receiving ends when Run is to end; stop ends it with a cause.
	receiving context.Context
	stop      context.CancelCauseFunc
	// handling is the handlers' context; it ends with the grace.
	handling context.Context

	lead  chan struct{}         // to an idle goroutine: you receive
	work  chan []queue.Delivery // to an idle goroutine: a chain to handle
	slots *slots
	// members counts the goroutines. At most Concurrency of them handle and
	// Receivers lead, so that when all exist, whoever has something to give
	// away finds one that is idle, now or within a moment.
	members atomic.Int64
	all     sync.WaitGroup
}

// Run consumes until ctx ends, then stops receiving, waits for the handlers and
// returns nil. When they have not returned after Grace, their context is
// cancelled; when they have not returned after Grace once more, Run leaves them
// behind and returns an error. It returns queue.ErrClosed when the queue is
// closed. Errors of the queue that may pass are logged and waited out.
//
// A consumer runs once at a time; another Run at the same time is an error.
func (c *Consumer) Run(ctx context.Context) error {
	if !c.running.CompareAndSwap(false, true) {
		return fmt.Errorf("consuming queue %s: it is being consumed already", c.cfg.Name)
	}
	defer c.running.Store(false)
	receiving, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	handling, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	r := &run{
		Consumer:  c,
		receiving: receiving,
		stop:      stop,
		handling:  handling,
		lead:      make(chan struct{}),
		work:      make(chan []queue.Delivery),
		slots:     newSlots(c.cfg.Concurrency),
	}
	for range c.cfg.Receivers {
		r.passLead()
	}
	<-receiving.Done()
	err := r.drain(cancel)
	if ctx.Err() == nil {
		err = errors.Join(context.Cause(receiving), err)
	}
	return err
}

// drain waits for the goroutines to end.
func (r *run) drain(cancel context.CancelFunc) error {
	ended := make(chan struct{})
	go func() {
		r.all.Wait()
		close(ended)
	}()
	for range 2 {
		select {
		case <-ended:
			return nil
		case <-time.After(r.cfg.Grace):
			cancel()
		}
	}
	return fmt.Errorf("consuming queue %s: %d handlers did not end within %v of being cancelled",
		r.cfg.Name, r.inFlight.Load(), r.cfg.Grace)
}

// member is the life of a goroutine after the first thing it was started for.
func (r *run) member() {
	for {
		select {
		case <-r.lead:
			r.receive()
		case chain := <-r.work:
			r.handleChain(chain)
		case <-r.receiving.Done():
			return
		}
	}
}

// recruit starts a goroutine unless there are enough, and reports whether.
func (r *run) recruit(first func()) bool {
	enough := int64(r.cfg.Concurrency + r.cfg.Receivers)
	if r.members.Load() >= enough || r.members.Add(1) > enough {
		return false
	}
	r.all.Go(func() {
		first()
		r.member()
	})
	return true
}

// passLead gives the lead to an idle goroutine or to a new one.
func (r *run) passLead() {
	select {
	case r.lead <- struct{}{}:
		return
	default:
	}
	if r.recruit(r.receive) {
		return
	}
	select {
	case r.lead <- struct{}{}:
	case <-r.receiving.Done():
	}
}

// giveAway gives a chain to an idle goroutine or to a new one.
func (r *run) giveAway(chain []queue.Delivery) {
	select {
	case r.work <- chain:
		return
	default:
	}
	if r.recruit(func() { r.handleChain(chain) }) {
		return
	}
	select {
	case r.work <- chain:
	case <-r.receiving.Done():
		r.handBack(chain)
	}
}

// receive leads: it receives messages, gives all but the first chain away,
// passes the lead and handles that chain.
func (r *run) receive() {
	chains, n := r.next()
	if n == 0 {
		return
	}
	for _, chain := range chains[1:n] {
		r.giveAway(chain)
	}
	r.passLead()
	r.handleChain(chains[0])
}

// next receives until there are messages, and returns them as n chains, each of
// which holds a slot. It returns none when Run is to end.
func (r *run) next() (chains [maxBatch][]queue.Delivery, n int) {
	for failures := 0; r.gate.pass(r.receiving); {
		free := r.slots.acquire(r.receiving, maxBatch)
		if free == 0 {
			break
		}
		ds, err := r.cfg.Queue.Receive(r.receiving, free, r.cfg.Wait)
		if len(ds) > 0 && !r.holdsBack() {
			chains, n = r.chain(ds)
			r.slots.release(free - n)
			return chains, n
		}
		r.slots.release(free)
		r.handBack(ds)
		if err == nil {
			failures = 0
			continue
		}
		failures++
		r.receiveFailed(err, failures)
	}
	return chains, 0
}

// holdsBack reports whether messages must no longer be given to handlers.
func (r *run) holdsBack() bool { return r.gate.isShut.Load() || r.receiving.Err() != nil }

// receiveFailed ends the run when the queue is closed; otherwise it waits
// before the next try, longer with each failure.
func (r *run) receiveFailed(err error, failures int) {
	if r.receiving.Err() != nil {
		return
	}
	if errors.Is(err, queue.ErrClosed) {
		r.stop(fmt.Errorf("consuming queue %s: %w", r.cfg.Name, err))
		return
	}
	wait := r.backoff(failures)
	r.cfg.Logger.Warn("messages not received", "error", err, "retryIn", wait)
	select {
	case <-time.After(wait):
	case <-r.receiving.Done():
	}
}

// chain sorts a batch in place into chains: messages of one key in order, or
// one message without a key.
func (r *run) chain(ds []queue.Delivery) (chains [maxBatch][]queue.Delivery, n int) {
	var keys [maxBatch]string
	if r.cfg.Key != nil && len(ds) > 1 {
		for i := range ds {
			keys[i] = r.cfg.Key(ds[i].Body)
			joinKey(ds, &keys, i)
		}
	}
	for first := 0; first < len(ds); n++ {
		end := first + 1
		for keys[first] != "" && end < len(ds) && keys[end] == keys[first] {
			end++
		}
		chains[n] = ds[first:end]
		first = end
	}
	return chains, n
}

// joinKey moves message i behind the last one before it of the same key.
func joinKey(ds []queue.Delivery, keys *[maxBatch]string, i int) {
	if keys[i] == "" {
		return
	}
	at := i
	for at > 0 && keys[at-1] != keys[i] {
		at--
	}
	if at == 0 {
		return // the first of its key
	}
	d, key := ds[i], keys[i]
	copy(ds[at+1:i+1], ds[at:i])
	copy(keys[at+1:i+1], keys[at:i])
	ds[at], keys[at] = d, key
}

// backoff is the wait before try number tries+1, with jitter.
func (c *Consumer) backoff(tries int) time.Duration {
	wait := c.cfg.MaxBackoff
	if c.cfg.Backoff <= wait>>tries {
		wait = c.cfg.Backoff << tries
	}
	return wait - rand.N(wait/2+1)
}
