package workflow_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"triad/shared/task"
	"triad/shared/workflow"
	"triad/workflows"
)

// head is what every small definition begins with: three lines.
const head = "workflow: order\nversion: 1\ncompleteWithin: 24h\n"

// agents are known in these tests.
var agents = []string{"payment", "inventory", "shipping"}

// parse parses a definition that must be right.
func parse(t testing.TB, text string) workflow.Definition {
	t.Helper()
	d, err := workflow.Parse(workflow.Source{File: "order.yaml", Text: []byte(text), Agents: agents})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func retry(attempts int, first time.Duration, factor float64, most time.Duration) task.Retry {
	return task.Retry{Attempts: attempts, First: first, Factor: factor, Max: most}
}

// closures are compared by what they do, elsewhere.
var ignoreClosures = cmpopts.IgnoreFields(task.Step{}, "When", "Input")

func TestEveryFieldIsCompiled(t *testing.T) {
	t.Parallel()
	got := parse(t, `
workflow: order
version: 3
completeWithin: 7d
onExhausted: compensate
priority: high
steps:
  reserve:
    agent: inventory
    completeWithin: 10s
    retry: {attempts: 5, first: 100ms, factor: 1.5, max: 1d12h}
    undo: {completeWithin: 20s, retry: {attempts: 7}}
  charge:
    after: [reserve]
    agent: payment
    onExhausted: wait
    extendedWait: {for: 1h, times: 24, then: error}
  cool-off: {wait: 10m}
  approval: {signal: approved, completeWithin: 48h, after: charge, onExhausted: error}
  ship: {agent: shipping, after: [approval, cool-off], undo: {}}
`).Workflow
	usual, undo := retry(4, time.Second, 2, time.Minute), retry(10, time.Second, 2, time.Minute)
	want := task.Workflow{
		Name: "order", Version: 3, CompleteWithin: 168 * time.Hour, OnOverdue: task.OnCompensate, Priority: task.High,
		Steps: []task.Step{
			{Name: "reserve", Agent: "inventory", CompleteWithin: 10 * time.Second,
				Retry: retry(5, 100*time.Millisecond, 1.5, 36*time.Hour), OnExhausted: task.OnCompensate,
				Undo: &task.Undo{CompleteWithin: 20 * time.Second, Retry: retry(7, time.Second, 2, time.Minute)}},
			{Name: "charge", Agent: "payment", After: []int{0}, CompleteWithin: 30 * time.Second, Retry: usual,
				OnExhausted:  task.OnWait,
				ExtendedWait: task.ExtendedWait{For: time.Hour, Times: 24, Then: task.OnError}},
			{Name: "cool-off", Wait: 10 * time.Minute, After: []int{1}, CompleteWithin: 10 * time.Minute,
				Retry: usual, OnExhausted: task.OnCompensate},
			{Name: "approval", Signal: "approved", After: []int{1}, CompleteWithin: 48 * time.Hour,
				Retry: retry(1, time.Second, 2, time.Minute), OnExhausted: task.OnError},
			{Name: "ship", Agent: "shipping", After: []int{2, 3}, CompleteWithin: 30 * time.Second, Retry: usual,
				OnExhausted: task.OnCompensate, Undo: &task.Undo{CompleteWithin: 30 * time.Second, Retry: undo}},
		},
	}
	if diff := cmp.Diff(want, got, ignoreClosures); diff != "" {
		t.Errorf("compiled workflow (-want +got):\n%s", diff)
	}
}

func TestDefaultsGiveWayToTheWorkflow(t *testing.T) {
	t.Parallel()
	got := parse(t, `
workflow: quick
version: 1
completeWithin: 5s
steps:
  a: {agent: payment, retry: {first: 5m}}
  b: {signal: go}
  c: {agent: payment, onExhausted: wait, extendedWait: {for: 1s, times: 2}}
`).Workflow
	if got.Priority != task.Normal {
		t.Errorf("Priority = %q, want normal", got.Priority)
	}
	if got.OnOverdue != task.OnError {
		t.Errorf("OnOverdue = %q, want error", got.OnOverdue)
	}
	for _, s := range got.Steps {
		if s.CompleteWithin != 5*time.Second {
			t.Errorf("%s: CompleteWithin = %s, want the workflow's 5s", s.Name, s.CompleteWithin)
		}
	}
	if max := got.Steps[0].Retry.Max; max != 5*time.Minute {
		t.Errorf("a: max = %s, want that of first, 5m", max)
	}
	if then := got.Steps[2].ExtendedWait.Then; then != task.OnError {
		t.Errorf("c: then = %q, want the workflow's error", then)
	}
}

func TestStepsComeAfterThoseTheyWaitFor(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ steps, want string }{
		"the step above is the default": {"a: {}, b: {}, c: {}", "a[] b[0] c[1]"},
		"an empty list starts at once":  {"a: {}, b: {after: []}, c: {}", "a[] b[] c[1]"},
		"several are a join":            {"a: {}, b: {after: a}, c: {after: a}, d: {after: [c, b]}", "a[] b[0] c[0] d[1 2]"},
		"a later step goes first":       {"a: {after: c}, b: {after: []}, c: {after: []}", "b[] c[] a[1]"},
		"written order where it may be": {"z: {after: []}, y: {after: [a]}, x: {after: []}, a: {after: []}", "z[] x[] a[] y[2]"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := strings.ReplaceAll(strings.ReplaceAll(tt.steps, "{}", "{agent: payment}"), "{after", "{agent: payment, after")
			var got []string
			for _, s := range parse(t, head+"steps: {"+text+"}\n").Workflow.Steps {
				got = append(got, fmt.Sprintf("%s%v", s.Name, s.After))
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
		})
	}
}

