package workflow

import (
	"slices"
	"strings"
)

// graph is who comes after whom, by index into the written order.
type graph struct {
	steps []*draftStep
	// before lists, for each step, the steps it waits for.
	before [][]int
	// broken is true when a reference or a cycle was reported: what follows
	// from the order of the steps is then not worth checking.
	broken bool
}

// connect resolves the names in after.
func (r *report) connect(steps []*draftStep) graph {
	g := graph{steps: steps, before: make([][]int, len(steps))}
	names := make([]string, len(steps))
	for i, s := range steps {
		names[i] = s.Name
	}
	for i, s := range steps {
		for _, ref := range s.after {
			j := slices.Index(names, ref.name)
			switch {
			case j < 0:
				r.add(ref.at, suggest(ref.name, "steps", names), "%s: after names %q, which is not a step", s.fields.subject, shorten(ref.name, 80))
				g.broken = true
			case j == i:
				r.add(ref.at, "name the steps before it", "%s: after names the step itself", s.fields.subject)
				g.broken = true
			default:
				g.before[i] = append(g.before[i], j)
			}
		}
		slices.Sort(g.before[i])
	}
	return g
}

// order returns the steps so that each comes after those it waits for, as near
// to the written order as that allows. Steps on a cycle are reported and placed
// as if the cycle were cut.
func (r *report) order(g *graph) []int {
	placed := make([]bool, len(g.steps))
	order := make([]int, 0, len(g.steps))
	for len(order) < len(g.steps) {
		next := slices.IndexFunc(g.steps, func(s *draftStep) bool {
			i := slices.Index(g.steps, s)
			return !placed[i] && !slices.ContainsFunc(g.before[i], func(j int) bool { return !placed[j] })
		})
		if next < 0 {
			cycle := g.cycle(placed)
			r.cycle(g, cycle)
			for _, i := range cycle {
				placed[i] = true
				order = append(order, i)
			}
			continue
		}
		placed[next] = true
		order = append(order, next)
	}
	return order
}

// cycle finds a cycle among the steps that are not placed, of which each waits
// for another: following that, a step comes a second time.
func (g *graph) cycle(placed []bool) []int {
	at := slices.Index(placed, false)
	var path []int
	for !slices.Contains(path, at) {
		path = append(path, at)
		at = g.before[at][slices.IndexFunc(g.before[at], func(j int) bool { return !placed[j] })]
	}
	path = path[slices.Index(path, at):]
	// Begin with the step that is written first, so that the message is stable.
	first := slices.Index(path, slices.Min(path))
	return append(slices.Clone(path[first:]), path[:first]...)
}

// cycle reports a cycle at its first step, naming the whole path.
func (r *report) cycle(g *graph, path []int) {
	g.broken = true
	var names strings.Builder
	implied := ""
	for _, i := range path {
		names.WriteString(g.steps[i].Name + " waits for ")
		if g.steps[i].implied {
			implied = "; a step without after waits for the one above it"
		}
	}
	first := g.steps[path[0]]
	at := first.fields.at
	if after, found := first.fields.places["after"]; found {
		at = after
	}
	r.add(at, "take one of them out of an after"+implied, "%s: the steps wait for each other: %s%s",
		first.fields.subject, names.String(), first.Name)
}

// ancestors returns, for each step, which steps have ended before it starts.
func (g *graph) ancestors(order []int) []map[string]bool {
	out := make([]map[string]bool, len(g.steps))
	for _, i := range order {
		out[i] = map[string]bool{}
		for _, j := range g.before[i] {
			out[i][g.steps[j].Name] = true
			for name := range out[j] {
				out[i][name] = true
			}
		}
	}
	return out
}
