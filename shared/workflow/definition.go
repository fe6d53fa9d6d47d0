package workflow

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"triad/shared/task"
)

// MaxText is the largest definition, and the largest schema, in bytes.
const MaxText = 64 << 10

// Source is a definition as somebody wrote it, and what it is checked against.
type Source struct {
	// File names the definition in problems. Defaults to "definition".
	File string
	// Text is the YAML, UTF-8, at most MaxText bytes.
	Text []byte
	// Agents are the agents that exist. Nil leaves agents unchecked; empty
	// means that there are none.
	Agents []string
	// Open reads a file by its path relative to the definition, slash-separated
	// and without "..". It is called for the input schema only, at most once.
	// Nil refuses definitions that name a schema.
	Open func(path string) ([]byte, error)
}

// Definition is a workflow that was found to be right. It is read-only and safe
// for concurrent use; the zero Definition is of no use.
type Definition struct {
	// Name and Version identify it.
	Name    string
	Version int
	// Workflow is what the core decides with; its steps are in an order in
	// which each comes after those it waits for.
	Workflow task.Workflow

	text   string
	schema schema
}

// schema is the input schema of a definition; all zero for none.
type schema struct {
	path     string
	text     string
	compiled *jsonschema.Schema
}

// Ref is the name under which tasks are pinned to the definition: name@version.
func (d Definition) Ref() string { return task.Ref(d.Name, d.Version) }

// Text returns the YAML, with line feeds for line ends.
func (d Definition) Text() string { return d.text }

// CheckOrder checks an order at the door: one JSON value whose numbers a
// float64 can hold and which, if the definition names a schema, satisfies it.
// The error names each field by its JSON pointer and says in a few words what
// is wrong, without the field's value. An order that was
// refused once is refused always.
func (d Definition) CheckOrder(raw json.RawMessage) error {
	order, err := decodeJSON(raw)
	if err != nil {
		return fmt.Errorf("the order is not JSON: %w", err)
	}
	if digits, found := findOutOfRange(order); found {
		return fmt.Errorf("the order has the number %s, which is out of range", digits)
	}
	if d.schema.compiled == nil {
		return nil
	}
	if err := d.schema.compiled.Validate(order); err != nil {
		return fmt.Errorf("the order does not fit workflow %s: %w", d.Ref(), schemaError(err))
	}
	return nil
}

// ParseFS parses a definition in a file system; its schema is found beside it.
// See Parse.
func ParseFS(fsys fs.FS, file string, agents []string) (Definition, error) {
	text, err := fs.ReadFile(fsys, file)
	if err != nil {
		return Definition{}, fmt.Errorf("reading definition %s: %w", file, err)
	}
	return Parse(Source{File: file, Text: text, Agents: agents, Open: func(name string) ([]byte, error) {
		return fs.ReadFile(fsys, path.Join(path.Dir(file), name))
	}})
}

// Parse compiles a definition. A definition with faults is refused with
// Problems, which lists all of them, and no Definition is returned.
func Parse(source Source) (Definition, error) {
	r := &report{file: source.File}
	if r.file == "" {
		r.file = "definition"
	}
	text, ok := r.normal(source.Text)
	if !ok {
		return Definition{}, r.err()
	}
	root := r.readYAML(text)
	if root == nil {
		return Definition{}, r.err()
	}
	d := r.readWorkflow(root)
	out := Definition{Name: d.flow.Name, Version: d.flow.Version, Workflow: d.flow, text: text}
	if d.schema != nil {
		out.schema = r.readSchema(d.schema, source.Open)
	}
	if source.Agents != nil {
		r.checkAgents(d.steps, source.Agents)
	}
	out.Workflow.Steps = r.compileSteps(d.steps)
	if err := r.err(); err != nil {
		return Definition{}, err
	}
	return out, nil
}

