package dynamostore_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"triad/shared/store"
	"triad/shared/store/dynamostore"
	"triad/shared/task"
)

// beside is how long the order and the outputs are kept after a deadline, or
// after an end that comes later.
const beside = keep + 30*24*time.Hour

// expiries reads the Expires of the record, the order and the side item of step
// m, in seconds.
func expiries(t *testing.T, client *dynamodb.Client, config dynamostore.Config, id task.ID) (all [3]int64) {
	t.Helper()
	for i, part := range []string{"task", "", "output/m"} {
		table := config.Tasks
		if part == "" {
			table = config.Orders
		}
		all[i] = expires(t, client, table, key(id, part))
	}
	return all
}

// expires is the Expires of an item; 0 when it has none.
func expires(t *testing.T, client *dynamodb.Client, table string, key map[string]types.AttributeValue) int64 {
	t.Helper()
	out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil || out.Item == nil {
		t.Fatalf("item %v of table %s: got none, error %v", key, table, err)
	}
	n, is := out.Item["Expires"].(*types.AttributeValueMemberN)
	if !is {
		return 0
	}
	at, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func after(m task.Millis, d time.Duration) int64 { return m.Add(d).Time().Unix() }

func drop(t *testing.T, client *dynamodb.Client, table string, key map[string]types.AttributeValue) {
	t.Helper()
	if _, err := client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: key}); err != nil {
		t.Fatal(err)
	}
}

func TestATaskExpiresWithAllThatBelongsToIt(t *testing.T) {
	t.Parallel()
	const day = 86_400_000
	const deadline, resubmitted = created + day, created + 30*day
	client, config := tables(t)
	config.Keep = keep
	s := dynamostore.New(client, config)
	v := withLarge("order-1")
	v.State, v.Deadline, v.CompleteBy, v.EndedAt = task.Processing, deadline, created+5, 0
	create(t, s, v)
	for _, step := range []struct {
		name           string
		state          task.State
		by, ended, due task.Millis // CompleteBy, EndedAt, Deadline
		record, beside int64
	}{
		{"it is under way", task.Processing, deadline, 0, deadline, 0, after(deadline, beside)},
		{"it is done, but owes a notice", task.Processed, created + 9, created + 8, deadline, 0, after(deadline, beside)},
		{"it is done", task.Processed, 0, created + 8, deadline, after(created+8, keep), after(deadline, beside)},
		{"it is undone, and will be looked at by its deadline", task.Compensating, deadline, 0, deadline, 0, after(deadline, beside)},
		{"it will not be looked at by its deadline", task.Compensating, deadline + 1, 0, deadline, 0, 0},
		{"it is undone beyond its deadline", task.Compensating, deadline + day, 0, deadline, 0, 0},
		{"it failed, and owes an alert", task.Error, deadline + 9, deadline + 8, deadline, 0, 0},
		{"it failed: an operator has to look at it", task.Error, 0, deadline + 8, deadline, 0, 0},
		{"it was resubmitted, with another deadline", task.Processing, resubmitted, 0, resubmitted, 0, after(resubmitted, beside)},
		{"it failed again, before its deadline", task.Error, 0, resubmitted - 5, resubmitted, 0, 0},
		{"its end was asked for", task.Compensating, resubmitted - 1, 0, resubmitted, 0, after(resubmitted, beside)},
		{"it ended long after its deadline", task.Cancelled, 0, resubmitted + 40*day, resubmitted,
			after(resubmitted+40*day, keep), after(resubmitted+40*day, beside)},
	} {
		v = next(v)
		v.State, v.CompleteBy, v.EndedAt, v.Deadline = step.state, step.by, step.ended, step.due
		for range 2 { // the repeat finds itself
			commit(t, s, v)
		}
		if got, want := expiries(t, client, config, v.ID), [3]int64{step.record, step.beside, step.beside}; got != want {
			t.Errorf("%s: Expires of task, order and output are %d, want %d", step.name, got, want)
		}
		wantTask(t, s, v)
	}
	stale := next(v)
	stale.Version, stale.State, stale.CompleteBy = 3, task.Compensating, resubmitted+1
	if err := s.Commit(t.Context(), store.Change{Task: stale}); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a stale commit of a task that expires: got %v, want %v", err, store.ErrConflict)
	}
}

