package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strconv"
	"time"

	"triad/shared/task"
	"triad/shared/workflow"
)

// shape is a workflow of a run, and how to make orders for it.
type shape struct {
	flow task.Workflow
	// newest: instances that are behind don't know it.
	newest bool
	check  func(json.RawMessage) error
	order  func(w *world, id task.ID, tenant string) json.RawMessage
}

// Workflow implements submission.Definition.
func (s *shape) Workflow() task.Workflow { return s.flow }

// CheckOrder implements submission.Definition.
func (s *shape) CheckOrder(order json.RawMessage) error { return s.check(order) }

// Sample is a workflow that is not generated, with orders that it accepts.
type Sample struct {
	Definition workflow.Definition
	Orders     []json.RawMessage
}

// Samples reads the sample workflows: order.yaml and drone-delivery.yaml.
func Samples(files fs.FS) ([]Sample, error) {
	orders := map[string][]string{
		"order.yaml": {
			`{"customer":"Ada","items":[{"sku":"teapot","quantity":1}],"total":24.9}`,
			`{"customer":"Grace","items":[{"sku":"cup","quantity":2},{"sku":"☕\u0007","quantity":1}],"total":0}`,
		},
		"drone-delivery.yaml": {
			`{"account":"acme","pickup":{"latitude":48,"longitude":11},"dropoff":{"latitude":49,"longitude":11},"package":{"id":"p-1","weightKg":2.5}}`,
			`{"account":"acme","pickup":{"latitude":48,"longitude":11},"dropoff":{"latitude":49,"longitude":11},"package":{"id":"p-2","weightKg":15}}`,
			`{"account":"acme","pickup":{"latitude":48,"longitude":11},"dropoff":{"latitude":49,"longitude":11},"package":{"id":"p-3","weightKg":90.0}}`,
		},
	}
	var all []Sample
	for _, file := range []string{"order.yaml", "drone-delivery.yaml"} {
		d, err := workflow.ParseFS(files, file, nil)
		if err != nil {
			return nil, fmt.Errorf("reading a sample: %w", err)
		}
		s := Sample{Definition: d}
		for _, o := range orders[file] {
			if err := d.CheckOrder(json.RawMessage(o)); err != nil {
				return nil, fmt.Errorf("checking an order of sample %s: %w", file, err)
			}
			s.Orders = append(s.Orders, json.RawMessage(o))
		}
		all = append(all, s)
	}
	return all, nil
}

// sampled is the shape of a sample.
func sampled(s Sample) *shape {
	return &shape{
		flow: s.Definition.Workflow, check: s.Definition.CheckOrder,
		order: func(w *world, _ task.ID, _ string) json.RawMessage { return pick(w.rng, s.Orders...) },
	}
}

// drawShapes draws the workflows of a run: one or two generated ones, sometimes
// with a second version that begins to be known while the first is at work, and
// sometimes a sample.
func (w *world) drawShapes(samples []Sample) {
	for n := range 1 + w.rng.IntN(2) {
		flow := drawFlow(w.rng, fmt.Sprintf("gen%d", n), 1)
		w.shapes = append(w.shapes, generated(flow, false))
		if w.rng.IntN(3) == 0 {
			w.shapes = append(w.shapes, generated(drawFlow(w.rng, flow.Name, 2), true))
		}
	}
	if len(samples) > 0 && w.rng.IntN(3) == 0 {
		w.shapes = append(w.shapes, sampled(pick(w.rng, samples...)))
	}
	known := map[string]bool{}
	for _, s := range w.shapes {
		for _, step := range s.flow.Steps {
			if step.Agent != "" && !known[step.Agent] {
				known[step.Agent] = true
				w.agentNames = append(w.agentNames, step.Agent)
			}
		}
	}
}

// generated is the shape of a drawn workflow. Its orders say for whom they are
// and carry flags that conditions look at.
func generated(flow task.Workflow, newest bool) *shape {
	return &shape{
		flow: flow, newest: newest,
		check: func(order json.RawMessage) error {
			if !json.Valid(order) || !bytes.HasPrefix(order, []byte(`{"for":`)) {
				return errors.New("order says nothing of whom it is for")
			}
			return nil
		},
		order: func(w *world, id task.ID, tenant string) json.RawMessage {
			pad := pick(w.rng, "", "plain", "\\u0000\\u001f \\\\ \\\" </script>", "🛵 Ünïcode \u2028 漢字", "'; DROP TABLE tasks; --")
			o := fmt.Sprintf(`{"for": "%s", "tenant":"%s","flags":%d,"pad":"%s"`, id, tenant, w.rng.IntN(256), pad)
			if w.hit(InputLarge) {
				o += `,"large":"` + string(bytes.Repeat([]byte("x"), pick(w.rng, 2000, 60_000, task.MaxOrder-len(o)-16))) + `"`
			}
			return json.RawMessage(o + "}")
		},
	}
}

