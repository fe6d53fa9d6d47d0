package enginetest

import (
	"fmt"

	"github.com/google/go-cmp/cmp"

	"triad/shared/task"
)

// Check proves what has to hold of every history of a task, whatever was lost:
// versions without a gap, attempts that only rise and are never live twice, an
// index that never forgets a task, and repeated requests that are the same to
// the byte.
func (r *Rig) Check(id task.ID) {
	r.tb.Helper()
	was := task.Task{}
	for _, is := range r.Table.Versions(id) {
		if is.Version != was.Version+1 {
			r.tb.Errorf("version %d follows version %d", is.Version, was.Version)
		}
		if gone := is.State.Finished() && !is.Owing; gone != (is.CompleteBy == 0) {
			r.tb.Errorf("version %d: CompleteBy is %d in state %s, owing %v", is.Version, is.CompleteBy, is.State, is.Owing)
		}
		for i, s := range is.Steps {
			before := task.StepState{}
			if len(was.Steps) > 0 {
				before = was.Steps[i]
			}
			if fault := stepFault(before, s); fault != "" {
				r.tb.Errorf("version %d: step %s: %s", is.Version, s.Name, fault)
			}
			if s.Live() && is.CompleteBy > s.CompleteBy {
				r.tb.Errorf("version %d: CompleteBy is later than that of step %s", is.Version, s.Name)
			}
		}
		was = is
	}
	r.checkRequests(id)
}

// stepFault says what is wrong with a step's way from one version to the next.
func stepFault(was, is task.StepState) string {
	switch {
	case is.Attempt < was.Attempt || is.Attempt > was.Attempt+1:
		return fmt.Sprintf("attempt %d follows attempt %d", is.Attempt, was.Attempt)
	case is.Attempt == was.Attempt && !was.Live() && is.Live():
		return fmt.Sprintf("attempt %d has ended and is live again", is.Attempt)
	case is.Attempt == was.Attempt && is.Live() && was.LockedBy != is.LockedBy:
		return fmt.Sprintf("attempt %d changed its owner", is.Attempt)
	}
	return ""
}

func (r *Rig) checkRequests(id task.ID) {
	r.tb.Helper()
	first := map[string]task.Request{}
	for _, q := range r.Services.Requests() {
		if q.Task != id {
			continue
		}
		attempt := fmt.Sprintf("%s#%d", q.IdempotencyKey(), q.Attempt)
		if _, repeated := first[attempt]; !repeated {
			first[attempt] = q
		}
		if diff := cmp.Diff(first[attempt], q); diff != "" {
			r.tb.Errorf("request %s was repeated otherwise (-first +again):\n%s", attempt, diff)
		}
	}
}
