package count

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"triad/shared/queue"
	"triad/shared/supervisor"
	"triad/shared/task"
)

// definition is the reference order: five steps, one after the other, each with
// an undo.
const definition = `workflow: order
version: 1
completeWithin: 24h
onExhausted: compensate
steps:
  reserve: {agent: reserve, completeWithin: 10s, retry: {attempts: 4, first: 1s, factor: 2, max: 1m}, undo: {completeWithin: 10s}}
  charge:  {agent: charge,  completeWithin: 10s, retry: {attempts: 4, first: 1s, factor: 2, max: 1m}, undo: {completeWithin: 10s}}
  pack:    {agent: pack,    completeWithin: 10s, retry: {attempts: 4, first: 1s, factor: 2, max: 1m}, undo: {completeWithin: 10s}}
  ship:    {agent: ship,    completeWithin: 10s, retry: {attempts: 4, first: 1s, factor: 2, max: 1m}, undo: {completeWithin: 10s}}
  confirm: {agent: confirm, completeWithin: 10s, retry: {attempts: 4, first: 1s, factor: 2, max: 1m}, undo: {completeWithin: 10s}}
`

const (
	lateStep = "charge"
	lastStep = "confirm"
	// tooLate is longer than a step may take, and backoff as long as the wait
	// before its second attempt at most.
	tooLate = 11 * time.Second
	backoff = time.Second
	// hop is how long a message is under way, by the clock of the run.
	hop = 37 * time.Millisecond
	// patience is how long a message that is due may stay invisible, and askEvery
	// how often it is looked for.
	patience = 30 * time.Second
	askEvery = 20 * time.Millisecond
)

// submit sends the orders as an application would, a batch in a call.
func (d *deployment) submit(ctx context.Context) error {
	order := d.config.Order
	if order == nil {
		order = json.RawMessage(`{"item":"spade","n":1,"total":12.5}`)
	}
	var batch []queue.Message
	for i := range d.config.Tasks {
		body, err := queue.Encode(task.Submission{
			ID: task.ID(fmt.Sprintf("order-2026-10-17-%06d", i+1)), Workflow: "order", ResponseQueue: notices, Tenant: "shop-eu",
			Order: order,
		})
		if err != nil {
			return err
		}
		batch = append(batch, queue.Message{Body: body})
		if len(batch) < d.config.Batch && i+1 < d.config.Tasks {
			continue
		}
		if err := d.channels[queue.Submissions].queue.Send(ctx, batch...); err != nil {
			return err
		}
		batch = nil
	}
	return nil
}

// settle empties the queues until there is nothing left to do. On the path with a
// timeout the first requests for one step grow old in their queue.
func (d *deployment) settle(ctx context.Context) error {
	timeout := d.config.Path == Retried
	for {
		worked := false
		for _, c := range d.order {
			if c.till.pending() == 0 {
				continue
			}
			worked = true
			if timeout && c.name == queue.AgentQueue(lateStep) {
				d.clock.advance(tooLate)
			}
			if err := d.empty(ctx, c); err != nil {
				return err
			}
		}
		switch {
		case worked:
		case timeout:
			timeout = false
			if err := d.sweep(ctx); err != nil {
				return err
			}
			d.clock.advance(backoff)
		default:
			return nil
		}
	}
}

// empty gives the messages of a queue to its function, a batch at a time: those
// that are there now, and not those that come of them.
func (d *deployment) empty(ctx context.Context, c *channel) error {
	for left := c.till.pending(); left > 0; {
		n := min(left, d.config.Batch)
		if err := c.await(ctx, n); err != nil {
			return err
		}
		batch, err := c.queue.Receive(ctx, n, 0)
		if err != nil {
			return err
		}
		if len(batch) != n {
			return fmt.Errorf("queue %s gave %d messages and has %d: the batches would not be what they are said to be", c.name, len(batch), n)
		}
		if err := d.invoke(ctx, c, batch); err != nil {
			return err
		}
		left -= n
	}
	return nil
}

// await waits until so many messages are visible: some are sent with a delay.
func (c *channel) await(ctx context.Context, n int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	again := time.NewTicker(askEvery)
	defer again.Stop()
	for {
		depth, err := c.depth.Depth(ctx)
		if err != nil || depth.Visible >= n {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("queue %s: waiting for %d messages: %w", c.name, n, ctx.Err())
		}
	}
}

// invoke is one invocation of a function: it handles the messages of a batch in
// parallel. Then they are deleted in one call, as an event source does.
func (d *deployment) invoke(ctx context.Context, c *channel, batch []queue.Delivery) error {
	d.clock.advance(hop)
	d.invocations[c.function]++
	d.pace.begin(len(batch))
	var handlers errgroup.Group
	receipts := make([]string, len(batch))
	for i, m := range batch {
		receipts[i] = m.Receipt
		handlers.Go(func() error {
			defer d.pace.end()
			return c.handle(ctx, m)
		})
	}
	if err := handlers.Wait(); err != nil {
		return fmt.Errorf("handling a message of queue %s: %w", c.name, err)
	}
	return c.queue.Delete(ctx, receipts...)
}

// sweep has the Supervisor look once at the index. It acts on one task after the
// other, so that no two wake-ups share a call: with few tasks due, none do.
func (d *deployment) sweep(ctx context.Context) error {
	report, err := supervisor.New(supervisor.Config{Engine: d.engine, Parallel: 1}).Sweep(ctx)
	if err == nil && report.Failed > 0 {
		err = fmt.Errorf("%d of %d tasks could not be acted on", report.Failed, report.Looked)
	}
	return err
}

// counts adds up, and makes sure that it all happened as the path says.
func (d *deployment) counts() (Counts, error) {
	c := Counts{Path: d.config.Path, Tasks: d.config.Tasks, Batch: d.config.Batch,
		Writes: d.meter.writes, Reads: d.meter.reads, Invocations: d.invocations, LargestItem: d.store.largest}
	faults := append(d.trouble, d.meter.failed)
	for _, ch := range d.channels {
		faults = append(faults, ch.till.failed)
		if ch.function == "" {
			c.Requests.Notices += ch.till.requests.Send
			continue
		}
		c.Messages += ch.till.sent
		c.Requests.Send += ch.till.requests.Send
		c.Requests.Receive += ch.till.requests.Receive
		c.Requests.Delete += ch.till.requests.Delete
	}
	want := task.Processed
	if d.config.Path == Compensated {
		want = task.Compensated
	}
	if len(d.ended) != d.config.Tasks {
		faults = append(faults, fmt.Errorf("%d of %d orders ended", len(d.ended), d.config.Tasks))
	}
	for id, state := range d.ended {
		if state != want {
			faults = append(faults, fmt.Errorf("order %s ended as %s, not as %s", id, state, want))
		}
	}
	return c, errors.Join(faults...)
}
