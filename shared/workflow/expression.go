package workflow

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
)

// MaxExpression is how long an expression may be, in bytes.
const MaxExpression = 1000

// maxNodes bounds the tree of an expression.
const maxNodes = 500

// allowed are the functions that expressions may use. Left out is what reads
// the clock, what depends on the order of a Go map, and what can make much out
// of little (repeat, replace, flatten, join, uniq).
var allowed = []string{
	"abs", "all", "any", "ceil", "concat", "count", "filter", "find", "findIndex", "findLast",
	"findLastIndex", "first", "float", "floor", "get", "hasPrefix", "hasSuffix", "indexOf", "int",
	"last", "lastIndexOf", "len", "lower", "map", "max", "mean", "median", "min", "none", "one",
	"reduce", "reverse", "round", "sort", "sortBy", "split", "string", "sum", "take", "trim",
	"trimPrefix", "trimSuffix", "type", "upper",
}

// expression is one compiled expression and what it reads.
type expression struct {
	text    string
	program *vm.Program
	// order is true when the expression reads the order; steps are those whose
	// output or state it reads.
	order bool
	steps []string
}

// visible is what an expression of a step may read.
type visible struct {
	// subject begins each message: the step and the field.
	subject string
	// steps are all steps, in the written order; ended those that have ended
	// before this one starts, nil when that is not known.
	steps []string
	ended map[string]bool
}

// fault is a problem with an expression, `at` characters into it.
type fault struct {
	at         int
	what, want string
}

// compile compiles an expression that begins at character offset of n's text;
// nil after a problem.
func (r *report) compile(n *node, source string, offset int, v visible) *expression {
	e, faults := compileExpression(source, v)
	for _, f := range faults {
		r.add(n.inside(offset+f.at), f.want, "%s: expression %q: %s", v.subject, shorten(source, 80), f.what)
	}
	if len(faults) > 0 {
		return nil
	}
	return e
}

// compileExpression calls the library. As in parseYAML, the recover keeps a
// fault of the library from ending the process.
func compileExpression(source string, v visible) (e *expression, faults []fault) {
	defer func() {
		if p := recover(); p != nil {
			e, faults = nil, []fault{{0, fmt.Sprintf("can't be compiled (%v)", p), "write it differently"}}
		}
	}()
	switch {
	case strings.TrimSpace(source) == "":
		return nil, []fault{{0, "is empty", "write an expression such as order.total"}}
	case len(source) > MaxExpression:
		return nil, []fault{{0, fmt.Sprintf("has %d bytes, at most %d are allowed", len(source), MaxExpression), "let an agent compute it"}}
	case strings.HasPrefix(strings.TrimSpace(source), "${"):
		return nil, []fault{{0, "begins with ${", "write the expression without ${ and }"}}
	}
	config := conf.CreateNew()
	config.MaxNodes = maxNodes
	tree, err := parser.ParseWithConfig(source, config)
	if err != nil {
		return nil, []fault{libraryFault(err)}
	}
	in := inspector{visible: v, named: map[*ast.IdentifierNode]string{}, variables: map[string]bool{}}
	ast.Walk(&tree.Node, &in)
	if faults := in.check(); len(faults) > 0 {
		return nil, faults
	}
	program, err := expr.Compile(source, options(in.steps())...)
	if err != nil {
		return nil, []fault{libraryFault(err)}
	}
	return &expression{text: source, program: program, order: in.order, steps: in.steps()}, nil
}

// options are how every expression is compiled: against an environment of
// known types, with the operators patched to take exact numbers.
func options(steps []string) []expr.Option {
	known := types.Map{}
	for _, name := range steps {
		known[name] = types.Map{"output": types.Any, "state": types.String}
	}
	env := types.Map{"order": types.Any, "steps": known, budgetName: types.Any}
	return append([]expr.Option{
		expr.Env(env), expr.MaxNodes(maxNodes), expr.Optimize(false), expr.Patch(patcher{}),
	}, conversions()...)
}

