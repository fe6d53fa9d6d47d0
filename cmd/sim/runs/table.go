package runs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"triad/infra/page"
	"triad/shared/task"
)

// Part is where the tables stand in the page.
var Part = page.Of("The table of runs", "make sim RECORD=1")

// Table is the runs in Markdown: a line for each, what they come to together, and
// how often each fault struck.
func Table(all []Run) string {
	if len(all) == 0 {
		return "No run is recorded.\n"
	}
	var b strings.Builder
	b.WriteString("| commit | seeds | hash | seeds/s | tasks | deliveries | faults | simulated hours | violations |\n|---|---|---|---:|---:|---:|---:|---:|---:|\n")
	total := Run{}
	for _, r := range all {
		hash := ""
		if r.Hash != 0 {
			hash = fmt.Sprintf("`%016x` ", uint64(r.Hash))
		}
		fmt.Fprintf(&b, "| %s | %s to %s | %s| %.0f %s\n", r.Commit, grouped(r.From), grouped(r.From+r.Seeds-1), hash, float64(r.Seeds)/r.Seconds, r.cells())
		total.add(r)
	}
	fmt.Fprintf(&b, "| **together** | **%s** | | %s\n", grouped(total.Seeds), total.cells())
	fmt.Fprintf(&b, "\n%s calls of ports, %s commits, %s messages sent, %s effects at services, %s messages captured. Tasks ended",
		grouped(total.Calls), grouped(total.Commits), grouped(total.Messages), grouped(total.Effects), grouped(total.Captured))
	left := total.Tasks
	for i, s := range []task.State{task.Processed, task.Compensated, task.Cancelled, task.Error} {
		left -= total.Ends[s]
		fmt.Fprintf(&b, "%s %s %s", []string{"", ","}[min(i, 1)], s, grouped(total.Ends[s]))
	}
	fmt.Fprintf(&b, "; %s were damaged for good, which nobody can end.\n\n", grouped(left))
	b.WriteString("| faults | how often each struck |\n|---|---|\n")
	for _, g := range groups(total.Faults) {
		fmt.Fprintf(&b, "| %s | %s |\n", g, kinds(total.Faults, g))
	}
	for _, v := range total.Violations {
		fmt.Fprintf(&b, "\n- **%s**", v)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

func (r *Run) cells() string {
	faults := 0
	for _, n := range r.Faults {
		faults += n
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %d |", grouped(r.Tasks), grouped(r.Deliveries), grouped(faults), grouped(int(r.Hours)), len(r.Violations))
}

// groups are the first words of the names of faults, as in queue.duplicate.
func groups(faults map[string]int) []string {
	all := map[string]bool{}
	for name := range faults {
		group, _, _ := strings.Cut(name, ".")
		all[group] = true
	}
	return slices.Sorted(maps.Keys(all))
}

func kinds(faults map[string]int, group string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		if kind, in := strings.CutPrefix(name, group+"."); in {
			all = append(all, kind+" "+grouped(faults[name]))
		}
	}
	return strings.Join(all, ", ")
}

// grouped writes a number with a comma after each thousand.
func grouped[N int | uint64](n N) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
