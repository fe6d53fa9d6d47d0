package task_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/shared/task"
)

func TestValidateID(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		id    task.ID
		wrong string // part of the error; empty for none
	}{
		"one character":          {"a", ""},
		"the first letters":      {"aA0", ""},
		"the last letters":       {"zZ9", ""},
		"every kind of mark":     {"Order-1.2_3:4", ""},
		"begins with a digit":    {"7-eleven", ""},
		"the longest":            {task.ID(strings.Repeat("x", task.MaxID)), ""},
		"empty":                  {"", "id is empty"},
		"too long":               {task.ID(strings.Repeat("x", task.MaxID+1)), "129 characters: at most 128"},
		"before the letters":     {"a`", "position 2"},
		"after the letters":      {"a{", "position 2"},
		"before the capitals":    {"a@", "position 2"},
		"after the capitals":     {"a[", "position 2"},
		"before the digits":      {"a/", "position 2"},
		"after the digits":       {"a;", "position 2"},
		"begins with a mark":     {"-rf", `'-' at position 1`},
		"a path":                 {"a/b", `'/' at position 2`},
		"a space":                {"a b", `' ' at position 2`},
		"a line break":           {"a\n", `'\n' at position 2`},
		"a zero byte":            {"a\x00", "position 2"},
		"a letter beyond ASCII":  {"ordré", "position 5"},
		"a shell's substitution": {"a$(reboot)", `'$' at position 2`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := task.ValidateID(c.id)
			if c.wrong == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
				t.Errorf("error is %v, want one with %q", err, c.wrong)
			}
		})
	}
}

func TestRefsAreSplitAsTheyWereJoined(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]struct {
		name    string
		version int
		fails   bool
	}{
		"order":              {name: "order"},
		"order@1":            {name: "order", version: 1},
		task.Ref("order", 7): {name: "order", version: 7},
		"order@":             {fails: true},
		"order@0":            {fails: true},
		"order@-1":           {fails: true},
		"order@latest":       {fails: true},
		"order@1@2":          {fails: true},
	} {
		name, version, err := task.SplitRef(ref)
		if name != want.name || version != want.version || (err != nil) != want.fails {
			t.Errorf("SplitRef(%q) is %q, %d, %v, want %+v", ref, name, version, err, want)
		}
	}
}

func TestHashIsOfWhatWasSubmitted(t *testing.T) {
	t.Parallel()
	base := task.Submission{ID: "1", Workflow: "order", Order: json.RawMessage(`{"a":1,"b":"x y"}`), ResponseQueue: "q", Tenant: "t"}
	for name, c := range map[string]struct {
		edit func(*task.Submission)
		same bool
	}{
		"the same":             {func(*task.Submission) {}, true},
		"another id":           {func(s *task.Submission) { s.ID = "2" }, true},
		"white space":          {func(s *task.Submission) { s.Order = json.RawMessage("{ \"a\" : 1,\n\"b\":\"x y\" }") }, true},
		"space inside strings": {func(s *task.Submission) { s.Order = json.RawMessage(`{"a":1,"b":"x  y"}`) }, false},
		"order of fields":      {func(s *task.Submission) { s.Order = json.RawMessage(`{"b":"x y","a":1}`) }, false},
		"another workflow":     {func(s *task.Submission) { s.Workflow = "order@1" }, false},
		"another queue":        {func(s *task.Submission) { s.ResponseQueue = "p" }, false},
		"another tenant":       {func(s *task.Submission) { s.Tenant = "u" }, false},
		"a border that moved":  {func(s *task.Submission) { s.ResponseQueue, s.Tenant = "qt", "" }, false},
		"not JSON":             {func(s *task.Submission) { s.Order = json.RawMessage(`{"a":`) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other := base
			c.edit(&other)
			if same := base.Hash() == other.Hash(); same != c.same {
				t.Errorf("same hash: %v, want %v", same, c.same)
			}
			if n := len(other.Hash()); n != 22 {
				t.Errorf("hash has %d characters, want 22", n)
			}
		})
	}
}