// TestKeepMayChangeWhileTasksAreUnderWay: each commit brings what is beside the
// record to what its store wants.
func TestKeepMayChangeWhileTasksAreUnderWay(t *testing.T) {
	t.Parallel()
	client, config := tables(t)
	forEver := dynamostore.New(client, config)
	config.Keep = keep
	forATime := dynamostore.New(client, config)
	v := withLarge("order-1")
	create(t, forEver, v)
	for i, s := range []*dynamostore.Store{forATime, forATime, forEver, forEver, forATime} {
		want := after(v.EndedAt, beside)
		if s == forEver {
			want = 0
		}
		v = next(v)
		commit(t, s, v)
		if got := expiries(t, client, config, v.ID); got != [3]int64{0, want, want} {
			t.Errorf("commit %d: Expires of task, order and output are %d, want 0, %d, %d", i, got, want, want)
		}
	}
}

// ended is a task that ended so early that it has expired. DynamoDB Local would
// delete it: its Expires is set so far back that it doesn't, as AWS wouldn't
// (more than five years).
func ended(id task.ID) task.Task {
	v := withLarge(id)
	v.State, v.CompleteBy, v.CreatedAt, v.EndedAt, v.Deadline = task.Processed, 0, 1_000_000, 1_000_000, 2_000_000
	v.Steps[1].CompleteBy, v.Steps[1].StartedAt, v.Steps[1].EndedAt = 0, 0, 0
	return v
}

// TestAnIDIsFreeOnceItsTaskHasExpired: whatever of it DynamoDB has deleted.
func TestAnIDIsFreeOnceItsTaskHasExpired(t *testing.T) {
	t.Parallel()
	client, config := tables(t)
	config.Keep = time.Hour
	s := dynamostore.New(client, config)
	parts := map[string]struct{ table, part string }{
		"record": {config.Tasks, "task"}, "order": {config.Orders, ""}, "output": {config.Tasks, "output/m"},
	}
	for i, deleted := range [][]string{nil, {"record"}, {"order"}, {"output"}, {"record", "order"}, {"order", "output"}, {"record", "output"}} {
		t.Run(fmt.Sprint("deleted: ", deleted), func(t *testing.T) {
			t.Parallel()
			old := ended(task.ID(fmt.Sprint("order-", i)))
			create(t, s, old)
			for _, d := range deleted {
				drop(t, client, parts[d].table, key(old.ID, parts[d].part))
			}
			switch got, err := s.Load(t.Context(), old.ID); {
			case deleted == nil && (err != nil || got.Version != 1):
				t.Errorf("a whole task: Load returned %v, want it", err)
			case deleted != nil && !errors.Is(err, store.ErrNotFound):
				t.Errorf("Load returned %v, want %v", err, store.ErrNotFound)
			}
			again := everything(old.ID)
			again.Op, again.Order = "op-again", []byte(`"another"`)
			for range 2 { // the repeat finds itself
				create(t, s, again)
			}
			wantTask(t, s, again)
			again.Op = "op-third"
			if err := s.Create(t.Context(), store.Change{Task: again}); !errors.Is(err, store.ErrExists) {
				t.Errorf("creating it once more: got %v, want %v", err, store.ErrExists)
			}
		})
	}
}

