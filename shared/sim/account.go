package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"triad/shared/operator"
	"triad/shared/store"
	"triad/shared/task"
)

// observation is one commit as seen from outside.
type observation struct {
	was, is task.Task
	change  store.Change
	by      writer
}

// attempt is a claim that was seen, and the request that it calls for.
type attempt struct {
	owner      string
	undo       bool
	completeBy task.Millis
	extended   []task.Millis
	input      json.RawMessage
	output     json.RawMessage
	// asked: a queue has taken its request, and said so.
	asked bool
}

// account is what the model knows of one task. It is fed by observations alone.
type account struct {
	m    *model
	id   task.ID
	sub  task.Submission
	flow task.Workflow

	attempts map[token]*attempt
	steps    []ledger
	// undoing: an undo has begun. over: an operator's cancel or undo was granted;
	// no forward step starts any more.
	undoing, over bool
	// owed is what its latest end, and its beginning, have to tell.
	owed []string
	said map[string]string
	// tainted: a stranger's reply under a live token was believed, so that record
	// and services may differ.
	tainted bool
}

// ledger is what the model knows of one step.
type ledger struct {
	failures, waits int
	done            int // times it was done
	doubt           bool
	endedIn         int64 // the version in which its latest forward attempt ended
	undone          bool
	skipped         bool
}

func newAccount(m *model, id task.ID, sub task.Submission, flow task.Workflow) *account {
	return &account{
		m: m, id: id, sub: sub, flow: flow, attempts: map[token]*attempt{}, steps: make([]ledger, len(flow.Steps)),
		said: map[string]string{},
	}
}

func (a *account) place(step string) int {
	return slices.IndexFunc(a.flow.Steps, func(s task.Step) bool { return s.Name == step })
}

// judge holds one commit against every invariant. It returns the rule that is
// broken and how.
func (a *account) judge(o *observation) (rule, detail string) {
	rules := []struct {
		name  string
		holds func(*observation) string
	}{
		{"S6 version", a.version},
		{"S6 identity", a.identity},
		{"S3 fence", a.fence},
		{"S6 end is final", a.absorbs},
		{"S4 attempts", a.ended},
		{"S3 claims", a.claimed},
		{"S6 transitions", a.transitions},
		{"S7 failures", a.counted},
		{"S6 task", a.whole},
		{"S9 undo is complete", a.complete},
		{"S1 index", a.index},
		{"S10 told", a.told},
	}
	for _, r := range rules {
		if detail := r.holds(o); detail != "" {
			return r.name, detail
		}
	}
	return "", ""
}

func (a *account) version(o *observation) string {
	if o.is.Version != o.was.Version+1 || len(o.is.Steps) != len(a.flow.Steps) {
		return fmt.Sprintf("version %d follows %d, with %d steps", o.is.Version, o.was.Version, len(o.is.Steps))
	}
	for i := range o.is.Steps {
		if o.is.Steps[i].Name != a.flow.Steps[i].Name {
			return "its steps are not those of its workflow"
		}
	}
	return ""
}

// identity: what a task is never changes.
func (a *account) identity(o *observation) string {
	is, was := &o.is, &o.was
	if was.Version == 0 {
		if o.by.cause.kind != bySubmission || is.CreatedAt != o.by.now || is.Deadline != o.by.now.Add(a.flow.CompleteWithin) {
			return "it was not created by a submission, with its deadline from then"
		}
		return ""
	}
	released := was.State == task.Pending && was.Shard < 0 && is.Shard >= 0 && is.Shard < a.m.w.plan.shards
	shard := is.Shard == was.Shard || released
	if is.Workflow != was.Workflow || is.OrderHash != was.OrderHash || is.Tenant != was.Tenant || is.CreatedAt != was.CreatedAt ||
		is.ResponseQueue != was.ResponseQueue || !bytes.Equal(is.Order, a.sub.Order) || !shard {
		return "workflow, order, tenant, response queue, shard or time of creation has changed"
	}
	resubmit := o.by.cause.ask.Verb == operator.Resubmit
	if is.Deadline != was.Deadline && (!resubmit || is.Deadline != o.by.now.Add(a.flow.CompleteWithin)) {
		return "the deadline moved"
	}
	if is.Resubmits > was.Resubmits && was.Goal == task.Error && is.Deadline != o.by.now.Add(a.flow.CompleteWithin) {
		return "it was resubmitted and has no new deadline"
	}
	if is.Resubmits != was.Resubmits && (!resubmit || is.Resubmits != was.Resubmits+1) {
		return "the number of resubmissions changed"
	}
	return ""
}

// fence: every step that the commit changes is guarded by the LockedBy read for it.
func (a *account) fence(o *observation) string {
	if o.was.Version == 0 {
		return ""
	}
	for i := range o.is.Steps {
		was, is := &o.was.Steps[i], &o.is.Steps[i]
		if same(was, is) {
			continue
		}
		if !slices.Contains(o.change.Locks, task.Lock{Step: is.Name, LockedBy: was.LockedBy}) {
			return fmt.Sprintf("step %s was changed without its lock", is.Name)
		}
	}
	return ""
}

