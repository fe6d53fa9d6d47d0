package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/vm"

	"triad/shared/task"
)

// MaxInput is the largest input that a step's expressions may make, in bytes.
const MaxInput = 64 << 10

// scope is what the expressions of one When or Input see of one task. What no
// expression reads is never decoded, what several read is decoded once.
type scope struct {
	task  task.Task
	env   map[string]any
	steps map[string]any
}

func newScope(t task.Task) *scope {
	steps := map[string]any{}
	return &scope{task: t, steps: steps, env: map[string]any{
		"steps": steps, budgetName: &budget{left: fullBudget},
	}}
}

// run evaluates an expression. Its error names the expression.
func (s *scope) run(e *expression) (any, error) {
	if err := s.load(e); err != nil {
		return nil, fmt.Errorf("expression %q: %w", shorten(e.text, 60), err)
	}
	machine := vm.VM{MemoryBudget: fullBudget}
	out, err := machine.Run(e.program, s.env)
	if err != nil {
		return nil, fmt.Errorf("expression %q: %w", shorten(e.text, 60), runtimeError(err))
	}
	return out, nil
}

// load decodes what the expression reads.
func (s *scope) load(e *expression) error {
	if _, done := s.env["order"]; e.order && !done {
		order, err := decode(s.task.Order)
		if err != nil {
			return fmt.Errorf("reading the order: %w", err)
		}
		s.env["order"] = order
	}
	for _, name := range e.steps {
		if _, done := s.steps[name]; done {
			continue
		}
		state, found := s.task.Step(name)
		if !found {
			return fmt.Errorf("the task has no step %q: it was made by another definition", name)
		}
		output, err := decode(state.Output)
		if err != nil {
			return fmt.Errorf("reading the output of step %q: %w", name, err)
		}
		s.steps[name] = map[string]any{"output": output, "state": string(state.State)}
	}
	return nil
}

// runtimeError takes the message out of the library's error, and says what to
// do about the most frequent one.
func runtimeError(err error) error {
	if errors.Is(err, errBudget) {
		return errBudget
	}
	message := err.Error()
	var e *file.Error
	if errors.As(err, &e) {
		message = e.Message
	}
	if message == "memory budget exceeded" {
		return errBudget
	}
	message = strings.ReplaceAll(message, "workflow.exact", "a number")
	message = shorten(firstLine(syntaxMessage(message)), 120)
	if strings.Contains(message, "nil") {
		message += " (a value is missing: use ?. or ??)"
	}
	return errors.New(message)
}

// decode reads JSON with its numbers as they are written. Nothing at all is
// nil.
func decode(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	v, err := decodeJSON(raw)
	if err != nil {
		return nil, err
	}
	return exactly(v), nil
}

// decodeJSON reads exactly one JSON value, with json.Number for numbers.
func decodeJSON(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is more after the JSON value")
	}
	return v, nil
}

// exactly replaces json.Number, in place. That type has methods, which an
// expression could call.
func exactly(v any) any {
	switch v := v.(type) {
	case json.Number:
		return exact{v.String()}
	case []any:
		for i := range v {
			v[i] = exactly(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = exactly(v[key])
		}
	}
	return v
}

// writer makes the JSON of an input.
type writer struct{ out bytes.Buffer }

var errTooLarge = fmt.Errorf("the input is larger than %d bytes", MaxInput)

// check is called after each write, so that no more than one scalar is written
// beyond the limit.
func (w *writer) check() error {
	if w.out.Len() > MaxInput {
		return errTooLarge
	}
	return nil
}

// value writes the result of an expression: keys sorted, numbers as they are.
func (w *writer) value(v any) error {
	switch v := v.(type) {
	case nil:
		w.out.WriteString("null")
	case bool:
		w.out.WriteString(strconv.FormatBool(v))
	case exact:
		w.out.WriteString(v.digits)
	case int:
		w.out.WriteString(strconv.Itoa(v))
	case float64:
		return w.float(v)
	case string:
		return w.text(v)
	case []any:
		return list(w, v)
	case []int:
		return list(w, v)
	case []string:
		return list(w, v)
	case map[string]any:
		return w.mapping(v)
	default:
		return fmt.Errorf("a value of type %T can't be sent", v)
	}
	return w.check()
}

func (w *writer) float(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return errors.New("the result is not a number that can be sent (a division by zero?)")
	}
	raw, err := json.Marshal(f)
	if err != nil {
		return err
	}
	w.out.Write(raw)
	return w.check()
}

func (w *writer) text(s string) error {
	if len(s) > MaxInput {
		return errTooLarge
	}
	var quoted bytes.Buffer
	e := json.NewEncoder(&quoted)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return err
	}
	w.out.Write(task.Escaped(bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))))
	return w.check()
}

func list[T any](w *writer, items []T) error {
	w.out.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			w.out.WriteByte(',')
		}
		if err := w.value(item); err != nil {
			return err
		}
	}
	w.out.WriteByte(']')
	return w.check()
}

func (w *writer) mapping(m map[string]any) error {
	w.out.WriteByte('{')
	for i, key := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			w.out.WriteByte(',')
		}
		if err := w.text(key); err != nil {
			return err
		}
		w.out.WriteByte(':')
		if err := w.value(m[key]); err != nil {
			return err
		}
	}
	w.out.WriteByte('}')
	return w.check()
}
