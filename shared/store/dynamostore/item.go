package dynamostore

import (
	"crypto/sha256"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"triad/shared/store/record"
	"triad/shared/task"
)

// The attributes of a task item, and of the items beside it. What is zero is
// absent. Both tables have attrID as their partition key.
const (
	attrID            = "TaskID"
	attrPart          = "Part" // the sort key of Tasks
	attrWorkflow      = "Workflow"
	attrState         = "ProcessState"
	attrVersion       = "Version"
	attrOp            = "Op"
	attrLockedBy      = "LockedBy"
	attrCompleteBy    = "CompleteBy"
	attrDeadline      = "Deadline"
	attrFailureCount  = "FailureCount"
	attrGoal          = "Goal"
	attrReason        = "Reason"
	attrPaused        = "Paused"
	attrOwing         = "Owing"
	attrShard         = "Shard"
	attrHeld          = "Held" // a failed task whose shard is a held one
	attrResponseQueue = "ResponseQueue"
	attrTenant        = "Tenant"
	attrResubmits     = "Resubmits"
	attrOrderHash     = "Hash"
	attrCreatedAt     = "CreatedAt"
	attrEndedAt       = "EndedAt"
	attrExpires       = "Expires" // seconds since the epoch
	attrKept          = "Kept"    // the order and the outputs have no Expires
	attrSteps         = "Steps"

	attrOrder  = "Order"  // in Orders
	attrBody   = "Body"   // in a side item
	attrSource = "Source" // in a definition
)

// The attributes of a step, inside Steps, under the step's name. There is one
// set for each step and a write is billed by the size of the whole item, so
// these are short. Times are milliseconds since CreatedAt, and 0 is present:
// absent means that there is no time.
const (
	stepIndex        = "i" // the place in the definition; absent for the first
	stepState        = "s" // see stepCode
	stepLockedBy     = "l"
	stepCompleteBy   = "by"
	stepAttempt      = "a"
	stepFailureCount = "f"
	stepWaits        = "w"
	stepDoubt        = "d"
	stepUndo         = "u" // absent too where the state tells it
	stepSignalled    = "g"
	stepStartedAt    = "b"
	stepEndedAt      = "e"
	stepRank         = "k"
	stepError        = "x"
	stepOutput       = "o"
	stepAside        = "big" // the fingerprint of an output in a side item
)

// The sort keys of Tasks: the task item, and the side item of a step's output.
const (
	partTask   = "task"
	partOutput = "output/" // and the step's name
)

// item is an item or a map as DynamoDB has it.
type item map[string]types.AttributeValue

func (m item) text(name, s string) {
	if s != "" {
		m[name] = text(s)
	}
}

func (m item) number(name string, n int64) {
	if n != 0 {
		m[name] = number(n)
	}
}

// offset sets a time as milliseconds since created.
func (m item) offset(name string, at, created task.Millis) {
	if at != 0 {
		m[name] = number(int64(at - created))
	}
}

func (m item) flag(name string, on bool) {
	if on {
		m[name] = &types.AttributeValueMemberBOOL{Value: true}
	}
}

// content sets bytes that are kept as they are: as text where they are text, so
// that a person can read them in the console.
func (m item) content(name string, b []byte) {
	switch {
	case len(b) == 0:
	case utf8.Valid(b):
		m[name] = &types.AttributeValueMemberS{Value: string(b)}
	default:
		m[name] = &types.AttributeValueMemberB{Value: b}
	}
}

func text(s string) types.AttributeValue {
	return &types.AttributeValueMemberS{Value: record.Text(s)}
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// taskItem makes the item of a task that has passed record.Check: its steps have
// names of their own.
func taskItem(t task.Task, keep time.Duration) item {
	m := taskKey(t.ID)
	m.text(attrWorkflow, t.Workflow)
	m.text(attrState, string(t.State))
	m.number(attrVersion, t.Version)
	m.text(attrOp, t.Op)
	m.text(attrLockedBy, t.LockedBy)
	m.number(attrDeadline, int64(t.Deadline))
	m.number(attrFailureCount, int64(t.FailureCount))
	m.text(attrGoal, stateCode(t.Goal))
	m.text(attrReason, t.Reason)
	m.flag(attrPaused, t.Paused)
	m.flag(attrOwing, t.Owing)
	m.text(attrResponseQueue, t.ResponseQueue)
	m.text(attrTenant, t.Tenant)
	m.number(attrResubmits, int64(t.Resubmits))
	m.text(attrOrderHash, t.OrderHash)
	m.number(attrCreatedAt, int64(t.CreatedAt))
	m.number(attrEndedAt, int64(t.EndedAt))
	e := expiryOf(t, keep)
	m.number(attrExpires, e.record)
	m.flag(attrKept, e.beside == 0)
	m.index(t)
	if len(t.Steps) == 0 {
		return m
	}
	steps := item{}
	for i, s := range t.Steps {
		steps[record.Text(s.Name)] = &types.AttributeValueMemberM{Value: stepItem(i, s, t.CreatedAt)}
	}
	m[attrSteps] = &types.AttributeValueMemberM{Value: steps}
	return m
}

func stepItem(index int, s task.StepState, created task.Millis) item {
	m := item{}
	m.number(stepIndex, int64(index))
	code, undo := stepCode(s)
	m.text(stepState, code)
	m.text(stepLockedBy, s.LockedBy)
	m.offset(stepCompleteBy, s.CompleteBy, created)
	m.number(stepAttempt, int64(s.Attempt))
	m.number(stepFailureCount, int64(s.FailureCount))
	m.number(stepWaits, int64(s.Waits))
	m.flag(stepDoubt, s.Doubt)
	m.flag(stepUndo, undo)
	m.flag(stepSignalled, s.Signalled)
	m.offset(stepStartedAt, s.StartedAt, created)
	m.offset(stepEndedAt, s.EndedAt, created)
	m.number(stepRank, s.Rank)
	m.text(stepError, s.Error)
	if record.Aside(s) {
		m[stepAside] = &types.AttributeValueMemberB{Value: fingerprint(s.Output)}
	} else {
		m.content(stepOutput, s.Output)
	}
	return m
}

// fingerprint ties a task item to the side item it means: an output that was
// replaced meanwhile, or damaged, has another.
func fingerprint(output []byte) []byte {
	sum := sha256.Sum256(output)
	return sum[:8]
}

func taskKey(id task.ID) item { return item{attrID: text(string(id)), attrPart: text(partTask)} }

func sideKey(id task.ID, step string) item {
	return item{attrID: text(string(id)), attrPart: text(partOutput + step)}
}

func orderKey(id task.ID) item { return item{attrID: text(string(id))} }

// sideItem is the item of an output that is too large for the task item.
func sideItem(id task.ID, s task.StepState, e expiry) item {
	m := sideKey(id, s.Name)
	m.number(attrExpires, e.beside)
	m.content(attrBody, s.Output)
	return m
}

func orderItem(t task.Task, e expiry) item {
	m := orderKey(t.ID)
	m.number(attrExpires, e.beside)
	m.number(attrCreatedAt, int64(t.CreatedAt))
	m.content(attrOrder, t.Order)
	return m
}
