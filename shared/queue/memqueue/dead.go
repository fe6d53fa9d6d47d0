package memqueue

import (
	"context"

	"triad/shared/queue"
)

// deadLetter is a message that was delivered too often.
type deadLetter struct {
	body     []byte
	group    string
	receives int
}

func (d deadLetter) delivery() queue.Delivery {
	return queue.Delivery{Body: d.body, Receives: d.receives}
}

// bury makes a dead letter of a message that is at no place. It needs the lock.
func (q *Queue) bury(i int32) {
	m := q.shelf.at(i)
	d := deadLetter{body: m.body, group: m.group, receives: m.receives}
	q.shelf.discard(i)
	if len(q.dead) >= q.cfg.DeadCapacity {
		q.dead[0] = deadLetter{}
		q.dead = q.dead[1:]
	}
	q.dead = append(q.dead, d)
	if q.cfg.DeadLetter != nil {
		q.told = append(q.told, d.delivery())
	}
}

// DeadLetters lists the dead letters, oldest first, without receipts. Receives
// is how often each was delivered.
func (q *Queue) DeadLetters() []queue.Delivery {
	q.mu.Lock()
	defer q.mu.Unlock()
	ds := make([]queue.Delivery, 0, len(q.dead))
	for _, d := range q.dead {
		ds = append(ds, d.delivery())
	}
	return ds
}

// Redrive sends the dead letters again, oldest first, as if they had never been
// received, and returns how many. When the queue gets full, the rest stays and
// the error is queue.ErrFull; calling again later goes on.
func (q *Queue) Redrive(ctx context.Context) (int, error) {
	if err := q.refused(ctx, OpRedrive); err != nil {
		return 0, err
	}
	if err := q.lock(); err != nil {
		return 0, err
	}
	n := 0
	var err error
	for n < len(q.dead) && err == nil {
		d := q.dead[n]
		if err = q.accept(queue.Message{Body: d.body, Group: d.group}); err == nil {
			q.dead[n] = deadLetter{}
			n++
		}
	}
	q.dead = q.dead[n:]
	q.serve(q.now())
	q.unlock()
	return n, err
}
