package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"triad/events"
	"triad/shared/agent/httpagent"
	"triad/shared/catalog"
	"triad/shared/engine"
	"triad/shared/store"
	"triad/shared/store/memstore"
	"triad/shared/submission"
	"triad/shared/task"
	"triad/shared/workflow"
	"triad/workflows"
)

func load(t *testing.T, files fs.FS) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Load(files, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// files is a workflows directory, with a file of agents that is nothing to a
// catalog.
func files(more map[string]string) fstest.MapFS {
	all := fstest.MapFS{"agents.yaml": {Data: []byte("agents: whatever")}}
	for name, text := range more {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

// parcel is a workflow of a version, whose only difference is a time.
func parcel(version, within string) string {
	return "workflow: parcel\nversion: " + version + "\ncompleteWithin: " + within + "\nsteps:\n  s: {agent: a, completeWithin: 1s}\n"
}

func refs(c *catalog.Catalog) (all []string) {
	for _, d := range c.Definitions() {
		all = append(all, d.Ref())
	}
	return all
}

func TestTheSampleWorkflowsAreOffered(t *testing.T) {
	t.Parallel()
	described, err := httpagent.Load(workflows.FS, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := catalog.Load(workflows.FS, slices.Sorted(maps.Keys(described)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"drone-delivery@1", "order@1"}, refs(c)); diff != "" {
		t.Errorf("definitions (-want +got):\n%s", diff)
	}
}

func TestTheSampleSubmissionsFitTheirWorkflows(t *testing.T) {
	t.Parallel()
	c := load(t, workflows.FS)
	for _, file := range []string{"order.json", "drone-delivery.json"} {
		body, err := fs.ReadFile(events.FS, file)
		if err != nil {
			t.Fatal(err)
		}
		sub, err := submission.Decode(body)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		d, err := c.Definition(sub.Workflow)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if err := d.CheckOrder(sub.Order); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestTheFaultsOfEveryFileAreNamed(t *testing.T) {
	t.Parallel()
	_, err := catalog.Load(files(map[string]string{
		"one.yaml":   "workflow: one\nversion: 0\ncompleteWithin: 1h\nsteps:\n  s: {agent: a}\n",
		"two.yaml":   "workflow: two\nversion: 1\nsteps:\n  s: {agent: a, wenn: true}\n",
		"three.yaml": parcel("1", "1h"),
		"four.yaml":  parcel("1", "2h"),
		"five.yaml":  "\xff",
	}), []string{"a"})
	if err == nil {
		t.Fatal("the faults were not seen")
	}
	for _, want := range []string{"one.yaml:2:", "two.yaml", "wenn", "completeWithin",
		"parcel@1 is defined by another file too", "five.yaml: the definition is not UTF-8"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
}

func TestAnAgentThatNobodyDescribesIsAFault(t *testing.T) {
	t.Parallel()
	_, err := catalog.Load(files(map[string]string{"w.yaml": strings.ReplaceAll(parcel("1", "1h"), "agent: a", "agent: b")}), []string{"a"})
	if err == nil || !strings.Contains(err.Error(), `agent "b" is not known`) {
		t.Errorf("error is %v, want it to name the agent", err)
	}
}

func keep(t *testing.T, c *catalog.Catalog, s *memstore.Store) {
	t.Helper()
	if err := c.Keep(context.Background(), s); err != nil {
		t.Fatal(err)
	}
}

func TestTheSameDefinitionIsKeptAgainAndAnotherContentIsRefused(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	keep(t, load(t, workflows.FS), s)
	keep(t, load(t, workflows.FS), s)
	keep(t, load(t, files(map[string]string{"w.yaml": parcel("1", "1h")})), s)
	keep(t, load(t, files(map[string]string{"moved.yaml": parcel("1", "1h")})), s)

	err := load(t, files(map[string]string{"w.yaml": parcel("1", "2h")})).Keep(context.Background(), s)
	if !errors.Is(err, store.ErrDefined) || !strings.Contains(err.Error(), "parcel@1") || !strings.Contains(err.Error(), "raise its version") {
		t.Errorf("error is %v, want store.ErrDefined of parcel@1, and what to do", err)
	}
}

func TestOlderVersionsAreFoundAfterARestartAndTheNewestIsChosen(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	for _, version := range []string{"1", "10", "9"} {
		keep(t, load(t, files(map[string]string{"w.yaml": parcel(version, version+"h")})), s)
	}
	c := load(t, files(map[string]string{"w.yaml": parcel("2", "2h")}))
	keep(t, c, s)
	if diff := cmp.Diff([]string{"parcel@1", "parcel@2", "parcel@9", "parcel@10"}, refs(c)); diff != "" {
		t.Errorf("definitions (-want +got):\n%s", diff)
	}
	for ref, hours := range map[string]float64{"parcel": 10, "parcel@1": 1, "parcel@9": 9} {
		d, err := c.Definition(ref)
		if err != nil {
			t.Errorf("%s: %v", ref, err)
		} else if got := d.Workflow().CompleteWithin.Hours(); got != hours {
			t.Errorf("%s has %v hours, want %v", ref, got, hours)
		}
	}
	newer := load(t, files(map[string]string{"w.yaml": parcel("11", "11h")}))
	keep(t, newer, s)
	if d, err := newer.Definition("parcel"); err != nil || d.Workflow().Ref() != "parcel@11" {
		t.Errorf("beside older ones that are stored, the newest is %v, %v; want parcel@11, of the directory", d, err)
	}
	if w, err := c.Workflow("parcel@9"); err != nil || w.Ref() != "parcel@9" {
		t.Errorf("a task pinned to parcel@9 finds %s, %v", w.Ref(), err)
	}
	if _, err := c.Workflow("parcel"); !errors.Is(err, engine.ErrNoWorkflow) {
		t.Errorf("a task that is pinned to no version finds one: %v", err)
	}
}

func TestAStoredDefinitionStillChecksOrders(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	keep(t, load(t, workflows.FS), s)
	c := catalog.New()
	keep(t, c, s)
	d, err := c.Definition("order")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.CheckOrder(json.RawMessage(`{}`)); err == nil {
		t.Error("an order without anything is accepted")
	}
}

func TestWhatIsNotOfferedIsSaidShortly(t *testing.T) {
	t.Parallel()
	c := load(t, workflows.FS)
	for _, ref := range []string{"", "odrer", "order@2", "order@0", "order@x", "order@1@1", "@1",
		strings.Repeat("w", 1<<17), "order@" + strings.Repeat("9", 1<<17)} {
		_, err := c.Definition(ref)
		if !errors.Is(err, engine.ErrNoWorkflow) || len(err.Error()) > 300 {
			t.Errorf("%.20s: error is %.300v, want a short engine.ErrNoWorkflow", ref, err)
		}
	}
}

// broken is a ledger whose definitions can't be read, or are damaged.
type broken struct {
	*memstore.Store
	define, read error
	stored       []store.Definition
}

func (b broken) Define(context.Context, store.Definition) error { return b.define }
func (b broken) Definitions(context.Context) ([]store.Definition, error) {
	return b.stored, b.read
}

func TestALedgerThatFailsIsToldWithTheDefinition(t *testing.T) {
	t.Parallel()
	for says, b := range map[string]broken{
		"storing workflow drone-delivery@1":    {define: store.ErrFull},
		"reading the stored workflows":         {read: store.ErrDamaged},
		"reading the stored workflow parcel@7": {stored: []store.Definition{{Name: "parcel", Version: 7, Source: []byte("?")}}},
	} {
		err := load(t, workflows.FS).Keep(context.Background(), b)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error is %v, want it to say %q", err, says)
		}
		for _, cause := range []error{b.define, b.read} {
			if cause != nil && !errors.Is(err, cause) {
				t.Errorf("error is %v, want %v in it", err, cause)
			}
		}
	}
}

func TestDefinitionsMayBeReadWhileOthersAreAdded(t *testing.T) {
	t.Parallel()
	s := memstore.New()
	keep(t, load(t, workflows.FS), s)
	c := catalog.New(definition(t, "1"))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 100 {
			if _, err := c.Definition("parcel"); err != nil {
				t.Error(err)
			}
			_, _ = c.Workflow(task.Ref("order", 1))
		}
	}()
	keep(t, c, s)
	<-done
}

func definition(t *testing.T, version string) workflow.Definition {
	t.Helper()
	d, err := workflow.Parse(workflow.Source{Text: []byte(parcel(version, "1h"))})
	if err != nil {
		t.Fatal(err)
	}
	return d
}
