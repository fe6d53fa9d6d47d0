package task_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/task"
)

var update = flag.Bool("update", false, "rewrite docs/states.md from the table of transitions")

// TestStateDiagramIsFresh compares docs/states.md with the table it is made of.
func TestStateDiagramIsFresh(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "states.md")
	want := statesDocument()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/states.md is stale, run: go test ./shared/task -run TestStateDiagramIsFresh -update\n(-want +got):\n%s", diff)
	}
}

const preamble = `# States

<!-- Generated from task.Transitions(). Do not edit. -->

This page is generated from the table in ` + "`shared/task/transitions.go`" + `, which is the
whole state machine as data: ` + "`Decide`" + ` makes no move that is not in it. A test fails
when the page is stale; it is written anew by:

` + "```sh\ngo test ./shared/task -run TestStateDiagramIsFresh -update\n```\n"

func statesDocument() string {
	var b strings.Builder
	b.WriteString(preamble)
	section(&b, task.OfTask, "Task", `What follows Error, an operator asks for: a resubmission, or that what was done
is undone. Every other arrow is taken by a Scheduler or the Supervisor.`)
	section(&b, task.OfStep, "Step", `A step begins as Pending, with its task. A live attempt is one with LockedBy set:
a step that is Compensating without it waits for the next attempt to undo it.`)
	return b.String()
}

// section writes the diagram and the table of one subject.
func section(b *strings.Builder, of task.Subject, title, note string) {
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n```mermaid\nstateDiagram-v2\n", title, note)
	moves := slices.DeleteFunc(task.Transitions(), func(t task.Transition) bool { return t.Of != of })
	if !slices.ContainsFunc(moves, func(t task.Transition) bool { return t.From == "" }) {
		fmt.Fprintf(b, "    [*] --> %s\n", task.Pending)
	}
	for _, a := range arrows(moves) {
		fmt.Fprintf(b, "    %s --> %s: %s\n", orStart(a.from), a.to, strings.Join(a.because, " / "))
	}
	for _, s := range lasting(moves) {
		fmt.Fprintf(b, "    %s --> [*]\n", s)
	}
	b.WriteString("```\n\n| from | to | because |\n|---|---|---|\n")
	for _, t := range moves {
		from := string(t.From)
		if from == "" {
			from = "(does not exist)"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", from, t.To, t.Cause)
	}
}

// arrow is all moves between two states.
type arrow struct {
	from, to task.State
	because  []string
}

func arrows(moves []task.Transition) []arrow {
	var all []arrow
	for _, t := range moves {
		i := slices.IndexFunc(all, func(a arrow) bool { return a.from == t.From && a.to == t.To })
		if i < 0 {
			i, all = len(all), append(all, arrow{from: t.From, to: t.To})
		}
		all[i].because = append(all[i].because, string(t.Cause))
	}
	return all
}

func orStart(s task.State) string {
	if s == "" {
		return "[*]"
	}
	return string(s)
}

// lasting lists the states that no move leaves, in the table's order.
func lasting(moves []task.Transition) []task.State {
	var last []task.State
	for _, t := range moves {
		left := slices.ContainsFunc(moves, func(m task.Transition) bool { return m.From == t.To })
		if !left && !slices.Contains(last, t.To) {
			last = append(last, t.To)
		}
	}
	return last
}
