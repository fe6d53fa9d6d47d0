package memqueue

// lane holds the visible messages of one group, in order.
type lane struct {
	list
	group  string
	active bool // is in the round
	next   *lane
}

// lanes are the visible messages. Groups that have some take turns, one message
// each; messages without a group count as one group.
type lanes struct {
	n       int // messages
	plain   *lane
	byGroup map[string]*lane
	// head and tail are the round: the groups whose turn comes. A group whose
	// last message was withdrawn stays until its turn.
	head, tail *lane
	spare      *lane
}

func newLanes() lanes {
	return lanes{plain: &lane{list: emptyList()}, byGroup: make(map[string]*lane)}
}

func (ls *lanes) push(s *shelf, i int32) {
	m := s.at(i)
	l := ls.of(m.group)
	m.lane = l
	l.push(s, i)
	ls.n++
	if !l.active {
		ls.enter(l)
	}
}

func (ls *lanes) remove(s *shelf, i int32) {
	m := s.at(i)
	m.lane.remove(s, i)
	m.lane = nil
	ls.n--
}

// pop takes the next message; pick chooses out of so many of the group whose
// turn it is, nil the first. There must be one.
func (ls *lanes) pop(s *shelf, pick func(n int) int) int32 {
	for {
		l := ls.leave()
		if l.n == 0 {
			ls.retire(l)
			continue
		}
		i := l.head
		if pick != nil {
			i = l.nth(s, pick(l.n))
		}
		ls.remove(s, i)
		if l.n > 0 {
			ls.enter(l)
		} else {
			ls.retire(l)
		}
		return i
	}
}

func (ls *lanes) of(group string) *lane {
	if group == "" {
		return ls.plain
	}
	if l := ls.byGroup[group]; l != nil {
		return l
	}
	l := ls.spare
	if l == nil {
		l = &lane{list: emptyList()}
	} else {
		ls.spare, l.next = l.next, nil
	}
	l.group = group
	ls.byGroup[group] = l
	return l
}

func (ls *lanes) enter(l *lane) {
	l.active = true
	if ls.tail == nil {
		ls.head = l
	} else {
		ls.tail.next = l
	}
	ls.tail = l
}

func (ls *lanes) leave() *lane {
	l := ls.head
	ls.head, l.next = l.next, nil
	if ls.head == nil {
		ls.tail = nil
	}
	l.active = false
	return l
}

// retire forgets an empty lane that is out of the round; its memory is kept for
// the next group.
func (ls *lanes) retire(l *lane) {
	if l == ls.plain {
		return
	}
	delete(ls.byGroup, l.group)
	l.group, l.next = "", ls.spare
	ls.spare = l
}
