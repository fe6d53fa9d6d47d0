package task_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/task"
)

// verifyFlow is a workflow with a step of each kind.
func verifyFlow() task.Workflow {
	return flow(work("reserve"), work("charge", noUndo, attempts(3), parks(time.Hour, 2, task.OnCompensate)), timer("cool off", time.Hour))
}

// damaged is a task of verifyFlow with its second step live, after a change.
func damaged(t *testing.T, change func(*task.Task)) []task.Fault {
	t.Helper()
	s := &script{t: t, seen: newSightings()}
	s.start(verifyFlow())
	s.ok("reserve")
	record := s.task.Clone()
	change(&record)
	return task.Verify(s.w, record, task.At(s.now))
}

// TestVerifyFindsEachDamage breaks one rule at a time. That records as Decide
// makes them break none is what the monitor of every other test here checks.
func TestVerifyFindsEachDamage(t *testing.T) {
	t.Parallel()
	end := func(state task.State) func(*task.Task) {
		return func(r *task.Task) {
			r.State, r.EndedAt, r.CompleteBy, r.LockedBy = state, r.CreatedAt+1, 0, ""
			r.Goal = map[task.State]task.State{task.Error: task.Error, task.Compensated: task.Compensated, task.Cancelled: task.Cancelled}[state]
			r.Steps[1].State, r.Steps[1].LockedBy = task.Cancelled, ""
			r.Steps[2].State = task.Cancelled
		}
	}
	for name, c := range map[string]struct {
		change func(*task.Task)
		want   string // a part of one of the faults
	}{
		"another definition":            {func(r *task.Task) { r.Workflow = "order@2" }, "pinned to"},
		"a step is missing":             {func(r *task.Task) { r.Steps = r.Steps[:2] }, "with 2 steps"},
		"a step has another name":       {func(r *task.Task) { r.Steps[0].Name = "x" }, "the definition calls it reserve"},
		"an unknown state":              {func(r *task.Task) { r.State = "Lost" }, `its state is "Lost"`},
		"an unknown state of a step":    {func(r *task.Task) { r.Steps[2].State = "Lost" }, `step cool off: its state is "Lost"`},
		"an unknown goal":               {func(r *task.Task) { r.Goal = task.Processed }, "its goal is"},
		"no version":                    {func(r *task.Task) { r.Version = 0 }, "version is 0"},
		"no deadline":                   {func(r *task.Task) { r.Deadline = 0 }, "no deadline"},
		"an owner of nothing":           {func(r *task.Task) { r.LockedBy = "ghost" }, `its LockedBy is "ghost"`},
		"failures that no step had":     {func(r *task.Task) { r.FailureCount = 2 }, "FailureCount is 2, and the sum"},
		"held while under way":          {func(r *task.Task) { r.Shard = task.HeldShard(r.Shard) }, "in the held shard"},
		"held where nobody looks":       {func(r *task.Task) { r.Shard = task.HeldShard(task.HeldShards) }, "held tasks have 24 shards"},
		"a reason beyond its limit":     {func(r *task.Task) { r.Reason = strings.Repeat("x", task.MaxError+1) }, "its reason has"},
		"not in the index":              {func(r *task.Task) { r.CompleteBy = 0 }, "has no CompleteBy"},
		"looked at after its deadline":  {func(r *task.Task) { r.CompleteBy = r.Deadline + 1 }, "after its deadline"},
		"looked at after a live step's": {func(r *task.Task) { r.CompleteBy = r.Steps[1].CompleteBy + 1 }, "after this step's"},
		"a claim that nobody looks for": {func(r *task.Task) {
			r.LockedBy, r.Steps[1].LockedBy, r.Steps[1].State, r.Steps[1].CompleteBy = "", "", task.Pending, 0
			r.CompleteBy = r.Deadline
		}, "something can start at 0"},
		"an end that nobody looks for": {func(r *task.Task) {
			r.LockedBy, r.Steps[1].LockedBy, r.Steps[1].State, r.Goal = "", "", task.Error, task.Error
			r.CompleteBy = r.Deadline
		}, "something can start at 0"},
		"the second claim comes first": {func(r *task.Task) {
			r.LockedBy, r.Steps[1].LockedBy, r.Steps[1].State, r.Steps[2].State = "", "", task.Compensating, task.Compensating
			r.CompleteBy, r.Steps[1].CompleteBy, r.Steps[2].CompleteBy = r.Deadline, 9, 7
		}, "something can start at 7"},
		"the first claim comes first": {func(r *task.Task) {
			r.LockedBy, r.Steps[1].LockedBy, r.Steps[1].State, r.Steps[2].State = "", "", task.Compensating, task.Compensating
			r.CompleteBy, r.Steps[1].CompleteBy, r.Steps[2].CompleteBy = r.Deadline, 7, 9
		}, "something can start at 7"},
		"finished and in the index":     {func(r *task.Task) { end(task.Error)(r); r.CompleteBy = 7 }, "owing false, and its CompleteBy is 7"},
		"owing and not in the index":    {func(r *task.Task) { end(task.Error)(r); r.Owing = true }, "owing true, and its CompleteBy is 0"},
		"an end without a time":         {func(r *task.Task) { end(task.Error)(r); r.EndedAt = 0 }, "its EndedAt is 0"},
		"a time of the end before it":   {func(r *task.Task) { r.EndedAt = r.CreatedAt }, "it is Processing, and its EndedAt"},
		"processed with work left":      {end(task.Processed), "step charge: it is Cancelled, and the task Processed"},
		"compensated and not undone":    {end(task.Compensated), "step reserve: it is Processed and not undone"},
		"cancelled with doubt left":     {func(r *task.Task) { end(task.Cancelled)(r); r.Steps[0].State, r.Steps[0].Doubt = task.Error, true }, "step reserve: it is Error and not undone"},
		"cancelled in midst of an undo": {func(r *task.Task) { end(task.Cancelled)(r); r.Steps[0].State, r.Steps[0].Undo = task.Error, true }, "step reserve: it is Error and not undone"},
		"failed without a goal":         {func(r *task.Task) { end(task.Error)(r); r.Goal = "" }, "Error without a goal"},
		"compensating to no goal":       {func(r *task.Task) { r.State = task.Compensating }, `it is Compensating, and its goal is ""`},
		"compensated for another goal":  {func(r *task.Task) { end(task.Compensated)(r); r.Goal = task.Cancelled }, `its goal is "Cancelled"`},
		"finished with a live step":     {func(r *task.Task) { end(task.Error)(r); r.Steps[1].State = task.Processing }, "step charge: it is Processing, and the task Error"},
		"a failed step, and it goes on": {func(r *task.Task) { r.Steps[2].State = task.Error }, "step cool off: it is Error, and the task goes on"},
		"started before its time":       {func(r *task.Task) { r.Steps[2].State = task.Processed }, "step charge before it is not done"},
		"compensated without an undo":   {func(r *task.Task) { r.Steps[1].State = task.Compensating }, "Compensating without an undo"},
		"an undo of what goes forward":  {func(r *task.Task) { r.Steps[0].Undo = true }, "it is Processed, and its undo was begun"},
		"an undo that is not defined":   {func(r *task.Task) { r.Steps[1].Undo, r.Steps[1].State = true, task.Compensating }, "and the definition has none"},
		"a signal that is not defined":  {func(r *task.Task) { r.Steps[1].Signalled = true }, "waits for no signal"},
		"processing without an owner":   {func(r *task.Task) { r.LockedBy, r.Steps[1].LockedBy = "", "" }, "it is Processing, and nobody owns it"},
		"an owner of what is done":      {func(r *task.Task) { r.Steps[0].LockedBy = "one" }, `it is Processed, and "one" owns it`},
		"a live attempt without number": {func(r *task.Task) { r.Steps[1].Attempt = 0 }, `"one" owns attempt 0`},
		"a live attempt without end":    {func(r *task.Task) { r.Steps[1].CompleteBy = 0 }, "without a CompleteBy"},
		"a live attempt without start":  {func(r *task.Task) { r.Steps[1].StartedAt = 0 }, "it never started"},
		"a negative count":              {func(r *task.Task) { r.Steps[1].Waits = -1 }, "waits -1"},
		"more failures than attempts":   {func(r *task.Task) { r.Steps[1].FailureCount = 2 }, "FailureCount is 2 after 1 attempts"},
		"more failures than permitted":  {func(r *task.Task) { r.Steps[1].FailureCount, r.Steps[1].Attempt = 6, 6 }, "may fail 5 times"},
		"more waits than permitted":     {func(r *task.Task) { r.Steps[1].Waits = 3 }, "may be 2 times"},
		"an attempt after this version": {func(r *task.Task) { r.Steps[0].Rank = 99 }, "rank 99 is above"},
		"an end without a rank":         {func(r *task.Task) { r.Steps[0].Rank = 0 }, "its rank is 0, and its EndedAt"},
		"an error beyond its limit":     {func(r *task.Task) { r.Steps[0].Error = strings.Repeat("x", task.MaxError+1) }, "its error has"},
		"an output beyond its limit":    {func(r *task.Task) { r.Steps[0].Output = make([]byte, task.MaxOutput+1) }, "its output has"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var all []string
			for _, f := range damaged(t, c.change) {
				all = append(all, f.String())
			}
			if text := strings.Join(all, "\n"); !strings.Contains(text, c.want) {
				t.Errorf("got the faults\n%s\nwant one with %q", text, c.want)
			}
		})
	}
}

