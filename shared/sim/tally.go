package sim

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"triad/shared/task"
)

// Tally counts what happened, in one run or in many: the proof that a simulation
// did not pass by doing nothing.
type Tally struct {
	Seeds      int `json:"seeds"`
	Tasks      int `json:"tasks"`
	Commits    int `json:"commits"`
	Deliveries int `json:"deliveries"`
	Messages   int `json:"messages"`
	Calls      int `json:"calls"`
	Sweeps     int `json:"sweeps"`
	Effects    int `json:"effects"`
	Rejected   int `json:"rejected"`
	// Failed are deliveries and verbs that an engine answered with an error.
	Failed int `json:"failed"`
	// Simulated is the time that passed in the runs.
	Simulated time.Duration `json:"simulatedNs"`
	// Faults counts how often each fault struck.
	Faults FaultCounts `json:"faults"`
	// Ends counts tasks by the state in which they ended for good.
	Ends map[task.State]int `json:"ends"`
	// States counts commits by what they made of a task or a step.
	States map[string]int `json:"states"`
	// Transitions counts the moves of the table in docs/states.md.
	Transitions map[string]int `json:"transitions"`
	// Verdicts counts what became of events.
	Verdicts map[string]int `json:"verdicts"`

	moves    map[task.Transition]int
	verdicts map[eventVerdict]int
	states   map[subjectState]int
}

type eventVerdict struct {
	kind    task.Kind
	verdict task.Verdict
}

type subjectState struct {
	of    task.Subject
	state task.State
}

// FaultCounts counts by fault.
type FaultCounts [numFaults]int

// MarshalJSON gives an object by the names of faults.
func (c FaultCounts) MarshalJSON() ([]byte, error) {
	m := map[string]int{}
	for f, n := range c {
		m[Fault(f).String()] = n
	}
	return json.Marshal(m)
}

// Total is how many faults there were.
func (c FaultCounts) Total() (n int) {
	for _, x := range c {
		n += x
	}
	return n
}

// Decided implements engine.Observer. It counts, and judges nothing: the model does
// not read what engines say of themselves.
func (t *Tally) Decided(e task.Event, d task.Decision) {
	if t.moves == nil {
		t.moves, t.verdicts = map[task.Transition]int{}, map[eventVerdict]int{}
	}
	t.verdicts[eventVerdict{e.Kind, d.Verdict}]++
	for _, m := range d.Moves {
		of := task.OfStep
		if m.Step == "" {
			of = task.OfTask
		}
		t.moves[task.Transition{Of: of, From: m.From, To: m.To, Cause: m.Cause}]++
	}
}

// saw counts the states that a commit made.
func (t *Tally) saw(was, is *task.Task) {
	if t.states == nil {
		t.states = map[subjectState]int{}
	}
	if was.State != is.State {
		t.states[subjectState{task.OfTask, is.State}]++
	}
	for i := range is.Steps {
		if was.Version == 0 || was.Steps[i].State != is.Steps[i].State {
			t.states[subjectState{task.OfStep, is.Steps[i].State}]++
		}
	}
}

// publish fills the maps by name.
func (t *Tally) publish() {
	t.States, t.Transitions, t.Verdicts = map[string]int{}, map[string]int{}, map[string]int{}
	for s, n := range t.states {
		t.States[fmt.Sprintf("%s %s", s.of, s.state)] += n
	}
	for m, n := range t.moves {
		t.Transitions[transitionName(m)] += n
	}
	for v, n := range t.verdicts {
		t.Verdicts[fmt.Sprintf("%s: %s", v.kind, v.verdict)] += n
	}
	t.moves, t.verdicts, t.states = nil, nil, nil
}

func transitionName(m task.Transition) string {
	from := string(m.From)
	if from == "" {
		from = "(new)"
	}
	return fmt.Sprintf("%s %s -> %s (%s)", m.Of, from, m.To, m.Cause)
}

// Add adds another tally.
func (t *Tally) Add(o *Tally) {
	t.Seeds += o.Seeds
	t.Tasks += o.Tasks
	t.Commits += o.Commits
	t.Deliveries += o.Deliveries
	t.Messages += o.Messages
	t.Calls += o.Calls
	t.Sweeps += o.Sweeps
	t.Effects += o.Effects
	t.Rejected += o.Rejected
	t.Failed += o.Failed
	t.Simulated += o.Simulated
	for f, n := range o.Faults {
		t.Faults[f] += n
	}
	t.Ends = sum(t.Ends, o.Ends)
	t.States = sum(t.States, o.States)
	t.Transitions = sum(t.Transitions, o.Transitions)
	t.Verdicts = sum(t.Verdicts, o.Verdicts)
}

func sum[K comparable](to, from map[K]int) map[K]int {
	if to == nil {
		to = map[K]int{}
	}
	for k, n := range from {
		to[k] += n
	}
	return to
}

// Missing lists what a corpus is to reach and has not: faults that never struck,
// states and transitions that were never entered.
func (t *Tally) Missing() (missing []string) {
	for _, f := range Faults() {
		if t.Faults[f] == 0 {
			missing = append(missing, "fault "+f.String())
		}
	}
	for _, m := range task.Transitions() {
		if t.Transitions[transitionName(m)] == 0 {
			missing = append(missing, "transition "+transitionName(m))
		}
	}
	for _, m := range task.Transitions() {
		if name := fmt.Sprintf("%s %s", m.Of, m.To); t.States[name] == 0 {
			missing = append(missing, "state "+name)
		}
	}
	return missing
}

// Print writes the table.
func (t *Tally) Print(to io.Writer) error {
	w := tabwriter.NewWriter(to, 2, 0, 2, ' ', 0)
	row := func(cells ...any) { _, _ = fmt.Fprintln(w, cells...) }
	row(fmt.Sprintf("seeds\t%d", t.Seeds))
	row(fmt.Sprintf("tasks\t%d", t.Tasks))
	for _, s := range []task.State{task.Processed, task.Compensated, task.Cancelled, task.Error} {
		row(fmt.Sprintf("  ended as %s\t%d", s, t.Ends[s]))
	}
	row(fmt.Sprintf("commits\t%d", t.Commits))
	row(fmt.Sprintf("messages sent\t%d", t.Messages))
	row(fmt.Sprintf("deliveries\t%d", t.Deliveries))
	row(fmt.Sprintf("calls of ports\t%d", t.Calls))
	row(fmt.Sprintf("sweeps\t%d", t.Sweeps))
	row(fmt.Sprintf("effects at services\t%d", t.Effects))
	row(fmt.Sprintf("captured messages\t%d", t.Rejected))
	row(fmt.Sprintf("failed handlings\t%d", t.Failed))
	row(fmt.Sprintf("simulated hours\t%.0f", t.Simulated.Hours()))
	row(fmt.Sprintf("faults\t%d", t.Faults.Total()))
	for _, f := range Faults() {
		row(fmt.Sprintf("  %s\t%d", f, t.Faults[f]))
	}
	for _, part := range []struct {
		name  string
		count map[string]int
	}{{"states entered", t.States}, {"transitions", t.Transitions}, {"verdicts", t.Verdicts}} {
		row(part.name)
		for _, name := range sorted(part.count) {
			row(fmt.Sprintf("  %s\t%d", name, part.count[name]))
		}
	}
	return w.Flush()
}