func TestABundleStandsAlone(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"order.yaml", "drone-delivery.yaml"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			d, err := workflow.ParseFS(workflows.FS, file, nil)
			if err != nil {
				t.Fatal(err)
			}
			back, err := workflow.ParseBundle(d.Bundle())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(d.Workflow, back.Workflow, ignoreClosures); diff != "" {
				t.Errorf("workflow (-parsed +from the bundle):\n%s", diff)
			}
			if diff := cmp.Diff(string(d.Bundle()), string(back.Bundle())); diff != "" {
				t.Errorf("bundle (-parsed +from the bundle):\n%s", diff)
			}
			if d.Ref() != back.Ref() || d.Text() != back.Text() {
				t.Errorf("got %s, want %s with the same text", back.Ref(), d.Ref())
			}
			bad := []byte(`{"unknown": true}`)
			if got, want := fmt.Sprint(back.CheckOrder(bad)), fmt.Sprint(d.CheckOrder(bad)); got != want {
				t.Errorf("checking an order: got %q, want %q", got, want)
			}
		})
	}
}

func TestTheSameSourceGivesTheSameBundle(t *testing.T) {
	t.Parallel()
	text := head + "steps:\n  a: {agent: payment}\n"
	want := parse(t, text).Bundle()
	windows := "\ufeff" + strings.ReplaceAll(text, "\n", "\r\n")
	d, err := workflow.Parse(workflow.Source{File: "elsewhere/b.yaml", Text: []byte(windows)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(d.Bundle())); diff != "" {
		t.Errorf("bundle of the same text with other line ends (-want +got):\n%s", diff)
	}
	if other := parse(t, text+"# remark\n").Bundle(); bytes.Equal(want, other) {
		t.Error("another text has the same bundle")
	}
}

func TestADamagedBundleIsRefused(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ bundle, want string }{
		"not JSON":         {`{`, "reading a stored definition: unexpected EOF"},
		"later format":     {`{"format":2,"definition":""}`, "reading a stored definition: its format is 2, this version of Triad reads 1"},
		"unknown field":    {`{"format":1,"more":1}`, `reading a stored definition: json: unknown field "more"`},
		"empty definition": {`{"format":1,"definition":""}`, "reading a stored definition: stored definition:1:1: the definition is empty: write workflow, version, completeWithin and steps"},
		"another schema": {`{"format":1,"definition":"workflow: a\nversion: 1\ncompleteWithin: 1h\ninput: a.json\nsteps: {s: {agent: x}}","schema":{"path":"b.json","text":"{}"}}`,
			"reading a stored definition: stored definition:4:8: workflow: input schema a.json: reading it: the bundle holds b.json instead: put the file beside the definition"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := workflow.ParseBundle([]byte(tt.bundle))
			if diff := cmp.Diff(tt.want, fmt.Sprint(err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func TestASchemaIsFoundBesideItsDefinition(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"mine/a.yaml":         {Data: []byte(head + "input: schemas/a.json\nsteps: {s: {agent: payment}}\n")},
		"mine/schemas/a.json": {Data: []byte(`{"type": "object"}`)},
	}
	d, err := workflow.ParseFS(files, "mine/a.yaml", agents)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.CheckOrder([]byte(`[]`)); err == nil {
		t.Error("the schema is not applied")
	}
	if _, err := workflow.ParseFS(files, "mine/b.yaml", agents); !strings.Contains(fmt.Sprint(err), fs.ErrNotExist.Error()) {
		t.Errorf("a missing definition: got %v", err)
	}
}
