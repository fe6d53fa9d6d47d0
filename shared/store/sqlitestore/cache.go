package sqlitestore

import (
	"sync"

	"triad/shared/store/record"
	"triad/shared/task"
)

// entry is a task as the file has it, with its order and all outputs. Nobody
// changes one that is staged or in the cache.
type entry struct {
	seq  int64
	task task.Task
}

// size estimates the memory of an entry.
func (e *entry) size() int64 {
	const perTask, perStep = 1_024, 256
	n := perTask + perStep*len(e.task.Steps) + len(e.task.Order) + len(e.task.Reason)
	for i := range e.task.Steps {
		n += len(e.task.Steps[i].Output) + len(e.task.Steps[i].Error)
	}
	return int64(n)
}

// cache keeps the latest of the tasks that were used last. It never holds
// anything but what the file has durably: the writer puts a task in after its
// group is durable and before its caller is answered, and a reader's find is
// kept only if no put came between its start and its end.
//
// Tasks that have finished are not kept: nothing works on them any more. Of the
// others those go first that were not used for longest.
type cache struct {
	mu    sync.Mutex
	count *counters
	tasks map[task.ID]*node
	// recent is the sentinel of a ring: next is the latest used, prev the one
	// to drop first.
	recent node
	bytes  int64
	max    int64
	// reading has the ids that readers are fetching from the file.
	reading map[task.ID]*reading
}

type node struct {
	*entry
	bytes      int64
	prev, next *node
}

// reading is a fetch under way, by one reader or several.
type reading struct {
	readers int
	stale   bool
}

func newCache(limit int64, count *counters) *cache {
	c := &cache{count: count, tasks: map[task.ID]*node{}, max: limit, reading: map[task.ID]*reading{}}
	c.recent.prev, c.recent.next = &c.recent, &c.recent
	return c
}

// peek returns the task if it is there.
func (c *cache) peek(id task.ID) (*entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.tasks[id]; n != nil {
		return n.entry, true
	}
	return nil, false
}

// startReading finds the task and marks it as used, or else notes that the
// caller will read it; then the caller must call stopReading.
func (c *cache) startReading(id task.ID) (*entry, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.tasks[id]; n != nil {
		c.count.hits.Add(1)
		c.place(n)
		return n.entry, true
	}
	c.count.misses.Add(1)
	r := c.reading[id]
	if r == nil {
		r = &reading{}
		c.reading[id] = r
	}
	r.readers++
	return nil, false
}

// stopReading keeps what was read, if anything (e is not nil) and not overtaken by
// a put.
func (c *cache) stopReading(id task.ID, e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.reading[id]
	if r.readers--; r.readers == 0 {
		delete(c.reading, id)
	}
	if _, known := c.tasks[id]; e != nil && !known && !r.stale {
		c.store(e)
	}
}

// put replaces the task by what has just become durable.
func (c *cache) put(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.reading[e.task.ID]; r != nil {
		r.stale = true
	}
	c.store(e)
}

// forget drops a task that turned out not to be what the file has.
func (c *cache) forget(id task.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.reading[id]; r != nil {
		r.stale = true
	}
	if n := c.tasks[id]; n != nil {
		c.drop(n)
	}
}

func (c *cache) store(e *entry) {
	n := c.tasks[e.task.ID]
	if e.task.CompleteBy == 0 {
		if n != nil {
			c.drop(n)
		}
		return
	}
	if n == nil {
		n = &node{}
		c.tasks[e.task.ID] = n
	}
	c.bytes -= n.bytes
	n.entry, n.bytes = e, e.size()
	c.bytes += n.bytes
	c.place(n)
	for c.bytes > c.max {
		c.drop(c.recent.prev)
	}
}

// place moves n to the front.
func (c *cache) place(n *node) {
	if n.next != nil {
		n.prev.next, n.next.prev = n.next, n.prev
	}
	n.prev, n.next = &c.recent, c.recent.next
	n.prev.next, n.next.prev = n, n
}

func (c *cache) drop(n *node) {
	n.prev.next, n.next.prev = n.next, n.prev
	delete(c.tasks, n.task.ID)
	c.bytes -= n.bytes
}

// side returns the output of the named step if it is one that is kept aside. A
// nil entry has none.
func (e *entry) side(step string) ([]byte, bool) {
	if e == nil {
		return nil, false
	}
	s, ok := e.task.Step(step)
	return s.Output, ok && record.Aside(s)
}
