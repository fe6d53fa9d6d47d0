package memqueue

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"

	"triad/shared/queue"
)

// The moves of a message from place to place. All need the lock.

// show makes a message visible, behind those of its group that are.
func (q *Queue) show(i int32) {
	q.shelf.at(i).place = visible
	q.lanes.push(&q.shelf, i)
}

// postpone puts a message on the heap, to become visible at due.
func (q *Queue) postpone(i int32, as place, due time.Duration) {
	m := q.shelf.at(i)
	q.postponed++
	m.place, m.due, m.order = as, due, q.postponed
	q.pending.push(&q.shelf, i)
	if as == released {
		q.parked++
	}
}

// withdraw takes a message from wherever it is.
func (q *Queue) withdraw(i int32) {
	m := q.shelf.at(i)
	switch m.place {
	case visible:
		q.lanes.remove(&q.shelf, i)
	case flying:
		q.flying.remove(&q.shelf, i)
	case released:
		q.parked--
		q.pending.remove(&q.shelf, i)
	case delayed:
		q.pending.remove(&q.shelf, i)
	}
	m.place = nowhere
}

// settle makes visible what is due.
func (q *Queue) settle(now time.Duration) {
	for len(q.pending) > 0 && q.shelf.at(q.pending[0]).due <= now {
		i := q.pending[0]
		q.withdraw(i)
		q.show(i)
	}
	for q.flying.n > 0 && q.shelf.at(q.flying.head).due <= now {
		i := q.flying.head
		q.withdraw(i)
		q.show(i)
	}
}

// nextDue returns when settle has something to do next.
func (q *Queue) nextDue() (time.Duration, bool) {
	due, ok := time.Duration(0), false
	if len(q.pending) > 0 {
		due, ok = q.shelf.at(q.pending[0]).due, true
	}
	if q.flying.n > 0 {
		if d := q.shelf.at(q.flying.head).due; !ok || d < due {
			due, ok = d, true
		}
	}
	return due, ok
}

// take delivers up to max visible messages; those that have been delivered
// often enough become dead letters instead. The receipts share one string.
func (q *Queue) take(max int, now time.Duration) []queue.Delivery {
	n := min(max, q.lanes.n)
	if n == 0 {
		return nil
	}
	var receipts strings.Builder
	receipts.Grow(n * receiptLen)
	ds := make([]queue.Delivery, 0, n)
	for len(ds) < n && q.lanes.n > 0 {
		i := q.lanes.pop(&q.shelf, q.cfg.Faults.Pick)
		m := q.shelf.at(i)
		if m.receives >= q.cfg.MaxReceives {
			q.bury(i)
			continue
		}
		m.receives++
		q.deliveries++
		m.delivery = q.deliveries
		writeReceipt(&receipts, i, m.delivery)
		d := queue.Delivery{Body: m.body, Receives: m.receives, Receipt: receipts.String()[len(ds)*receiptLen:]}
		ds = append(ds, d)
		q.launch(i, d, now)
	}
	return ds
}

// launch puts a delivered message in flight.
func (q *Queue) launch(i int32, d queue.Delivery, now time.Duration) {
	if q.cfg.Faults.Visibility != nil {
		q.postpone(i, released, now+q.cfg.Faults.Visibility(d))
		return
	}
	m := q.shelf.at(i)
	m.place, m.due = flying, now+q.cfg.Visibility
	q.flying.push(&q.shelf, i)
}

// A receipt is the index of the message and the number of its delivery, in hex.
const (
	receiptBytes = 4 + 8
	receiptLen   = 2 * receiptBytes
)

func writeReceipt(to *strings.Builder, i int32, delivery uint64) {
	var raw [receiptBytes]byte
	binary.BigEndian.PutUint32(raw[:], uint32(i))
	binary.BigEndian.PutUint64(raw[4:], delivery)
	var text [receiptLen]byte
	hex.Encode(text[:], raw[:])
	to.Write(text[:])
}

// find returns the message whose latest delivery the receipt names, or none.
func (q *Queue) find(receipt string) int32 {
	var raw [receiptBytes]byte
	if len(receipt) != receiptLen {
		return none
	}
	if _, err := hex.Decode(raw[:], []byte(receipt)); err != nil {
		return none
	}
	i := binary.BigEndian.Uint32(raw[:])
	delivery := binary.BigEndian.Uint64(raw[4:])
	if int64(i) >= int64(len(q.shelf.all)) || delivery == 0 || q.shelf.all[i].delivery != delivery {
		return none
	}
	return int32(i)
}