// flag is a bit of the flags of a generated order.
func flag(order json.RawMessage, bit int) bool {
	_, rest, _ := bytes.Cut(order, []byte(`"flags":`))
	end := bytes.IndexAny(rest, ",}")
	if end < 0 {
		return false
	}
	n, err := strconv.Atoi(string(rest[:end]))
	return err == nil && n&(1<<bit) != 0
}

func drawFlow(rng *rand.Rand, name string, version int) task.Workflow {
	f := task.Workflow{
		Name: name, Version: version, CompleteWithin: pick(rng, 5*time.Minute, time.Hour, 24*time.Hour),
		OnOverdue: pick(rng, task.OnError, task.OnCompensate),
	}
	n := 1 + rng.IntN(6)
	for i := range n {
		f.Steps = append(f.Steps, drawStep(rng, i))
	}
	f.Priority = []task.Priority{task.Normal, task.High, task.Low}[n%3] // no draw: seeds keep what they draw
	return f
}

func drawStep(rng *rand.Rand, i int) task.Step {
	s := task.Step{
		Name: fmt.Sprintf("s%d", i), After: drawAfter(rng, i),
		CompleteWithin: pick(rng, 2*time.Second, 10*time.Second, time.Minute),
		Retry: task.Retry{
			Attempts: pick(rng, 1, 2, 4, 8), First: pick(rng, 0, 200*time.Millisecond, 5*time.Second),
			Factor: 2, Max: time.Minute,
		},
		OnExhausted: pick(rng, task.OnError, task.OnCompensate, task.OnCompensate, task.OnWait),
		ExtendedWait: task.ExtendedWait{
			For: pick(rng, 3*time.Second, time.Minute, 20*time.Minute), Times: 1 + rng.IntN(3),
			Then: pick(rng, task.OnError, task.OnCompensate),
		},
	}
	s.When = drawWhen(rng, i, s.After)
	switch rng.IntN(10) {
	case 0:
		s.Wait = pick(rng, time.Second, time.Minute, 20*time.Minute)
	case 1:
		s.Signal, s.CompleteWithin = fmt.Sprintf("go-%d", i), pick(rng, time.Minute, 30*time.Minute)
	default:
		s.Agent, s.Input = pick(rng, "a", "b", "c"), drawInput(rng, s.After)
		if rng.IntN(4) > 0 {
			s.Undo = &task.Undo{
				CompleteWithin: pick(rng, 2*time.Second, 10*time.Second),
				Retry: task.Retry{
					Attempts: pick(rng, 1, 3, 10), First: pick(rng, 0, time.Second), Factor: 2, Max: 10 * time.Second,
				},
			}
		}
	}
	return s
}

// drawAfter makes sequences, fans and joins.
func drawAfter(rng *rand.Rand, i int) []int {
	after := []int{}
	if i > 0 && rng.IntN(2) == 0 {
		return append(after, i-1)
	}
	for p := range i {
		if rng.IntN(2) == 0 {
			after = append(after, p)
		}
	}
	return after
}

// drawWhen makes a condition over the order or the step before.
func drawWhen(rng *rand.Rand, i int, after []int) func(task.Task) (bool, error) {
	switch rng.IntN(12) {
	case 0, 1:
		return func(t task.Task) (bool, error) { return flag(t.Order, i), nil }
	case 2:
		return func(t task.Task) (bool, error) {
			return len(after) == 0 || t.Steps[after[0]].State != task.Skipped, nil
		}
	case 3:
		return func(t task.Task) (bool, error) {
			if flag(t.Order, 7) && flag(t.Order, 6) {
				return false, errors.New("the condition makes no sense of this order")
			}
			return true, nil
		}
	}
	return nil
}

// drawInput makes an expression over the order and the outputs before.
func drawInput(rng *rand.Rand, after []int) func(task.Task) (json.RawMessage, error) {
	switch rng.IntN(6) {
	case 0:
		return func(t task.Task) (json.RawMessage, error) {
			return json.RawMessage(`{"of":"` + string(t.ID) + `"}`), nil
		}
	case 1:
		return func(t task.Task) (json.RawMessage, error) {
			for _, p := range after {
				if out := t.Steps[p].Output; len(out) > 0 && len(out) < 1000 {
					return json.RawMessage(`{"before":` + string(out) + `}`), nil
				}
			}
			return json.RawMessage(`{"before":null}`), nil
		}
	case 2:
		return func(t task.Task) (json.RawMessage, error) {
			if flag(t.Order, 5) && flag(t.Order, 4) && flag(t.Order, 3) {
				return nil, errors.New("there is no input for this order")
			}
			return json.RawMessage(`[1,2,3]`), nil
		}
	}
	return nil
}
