package dynamostore

import (
	"context"
	"fmt"
	"math"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"triad/shared/store"
	"triad/shared/task"
)

// Due returns a page of a shard of the CompleteBy index. See store.Store. A page
// may be shorter than asked for, up to some thousands of rows.
func (s *Store) Due(ctx context.Context, q store.DueQuery) (store.DuePage, error) {
	page, err := s.due(ctx, q)
	if err != nil {
		return store.DuePage{}, fmt.Errorf("reading what is due: %w", err)
	}
	return page, nil
}

func (s *Store) due(ctx context.Context, q store.DueQuery) (page store.DuePage, err error) {
	from := place{partition: partition(q.Shard)}
	if q.Cursor != "" {
		if from, _, err = parsePlace(q.Cursor, from.partition); err != nil {
			return page, err
		}
	}
	rows, more, err := s.walk(ctx, from, q.Before, q.Limit)
	for _, row := range rows {
		page.Rows = append(page.Rows, store.Due{ID: row.id, CompleteBy: row.completeBy})
	}
	if more {
		page.Next = rows[len(rows)-1].String()
	}
	return page, err
}

// walk reads up to limit rows of a partition after a place, up to a CompleteBy,
// earliest first, but failed tasks latest first. more says that there are more.
//
// Reads: one partition of the index, which is eventually consistent; one row
// more than asked for, so that the last page knows that it is the last.
func (s *Store) walk(ctx context.Context, from place, before task.Millis, limit int) (rows []place, more bool, err error) {
	limit = min(max(limit, 1), math.MaxInt32-1)
	out, err := s.client.Query(ctx, &dynamodb.QueryInput{
		TableName: &s.config.Tasks, IndexName: aws.String(indexName), Limit: aws.Int32(int32(limit) + 1),
		ScanIndexForward:          aws.Bool(!failed(from.partition)),
		ExclusiveStartKey:         from.key(),
		KeyConditionExpression:    aws.String("#shard = :shard AND #by <= :before"),
		ExpressionAttributeNames:  map[string]string{"#shard": attrShard, "#by": attrCompleteBy},
		ExpressionAttributeValues: item{":shard": text(from.partition), ":before": number(int64(before))},
	})
	if err != nil {
		return nil, false, translate(ctx, err, s.config.Tasks)
	}
	for _, m := range out.Items {
		row, err := placeOf(m)
		if err != nil {
			return nil, false, err
		}
		rows = append(rows, row)
	}
	if len(rows) > limit {
		return rows[:limit], true, nil
	}
	return rows, out.LastEvaluatedKey != nil && len(rows) > 0, nil
}
