package dynamostore_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"triad/shared/store"
	"triad/shared/store/dynamostore"
	"triad/shared/task"
)

func TestUnprocessedKeysAreAskedForAgain(t *testing.T) {
	t.Parallel()
	client, config := tables(t)
	f := &faulty{Client: client}
	s := dynamostore.New(f, config)
	var want []task.ID
	for i := range 7 {
		v := everything(task.ID(fmt.Sprintf("order-%d", i)))
		create(t, s, v)
		want = append(want, v.ID)
	}
	calls := 0
	f.batchGet = func(in *dynamodb.BatchGetItemInput) (left []map[string]types.AttributeValue) {
		calls++
		keys := in.RequestItems[config.Tasks].Keys
		if len(keys) > 3 {
			in.RequestItems[config.Tasks] = types.KeysAndAttributes{Keys: keys[:3]}
			left = keys[3:]
		}
		return left
	}
	if got := listed(t, s, store.ListQuery{Unfinished: true}); !slices.Equal(got, want) || calls != 3 {
		t.Errorf("got %v in %d calls, want %v in 3", got, calls, want)
	}
}

// TestARowThatMovesComesOnce: a page of the index may have the old row of a task and
// the new one.
func TestARowThatMovesComesOnce(t *testing.T) {
	t.Parallel()
	client, config := tables(t)
	f := &faulty{Client: client}
	s := dynamostore.New(f, config)
	want := []task.ID{"order-0", "order-1", "order-2"}
	for _, id := range want {
		create(t, s, everything(id))
	}
	f.query = func(out *dynamodb.QueryOutput) {
		if len(out.Items) > 1 {
			moved := maps.Clone(out.Items[0])
			moved["CompleteBy"] = &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(created+9), 10)}
			out.Items = append(out.Items, moved)
		}
	}
	if got := listed(t, s, store.ListQuery{Unfinished: true}); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestAListThatFindsLittleReadsManyRowsAtOnce: also for the last place of a page.
func TestAListThatFindsLittleReadsManyRowsAtOnce(t *testing.T) {
	t.Parallel()
	client, config := tables(t)
	f := &faulty{Client: client}
	s := dynamostore.New(f, config)
	for i := range 30 {
		v := everything(task.ID(fmt.Sprintf("order-%02d", i)))
		if v.CompleteBy += task.Millis(i); i == 20 {
			v.Tenant = "wanted"
		}
		create(t, s, v)
	}
	calls := 0
	f.batchGet = func(*dynamodb.BatchGetItemInput) []map[string]types.AttributeValue { calls++; return nil }
	page, err := s.List(t.Context(), store.ListQuery{Unfinished: true, Tenant: "wanted", Limit: 1})
	if err != nil || len(page.Tasks) != 1 || page.Tasks[0].ID != "order-20" || calls != 1 {
		t.Errorf("got %v and error %v in %d calls, want order-20 in one", page.Tasks, err, calls)
	}
	rest, err := s.List(t.Context(), store.ListQuery{Unfinished: true, Cursor: page.Next})
	if err != nil || len(rest.Tasks) != 9 || rest.Tasks[0].ID != "order-21" {
		t.Errorf("behind it: got %d tasks and error %v, want 9", len(rest.Tasks), err)
	}
}

// listed pages through a list and returns the ids, sorted.
func listed(t *testing.T, s *dynamostore.Store, q store.ListQuery) (ids []task.ID) {
	t.Helper()
	for {
		page, err := s.List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range page.Tasks {
			ids = append(ids, v.ID)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			slices.Sort(ids)
			return ids
		}
	}
}

// TestTheIndexIsAHint: rows of tasks that are gone, have ended or have moved.
func TestTheIndexIsAHint(t *testing.T) {
	t.Parallel()
	client, config := tables(t)
	var stale *dynamodb.QueryOutput
	f := &faulty{Client: client}
	s := dynamostore.New(f, config)
	live, ended := everything("live"), everything("ended")
	create(t, s, live)
	create(t, s, ended)
	create(t, s, everything("gone"))
	f.query = func(out *dynamodb.QueryOutput) { stale = out }
	before, err := s.Due(t.Context(), store.DueQuery{Shard: 3, Before: created * 2, Limit: 10})
	if err != nil || len(before.Rows) != 3 {
		t.Fatalf("got %v and error %v, want three rows", before, err)
	}
	ended = next(ended)
	ended.State, ended.CompleteBy = task.Processed, 0
	commit(t, s, ended)
	if _, err := client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &config.Tasks, Key: key("gone", "task")}); err != nil {
		t.Fatal(err)
	}
	f.query = func(out *dynamodb.QueryOutput) {
		if len(out.Items) > 0 {
			out.Items = stale.Items
		}
	}
	if got := listed(t, s, store.ListQuery{Unfinished: true}); !slices.Equal(got, []task.ID{"live"}) {
		t.Errorf("got %v, want only the task that is unfinished", got)
	}
}

func TestHeldAndFailedTasksHavePartitionsOfTheirOwn(t *testing.T) {
	t.Parallel()
	client, config := tables(t)
	s := dynamostore.New(client, config)
	for id, change := range map[task.ID]func(*task.Task){
		"live":        func(*task.Task) {},
		"held":        func(v *task.Task) { v.Shard = task.HeldShard(3) },
		"failed":      func(v *task.Task) { v.State, v.CompleteBy = task.Error, 0 },
		"failed held": func(v *task.Task) { v.State, v.CompleteBy, v.Shard = task.Error, 0, task.HeldShard(3) },
		"owing":       func(v *task.Task) { v.State = task.Error },
	} {
		v := everything(task.ID(strings.ReplaceAll(string(id), " ", "-")))
		change(&v)
		create(t, s, v)
		wantTask(t, s, v)
	}
	due := func(shard int) (ids []task.ID) {
		page, err := s.Due(t.Context(), store.DueQuery{Shard: shard, Before: created * 2, Limit: 10})
		if err != nil || page.Next != "" {
			t.Errorf("shard %d: next %q, error %v", shard, page.Next, err)
		}
		for _, row := range page.Rows {
			ids = append(ids, row.ID)
		}
		slices.Sort(ids)
		return ids
	}
	for name, test := range map[string]struct{ got, want []task.ID }{
		"due":                     {due(3), []task.ID{"live", "owing"}},
		"held":                    {due(task.HeldShard(3)), []task.ID{"held"}},
		"unfinished":              {listed(t, s, store.ListQuery{Unfinished: true, Limit: 1}), []task.ID{"held", "live"}},
		"failed, their alert out": {listed(t, s, store.ListQuery{State: task.Error, Limit: 1}), []task.ID{"failed", "failed-held"}},
	} {
		if !slices.Equal(test.got, test.want) {
			t.Errorf("%s: got %v, want %v", name, test.got, test.want)
		}
	}
}

func TestQueriesThatWouldReadEverythingAreRefused(t *testing.T) {
	t.Parallel()
	client, config := tables(t)
	s := dynamostore.New(client, config)
	for _, q := range []store.ListQuery{{}, {State: task.Processed}, {Workflow: "order"}, {Tenant: "shop"}} {
		if _, err := s.List(t.Context(), q); !errors.Is(err, store.ErrUnsupported) {
			t.Errorf("List(%+v): got %v, want %v", q, err, store.ErrUnsupported)
		}
	}
}
