package task

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
)

// tell makes what a finished task has to say, from its record alone: said
// again, it has the same ids.
func (c *change) tell() {
	t, undo := &c.d.Task, ""
	if t.State == Error && t.Goal != Error {
		undo = "/undo" // it may have ended in Error before, under the plain id
	}
	if t.ResponseQueue != "" {
		c.d.Notices = append(c.d.Notices, Notice{
			ID: c.told(string(t.State) + undo), Queue: t.ResponseQueue, Task: t.ID, Workflow: t.Workflow,
			Status: string(t.State), Reason: why(t), At: t.EndedAt, Outputs: outputs(t),
		})
	}
	if t.State == Error {
		c.d.Alerts = append(c.d.Alerts, Alert{
			ID: c.told("alert" + undo), Task: t.ID, Workflow: t.Workflow, Step: failedStep(t), At: t.EndedAt,
			Subject: fmt.Sprintf("Task %s ended in Error: %s", t.ID, why(t)),
			Action:  fmt.Sprintf("Find out why (triad show %s), mend the cause, then: triad resubmit %s", t.ID, t.ID),
		})
	}
}

// told is a stable id of what is said at this end of the task.
func (c *change) told(what string) string {
	return string(c.d.Task.ID) + "/" + what + "/" + strconv.Itoa(c.d.Task.Resubmits)
}

func (c *change) tellReceived() {
	if t := &c.d.Task; t.ResponseQueue != "" {
		c.d.Notices = append(c.d.Notices, Notice{
			// It was received once, however often it has been resubmitted since.
			ID: string(t.ID) + "/" + Received + "/0", Queue: t.ResponseQueue, Task: t.ID, Workflow: t.Workflow,
			Status: Received, At: t.CreatedAt,
		})
	}
}

// why is the reason of a task's end: what it failed of or, when its undo failed,
// that. The record keeps the reason for which it was undone.
func why(t *Task) string {
	for _, s := range t.Steps {
		if t.State == Error && s.State == Error && s.Undo {
			return fmt.Sprintf("undoing step %s failed: %s", s.Name, s.Error)
		}
	}
	return t.Reason
}

func outputs(t *Task) map[string]json.RawMessage {
	if t.State != Processed {
		return nil
	}
	m := map[string]json.RawMessage{}
	for _, s := range t.Steps {
		if n := len(s.Output); n > 0 && n <= InlineOutput {
			m[s.Name] = s.Output
		}
	}
	return m
}

func failedStep(t *Task) string {
	for _, s := range t.Steps {
		if s.State == Error && s.Undo == (t.Goal != Error) {
			return s.Name
		}
	}
	return ""
}

// Hash identifies the content of a submission: two with one id are the same
// when their hashes are. White space outside of strings does not count; the
// order of an object's fields does. 22 characters.
func (s Submission) Hash() string {
	content := bytes.NewBuffer(make([]byte, 0, 1024))
	for _, part := range []string{s.Workflow, s.ResponseQueue, s.Tenant} {
		content.WriteString(strconv.Itoa(len(part)))
		content.WriteByte(':')
		content.WriteString(part)
	}
	if before := content.Len(); json.Compact(content, s.Order) != nil {
		content.Truncate(before)
		content.Write(s.Order) // not JSON: it is refused at the door, hash it as it is
	}
	sum := sha256.Sum256(content.Bytes())
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// HeldLines is how many shards of the index there are for held tasks of each
// Priority, and HeldShards how many for all, however many there are for tasks that
// are not held.
const (
	HeldLines  = 8
	HeldShards = 3 * HeldLines
)

// HeldShard is the n-th of the HeldShards, from 0, those of higher priority first:
// below zero, so that held tasks don't stand before those that are overdue. It is
// its own inverse.
func HeldShard(n int) int { return -1 - n }

// heldShardOf is where a task waits for room. All tasks of a tenant wait in one
// shard, so that tenants can take turns; those of nobody are spread like others.
func heldShardOf(p Priority, id ID, tenant string, shards int) int {
	first := HeldLines
	switch p {
	case High:
		first = 0
	case Low:
		first = 2 * HeldLines
	}
	if tenant != "" {
		return HeldShard(first + shardOf(tenant, HeldLines))
	}
	return HeldShard(first + shardOf(id, min(shards, HeldLines)))
}

// shardOf spreads tasks over shards, by id or tenant.
func shardOf[S ~string](key S, shards int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // a hash's Write never fails
	return int(h.Sum32() % uint32(max(shards, 1)))
}
