package triad_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// object is a mapping of a template. !Ref and its like are objects with one
// entry, as in JSON: {"Ref": "Queue"}, {"Fn::GetAtt": "Queue.Arn"}.
type object = map[string]any

// templates are all templates, by file.
type templates map[string]object

// The files that rules speak of.
const (
	rootFile   = "template.yaml"
	queueFile  = "infra/queue.yaml"
	rejectFile = "infra/rejected.yaml"
	tablesFile = "infra/tables.yaml"
	rolesFile  = "infra/roles.yaml"
	alarmsFile = "infra/alarms.yaml"
	boardFile  = "infra/dashboard.yaml"
)

// load reads template.yaml and all of infra.
func load(t *testing.T) templates {
	t.Helper()
	files, err := filepath.Glob("infra/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("looking for templates in infra: %v, found %v", err, files)
	}
	all := templates{}
	for _, name := range append(files, rootFile) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseBytes(text, 0)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[filepath.ToSlash(name)] = value(t, file.Docs[0].Body).(object)
	}
	return all
}

// value turns a node of YAML into objects, lists, strings, ints and bools.
func value(t *testing.T, n ast.Node) any {
	t.Helper()
	switch n := n.(type) {
	case *ast.MappingNode:
		o := object{}
		for _, entry := range n.Values {
			o[entry.Key.GetToken().Value] = value(t, entry.Value)
		}
		return o
	case *ast.MappingValueNode:
		return object{n.Key.GetToken().Value: value(t, n.Value)}
	case *ast.SequenceNode:
		list := []any{}
		for _, item := range n.Values {
			list = append(list, value(t, item))
		}
		return list
	case *ast.TagNode:
		name := strings.TrimPrefix(n.GetToken().Value, "!")
		if name != "Ref" && name != "Condition" {
			name = "Fn::" + name
		}
		return object{name: value(t, n.Value)}
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	case *ast.BoolNode:
		return n.Value
	case *ast.IntegerNode:
		return int(n.Value.(uint64))
	}
	t.Fatalf("%s: this test can't read %T", n.GetPath(), n)
	return nil
}

// at is what stands at a path of keys, nil when nothing does.
func at(in any, path ...string) any {
	for _, key := range path {
		o, _ := in.(object)
		in = o[key]
	}
	return in
}

// within is the object at a path, nil when there is none.
func within(in any, path ...string) object {
	o, _ := at(in, path...).(object)
	return o
}

// resources are those of a file that have this type, with their names.
func (ts templates) resources(file, kind string) map[string]object {
	found := map[string]object{}
	for name, r := range within(ts[file], "Resources") {
		if at(r, "Type") == kind {
			found[name], _ = r.(object)
		}
	}
	return found
}

// stacks are the nested stacks made of a file, with their parameters.
func (ts templates) stacks(file string) map[string]object {
	found := map[string]object{}
	for name, r := range ts.resources(rootFile, "AWS::CloudFormation::Stack") {
		if at(r, "Properties", "TemplateURL") == file {
			found[name] = within(r, "Properties", "Parameters")
		}
	}
	return found
}

// function is a function of template.yaml, with what Globals say of all.
type function struct {
	id   string // the logical one
	name string // what follows the name of the stack
	object
	properties object
}

// functions are all functions, in order of their names.
func (ts templates) functions() (all []function) {
	for id, r := range ts.resources(rootFile, "AWS::Serverless::Function") {
		p := merged(within(ts[rootFile], "Globals", "Function"), within(r, "Properties"))
		all = append(all, function{id: id, name: afterStack(p["FunctionName"]), object: r, properties: p})
	}
	slices.SortFunc(all, func(a, b function) int { return strings.Compare(a.id, b.id) })
	return all
}

// sources are the function's SQS events, by name.
func (f function) sources() map[string]object {
	found := map[string]object{}
	for name, e := range within(f.properties, "Events") {
		if at(e, "Type") == "SQS" {
			found[name] = within(e, "Properties")
		}
	}
	return found
}

// queues are the logical names of the queues that the function consumes.
func (f function) queues() (names []string) {
	for _, source := range f.sources() {
		names = append(names, strings.TrimSuffix(fmt.Sprint(at(source["Queue"], "Fn::GetAtt")), ".Outputs.Arn"))
	}
	slices.Sort(names)
	return names
}

// merged is base with the entries of over over it, in depth.
func merged(base, over object) object {
	all := maps.Clone(base)
	if all == nil {
		all = object{}
	}
	for key, v := range over {
		below, is := v.(object)
		if under, both := all[key].(object); is && both {
			v = merged(under, below)
		}
		all[key] = v
	}
	return all
}

// afterStack is the rest of a name that begins with that of the stack.
func afterStack(name any) string {
	for _, stack := range []string{"${AWS::StackName}-", "${Stack}-"} {
		if rest, found := strings.CutPrefix(fmt.Sprint(at(name, "Fn::Sub")), stack); found {
			return rest
		}
	}
	return ""
}

// walk shows each object of a tree to visit, with its path.
func walk(in any, path string, visit func(path string, o object)) {
	switch in := in.(type) {
	case object:
		visit(path, in)
		for key, v := range in {
			walk(v, path+"."+key, visit)
		}
	case []any:
		for i, v := range in {
			walk(v, fmt.Sprintf("%s[%d]", path, i), visit)
		}
	}
}

// copied is a tree that may be changed.
func copied(in any) any {
	switch in := in.(type) {
	case object:
		o := object{}
		for key, v := range in {
			o[key] = copied(v)
		}
		return o
	case []any:
		list := []any{}
		for _, v := range in {
			list = append(list, copied(v))
		}
		return list
	}
	return in
}

// texts are the strings of a list, or the only one.
func texts(in any) (all []string) {
	list, is := in.([]any)
	if !is {
		list = []any{in}
	}
	for _, v := range list {
		all = append(all, fmt.Sprint(v))
	}
	return all
}
