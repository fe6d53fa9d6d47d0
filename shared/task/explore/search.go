package explore

import (
	"fmt"
	"slices"
	"strings"

	"triad/shared/task"
)

// Report is what a search found.
type Report struct {
	Scenario string
	// States is the number of different worlds, Ways of ways between them,
	// Decisions of calls of Decide, Depth the most ways from the start.
	States, Ways, Decisions, Depth int
	// Ends is how many worlds are an end: nothing is under way or due.
	Ends int
	// Found counts violations by rule, Shortest has a shortest way to each.
	Found    map[string]int
	Shortest []Finding
}

// Finding is a violation with a shortest way to it.
type Finding struct {
	Rule, Text string
	// Trace is what happened, from the submission on.
	Trace []string
}

// String is the finding with its trace, a line each.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %s\n  %s", f.Rule, f.Text, strings.Join(f.Trace, "\n  "))
}

// node is how a world was first reached: from which, and by which of its ways.
// Plain leads on without a fault; -1 for an end.
type node struct {
	from  int32
	way   int32
	plain int32
}

// search is one search under way.
type search struct {
	s      *Scenario
	known  map[key]int32
	nodes  []node
	report Report
	bad    map[int32]string // ends that are no good
	table  []task.Transition
}

// Search goes through every world of a scenario. It keeps the name of each, and the
// whole of those at the edge only.
func Search(s Scenario) Report {
	e := &search{s: &s, known: map[key]int32{}, bad: map[int32]string{}, table: task.Transitions(), report: Report{Scenario: s.Name, Found: map[string]int{}}}
	var k writer
	first := start(&s)
	e.known[k.key(&s, &first)] = 0
	e.nodes = append(e.nodes, node{-1, 0, -1})
	edge := []world{first}
	for id := int32(0); len(edge) > 0; e.report.Depth++ {
		var beyond []world
		for i := range edge {
			beyond = e.expand(&k, id, &edge[i], beyond)
			id++
		}
		edge = beyond
	}
	e.report.States = len(e.nodes)
	e.liveness()
	return e.report
}

// expand notes the ways on from a world, and returns the new worlds they lead to.
func (e *search) expand(k *writer, id int32, w *world, beyond []world) []world {
	x := walker{s: e.s, table: e.table}
	x.walk(w)
	e.report.Decisions += x.decisions
	e.report.Ways += len(x.ways)
	for _, v := range x.violations {
		e.violated(v.rule, v.text, id, v.way)
	}
	for i := range x.ways {
		to := &x.ways[i]
		name := k.key(e.s, &to.to)
		next, known := e.known[name]
		if !known {
			next = int32(len(e.nodes))
			e.known[name] = next
			e.nodes = append(e.nodes, node{id, int32(i), -1})
			beyond = append(beyond, to.to)
		}
		if to.calm && e.nodes[id].plain < 0 && next != id {
			e.nodes[id].plain = next
		}
	}
	if e.nodes[id].plain < 0 {
		e.end(id, w)
	}
	return beyond
}

// end judges a world from which nothing goes on by itself.
func (e *search) end(id int32, w *world) {
	e.report.Ends++
	t := w.task
	switch {
	case t.Version == 0 || !t.State.Finished():
		e.bad[id] = fmt.Sprintf("a dead end: the task is %q, and nothing is due", t.State)
	case t.Owing || t.CompleteBy != 0:
		e.bad[id] = fmt.Sprintf("the task is %s, owing %v, and stays in the index", t.State, t.Owing)
	case w.untold != 0:
		var ids []string
		for i, id := range w.owed {
			if w.untold&(1<<i) != 0 {
				ids = append(ids, id)
			}
		}
		e.bad[id] = fmt.Sprintf("%v was never told", ids)
	}
}

// liveness follows the plain way on from every world to its end. A circle never
// ends.
func (e *search) liveness() {
	const unknown, under, good, lost = 0, 1, 2, 3
	fate := make([]byte, len(e.nodes))
	for id := range e.nodes {
		var path []int32
		at := int32(id)
		for fate[at] == unknown && e.nodes[at].plain >= 0 {
			fate[at] = under
			path = append(path, at)
			at = e.nodes[at].plain
		}
		became := fate[at]
		switch {
		case became == under:
			became = lost
			e.violated("liveness", "from here it goes round in circles", at, -1)
		case became == unknown && e.bad[at] != "":
			became = lost
			e.violated("liveness", e.bad[at], at, -1)
		case became == unknown:
			became = good
		}
		fate[at] = became
		for _, p := range path {
			fate[p] = became
		}
	}
}

// violated notes a violation found at a world, on one of its ways.
func (e *search) violated(rule, text string, id int32, way int) {
	e.report.Found[rule]++
	if e.report.Found[rule] == 1 {
		e.report.Shortest = append(e.report.Shortest, Finding{rule, text, e.trace(id, way)})
	}
}

// trace goes the way to a world once more, with the names of what happens.
func (e *search) trace(id int32, last int) (names []string) {
	var ways []int
	if last >= 0 {
		ways = append(ways, last)
	}
	for ; id > 0; id = e.nodes[id].from {
		ways = append(ways, int(e.nodes[id].way))
	}
	slices.Reverse(ways)
	at := start(e.s)
	var k writer
	for _, n := range ways {
		k.key(e.s, &at)
		x := walker{s: e.s, named: true, table: e.table}
		x.walk(&at)
		if n >= len(x.ways) {
			return append(names, "(what the rule was asked at the end)")
		}
		names = append(names, x.ways[n].name)
		at = x.ways[n].to
	}
	return names
}