func TestMillis(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 12, 0, 0, 123_999_999, time.UTC)
	m := task.At(at)
	if diff := cmp.Diff(at.Truncate(time.Millisecond), m.Time()); diff != "" {
		t.Errorf("there and back (-want +got):\n%s", diff)
	}
	if !task.Millis(0).Time().IsZero() {
		t.Error("the zero Millis is not the zero time")
	}
	if got := m.Add(time.Second).Until(m); got != time.Second {
		t.Errorf("a second later is %v away", got)
	}
	if got := m.Until(m.Add(time.Second)); got != 0 {
		t.Errorf("what is past is %v away, want 0", got)
	}
}

func TestIdempotencyKeysTellWorkFromUndo(t *testing.T) {
	t.Parallel()
	r := task.Request{Key: task.Key("order-1", "charge")}
	if got := r.IdempotencyKey(); got != "order-1/charge" {
		t.Errorf("key is %q", got)
	}
	r.Undo = true
	if got := r.IdempotencyKey(); got != "order-1/charge/undo" {
		t.Errorf("key of the undo is %q", got)
	}
}

func TestCloneSharesNoSteps(t *testing.T) {
	t.Parallel()
	a := task.Task{Steps: []task.StepState{{Name: "a", State: task.Pending}}}
	b := a.Clone()
	b.Steps[0].State = task.Processed
	if a.Steps[0].State != task.Pending {
		t.Error("changing the clone changed the task")
	}
}

func TestTablesAreHandedOutAsCopies(t *testing.T) {
	t.Parallel()
	task.Transitions()[0] = task.Transition{}
	if task.Transitions()[0] == (task.Transition{}) {
		t.Error("the caller could change the table of transitions")
	}
	if kinds := task.Kinds(); len(slices.Compact(slices.Sorted(slices.Values(kinds)))) != 13 {
		t.Errorf("kinds are %v, want 13 different ones", kinds)
	}
}

func TestFinished(t *testing.T) {
	t.Parallel()
	for state, want := range map[task.State]bool{
		task.Pending: false, task.Processing: false, task.Compensating: false,
		task.Processed: true, task.Error: true, task.Compensated: true, task.Cancelled: true,
	} {
		if got := state.Finished(); got != want {
			t.Errorf("%s is finished: %v, want %v", state, got, want)
		}
	}
}

// TestHeldTasksOfATenantWaitInOneShard: that is how tenants take turns. Those of
// nobody are spread like tasks that don't wait, and each priority has its shards.
func TestHeldTasksOfATenantWaitInOneShard(t *testing.T) {
	t.Parallel()
	w := sequence("a")
	held := func(id task.ID, tenant string, shards int) task.Task {
		t.Helper()
		sub := &task.Submission{ID: id, Workflow: w.Ref(), Tenant: tenant}
		d, err := task.Decide(w, task.Task{}, task.Event{Kind: task.Submitted, Submission: sub, Shards: shards, By: "one", Hold: true}, noon())
		if err != nil {
			t.Fatal(err)
		}
		return d.Task
	}
	tenants, ids := map[int]bool{}, map[int]bool{}
	for i := range 200 {
		id, tenant := task.ID(fmt.Sprintf("o-%d", i)), fmt.Sprintf("tenant-%d", i)
		first := held(id, tenant, 4)
		if other := held("o-other", tenant, 1); first.Shard != other.Shard {
			t.Errorf("two tasks of %s wait in shards %d and %d", tenant, first.Shard, other.Shard)
		}
		if alone := held(id, "", 1); alone.Shard != task.HeldShard(task.HeldLines) {
			t.Errorf("one shard: a task of nobody waits in %d", alone.Shard)
		}
		tenants[first.Shard], ids[held(id, "", 4).Shard] = true, true
		woken, err := task.Decide(w, first, task.Event{Kind: task.Woken, By: "two", Shards: 4}, noon())
		if err != nil || woken.Task.Shard < 0 || woken.Task.Shard >= 4 {
			t.Errorf("a held task that goes on is in shard %d, %v", woken.Task.Shard, err)
		}
	}
	if len(tenants) != task.HeldLines || len(ids) != 4 {
		t.Errorf("tenants wait in %d shards, want %d; tasks of nobody in %d, want 4", len(tenants), task.HeldLines, len(ids))
	}
	for p, rank := range map[task.Priority]int{task.High: 0, task.Normal: 1, "": 1, task.Low: 2} {
		w.Priority = p
		first := rank * task.HeldLines
		for i := range 50 {
			for _, tenant := range []string{"", fmt.Sprint("tenant-", i)} {
				id := task.ID(fmt.Sprint("o-", i))
				if n := task.HeldShard(held(id, tenant, 4).Shard); n < first || n >= first+task.HeldLines {
					t.Errorf("a task of priority %q and tenant %q waits in the %dth shard, want one of %d from %d", p, tenant, n, task.HeldLines, first)
				}
			}
		}
	}
}

