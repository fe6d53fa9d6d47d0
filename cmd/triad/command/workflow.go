package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"triad/shared/api"
	"triad/shared/workflow"
)

// WorkflowCommand is about definitions.
type WorkflowCommand struct {
	Check WorkflowCheckCommand `cmd:"" help:"Check definitions, without a server."`
	List  WorkflowListCommand  `cmd:"" help:"List the definitions that the server or the stack has on offer."`
	Apply WorkflowApplyCommand `cmd:"" help:"Give the definitions of a directory to a stack on AWS."`
}

// Help is the detailed help.
func (WorkflowCommand) Help() string {
	return `Examples:

  triad workflow check workflows/order.yaml
  triad workflow list
  triad --stack shop workflow apply workflows`
}

// WorkflowApplyCommand keeps definitions with a stack.
type WorkflowApplyCommand struct {
	Dir string `arg:"" type:"existingdir" help:"Directory with one YAML file for each workflow."`
}

// Help is the detailed help.
func (WorkflowApplyCommand) Help() string {
	return `New submissions run a new version within a minute; tasks under way stay with theirs. A version that the stack has can't be changed: raise the number. agents.yaml is part of the functions and not applied: for that, deploy.

Example:

  triad --stack shop workflow apply workflows`
}

// Run applies. With --json, the references as a document.
func (c *WorkflowApplyCommand) Run(ctx context.Context, env *Env, g *Globals) error {
	if g.Stack == "" {
		return misused("give --stack; `triad dev --workflows DIR` reads a directory at its start", "workflow apply is for a stack on AWS")
	}
	s, err := g.stack(ctx)
	if err != nil {
		return err
	}
	applied, err := s.Apply(ctx, os.DirFS(c.Dir))
	if err != nil {
		return fmt.Errorf("applying %s: %w", c.Dir, err)
	}
	if g.JSON {
		return env.document(applied)
	}
	out := &table{}
	for _, ref := range applied.Added {
		out.add("added", ref)
	}
	for _, ref := range applied.Unchanged {
		out.add("unchanged", ref)
	}
	return out.write(env)
}

// WorkflowCheckCommand checks files.
type WorkflowCheckCommand struct {
	Files  []string `arg:"" name:"file" help:"Definitions, in YAML."`
	Agents []string `name:"agent" placeholder:"NAME" help:"The agents that exist; unchecked when none is named."`
}

// checked is the JSON line of one file.
type checked struct {
	File     string              `json:"file"`
	Workflow string              `json:"workflow,omitempty"`
	Steps    int                 `json:"steps,omitempty"`
	Problems []workflow.Problem  `json:"-"`
	Faults   []definitionProblem `json:"problems,omitempty"`
}

// definitionProblem is a workflow.Problem as JSON.
type definitionProblem struct {
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	What   string `json:"what"`
	Want   string `json:"want,omitempty"`
}

// Run checks every file and tells every problem. With --json, a line for each
// file.
func (c *WorkflowCheckCommand) Run(env *Env, g *Globals) error {
	good := true
	for _, file := range c.Files {
		result, err := c.check(file)
		if err != nil {
			return err
		}
		good = good && len(result.Problems) == 0
		if err := result.print(env, g); err != nil {
			return err
		}
	}
	if !good {
		return errTold
	}
	return nil
}

// check parses a file. The schema that it names is read from the file's
// directory and below, never from elsewhere.
func (c *WorkflowCheckCommand) check(file string) (checked, error) {
	dir, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return checked{}, fmt.Errorf("opening the directory of %s: %w", file, err)
	}
	defer func() { _ = dir.Close() }() // it was only read
	text, err := readBounded(dir, filepath.Base(file))
	if err != nil {
		return checked{}, fmt.Errorf("reading definition %s: %w", file, err)
	}
	d, err := workflow.Parse(workflow.Source{File: file, Text: text, Agents: c.Agents, Open: func(name string) ([]byte, error) {
		return readBounded(dir, name)
	}})
	result := checked{File: file}
	if errors.As(err, (*workflow.Problems)(&result.Problems)) {
		for _, p := range result.Problems {
			result.Faults = append(result.Faults, definitionProblem{p.Line, p.Column, p.What, p.Want})
		}
		return result, nil
	}
	if err != nil {
		return checked{}, fmt.Errorf("checking %s: %w", file, err)
	}
	result.Workflow, result.Steps = d.Ref(), len(d.Workflow.Steps)
	return result, nil
}

// readBounded reads a file that should be no larger than a definition may be;
// of a larger one it reads enough to be refused.
func readBounded(dir *os.Root, name string) ([]byte, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return io.ReadAll(io.LimitReader(f, workflow.MaxText+1))
}

func (r checked) print(env *Env, g *Globals) error {
	if g.JSON {
		return env.line(r)
	}
	if len(r.Problems) == 0 {
		return env.print("%s: %s is right, with %d steps", clean(r.File), r.Workflow, r.Steps)
	}
	for _, p := range r.Problems {
		if err := env.print("%s", clean(p.String())); err != nil {
			return err
		}
	}
	return nil
}

// WorkflowListCommand lists definitions.
type WorkflowListCommand struct{}

// Run lists.
func (WorkflowListCommand) Run(ctx context.Context, env *Env, g *Globals) error {
	server, err := env.client(ctx, g, 1)
	if err != nil {
		return err
	}
	all, err := server.Workflows(ctx)
	if err != nil {
		return err
	}
	if g.JSON {
		return env.document(api.WorkflowList{Workflows: all})
	}
	out := &table{}
	out.add("WORKFLOW", "STEP", "DOES", "AFTER", "UNDO")
	for _, w := range all {
		ref := fmt.Sprintf("%s@%d", w.Name, w.Version)
		for _, s := range w.Steps {
			out.add(ref, s.Name, does(s), remarks(s.After...), yes(s.Undo))
			ref = ""
		}
	}
	return out.write(env)
}

// does is what a step does.
func does(s api.WorkflowStep) string {
	switch {
	case s.Wait != "":
		return "waits " + s.Wait
	case s.Signal != "":
		return "waits for signal " + s.Signal
	}
	return "agent " + s.Agent
}
