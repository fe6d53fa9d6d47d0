package queue

import (
	"encoding/json"
	"strconv"
	"strings"

	"triad/shared/task"
)

// The messages between Scheduler and agents are read once per step, so reading
// them is much of what a step costs. wire reads the plain form that Encode
// writes, several times faster than package json: known fields, numbers without
// fraction, strings without escapes. Whatever else it meets, it gives up, and
// the message is read by package json, which decides alone what is an error.
type wire struct {
	b []byte
	// s is b as a string: texts are parts of it, so that all of a message's
	// take one allocation.
	s   string
	i   int
	bad bool
}

func newWire(body []byte) *wire { return &wire{b: body, s: string(body)} }

// next moves past c and reports whether it stood there.
func (w *wire) next(c byte) bool {
	if w.i < len(w.b) && w.b[w.i] == c {
		w.i++
		return true
	}
	return false
}

func (w *wire) expect(c byte) {
	if !w.next(c) {
		w.bad = true
	}
}

// fields calls read for each field of an object, to read its value.
func (w *wire) fields(read func(w *wire, name string)) {
	w.expect('{')
	for !w.bad && !w.next('}') {
		name := w.text()
		w.expect(':')
		if w.bad {
			return
		}
		read(w, name)
		if more := w.next(','); w.i >= len(w.b) || more == (w.b[w.i] == '}') {
			w.bad = true
		}
	}
}

// end reports whether everything was read, and nothing is left.
func (w *wire) end() bool { return !w.bad && w.i == len(w.b) }

// text reads a string of printable ASCII without escapes.
func (w *wire) text() string {
	w.expect('"')
	for start := w.i; w.i < len(w.b); w.i++ {
		switch c := w.b[w.i]; {
		case c == '"':
			w.i++
			return w.s[start : w.i-1]
		case c < 0x20 || c >= 0x7f || c == '\\':
			w.bad = true
			return ""
		}
	}
	w.bad = true
	return ""
}

// number reads a whole number of at most 18 digits.
func (w *wire) number() int64 {
	start := w.i
	for w.i < len(w.b) && w.b[w.i] >= '0' && w.b[w.i] <= '9' {
		w.i++
	}
	digits := w.s[start:w.i]
	if len(digits) == 0 || len(digits) > 18 || digits[0] == '0' && len(digits) > 1 {
		w.bad = true
		return 0
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	w.bad = w.bad || err != nil
	return n
}

func (w *wire) yes() bool {
	if strings.HasPrefix(w.s[w.i:], "true") {
		w.i += 4
		return true
	}
	w.bad = true
	return false
}

// raw reads any value and copies it.
func (w *wire) raw() json.RawMessage {
	start, depth, quoted := w.i, 0, false
	for ; w.i < len(w.b); w.i++ {
		c := w.b[w.i]
		switch {
		case quoted && c == '\\':
			w.i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case depth > 0 && (c == '}' || c == ']'):
			depth--
		case depth == 0 && (c == ',' || c == '}'):
			return w.valid(start)
		}
	}
	w.bad = true
	return nil
}

func (w *wire) valid(start int) json.RawMessage {
	value := w.b[start:w.i]
	if !json.Valid(value) {
		w.bad = true
		return nil
	}
	return append(json.RawMessage(nil), value...)
}

// read reads a field of the token, and reports whether it is one.
func (t *token) read(w *wire, name string) bool {
	switch name {
	case "step":
		t.step = w.text()
	case "undo":
		t.undo = w.yes()
	case "attempt":
		t.attempt = int(w.number())
	case "lockedBy":
		t.lockedBy = w.text()
	default:
		return false
	}
	return true
}

// plainRequest reads a Request in its plain form.
func plainRequest(body []byte) (r task.Request, ok bool) {
	var t token
	w := newWire(body)
	w.fields(func(w *wire, name string) {
		if t.read(w, name) {
			return
		}
		switch name {
		case "task":
			r.Task = task.ID(w.text())
		case "workflow":
			r.Workflow = w.text()
		case "agent":
			r.Agent = w.text()
		case "completeBy":
			r.CompleteBy = task.Millis(w.number())
		case "key":
			r.Key = w.text()
		case "input":
			r.Input = w.raw()
		case "output":
			r.Output = w.raw()
		case "tenant":
			r.Tenant = w.text()
		default:
			w.bad = true
		}
	})
	r.Step, r.Undo, r.Attempt, r.LockedBy = t.step, t.undo, t.attempt, t.lockedBy
	return r, w.end()
}

// plainToScheduler reads a wake-up or a reply in its plain form.
func plainToScheduler(body []byte) (m ToScheduler, ok bool) {
	w := newWire(body)
	w.fields(func(w *wire, name string) {
		switch {
		case name == "wake" && m == ToScheduler{}:
			m.Wake = plainWake(w)
		case name == "reply" && m == ToScheduler{}:
			m.Reply = plainReply(w)
		default:
			w.bad = true
		}
	})
	return m, w.end()
}

func plainWake(w *wire) *Wake {
	var k Wake
	w.fields(func(w *wire, name string) {
		switch name {
		case "task":
			k.Task = task.ID(w.text())
		case "redeliver":
			k.Redeliver = w.yes()
		default:
			w.bad = true
		}
	})
	return &k
}

func plainReply(w *wire) *task.Reply {
	var r task.Reply
	var t token
	w.fields(func(w *wire, name string) {
		if t.read(w, name) {
			return
		}
		switch name {
		case "task":
			r.Task = task.ID(w.text())
		case "outcome":
			r.Outcome = task.Outcome(w.text())
		case "output":
			r.Output = w.raw()
		case "error":
			r.Error = w.text()
		case "doubt":
			r.Doubt = w.yes()
		case "retryAfterMs":
			r.RetryAfterMs = w.number()
		default:
			w.bad = true
		}
	})
	r.Step, r.Undo, r.Attempt, r.LockedBy = t.step, t.undo, t.attempt, t.lockedBy
	return &r
}
