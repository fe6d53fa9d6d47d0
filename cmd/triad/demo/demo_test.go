package demo_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/cmd/triad/demo"
	"triad/events"
	"triad/shared/catalog"
	"triad/shared/submission"
	"triad/shared/task"
	"triad/workflows"
)

func offers(t *testing.T) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Load(workflows.FS, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func checkAccepted(t *testing.T, c *catalog.Catalog, sub task.Submission) {
	t.Helper()
	def, err := c.Definition(sub.Workflow)
	if err != nil {
		t.Fatal(err)
	}
	if err := def.CheckOrder(sub.Order); err != nil {
		t.Errorf("%s: %v", sub.ID, err)
	}
}

func TestTheSamplesFitTheirWorkflows(t *testing.T) {
	t.Parallel()
	text, err := events.FS.ReadFile("samples.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := demo.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	c := offers(t)
	seen := map[task.ID]bool{}
	for _, o := range s.Mixed() {
		if seen[o.ID] {
			t.Errorf("%s comes twice", o.ID)
		}
		seen[o.ID] = true
		checkAccepted(t, c, o.Submission)
	}
	if len(seen) != len(s.Orders) || len(seen) < 300 {
		t.Errorf("%d of %d orders are dealt out, want all of some hundreds", len(seen), len(s.Orders))
	}
}

func TestTheSamplesForUseByHandFitTheirWorkflows(t *testing.T) {
	t.Parallel()
	c := offers(t)
	for _, file := range []string{"order.json", "orders.jsonl", "drone-delivery.json"} {
		text, err := events.FS.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for dec := json.NewDecoder(bytes.NewReader(text)); dec.More(); {
			var raw json.RawMessage
			if err := dec.Decode(&raw); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			sub, err := submission.Decode(raw)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			checkAccepted(t, c, sub)
		}
	}
}

const orders = `
faults:
  payment: [{match: "declined-*", refuse: true}]
samples:
  - {name: good, count: 4, repeat: 2, ends: Processed, holds: [inventory, payment, shipping, notification],
     submission: {id: "good-{n}", workflow: order, responseQueue: shop, order: {customer: A, items: [{sku: a, quantity: 1}], total: 1}}}
  - {name: declined, count: 2, ends: ENDS, holds: [],
     submission: {id: "declined-{n}", workflow: order, order: {customer: A, items: [{sku: a, quantity: 1}], total: 1}}}
unreadable: ["nonsense"]
`

func run(t *testing.T, samples string, live bool) (*demo.Outcome, string, error) {
	t.Helper()
	var out bytes.Buffer
	outcome, err := demo.Run(t.Context(), demo.Config{
		Data: filepath.Join(t.TempDir(), "run.db"), Listen: "127.0.0.1:0", Workflows: workflows.FS,
		Samples: []byte(samples), Out: &out, Live: live, Pace: time.Millisecond, Limit: time.Minute,
		Logger: slog.New(slog.DiscardHandler),
	})
	return outcome, out.String(), err
}

func TestEveryOrderIsHeldAgainstItsSample(t *testing.T) {
	t.Parallel()
	o, progress, err := run(t, strings.Replace(orders, "ENDS", "Compensated", 1), false)
	if err != nil {
		t.Fatal(err)
	}
	if o.Submitted != 10 || o.Again != 4 || o.Tasks != 6 || o.Notices != 8 || len(o.Rejected) != 1 || len(o.Doubled) != 0 {
		t.Errorf("got %+v", o)
	}
	want := map[string]int{"good": 4, "declined": 2}
	got := map[string]int{}
	for _, g := range o.Groups {
		got[g.Name] = g.AsExpected
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("as they must (-want +got):\n%s", diff)
	}
	if s := o.Services["inventory"]; s.Effects != 4 || s.Undone != 2 {
		t.Errorf("inventory holds %+v, want 4 effects and 2 undone", s)
	}
	if !strings.Contains(progress, "6 of 6 orders have ended") || strings.Contains(progress, "\r") {
		t.Errorf("progress without a terminal is %q, want plain lines", progress)
	}
	var summary strings.Builder
	if err := o.Print(&summary, "bin/triad list"); err != nil || !strings.Contains(summary.String(), "Every order ended as it must") {
		t.Errorf("summary: %v\n%s", err, &summary)
	}
}

func TestAnOrderThatEndsOtherwiseFailsTheRun(t *testing.T) {
	t.Parallel()
	o, progress, err := run(t, strings.Replace(orders, "ENDS", "Processed", 1), true)
	if !errors.Is(err, demo.ErrUnexpected) || len(o.Wrong) != 2 {
		t.Fatalf("got %v and %q, want ErrUnexpected for both declined orders", err, o.Wrong)
	}
	if !strings.Contains(progress, "\r") {
		t.Errorf("progress on a terminal is %q, want one line drawn anew", progress)
	}
	var summary strings.Builder
	if err := o.Print(&summary, "bin/triad list"); err != nil || strings.Count(summary.String(), "WRONG:") != 2 {
		t.Errorf("summary: %v\n%s", err, &summary)
	}
}

func TestOnlyAStoreIsMadeAnew(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "letter.txt")
	if err := os.WriteFile(path, []byte("Dear Ada"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := demo.Run(t.Context(), demo.Config{Data: path, Samples: []byte("samples: []")})
	if text, _ := os.ReadFile(path); err == nil || string(text) != "Dear Ada" {
		t.Errorf("got %v, and the file holds %q", err, text)
	}
}

func TestSamplesThatAreWrongAreRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"unknown field":          "samples: [{nome: x}]",
		"unknown fault":          "faults: {payment: [{latancyMs: 1}]}",
		"submission that is not": "samples: [{name: x, count: 1, submission: [1]}]",
		"not YAML":               "{",
	} {
		if _, err := demo.Parse([]byte(text)); err == nil {
			t.Errorf("%s: got no error", name)
		}
	}
}
