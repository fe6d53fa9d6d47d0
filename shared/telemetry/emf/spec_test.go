package emf_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"triad/shared/agent"
	"triad/shared/supervisor"
	"triad/shared/task"
	"triad/shared/telemetry/emf"
)

// document is a line as CloudWatch reads it.
type document struct {
	AWS *struct {
		Timestamp         *int64
		CloudWatchMetrics []struct {
			Namespace  string
			Dimensions [][]string
			Metrics    []struct{ Name, Unit string }
		}
	} `json:"_aws"`
}

// documents reads lines by the rules of the specification, and gives the metrics
// of each.
func documents(t *testing.T, text []byte) (all []values) {
	t.Helper()
	if len(text) > 0 && text[len(text)-1] != '\n' {
		t.Errorf("the last line does not end:\n%s", text)
	}
	for line := range bytes.Lines(text) {
		var d document
		var root map[string]json.RawMessage
		// Strict where the specification forbids further members, below _aws.
		if err := json.Unmarshal(line, &root); err != nil {
			t.Fatalf("%v:\n%s", err, line)
		}
		dec := json.NewDecoder(strings.NewReader(`{"_aws":` + string(root["_aws"]) + `}`))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&d); err != nil || d.AWS == nil || d.AWS.Timestamp == nil {
			t.Fatalf("_aws: %v, want an object with a Timestamp:\n%s", err, line)
		}
		if *d.AWS.Timestamp < 1e12 || *d.AWS.Timestamp > 1e13 {
			t.Errorf("Timestamp %d is not in milliseconds", *d.AWS.Timestamp)
		}
		if len(line) > 256<<10 || len(d.AWS.CloudWatchMetrics) != 1 {
			t.Fatalf("%d bytes with %d directives, want at most 256 KB and 1:\n%s", len(line), len(d.AWS.CloudWatchMetrics), line)
		}
		metrics := values{}
		for name, raw := range checked(t, d, root) {
			var value any
			if err := json.Unmarshal(raw, &value); err != nil {
				t.Fatal(err)
			}
			metrics[name] = value
		}
		all = append(all, metrics)
	}
	return all
}

// checked holds the only directive of a document against its root, and returns
// the members that are metrics.
func checked(t *testing.T, d document, root map[string]json.RawMessage) map[string]json.RawMessage {
	t.Helper()
	directive := d.AWS.CloudWatchMetrics[0]
	if directive.Namespace != "Triad" || fmt.Sprint(directive.Dimensions) != "[[Stack Function]]" {
		t.Errorf("namespace %q, dimensions %v; want Triad, and one set, Stack and Function", directive.Namespace, directive.Dimensions)
	}
	for _, dimension := range directive.Dimensions[0] {
		var value string
		if err := json.Unmarshal(root[dimension], &value); err != nil || value == "" {
			t.Errorf("dimension %s is %s, want a string on the root", dimension, root[dimension])
		}
	}
	if n := len(directive.Metrics); n < 1 || n > 100 {
		t.Errorf("%d metrics, want 1 to 100", n)
	}
	found := map[string]json.RawMessage{}
	for _, m := range directive.Metrics {
		if _, twice := found[m.Name]; twice || !regexp.MustCompile(`^([A-Z][a-z]+)+$`).MatchString(m.Name) {
			t.Errorf("metric %q is named twice, or not in PascalCase", m.Name)
		}
		if !slices.Contains([]string{"Count", "Seconds"}, m.Unit) {
			t.Errorf("metric %s has the unit %q", m.Name, m.Unit)
		}
		var one float64
		var many []float64
		if json.Unmarshal(root[m.Name], &one) != nil && (json.Unmarshal(root[m.Name], &many) != nil || len(many) < 1 || len(many) > 100) {
			t.Errorf("metric %s is %s, want a number or 1 to 100 of them on the root", m.Name, root[m.Name])
		}
		found[m.Name] = root[m.Name]
	}
	if want := len(found) + len(directive.Dimensions[0]) + 1; len(root) != want {
		t.Errorf("the root has %d members, want %d: _aws, the dimensions and the metrics", len(root), want)
	}
	return found
}

// All that can be in a line is in this one.
func TestALineWithEverythingKeepsToTheSpecification(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	var c agent.Counters
	m := emf.New(emf.Config{Stack: `a "stack"`, Function: "supervisor", Out: &out, Agents: c.Stats})
	m.Delivered(1)
	for _, v := range []task.Verdict{task.Stale, task.Duplicate, task.Repeated} {
		m.Decided(task.Event{}, task.Decision{Verdict: v})
	}
	for _, end := range []task.State{task.Processed, task.Error, task.Compensated, task.Cancelled} {
		m.Decided(task.Event{Kind: task.Overdue}, task.Decision{Verdict: task.Applied, Task: task.Task{CreatedAt: 1, EndedAt: 1500,
			Steps: []task.StepState{{Name: "s"}}}, Locks: []task.Lock{{Step: "s", LockedBy: "i"}},
			Moves: []task.Move{{To: end}, {Step: "s", Cause: task.BecauseRetried}, {Step: "s", Cause: task.BecauseClaimed}}})
	}
	m.Decided(task.Event{Kind: task.Submitted, Hold: true}, task.Decision{Verdict: task.Applied, Changed: true,
		Moves: []task.Move{{To: task.Pending, Cause: task.BecauseSubmitted}}})
	m.Swept(supervisor.Report{Acted: 1}, nil)
	m.Swept(supervisor.Report{Failed: 1}, nil)
	for _, n := range []interface{ Add(int64) int64 }{&c.Calls, &c.Retries, &c.Succeeded, &c.Permanent, &c.Transient, &c.Late,
		&c.Rejected, &c.Extensions, &c.Panics, &c.BreakerOpens} {
		n.Add(1)
	}
	got := flushed(t, m, &out)
	if len(got) != 28 {
		t.Errorf("%d metrics, want 28:\n%v", len(got), got)
	}
}

func TestMoreValuesThanALineMayHave(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	m := metrics(&out)
	for range 250 {
		m.Decided(task.Event{}, task.Decision{Verdict: task.Applied, Task: task.Task{EndedAt: 1500}, Moves: []task.Move{{To: task.Processed}}})
	}
	if err := m.Flush(); err != nil {
		t.Fatal(err)
	}
	var lengths []int
	for i, line := range documents(t, out.Bytes()) {
		lengths = append(lengths, len(line["TaskSeconds"].([]any)))
		if i == 0 && line["TasksProcessed"] != 250. || i > 0 && len(line) != 1 {
			t.Errorf("line %d has %v", i, line)
		}
	}
	equal(t, "values by line", lengths, []int{100, 100, 50})
}