// TestATaskStaysInItsShard, also in the first, when there are more shards than when
// it began.
func TestATaskStaysInItsShard(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		sub := submission(sequence("a"))
		sub.ID = task.ID(fmt.Sprint("o-", i))
		began, err := decideTwice(sequence("a"), task.Task{}, task.Event{Kind: task.Submitted, Submission: sub, Shards: 1, By: "one"}, noon())
		if err != nil {
			t.Fatal(err)
		}
		reply := task.Event{Kind: task.Replied, Step: "a", Attempt: 1, LockedBy: "one", Outcome: task.Succeeded, By: "two", Shards: 8}
		ended, err := decideTwice(sequence("a"), began.Task, reply, noon())
		if err != nil || ended.Task.State != task.Processed || ended.Task.Shard != 0 {
			t.Errorf("the task is %s, in shard %d, error %v", ended.Task.State, ended.Task.Shard, err)
		}
	}
}

func TestShardsAreStableAndAllUsed(t *testing.T) {
	t.Parallel()
	used := map[int]bool{}
	for i := range 500 {
		sub := submission(sequence("a"))
		sub.ID = task.ID("order-" + strings.Repeat("x", i%100) + string(rune('a'+i%26)))
		e := task.Event{Kind: task.Submitted, Submission: sub, Shards: 8, By: "one"}
		d, err := decideTwice(sequence("a"), task.Task{}, e, noon())
		if err != nil {
			t.Fatal(err)
		}
		used[d.Task.Shard] = true
	}
	for s := range used {
		if s < 0 || s >= 8 {
			t.Errorf("shard %d of 8", s)
		}
	}
	if len(used) != 8 {
		t.Errorf("%d shards of 8 are used", len(used))
	}
}

func TestProgrammerErrorsAreErrors(t *testing.T) {
	t.Parallel()
	w := sequence("a")
	d, err := task.Decide(w, task.Task{}, task.Event{Kind: task.Submitted, Submission: submission(w), By: "one"}, noon())
	if err != nil {
		t.Fatal(err)
	}
	most := flow(slices.Repeat([]task.Step{{Name: "s", Agent: "a"}}, task.MaxSteps)...)
	if _, err := task.Decide(most, task.Task{}, task.Event{Kind: task.Submitted, Submission: submission(most), By: "one"}, noon()); err != nil {
		t.Errorf("of %d steps: %v", task.MaxSteps, err)
	}
	newer, longer := w, sequence("a", "b")
	newer.Version = 2
	many := make([]task.Step, task.MaxSteps+1)
	for name, c := range map[string]struct {
		w     task.Workflow
		kind  task.Kind
		wrong string
	}{
		"an event of no kind":        {w, "", `unknown kind ""`},
		"an event of another kind":   {w, "exploded", `unknown kind "exploded"`},
		"another version":            {newer, task.Woken, "it is pinned to order@1, and was given order@2"},
		"another content":            {longer, task.Woken, "pinned to"},
		"a definition without steps": {task.Workflow{Name: "order", Version: 1}, task.Woken, "it has 0 steps"},
		"too many steps":             {task.Workflow{Name: "order", Version: 1, Steps: many}, task.Submitted, "it has 65 steps"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := task.Decide(c.w, d.Task, task.Event{Kind: c.kind, Submission: submission(w)}, noon())
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("error is %v, want one with %q", err, c.wrong)
			}
		})
	}
}

// TestTheLargestOrderAndOutputFitIntoOneMessage: what is left of a message of
// 256 KB is for what else a request holds.
func TestTheLargestOrderAndOutputFitIntoOneMessage(t *testing.T) {
	t.Parallel()
	if room := 256<<10 - task.MaxOrder - task.MaxOutput; room != 16<<10 {
		t.Errorf("%d bytes are left for the rest of a request, want 16 KB", room)
	}
}
