package workflow

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// maxName is the longest name of a workflow, step, agent or signal.
const maxName = 63

const wantName = "write a lower-case letter, then lower-case letters, digits and -, at most 63 characters"

// fields reads one mapping whose keys are known. Each problem is reported once,
// and reading goes on with a default, so that one run finds them all.
type fields struct {
	report *report
	// subject begins each message: the step, or "workflow".
	subject string
	at      position
	values  map[string]*node
	places  map[string]position
}

// fieldsOf checks that n is a mapping and that its keys are among the known
// ones. It always returns something to read from.
func (r *report) fieldsOf(n *node, at position, subject, want string, known []string) fields {
	f := fields{report: r, subject: subject, at: at, values: map[string]*node{}, places: map[string]position{}}
	if n.kind == unreadNode {
		return f
	}
	if n.kind != mappingNode {
		r.add(at, want, "%s is %s", subject, describe(n))
		return f
	}
	for _, e := range n.entries {
		if !slices.Contains(known, e.key) {
			r.add(e.at, suggest(e.key, "fields", known), "%s: %q is not a field", subject, shorten(e.key, 80))
			continue
		}
		f.values[e.key], f.places[e.key] = e.value, e.at
	}
	return f
}

// has reports whether the field is written, whatever its value.
func (f fields) has(name string) bool { return f.values[name] != nil }

// wrong reports a value of the wrong type.
func (f fields) wrong(name, want string) {
	n := f.values[name]
	if n.kind == unreadNode {
		return
	}
	f.report.add(n.at, want, "%s: %s is %s", f.subject, name, describe(n))
}

// bad reports a value that is of the right type and yet wrong.
func (f fields) bad(name, want, what string, args ...any) {
	f.report.add(f.values[name].at, want, "%s: %s", f.subject, fmt.Sprintf(what, args...))
}

// missing reports a required field that isn't there.
func (f fields) missing(name, want string) {
	f.report.add(f.at, want, "%s: %s is missing", f.subject, name)
}

// text returns the value of a text field; ok is false when it is absent or was
// reported.
func (f fields) text(name, want string) (value string, ok bool) {
	n := f.values[name]
	if n == nil {
		return "", false
	}
	if n.kind != textNode || n.text == "" {
		f.wrong(name, want)
		return "", false
	}
	return n.text, true
}

// name returns the value of a field that holds a name.
func (f fields) name(field string) (string, bool) {
	value, ok := f.text(field, wantName)
	if ok && !validName(value) {
		f.bad(field, wantName, "%s %q is not a name", field, shorten(value, 80))
		return "", false
	}
	return value, ok
}

// duration returns the value of a duration field, or the fallback.
func (f fields) duration(name string, fallback time.Duration) time.Duration {
	value, ok := f.text(name, wantDuration)
	if !ok {
		return fallback
	}
	d, err := parseDuration(value)
	if err != nil {
		f.bad(name, wantDuration, "%s: %v", name, err)
		return fallback
	}
	return d
}

// whole returns the value of a whole number between least and most, or the
// fallback.
func (f fields) whole(name string, least, most, fallback int) int {
	n := f.values[name]
	if n == nil {
		return fallback
	}
	want := fmt.Sprintf("write a whole number from %d to %d", least, most)
	if n.kind != numberNode {
		f.wrong(name, want)
		return fallback
	}
	v, err := strconv.Atoi(n.text)
	if err != nil || v < least || v > most || !jsonNumber(n.text) {
		f.bad(name, want, "%s is %s", name, shorten(n.text, 40))
		return fallback
	}
	return v
}

// choice returns the value of a field that has one of a few values, or the
// fallback.
func choice[T ~string](f fields, name string, fallback T, among ...T) T {
	list := make([]string, len(among))
	for i, a := range among {
		list[i] = string(a)
	}
	value, ok := f.text(name, "write one of "+enumerate(list))
	if !ok {
		return fallback
	}
	if !slices.Contains(list, value) {
		f.bad(name, suggest(value, "values", list), "%s %q is not known", name, shorten(value, 80))
		return fallback
	}
	return T(value)
}

// describe says what a value is, for a message about what it should be.
func describe(n *node) string {
	switch n.kind {
	case nullNode:
		return "empty"
	case mappingNode:
		if len(n.entries) == 0 {
			return "empty"
		}
	case textNode:
		if n.text == "" {
			return "empty"
		}
		return fmt.Sprintf("the text %q", shorten(n.text, 40))
	case numberNode, booleanNode:
		return fmt.Sprintf("the %s %s", n.kind, shorten(n.text, 40))
	}
	return "a " + string(n.kind)
}

// validName reports whether a name may be one of a workflow, step, agent or
// signal: safe in a queue's name, a key and a log line.
func validName(name string) bool {
	if name == "" || len(name) > maxName || name[0] < 'a' || name[0] > 'z' {
		return false
	}
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}
