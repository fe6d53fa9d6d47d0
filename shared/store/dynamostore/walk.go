package dynamostore

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"triad/shared/store"
	"triad/shared/task"
)

// Scanner is what a walk calls of *dynamodb.Client. It is not in Client: no
// function of a deployment may scan, only an operator who audits it.
type Scanner interface {
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

var _ Scanner = (*dynamodb.Client)(nil)

// Walker reads the whole table of tasks: half a read unit for each 4 KB that it
// holds, side items included. It needs the right to dynamodb:Scan.
type Walker struct {
	scanner Scanner
	config  Config
}

var _ store.Walker = (*Walker)(nil)

// NewWalker returns a Walker through the tables of config. It calls nothing yet.
func NewWalker(scanner Scanner, config Config) *Walker {
	return &Walker{scanner: scanner, config: config.defaults()}
}

// Walk returns a page of all tasks, as the hashes of their ids fall. See
// store.Walker. The keys of the index are attributes of the item itself, so that
// it is DynamoDB that keeps the two together: Shard and CompleteBy are those of
// the record.
func (w *Walker) Walk(ctx context.Context, cursor string, limit int) (store.WalkPage, error) {
	page, err := w.walk(ctx, cursor, max(limit, 1))
	if err != nil {
		return store.WalkPage{}, fmt.Errorf("walking through the tasks: %w", err)
	}
	return page, nil
}

// walk scans up to limit items, of which some are beside a task.
//
// Reads: items of Tasks in the order of their keys, eventually consistent: each
// as one of its last commits left it.
func (w *Walker) walk(ctx context.Context, cursor string, limit int) (page store.WalkPage, err error) {
	in := &dynamodb.ScanInput{
		TableName: &w.config.Tasks, Limit: aws.Int32(int32(min(limit, 1_000))),
		FilterExpression:          aws.String("#part = :task"),
		ExpressionAttributeNames:  map[string]string{"#part": attrPart},
		ExpressionAttributeValues: item{":task": text(partTask)},
	}
	if cursor != "" {
		var key [2]string
		if json.Unmarshal([]byte(cursor), &key) != nil || key[0] == "" || key[1] == "" {
			return page, fmt.Errorf("%w: %q is not one of this store", store.ErrCursor, cursor)
		}
		in.ExclusiveStartKey = item{attrID: text(key[0]), attrPart: text(key[1])}
	}
	out, err := w.scanner.Scan(ctx, in)
	if err != nil {
		return page, translate(ctx, err, w.config.Tasks)
	}
	for _, m := range out.Items {
		t, _, err := decode(m)
		page.Tasks = append(page.Tasks, store.Walked{
			ID: task.ID((&reader{m: m}).text(attrID)), Task: t, Err: err, Shard: t.Shard, CompleteBy: t.CompleteBy,
		})
	}
	if last := out.LastEvaluatedKey; last != nil {
		r := reader{m: last}
		next, err := json.Marshal([2]string{r.text(attrID), r.text(attrPart)})
		if err != nil || r.err != nil {
			return page, fmt.Errorf("%w: the key of the last item can't be read", store.ErrDamaged)
		}
		page.Next = string(next)
	}
	return page, nil
}
