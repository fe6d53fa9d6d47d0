package submission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"triad/shared/engine"
	"triad/shared/queue"
	"triad/shared/task"
)

// MaxDepth is how deep a submission's JSON may nest.
const MaxDepth = 100

// Decode reads a submission, strictly: valid UTF-8, bounded size and depth, no
// unknown field, nothing after the value. The error is an *InvalidError.
func Decode(body []byte) (task.Submission, error) {
	var sub task.Submission
	switch {
	case len(body) > queue.MaxBody:
		return sub, &InvalidError{TooLarge: true, Problem: fmt.Sprintf(
			"submission has %d bytes: at most %d are accepted; store large data elsewhere and submit where", len(body), queue.MaxBody)}
	case !utf8.Valid(body):
		return sub, &InvalidError{Problem: "submission is not UTF-8 text: send JSON in UTF-8"}
	case depth(body) > MaxDepth:
		return sub, &InvalidError{Problem: fmt.Sprintf("JSON nests deeper than %d levels: flatten it", MaxDepth)}
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&sub); err != nil {
		return sub, decodeError(err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return sub, &InvalidError{Problem: fmt.Sprintf("something follows the JSON value at byte %d: send one submission per message", dec.InputOffset())}
	}
	return sub, nil
}

func decodeError(err error) error {
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrong) && wrong.Field == "":
		return &InvalidError{Problem: fmt.Sprintf("submission is a JSON %s: an object is needed", wrong.Value)}
	case wrong != nil:
		return &InvalidError{Field: wrong.Field, Problem: fmt.Sprintf("is a JSON %s: a string is needed", wrong.Value)}
	case errors.As(err, &syntax):
		return &InvalidError{Problem: fmt.Sprintf("not JSON: %v at byte %d", err, syntax.Offset)}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &InvalidError{Problem: "not JSON: it ends too early"}
	}
	if field, found := strings.CutPrefix(err.Error(), "json: unknown field "); found {
		return &InvalidError{Field: strings.Trim(field, `"`), Problem: "is not known: a submission has id, workflow, order, responseQueue, tenant"}
	}
	return &InvalidError{Problem: fmt.Sprintf("not JSON: %v", err)}
}

// depth is how deep the brackets of a JSON text nest. It reads no values, so it
// is right for any valid JSON, and safe for any bytes.
func depth(body []byte) int {
	deepest, now, text := 0, 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}

// check finds the definition and checks every field.
func (s *Submission) check(sub task.Submission) (Definition, error) {
	if err := task.ValidateID(sub.ID); err != nil {
		return nil, &InvalidError{Field: "id", Problem: err.Error()}
	}
	if err := s.checkResponseQueue(sub.ResponseQueue); err != nil {
		return nil, err
	}
	if err := checkName("tenant", sub.Tenant); err != nil {
		return nil, err
	}
	switch {
	case len(sub.Order) == 0:
		return nil, &InvalidError{Field: "order", Problem: "is missing: give the order as JSON"}
	case len(sub.Order) > task.MaxOrder:
		return nil, &InvalidError{Field: "order", TooLarge: true,
			Problem: fmt.Sprintf("has %d bytes: at most %d are accepted; store large data elsewhere and submit where", len(sub.Order), task.MaxOrder)}
	case sub.Workflow == "":
		return nil, &InvalidError{Field: "workflow", Problem: "is missing: name the workflow to run"}
	}
	def, err := s.Definitions.Definition(sub.Workflow)
	if errors.Is(err, engine.ErrNoWorkflow) {
		return nil, &InvalidError{Field: "workflow", Problem: err.Error()}
	}
	if err != nil {
		return nil, err
	}
	if err := def.CheckOrder(sub.Order); err != nil {
		return nil, &InvalidError{Field: "order", Problem: err.Error()}
	}
	return def, nil
}

func (s *Submission) checkResponseQueue(name string) error {
	const field = "responseQueue"
	if err := checkName(field, name); err != nil || name == "" || s.ResponseQueue == nil {
		return err
	}
	if err := s.ResponseQueue(name); err != nil {
		return &InvalidError{Field: field, Problem: err.Error()}
	}
	return nil
}

// maxName is the longest name of a response queue or tenant.
const maxName = 80

func checkName(field, name string) error {
	if name == "" {
		return nil
	}
	if len(name) > maxName {
		return &InvalidError{Field: field, Problem: fmt.Sprintf("has %d characters: at most %d are allowed", len(name), maxName)}
	}
	if err := task.ValidateID(task.ID(name)); err != nil {
		return &InvalidError{Field: field, Problem: strings.TrimPrefix(err.Error(), "id ")}
	}
	return nil
}
