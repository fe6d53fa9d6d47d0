// Package record translates between a task and the bytes that a store keeps of
// it: one compact JSON object.
//
// Every commit writes the whole record, so its size and the time it takes to
// make it are paid on every step of every task. Keys are short, what is zero is
// absent, and the times of steps are offsets from the task's creation. States
// are spelled out, so that a record can be read, and queried with the JSON
// functions of sqlite3, by a person:
//
//	{"i":"order-1","w":"order@1","s":"Processing","v":3,"o":"w1-3","l":"w1",
//	 "by":1700000009000,"d":1700086399000,"q":"notices","oh":"5f2c…","c":1700000000000,
//	 "st":[{"n":"reserve","s":"Processed","a":1,"b":4,"e":310,"out":{"id":"r-1"}},
//	       {"n":"charge","s":"Processing","l":"w1","by":9000,"a":1,"b":310}, …]}
//
// # Promises
//
// Decode(Append(nil, t)) is Normal(t), less the order and the outputs larger
// than task.InlineOutput: those are kept elsewhere, and Decode says for which
// steps. The same task gives the same bytes. Decode returns store.ErrDamaged
// for anything that is not a record, and never panics; it passes over fields that
// it does not know.
//
// All functions are pure and safe for concurrent use.
package record

import (
	"slices"
	"strings"
	"unicode/utf8"

	"triad/shared/task"
)

// MaxSize is the largest record a store accepts, in bytes.
const MaxSize = 256 << 10

// Aside reports whether the output of s is kept in a side record: whether it is
// larger than task.InlineOutput.
func Aside(s task.StepState) bool { return len(s.Output) > task.InlineOutput }

// Normal returns t as it would be read back: every text is valid UTF-8 (what is
// not becomes U+FFFD), and what is empty is nil. Steps are copied only when one
// has to change. The id, the order and the outputs stay as they are.
func Normal(t task.Task) task.Task {
	for _, s := range []*string{&t.Workflow, (*string)(&t.State), &t.Op, &t.LockedBy, (*string)(&t.Goal),
		&t.Reason, &t.ResponseQueue, &t.Tenant, &t.OrderHash} {
		*s = Text(*s)
	}
	if len(t.Order) == 0 {
		t.Order = nil
	}
	if len(t.Steps) == 0 {
		t.Steps = nil
	}
	if slices.ContainsFunc(t.Steps, odd) {
		t.Steps = slices.Clone(t.Steps)
		for i := range t.Steps {
			normalise(&t.Steps[i])
		}
	}
	return t
}

// odd reports whether normalise would change the step.
func odd(s task.StepState) bool {
	return !utf8.ValidString(s.Name) || !utf8.ValidString(string(s.State)) || !utf8.ValidString(s.LockedBy) ||
		!utf8.ValidString(s.Error) || s.Output != nil && len(s.Output) == 0
}

func normalise(s *task.StepState) {
	for _, p := range []*string{&s.Name, (*string)(&s.State), &s.LockedBy, &s.Error} {
		*p = Text(*p)
	}
	if len(s.Output) == 0 {
		s.Output = nil
	}
}

// Text is s as it would be read back, in valid UTF-8: what is not becomes U+FFFD.
func Text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, string(utf8.RuneError))
}
