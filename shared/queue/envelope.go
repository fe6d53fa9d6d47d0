package queue

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"triad/shared/task"
)

// The queues of a deployment, by the words of the design. Every agent has one
// more: AgentQueue of its name.
const (
	Submissions = "submissions"
	Scheduler   = "scheduler"
)

// AgentQueue is the name of an agent's request queue.
func AgentQueue(agent string) string { return "agent-" + agent }

// ToScheduler is what travels on the scheduler queue: exactly one field is set.
type ToScheduler struct {
	// Wake asks to look at a task.
	Wake *Wake `json:"wake,omitempty"`
	// Reply answers a request.
	Reply *task.Reply `json:"reply,omitempty"`
	// Extend is an agent's heartbeat.
	Extend *task.Extension `json:"extend,omitempty"`
}

// Wake is a wake-up: it carries no truth.
type Wake struct {
	Task task.ID `json:"task"`
	// Redeliver asks to say again what the record implies: messages may have
	// been lost.
	Redeliver bool `json:"redeliver,omitempty"`
}

// Task returns the id of the task that the message is about.
func (m ToScheduler) Task() task.ID {
	switch {
	case m.Wake != nil:
		return m.Wake.Task
	case m.Reply != nil:
		return m.Reply.Task
	case m.Extend != nil:
		return m.Extend.Task
	}
	return ""
}

// DecodeToScheduler reads a message of the scheduler queue, strictly: unknown
// fields, trailing bytes, an id that is no id and a message that is none of the
// three are errors that name the field.
func DecodeToScheduler(body []byte) (ToScheduler, error) {
	m, plain := plainToScheduler(body)
	if !plain {
		m = ToScheduler{}
		if err := decodeStrictly(body, &m); err != nil {
			return m, err
		}
	}
	set := 0
	for _, is := range []bool{m.Wake != nil, m.Reply != nil, m.Extend != nil} {
		if is {
			set++
		}
	}
	if set != 1 {
		return m, fmt.Errorf("message must have exactly one of the fields wake, reply, extend: it has %d", set)
	}
	if err := task.ValidateID(m.Task()); err != nil {
		return m, fmt.Errorf("field task: %w", err)
	}
	return m, nil
}

// DecodeRequest reads a message of an agent's queue, strictly.
func DecodeRequest(body []byte) (task.Request, error) {
	r, plain := plainRequest(body)
	if !plain {
		r = task.Request{}
		if err := decodeStrictly(body, &r); err != nil {
			return r, err
		}
	}
	if err := task.ValidateID(r.Task); err != nil {
		return r, fmt.Errorf("field task: %w", err)
	}
	if r.Step == "" || r.Attempt < 1 || r.LockedBy == "" || r.CompleteBy <= 0 {
		return r, fmt.Errorf("request must have the fields step, attempt, lockedBy and completeBy")
	}
	return r, nil
}

// Encode gives the body of a message, with < > & as they are. It can't fail for
// the types of this package and of package task; an invalid raw JSON field is a
// programmer error.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

func decodeStrictly(body []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("reading JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("reading JSON: something follows the value at byte %d", dec.InputOffset())
	}
	return nil
}