// libraryFault takes the place and the first line out of the library's error.
func libraryFault(err error) fault {
	var e *file.Error
	if !errors.As(err, &e) {
		return fault{0, firstLine(err), ""}
	}
	f := fault{what: firstLine(syntaxMessage(e.Message))}
	if e.Line == 1 {
		f.at = e.Column
	}
	if strings.HasPrefix(f.what, "unknown field") {
		f.want = "a step has output and state"
	}
	return f
}

// static says which type the expression has when that is known, else nil.
func (e *expression) static() reflect.Type {
	t := e.program.Node().Type()
	if t == nil || t.Kind() == reflect.Interface {
		return nil
	}
	return t
}

// inspector finds what an expression reads, and what it may not do.
type inspector struct {
	visible
	order       bool
	identifiers []*ast.IdentifierNode
	// named has the step that a use of `steps` names.
	named map[*ast.IdentifierNode]string
	// variables are those that the expression itself declares.
	variables map[string]bool
	faults    []fault
}

// Visit looks at one node; the library calls it for children first.
func (in *inspector) Visit(n *ast.Node) {
	switch n := (*n).(type) {
	case *ast.IdentifierNode:
		in.identifiers = append(in.identifiers, n)
	case *ast.VariableDeclaratorNode:
		in.variables[n.Name] = true
	case *ast.MemberNode:
		id, isName := n.Node.(*ast.IdentifierNode)
		step, isConstant := n.Property.(*ast.StringNode)
		if isName && isConstant && id.Value == "steps" {
			in.named[id] = step.Value
		}
	case *ast.BuiltinNode:
		if !slices.Contains(allowed, n.Name) {
			in.function(n, n.Name)
		}
	case *ast.CallNode:
		id, ok := n.Callee.(*ast.IdentifierNode)
		if !ok {
			in.faults = append(in.faults, fault{n.Location().From, "values have no methods", "use a function or an operator"})
			return
		}
		in.variables[id.Value] = true // one problem is enough
		in.function(n, id.Value)
	case *ast.BytesNode:
		in.faults = append(in.faults, fault{n.Location().From, "bytes can't be used", "write a text"})
	case *ast.BinaryNode:
		if _, constant := n.Right.(*ast.StringNode); n.Operator == "matches" && !constant {
			in.faults = append(in.faults, fault{n.Location().From, "the pattern of matches is not constant", "write the pattern in quotes"})
		}
	}
}

func (in *inspector) function(n ast.Node, name string) {
	want := "functions are " + strings.Join(allowed, ", ")
	if near := nearest(name, allowed); near != "" {
		want = fmt.Sprintf("did you mean %s?", near)
	}
	in.faults = append(in.faults, fault{n.Location().From, fmt.Sprintf("there is no function %s", shorten(name, 40)), want})
}

// check looks at the names once all are known.
func (in *inspector) check() []fault {
	for _, id := range in.identifiers {
		at := id.Location().From
		switch {
		case id.Value == "order":
			in.order = true
		case id.Value == "steps":
			in.checkStep(id, at)
		case !in.variables[id.Value]:
			in.faults = append(in.faults, fault{at, fmt.Sprintf("%s is not known", shorten(id.Value, 40)),
				"an expression sees order and steps, and its own variables"})
		}
	}
	return in.faults
}

func (in *inspector) checkStep(id *ast.IdentifierNode, at int) {
	name, named := in.named[id]
	switch {
	case !named:
		in.faults = append(in.faults, fault{at, "steps is used without the name of a step",
			`write steps.NAME.output or steps["NAME"].output`})
	case !slices.Contains(in.visible.steps, name):
		want := suggest(name, "steps", in.visible.steps)
		for _, s := range in.visible.steps {
			if strings.HasPrefix(s, name+"-") {
				want = fmt.Sprintf("a name with a dash needs brackets: steps[%q]", s)
			}
		}
		in.faults = append(in.faults, fault{at, fmt.Sprintf("there is no step %q", shorten(name, 80)), want})
	case in.ended != nil && !in.ended[name]:
		in.faults = append(in.faults, fault{at, fmt.Sprintf("step %q need not have ended when this one starts", name),
			"let this step come after it, or don't use it"})
	}
}

// steps lists the steps that are read, each once.
func (in *inspector) steps() []string {
	var out []string
	for _, id := range in.identifiers {
		if name, ok := in.named[id]; ok && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
