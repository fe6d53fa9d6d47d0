// Package catalog is what a deployment offers: the workflows that can be
// submitted, every older version that a task may still be pinned to, and the
// agents that do the work.
//
// It reads a directory (agents.yaml and one file per workflow) and keeps the
// definitions with the tasks, so that a task under way finds its own version
// whatever the directory says later. A definition once kept is immutable.
//
// Where one process owns the tasks, Keep at its start is all. Where others add
// definitions meanwhile, Follow has the catalog read the kept ones again: when it
// is asked for one that it doesn't know, and now and then for newer versions. To
// add those of a directory to a running deployment: Load it, and Keep.
package catalog

import (
	"bytes"
	"cmp"
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
	"time"

	"triad/shared/engine"
	"triad/shared/store"
	"triad/shared/submission"
	"triad/shared/task"
	"triad/shared/workflow"
)

// agentsFile is the file of a workflows directory that describes agents.
const agentsFile = "agents.yaml"

// Catalog finds definitions. It is safe for concurrent use.
type Catalog struct {
	mu     sync.RWMutex
	byRef  map[string]workflow.Definition
	newest map[string]int
	faults map[string]error // of kept definitions that can't be used, by ref
	kept   *follower        // nil: nothing is read again
}

// Ledger keeps definitions with the tasks: a part of store.Ledger. Every store
// of ours has it.
type Ledger interface {
	// Define stores a definition for good. The same again is a success; another
	// source of one that is stored is store.ErrDefined.
	Define(ctx context.Context, d store.Definition) error
	// Definitions returns all of them, by name, then version.
	Definitions(ctx context.Context) ([]store.Definition, error)
}

// New returns a catalog of these definitions, without agents.
func New(defs ...workflow.Definition) *Catalog {
	c := &Catalog{byRef: map[string]workflow.Definition{}, newest: map[string]int{}, faults: map[string]error{}}
	for _, d := range defs {
		c.add(d)
	}
	return c
}

// Load reads the workflows of a directory: its YAML files but for that of the
// agents. agents are those that there are; with nil their names go unchecked.
// Every fault of every file is in the error.
func Load(files fs.FS, agents []string) (*Catalog, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("listing the workflows: %w", err)
	}
	c := New()
	var faults []error
	for _, file := range names {
		if file == agentsFile {
			continue
		}
		d, err := workflow.ParseFS(files, path.Clean(file), agents)
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

// Keep stores the definitions with the tasks and adds those stored before. It
// writes only what is missing. A definition that is stored with another content
// is refused: store.ErrDefined.
func (c *Catalog) Keep(ctx context.Context, ledger Ledger) error {
	stored, err := c.keep(ctx, ledger)
	if err != nil {
		return err
	}
	return c.learn(stored)
}

// keep stores what is missing and returns what was stored before.
func (c *Catalog) keep(ctx context.Context, ledger Ledger) ([]store.Definition, error) {
	stored, err := ledger.Definitions(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the stored workflows: %w", err)
	}
	kept := map[string]store.Definition{}
	for _, s := range stored {
		kept[task.Ref(s.Name, s.Version)] = s
	}
	for _, d := range c.Definitions() {
		s, found := kept[d.Ref()]
		switch {
		case !found: // if another process stores it just now, Define compares
			err = ledger.Define(ctx, store.Definition{Name: d.Name, Version: d.Version, Source: d.Bundle()})
		case s.Err != nil: // learn tells of it; ours is what there is of it
		case !bytes.Equal(s.Source, d.Bundle()):
			err = store.ErrDefined
		}
		if errors.Is(err, store.ErrDefined) {
			return nil, fmt.Errorf("workflow %s: %w: tasks may be pinned to it, so raise its version", d.Ref(), err)
		}
		if err != nil {
			return nil, fmt.Errorf("storing workflow %s: %w", d.Ref(), err)
		}
	}
	return stored, nil
}

// learn adds the stored definitions that are not known yet. One that can't be
// used keeps no other from being added; those who ask for it are told why.
func (c *Catalog) learn(stored []store.Definition) error {
	var faults []error
	for _, s := range stored {
		ref := task.Ref(s.Name, s.Version)
		if _, found, _ := c.known(s.Name, s.Version); found && s.Err == nil {
			continue
		}
		d, err := parse(s)
		if err != nil {
			err = fmt.Errorf("reading the stored workflow %s: %w", ref, err)
			c.mu.Lock()
			c.faults[ref] = err
			c.mu.Unlock()
			faults = append(faults, err)
			continue
		}
		c.add(d)
	}
	return errors.Join(faults...)
}

// parse reads a stored definition.
func parse(s store.Definition) (workflow.Definition, error) {
	if s.Err != nil {
		return workflow.Definition{}, s.Err
	}
	return workflow.ParseBundle(s.Source)
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

// Workflows returns what Definitions are compiled to, in the same order.
func (c *Catalog) Workflows() []task.Workflow {
	var all []task.Workflow
	for _, d := range c.Definitions() {
		all = append(all, d.Workflow)
	}
	return all
}

// Definition implements submission.Definitions: the newest version of a name, or
// name@version. What was kept before it was called is found, in a catalog that
// follows; a newer version of a known name within a minute.
func (c *Catalog) Definition(ref string) (submission.Definition, error) {
	name, version, err := task.SplitRef(ref)
	if err != nil {
		return nil, fmt.Errorf("%w: %q: the version after @ must be a whole number from 1", engine.ErrNoWorkflow, cut(ref))
	}
	if version == 0 {
		c.renew()
	}
	d, found, err := c.find(name, version)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("%w: %q; there are %s", engine.ErrNoWorkflow, cut(ref), cmp.Or(strings.Join(c.names(), ", "), "none"))
	}
	return offered{d}, nil
}

// Workflow implements engine.Workflows. What was kept before it was called is
// found, in a catalog that follows.
func (c *Catalog) Workflow(ref string) (task.Workflow, error) {
	c.mu.RLock()
	d, found := c.byRef[ref]
	c.mu.RUnlock()
	if found {
		return d.Workflow, nil
	}
	if name, version, err := task.SplitRef(ref); err == nil && version > 0 {
		d, found, err = c.find(name, version)
		if found || err != nil {
			return d.Workflow, err
		}
	}
	return task.Workflow{}, fmt.Errorf("%w: %s is not among the stored definitions", engine.ErrNoWorkflow, cut(ref))
}

// find looks a definition up, and among the kept ones when it isn't known. An
// error leaves open whether there is one.
func (c *Catalog) find(name string, version int) (d workflow.Definition, found bool, err error) {
	if d, found, err = c.known(name, version); found || err != nil || c.kept == nil {
		return d, found, err
	}
	unread := c.reread(time.Now())
	if d, found, err = c.known(name, version); found || err != nil {
		return d, found, err
	}
	return d, false, unread
}

// known looks a definition up; version 0 is the newest. The error says why a
// kept one can't be used.
func (c *Catalog) known(name string, version int) (d workflow.Definition, found bool, err error) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if version == 0 {
		version = c.newest[name]
	}
	ref := task.Ref(name, version)
	if d, found = c.byRef[ref]; found {
		return d, true, nil
	}
	return d, false, c.faults[ref]
}

// names are those of the workflows, in order.
func (c *Catalog) names() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Sorted(maps.Keys(c.newest))
}

// cut shortens a caller's text for an error message.
func cut(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}

// offered is a definition as Submission needs it.
type offered struct{ d workflow.Definition }

func (o offered) Workflow() task.Workflow                { return o.d.Workflow }
func (o offered) CheckOrder(order json.RawMessage) error { return o.d.CheckOrder(order) }
