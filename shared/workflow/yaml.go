package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	yaml "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// nodeKind is what a value of the text is, in the words of messages.
type nodeKind string

const (
	mappingNode nodeKind = "mapping"
	listNode    nodeKind = "list"
	textNode    nodeKind = "text"
	numberNode  nodeKind = "number"
	booleanNode nodeKind = "boolean"
	nullNode    nodeKind = "null"
	// unreadNode stands for what was refused and reported already.
	unreadNode nodeKind = "unread"
)

// node is one value of the text with its place. It is all that the rest of the
// package sees of YAML.
type node struct {
	kind nodeKind
	at   position
	// text is the value of a text, or a scalar as it is written.
	text string
	// verbatim is true when text stands in the source, character by character,
	// `quote` characters after `at`: places inside it can then be told.
	verbatim bool
	quote    int
	entries  []entry // of a mapping, in the written order, no key twice
	items    []*node // of a sequence
}

// entry is one key of a mapping.
type entry struct {
	key   string
	at    position
	value *node
}

// Limits of the text. Nesting is bounded before the library sees it, because
// its cost grows with the square of the depth.
const (
	maxDepth  = 24
	maxDashes = 8
)

// readYAML parses one YAML document; nil after a problem with its syntax.
// Definitions use plain YAML: anchors, tags and merges are refused, so that a
// definition is as long as it looks.
func (r *report) readYAML(source string) *node {
	doc, err := parseYAML(source)
	if err != nil {
		r.syntax(source, err)
		return nil
	}
	if doc == nil {
		r.add(position{1, 1}, "write workflow, version, completeWithin and steps", "the definition is empty")
		return nil
	}
	c := converter{report: r, lines: strings.Split(source, "\n")}
	return c.node(doc, 0)
}

// parseYAML calls the library. The recover is for its sake: a definition comes
// from outside, and a fault in the library must not end the process.
func parseYAML(source string) (body ast.Node, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			body, err = nil, fmt.Errorf("the YAML can't be read (%v)", fault)
		}
	}()
	tokens := lexer.Tokenize(source)
	if err := checkNesting(tokens); err != nil {
		return nil, err
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, err
	}
	switch len(file.Docs) {
	case 0:
		return nil, nil
	case 1:
		return file.Docs[0].Body, nil
	}
	at := tokens[0]
	if start := file.Docs[1].Start; start != nil {
		at = start
	}
	return nil, &yaml.SyntaxError{Message: "a definition is one YAML document without directives", Token: at}
}

// checkNesting bounds how deep lists and mappings can be inside each other.
// Depth by indentation is bounded by the size of the text.
func checkNesting(tokens token.Tokens) error {
	depth, dashes, line := 0, 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		case token.SequenceEntryType, token.MappingKeyType:
			if t.Position.Line != line {
				line, dashes = t.Position.Line, 0
			}
			dashes++
		}
		if depth > maxDepth || dashes > maxDashes {
			return &yaml.SyntaxError{Message: "lists and mappings are nested too deep", Token: t}
		}
	}
	return nil
}

// syntax reports an error of the library with the most likely remedy.
func (r *report) syntax(source string, err error) {
	var syntax *yaml.SyntaxError
	if !errors.As(err, &syntax) || syntax.Token == nil || syntax.Token.Position == nil {
		r.add(position{1, 1}, "", "%s", firstLine(err))
		return
	}
	at := position{syntax.Token.Position.Line, syntax.Token.Position.Column}
	line := ""
	if lines := strings.Split(source, "\n"); at.line >= 1 && at.line <= len(lines) {
		line = lines[at.line-1]
	}
	want := ""
	switch {
	case strings.Contains(line, "${"):
		want = `put a text with ${...} in quotes`
	case strings.Contains(line, "\t"):
		want = "indent with spaces, not tabs"
	case strings.Contains(syntax.Message, "mapping value"):
		want = `put a text with ": " in quotes, and check the indentation`
	}
	r.add(at, want, "YAML syntax: %s", firstLine(syntaxMessage(syntax.Message)))
}

type syntaxMessage string

func (m syntaxMessage) Error() string { return string(m) }

// firstLine is an error without the drawing that libraries put under it.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return shorten(line, 200)
}

// converter turns the library's tree into nodes.
type converter struct {
	report *report
	lines  []string
}

