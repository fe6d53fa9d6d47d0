package memqueue

import "time"

// place says where a message is.
type place uint8

const (
	nowhere  place = iota
	visible        // in its group's lane
	delayed        // on the heap, sent with a delay
	released       // on the heap, in flight until a time of its own
	flying         // on the list of those in flight for the usual time
)

// none is the index of no message.
const none int32 = -1

// stored is a message on the shelf. Lists run through it, so that removing it
// from any place needs no search.
type stored struct {
	body  []byte
	group string
	// delivery is the number of the latest delivery, by which a receipt knows
	// that it is stale; 0 before the first.
	delivery uint64
	receives int
	due      time.Duration
	// order breaks ties between equal due times.
	order      uint64
	lane       *lane
	prev, next int32
	heapAt     int32
	place      place
}

// shelf holds the messages, by index. Free places are used again, latest first.
type shelf struct {
	all  []stored
	free []int32
	used int
}

func newShelf() shelf { return shelf{} }

func (s *shelf) at(i int32) *stored { return &s.all[i] }

func (s *shelf) store(body []byte, group string) int32 {
	s.used++
	m := stored{body: body, group: group, prev: none, next: none, heapAt: none}
	if n := len(s.free); n > 0 {
		i := s.free[n-1]
		s.free = s.free[:n-1]
		s.all[i] = m
		return i
	}
	s.all = append(s.all, m)
	return int32(len(s.all) - 1)
}

func (s *shelf) discard(i int32) {
	s.used--
	s.all[i] = stored{}
	s.free = append(s.free, i)
}

// list is a doubly linked list through the messages of a shelf.
type list struct {
	head, tail int32
	n          int
}

func emptyList() list { return list{head: none, tail: none} }

func (l *list) push(s *shelf, i int32) {
	m := s.at(i)
	m.prev, m.next = l.tail, none
	if l.tail == none {
		l.head = i
	} else {
		s.at(l.tail).next = i
	}
	l.tail = i
	l.n++
}

func (l *list) remove(s *shelf, i int32) {
	m := s.at(i)
	if m.prev == none {
		l.head = m.next
	} else {
		s.at(m.prev).next = m.next
	}
	if m.next == none {
		l.tail = m.prev
	} else {
		s.at(m.next).prev = m.prev
	}
	m.prev, m.next = none, none
	l.n--
}

// nth returns the index of the message that is k places behind the head.
func (l *list) nth(s *shelf, k int) int32 {
	i := l.head
	for ; k > 0; k-- {
		i = s.at(i).next
	}
	return i
}