// same reports that two states of a step are equal.
func same(a, b *task.StepState) bool {
	x, y := *a, *b
	equal := bytes.Equal(x.Output, y.Output)
	x.Output, y.Output = nil, nil
	return equal && x.Name == y.Name && x.State == y.State && x.LockedBy == y.LockedBy && x.CompleteBy == y.CompleteBy &&
		x.Attempt == y.Attempt && x.FailureCount == y.FailureCount && x.Waits == y.Waits && x.Doubt == y.Doubt &&
		x.Undo == y.Undo && x.Signalled == y.Signalled && x.StartedAt == y.StartedAt && x.EndedAt == y.EndedAt &&
		x.Rank == y.Rank && x.Error == y.Error
}

// absorbs: what has ended changes in nothing but what it owes, until an operator
// resubmits or undoes what is in Error.
func (a *account) absorbs(o *observation) string {
	if !o.was.State.Finished() {
		return ""
	}
	v := o.by.cause.ask.Verb
	if o.was.State == task.Error && o.by.cause.kind == byVerb && (v == operator.Resubmit || v == operator.Undo) && o.by.role == roleOperator {
		if o.is.State != task.Error || o.is.Resubmits > o.was.Resubmits {
			return ""
		}
	}
	if o.is.State != o.was.State || o.is.Goal != o.was.Goal || o.is.EndedAt != o.was.EndedAt || o.is.Reason != o.was.Reason {
		return "a task that has ended has changed"
	}
	for i := range o.is.Steps {
		if !same(&o.was.Steps[i], &o.is.Steps[i]) {
			return fmt.Sprintf("step %s of a task that has ended has changed", o.is.Steps[i].Name)
		}
	}
	return ""
}

// reopened reports that the commit takes up a task that had ended.
func reopened(o *observation) bool {
	return o.was.State.Finished() && (!o.is.State.Finished() || o.is.Resubmits > o.was.Resubmits || len(o.is.Steps) > 0 && o.is.EndedAt != o.was.EndedAt)
}

// grace is how long the index may wait for a message that was sent.
const grace = 30 * time.Second

// index: what has not ended, or owes something, is due at some time: not after what
// is live, not after the task's deadline, not long after what can start.
func (a *account) index(o *observation) string {
	t, now := &o.is, o.by.now
	released := o.was.Owing && !t.Owing
	if o.by.cause.kind == bySweep && o.was.CompleteBy > now && !released {
		return fmt.Sprintf("the Supervisor acts on it, and it is due at %v: a row of the index is a hint", since(o.was.CompleteBy))
	}
	if t.State.Finished() {
		if (t.CompleteBy > 0) != t.Owing {
			return fmt.Sprintf("it has ended, owing %v, CompleteBy %v", t.Owing, since(t.CompleteBy))
		}
		return ""
	}
	if t.CompleteBy <= 0 {
		return "it has not ended and is not in the index"
	}
	if t.Shard < 0 && t.State != task.Pending {
		return fmt.Sprintf("it is %s, and in the index among those who wait for room", t.State)
	}
	if t.Goal == "" && t.CompleteBy > t.Deadline {
		return "its CompleteBy is after its deadline"
	}
	if t.Owing && t.CompleteBy > now.Add(grace) {
		return "it owes something and is looked at late"
	}
	live, waiting := false, false
	for i := range t.Steps {
		s := &t.Steps[i]
		live = live || s.Live()
		if s.Live() && t.CompleteBy > s.CompleteBy {
			return fmt.Sprintf("its CompleteBy is after that of step %s, which is live", s.Name)
		}
		if !s.Live() && (s.State == task.Compensating || a.canStart(t, i)) {
			waiting = true
			if t.CompleteBy > max(s.CompleteBy, now).Add(grace) {
				return fmt.Sprintf("step %s can start at %v, and nobody looks before %v", s.Name, since(max(s.CompleteBy, now)), since(t.CompleteBy))
			}
		}
	}
	if t.Goal != "" && !live && !waiting && t.CompleteBy > now.Add(grace) {
		return "it is to be ended, and nobody looks soon"
	}
	return ""
}

// canStart reports that nothing but time keeps step i from starting.
func (a *account) canStart(t *task.Task, i int) bool {
	if t.Goal != "" || t.Paused || t.Steps[i].State != task.Pending {
		return false
	}
	return a.ready(t, i) == ""
}

// ready names the step that step i still waits for.
func (a *account) ready(t *task.Task, i int) string {
	for _, p := range a.flow.Steps[i].After {
		// In one commit a step can be done, let this one start and begin to be undone.
		if a.steps[p].done == 0 && t.Steps[p].State != task.Skipped {
			return t.Steps[p].Name
		}
	}
	return ""
}