func (c converter) node(n ast.Node, depth int) *node {
	out := &node{at: place(n)}
	if depth > maxDepth {
		c.report.add(out.at, "", "lists and mappings are nested too deep")
		out.kind = unreadNode
		return out
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			out.at = place(n.Values[0].Key)
		}
		return c.mapping(out, n.Values, depth)
	case *ast.MappingValueNode:
		out.at = place(n.Key)
		return c.mapping(out, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		out.kind = listNode
		for _, item := range n.Values {
			out.items = append(out.items, c.node(item, depth+1))
		}
	case *ast.StringNode:
		out.kind, out.text = textNode, n.Value
		if n.Token.Type == token.StringType && jsonNumber(n.Value) {
			out.kind = numberNode // the library takes 1e5 and long integers for texts
		}
		c.locate(out, n.Token)
	case *ast.LiteralNode:
		out.kind, out.text = textNode, n.Value.Value
	case *ast.IntegerNode:
		out.kind, out.text = numberNode, n.Token.Value
	case *ast.FloatNode:
		out.kind, out.text = numberNode, n.Token.Value
	case *ast.InfinityNode:
		out.kind, out.text = numberNode, n.Token.Value
	case *ast.NanNode:
		out.kind, out.text = numberNode, n.Token.Value
	case *ast.BoolNode:
		out.kind, out.text = booleanNode, n.Token.Value
	case *ast.NullNode:
		out.kind, out.text = nullNode, "null"
	default:
		c.report.add(out.at, "write the value itself", "%s can't be used in a definition", feature(n))
		out.kind = unreadNode
	}
	return out
}

// mapping fills in the entries; a key that comes twice is a problem.
func (c converter) mapping(out *node, values []*ast.MappingValueNode, depth int) *node {
	out.kind = mappingNode
	first := map[string]position{}
	for _, v := range values {
		at := place(v.Key)
		key, ok := keyText(v.Key)
		if !ok {
			c.report.add(at, "write a plain key", "%s can't be used as a key", feature(v.Key))
			out.kind = unreadNode
			continue
		}
		if before, twice := first[key]; twice {
			c.report.add(at, "remove or rename one of them", "%q is there twice, first on line %d", shorten(key, 80), before.line)
			continue
		}
		first[key] = at
		value := c.node(v.Value, depth+1)
		if value.kind == nullNode && (value.at.line < at.line || value.at.line == at.line && value.at.column <= at.column) {
			value.at = at
		}
		out.entries = append(out.entries, entry{key: key, at: at, value: value})
	}
	return out
}

// locate finds the text in the source, behind the quote if there is one.
func (c converter) locate(n *node, t *token.Token) {
	if t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType {
		n.quote = 1
	}
	if n.at.line < 1 || n.at.line > len(c.lines) {
		return
	}
	line := c.lines[n.at.line-1]
	for range n.at.column - 1 + n.quote {
		_, size := utf8.DecodeRuneInString(line)
		line = line[size:]
	}
	n.verbatim = strings.HasPrefix(line, n.text)
}

// inside is the place of the character with this index (from 0) in the text,
// as near as can be told.
func (n *node) inside(index int) position {
	if !n.verbatim {
		return n.at
	}
	return position{n.at.line, n.at.column + n.quote + index}
}

// keyText returns the text of a scalar key.
func keyText(key ast.Node) (string, bool) {
	switch key := key.(type) {
	case *ast.StringNode:
		return key.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return key.GetToken().Value, true
	}
	return "", false
}

// feature names a part of YAML that definitions do without.
func feature(n ast.Node) string {
	switch n.(type) {
	case *ast.AnchorNode:
		return "an anchor (&)"
	case *ast.AliasNode:
		return "an alias (*)"
	case *ast.TagNode:
		return "a tag (!)"
	case *ast.MergeKeyNode:
		return "a merge (<<)"
	case *ast.NullNode:
		return "null"
	}
	return "this kind of YAML"
}

// place is where a value begins.
func place(n ast.Node) position {
	if n == nil {
		return position{1, 1}
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return position{t.Position.Line, t.Position.Column}
	}
	return position{1, 1}
}

// jsonNumber reports whether a scalar is a number as JSON writes it.
func jsonNumber(s string) bool {
	if s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') {
		return false
	}
	return json.Valid([]byte(s))
}
