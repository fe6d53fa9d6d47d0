package dynamostore_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"triad/shared/store"
	"triad/shared/store/dynamostore"
	"triad/shared/task"
)

// attributes is an item in the JSON that AWS writes it in.
type attributes map[string]attribute

type attribute struct {
	S, N *string
	B    []byte
	BOOL *bool
	M    attributes
}

func (all attributes) item() map[string]types.AttributeValue {
	item := map[string]types.AttributeValue{}
	for name, a := range all {
		switch {
		case a.S != nil:
			item[name] = &types.AttributeValueMemberS{Value: *a.S}
		case a.N != nil:
			item[name] = &types.AttributeValueMemberN{Value: *a.N}
		case a.BOOL != nil:
			item[name] = &types.AttributeValueMemberBOOL{Value: *a.BOOL}
		case a.M != nil:
			item[name] = &types.AttributeValueMemberM{Value: a.M.item()}
		default:
			item[name] = &types.AttributeValueMemberB{Value: a.B}
		}
	}
	return item
}

func attributesOf(item map[string]types.AttributeValue) attributes {
	all := attributes{}
	for name, v := range item {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			all[name] = attribute{S: &v.Value}
		case *types.AttributeValueMemberN:
			all[name] = attribute{N: &v.Value}
		case *types.AttributeValueMemberBOOL:
			all[name] = attribute{BOOL: &v.Value}
		case *types.AttributeValueMemberM:
			all[name] = attribute{M: attributesOf(v.Value)}
		case *types.AttributeValueMemberB:
			all[name] = attribute{B: v.Value}
		}
	}
	return all
}

// single is a table with one item, which was written last, and one order.
type single struct {
	dynamostore.Client
	record, order map[string]types.AttributeValue
	sides         []map[string]types.AttributeValue
}

func (s *single) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return &dynamodb.QueryOutput{Items: append(s.sides[:len(s.sides):len(s.sides)], s.record)}, nil
}

func (s *single) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{Item: s.order}, nil
}

func (s *single) TransactGetItems(_ context.Context, in *dynamodb.TransactGetItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error) {
	out := &dynamodb.TransactGetItemsOutput{Responses: make([]types.ItemResponse, len(in.TransactItems))}
	out.Responses[0].Item = s.record
	if len(out.Responses) > 1 {
		out.Responses[1].Item = s.order
	}
	return out, nil
}

func (s *single) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	s.record = in.Item
	return &dynamodb.PutItemOutput{}, nil
}

func (s *single) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	s.sides = nil
	for _, w := range in.TransactItems {
		switch {
		case w.Put == nil:
		case w.Put.Item["Order"] != nil:
			s.order = w.Put.Item
		case w.Put.Item["Body"] != nil:
			s.sides = append(s.sides, w.Put.Item)
		default:
			s.record = w.Put.Item
		}
	}
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

// FuzzItem: no item of the table makes Load panic; what is wrong with it is said as
// damage, and what is read and written again reads the same.
func FuzzItem(f *testing.F) {
	for _, v := range []task.Task{everything("o-1"), {ID: "o-2", Workflow: "order@1", State: task.Pending, Version: 1, Op: "op", Order: []byte(`{}`)}} {
		table := &single{}
		if err := dynamostore.New(table, dynamostore.Config{}).Create(context.Background(), store.Change{Task: v}); err != nil {
			f.Fatal(err)
		}
		raw, err := json.Marshal(attributesOf(table.record))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Add([]byte(`{"TaskID":{"S":"a"},"Part":{"S":"task"},"Version":{"N":"1"},"Steps":{"M":{"s":{"M":{"i":{"N":"0"},"by":{"N":"-9223372036854775808"},"big":{"S":"x"}}}}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var given attributes
		if json.Unmarshal(raw, &given) != nil || given == nil {
			return
		}
		if given["Part"].S == nil {
			text := "task"
			given["Part"] = attribute{S: &text}
		}
		order := "{}"
		table := &single{record: given.item(), order: attributes{"Order": {S: &order}}.item()}
		s := dynamostore.New(table, dynamostore.Config{})
		first, err := s.Load(t.Context(), "o-1")
		if err != nil {
			if !errors.Is(err, store.ErrDamaged) && !errors.Is(err, store.ErrNotFound) {
				t.Errorf("got %v, want %v", err, store.ErrDamaged)
			}
			return
		}
		changed := next(first)
		if s.Commit(t.Context(), store.Change{Task: changed, Outputs: large(changed)}) != nil {
			return
		}
		again, err := s.Load(t.Context(), "o-1")
		if diff := cmp.Diff(changed, again); err != nil || diff != "" {
			t.Errorf("written and read again: %v (-written +read)\n%s", err, diff)
		}
	})
}
