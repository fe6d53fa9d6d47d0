package workflow_test

import (
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/shared/task"
	"triad/shared/workflow"
	"triad/workflows"
)

// FuzzParse: no text makes Parse panic, and a definition that parses can be
// bundled and parsed again to the same.
func FuzzParse(f *testing.F) {
	for _, file := range []string{"order.yaml", "drone-delivery.yaml"} {
		text, err := fs.ReadFile(workflows.FS, file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(head + "steps:\n  a: {wait: 1d}\n  b: {signal: go, when: 'steps.a.state != \"\"', after: [a]}\n"))
	f.Add([]byte(head + "steps:\n  a:\n    agent: x\n    input: [1, -0, 1e5, 'é ${order.a?.b ?? {\"x\": [1..3]}}', |\n      text ${order}\n      ]\n"))
	f.Add([]byte("%YAML 1.2\n--- &a !!map\n? [a, b]\n: *a\n<<: {x: \"\\u00e9\"}\n..."))
	f.Fuzz(func(t *testing.T, text []byte) {
		open := func(name string) ([]byte, error) { return fs.ReadFile(workflows.FS, name) }
		d, err := workflow.Parse(workflow.Source{Text: text, Open: open})
		if err != nil {
			return
		}
		back, err := workflow.ParseBundle(d.Bundle())
		if err != nil {
			t.Fatalf("the bundle of a good definition: %v", err)
		}
		if diff := cmp.Diff(d.Workflow, back.Workflow, ignoreClosures); diff != "" {
			t.Errorf("workflow (-parsed +from the bundle):\n%s", diff)
		}
		if diff := cmp.Diff(string(d.Bundle()), string(back.Bundle())); diff != "" {
			t.Errorf("bundle (-parsed +from the bundle):\n%s", diff)
		}
		checkClosures(t, d.Workflow)
	})
}

// checkClosures asks each closure about an odd task: it may refuse, not panic.
func checkClosures(t *testing.T, w task.Workflow) {
	t.Helper()
	now := task.Task{Order: []byte(order)}
	for _, s := range w.Steps {
		now.Steps = append(now.Steps, task.StepState{Name: s.Name, State: task.Processed, Output: []byte(`{"id": 1.50}`)})
	}
	for _, s := range w.Steps {
		if s.When != nil {
			_, _ = s.When(now)
		}
		if s.Input == nil {
			continue
		}
		first, err := s.Input(now)
		again, errAgain := s.Input(now)
		if (err == nil) != (errAgain == nil) || string(first) != string(again) {
			t.Errorf("step %s: the input is not the same twice: %s (%v) and %s (%v)", s.Name, first, err, again, errAgain)
		}
	}
}

// FuzzParseBundle: no bytes make ParseBundle panic, and a bundle that is accepted
// is the bundle of what came out.
func FuzzParseBundle(f *testing.F) {
	for _, file := range []string{"order.yaml", "drone-delivery.yaml"} {
		d, err := workflow.ParseFS(workflows.FS, file, nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(d.Bundle())
	}
	f.Add([]byte(`{"format":1,"definition":"workflow: a\nversion: 1\ncompleteWithin: 1h\nsteps: {a: {wait: 1s}}"}`))
	f.Add([]byte(`{}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := workflow.ParseBundle(raw)
		if err != nil {
			return
		}
		back, err := workflow.ParseBundle(d.Bundle())
		if err != nil {
			t.Fatalf("the bundle of what a bundle gave: %v", err)
		}
		if diff := cmp.Diff(d.Workflow, back.Workflow, ignoreClosures); diff != "" {
			t.Errorf("workflow (-first +again):\n%s", diff)
		}
		checkClosures(t, d.Workflow)
	})
}