// normal checks the text as such and makes it the same on every system: no
// byte order mark, and line feeds for line ends.
func (r *report) normal(raw []byte) (string, bool) {
	text, fault := normalise(raw)
	if fault != "" {
		r.add(position{}, "", "the definition %s", fault)
		return "", false
	}
	return text, true
}

func normalise(raw []byte) (text, fault string) {
	if len(raw) > MaxText {
		return "", fmt.Sprintf("has %d bytes, at most %d are allowed", len(raw), MaxText)
	}
	if !utf8.Valid(raw) {
		return "", "is not UTF-8 text"
	}
	return strings.ReplaceAll(strings.TrimPrefix(string(raw), "\ufeff"), "\r\n", "\n"), ""
}

// checkAgents looks for agents that nobody knows.
func (r *report) checkAgents(steps []*draftStep, known []string) {
	known = slices.Sorted(slices.Values(known))
	for _, s := range steps {
		if s.Agent != "" && !slices.Contains(known, s.Agent) {
			s.fields.bad("agent", suggest(s.Agent, "agents", known), "agent %q is not known", s.Agent)
		}
	}
}

// readSchema reads and compiles the input schema.
func (r *report) readSchema(n *node, open func(string) ([]byte, error)) schema {
	refuse := func(want, what string, args ...any) schema {
		r.add(n.at, want, "workflow: input schema %s: %s", shorten(n.text, 80), fmt.Sprintf(what, args...))
		return schema{}
	}
	if !fs.ValidPath(n.text) || n.text == "." {
		return refuse("write a path such as schemas/order.json, without .. or a leading /", "is not a path below the definition")
	}
	if open == nil {
		return refuse("parse the definition from its directory", "there is nowhere to read it from")
	}
	raw, err := open(n.text)
	if err != nil {
		return refuse("put the file beside the definition", "reading it: %s", firstLine(err))
	}
	text, fault := normalise(raw)
	if fault != "" {
		return refuse("", "%s", fault)
	}
	compiled, err := compileSchema([]byte(text))
	if err != nil {
		return refuse("correct the schema", "%v", err)
	}
	return schema{path: n.text, text: text, compiled: compiled}
}

// compileSteps puts the steps in order and compiles their expressions.
func (r *report) compileSteps(steps []*draftStep) []task.Step {
	g := r.connect(steps)
	order := r.order(&g)
	ended := g.ancestors(order)
	names := make([]string, len(steps))
	for i, s := range steps {
		names[i] = s.Name
	}
	index := make([]int, len(steps)) // from the written order to the compiled one
	for to, from := range order {
		index[from] = to
	}
	out := make([]task.Step, len(steps))
	for to, from := range order {
		s := steps[from]
		v := visible{steps: names, ended: ended[from]}
		if g.broken {
			v.ended = nil
		}
		r.compileStep(s, v)
		for _, j := range g.before[from] {
			s.After = append(s.After, index[j])
		}
		slices.Sort(s.After)
		out[to] = s.Step
	}
	return out
}

// compileStep compiles the expressions of one step.
func (r *report) compileStep(s *draftStep, v visible) {
	if n := s.fields.values["when"]; n != nil {
		v.subject = s.fields.subject + ": when"
		s.When = r.when(n, v)
	}
	if n := s.fields.values["input"]; n != nil && s.Agent != "" {
		v.subject = s.fields.subject + ": input"
		s.Input = inputOf(r.template(n, v))
	}
}

func (r *report) when(n *node, v visible) func(task.Task) (bool, error) {
	const want = "write an expression that is true or false, such as order.total > 0"
	if n.kind == unreadNode {
		return nil
	}
	if n.kind != textNode && n.kind != booleanNode {
		r.add(n.at, want, "%s is %s", v.subject, describe(n))
		return nil
	}
	e := r.compile(n, n.text, 0, v)
	if e == nil {
		return nil
	}
	if t := e.static(); t != nil && t.Kind() != reflect.Bool {
		r.add(n.at, want, "%s: expression %q is never true or false", v.subject, shorten(e.text, 80))
	}
	return whenOf(e)
}
