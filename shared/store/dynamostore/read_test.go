package dynamostore_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"triad/shared/store"
	"triad/shared/store/dynamostore"
	"triad/shared/task"
)

// withLarge is a task with a large output.
func withLarge(id task.ID) task.Task {
	v := everything(id)
	v.Steps[2].Output = []byte(strings.Repeat("1", 1_000))
	return v
}

func key(id task.ID, part string) map[string]types.AttributeValue {
	m := map[string]types.AttributeValue{"TaskID": &types.AttributeValueMemberS{Value: string(id)}}
	if part != "" {
		m["Part"] = &types.AttributeValueMemberS{Value: part}
	}
	return m
}

// set changes an attribute, or a part of one, of an item of Tasks.
func set(t *testing.T, client *dynamodb.Client, config dynamostore.Config, key map[string]types.AttributeValue, name string, v types.AttributeValue) {
	t.Helper()
	var path []string
	names := map[string]string{}
	for i, part := range strings.Split(name, ".") {
		path = append(path, fmt.Sprint("#p", i))
		names[path[i]] = part
	}
	_, err := client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: &config.Tasks, Key: key, UpdateExpression: aws.String("SET " + strings.Join(path, ".") + " = :v"),
		ExpressionAttributeNames: names, ExpressionAttributeValues: map[string]types.AttributeValue{":v": v},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLoadMeetsATransactionHalfApplied: what one read missed, a snapshot has.
func TestLoadMeetsATransactionHalfApplied(t *testing.T) {
	t.Parallel()
	client, config := tables(t)
	v := withLarge("order-1")
	create(t, dynamostore.New(client, config), v)
	tests := map[string]*faulty{
		"the order is not there yet": {get: func(out *dynamodb.GetItemOutput) { out.Item = nil }},
		"the output is not there yet": {query: func(out *dynamodb.QueryOutput) {
			out.Items = slices.DeleteFunc(out.Items, func(m map[string]types.AttributeValue) bool { return m["Body"] != nil })
		}},
		"the output is still the one before": {query: func(out *dynamodb.QueryOutput) {
			for _, m := range out.Items {
				if m["Body"] != nil {
					m["Body"] = &types.AttributeValueMemberS{Value: "before"}
				}
			}
		}},
	}
	for name, f := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f.Client = client
			wantTask(t, dynamostore.New(f, config), v)
			conflict := once(func(func() error) error { return cancelled("TransactionConflict", "") })
			f.snapshot = func() error { return conflict(func() error { return nil }) }
			wantTask(t, dynamostore.New(f, config), v)
		})
	}
}

func TestWhatIsMissingOrChangedIsDamaged(t *testing.T) {
	t.Parallel()
	set := func(name string, v types.AttributeValue) func(*testing.T, *dynamodb.Client, dynamostore.Config) {
		return func(t *testing.T, client *dynamodb.Client, config dynamostore.Config) {
			set(t, client, config, key("order-1", "task"), name, v)
		}
	}
	remove := func(part string) func(*testing.T, *dynamodb.Client, dynamostore.Config) {
		return func(t *testing.T, client *dynamodb.Client, config dynamostore.Config) {
			table := config.Tasks
			if part == "" {
				table = config.Orders
			}
			if _, err := client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: key("order-1", part)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	text, number := &types.AttributeValueMemberS{Value: "x"}, &types.AttributeValueMemberN{Value: "1.5"}
	for name, damage := range map[string]func(*testing.T, *dynamodb.Client, dynamostore.Config){
		"no order":                   remove(""),
		"no side item":               remove("output/m"),
		"a version that is a text":   set("Version", text),
		"half a version":             set("Version", number),
		"a state that is a number":   set("ProcessState", number),
		"a shard that is none":       set("Shard", text),
		"a flag that is a text":      set("Paused", text),
		"steps that are a text":      set("Steps", text),
		"a step that is a text":      set("Steps.m", text),
		"a step's place that is far": set("Steps.m.i", &types.AttributeValueMemberN{Value: "7"}),
		"a step's place taken":       set("Steps.m.i", &types.AttributeValueMemberN{Value: "1"}),
		"an output that is a number": set("Steps.z.o", number),
		"a fingerprint that is text": set("Steps.m.big", text),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, config := tables(t)
			s := dynamostore.New(client, config)
			create(t, s, withLarge("order-1"))
			damage(t, client, config)
			_, err := s.Load(t.Context(), "order-1")
			if wantOurs(t, err, "order-1"); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("got %v, want %v", err, store.ErrDamaged)
			}
		})
	}
}

// TestWhatALaterVersionAddsIsNoDamage: while a new version of Triad is rolled out, the
// old one reads what the new one wrote.
func TestWhatALaterVersionAddsIsNoDamage(t *testing.T) {
	t.Parallel()
	client, config := tables(t)
	s := dynamostore.New(client, config)
	v := withLarge("order-1")
	create(t, s, v)
	for _, name := range []string{"Later", "Steps.m.later"} {
		set(t, client, config, key("order-1", "task"), name, &types.AttributeValueMemberBOOL{Value: true})
	}
	wantTask(t, s, v)
}

func TestStepsNeedNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "z"} {
		v := everything("order-1")
		v.Steps[1].Name = name
		if _, err := dynamostore.Size(v, 0); err == nil {
			t.Errorf("step named %q: got no error", name)
		}
	}
}

func TestCursorsOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	client, config := tables(t)
	s := dynamostore.New(client, config)
	for _, cursor := range []string{"x", "3", "3.1", "3.x.order-1", "4.1.order-1", "3.1.no id", "error-3.1.order-1", "held-3.1.a"} {
		_, err := s.Due(t.Context(), store.DueQuery{Shard: 3, Before: created, Limit: 1, Cursor: cursor})
		if wantOurs(t, err); !errors.Is(err, store.ErrCursor) {
			t.Errorf("Due from %q: got %v, want %v", cursor, err, store.ErrCursor)
		}
	}
	for _, cursor := range []string{"x", "16.1.order-1", "3.1.no id", "error-3.1.order-1"} {
		if _, err := s.List(t.Context(), store.ListQuery{Unfinished: true, Cursor: cursor}); !errors.Is(err, store.ErrCursor) {
			t.Errorf("List from %q: got %v, want %v", cursor, err, store.ErrCursor)
		}
	}
}

func TestAnOrderWithoutATaskIsDamaged(t *testing.T) {
	t.Parallel()
	client, config := tables(t)
	s := dynamostore.New(client, config)
	create(t, s, everything("order-1"))
	if _, err := client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &config.Tasks, Key: key("order-1", "task")}); err != nil {
		t.Fatal(err)
	}
	if err := s.Create(t.Context(), store.Change{Task: everything("order-1")}); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("got %v, want %v", err, store.ErrDamaged)
	}
}

func TestCreateTablesMayBeRepeated(t *testing.T) {
	t.Parallel()
	client, config := tables(t)
	if err := dynamostore.CreateTables(t.Context(), client, config); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{config.Tasks, config.Orders} {
		ttl, err := client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &table})
		if err != nil || aws.ToString(ttl.TimeToLiveDescription.AttributeName) != "Expires" {
			t.Errorf("%s: time to live is %+v, error %v", table, ttl, err)
		}
	}
}