// TestNoDecisionMovesWhatIsNotThere: a record that Decide never makes is an error,
// and not written on.
func TestNoDecisionMovesWhatIsNotThere(t *testing.T) {
	t.Parallel()
	s := &script{t: t, seen: newSightings()}
	s.start(sequence("a"))
	reply := s.reply("a", task.Succeeded)
	record := s.task.Clone()
	record.Steps[0].State = task.Pending
	_, err := task.Decide(s.w, record, reply, s.now)
	if want := `no transition of a step from "Pending" to "Processed" because "succeeded"`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want one with %s", err, want)
	}
}

func TestVerifyNamesTheStepAndNothingElse(t *testing.T) {
	t.Parallel()
	got := damaged(t, func(r *task.Task) { r.Steps[1].Waits = 3 })
	want := []task.Fault{{Step: "charge", What: "it was parked 3 times, and may be 2 times"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	for name, change := range map[string]func(*task.Task){
		"as it is":                   func(*task.Task) {},
		"in the first shard":         func(r *task.Task) { r.Shard = 0 },
		"with the longest reason":    func(r *task.Task) { r.Reason = strings.Repeat("x", task.MaxError) },
		"with the longest error":     func(r *task.Task) { r.Steps[0].Error = strings.Repeat("x", task.MaxError) },
		"with the longest output":    func(r *task.Task) { r.Steps[0].Output = make([]byte, task.MaxOutput) },
		"parked as often as may be":  func(r *task.Task) { r.Steps[1].Waits = 2 },
		"looked at at its deadline":  func(r *task.Task) { r.CompleteBy, r.Steps[1].CompleteBy = r.Deadline, r.Deadline },
		"looked at when a step is":   func(r *task.Task) { r.CompleteBy = r.Steps[1].CompleteBy },
		"failed as often as may be":  func(r *task.Task) { r.Steps[1].FailureCount, r.Steps[1].Attempt, r.FailureCount = 5, 5, 5 },
		"failed at every attempt":    func(r *task.Task) { r.Steps[1].FailureCount, r.FailureCount = 1, 1 },
		"looked at as soon as it is": func(r *task.Task) { r.CompleteBy = 1 },
	} {
		if got := damaged(t, change); len(got) > 0 {
			t.Errorf("a sound record, %s, has the faults %v", name, got)
		}
	}
	held := &script{t: t, seen: newSightings()}
	held.held(verifyFlow())
	held.task.Shard = task.HeldShard(task.HeldShards - 1)
	if got := task.Verify(held.w, held.task, task.At(held.now)); len(got) > 0 {
		t.Errorf("a task that is held in the last shard has the faults %v", got)
	}
}
