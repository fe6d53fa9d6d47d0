package count

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"triad/shared/store/dynamostore"
)

// meter adds up the units that DynamoDB reports with each call.
type meter struct {
	client dynamostore.Client
	orders string // the name of the table

	mu            sync.Mutex
	writes, reads Units
	failed        error
}

var _ dynamostore.Client = (*meter)(nil)

// inTransaction corrects the units of an index. In a transaction AWS doubles those
// of the table and not those of its indexes; DynamoDB Local doubles both.
const inTransaction = 0.5

// add counts what one call consumed of one table.
func (m *meter) add(to *Units, c types.ConsumedCapacity, indexFactor float64) {
	index := 0.0
	for _, i := range c.GlobalSecondaryIndexes {
		index += aws.ToFloat64(i.CapacityUnits)
	}
	table := aws.ToFloat64(c.CapacityUnits) - index
	m.mu.Lock()
	defer m.mu.Unlock()
	to.Index += index * indexFactor
	if aws.ToString(c.TableName) == m.orders {
		to.Orders += table
	} else {
		to.Tasks += table
	}
}

// all counts a call that tells of several tables, or that it failed.
func (m *meter) all(to *Units, consumed []types.ConsumedCapacity, indexFactor float64, call string, err error) {
	if err != nil {
		m.fail(call, err)
		return
	}
	for _, c := range consumed {
		m.add(to, c, indexFactor)
	}
}

// one counts a call that tells of one table, or that it failed.
func (m *meter) one(to *Units, consumed *types.ConsumedCapacity, call string, err error) {
	if err == nil && consumed == nil {
		err = errUncounted
	}
	if err != nil {
		m.fail(call, err)
		return
	}
	m.add(to, *consumed, 1)
}

func (m *meter) fail(call string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failed = fmt.Errorf("%s: %w: %w", call, errUncounted, err)
}

func (m *meter) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityIndexes
	out, err := m.client.PutItem(ctx, in, o...)
	if out == nil {
		out = &dynamodb.PutItemOutput{}
	}
	m.one(&m.writes, out.ConsumedCapacity, "PutItem", err)
	return out, err
}

func (m *meter) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityIndexes
	out, err := m.client.TransactWriteItems(ctx, in, o...)
	if out == nil {
		out = &dynamodb.TransactWriteItemsOutput{}
	}
	m.all(&m.writes, out.ConsumedCapacity, inTransaction, "TransactWriteItems", err)
	return out, err
}

// Query counts reads of a task's items. Those of the index are the Supervisor's,
// which looks however many orders there are.
func (m *meter) Query(ctx context.Context, in *dynamodb.QueryInput, o ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityIndexes
	out, err := m.client.Query(ctx, in, o...)
	if out == nil {
		out = &dynamodb.QueryOutput{}
	}
	if in.IndexName == nil || err != nil {
		m.one(&m.reads, out.ConsumedCapacity, "Query", err)
	}
	return out, err
}

func (m *meter) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityIndexes
	out, err := m.client.GetItem(ctx, in, o...)
	if out == nil {
		out = &dynamodb.GetItemOutput{}
	}
	m.one(&m.reads, out.ConsumedCapacity, "GetItem", err)
	return out, err
}

func (m *meter) TransactGetItems(ctx context.Context, in *dynamodb.TransactGetItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityIndexes
	out, err := m.client.TransactGetItems(ctx, in, o...)
	if out == nil {
		out = &dynamodb.TransactGetItemsOutput{}
	}
	m.all(&m.reads, out.ConsumedCapacity, 1, "TransactGetItems", err)
	return out, err
}

func (m *meter) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityIndexes
	out, err := m.client.BatchGetItem(ctx, in, o...)
	if out == nil {
		out = &dynamodb.BatchGetItemOutput{}
	}
	m.all(&m.reads, out.ConsumedCapacity, 1, "BatchGetItem", err)
	return out, err
}
