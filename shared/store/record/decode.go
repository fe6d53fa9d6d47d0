package record

import (
	"encoding/json"
	"fmt"
	"slices"

	"triad/shared/store"
	"triad/shared/task"
)

// Decode reads a record. aside lists the indexes in t.Steps whose outputs are
// kept in side records; their Output is nil. What is no record, and a field that
// has another type than Append gives it, is an error that wraps store.ErrDamaged. A
// field that is not ours, which a later version may have added, is passed over, and
// a record that is made of the task is without it.
func Decode(b []byte) (t task.Task, aside []int, err error) {
	var r taskRecord
	if err := json.Unmarshal(b, &r); err != nil {
		return task.Task{}, nil, fmt.Errorf("%w: reading a record of %d bytes: %w", store.ErrDamaged, len(b), err)
	}
	if r.ID == "" || r.Version < 1 {
		return task.Task{}, nil, fmt.Errorf("%w: a record of %d bytes has no id or no version", store.ErrDamaged, len(b))
	}
	t, aside = r.task()
	return t, aside, nil
}

// taskRecord mirrors what Append writes of a task.
type taskRecord struct {
	ID            task.ID      `json:"i"`
	Workflow      string       `json:"w"`
	State         task.State   `json:"s"`
	Version       int64        `json:"v"`
	Op            string       `json:"o"`
	LockedBy      string       `json:"l"`
	CompleteBy    task.Millis  `json:"by"`
	Deadline      task.Millis  `json:"d"`
	FailureCount  int          `json:"f"`
	Goal          task.State   `json:"g"`
	Reason        string       `json:"r"`
	Paused        bool         `json:"p"`
	Owing         bool         `json:"ow"`
	Shard         int          `json:"h"`
	ResponseQueue string       `json:"q"`
	Tenant        string       `json:"t"`
	Resubmits     int          `json:"re"`
	OrderHash     string       `json:"oh"`
	CreatedAt     task.Millis  `json:"c"`
	EndedAt       task.Millis  `json:"e"`
	Steps         []stepRecord `json:"st"`
}

// stepRecord mirrors what Append writes of a step.
type stepRecord struct {
	Name         string          `json:"n"`
	State        task.State      `json:"s"`
	LockedBy     string          `json:"l"`
	CompleteBy   *task.Millis    `json:"by"`
	Attempt      int             `json:"a"`
	FailureCount int             `json:"f"`
	Waits        int             `json:"w"`
	Doubt        bool            `json:"dt"`
	Undo         bool            `json:"u"`
	Signalled    bool            `json:"sg"`
	StartedAt    *task.Millis    `json:"b"`
	EndedAt      *task.Millis    `json:"e"`
	Rank         int64           `json:"k"`
	Error        string          `json:"x"`
	Output       json.RawMessage `json:"out"`
	Bytes        []byte          `json:"o64"`
	Aside        bool            `json:"big"`
}

func (r *taskRecord) task() (t task.Task, aside []int) {
	t = task.Task{
		ID: r.ID, Workflow: r.Workflow, State: r.State, Version: r.Version, Op: r.Op,
		LockedBy: r.LockedBy, CompleteBy: r.CompleteBy, Deadline: r.Deadline,
		FailureCount: r.FailureCount, Goal: r.Goal, Reason: r.Reason, Paused: r.Paused,
		Owing: r.Owing, Shard: r.Shard, ResponseQueue: r.ResponseQueue, Tenant: r.Tenant,
		Resubmits: r.Resubmits, OrderHash: r.OrderHash,
		CreatedAt: r.CreatedAt, EndedAt: r.EndedAt,
	}
	if len(r.Steps) > 0 {
		t.Steps = make([]task.StepState, len(r.Steps))
	}
	for i := range r.Steps {
		t.Steps[i] = r.Steps[i].step(r.CreatedAt)
		if r.Steps[i].Aside {
			t.Steps[i].Output = nil
			aside = append(aside, i)
		}
	}
	return t, aside
}

func (r *stepRecord) step(created task.Millis) task.StepState {
	s := task.StepState{
		Name: r.Name, State: r.State, LockedBy: r.LockedBy, CompleteBy: absolute(r.CompleteBy, created),
		Attempt: r.Attempt, FailureCount: r.FailureCount, Waits: r.Waits,
		Doubt: r.Doubt, Undo: r.Undo, Signalled: r.Signalled,
		StartedAt: absolute(r.StartedAt, created), EndedAt: absolute(r.EndedAt, created),
		Rank: r.Rank, Error: r.Error,
	}
	switch {
	case len(r.Output) > 0:
		s.Output = slices.Clip(r.Output)
	case len(r.Bytes) > 0:
		s.Output = r.Bytes
	}
	return s
}

// absolute undoes an offset; nil is no time.
func absolute(offset *task.Millis, created task.Millis) task.Millis {
	if offset == nil {
		return 0
	}
	return created + *offset
}
