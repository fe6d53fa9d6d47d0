package task

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Submission asks for a new task: "run this workflow for this order". It is
// also the JSON that applications enqueue.
type Submission struct {
	// ID becomes the task's id: the caller's own, and the idempotency key.
	ID ID `json:"id"`
	// Workflow is a name ("order": the newest version) or name@version.
	Workflow string `json:"workflow"`
	// Order is the content, JSON, at most MaxOrder bytes.
	Order json.RawMessage `json:"order"`
	// ResponseQueue is where notices go; empty for none.
	ResponseQueue string `json:"responseQueue,omitempty"`
	// Tenant is on whose behalf the task runs.
	Tenant string `json:"tenant,omitempty"`
}

// Escaped is JSON with U+FFFE and U+FFFF, which JSON allows as they are and queues
// don't (XML 1.0 has no such characters, and SQS takes what XML does), as the
// escapes of JSON. They can only be in strings, so the meaning stays. What enters a
// task (an order, an input, an output) goes through it: whatever is made of that can
// be sent.
func Escaped(raw []byte) []byte {
	if !bytes.Contains(raw, []byte("\xef\xbf")) {
		return raw
	}
	raw = bytes.ReplaceAll(raw, []byte("\ufffe"), []byte(`\ufffe`))
	return bytes.ReplaceAll(raw, []byte("\uffff"), []byte(`\uffff`))
}

// Request asks an agent for one attempt of a step (or of its undo). It holds
// everything the agent needs; the agent has no access to the table.
type Request struct {
	Task     ID     `json:"task"`
	Workflow string `json:"workflow"`
	Step     string `json:"step"`
	Agent    string `json:"agent"`
	// Undo asks for the compensating action.
	Undo bool `json:"undo,omitempty"`
	// Attempt and LockedBy are the token; the reply repeats them.
	Attempt  int    `json:"attempt"`
	LockedBy string `json:"lockedBy"`
	// CompleteBy is when the agent must stop, and say nothing.
	CompleteBy Millis `json:"completeBy"`
	// Key is the step's idempotency key, task/step, the same on every attempt.
	Key string `json:"key"`
	// Input is the step's input, JSON.
	Input json.RawMessage `json:"input,omitempty"`
	// Output is, for an undo, what the step had returned, JSON.
	Output json.RawMessage `json:"output,omitempty"`
	Tenant string          `json:"tenant,omitempty"`
}

// IdempotencyKey is what the remote service sees: Key, or Key/undo.
func (r Request) IdempotencyKey() string {
	if r.Undo {
		return r.Key + "/undo"
	}
	return r.Key
}

// Reply is an agent's answer to a Request.
type Reply struct {
	Task     ID      `json:"task"`
	Step     string  `json:"step"`
	Undo     bool    `json:"undo,omitempty"`
	Attempt  int     `json:"attempt"`
	LockedBy string  `json:"lockedBy"`
	Outcome  Outcome `json:"outcome"`
	// Output is JSON, at most MaxOutput bytes.
	Output json.RawMessage `json:"output,omitempty"`
	Error  string          `json:"error,omitempty"`
	// Doubt goes with a permanent failure whose effect may exist all the same: an
	// earlier call of the attempt got no answer, or the answer can't be used.
	Doubt bool `json:"doubt,omitempty"`
	// RetryAfterMs is the least wait before the next attempt, milliseconds.
	RetryAfterMs int64 `json:"retryAfterMs,omitempty"`
}

// Extension is an agent's heartbeat: its work goes on, and needs until
// CompleteBy. It never extends beyond the task's deadline.
type Extension struct {
	Task       ID     `json:"task"`
	Step       string `json:"step"`
	Undo       bool   `json:"undo,omitempty"`
	Attempt    int    `json:"attempt"`
	LockedBy   string `json:"lockedBy"`
	CompleteBy Millis `json:"completeBy"`
}

// Wake asks a Scheduler to look at a task, after Delay.
type Wake struct {
	Task  ID
	Delay time.Duration
}

// Notice tells the application how its task fares. ID is stable: a notice that
// is sent twice has the same one.
type Notice struct {
	ID       string `json:"id"`
	Queue    string `json:"-"`
	Task     ID     `json:"task"`
	Workflow string `json:"workflow"`
	// Status is Received, or the State in which the task ended.
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
	At     Millis `json:"at"`
	// Outputs has the outputs of the steps when the task was Processed, by
	// step; those larger than InlineOutput are left out: read the task.
	Outputs map[string]json.RawMessage `json:"outputs,omitempty"`
}

// Received is the Status of a notice for an accepted submission.
const Received = "Received"

// Alert tells operators of something that needs a person. ID is stable.
type Alert struct {
	ID       string `json:"id"`
	Task     ID     `json:"task"`
	Workflow string `json:"workflow"`
	Step     string `json:"step,omitempty"`
	// Subject is one line; Action says what to do about it.
	Subject string `json:"subject"`
	Action  string `json:"action"`
	At      Millis `json:"at"`
}

// Output is a step's output that a Decision added to the task.
type Output struct {
	Step string
	Body json.RawMessage
}

// Ref joins a workflow's name and version: name@version.
func Ref(name string, version int) string { return name + "@" + strconv.Itoa(version) }

// SplitRef splits name@version; version 0 means the newest.
func SplitRef(ref string) (name string, version int, err error) {
	name, v, found := strings.Cut(ref, "@")
	if !found {
		return name, 0, nil
	}
	n, err := strconv.ParseUint(v, 10, 31)
	if err != nil || n < 1 || name == "" {
		return "", 0, fmt.Errorf("workflow %q: the version after @ must be a whole number from 1, and a name stand before it", ref)
	}
	return name, int(n), nil
}
