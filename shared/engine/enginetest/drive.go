package enginetest

import (
	"context"
	"math"
	"time"

	"triad/shared/queue"
	"triad/shared/queue/memqueue"
	"triad/shared/store"
	"triad/shared/task"
)

// maxRounds bounds Settle: more means that something goes round in circles.
const maxRounds = 2000

// Settle delivers every message to the processes in turn, again when it is
// refused, lets time pass to what is due next and has the Supervisor sweep,
// until nothing is left to do: every task has ended and owes nothing.
func (r *Rig) Settle(ps ...*Process) {
	r.tb.Helper()
	for round := range maxRounds {
		p := ps[round%len(ps)]
		if r.Deliver(p) {
			continue
		}
		due, found := r.NextDue()
		if !found {
			return
		}
		r.Clock.Reach(due)
		if _, err := p.Supervisor.Sweep(context.Background()); err != nil {
			r.tb.Fatal(err)
		}
	}
	r.tb.Fatalf("not at rest after %d rounds", maxRounds)
}

// Deliver hands what each queue holds now to its handler, up to ten messages
// each. It reports whether there was any.
func (r *Rig) Deliver(p *Process) bool {
	r.tb.Helper()
	some := r.drain(r.Queues.Submissions, p.Submission.Handle)
	some = r.drain(r.Queues.ToScheduler, p.Scheduler.Handle) || some
	return r.Serve() || some
}

// Serve has the services work on what the agents' queues hold.
func (r *Rig) Serve() bool {
	r.tb.Helper()
	some := false
	for _, name := range r.Queues.names() {
		some = r.drain(r.Queues.Agents[name], func(ctx context.Context, d queue.Delivery) error {
			return r.Services.Handle(ctx, d, r.Queues)
		}) || some
	}
	return some
}

func (r *Rig) drain(q *memqueue.Queue, handle func(context.Context, queue.Delivery) error) bool {
	r.tb.Helper()
	ds := r.Receive(q)
	for _, d := range ds {
		if handle(context.Background(), d) == nil {
			r.Delete(q, d)
		} else if err := q.Release(context.Background(), d.Receipt, 0); err != nil {
			r.tb.Fatal(err)
		}
	}
	return len(ds) > 0
}

// Receive takes up to ten messages off a queue.
func (r *Rig) Receive(q *memqueue.Queue) []queue.Delivery {
	r.tb.Helper()
	ds, err := q.Receive(context.Background(), 10, 0)
	if err != nil {
		r.tb.Fatal(err)
	}
	return ds
}

// Delete removes a message that was handled.
func (r *Rig) Delete(q *memqueue.Queue, d queue.Delivery) {
	r.tb.Helper()
	if err := q.Delete(context.Background(), d.Receipt); err != nil {
		r.tb.Fatal(err)
	}
}

// Lose empties every queue, as the death of queues in memory does.
func (r *Rig) Lose() {
	r.tb.Helper()
	for _, q := range r.Queues.all() {
		for ds := r.Receive(q); len(ds) > 0; ds = r.Receive(q) {
			for _, d := range ds {
				r.Delete(q, d)
			}
		}
	}
}

// NextDue is when the next message or task is due, and whether any is.
func (r *Rig) NextDue() (next time.Time, found bool) {
	consider := func(t time.Time) {
		if !found || t.Before(next) {
			next, found = t, true
		}
	}
	for _, q := range r.Queues.all() {
		if due, some := q.NextDue(); some {
			consider(due)
		}
	}
	for shard := range r.Shards {
		if rows := r.Due(shard); len(rows) > 0 {
			consider(rows[0].CompleteBy.Time())
		}
	}
	return next, found
}

// Due returns what a shard of the index holds, up to 1,000 rows, earliest first.
func (r *Rig) Due(shard int) []store.Due {
	r.tb.Helper()
	page, err := r.Memory.Due(context.Background(), store.DueQuery{Shard: shard, Before: task.Millis(math.MaxInt64), Limit: 1000})
	if err != nil {
		r.tb.Fatal(err)
	}
	return page.Rows
}
