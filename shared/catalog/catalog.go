// Package catalog is what a deployment offers: the workflows that can be
// submitted, every older version that a task may still be pinned to, and the
// agents that do the work.
//
// It reads a directory (agents.yaml and one file per workflow) and keeps the
// definitions with the tasks, so that a task under way finds its own version
// whatever the directory says later. A definition once kept is immutable.
package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"triad/shared/agent/httpagent"
	"triad/shared/engine"
	"triad/shared/store"
	"triad/shared/submission"
	"triad/shared/task"
	"triad/shared/workflow"
)

// AgentsFile is the file of a workflows directory that describes the agents.
const AgentsFile = "agents.yaml"

// Catalog finds definitions. It is safe for concurrent use.
type Catalog struct {
	// Agents are the HTTP agents, by name.
	Agents map[string]httpagent.Config

	mu     sync.RWMutex
	byRef  map[string]workflow.Definition
	newest map[string]int
}

// New returns a catalog of these definitions, without agents.
func New(defs ...workflow.Definition) *Catalog {
	c := &Catalog{byRef: map[string]workflow.Definition{}, newest: map[string]int{}}
	for _, d := range defs {
		c.add(d)
	}
	return c
}

// Load reads a workflows directory. lookup finds the settings that agents.yaml
// names, as ${NAME}. Every fault of every file is in the error.
func Load(files fs.FS, lookup func(string) (string, bool)) (*Catalog, error) {
	text, err := fs.ReadFile(files, AgentsFile)
	if err != nil {
		return nil, fmt.Errorf("reading the agents: %w: a workflows directory needs the file %s", err, AgentsFile)
	}
	var faults []error
	agents, err := httpagent.ParseAgents(AgentsFile, text, lookup)
	if err != nil {
		faults = append(faults, err) // the names of agents then go unchecked
	}
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing the workflows: %w", err)
	}
	c := New()
	c.Agents = agents
	known := slices.Sorted(maps.Keys(agents))
	for _, file := range names {
		if file == AgentsFile {
			continue
		}
		d, err := workflow.ParseFS(files, path.Clean(file), known)
		if err == nil {
			_, taken := c.byRef[d.Ref()]
			if taken {
				err = fmt.Errorf("%s: %s is defined by another file too: raise its version", file, d.Ref())
			}
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		c.add(d)
	}
	return c, errors.Join(faults...)
}

// Keep stores the definitions with the tasks and adds those stored before. A
// definition that is stored with another content is refused: store.ErrDefined.
func (c *Catalog) Keep(ctx context.Context, ledger store.Ledger) error {
	for _, d := range c.Definitions() {
		err := ledger.Define(ctx, store.Definition{Name: d.Name, Version: d.Version, Source: d.Bundle()})
		if errors.Is(err, store.ErrDefined) {
			return fmt.Errorf("workflow %s: %w: tasks may be pinned to it, so raise its version", d.Ref(), err)
		}
		if err != nil {
			return fmt.Errorf("storing workflow %s: %w", d.Ref(), err)
		}
	}
	stored, err := ledger.Definitions(ctx)
	if err != nil {
		return fmt.Errorf("reading the stored workflows: %w", err)
	}
	for _, s := range stored {
		d, err := workflow.ParseBundle(s.Source)
		if err != nil {
			return fmt.Errorf("reading the stored workflow %s: %w", task.Ref(s.Name, s.Version), err)
		}
		c.add(d)
	}
	return nil
}

func (c *Catalog) add(d workflow.Definition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byRef[d.Ref()] = d
	c.newest[d.Name] = max(c.newest[d.Name], d.Version)
}

// Definitions returns all of them, by name, then version.
func (c *Catalog) Definitions() []workflow.Definition {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.SortedFunc(maps.Values(c.byRef), func(a, b workflow.Definition) int {
		if a.Name != b.Name {
			return strings.Compare(a.Name, b.Name)
		}
		return a.Version - b.Version
	})
}

// Definition implements submission.Definitions: the newest version of a name, or
// name@version.
func (c *Catalog) Definition(ref string) (submission.Definition, error) {
	name, version, err := task.SplitRef(ref)
	if err != nil {
		return nil, fmt.Errorf("%w: %q: the version after @ must be a whole number from 1", engine.ErrNoWorkflow, cut(ref))
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	if version == 0 {
		version = c.newest[name]
	}
	d, found := c.byRef[task.Ref(name, version)]
	if !found {
		return nil, fmt.Errorf("%w: %q; there are %s", engine.ErrNoWorkflow, cut(ref),
			strings.Join(slices.Sorted(maps.Keys(c.newest)), ", "))
	}
	return offered{d}, nil
}

// cut shortens a caller's text for an error message.
func cut(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}

// Workflow implements engine.Workflows.
func (c *Catalog) Workflow(ref string) (task.Workflow, error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	d, found := c.byRef[ref]
	if !found {
		return task.Workflow{}, fmt.Errorf("%w: %s is not among the stored definitions", engine.ErrNoWorkflow, ref)
	}
	return d.Workflow, nil
}

// offered is a definition as Submission needs it.
type offered struct{ d workflow.Definition }

func (o offered) Workflow() task.Workflow                { return o.d.Workflow }
func (o offered) CheckOrder(order json.RawMessage) error { return o.d.CheckOrder(order) }
