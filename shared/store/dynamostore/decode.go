package dynamostore

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"triad/shared/store"
	"triad/shared/task"
)

// reader reads an item and keeps the first thing that is wrong with it.
type reader struct {
	m   map[string]types.AttributeValue
	err error
}

func (r *reader) damaged(name, why string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: attribute %s: %s", store.ErrDamaged, name, why)
	}
}

func (r *reader) text(name string) string {
	switch v := r.m[name].(type) {
	case nil:
	case *types.AttributeValueMemberS:
		return v.Value
	default:
		r.damaged(name, "it is not a text")
	}
	return ""
}

func (r *reader) number(name string) int64 {
	switch v := r.m[name].(type) {
	case nil:
	case *types.AttributeValueMemberN:
		n, err := strconv.ParseInt(v.Value, 10, 64)
		if err != nil {
			r.damaged(name, v.Value+" is not a whole number")
		}
		return n
	default:
		r.damaged(name, "it is not a number")
	}
	return 0
}

// offset reads a time that is written as milliseconds since created.
func (r *reader) offset(name string, created task.Millis) task.Millis {
	if r.m[name] == nil {
		return 0
	}
	return created + task.Millis(r.number(name))
}

func (r *reader) flag(name string) bool {
	switch v := r.m[name].(type) {
	case nil:
	case *types.AttributeValueMemberBOOL:
		return v.Value
	default:
		r.damaged(name, "it is not true or false")
	}
	return false
}

func (r *reader) content(name string) json.RawMessage {
	switch v := r.m[name].(type) {
	case nil:
	case *types.AttributeValueMemberS:
		return json.RawMessage(v.Value)
	case *types.AttributeValueMemberB:
		return v.Value
	default:
		r.damaged(name, "it is neither text nor bytes")
	}
	return nil
}

// bytes reads what is never text.
func (r *reader) bytes(name string) []byte {
	switch v := r.m[name].(type) {
	case nil:
	case *types.AttributeValueMemberB:
		return v.Value
	default:
		r.damaged(name, "it is not bytes")
	}
	return nil
}

// aside is an output that is kept in a side item.
type aside struct {
	step        int // in Task.Steps
	fingerprint []byte
}

// decode reads a task item. What it means of the side items comes beside it. An
// attribute of ours that has another type or form than taskItem gives it is
// store.ErrDamaged. One that is not ours, which a later version may have added, is
// passed over, as record.Decode does with a field, and the next commit is without
// it: it writes the whole item.
func decode(m map[string]types.AttributeValue) (t task.Task, sides []aside, err error) {
	r := reader{m: m}
	t = task.Task{
		ID: task.ID(r.text(attrID)), Workflow: r.text(attrWorkflow), State: task.State(r.text(attrState)),
		Version: r.number(attrVersion), Op: r.text(attrOp), LockedBy: r.text(attrLockedBy),
		Deadline: task.Millis(r.number(attrDeadline)), FailureCount: int(r.number(attrFailureCount)),
		Goal: stateOf(r.text(attrGoal)), Reason: r.text(attrReason), Paused: r.flag(attrPaused), Owing: r.flag(attrOwing),
		ResponseQueue: r.text(attrResponseQueue), Tenant: r.text(attrTenant), Resubmits: int(r.number(attrResubmits)),
		OrderHash: r.text(attrOrderHash), CreatedAt: task.Millis(r.number(attrCreatedAt)), EndedAt: task.Millis(r.number(attrEndedAt)),
	}
	r.indexed(&t)
	if r.err == nil && (t.ID == "" || t.Version < 1) {
		r.damaged(attrVersion, "the item has no id or no version")
	}
	if m[attrSteps] != nil {
		sides = r.steps(&t)
	}
	if r.err != nil {
		return task.Task{}, nil, r.err
	}
	return t, sides, nil
}

// steps reads the steps into the order of the definition.
func (r *reader) steps(t *task.Task) (sides []aside) {
	all, is := r.m[attrSteps].(*types.AttributeValueMemberM)
	if !is {
		r.damaged(attrSteps, "it is not a map")
		return nil
	}
	t.Steps = make([]task.StepState, len(all.Value))
	for name, v := range all.Value {
		m, is := v.(*types.AttributeValueMemberM)
		if !is {
			r.damaged(attrSteps+"."+name, "it is not a map")
			continue
		}
		s := reader{m: m.Value}
		i := s.number(stepIndex)
		if i < 0 || i >= int64(len(t.Steps)) || t.Steps[i].Name != "" {
			s.damaged(stepIndex, "its place is taken or is none")
		} else {
			t.Steps[i] = s.step(name, t.CreatedAt)
			if m.Value[stepAside] != nil {
				sides = append(sides, aside{step: int(i), fingerprint: s.bytes(stepAside)})
			}
		}
		if s.err != nil && r.err == nil {
			r.err = fmt.Errorf("step %s: %w", name, s.err)
		}
	}
	slices.SortFunc(sides, func(a, b aside) int { return cmp.Compare(a.step, b.step) })
	return sides
}

func (r *reader) step(name string, created task.Millis) task.StepState {
	code := r.text(stepState)
	return task.StepState{
		Name: name, State: stateOf(code), LockedBy: r.text(stepLockedBy),
		CompleteBy: r.offset(stepCompleteBy, created), Attempt: int(r.number(stepAttempt)),
		FailureCount: int(r.number(stepFailureCount)), Waits: int(r.number(stepWaits)), Doubt: r.flag(stepDoubt),
		Undo: r.flag(stepUndo) || tellsUndo(code), Signalled: r.flag(stepSignalled), StartedAt: r.offset(stepStartedAt, created),
		EndedAt: r.offset(stepEndedAt, created), Rank: r.number(stepRank), Error: r.text(stepError), Output: r.content(stepOutput),
	}
}
