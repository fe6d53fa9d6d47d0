package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"triad/shared/task"
)

// template is a step's input with its expressions compiled.
type template interface {
	write(w *writer, s *scope) error
}

type (
	// literal is JSON that is always the same.
	literal []byte
	// whole is a text that is one ${...}: the value itself, with its type.
	whole struct{ *expression }
	// joined is a text with ${...} in it.
	joined []part
	// object keeps the written order of its keys.
	object []member
	// array is a list.
	array []template
)

// part is a piece of a joined text: an expression or, when that is nil, text.
type part struct {
	text string
	expr *expression
}

type member struct {
	key   string
	value template
}

// inputOf returns the closure that makes a step's input.
func inputOf(t template) func(task.Task) (json.RawMessage, error) {
	if fixed, ok := t.(literal); ok {
		return func(task.Task) (json.RawMessage, error) {
			return append(json.RawMessage(nil), fixed...), nil
		}
	}
	return func(current task.Task) (json.RawMessage, error) {
		var w writer
		if err := t.write(&w, newScope(current)); err != nil {
			return nil, fmt.Errorf("making the input: %w", err)
		}
		return w.out.Bytes(), nil
	}
}

// whenOf returns the closure that decides whether a step runs.
func whenOf(e *expression) func(task.Task) (bool, error) {
	return func(t task.Task) (bool, error) {
		v, err := newScope(t).run(e)
		if err != nil {
			return false, fmt.Errorf("deciding when: %w", err)
		}
		runs, ok := v.(bool)
		if !ok {
			return false, fmt.Errorf("deciding when: expression %q gives %s, not true or false", shorten(e.text, 60), kindOf(v))
		}
		return runs, nil
	}
}

// template compiles a value of the text; parts with a problem become null.
func (r *report) template(n *node, v visible) template {
	switch n.kind {
	case mappingNode:
		return r.object(n, v)
	case listNode:
		out := make(array, len(n.items))
		for i, item := range n.items {
			out[i] = r.template(item, v)
		}
		return fold(out, out)
	case textNode:
		return r.textTemplate(n, v)
	case numberNode:
		if !jsonNumber(n.text) || outOfRange(n.text) {
			r.add(n.at, "write the number as JSON does, or put it in quotes", "%s: %s is not a number that can be sent", v.subject, shorten(n.text, 40))
		}
	}
	return literal(n.text)
}

func (r *report) object(n *node, v visible) template {
	out := make(object, len(n.entries))
	values := make([]template, len(n.entries))
	for i, e := range n.entries {
		if strings.Contains(e.key, "${") {
			r.add(e.at, "use ${...} in values only", "%s: the key %q has an expression", v.subject, shorten(e.key, 80))
		}
		values[i] = r.template(e.value, v)
		out[i] = member{e.key, values[i]}
	}
	return fold(out, values)
}

// fold writes a template down once when nothing in it can change.
func fold(t template, children []template) template {
	for _, child := range children {
		if _, fixed := child.(literal); !fixed {
			return t
		}
	}
	var w writer
	if err := t.write(&w, nil); err != nil {
		return t // too large: told when it is used
	}
	return literal(w.out.Bytes())
}

// textTemplate compiles a text: ${...} is an expression, $${ stands for ${.
func (r *report) textTemplate(n *node, v visible) template {
	var out joined
	rest, offset := n.text, 0 // offset counts characters
	var plain strings.Builder
	for rest != "" {
		before, after, found := strings.Cut(rest, "${")
		if found && strings.HasSuffix(before, "$") {
			plain.WriteString(before + "{")
			offset += utf8.RuneCountInString(before) + 2
			rest = after
			continue
		}
		plain.WriteString(before)
		if !found {
			break
		}
		offset += utf8.RuneCountInString(before)
		end := closing(after)
		if end < 0 {
			r.add(n.inside(offset), "close it with }, or write $${ for the characters ${", "%s: ${ has no end", v.subject)
			return literal("null")
		}
		e := r.compile(n, after[:end], offset+2, v)
		if e == nil {
			return literal("null")
		}
		if plain.Len() > 0 {
			out = append(out, part{text: plain.String()})
			plain.Reset()
		}
		out = append(out, part{expr: e})
		offset += 3 + utf8.RuneCountInString(after[:end])
		rest = after[end+1:]
	}
	if plain.Len() > 0 || len(out) == 0 {
		out = append(out, part{text: plain.String()})
	}
	switch {
	case len(out) == 1 && out[0].expr == nil:
		var w writer
		if err := w.text(out[0].text); err != nil {
			r.add(n.at, "make it shorter", "%s: %v", v.subject, err)
		}
		return literal(w.out.Bytes())
	case len(out) == 1:
		return whole{out[0].expr}
	}
	return out
}

// closing finds the } that ends an expression, past braces and quotes inside
// it; -1 when there is none.
func closing(s string) int {
	depth := 0
	var quote byte
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quote != 0 && c == '\\' && quote != '`':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' || c == '`':
			quote = c
		case c == '{':
			depth++
		case c == '}' && depth == 0:
			return i
		case c == '}':
			depth--
		}
	}
	return -1
}

func (l literal) write(w *writer, _ *scope) error {
	w.out.Write(l)
	return w.check()
}

func (t whole) write(w *writer, s *scope) error {
	v, err := s.run(t.expression)
	if err != nil {
		return err
	}
	if err := w.value(v); err != nil {
		return fmt.Errorf("expression %q: %w", shorten(t.text, 60), err)
	}
	return nil
}

func (t joined) write(w *writer, s *scope) error {
	var b strings.Builder
	for _, p := range t {
		if p.expr == nil {
			b.WriteString(p.text)
			continue
		}
		v, err := s.run(p.expr)
		if err != nil {
			return err
		}
		piece, err := asText(v)
		if err != nil {
			return fmt.Errorf("expression %q: %w", shorten(p.expr.text, 60), err)
		}
		if b.WriteString(piece); b.Len() > MaxInput {
			return errTooLarge
		}
	}
	return w.text(b.String())
}

func (t object) write(w *writer, s *scope) error {
	w.out.WriteByte('{')
	for i, m := range t {
		if i > 0 {
			w.out.WriteByte(',')
		}
		if err := w.text(m.key); err != nil {
			return err
		}
		w.out.WriteByte(':')
		if err := m.value.write(w, s); err != nil {
			return err
		}
	}
	w.out.WriteByte('}')
	return w.check()
}

func (t array) write(w *writer, s *scope) error {
	w.out.WriteByte('[')
	for i, item := range t {
		if i > 0 {
			w.out.WriteByte(',')
		}
		if err := item.write(w, s); err != nil {
			return err
		}
	}
	w.out.WriteByte(']')
	return w.check()
}

// asText is a value as a piece of a text.
func asText(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case exact:
		return v.digits, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int:
		return strconv.Itoa(v), nil
	case float64:
		var w writer
		err := w.float(v)
		return w.out.String(), err
	case nil:
		return "", errors.New("gives nothing (nil) for a piece of a text: use ?? to say what instead")
	}
	return "", fmt.Errorf("gives %s, which can't be a piece of a text", kindOf(v))
}

// kindOf names the kind of a value for a message.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "nothing (nil)"
	case string:
		return "a text"
	case bool:
		return "a boolean"
	case exact, int, float64:
		return "a number"
	case map[string]any:
		return "a mapping"
	}
	return "a list"
}