// TestOnlyTasksThatOutliveTheirDeadlinePayToExpire: the whole price of a task
// that ends in time is that of a task that is kept for ever.
func TestOnlyTasksThatOutliveTheirDeadlinePayToExpire(t *testing.T) {
	t.Parallel()
	price := func(t *testing.T, keep time.Duration, then func(*run)) (units float64) {
		client, config := tables(t)
		config.Keep = keep
		meter := &metered{Client: client}
		r := &run{t: t, s: dynamostore.New(meter, config), w: reference(), now: created, write: func(string, task.Task) {
			table, index := meter.read()
			units += table + index
		}}
		r.submit("order-2026-10-17-000001")
		then(r)
		return units
	}
	compensated := func(r *run) {
		r.reply("reserve", task.Succeeded)
		r.reply("charge", task.FailedPermanently)
		r.reply("reserve", task.Succeeded)
	}
	failed := func(r *run) {
		compensate := r.w.Steps[0].OnExhausted
		r.w.Steps[0].OnExhausted = task.OnError
		r.reply("reserve", task.FailedPermanently)
		r.w.Steps[0].OnExhausted = compensate
	}
	for name, test := range map[string]struct {
		then func(*run)
		end  task.State
		more float64
	}{
		"compensated in time": {compensated, task.Compensated, 0},
		// A refused write, 1; a transaction of record and order instead of a write, 3.
		"failed": {failed, task.Error, 4},
		"failed, resubmitted, compensated": {func(r *run) {
			failed(r)
			r.apply("resubmission", task.Event{Kind: task.Resubmitted})
			compensated(r)
		}, task.Compensated, 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			then := func(r *run) {
				if test.then(r); r.task.State != test.end {
					t.Errorf("the order is %s, want it %s", r.task.State, test.end)
				}
			}
			if more := price(t, keep, then) - price(t, 0, then); more > test.more {
				t.Errorf("to expire costs %v units, want at most %v", more, test.more)
			}
		})
	}
}

// TestNoOrderExpiresBeforeItsTaskHasEnded takes orders through whatever may
// happen to them, and checks after each commit what expires when.
func TestNoOrderExpiresBeforeItsTaskHasEnded(t *testing.T) {
	t.Parallel()
	client, config := tables(t)
	config.Keep = keep
	s := dynamostore.New(client, config)
	for seed := range uint64(12) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			j := &journey{w: reference(), random: random, now: created, text: fullError, output: json.RawMessage(`"` + fmt.Sprintf("%0300d", seed) + `"`)}
			j.commit = func(d task.Decision) {
				put := s.Commit
				if d.Task.Version == 1 {
					put = s.Create
				}
				if err := put(t.Context(), store.Change{Task: d.Task, Locks: d.Locks, Outputs: d.Outputs}); err != nil {
					t.Fatalf("%s, version %d: %v", d.Task.State, d.Task.Version, err)
				}
				checkExpiry(t, client, config, d.Task)
			}
			j.submit(task.ID(fmt.Sprint("order-", seed)))
			for range 60 {
				j.event()
			}
			j.end()
			if v := j.task; v.State == task.Error || expires(t, client, config.Tasks, key(v.ID, "task")) == 0 {
				t.Errorf("the task is %s, CompleteBy %d: it must expire in the end", v.State, v.CompleteBy)
			}
		})
	}
}

// checkExpiry checks what expires when, of a task that was just committed.
func checkExpiry(t *testing.T, client *dynamodb.Client, config dynamostore.Config, v task.Task) {
	t.Helper()
	record, order := expires(t, client, config.Tasks, key(v.ID, "task")), expires(t, client, config.Orders, key(v.ID, ""))
	about := fmt.Sprintf("version %d: %s, CompleteBy %d, Deadline %d, EndedAt %d: ", v.Version, v.State, v.CompleteBy, v.Deadline, v.EndedAt)
	for _, step := range v.Steps {
		if len(step.Output) <= task.InlineOutput {
			continue
		}
		if at := expires(t, client, config.Tasks, key(v.ID, "output/"+step.Name)); (at == 0) != (order == 0) {
			t.Errorf("%sthe output of %s expires at %d, the order at %d", about, step.Name, at, order)
		} else if at != 0 && at < record {
			t.Errorf("%sthe output of %s expires at %d, before the record at %d", about, step.Name, at, record)
		}
	}
	over := v.State.Finished() && v.State != task.Error && v.CompleteBy == 0
	switch {
	case over && record != after(v.EndedAt, keep):
		t.Errorf("%sthe record expires at %d, want %d", about, record, after(v.EndedAt, keep))
	case over && order < after(v.EndedAt, beside):
		t.Errorf("%sthe order expires at %d, want it long after the record, at %d", about, order, record)
	case !over && record != 0:
		t.Errorf("%sthe record expires", about)
	case order == 0:
	case v.State == task.Error, !over && v.CompleteBy > v.Deadline:
		t.Errorf("%sthe order expires, though nobody may look at the task before", about)
	case !over && order < after(v.Deadline, beside):
		t.Errorf("%sthe order expires at %d, want it long after the deadline", about, order)
	}
}
