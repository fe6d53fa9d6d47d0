package workflow

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"
)

// exact is a number of the order or of an output, as it was written. It passes
// through an expression untouched; operators and functions that need a value
// convert it, because the patcher has put a conversion before each of them.
type exact struct{ digits string }

// native is the value to calculate with: an int where the number is written as
// one and fits, else the nearest float64.
func (n exact) native() (any, error) {
	if !strings.ContainsAny(n.digits, ".eE") {
		if i, err := strconv.Atoi(n.digits); err == nil {
			return i, nil
		}
	}
	f, err := strconv.ParseFloat(n.digits, 64)
	if err != nil {
		return nil, fmt.Errorf("the number %s is out of range", shorten(n.digits, 40))
	}
	return f, nil
}

// The names under which an expression reaches its budget and the conversions.
// The inspector lets no definition use them.
const (
	budgetName = "$budget"
	tickName   = "$tick"
	plainName  = "$plain"
	deepName   = "$deep"
	textName   = "$text"
)

// budget is what one evaluation of a When or an Input may still do: each
// operation costs 1, and 1 more for each byte or element that it touches.
type budget struct{ left int }

const fullBudget = 2_000_000

var errBudget = errors.New("it does too much: let an agent compute it")

func (b *budget) spend(n int) error {
	if b.left -= n; b.left < 0 {
		return errBudget
	}
	return nil
}

// patcher puts a conversion before everything that needs the value of a number,
// and a tick into every loop.
type patcher struct{}

// Visit patches one node; the library calls it for children first.
func (patcher) Visit(n *ast.Node) {
	switch n := (*n).(type) {
	case *ast.UnaryNode:
		if n.Operator == "-" || n.Operator == "+" {
			convert(&n.Node, plainName)
		}
	case *ast.BinaryNode:
		switch n.Operator {
		case "&&", "||", "and", "or", "??":
		case "==", "!=", "in", "not in":
			convert(&n.Left, deepName)
			convert(&n.Right, deepName)
		default:
			convert(&n.Left, plainName)
			convert(&n.Right, plainName)
		}
	case *ast.MemberNode:
		convert(&n.Property, plainName)
	case *ast.SliceNode:
		convert(&n.From, plainName)
		convert(&n.To, plainName)
	case *ast.BuiltinNode:
		patchCall(n)
	}
}

// patchCall converts the arguments of a function.
func patchCall(n *ast.BuiltinNode) {
	with := plainName
	switch n.Name {
	case "sum", "min", "max", "mean", "median", "sort":
		with = deepName
	case "string":
		with = textName
	}
	for i := range n.Arguments {
		predicate, ok := n.Arguments[i].(*ast.PredicateNode)
		switch {
		case !ok && handedThrough(n.Name, i):
			convert(&n.Arguments[i], tickName)
		case !ok:
			convert(&n.Arguments[i], with)
		case n.Name == "sum" || n.Name == "sortBy":
			convert(&predicate.Node, plainName)
		default:
			convert(&predicate.Node, tickName)
		}
	}
}

// handedThrough reports whether a function may return this argument as it is,
// so that a number in it must stay exact: the start value of reduce.
func handedThrough(name string, argument int) bool { return name == "reduce" && argument == 2 }

// convert wraps an expression into a conversion; a constant needs none but in a
// loop, where it still counts.
func convert(n *ast.Node, with string) {
	if *n == nil {
		return
	}
	switch (*n).(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.StringNode, *ast.BoolNode, *ast.NilNode:
		if with != tickName {
			return
		}
	}
	at := (*n).Location()
	name, left := &ast.IdentifierNode{Value: with}, &ast.IdentifierNode{Value: budgetName}
	name.SetLocation(at)
	left.SetLocation(at)
	ast.Patch(n, &ast.CallNode{Callee: name, Arguments: []ast.Node{left, *n}})
}

// conversions are the functions that the patcher puts in.
func conversions() []expr.Option {
	return []expr.Option{
		conversion(tickName, func(b *budget, v any) (any, error) { return v, b.spend(1) }),
		conversion(plainName, plain),
		conversion(deepName, deep),
		conversion(textName, scalarText),
	}
}

// conversion declares a function of the budget and a value, whose type is that
// of the value.
func conversion(name string, f func(*budget, any) (any, error)) expr.Option {
	return func(c *conf.Config) {
		c.Functions[name] = &builtin.Function{
			Name: name,
			Func: func(args ...any) (any, error) { return f(args[0].(*budget), args[1]) },
			Validate: func(args []reflect.Type) (reflect.Type, error) {
				return args[1], nil
			},
		}
	}
}

// plain converts a number; lists and mappings stay as they are.
func plain(b *budget, v any) (any, error) {
	cost := 1
	switch v := v.(type) {
	case exact:
		if err := b.spend(1 + len(v.digits)); err != nil {
			return nil, err
		}
		return v.native()
	case string:
		cost += len(v)
	case []any:
		cost += len(v)
	case map[string]any:
		cost += len(v)
	}
	return v, b.spend(cost)
}

// deep converts all numbers in a value.
func deep(b *budget, v any) (any, error) {
	switch v := v.(type) {
	case []any:
		if err := b.spend(1 + len(v)); err != nil {
			return nil, err
		}
		out := make([]any, len(v))
		for i := range v {
			item, err := deep(b, v[i])
			if err != nil {
				return nil, err
			}
			out[i] = item
		}
		return out, nil
	case map[string]any:
		if err := b.spend(1 + len(v)); err != nil {
			return nil, err
		}
		out := make(map[string]any, len(v))
		for key := range v {
			item, err := deep(b, v[key])
			if err != nil {
				return nil, err
			}
			out[key] = item
		}
		return out, nil
	}
	return plain(b, v)
}

// scalarText gives a number's own digits to string(); other scalars pass.
func scalarText(b *budget, v any) (any, error) {
	switch v := v.(type) {
	case exact:
		return v.digits, b.spend(1 + len(v.digits))
	case []any, map[string]any:
		return nil, errors.New("string() takes a text, a number or a boolean")
	}
	return plain(b, v)
}
