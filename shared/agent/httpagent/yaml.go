package httpagent

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// reader reads a YAML file strictly and collects every fault with its place.
type reader struct {
	file   string
	lookup func(string) (string, bool)
	faults []error
}

// value is a node with the path that leads to it and its place in the file.
type value struct {
	node ast.Node
	path string
	at   *token.Position
}

// fields are the fields of an object: what to do with the value of each.
type fields map[string]func(value)

func (r *reader) fail(v value, format string, args ...any) {
	r.faults = append(r.faults, fmt.Errorf("%s:%d:%d: %s: %s", r.file, v.at.Line, v.at.Column, v.path, fmt.Sprintf(format, args...)))
}

// root parses the text; it returns false when there is nothing to read.
func (r *reader) root(text []byte) (value, bool) {
	file, err := parser.ParseBytes(text, 0)
	var syntax yaml.Error
	switch {
	case errors.As(err, &syntax) && syntax.GetToken() != nil:
		at := syntax.GetToken().Position
		r.faults = append(r.faults, fmt.Errorf("%s:%d:%d: not YAML: %s", r.file, at.Line, at.Column, syntax.GetMessage()))
		return value{}, false
	case err != nil:
		r.faults = append(r.faults, fmt.Errorf("%s: not YAML: %w", r.file, err))
		return value{}, false
	case len(file.Docs) != 1 || file.Docs[0].Body == nil:
		r.faults = append(r.faults, fmt.Errorf("%s:1:1: must have one document, with agents: at its beginning", r.file))
		return value{}, false
	}
	return value{node: file.Docs[0].Body, path: "file", at: &token.Position{Line: 1, Column: 1}}, true
}

// each calls f for every field of an object.
func (r *reader) each(v value, f func(name string, v value)) {
	var pairs []*ast.MappingValueNode
	switch n := v.node.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		r.fail(v, "must be an object: write name: value, indented, one on each line")
		return
	}
	for _, p := range pairs {
		key := p.Key.GetToken()
		child := value{node: p.Value, path: key.Value, at: key.Position}
		if v.path != "file" {
			child.path = v.path + "." + key.Value
		}
		if _, plain := p.Key.(*ast.StringNode); !plain {
			r.fail(child, "key must be plain text: anchors, merges and other keys are not read")
			continue
		}
		f(key.Value, child)
	}
}

// object reads an object of known fields; any other is a fault.
func (r *reader) object(v value, known fields) {
	r.each(v, func(name string, v value) {
		read, ok := known[name]
		if !ok {
			r.fail(v, "unknown field: use one of %s", strings.Join(slices.Sorted(maps.Keys(known)), ", "))
			return
		}
		read(v)
	})
}

// list calls f for every entry of a list.
func (r *reader) list(v value, f func(value)) {
	n, ok := v.node.(*ast.SequenceNode)
	if !ok {
		r.fail(v, "must be a list: write [a, b]")
		return
	}
	for i, entry := range n.Values {
		f(value{node: entry, path: fmt.Sprintf("%s[%d]", v.path, i), at: entry.GetToken().Position})
	}
}

// scalar returns the text of a text or number, with ${NAME} replaced.
func (r *reader) scalar(v value) (string, bool) {
	var text string
	switch n := v.node.(type) {
	case *ast.StringNode:
		text = n.Value
	case *ast.IntegerNode, *ast.FloatNode:
		text = n.GetToken().Value
	default:
		r.fail(v, "must be a text or a number")
		return "", false
	}
	v.at = v.node.GetToken().Position
	text, err := expand(text, r.lookup)
	if err != nil {
		r.fail(v, "%v", err)
		return "", false
	}
	return text, true
}

// scalarInto returns what reads a field into dst.
func scalarInto[T any](r *reader, dst *T, parse func(string) (T, error)) func(value) {
	return func(v value) {
		text, ok := r.scalar(v)
		if !ok {
			return
		}
		x, err := parse(text)
		if err != nil {
			v.at = v.node.GetToken().Position
			r.fail(v, "%v", err)
			return
		}
		*dst = x
	}
}

// expand replaces ${NAME} and ${NAME:-default}. A setting that is empty counts
// as absent.
func expand(text string, lookup func(string) (string, bool)) (string, error) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		inner, rest, closed := strings.Cut(after, "}")
		name, byDefault, hasDefault := strings.Cut(inner, ":-")
		if !closed || name == "" || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") != "" {
			return "", errors.New("has a ${ that is no setting: write ${NAME} or ${NAME:-default}, the name in capitals")
		}
		switch set, ok := lookup(name); {
		case ok && set != "":
			b.WriteString(set)
		case hasDefault:
			b.WriteString(byDefault)
		default:
			return "", fmt.Errorf("setting %s is absent: set it, or write ${%s:-default}", name, name)
		}
		text = rest
	}
}
