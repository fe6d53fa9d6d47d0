package dynamostore_test

import (
	"context"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"triad/shared/store"
	"triad/shared/store/dynamostore"
	"triad/shared/task"
)

// metered adds up the write units that DynamoDB reports.
type metered struct {
	dynamostore.Client
	mu           sync.Mutex
	table, index float64
}

// read returns the units since it was last read.
func (m *metered) read() (table, index float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	table, index = m.table, m.index
	m.table, m.index = 0, 0
	return table, index
}

// add counts what DynamoDB Local reports. A transaction doubles the units of the
// table only, on AWS; DynamoDB Local doubles those of the index too: factor
// corrects that.
func (m *metered) add(c *types.ConsumedCapacity, factor float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	index := 0.0
	for _, i := range c.GlobalSecondaryIndexes {
		index += aws.ToFloat64(i.CapacityUnits)
	}
	m.index += index * factor
	m.table += aws.ToFloat64(c.CapacityUnits) - index
}

func (m *metered) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityIndexes
	out, err := m.Client.PutItem(ctx, in, o...)
	if err == nil {
		m.add(out.ConsumedCapacity, 1)
	}
	return out, err
}

func (m *metered) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityIndexes
	out, err := m.Client.TransactWriteItems(ctx, in, o...)
	if err == nil {
		for i := range out.ConsumedCapacity {
			m.add(&out.ConsumedCapacity[i], 0.5)
		}
	}
	return out, err
}

// faulty lets a test do something else than, or around, a call. A nil field
// leaves the calls alone.
type faulty struct {
	dynamostore.Client
	write    func(call func() error) error
	query    func(*dynamodb.QueryOutput)
	get      func(*dynamodb.GetItemOutput)
	batchGet func(*dynamodb.BatchGetItemInput) (left []map[string]types.AttributeValue)
	snapshot func() error
}

func (f *faulty) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.PutItemOutput, err error) {
	call := func() error { out, err = f.Client.PutItem(ctx, in, o...); return err }
	return out, f.around(call)
}

func (f *faulty) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (out *dynamodb.TransactWriteItemsOutput, err error) {
	call := func() error { out, err = f.Client.TransactWriteItems(ctx, in, o...); return err }
	return out, f.around(call)
}

func (f *faulty) around(call func() error) error {
	if f.write == nil {
		return call()
	}
	return f.write(call)
}

func (f *faulty) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out, err := f.Client.Query(ctx, in, o...)
	if err == nil && f.query != nil {
		f.query(out)
	}
	return out, err
}

func (f *faulty) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	out, err := f.Client.GetItem(ctx, in, o...)
	if err == nil && f.get != nil {
		f.get(out)
	}
	return out, err
}

func (f *faulty) TransactGetItems(ctx context.Context, in *dynamodb.TransactGetItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error) {
	if f.snapshot != nil {
		if err := f.snapshot(); err != nil {
			return nil, err
		}
	}
	return f.Client.TransactGetItems(ctx, in, o...)
}

func (f *faulty) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	if f.batchGet == nil {
		return f.Client.BatchGetItem(ctx, in, o...)
	}
	left := f.batchGet(in)
	out, err := f.Client.BatchGetItem(ctx, in, o...)
	if err == nil && len(left) > 0 {
		for table := range in.RequestItems {
			out.UnprocessedKeys = map[string]types.KeysAndAttributes{table: {Keys: left}}
		}
	}
	return out, err
}

// everything is a task with every field set.
func everything(id task.ID) task.Task {
	return task.Task{
		ID: id, Workflow: "order@1", State: task.Compensating, Version: 1, Op: "op-1", LockedBy: "l", CompleteBy: created + 5,
		Deadline: created + 6, FailureCount: 3, Goal: task.Cancelled, Reason: "why", Paused: true, Owing: true, Shard: 3,
		ResponseQueue: "q", Tenant: "shop", Resubmits: 2, OrderHash: "hash", CreatedAt: created, EndedAt: created + 7, Order: []byte(`{}`),
		Steps: []task.StepState{
			{Name: "z", State: task.Pending},
			{Name: "a.b #1", State: task.Compensating, LockedBy: "l", CompleteBy: created, Attempt: 9, FailureCount: 8, Waits: 7, Doubt: true,
				Undo: true, Signalled: true, StartedAt: created - 1, EndedAt: created + 1, Rank: 6, Error: "x", Output: []byte("\xff")},
			{Name: "m", State: task.Processed, Output: []byte(`{"id":1}`)},
		},
	}
}

// next is the task with one more version and another op.
func next(v task.Task) task.Task {
	v = v.Clone()
	v.Version++
	v.Op += "+"
	return v
}

func create(t *testing.T, s *dynamostore.Store, v task.Task) {
	t.Helper()
	if err := s.Create(t.Context(), store.Change{Task: v, Outputs: large(v)}); err != nil {
		t.Fatal(err)
	}
}

func commit(t *testing.T, s *dynamostore.Store, v task.Task, outputs ...task.Output) {
	t.Helper()
	if err := s.Commit(t.Context(), store.Change{Task: v, Outputs: outputs}); err != nil {
		t.Fatal(err)
	}
}

// large lists the outputs of a task.
func large(v task.Task) (all []task.Output) {
	for _, s := range v.Steps {
		if s.Output != nil {
			all = append(all, task.Output{Step: s.Name, Body: s.Output})
		}
	}
	return all
}
