package memqueue

// heap orders messages by due time, and by order where that is equal. The
// messages know their position, so that one can be removed from the middle.
type heap []int32

func (h *heap) push(s *shelf, i int32) {
	*h = append(*h, i)
	h.up(s, len(*h)-1)
}

func (h *heap) remove(s *shelf, i int32) {
	at := int(s.at(i).heapAt)
	last := len(*h) - 1
	moved := (*h)[last]
	*h = (*h)[:last]
	s.at(i).heapAt = none
	if at == last {
		return
	}
	(*h)[at] = moved
	h.down(s, at)
	h.up(s, int(s.at(moved).heapAt))
}

func (h heap) up(s *shelf, at int) {
	i := h[at]
	for at > 0 {
		parent := (at - 1) / 2
		if !sooner(s, i, h[parent]) {
			break
		}
		h.put(s, at, h[parent])
		at = parent
	}
	h.put(s, at, i)
}

func (h heap) down(s *shelf, at int) {
	i := h[at]
	for {
		child := 2*at + 1
		if child >= len(h) {
			break
		}
		if child+1 < len(h) && sooner(s, h[child+1], h[child]) {
			child++
		}
		if !sooner(s, h[child], i) {
			break
		}
		h.put(s, at, h[child])
		at = child
	}
	h.put(s, at, i)
}

func (h heap) put(s *shelf, at int, i int32) {
	h[at] = i
	s.at(i).heapAt = int32(at)
}

func sooner(s *shelf, a, b int32) bool {
	x, y := s.at(a), s.at(b)
	if x.due != y.due {
		return x.due < y.due
	}
	return x.order < y.order
}
