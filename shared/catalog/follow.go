package catalog

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	// rereadPause is the least time between the beginnings of two reads.
	rereadPause = time.Second
	// rereadWithin bounds one read.
	rereadWithin = 3 * time.Second
	// newestFor is how long the newest version of a name is taken for that.
	newestFor = 30 * time.Second
)

// follower reads the kept definitions again.
type follower struct {
	ledger Ledger
	turn   chan struct{} // holds one while somebody reads, or waits until it may
	began  time.Time     // of the latest read; for whom has the turn, as err
	err    error         // what came of it

	mu    sync.RWMutex
	fresh time.Time // the beginning of the latest read that succeeded
}

// Follow is Keep for a deployment in which others add definitions while this
// process runs: it reads the kept ones again when it is asked for one that it
// doesn't know, and every half minute when it is asked for the newest of a name.
// A kept definition that can't be used (a later version of Triad wrote it) is not
// an error here, but for those who ask for it. Call it before the catalog is
// used.
//
// Who asks for what is known is served from memory, but for the one who reads
// each half minute. Who asks for what is not known waits for a read that began
// after that: reads begin once a second at most and end within 3 s, so that takes
// a second at most, or 7 s when nothing answers. The error of a read that failed
// is then returned, and does not wrap engine.ErrNoWorkflow.
func (c *Catalog) Follow(ctx context.Context, ledger Ledger) error {
	began := time.Now()
	stored, err := c.keep(ctx, ledger)
	if err != nil {
		return err
	}
	_ = c.learn(stored) // told to those who ask
	c.kept = &follower{ledger: ledger, turn: make(chan struct{}, 1), began: began, fresh: began}
	return nil
}

// reread learns what is kept, unless somebody has begun to since asked.
func (c *Catalog) reread(asked time.Time) error {
	f := c.kept
	f.turn <- struct{}{}
	defer f.release()
	if f.began.After(asked) {
		return f.err
	}
	time.Sleep(rereadPause - time.Since(f.began))
	c.read()
	return f.err
}

// renew learns what is kept when that was read too long ago. It never waits for
// another: what is known serves meanwhile, and when the read fails.
func (c *Catalog) renew() {
	f := c.kept
	if f == nil || f.age() < newestFor {
		return
	}
	select {
	case f.turn <- struct{}{}:
	default:
		return
	}
	defer f.release()
	if f.age() >= newestFor && time.Since(f.began) >= rereadPause {
		c.read()
	}
}

func (f *follower) release() { <-f.turn }

// age is how long ago the latest successful read began.
func (f *follower) age() time.Duration {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return time.Since(f.fresh)
}

// read learns what is kept. Its caller has the turn.
func (c *Catalog) read() {
	f := c.kept
	f.began = time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), rereadWithin)
	defer cancel()
	stored, err := f.ledger.Definitions(ctx)
	if err != nil {
		f.err = fmt.Errorf("reading the stored workflows: %w", err)
		return
	}
	f.err = nil
	_ = c.learn(stored) // told to those who ask
	f.mu.Lock()
	f.fresh = f.began
	f.mu.Unlock()
}
